//! Reductions along axes. The reduced axis vanishes; keep it with `.expand::<AXIS>()`.
//!
//! The order of float additions is not specified, but fixed for a given kernel and target; f16 and bf16
//! accumulate in f32 and round once.

use std::panic::Location;

use tegula_ir::Type;
use tegula_ir::ops::{ArgReduceKind, OpKind, ReduceKind};

use super::shape::reshape;
use crate::context::{self, Handle, Handles};
use crate::control::carry::{Staged, flatten, refill};
use crate::elem::{AnyElem, Bits, Element, Float, Num, Summable};
use crate::shape::Shape;
use crate::shape::axes::{AxisList, HasAxis};
use crate::tile::{Scalar, Tile};

#[track_caller]
fn reduce(kind: ReduceKind, x: Handle, axes: impl IntoIterator<Item = u8>) -> Handle {
    let axes = axes.into_iter().collect();
    context::emit([x], |[x]| OpKind::Reduce { kind, x, axes })
}

/// All axes of a shape.
fn all_axes<S: Shape>() -> std::ops::Range<u8> {
    0..S::RANK as u8
}

/// Reduces over all axes; a scalar is its own reduction.
#[track_caller]
fn reduce_all<T: AnyElem, S: Shape>(kind: ReduceKind, x: Handle) -> Scalar<T> {
    Tile::new(if S::RANK == 0 { x } else { reduce(kind, x, all_axes::<S>()) })
}

