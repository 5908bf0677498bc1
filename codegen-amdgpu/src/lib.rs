//! Code generation for AMD GPUs: Tile IR to code objects.
//!
//! [`compile`] takes a function with or without layouts and gives a linked code object with what a launcher must know.
//! No ROCm is involved.

mod link;
mod target;

pub use link::link;

use tegula_codegen::CodegenError;
pub use tegula_codegen::gpu::Options;

use tegula_codegen::gpu::{KernelInfo, LlvmText, Optimized, lower_and_optimize};
use tegula_codegen::session::{Artifact, Machine, Phase, Session, Timings};
use tegula_codegen::target::{Architecture, Family};
use tegula_ir::function::Function;

/// A kernel compiled for an AMD GPU.
#[derive(Debug, Clone)]
pub struct CompiledAmd {
    /// The code object, a shared ELF object.
    pub code_object: Vec<u8>,
    /// The assembly text, if asked for.
    pub assembly: Option<String>,
    /// What a launcher must know.
    pub info: KernelInfo,
    /// The LLVM IR after the lowering and after optimisation, if asked for.
    pub llvm: Option<LlvmText>,
    /// How long each phase took.
    pub timings: Timings,
}

/// Compiles a function for an architecture such as `gfx942`.
///
/// # Errors
/// If the name is not that of an AMD architecture, an op is not supported there, the kernel needs more shared memory than
/// there is, or the code object cannot be linked.
pub fn compile(function: &Function, architecture: &str, options: &Options) -> Result<CompiledAmd, CodegenError> {
    let architecture = Architecture::by_name(architecture)?;
    if architecture.family != Family::Amd {
        return Err(CodegenError::InvalidOption {
            option: "target",
            value: architecture.name.to_owned(),
            target: "AMD code objects".to_owned(),
            reason: "it is not an AMD architecture".to_owned(),
        });
    }
    let target = target::Amdgpu::new(architecture);
    let session = Session::new();
    let machine = Machine::new(architecture.machine_spec())?;
    let mut timings = Timings::default();

    let Optimized { module, info, llvm } =
        lower_and_optimize(&session, &machine, function, &target, options, &mut timings)?;
    let assembly = if options.keep_assembly {
        // Emission changes the module, so the text is made from a copy.
        let copy = module.clone();
        let text = session.emit(&copy, &machine, Artifact::Assembly, &mut timings)?;
        Some(String::from_utf8_lossy(&text).into_owned())
    } else {
        None
    };
    let object = session.emit(&module, &machine, Artifact::Object, &mut timings)?;
    let code_object = timings.measure(Phase::Link, || link(&function.name, &object))?;
    Ok(CompiledAmd { code_object, assembly, info, llvm, timings })
}
