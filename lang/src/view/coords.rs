//! Positions in tensors: scalars of any integer type and host numbers, mixed freely in a tuple.

use smallvec::SmallVec;
use tegula_ir::literal::Literal;

use crate::context::Handle;
use crate::elem::{Int, ScalarType};
use crate::literal::{IntLit, constant, int_literal};
use crate::tile::Scalar;

/// A position along one axis.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a position along an axis",
    label = "an integer or a `Scalar` of an integer type is needed here",
    note = "a tile of indices picks elements with `.gather(..)`"
)]
pub trait Coord {
    /// The position as `i64`.
    #[doc(hidden)]
    #[track_caller]
    fn coord(self) -> Handle;
}

#[diagnostic::do_not_recommend]
impl<T: Int> Coord for Scalar<T> {
    #[track_caller]
    fn coord(self) -> Handle {
        self.cast::<i64>().handle()
    }
}

#[diagnostic::do_not_recommend]
impl Coord for IntLit {
    #[track_caller]
    fn coord(self) -> Handle {
        constant(ScalarType::I64, Default::default(), int_literal(ScalarType::I64, self.0))
    }
}

macro_rules! host_coord {
    ($($ty:ty)*) => {$(
        #[diagnostic::do_not_recommend]
        impl Coord for $ty {
            #[track_caller]
            fn coord(self) -> Handle {
                IntLit(self as i128).coord()
            }
        }
    )*};
}

host_coord!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

/// `R` positions: an array, a tuple, or for one axis the position itself.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a position in a tensor of rank {R}",
    label = "{R} coordinates are needed here",
    note = "give one integer or scalar for each axis: `i` or `[i]` for rank 1, `[i, j]` for rank 2"
)]
pub trait Coords<const R: usize> {
    /// The positions as `i64`.
    #[doc(hidden)]
    #[track_caller]
    fn coords(self) -> SmallVec<[Handle; 5]>;
}

#[diagnostic::do_not_recommend]
impl<C: Coord, const R: usize> Coords<R> for [C; R] {
    #[track_caller]
    fn coords(self) -> SmallVec<[Handle; 5]> {
        // Not a closure: the caller's place would be lost.
        let mut handles = SmallVec::new();
        for c in self {
            handles.push(c.coord());
        }
        handles
    }
}

macro_rules! single {
    ($($ty:ty)*) => {$(
        #[diagnostic::do_not_recommend]
        impl Coords<1> for $ty {
            #[track_caller]
            fn coords(self) -> SmallVec<[Handle; 5]> {
                [self.coord()].into_iter().collect()
            }
        }
    )*};
}

single!(IntLit i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

#[diagnostic::do_not_recommend]
impl<T: Int> Coords<1> for Scalar<T> {
    #[track_caller]
    fn coords(self) -> SmallVec<[Handle; 5]> {
        [self.coord()].into_iter().collect()
    }
}

#[diagnostic::do_not_recommend]
impl Coords<0> for () {
    fn coords(self) -> SmallVec<[Handle; 5]> {
        SmallVec::new()
    }
}

macro_rules! tuple {
    ($rank:literal; $($name:ident $i:tt),+) => {
        impl<$($name: Coord),+> Coords<$rank> for ($($name,)+) {
            #[track_caller]
            fn coords(self) -> SmallVec<[Handle; 5]> {
                [$(self.$i.coord()),+].into_iter().collect()
            }
        }
    };
}

tuple!(1; A 0);
tuple!(2; A 0, B 1);
tuple!(3; A 0, B 1, C 2);
tuple!(4; A 0, B 1, C 2, D 3);
tuple!(5; A 0, B 1, C 2, D 3, E 4);

/// An `i64` constant.
#[track_caller]
pub(crate) fn index(value: i64) -> Handle {
    constant(ScalarType::I64, Default::default(), Literal::Int(value))
}
