//! Recording of LLVM's diagnostics, so that an error is a value and not the end of the process.

use std::cell::RefCell;
use std::ffi::{CStr, c_void};
use std::fmt;

use inkwell::context::Context;
use inkwell::llvm_sys::LLVMDiagnosticSeverity;
use inkwell::llvm_sys::core::{
    LLVMContextSetDiagnosticHandler, LLVMDisposeMessage, LLVMGetDiagInfoDescription, LLVMGetDiagInfoSeverity,
};
use inkwell::llvm_sys::prelude::LLVMDiagnosticInfoRef;

/// How bad a [`Diagnostic`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The output must not be used.
    Error,
    /// The output may be slower or other than expected.
    Warning,
    /// An optimisation remark.
    Remark,
    /// An explanation of another diagnostic.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Remark => "remark",
            Severity::Note => "note",
        })
    }
}

/// One report of LLVM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// LLVM's text.
    pub message: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.severity, self.message)
    }
}

/// What LLVM has reported in one context.
#[derive(Default)]
pub(super) struct DiagnosticLog {
    entries: RefCell<Vec<Diagnostic>>,
}

impl DiagnosticLog {
    /// Makes a log and has `context` write to it. The log must outlive the context.
    pub(super) fn install(context: &Context) -> Box<DiagnosticLog> {
        let log = Box::new(DiagnosticLog::default());
        let pointer: *const DiagnosticLog = &*log;
        // SAFETY: the box gives the log a stable address, and `Session` drops the context before it; the handler
        // only runs inside calls on that context, on the thread that owns the session (it is not `Send`).
        unsafe {
            LLVMContextSetDiagnosticHandler(context.raw(), Some(record), pointer.cast_mut().cast());
        }
        log
    }

    pub(super) fn take(&self) -> Vec<Diagnostic> {
        self.entries.take()
    }
}

/// The handler that LLVM calls. It must not unwind into LLVM: it only copies text.
extern "C" fn record(info: LLVMDiagnosticInfoRef, log: *mut c_void) {
    // SAFETY: `log` is the pointer that `DiagnosticLog::install` registered, alive while the context is; `info` is
    // valid during the call, and the description is ours to dispose of.
    unsafe {
        let log = &*log.cast_const().cast::<DiagnosticLog>();
        let severity = match LLVMGetDiagInfoSeverity(info) {
            LLVMDiagnosticSeverity::LLVMDSError => Severity::Error,
            LLVMDiagnosticSeverity::LLVMDSWarning => Severity::Warning,
            LLVMDiagnosticSeverity::LLVMDSRemark => Severity::Remark,
            LLVMDiagnosticSeverity::LLVMDSNote => Severity::Note,
        };
        let text = LLVMGetDiagInfoDescription(info);
        let message = CStr::from_ptr(text).to_string_lossy().into_owned();
        LLVMDisposeMessage(text);
        if let Ok(mut entries) = log.entries.try_borrow_mut() {
            entries.push(Diagnostic { severity, message });
        }
    }
}
