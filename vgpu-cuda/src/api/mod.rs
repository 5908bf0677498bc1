//! The functions of the driver API, by subject.

pub mod context;
pub mod copy;
pub mod device;
pub mod event;
pub mod external;
pub mod function;
pub mod general;
pub mod graph;
pub mod launch;
pub mod link;
pub mod memory;
pub mod module;
pub mod pool;
pub mod refused;
pub mod stream;
pub mod tensor_map;

use crate::entry::Symbol;

/// All functions by name.
pub(crate) fn symbols() -> Vec<Symbol> {
    [
        context::symbols(),
        copy::symbols(),
        device::symbols(),
        event::symbols(),
        external::symbols(),
        function::symbols(),
        general::symbols(),
        graph::symbols(),
        launch::symbols(),
        link::symbols(),
        memory::symbols(),
        module::symbols(),
        pool::symbols(),
        refused::symbols(),
        stream::symbols(),
        tensor_map::symbols(),
    ]
    .concat()
}
