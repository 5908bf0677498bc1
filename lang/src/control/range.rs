//! Ranges: on the host where both ends are host numbers, on the device where one is a scalar.

use std::panic::Location;

use tegula_ir::ops::LoopHints;

use super::loops::{DeviceFor, HostFor, Loop};
use crate::context::Handle;
use crate::elem::{AnyElem, Element, Int};
use crate::literal::{IntLit, typed};
use crate::tile::{Scalar, Tile};

/// A range of a loop that runs on the device: what `lo..hi` is inside a kernel where one end is a scalar.
#[derive(Clone, Copy, Debug)]
#[must_use = "loop over it with `for`"]
pub struct DeviceRange<T: AnyElem> {
    pub(crate) lower: Scalar<T>,
    pub(crate) upper: Scalar<T>,
    pub(crate) step: Scalar<T>,
    pub(crate) hints: LoopHints,
    pub(crate) at: &'static Location<'static>,
}

impl<T: Int> DeviceRange<T> {
    /// The range `lower..upper`.
    #[track_caller]
    pub fn new(lower: Scalar<T>, upper: Scalar<T>) -> Self {
        Self {
            lower,
            upper,
            step: Tile::new(crate::literal::constant(T::TYPE, Default::default(), tegula_ir::literal::Literal::Int(1))),
            hints: LoopHints::default(),
            at: Location::caller(),
        }
    }

    /// Every `step`-th number; `step` must be positive.
    #[track_caller]
    pub fn step_by(mut self, step: impl crate::literal::Operand<T, ()>) -> Self {
        self.step = Tile::new(step.operand());
        self
    }

    /// Software pipeline stages to use on GPUs: loads of later iterations are under way while one computes. A
    /// hint; 1 is no pipeline.
    pub fn stages(mut self, stages: u8) -> Self {
        self.hints.stages = Some(stages);
        self
    }

    /// How often to unroll. A hint.
    pub fn unroll(mut self, factor: u32) -> Self {
        self.hints.unroll = Some(factor);
        self
    }

    /// Asks for separate warps that load and that compute. A hint.
    pub fn warp_specialize(mut self) -> Self {
        self.hints.warp_specialize = true;
        self
    }

    /// Asks for this loop and the one it contains to become one. A hint.
    pub fn flatten(mut self) -> Self {
        self.hints.flatten = true;
        self
    }
}

/// What `lo..hi` is inside a kernel.
#[diagnostic::on_unimplemented(
    message = "a range from `{Self}` to `{Hi}` is not possible in a kernel",
    label = "the ends of this range do not go together",
    note = "both ends are numbers of one type: convert one, as in `.cast::<i64>()`; positions and extents are `Scalar<i64>`"
)]
pub trait MakeRange<Hi> {
    /// A range of the host, or [`DeviceRange`].
    type Range;

    /// `self..hi`.
    #[track_caller]
    fn range(self, hi: Hi) -> Self::Range;
}

/// `lo..=hi` inside a kernel.
#[track_caller]
pub fn range_inclusive<Lo, Hi>(lo: Lo, hi: Hi) -> Lo::Range
where
    Hi: std::ops::Add<IntLit, Output = Hi>,
    Lo: MakeRange<Hi>,
{
    lo.range(hi + IntLit(1))
}

#[diagnostic::do_not_recommend]
impl<T: Int> MakeRange<Scalar<T>> for Scalar<T> {
    type Range = DeviceRange<T>;

    #[track_caller]
    fn range(self, hi: Scalar<T>) -> DeviceRange<T> {
        DeviceRange::new(self, hi)
    }
}

#[diagnostic::do_not_recommend]
impl<T: Int> MakeRange<Scalar<T>> for IntLit {
    type Range = DeviceRange<T>;

    #[track_caller]
    fn range(self, hi: Scalar<T>) -> DeviceRange<T> {
        DeviceRange::new(Scalar::new(crate::literal::Operand::<T, ()>::operand(self)), hi)
    }
}

#[diagnostic::do_not_recommend]
impl<T: Int> MakeRange<IntLit> for Scalar<T> {
    type Range = DeviceRange<T>;

    #[track_caller]
    fn range(self, hi: IntLit) -> DeviceRange<T> {
        DeviceRange::new(self, Scalar::new(crate::literal::Operand::<T, ()>::operand(hi)))
    }
}

