//! The passes of this crate, which [`register`] makes known by name.
//!
//! | module | pass |
//! |---|---|
//! | [`assign_layouts`] | `assign-layouts`: a linear layout for every tile, for GPUs |
//! | [`bounds_elim`] | `bounds-elim`: accesses known to be in bounds need no check |
//! | [`canonicalize`] | `canonicalize`: constants, identities, one way to write things |
//! | [`cse`] | `cse`: equal computations are merged |
//! | [`dce`] | `dce`: what nothing needs is removed |
//! | [`expand_math`] | `expand-math`: math functions become arithmetic |
//! | [`if_convert`] | `if-convert`: cheap branches become selects |
//! | [`licm`] | `licm`: what does not change leaves its loop |
//! | [`unroll`] | `unroll`: bodies of loops are repeated |
//! | [`clone`] | copies of blocks |
//! | [`rewrite`] | the frame of passes that replace ops one by one |

pub mod assign_layouts;
pub mod bounds_elim;
pub mod canonicalize;
pub mod clone;
pub mod cse;
pub mod dce;
pub mod expand_math;
pub mod if_convert;
pub mod licm;
pub mod rewrite;
pub mod unroll;

use crate::pass::Registry;

/// Adds the passes to a registry.
pub fn register(registry: &mut Registry) {
    for info in [
        assign_layouts::INFO,
        bounds_elim::INFO,
        canonicalize::INFO,
        cse::INFO,
        dce::INFO,
        expand_math::INFO,
        if_convert::INFO,
        licm::INFO,
        unroll::INFO,
    ] {
        registry.register(info);
    }
}
