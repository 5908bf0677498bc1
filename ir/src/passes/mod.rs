//! The passes of this crate, which [`register`] makes known by name.
//!
//! | module | pass |
//! |---|---|
//! | [`assign_layouts`] | `assign-layouts`: a linear layout for every tile, for GPUs |
//! | [`canonicalize`] | `canonicalize`: constants, identities, one way to write things |
//! | [`cse`] | `cse`: equal computations are merged |
//! | [`dce`] | `dce`: what nothing needs is removed |
//! | [`expand_math`] | `expand-math`: math functions become arithmetic |
//! | [`rewrite`] | the frame of passes that replace ops one by one |

pub mod assign_layouts;
pub mod canonicalize;
pub mod cse;
pub mod dce;
pub mod expand_math;
pub mod rewrite;

use crate::pass::Registry;

/// Adds the passes to a registry.
pub fn register(registry: &mut Registry) {
    for info in [assign_layouts::INFO, canonicalize::INFO, cse::INFO, dce::INFO, expand_math::INFO] {
        registry.register(info);
    }
}
