//! Scans: inclusive prefix reductions along an axis. f16 and bf16 accumulate in f32, each result rounded once.

use tegula_ir::ops::{OpKind, ScanKind};

use super::reduce::{Combine, combine};
use crate::context::{self, Handle};
use crate::elem::{Element, Num};
use crate::shape::Shape;
use crate::shape::axes::HasAxis;
use crate::tile::{Scalar, Tile};

#[track_caller]
fn scan(kind: ScanKind, x: Handle, axis: usize, reverse: bool) -> Handle {
    context::emit([x], |[x]| OpKind::Scan { kind, x, axis: axis as u8, reverse })
}

macro_rules! scans {
    ($($(#[$meta:meta])* $forward:ident, $reverse:ident = $kind:ident;)*) => {
        impl<T: Num, S: Shape> Tile<T, S> {
            $(
                $(#[$meta])*
                ///
                /// Along axis `AXIS`, from the first index on.
                #[track_caller]
                pub fn $forward<const AXIS: usize>(self) -> Self
                where
                    S: HasAxis<AXIS>,
                {
                    Tile::new(scan(ScanKind::$kind, self.handle(), AXIS, false))
                }

                $(#[$meta])*
                ///
                /// Along axis `AXIS`, from the last index on.
                #[track_caller]
                pub fn $reverse<const AXIS: usize>(self) -> Self
                where
                    S: HasAxis<AXIS>,
                {
                    Tile::new(scan(ScanKind::$kind, self.handle(), AXIS, true))
                }
            )*
        }
    };
}

scans! {
    /// Running sums; wrapping for integers.
    cumsum, cumsum_reverse = Sum;
    /// Running products; wrapping for integers.
    cumprod, cumprod_reverse = Prod;
    /// Running maxima; NaN is passed over.
    cummax, cummax_reverse = Max;
    /// Running minima; NaN is passed over.
    cummin, cummin_reverse = Min;
}

/// Scans several tiles of one shape together along axis `AXIS` with an associative function of one element of
/// each, which need not be commutative: the first argument holds what was passed already, in lower indices.
#[track_caller]
pub fn scan_with<const AXIS: usize, C: Combine>(
    inputs: C,
    f: impl Fn(C::Elements, C::Elements) -> C::Elements,
) -> C::Shaped<C::Shape>
where
    C::Shape: HasAxis<AXIS>,
{
    scan_tiles::<AXIS, C>(inputs, f, false)
}

/// As [`scan_with`], from the last index on: the first argument of the function holds higher indices.
#[track_caller]
pub fn scan_with_reverse<const AXIS: usize, C: Combine>(
    inputs: C,
    f: impl Fn(C::Elements, C::Elements) -> C::Elements,
) -> C::Shaped<C::Shape>
where
    C::Shape: HasAxis<AXIS>,
{
    scan_tiles::<AXIS, C>(inputs, f, true)
}

#[track_caller]
fn scan_tiles<const AXIS: usize, C: Combine>(
    inputs: C,
    f: impl Fn(C::Elements, C::Elements) -> C::Elements,
    reverse: bool,
) -> C::Shaped<C::Shape>
where
    C::Shape: HasAxis<AXIS>,
{
    let results = combine(inputs, f, |inputs, body| OpKind::ScanWith { inputs, axis: AXIS as u8, reverse, body });
    C::shaped(&results)
}

impl<T: Element, S: Shape> Tile<T, S> {
    /// Scans along axis `AXIS` with an associative function, which need not be commutative: its first argument
    /// holds what was passed already. See [`scan_with`] for several tiles.
    #[track_caller]
    pub fn scan_with<const AXIS: usize>(self, f: impl Fn(Scalar<T>, Scalar<T>) -> Scalar<T>) -> Self
    where
        S: HasAxis<AXIS>,
    {
        scan_tiles::<AXIS, Self>(self, f, false)
    }

    /// As [`scan_with`](Self::scan_with), from the last index on.
    #[track_caller]
    pub fn scan_with_reverse<const AXIS: usize>(self, f: impl Fn(Scalar<T>, Scalar<T>) -> Scalar<T>) -> Self
    where
        S: HasAxis<AXIS>,
    {
        scan_tiles::<AXIS, Self>(self, f, true)
    }
}
