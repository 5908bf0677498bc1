//! Code generation for NVIDIA GPUs: Tile IR to PTX.
//!
//! [`compile`] takes a function with or without layouts and gives PTX text with what a launcher must know. No CUDA
//! toolkit is involved: the driver assembles the text. [`ptxas`] is NVIDIA's assembler, to check the text or to see what it
//! costs.

mod target;

pub use tegula_artifact::ptxas;

use tegula_codegen::CodegenError;
pub use tegula_codegen::gpu::Options;

use tegula_codegen::gpu::{KernelInfo, LlvmText, Optimized, lower_and_optimize};
use tegula_codegen::session::{Artifact, Machine, Session, Timings};
use tegula_codegen::target::{Architecture, Family};
use tegula_ir::function::Function;

/// A kernel compiled to PTX.
#[derive(Debug, Clone)]
pub struct CompiledPtx {
    /// The PTX text.
    pub ptx: String,
    /// What a launcher must know.
    pub info: KernelInfo,
    /// The LLVM IR after the lowering and after optimisation, if asked for.
    pub llvm: Option<LlvmText>,
    /// How long each phase took.
    pub timings: Timings,
}

/// Compiles a function for an architecture such as `sm_90a`.
///
/// # Errors
/// If the name is not that of an NVIDIA architecture, an op is not supported there, or the kernel needs more shared
/// memory than there is.
pub fn compile(function: &Function, architecture: &str, options: &Options) -> Result<CompiledPtx, CodegenError> {
    let architecture = Architecture::by_name(architecture)?;
    if architecture.family != Family::Nvidia {
        return Err(CodegenError::InvalidOption {
            option: "target",
            value: architecture.name.to_owned(),
            target: "PTX".to_owned(),
            reason: "it is not an NVIDIA architecture".to_owned(),
        });
    }
    let target = target::Nvptx::new(architecture);
    let session = Session::new();
    let machine = Machine::new(architecture.machine_spec())?;
    let mut timings = Timings::default();

    let Optimized { module, info, llvm } =
        lower_and_optimize(&session, &machine, function, &target, options, &mut timings)?;
    let ptx = session.emit(&module, &machine, Artifact::Assembly, &mut timings)?;
    let ptx = String::from_utf8(ptx).expect("LLVM writes PTX in ASCII");
    Ok(CompiledPtx { ptx, info, llvm, timings })
}