macro_rules! reductions {
    ($bound:ident; $($(#[$meta:meta])* $one:ident, $several:ident, $all:ident = $kind:ident;)*) => {
        impl<T: Element, S: Shape> Tile<T, S> {
            $(
                $(#[$meta])*
                ///
                /// Along axis `AXIS`.
                #[track_caller]
                pub fn $one<const AXIS: usize>(self) -> Tile<T, S::Without>
                where
                    T: $bound,
                    S: HasAxis<AXIS>,
                {
                    Tile::new(reduce(ReduceKind::$kind, self.handle(), [AXIS as u8]))
                }

                $(#[$meta])*
                ///
                /// Over several axes, as in `::<(Axis<0>, Axis<2>)>()`.
                #[track_caller]
                pub fn $several<A: AxisList<S>>(self) -> Tile<T, A::Without>
                where
                    T: $bound,
                {
                    Tile::new(reduce(ReduceKind::$kind, self.handle(), A::axes()))
                }

                $(#[$meta])*
                ///
                /// Over the whole tile.
                #[track_caller]
                pub fn $all(self) -> Scalar<T>
                where
                    T: $bound,
                {
                    reduce_all::<T, S>(ReduceKind::$kind, self.handle())
                }
            )*
        }
    };
}

reductions! { Num;
    /// The product; wrapping for integers.
    prod, prod_over, prod_all = Prod;
    /// The greatest element. NaN is passed over; NaN where all are.
    max, max_over, max_all = Max;
    /// The least element. NaN is passed over; NaN where all are.
    min, min_over, min_all = Min;
}

reductions! { Float;
    /// The greatest element, NaN where any is.
    max_nan, max_nan_over, max_nan_all = MaxNan;
    /// The least element, NaN where any is.
    min_nan, min_nan_over, min_nan_all = MinNan;
}

reductions! { Bits;
    /// Exclusive or of the bits; for `bool` whether an odd number is true.
    xor_reduce, xor_reduce_over, xor_reduce_all = Xor;
    /// And of the bits; for `bool` as [`all`](Tile::all).
    and_reduce, and_reduce_over, and_reduce_all = And;
    /// Or of the bits; for `bool` as [`any`](Tile::any).
    or_reduce, or_reduce_over, or_reduce_all = Or;
}

impl<T: Summable, S: Shape> Tile<T, S> {
    /// The sum along axis `AXIS`; wrapping for integers. The sum of a `bool` tile counts, in `i32`.
    #[track_caller]
    pub fn sum<const AXIS: usize>(self) -> Tile<T::Sum, S::Without>
    where
        S: HasAxis<AXIS>,
    {
        Tile::new(reduce(ReduceKind::Sum, self.cast::<T::Sum>().handle(), [AXIS as u8]))
    }

    /// The sum over several axes, as in `sum_over::<(Axis<0>, Axis<2>)>()`. See [`sum`](Self::sum).
    #[track_caller]
    pub fn sum_over<A: AxisList<S>>(self) -> Tile<T::Sum, A::Without> {
        Tile::new(reduce(ReduceKind::Sum, self.cast::<T::Sum>().handle(), A::axes()))
    }

    /// The sum of all elements. See [`sum`](Self::sum).
    #[track_caller]
    pub fn sum_all(self) -> Scalar<T::Sum> {
        reduce_all::<T::Sum, S>(ReduceKind::Sum, self.cast::<T::Sum>().handle())
    }
}

impl<S: Shape> Tile<bool, S> {
    /// Whether any element along axis `AXIS` is true.
    #[track_caller]
    pub fn any<const AXIS: usize>(self) -> Tile<bool, S::Without>
    where
        S: HasAxis<AXIS>,
    {
        self.or_reduce::<AXIS>()
    }

    /// Whether all elements along axis `AXIS` are true.
    #[track_caller]
    pub fn all<const AXIS: usize>(self) -> Tile<bool, S::Without>
    where
        S: HasAxis<AXIS>,
    {
        self.and_reduce::<AXIS>()
    }

    /// Whether any element along several axes is true, as in `any_over::<(Axis<0>, Axis<2>)>()`.
    #[track_caller]
    pub fn any_over<A: AxisList<S>>(self) -> Tile<bool, A::Without> {
        self.or_reduce_over::<A>()
    }

    /// Whether all elements along several axes are true.
    #[track_caller]
    pub fn all_over<A: AxisList<S>>(self) -> Tile<bool, A::Without> {
        self.and_reduce_over::<A>()
    }

    /// Whether any element of the tile is true: the condition for an `if` or `while`.
    #[track_caller]
    pub fn any_all(self) -> Scalar<bool> {
        self.or_reduce_all()
    }

    /// Whether all elements of the tile are true: the condition for an `if` or `while`.
    #[track_caller]
    pub fn all_all(self) -> Scalar<bool> {
        self.and_reduce_all()
    }
}

impl<T: Num, S: Shape> Tile<T, S> {
    /// The greatest element along axis `AXIS` and its index. Equal elements (also 0.0 and -0.0) resolve to the
    /// lowest index; NaN is passed over; where all are NaN the result is NaN and index 0.
    #[track_caller]
    pub fn max_with_index<const AXIS: usize>(self) -> (Tile<T, S::Without>, Tile<i32, S::Without>)
    where
        S: HasAxis<AXIS>,
    {
        arg_reduce(ArgReduceKind::Max, self.handle(), AXIS)
    }

    /// The least element along axis `AXIS` and its index. See [`max_with_index`](Self::max_with_index).
    #[track_caller]
    pub fn min_with_index<const AXIS: usize>(self) -> (Tile<T, S::Without>, Tile<i32, S::Without>)
    where
        S: HasAxis<AXIS>,
    {
        arg_reduce(ArgReduceKind::Min, self.handle(), AXIS)
    }

    /// The index of the greatest element along axis `AXIS`. See [`max_with_index`](Self::max_with_index).
    #[track_caller]
    pub fn argmax<const AXIS: usize>(self) -> Tile<i32, S::Without>
    where
        S: HasAxis<AXIS>,
    {
        self.max_with_index::<AXIS>().1
    }

    /// The index of the least element along axis `AXIS`. See [`max_with_index`](Self::max_with_index).
    #[track_caller]
    pub fn argmin<const AXIS: usize>(self) -> Tile<i32, S::Without>
    where
        S: HasAxis<AXIS>,
    {
        self.min_with_index::<AXIS>().1
    }
}

impl<T: Num, S: Shape> Tile<T, S> {
    /// The greatest element of the tile and its index in row-major order. See
    /// [`max_with_index`](Self::max_with_index).
    #[track_caller]
    pub fn max_with_index_all(self) -> (Scalar<T>, Scalar<i32>) {
        arg_reduce(ArgReduceKind::Max, self.in_a_row(), 0)
    }

    /// The least element of the tile and its index in row-major order.
    #[track_caller]
    pub fn min_with_index_all(self) -> (Scalar<T>, Scalar<i32>) {
        arg_reduce(ArgReduceKind::Min, self.in_a_row(), 0)
    }

    /// The index in row-major order of the greatest element of the tile.
    #[track_caller]
    pub fn argmax_all(self) -> Scalar<i32> {
        self.max_with_index_all().1
    }

    /// The index in row-major order of the least element of the tile.
    #[track_caller]
    pub fn argmin_all(self) -> Scalar<i32> {
        self.min_with_index_all().1
    }

    /// The elements along one axis.
    #[track_caller]
    fn in_a_row(self) -> Handle {
        let extents = S::extents();
        let count = extents.iter().product();
        reshape(self.handle(), &extents, [count].into_iter().collect())
    }
}

#[track_caller]
fn arg_reduce<T: AnyElem, R: Shape>(kind: ArgReduceKind, x: Handle, axis: usize) -> (Tile<T, R>, Tile<i32, R>) {
    match context::emit_all(&[x], |v| OpKind::ArgReduce { kind, x: v[0], axis: axis as u8 }).as_deref() {
        Some(&[value, index]) => (Tile::new(value), Tile::new(index)),
        _ => (Tile::new(Handle::POISON), Tile::new(Handle::POISON)),
    }
}

/// One tile, or a tuple of tiles of one shape, that a closure combines: see [`Tile::reduce_with`] and
/// [`reduce_with`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be combined along an axis",
    label = "a tile or a tuple of up to four tiles of one shape is needed here"
)]
pub trait Combine {
    /// The shape of the tiles.
    type Shape: Shape;
    /// One element of each.
    type Elements: Staged + Copy;
    /// The same tiles under shape `R`.
    type Shaped<R: Shape>;

    #[doc(hidden)]
    fn handles(self) -> Handles;
    #[doc(hidden)]
    fn elements(handles: &[Handle]) -> Self::Elements;
    #[doc(hidden)]
    fn types() -> Vec<Type>;
    #[doc(hidden)]
    fn shaped<R: Shape>(handles: &[Handle]) -> Self::Shaped<R>;
}

impl<T: Element, S: Shape> Combine for Tile<T, S> {
    type Shape = S;
    type Elements = Scalar<T>;
    type Shaped<R: Shape> = Tile<T, R>;

    fn handles(self) -> Handles {
        [self.handle()].into_iter().collect()
    }

    fn elements(handles: &[Handle]) -> Scalar<T> {
        Tile::new(handles[0])
    }

    fn types() -> Vec<Type> {
        vec![Type::scalar(T::TYPE)]
    }

    fn shaped<R: Shape>(handles: &[Handle]) -> Tile<T, R> {
        Tile::new(handles[0])
    }
}

macro_rules! combine {
    ($($name:ident $i:tt),+) => {
        impl<$($name: Element,)+ S: Shape> Combine for ($(Tile<$name, S>,)+) {
            type Shape = S;
            type Elements = ($(Scalar<$name>,)+);
            type Shaped<R: Shape> = ($(Tile<$name, R>,)+);

            fn handles(self) -> Handles {
                [$(self.$i.handle()),+].into_iter().collect()
            }

            fn elements(handles: &[Handle]) -> Self::Elements {
                ($(Tile::new(handles[$i]),)+)
            }

            fn types() -> Vec<Type> {
                vec![$(Type::scalar($name::TYPE)),+]
            }

            fn shaped<R: Shape>(handles: &[Handle]) -> Self::Shaped<R> {
                ($(Tile::new(handles[$i]),)+)
            }
        }
    };
}

combine!(A 0);
combine!(A 0, B 1);
combine!(A 0, B 1, C 2);
combine!(A 0, B 1, C 2, D 3);

/// Builds the block of a combining function and the op that owns it; gives the op's results.
#[track_caller]
pub(crate) fn combine<C: Combine>(
    inputs: C,
    f: impl Fn(C::Elements, C::Elements) -> C::Elements,
    op: impl FnOnce(tegula_ir::ops::Values, tegula_ir::Block) -> OpKind,
) -> Handles {
    let at = Location::caller();
    let types = C::types();
    let n = types.len();
    let poison = || std::iter::repeat_n(Handle::POISON, n).collect::<Handles>();
    let handles = inputs.handles();
    let Some((block, open, args)) = context::with(|b| {
        let block = b.make_block(types.iter().chain(&types).cloned());
        let open = b.open(block);
        let values: Vec<_> = b.builder.func.block(block).args.to_vec();
        let args: Handles = values.into_iter().map(|v| b.handle(v)).collect();
        (block, open, args)
    }) else {
        return poison();
    };
    let mut result = f(C::elements(&args[..n]), C::elements(&args[n..]));
    let yielded = flatten(&mut result);
    refill(&mut result, &[]);
    let done = context::emit_all(&yielded, |v| OpKind::Yield { values: v.iter().copied().collect() });
    context::with(|b| b.close(open));
    let _ = at;
    if done.is_none() {
        return poison();
    }
    context::emit_all(&handles, |v| op(v.iter().copied().collect(), block)).unwrap_or_else(poison)
}

/// Reduces several tiles of one shape together along axis `AXIS` with an associative function of one element
/// of each: the first argument holds elements of lower indices. It need not be commutative.
///
/// For example the mean and variance of a row in one pass, or an argmax with other rules.
#[track_caller]
pub fn reduce_with<const AXIS: usize, C: Combine>(
    inputs: C,
    f: impl Fn(C::Elements, C::Elements) -> C::Elements,
) -> C::Shaped<<C::Shape as HasAxis<AXIS>>::Without>
where
    C::Shape: HasAxis<AXIS>,
{
    let results = combine(inputs, f, |inputs, body| OpKind::ReduceWith { inputs, axis: AXIS as u8, body });
    C::shaped(&results)
}

impl<T: Element, S: Shape> Tile<T, S> {
    /// Reduces along axis `AXIS` with an associative function: its first argument holds elements of lower
    /// indices. It need not be commutative. See [`reduce_with`] for several tiles.
    #[track_caller]
    pub fn reduce_with<const AXIS: usize>(self, f: impl Fn(Scalar<T>, Scalar<T>) -> Scalar<T>) -> Tile<T, S::Without>
    where
        S: HasAxis<AXIS>,
    {
        reduce_with::<AXIS, Self>(self, f)
    }
}
