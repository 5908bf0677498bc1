//! The functions of HIP, by subject.

pub mod device;
pub mod event;
pub mod function;
pub mod general;
pub mod graph;
pub mod launch;
pub mod memory;
pub mod module;
pub mod refused;
pub mod stream;
pub mod transfer;

use crate::entry::Symbol;

/// All functions that return a status, by name.
pub(crate) fn symbols() -> Vec<Symbol> {
    [
        device::symbols(),
        event::symbols(),
        function::symbols(),
        general::symbols(),
        graph::symbols(),
        launch::symbols(),
        memory::symbols(),
        module::symbols(),
        refused::symbols(),
        stream::symbols(),
        transfer::symbols(),
    ]
    .concat()
}
