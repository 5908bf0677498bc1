//! Ops that move elements.

use smallvec::SmallVec;

use super::{Gen, Info};
use crate::function::Value;
use crate::ops::OpKind;
use crate::types::{MAX_RANK, ScalarType, Shape, Type};

impl Gen<'_> {
    pub(super) fn shape_step(&mut self) {
        let which = self.c.below(11);
        if which == 0 {
            return self.splat();
        }
        let Some(x) = self.pick(|t, _| t.tile().is_some()) else { return };
        let shape: Shape = self.ty(x).shape().unwrap_or(&[]).into();
        let info = self.info(x);
        let axis = self.c.below(shape.len()) as u8;
        match which {
            1 => self.expand(x, &shape, info),
            2 => {
                let shape = self.reshaped(&shape);
                self.value(OpKind::Reshape { x, shape }, info);
            }
            3 | 4 => {
                let mut perm: SmallVec<[u8; 5]> = (0..shape.len() as u8).collect();
                for i in (1..perm.len()).rev() {
                    // The simplest decision exchanges: an order that changes nothing tests little.
                    let j = self.c.below(i + 1);
                    perm.swap(i, j);
                }
                self.value(OpKind::Permute { x, perm }, info);
            }
            5 => {
                self.value(OpKind::Flip { x, axis }, info);
            }
            6 => self.cat(x, &shape, axis),
            7 => self.join(x, &shape),
            8 => self.slice(x, &shape, info),
            9 => self.insert(x, &shape, info),
            _ => self.gather_axis(x, &shape, axis, info),
        }
    }

    fn splat(&mut self) {
        let Some(x) = self.pick(|t, _| matches!(t, Type::Scalar(_))) else { return };
        let shape = self.new_shape();
        let info = self.info(x);
        self.value(OpKind::Splat { x, shape }, info);
    }

    /// A new axis of extent 1, repeated.
    fn expand(&mut self, x: Value, shape: &[u32], info: Info) {
        if shape.len() == MAX_RANK {
            return;
        }
        let at = self.c.below(shape.len() + 1);
        let mut one: Shape = shape.into();
        one.insert(at, 1);
        let mut wide = one.clone();
        wide[at] = self.c.of(&[2, 3, 4, 5]);
        if self.count_fits(&wide) {
            let x = self.hidden(OpKind::Reshape { x, shape: one });
            self.value(OpKind::Broadcast { x, shape: wide }, info);
        }
    }

    /// Other extents for the same elements.
    fn reshaped(&mut self, shape: &[u32]) -> Shape {
        let count: u32 = shape.iter().product();
        let divisors: Vec<u32> = (1..=count).filter(|d| count.is_multiple_of(*d)).collect();
        match self.c.below(3) {
            0 => [count].into_iter().collect(),
            1 => {
                let d = self.c.of(&divisors);
                [d, count / d].into_iter().collect()
            }
            _ if count == 1 => Shape::new(),
            _ => {
                let d = self.c.of(&divisors);
                [1, count / d, d].into_iter().collect()
            }
        }
    }

    fn cat(&mut self, x: Value, shape: &[u32], axis: u8) {
        let ty = self.ty(x).clone();
        let agrees = |t: &Type| {
            t.elem() == ty.elem()
                && t.shape().is_some_and(|s| {
                    s.len() == shape.len() && (0..s.len()).all(|i| i == axis as usize || s[i] == shape[i])
                })
        };
        let Some(y) = self.pick(|t, _| agrees(t)) else { return };
        let mut parts: SmallVec<[Value; 4]> = [x, y].into_iter().collect();
        if self.c.one_in(3) {
            parts.push(x);
        }
        let extent = |g: &Self, v: Value| g.ty(v).shape().map_or(0, |s| s[axis as usize]);
        let total: u32 = parts.iter().map(|&v| extent(self, v)).sum();
        let mut all: Shape = shape.into();
        all[axis as usize] = total;
        if self.count_fits(&all) {
            let info = self.info(x).or(self.info(y));
            self.value(OpKind::Cat { parts, axis }, info);
        }
    }

    /// Two tiles paired, or the pairs of one taken apart.
    fn join(&mut self, x: Value, shape: &[u32]) {
        if shape.last() == Some(&2) && self.c.one_in(2) {
            let info = self.info(x);
            for half in self.op(OpKind::Split { x }) {
                self.offer(half, info);
            }
            return;
        }
        let pair: Shape = shape.iter().copied().chain([2]).collect();
        let ty = self.ty(x).clone();
        if pair.len() > MAX_RANK || !self.count_fits(&pair) {
            return;
        }
        let b = self.pick(|t, _| *t == ty).unwrap_or(x);
        let info = self.info(x).or(self.info(b));
        self.value(OpKind::Join { a: x, b }, info);
    }

    /// A place for a slice: extents and offsets.
    fn part(&mut self, shape: &[u32]) -> (Shape, Shape) {
        let mut extents = Shape::new();
        let mut offsets = Shape::new();
        for &d in shape {
            let extent = 1 + self.c.below(d as usize) as u32;
            extents.push(extent);
            offsets.push(self.c.below((d - extent + 1) as usize) as u32);
        }
        (extents, offsets)
    }

    fn slice(&mut self, x: Value, shape: &[u32], info: Info) {
        let (shape, offsets) = self.part(shape);
        self.value(OpKind::ExtractSlice { x, offsets, shape }, info);
    }

    fn insert(&mut self, into: Value, shape: &[u32], info: Info) {
        let (extents, offsets) = self.part(shape);
        let Some(elem) = self.ty(into).elem_scalar() else { return };
        let ty = Type::shaped(extents, elem);
        let x = match self.pick(|t, _| *t == ty) {
            Some(x) => x,
            None => self.fresh(&ty),
        };
        let info = info.or(self.info(x));
        self.value(OpKind::InsertSlice { x, into, offsets }, info);
    }

    fn gather_axis(&mut self, x: Value, shape: &[u32], axis: u8, info: Info) {
        let mut picked: Shape = shape.into();
        if self.c.one_in(2) {
            picked[axis as usize] = self.c.of(&[1, 3, 5, 8]);
        }
        if !self.count_fits(&picked) {
            return;
        }
        let elem = self.c.of(&[ScalarType::I32, ScalarType::U8, ScalarType::I64, ScalarType::I16]);
        let ty = Type::shaped(picked, elem);
        let index = self.exact(&ty);
        self.value(OpKind::GatherAxis { x, index, axis }, info);
    }
}
