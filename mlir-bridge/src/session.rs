//! One MLIR context with every upstream dialect and the `tegula` dialect.

use std::cell::RefCell;
use std::rc::Rc;

use melior::Context;
use melior::dialect::DialectRegistry;
use melior::ir::Module;
use melior::ir::operation::OperationLike;
use melior::utility::{register_all_dialects, register_all_llvm_translations, register_all_passes};

use crate::Error;

/// The `tegula` dialect, in IRDL.
pub const DIALECT: &str = include_str!("tegula.irdl.mlir");

/// A context that has everything loaded. Making one takes tens of milliseconds: keep one a thread.
pub struct Session {
    context: Context,
    messages: Rc<RefCell<Vec<String>>>,
}

impl Session {
    /// Loads the dialects.
    ///
    /// # Errors
    /// If MLIR refuses the `tegula` dialect.
    pub fn new() -> Result<Self, Error> {
        register_all_passes();
        let registry = DialectRegistry::new();
        register_all_dialects(&registry);
        let context = Context::new_with_registry(&registry, false);
        context.load_all_available_dialects();
        register_all_llvm_translations(&context);
        let messages = Rc::new(RefCell::new(Vec::new()));
        let sink = messages.clone();
        context.attach_diagnostic_handler(move |d| {
            sink.borrow_mut().push(format!("{}: {d}", d.location()));
            true
        });
        let session = Self { context, messages };
        let dialect = session.parse(DIALECT)?;
        // SAFETY: the module is a valid one of this context, and lives until the end of this function; the dialect
        // is copied into the context.
        let loaded = unsafe { mlir_sys::mlirLoadIRDLDialects(dialect.to_raw()) };
        if loaded.value == 0 {
            return Err(session.error("the tegula dialect was refused"));
        }
        drop(dialect);
        Ok(session)
    }

    /// The context.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Parses and verifies a module.
    ///
    /// # Errors
    /// With MLIR's own messages.
    pub fn parse(&self, text: &str) -> Result<Module<'_>, Error> {
        self.messages.borrow_mut().clear();
        let module = Module::parse(&self.context, text).ok_or_else(|| self.error("the text was refused"))?;
        if !module.as_operation().verify() {
            return Err(self.error("the module is not valid"));
        }
        Ok(module)
    }

    /// An error with the messages that MLIR gave since the last parse.
    pub(crate) fn error(&self, what: &str) -> Error {
        let messages = self.messages.borrow().join("; ");
        Error::Mlir(if messages.is_empty() { what.into() } else { format!("{what}: {messages}") })
    }
}
