//! Axes of shapes, over types: removing, inserting, picking, replacing and reordering them.

use smallvec::SmallVec;

use super::Shape;
use super::dim::{Const, Dim, Extent, New, Plus, Twice};

/// The axis number `I` as a type, for operations that take several: `sum_over::<(Axis<0>, Axis<2>)>()`.
#[derive(Clone, Copy, Debug)]
pub struct Axis<const I: usize>;

/// Shapes that have an axis `I`.
#[diagnostic::on_unimplemented(
    message = "there is no axis {I} in shape `{Self}`",
    label = "axis {I} is out of range",
    note = "axes are counted from 0, outermost first"
)]
pub trait HasAxis<const I: usize>: Shape {
    /// The extent of axis `I`.
    type Extent: Extent;
    /// The shape without axis `I`.
    type Without: Shape;
}

/// Shapes in whose axis `I` the extent `D` can be put.
#[diagnostic::on_unimplemented(
    message = "there is no axis {I} in shape `{Self}`",
    label = "axis {I} is out of range",
    note = "axes are counted from 0, outermost first"
)]
pub trait WithAxis<const I: usize, D: Extent>: HasAxis<I> {
    /// The shape with extent `D` on axis `I`.
    type With: Shape;
}

/// Shapes that tiles of shape `R` can follow along axis `I`: the other axes agree.
#[diagnostic::on_unimplemented(
    message = "tiles of shape `{Self}` and `{R}` cannot be joined along axis {I}",
    label = "the shapes differ on another axis, or have no axis {I}",
    note = "all axes but {I} have the same dims; axis {I} of both is a dim"
)]
pub trait CatAxis<const I: usize, R>: Shape {
    /// The shape of both.
    type Joined: Shape;
}

#[diagnostic::do_not_recommend]
impl<S, R, D: Dim, E: Dim, const I: usize> CatAxis<I, R> for S
where
    S: HasAxis<I, Extent = D> + WithAxis<I, Plus<D, E>>,
    R: HasAxis<I, Extent = E, Without = <S as HasAxis<I>>::Without>,
{
    type Joined = <S as WithAxis<I, Plus<D, E>>>::With;
}

/// Shapes of indices that pick along axis `I` of a tile of shape `S`: the other axes agree.
#[diagnostic::on_unimplemented(
    message = "indices of shape `{Self}` cannot pick along axis {I} of a tile of shape `{S}`",
    label = "the shapes differ on another axis, or have no axis {I}",
    note = "all axes but {I} have the same dims"
)]
pub trait PicksAlong<const I: usize, S>: Shape {}

#[diagnostic::do_not_recommend]
impl<S: HasAxis<I>, R: HasAxis<I, Without = <S as HasAxis<I>>::Without>, const I: usize> PicksAlong<I, S> for R {}

/// Shapes that an axis can be inserted into before axis `I`.
#[diagnostic::on_unimplemented(
    message = "no axis can be inserted at {I} into shape `{Self}`",
    label = "axis {I} is out of range",
    note = "a shape of n axes (at most 4) takes a new one at 0 to n"
)]
pub trait InsertAxis<const I: usize>: Shape {
    /// The shape with [`New`] at `I`.
    type Inserted: Shape;
}

/// Shapes whose axis `I` is [`New`], so that it can be removed.
#[diagnostic::on_unimplemented(
    message = "there is no axis {I} in shape `{Self}`",
    label = "axis {I} is out of range",
    note = "axes are counted from 0, outermost first"
)]
pub trait SqueezeAxis<const I: usize>: Shape {
    /// The shape without the axis.
    type Squeezed: Shape;
}

/// The extent [`New`].
#[diagnostic::on_unimplemented(
    message = "an axis of extent `{Self}` cannot be squeezed",
    label = "this axis is `{Self}`, not `New`",
    note = "only axes inserted by `.expand::<AXIS>()` can be squeezed: reduce others, or use `.reshape::<S>()`"
)]
pub trait Inserted {}

impl Inserted for New {}

impl<S: HasAxis<I>, const I: usize> SqueezeAxis<I> for S
where
    <S as HasAxis<I>>::Extent: Inserted,
{
    type Squeezed = <S as HasAxis<I>>::Without;
}

/// Shapes with at least two axes, whose last two can be exchanged.
#[diagnostic::on_unimplemented(
    message = "a tile of shape `{Self}` has no two axes to transpose",
    label = "at least two axes are needed here"
)]
pub trait SwapLast: Shape {
    /// The shape with the last two axes exchanged.
    type Swapped: Shape;
}

/// Shapes of at most four axes, which can take one more at the end (`join`).
#[diagnostic::on_unimplemented(message = "shape `{Self}` takes no further axis", label = "a tile has at most 5 axes")]
pub trait PushAxis<D: Extent>: Shape {
    /// The shape with `D` as last axis.
    type Pushed: Shape;
}

/// Shapes whose last axis has extent `Const<2>` (`split`).
#[diagnostic::on_unimplemented(
    message = "a tile of shape `{Self}` cannot be split",
    label = "the last axis is not `Const<2>`",
    note = "reshape it first, as in `.reshape::<(N, Const<2>)>()`"
)]
pub trait SplitLast: Shape {
    /// The shape without the last axis.
    type Part: Shape;
}

/// Shapes with a last axis, doubled by `interleave`.
#[diagnostic::on_unimplemented(
    message = "tiles of shape `{Self}` cannot be interleaved",
    label = "at least one axis is needed here"
)]
pub trait DoubleLast: Shape {
    /// The shape with twice the last axis.
    type Doubled: Shape;
}

