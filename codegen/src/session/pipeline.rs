//! The phases that turn a module into code: verify, optimise, emit; each timed, each checked for recorded errors.

use std::fmt;
use std::time::{Duration, Instant};

use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::FileType;

use super::{Diagnostic, Machine, Session, Severity};
use crate::error::CodegenError;

/// A phase of code generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Passes on Tile IR.
    Prepare,
    /// Tile IR to LLVM IR.
    Lower,
    /// LLVM's verifier.
    Verify,
    /// LLVM's optimisation pipeline.
    Optimize,
    /// Instruction selection to assembly text or an object.
    Emit,
    /// Linking of an object into a code object.
    Link,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Phase::Prepare => "preparation",
            Phase::Lower => "lowering",
            Phase::Verify => "verification",
            Phase::Optimize => "optimisation",
            Phase::Emit => "emission",
            Phase::Link => "linking",
        })
    }
}

/// How long each phase took, in the order in which they ran.
#[derive(Debug, Clone, Default)]
pub struct Timings {
    phases: Vec<(Phase, Duration)>,
}

impl Timings {
    /// Runs `work` and records its duration as `phase`.
    pub fn measure<T>(&mut self, phase: Phase, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.phases.push((phase, start.elapsed()));
        result
    }

    /// The phases with their durations.
    pub fn phases(&self) -> &[(Phase, Duration)] {
        &self.phases
    }

    /// The sum of all phases.
    pub fn total(&self) -> Duration {
        self.phases.iter().map(|(_, d)| *d).sum()
    }
}

/// What to emit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Artifact {
    /// Assembly text (PTX for NVIDIA).
    Assembly,
    /// A relocatable object.
    Object,
}

impl Session {
    /// Checks `module` with LLVM's verifier.
    ///
    /// # Errors
    /// [`CodegenError::InvalidModule`], which is a bug of the lowering.
    pub fn verify(&self, module: &Module<'_>, timings: &mut Timings) -> Result<(), CodegenError> {
        timings.measure(Phase::Verify, || module.verify()).map_err(|message| CodegenError::InvalidModule {
            kernel: module_name(module),
            message: message.to_string(),
        })
    }

    /// Runs a pass pipeline (in the syntax of `opt -passes`) over `module`, such as `default<O3>`.
    ///
    /// # Errors
    /// [`CodegenError::Llvm`] if a pass reports an error or the pipeline's text is wrong.
    pub fn optimize(
        &self,
        module: &Module<'_>,
        machine: &Machine,
        passes: &str,
        timings: &mut Timings,
    ) -> Result<(), CodegenError> {
        let options = PassBuilderOptions::create();
        let result = timings.measure(Phase::Optimize, || module.run_passes(passes, machine.inner(), options));
        self.check(module, Phase::Optimize, result.map_err(|e| e.to_string()))
    }

    /// Emits `module` as assembly text or as an object.
    ///
    /// # Errors
    /// [`CodegenError::Llvm`] if LLVM reports an error, which includes those found while emission itself claims
    /// success (bad inline assembly, too much local memory).
    pub fn emit(
        &self,
        module: &Module<'_>,
        machine: &Machine,
        artifact: Artifact,
        timings: &mut Timings,
    ) -> Result<Vec<u8>, CodegenError> {
        let file_type = match artifact {
            Artifact::Assembly => FileType::Assembly,
            Artifact::Object => FileType::Object,
        };
        let result = timings.measure(Phase::Emit, || machine.inner().write_to_memory_buffer(module, file_type));
        let buffer = self.check(module, Phase::Emit, result.map_err(|e| e.to_string()))?;
        let bytes = buffer.as_slice();
        Ok(match artifact {
            // The buffer ends in a NUL that is not part of the text.
            Artifact::Assembly => bytes.strip_suffix(b"\0").unwrap_or(bytes).to_vec(),
            Artifact::Object => bytes.to_vec(),
        })
    }

    /// Turns a phase's result and what was recorded during it into one result.
    fn check<T>(&self, module: &Module<'_>, phase: Phase, result: Result<T, String>) -> Result<T, CodegenError> {
        let mut errors: Vec<Diagnostic> =
            self.take_diagnostics().into_iter().filter(|d| d.severity == Severity::Error).collect();
        match result {
            Ok(value) if errors.is_empty() => Ok(value),
            Ok(_) => Err(CodegenError::Llvm { kernel: module_name(module), phase, diagnostics: errors }),
            Err(message) => {
                if !message.is_empty() {
                    errors.push(Diagnostic { severity: Severity::Error, message });
                }
                Err(CodegenError::Llvm { kernel: module_name(module), phase, diagnostics: errors })
            }
        }
    }
}

/// The module's name: the kernel's.
fn module_name(module: &Module<'_>) -> String {
    module.get_name().to_string_lossy().into_owned()
}
