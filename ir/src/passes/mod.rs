//! The passes of this crate, which [`register`] makes known by name.

use crate::pass::Registry;

/// Adds the passes to a registry.
pub fn register(registry: &mut Registry) {
    let infos: [crate::pass::PassInfo; 0] = [];
    for info in infos {
        registry.register(info);
    }
}
