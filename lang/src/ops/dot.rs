//! Matrix products. The type of the accumulator says the precision of accumulation.

use tegula_ir::ops::{DotPrecision, OpKind, Rounding};

use crate::context::{self, Handle};
use crate::elem::{DotInto, Element, ScalarType};
use crate::shape::dim::Dim;
use crate::tile::Tile;

/// `acc + a · b`. f32 is multiplied as IEEE f32 on every target; ask for less with [`dot_with`].
///
/// f16, bf16 and 8-bit floats are multiplied exactly and accumulate in f32 if `acc` is f32. f64 into an f32
/// accumulator is computed in f64 and rounded once per call. 8- and 4-bit integers accumulate in i32, wrapping.
#[track_caller]
pub fn dot<A, C, M, K, N>(a: Tile<A, (M, K)>, b: Tile<A, (K, N)>, acc: Tile<C, (M, N)>) -> Tile<C, (M, N)>
where
    A: DotInto<C>,
    C: Element,
    M: Dim,
    K: Dim,
    N: Dim,
{
    Tile::new(emit::<A, C>(a.handle(), b.handle(), acc.handle(), DotPrecision::Ieee))
}

/// As [`dot`], multiplying f32 as `precision` says. Other element types are multiplied exactly whatever it
/// says.
#[track_caller]
pub fn dot_with<A, C, M, K, N>(
    a: Tile<A, (M, K)>,
    b: Tile<A, (K, N)>,
    acc: Tile<C, (M, N)>,
    precision: DotPrecision,
) -> Tile<C, (M, N)>
where
    A: DotInto<C>,
    C: Element,
    M: Dim,
    K: Dim,
    N: Dim,
{
    Tile::new(emit::<A, C>(a.handle(), b.handle(), acc.handle(), precision))
}

/// As [`dot`] for two 8-bit float formats, or signed with unsigned integers of one width.
#[track_caller]
pub fn dot_mixed<A, B, C, M, K, N>(a: Tile<A, (M, K)>, b: Tile<B, (K, N)>, acc: Tile<C, (M, N)>) -> Tile<C, (M, N)>
where
    A: DotInto<C>,
    B: DotInto<C>,
    C: Element,
    M: Dim,
    K: Dim,
    N: Dim,
{
    Tile::new(emit::<A, C>(a.handle(), b.handle(), acc.handle(), DotPrecision::Ieee))
}

/// As [`dot`], for each index of a leading batch axis.
#[track_caller]
pub fn dot_batched<A, C, B, M, K, N>(
    a: Tile<A, (B, M, K)>,
    b: Tile<A, (B, K, N)>,
    acc: Tile<C, (B, M, N)>,
) -> Tile<C, (B, M, N)>
where
    A: DotInto<C>,
    C: Element,
    B: Dim,
    M: Dim,
    K: Dim,
    N: Dim,
{
    Tile::new(emit::<A, C>(a.handle(), b.handle(), acc.handle(), DotPrecision::Ieee))
}

#[track_caller]
fn emit<A: Element, C: Element>(a: Handle, b: Handle, acc: Handle, precision: DotPrecision) -> Handle {
    let precision = if A::TYPE == ScalarType::F32 { precision } else { DotPrecision::Ieee };
    if A::TYPE == ScalarType::F64 && C::TYPE == ScalarType::F32 {
        let wide = cast(acc, ScalarType::F64);
        let sum = context::emit([a, b, wide], |[a, b, acc]| OpKind::Dot { a, b, acc, precision });
        return cast(sum, ScalarType::F32);
    }
    context::emit([a, b, acc], |[a, b, acc]| OpKind::Dot { a, b, acc, precision })
}

#[track_caller]
fn cast(x: Handle, to: ScalarType) -> Handle {
    context::emit([x], |[x]| OpKind::Cast { x, to, rounding: Rounding::NearestEven, saturate: false })
}