macro_rules! host_range {
    ($($ty:ty)*) => {$(
        #[diagnostic::do_not_recommend]
        impl MakeRange<$ty> for $ty {
            type Range = std::ops::Range<$ty>;

            fn range(self, hi: $ty) -> Self::Range {
                self..hi
            }
        }

        #[diagnostic::do_not_recommend]
        impl MakeRange<$ty> for IntLit {
            type Range = std::ops::Range<$ty>;

            fn range(self, hi: $ty) -> Self::Range {
                self.0 as $ty..hi
            }
        }

        #[diagnostic::do_not_recommend]
        impl MakeRange<IntLit> for $ty {
            type Range = std::ops::Range<$ty>;

            fn range(self, hi: IntLit) -> Self::Range {
                self..hi.0 as $ty
            }
        }
    )*};
}

host_range!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

macro_rules! mixed_range {
    ($($ty:ty)*) => {$(
        #[diagnostic::do_not_recommend]
        impl MakeRange<Scalar<$ty>> for $ty {
            type Range = DeviceRange<$ty>;

            #[track_caller]
            fn range(self, hi: Scalar<$ty>) -> DeviceRange<$ty> {
                DeviceRange::new(typed(self), hi)
            }
        }

        #[diagnostic::do_not_recommend]
        impl MakeRange<$ty> for Scalar<$ty> {
            type Range = DeviceRange<$ty>;

            #[track_caller]
            fn range(self, hi: $ty) -> DeviceRange<$ty> {
                DeviceRange::new(self, typed(hi))
            }
        }
    )*};
}

mixed_range!(i8 i16 i32 i64 u8 u16 u32 u64);

/// A range that runs at build time, its body once for each number: `for i in unrolled(0..4)`. Any iterator of
/// the host will do.
pub fn unrolled<I: IntoIterator>(iter: I) -> I {
    iter
}

/// A loop that runs on the device although both ends are known at build time: `for i in device_range(0, 64)`.
#[track_caller]
pub fn device_range<T: Int>(
    lower: impl crate::literal::Operand<T, ()>,
    upper: impl crate::literal::Operand<T, ()>,
) -> DeviceRange<T> {
    DeviceRange::new(Tile::new(lower.operand()), Tile::new(upper.operand()))
}

/// What `for` runs over inside a kernel: any iterator of the host, at build time, or a [`DeviceRange`].
#[diagnostic::on_unimplemented(
    message = "`for` cannot run over `{Self}`",
    label = "neither a range nor an iterator",
    note = "to count up to a scalar `n` write `for i in 0..n`; operations on a tile apply to all its elements, without a loop; at build time any iterator will do"
)]
pub trait IntoLoop {
    /// Drives the loop.
    type Loop: Loop;

    /// Starts the loop; `breaks` says whether its body contains a `break` (then the first variable announced
    /// is its flag).
    #[track_caller]
    fn into_loop(self, breaks: bool) -> Self::Loop;
}

#[diagnostic::do_not_recommend]
impl<I: IntoIterator> IntoLoop for I {
    type Loop = HostFor<I::IntoIter>;

    fn into_loop(self, _: bool) -> Self::Loop {
        HostFor::new(self.into_iter())
    }
}

/// Never implemented. With it in the way the compiler says that a loop cannot run over a tile, rather than that
/// the tile is no iterator.
#[doc(hidden)]
pub trait LoopsOver {}

#[diagnostic::do_not_recommend]
impl<T, S> IntoLoop for crate::tile::Tile<T, S>
where
    Self: LoopsOver,
{
    type Loop = HostFor<std::iter::Empty<()>>;

    fn into_loop(self, _: bool) -> Self::Loop {
        HostFor::new(std::iter::empty())
    }
}

#[diagnostic::do_not_recommend]
impl<T: Int> IntoLoop for DeviceRange<T> {
    type Loop = DeviceFor<T>;

    fn into_loop(self, breaks: bool) -> DeviceFor<T> {
        DeviceFor::new(self, breaks)
    }
}

/// The handle of a scalar of element type `T`.
pub(crate) fn scalar_of<T: Element>(handle: Handle) -> Scalar<T> {
    Tile::new(handle)
}
