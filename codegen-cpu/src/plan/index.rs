//! Index maps: where an element of an op's result comes from in its operand.
//!
//! The same maps serve the planner, which asks whether an operand is read at the index of the loop, and the
//! lowering, which computes with the index.

use smallvec::SmallVec;
use tegula_ir::function::Function;
use tegula_ir::ops::OpKind;
use tegula_ir::types::Shape;

/// An index, one coordinate an axis.
pub type Coords<C> = SmallVec<[C; 5]>;

/// What can be done with a coordinate.
pub trait Coordinates {
    /// A coordinate.
    type Coord: Clone;

    /// The constant `i`.
    fn constant(&self, i: i64) -> Self::Coord;

    /// `c + by`.
    fn shift(&self, c: &Self::Coord, by: i64) -> Self::Coord;

    /// `extent - 1 - c`.
    fn reverse(&self, c: &Self::Coord, extent: u32) -> Self::Coord;
}

/// The index of `kind`'s operand that element `at` of result number `result` is, for ops that only move elements;
/// `None` for others, and for a reshape that does not only add and remove axes of extent 1.
pub fn source_index<X: Coordinates>(
    x: &X,
    func: &Function,
    kind: &OpKind,
    result: u32,
    at: &[X::Coord],
) -> Option<Coords<X::Coord>> {
    Some(match kind {
        OpKind::Broadcast { x: v, shape } => {
            let from = func.ty(*v).shape()?;
            (0..shape.len()).map(|i| if from[i] == 1 { x.constant(0) } else { at[i].clone() }).collect()
        }
        OpKind::Reshape { x: v, shape } => {
            let from = func.ty(*v).shape()?;
            if !is_unit_reshape(from, shape) {
                return None;
            }
            let mut kept = (0..shape.len()).filter(|&i| shape[i] != 1);
            let coord = |d: u32, kept: &mut dyn Iterator<Item = usize>| match d {
                1 => Some(x.constant(0)),
                _ => kept.next().map(|i| at[i].clone()),
            };
            from.iter().map(|&d| coord(d, &mut kept)).collect::<Option<_>>()?
        }
        OpKind::Permute { perm, .. } => {
            let mut source: Coords<X::Coord> = at.into();
            for (i, &p) in perm.iter().enumerate() {
                source[usize::from(p)] = at[i].clone();
            }
            source
        }
        OpKind::Flip { x: v, axis } => {
            let axis = usize::from(*axis);
            let mut source: Coords<X::Coord> = at.into();
            source[axis] = x.reverse(&at[axis], func.ty(*v).shape()?[axis]);
            source
        }
        OpKind::ExtractSlice { offsets, .. } => {
            at.iter().zip(offsets).map(|(c, &o)| if o == 0 { c.clone() } else { x.shift(c, o.into()) }).collect()
        }
        OpKind::Split { .. } => at.iter().cloned().chain([x.constant(result.into())]).collect(),
        OpKind::Assume { .. } | OpKind::ConvertLayout { .. } => at.into(),
        _ => return None,
    })
}

/// Whether a reshape only adds and removes axes of extent 1.
pub fn is_unit_reshape(from: &[u32], to: &[u32]) -> bool {
    from.iter().filter(|&&d| d != 1).eq(to.iter().filter(|&&d| d != 1))
}

/// Whether the op gives the elements of its only operand under other indices.
pub fn is_index_op(func: &Function, kind: &OpKind) -> bool {
    match kind {
        OpKind::Broadcast { .. }
        | OpKind::Permute { .. }
        | OpKind::Flip { .. }
        | OpKind::ExtractSlice { .. }
        | OpKind::Split { .. }
        | OpKind::Assume { .. }
        | OpKind::ConvertLayout { .. } => true,
        OpKind::Reshape { x, shape } => func.ty(*x).shape().is_some_and(|from| is_unit_reshape(from, shape)),
        _ => false,
    }
}

/// Row-major strides of a dense tile.
pub fn strides(shape: &[u32]) -> SmallVec<[i64; 5]> {
    let mut strides: SmallVec<[i64; 5]> = SmallVec::from_elem(1, shape.len());
    for i in (1..shape.len()).rev() {
        strides[i - 1] = strides[i] * i64::from(shape[i]);
    }
    strides
}

/// A coordinate as the planner sees it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SymCoord {
    /// The loop index of this axis of the nest.
    Axis(u8),
    /// A constant.
    Constant,
    /// Anything else.
    Other,
}

/// The planner's coordinates.
pub struct Symbolic;

impl Coordinates for Symbolic {
    type Coord = SymCoord;

    fn constant(&self, _: i64) -> SymCoord {
        SymCoord::Constant
    }

    fn shift(&self, c: &SymCoord, _: i64) -> SymCoord {
        if *c == SymCoord::Constant { SymCoord::Constant } else { SymCoord::Other }
    }

    fn reverse(&self, c: &SymCoord, _: u32) -> SymCoord {
        self.shift(c, 0)
    }
}

/// The loop indices of a nest over `domain`. An axis of extent 1 is also the constant 0, but stays itself here.
pub fn identity(domain: &Shape) -> Coords<SymCoord> {
    (0..domain.len() as u8).map(SymCoord::Axis).collect()
}
