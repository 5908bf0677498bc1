//! From a function to an optimised LLVM module: what all GPU families do before they emit.

use inkwell::module::Module;
use tegula_artifact::gpu::KernelInfo;
use tegula_ir::function::Function;

use super::kernel::lower_kernel;
use super::prepare::prepare;
use super::target::GpuTarget;
use crate::error::CodegenError;
use crate::session::{Machine, Phase, Session, Timings};

/// What a caller may choose about a compilation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Whether instructions carry the lines of the Rust source.
    pub line_table: bool,
    /// Whether to keep the LLVM IR as text.
    pub keep_llvm: bool,
    /// Whether to keep assembly text where code is emitted in another form.
    pub keep_assembly: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { line_table: true, keep_llvm: false, keep_assembly: false }
    }
}

/// LLVM IR as text, for people.
#[derive(Debug, Clone)]
pub struct LlvmText {
    /// As the lowering made it.
    pub lowered: String,
    /// As code was emitted from it.
    pub optimized: String,
}

/// An optimised module, ready to be emitted.
pub struct Optimized<'c> {
    /// The module.
    pub module: Module<'c>,
    /// What a launcher must know.
    pub info: KernelInfo,
    /// The LLVM IR, if asked for.
    pub llvm: Option<LlvmText>,
}

/// Lowers `function` for `target` and optimises the result. A function without layouts is prepared first (see
/// [`super::prepare`]).
///
/// # Errors
/// As [`lower_kernel`] and [`super::prepare`], and if LLVM reports an error.
pub fn lower_and_optimize<'c>(
    session: &'c Session,
    machine: &Machine,
    function: &Function,
    target: &dyn GpuTarget,
    options: &Options,
    timings: &mut Timings,
) -> Result<Optimized<'c>, CodegenError> {
    let mut prepared = function.clone();
    timings.measure(Phase::Prepare, || prepare(&mut prepared, target.architecture()))?;
    let function = &prepared;
    let module = session.module(&function.name, machine);
    let info =
        timings.measure(Phase::Lower, || lower_kernel(session, &module, function, target, options.line_table))?;
    let lowered = options.keep_llvm.then(|| module.print_to_string().to_string());
    session.verify(&module, timings)?;
    session.optimize(&module, machine, "default<O3>", timings)?;
    let llvm = lowered.map(|lowered| LlvmText { lowered, optimized: module.print_to_string().to_string() });
    Ok(Optimized { module, info, llvm })
}
