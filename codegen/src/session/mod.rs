//! The LLVM session: a context whose diagnostics are recorded, target machines, optimisation and emission.
//!
//! A [`Session`] owns one LLVM context. LLVM's default reaction to an error found during emission is to end the
//! process; a session installs a handler that records it instead, and every phase checks the record, because LLVM
//! itself goes on and reports success.

mod debug_info;
mod diagnostics;
mod machine;
mod pipeline;

pub use debug_info::{LineTable, LineTableKind, SourceLocation};
pub use diagnostics::{Diagnostic, Severity};
pub use machine::{Machine, MachineSpec, initialize_targets};
pub use pipeline::{Artifact, Phase, Timings};

use inkwell::context::Context;
use inkwell::module::Module;

use diagnostics::DiagnosticLog;

/// One LLVM context with a record of what LLVM reports about the modules in it.
///
/// A session is cheap (tens of microseconds) and is not `Send`: make one for each compilation.
pub struct Session {
    // The context must go before the log that its handler writes to; fields drop in this order.
    context: Context,
    diagnostics: Box<DiagnosticLog>,
}

impl Session {
    /// Makes a session with an empty context.
    pub fn new() -> Self {
        let context = Context::create();
        let diagnostics = DiagnosticLog::install(&context);
        Session { context, diagnostics }
    }

    /// The LLVM context.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Makes an empty module with the triple and data layout of `machine`.
    pub fn module(&self, name: &str, machine: &Machine) -> Module<'_> {
        let module = self.context.create_module(name);
        machine.prepare(&module);
        module
    }

    /// Takes everything that LLVM has reported since the last call.
    pub fn take_diagnostics(&self) -> Vec<Diagnostic> {
        self.diagnostics.take()
    }
}

impl Default for Session {
    fn default() -> Self {
        Self::new()
    }
}
