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
//! | [`simplify_address`] | `simplify-address`: gathers of boxes, sums of offsets |
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
pub mod simplify_address;
pub mod unroll;

use crate::pass::{Pipeline, Registry};

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
        simplify_address::INFO,
        unroll::INFO,
    ] {
        registry.register(info);
    }
}

/// How much time compilation may take to make kernels fast.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub enum OptLevel {
    /// No passes but those that make code valid for a target.
    None,
    /// What makes the code smaller.
    Less,
    /// What pays for itself.
    #[default]
    Default,
    /// Longer unrolled loops as well.
    Aggressive,
}

/// The pass list of [`default_pipeline`], to print or change.
pub const fn default_pass_list(level: OptLevel) -> &'static str {
    match level {
        OptLevel::None => "",
        OptLevel::Less => "canonicalize,cse,dce",
        OptLevel::Default => {
            "canonicalize,cse,simplify-address,licm,if-convert,unroll,canonicalize,cse,bounds-elim,licm,dce"
        }
        OptLevel::Aggressive => {
            "canonicalize,cse,simplify-address,licm,if-convert,unroll{full=8,max-ops=1024},canonicalize,cse,bounds-elim,licm,dce"
        }
    }
}

/// The target-independent passes in their order. [`expand_math`] is not among them: a target adds it with its own
/// primitives, and `canonicalize,cse,licm,dce` behind it.
///
/// Bounds are eliminated after loops have taken their form, and before loads are looked at a second time: those marked
/// as in bounds stay in their loop, those that need no mark leave it in the first round.
pub fn default_pipeline(level: OptLevel) -> Pipeline {
    Registry::builtin().pipeline(default_pass_list(level)).expect("the default pass lists are valid")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_pass_lists_exist() {
        for level in [OptLevel::None, OptLevel::Less, OptLevel::Default, OptLevel::Aggressive] {
            assert_eq!(default_pipeline(level).to_string(), default_pass_list(level));
        }
    }
}
