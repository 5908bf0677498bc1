//! Classes of arguments: what is promised to the compiler of each argument of a launch.
//!
//! Few classes, so that a size which changes from launch to launch does not compile the kernel again and again. An
//! extent, stride or integer is a multiple of 16 or it is nothing special; an address is a multiple of 16 bytes or of
//! the element's size. Sizes 1, 3, 16 and 17 give two classes.

use smallvec::SmallVec;
use tegula_ir::function::ViewSpec;
use tegula_lang::kernel::build::ArgSpec;

use super::check::Overlaps;
use crate::backend::Arg;
use crate::tensor::reach;

/// Extents, strides and integers that are multiples of this are worth knowing.
const DIVISOR: u32 = 16;

/// The class of an argument, in a form that is quick to compare: what [`ArgSpec`] says, in bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Class(u32);

/// The classes of a call's arguments.
pub type Classes = SmallVec<[Class; 24]>;

impl Class {
    /// The address, or a scalar's value, is a multiple of 16.
    const ALIGNED: u32 = 1 << 0;
    const UNIT_INNER: u32 = 1 << 1;
    const FITS_32: u32 = 1 << 2;
    const NO_ALIAS: u32 = 1 << 3;
    /// From here a bit an axis.
    const EXTENTS: u32 = 4;
    const STRIDES: u32 = 12;
    /// The number of axes stands here.
    const RANK: u32 = 20;
    const VIEW: u32 = 1 << 24;
    const POINTER: u32 = 1 << 25;

    /// The class of an argument about which nothing is promised.
    fn plain(arg: &Arg<'_>) -> Self {
        match arg {
            Arg::View { extents, .. } => Self(Self::VIEW | (extents.len() as u32) << Self::RANK),
            Arg::Ptr { .. } | Arg::Address(..) => Self(Self::POINTER),
            Arg::Scalar(..) => Self(0),
        }
    }

    fn of(arg: &Arg<'_>, no_alias: bool) -> Self {
        let Self(mut bits) = Self::plain(arg);
        let mut set = |bit: u32, yes: bool| bits |= if yes { bit } else { 0 };
        let is_multiple = |v: i64| v & i64::from(DIVISOR - 1) == 0;
        match *arg {
            Arg::View { memory, offset, elem, extents, strides } => {
                set(Self::ALIGNED, (memory.address() + offset as u64).is_multiple_of(16));
                set(Self::UNIT_INNER, strides.last().is_none_or(|&s| s == 1));
                set(Self::NO_ALIAS, no_alias);
                for (axis, (&e, &s)) in extents.iter().zip(strides).enumerate() {
                    set(1 << (Self::EXTENTS + axis as u32), is_multiple(e));
                    set(1 << (Self::STRIDES + axis as u32), is_multiple(s));
                }
                let size = i64::from(elem.memory_bytes().unwrap_or(1));
                let (before, after) = reach(extents, strides);
                set(Self::FITS_32, before == 0 && after.saturating_mul(size) < 1 << 31);
            }
            Arg::Scalar(elem, bits) => set(Self::ALIGNED, elem.is_int() && is_multiple(bits as i64)),
            Arg::Ptr { memory, offset, .. } => {
                set(Self::ALIGNED, (memory.address() + offset as u64).is_multiple_of(16));
            }
            Arg::Address(_, address) => set(Self::ALIGNED, address.is_multiple_of(16)),
        }
        Self(bits)
    }

    fn has(self, bit: u32) -> bool {
        self.0 & bit != 0
    }

    /// What the class promises.
    pub fn spec(self) -> ArgSpec {
        let rank = self.0 >> Self::RANK & 7;
        let divisors =
            |from: u32| (0..rank).map(|axis| if self.has(1 << (from + axis)) { DIVISOR } else { 1 }).collect();
        let aligned = if self.has(Self::ALIGNED) { 16 } else { 0 };
        if self.has(Self::VIEW) {
            let view = ViewSpec {
                align: aligned,
                unit_inner: self.has(Self::UNIT_INNER),
                extent_divisor: divisors(Self::EXTENTS),
                stride_divisor: divisors(Self::STRIDES),
                fits_32: self.has(Self::FITS_32),
                no_alias: self.has(Self::NO_ALIAS),
            };
            ArgSpec { view, ..ArgSpec::default() }
        } else if self.has(Self::POINTER) {
            ArgSpec { align: aligned, ..ArgSpec::default() }
        } else {
            ArgSpec { divisor: aligned, ..ArgSpec::default() }
        }
    }
}

/// The class of each argument; `specialize` tells for which ones the kernel is compiled again.
pub fn classify(args: &[Arg<'_>], overlaps: &Overlaps, specialize: impl Fn(usize) -> bool) -> Classes {
    let class = |(i, arg)| if specialize(i) { Class::of(arg, !overlaps.contains(i)) } else { Class::plain(arg) };
    args.iter().enumerate().map(class).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tegula_ir::types::ScalarType;

    #[test]
    fn scalars_have_two_classes() {
        let class = |v: u64| Class::of(&Arg::Scalar(ScalarType::I32, v), true);
        assert_eq!(class(1), class(17));
        assert_eq!(class(16), class(0));
        assert_ne!(class(16), class(17));
        assert_eq!(class(16).spec().divisor, 16);
        assert_eq!(class(-16i32 as u32 as u64).spec().divisor, 16);
    }

    #[test]
    fn floats_have_one_class() {
        let class = |v: f32| Class::of(&Arg::Scalar(ScalarType::F32, v.to_bits().into()), true);
        assert_eq!(class(0.0), class(1.1));
    }
}
