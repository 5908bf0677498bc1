//! What compiled code takes for granted of its arguments, and which code a launch may use.
//!
//! Kernels are compiled for classes of arguments: aligned addresses, extents that are multiples of 16 and so on. Each
//! is a promise that the launcher keeps. Code that was compiled ahead of time fits a launch if the launch's arguments
//! keep all that was promised, which may be less than they could.

use serde::{Deserialize, Serialize};
use tegula_ir::Function;
use tegula_ir::function::{ParamKind, ViewSpec};
use tegula_ir::text::{PrintOptions, print_function};

/// What is promised of one argument. Numbers are at least 1.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Promise {
    /// The address is a multiple of this many bytes.
    pub align: u32,
    /// A scalar is a multiple of this.
    pub divisor: u32,
    /// The last axis has stride 1.
    pub unit_inner: bool,
    /// Each extent is a multiple of this.
    pub extents: Vec<u32>,
    /// Each stride is a multiple of this, in elements.
    pub strides: Vec<u32>,
    /// Every offset fits in 31 bits.
    pub fits_32: bool,
    /// The memory overlaps no other argument's that is written.
    pub no_alias: bool,
}

impl Promise {
    /// What is promised of a parameter's argument.
    pub fn of(kind: &ParamKind) -> Self {
        let mut promise = Self {
            align: 1,
            divisor: 1,
            unit_inner: false,
            extents: Vec::new(),
            strides: Vec::new(),
            fits_32: false,
            no_alias: false,
        };
        let natural = |align: u32, elem: tegula_ir::ScalarType| match align {
            0 => elem.memory_bytes().unwrap_or(1).max(1),
            n => n,
        };
        match kind {
            ParamKind::View { elem, rank, spec, .. } => {
                let divisors = |d: &[u32]| -> Vec<u32> {
                    (0..usize::from(*rank)).map(|i| d.get(i).copied().unwrap_or(1).max(1)).collect()
                };
                promise.align = natural(spec.align, *elem);
                promise.unit_inner = spec.unit_inner;
                promise.extents = divisors(&spec.extent_divisor);
                promise.strides = divisors(&spec.stride_divisor);
                promise.fits_32 = spec.fits_32;
                promise.no_alias = spec.no_alias;
            }
            ParamKind::Scalar { divisor, .. } => promise.divisor = (*divisor).max(1),
            ParamKind::Ptr { elem, align } => promise.align = natural(*align, *elem),
        }
        promise
    }

    /// Whether an argument of which this is known keeps `other`.
    pub fn implies(&self, other: &Self) -> bool {
        let multiples = |mine: &[u32], theirs: &[u32]| {
            mine.len() == theirs.len() && mine.iter().zip(theirs).all(|(m, t)| m.is_multiple_of(*t))
        };
        self.align.is_multiple_of(other.align)
            && self.divisor.is_multiple_of(other.divisor)
            && (self.unit_inner || !other.unit_inner)
            && multiples(&self.extents, &other.extents)
            && multiples(&self.strides, &other.strides)
            && (self.fits_32 || !other.fits_32)
            && (self.no_alias || !other.no_alias)
    }

    /// How much is promised: of two promises that fit, code for the larger one is likely the faster.
    pub fn strength(&self) -> u32 {
        let divisors = self.extents.iter().chain(&self.strides).filter(|&&d| d > 1).count() as u32;
        u32::from(self.align > 1) * self.align.ilog2()
            + u32::from(self.divisor > 1)
            + divisors
            + 4 * (u32::from(self.unit_inner) + u32::from(self.fits_32) + u32::from(self.no_alias))
    }
}

/// What is promised of each argument of a function.
pub fn promises(function: &Function) -> Vec<Promise> {
    function.params.iter().map(|p| Promise::of(&p.kind)).collect()
}

/// What tells kernels apart whatever is promised of their arguments: a hash of the Tile IR without the promises, and
/// without the lines of the source that it comes from.
pub fn family(function: &Function) -> String {
    let mut plain = function.clone();
    for param in &mut plain.params {
        match &mut param.kind {
            ParamKind::View { spec, .. } => *spec = ViewSpec::default(),
            ParamKind::Scalar { divisor, .. } => *divisor = 1,
            ParamKind::Ptr { align, .. } => *align = 0,
        }
    }
    let text = print_function(&plain, &PrintOptions::default());
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use tegula_ir::text::parse_function;

    use super::*;

    fn function(promises: &str) -> Function {
        let text = format!("kernel @k(%x: view<2d, f32> read{promises}) {{\n  return\n}}");
        parse_function(&text, "k.tile").unwrap_or_else(|e| panic!("{text}: {e:?}"))
    }

    #[test]
    fn the_family_is_that_of_any_promise() {
        let plain = function("");
        assert_eq!(family(&plain), family(&function(" {unit_inner}")));
        let mut renamed = plain.clone();
        renamed.name = "l".into();
        assert_ne!(family(&plain), family(&renamed));
    }

    #[test]
    fn more_knowledge_implies_less() {
        let mut strong = Promise::of(&function("").params[0].kind);
        let weak = strong.clone();
        assert_eq!((weak.align, &*weak.extents), (4, &[1, 1][..]));
        assert!(weak.implies(&weak));
        let changes: [fn(&mut Promise); 6] = [
            |p| p.align = 16,
            |p| p.unit_inner = true,
            |p| p.extents[1] = 16,
            |p| p.strides[0] = 16,
            |p| p.fits_32 = true,
            |p| p.no_alias = true,
        ];
        for (i, change) in changes.iter().enumerate() {
            let mut one = weak.clone();
            change(&mut one);
            assert!(one.implies(&weak) && !weak.implies(&one), "{i}");
            assert!(one.strength() > weak.strength(), "{i}");
            change(&mut strong);
        }
        assert!(strong.implies(&weak));
        let other_rank = Promise { extents: vec![1], ..weak.clone() };
        assert!(!other_rank.implies(&weak));
    }
}
