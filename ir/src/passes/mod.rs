//! The passes of this crate, which [`register`] makes known by name.

pub mod assign_layouts;

use crate::pass::Registry;

/// Adds the passes to a registry.
pub fn register(registry: &mut Registry) {
    registry.register(assign_layouts::INFO);
}