/// An order of the axes of shape `S`, as a tuple of [`Axis`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an order of the axes of shape `{S}`",
    label = "name each axis of `{S}` once, as in `(Axis<1>, Axis<0>)`"
)]
pub trait Order<S: Shape> {
    /// The reordered shape.
    type Output: Shape;

    /// Axis `i` of the result is this axis of the operand.
    fn order() -> SmallVec<[u8; 5]>;
}

/// A set of axes of shape `S` to reduce over, ascending, as a tuple of [`Axis`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a set of axes of shape `{S}`",
    label = "name axes of `{S}` in ascending order, as in `(Axis<0>, Axis<2>)`"
)]
pub trait AxisList<S: Shape> {
    /// The shape without these axes.
    type Without: Shape;

    /// The axes.
    fn axes() -> SmallVec<[u8; 5]>;
}

macro_rules! axis {
    ($i:literal; $($pre:ident)*; $($post:ident)*) => {
        #[diagnostic::do_not_recommend]
        impl<$($pre: Extent,)* X: Extent, $($post: Extent),*> HasAxis<$i> for ($($pre,)* X, $($post,)*) {
            type Extent = X;
            type Without = ($($pre,)* $($post,)*);
        }

        impl<$($pre: Extent,)* X: Extent, $($post: Extent,)* Y: Extent> WithAxis<$i, Y>
            for ($($pre,)* X, $($post,)*)
        {
            type With = ($($pre,)* Y, $($post,)*);
        }

        #[diagnostic::do_not_recommend]
        impl<$($pre: Extent,)* $($post: Extent),*> InsertAxis<$i> for ($($pre,)* $($post,)*) {
            type Inserted = ($($pre,)* New, $($post,)*);
        }

    };
}

axis!(0; ; );
axis!(0; ; B);
axis!(1; A; );
axis!(0; ; B C);
axis!(1; A; C);
axis!(2; A B; );
axis!(0; ; B C D);
axis!(1; A; C D);
axis!(2; A B; D);
axis!(3; A B C; );
axis!(0; ; B C D E);
axis!(1; A; C D E);
axis!(2; A B; D E);
axis!(3; A B C; E);
axis!(4; A B C D; );

macro_rules! last {
    ($($pre:ident)*) => {
        impl<$($pre: Extent,)* Y: Extent, Z: Extent> SwapLast for ($($pre,)* Y, Z) {
            type Swapped = ($($pre,)* Z, Y);
        }
    };
}

last!();
last!(A);
last!(A B);
last!(A B C);

macro_rules! push {
    ($($name:ident)*) => {
        impl<$($name: Extent,)* X: Extent> PushAxis<X> for ($($name,)*) {
            type Pushed = ($($name,)* X,);
        }

        impl<$($name: Extent),*> SplitLast for ($($name,)* Const<2>,) {
            type Part = ($($name,)*);
        }

        impl<$($name: Extent,)* X: Dim> DoubleLast for ($($name,)* X,) {
            type Doubled = ($($name,)* Twice<X>,);
        }
    };
}

push!();
push!(A);
push!(A B);
push!(A B C);
push!(A B C D);

macro_rules! order {
    ($rank:literal; $($i:ident)+) => {
        #[diagnostic::do_not_recommend]
        impl<S: super::Ranked<$rank> $(+ HasAxis<$i>)+, $(const $i: usize),+> Order<S> for ($(Axis<$i>,)+) {
            type Output = ($(<S as HasAxis<$i>>::Extent,)+);

            fn order() -> SmallVec<[u8; 5]> {
                [$($i as u8),+].into_iter().collect()
            }
        }
    };
}

order!(1; I);
order!(2; I J);
order!(3; I J K);
order!(4; I J K L);
order!(5; I J K L M);

/// The shape without axis `I`.
type Without<S, const I: usize> = <S as HasAxis<I>>::Without;

// The highest axis is removed first, so that the lower numbers still hold.
#[diagnostic::do_not_recommend]
impl<S: HasAxis<I>, const I: usize> AxisList<S> for (Axis<I>,) {
    type Without = Without<S, I>;

    fn axes() -> SmallVec<[u8; 5]> {
        [I as u8].into_iter().collect()
    }
}

#[diagnostic::do_not_recommend]
impl<S, const I: usize, const J: usize> AxisList<S> for (Axis<I>, Axis<J>)
where
    S: HasAxis<J>,
    Without<S, J>: HasAxis<I>,
{
    type Without = Without<Without<S, J>, I>;

    fn axes() -> SmallVec<[u8; 5]> {
        [I as u8, J as u8].into_iter().collect()
    }
}

#[diagnostic::do_not_recommend]
impl<S, const I: usize, const J: usize, const K: usize> AxisList<S> for (Axis<I>, Axis<J>, Axis<K>)
where
    S: HasAxis<K>,
    Without<S, K>: HasAxis<J>,
    Without<Without<S, K>, J>: HasAxis<I>,
{
    type Without = Without<Without<Without<S, K>, J>, I>;

    fn axes() -> SmallVec<[u8; 5]> {
        [I as u8, J as u8, K as u8].into_iter().collect()
    }
}

#[diagnostic::do_not_recommend]
impl<S, const I: usize, const J: usize, const K: usize, const L: usize> AxisList<S>
    for (Axis<I>, Axis<J>, Axis<K>, Axis<L>)
where
    S: HasAxis<L>,
    Without<S, L>: HasAxis<K>,
    Without<Without<S, L>, K>: HasAxis<J>,
    Without<Without<Without<S, L>, K>, J>: HasAxis<I>,
{
    type Without = Without<Without<Without<Without<S, L>, K>, J>, I>;

    fn axes() -> SmallVec<[u8; 5]> {
        [I as u8, J as u8, K as u8, L as u8].into_iter().collect()
    }
}
