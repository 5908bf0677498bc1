//! Code generation for NVIDIA GPUs: Tile IR with layouts to PTX.
//!
//! [`compile`] takes a function as the GPU passes leave it and gives PTX text with what a launcher must know. No CUDA
//! toolkit is involved: the driver assembles the text. [`ptxas`] runs NVIDIA's assembler where there is one, to check the
//! text or to see what it costs.

pub mod ptxas;

mod target;

use tegula_codegen::CodegenError;
use tegula_codegen::gpu::{KernelInfo, LowerOptions, lower_kernel};
use tegula_codegen::session::{Artifact, Machine, Phase, Session, Timings};
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

/// LLVM IR as text, for people.
#[derive(Debug, Clone)]
pub struct LlvmText {
    /// As the lowering made it.
    pub lowered: String,
    /// As code was emitted from it.
    pub optimized: String,
}

/// What a caller may choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Whether instructions carry the lines of the Rust source.
    pub line_table: bool,
    /// Whether to keep the LLVM IR as text.
    pub keep_llvm: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { line_table: true, keep_llvm: false }
    }
}

/// Compiles a function with layouts for an architecture such as `sm_90a`.
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

    let module = session.module(&function.name, &machine);
    let lower = LowerOptions { line_table: options.line_table };
    let info =
        timings.measure(Phase::Lower, || lower_kernel(&session, &module, function, &target, &lower))?;
    let lowered = options.keep_llvm.then(|| module.print_to_string().to_string());
    session.verify(&module, &mut timings)?;
    session.optimize(&module, &machine, "default<O3>", &mut timings)?;
    let llvm = lowered
        .map(|lowered| LlvmText { lowered, optimized: module.print_to_string().to_string() });
    let ptx = session.emit(&module, &machine, Artifact::Assembly, &mut timings)?;
    let ptx = String::from_utf8(ptx).expect("LLVM writes PTX in ASCII");
    Ok(CompiledPtx { ptx, info, llvm, timings })
}
