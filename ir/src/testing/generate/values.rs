//! Finding and making operands.

use super::data::DataKind;
use super::{Gen, Info};
use crate::function::Value;
use crate::literal::Literal;
use crate::ops::{Access, Address, AxisSet, OpKind, Rounding};
use crate::types::{Elem, ScalarType, Shape, Type};

/// Extents of axes; the first is the simplest.
const EXTENTS: [u32; 12] = [4, 2, 1, 3, 8, 5, 7, 16, 9, 13, 17, 32];

impl Gen<'_> {
    /// A visible value for which this holds, the latest being the simplest choice.
    pub(super) fn pick(&mut self, fits: impl Fn(&Type, Info) -> bool) -> Option<Value> {
        let all: Vec<Value> = self.visible.iter().copied().filter(|&v| fits(self.ty(v), self.info(v))).collect();
        let at = self.c.below(all.len());
        all.iter().rev().nth(at).copied()
    }

    /// A type of tile, now and then of a scalar.
    pub(super) fn new_type(&mut self) -> Type {
        let elem = self.c.of(&self.config.types);
        if self.c.one_in(6) {
            return Type::scalar(elem);
        }
        let shape = self.new_shape();
        Type::shaped(shape, elem)
    }

    /// The shape of a visible tile, or another.
    pub(super) fn new_shape(&mut self) -> Shape {
        if self.c.one_in(2)
            && let Some(v) = self.pick(|ty, _| ty.tile().is_some())
            && let Some(shape) = self.ty(v).shape()
        {
            return shape.into();
        }
        let rank = self.c.of(&[1, 2, 1, 2, 3, 4]);
        let mut shape = Shape::new();
        for _ in 0..rank {
            shape.push(self.c.of(&EXTENTS));
        }
        while shape.iter().map(|&d| u64::from(d)).product::<u64>() > self.config.max_elements {
            let largest = (0..rank).max_by_key(|&i| shape[i]).unwrap_or(0);
            shape[largest] = shape[largest].div_ceil(2);
        }
        shape
    }

    pub(super) fn count_fits(&self, shape: &[u32]) -> bool {
        shape.iter().map(|&d| u64::from(d)).product::<u64>() <= self.config.max_elements
    }

    /// A new value of a type: a constant, numbers in order, an argument.
    pub(super) fn fresh(&mut self, ty: &Type) -> Value {
        match self.c.below(4) {
            0 => self.load_new(ty, false),
            1 => self.fresh_constant(ty),
            2 => self.fresh_arange(ty),
            _ => self.load_new(ty, false),
        }
    }

    /// A value of this type whose elements have a bound: a visible one, or a new one.
    pub(super) fn bounded(&mut self, ty: &Type) -> Value {
        if let Some(v) = self.pick(|t, info| t == ty && (info.is_bounded() || !is_float(t))) {
            return v;
        }
        self.load_new(ty, true)
    }

    /// A value of this type that executors agree on to the bit.
    pub(super) fn exact(&mut self, ty: &Type) -> Value {
        match self.pick(|t, info| t == ty && info.exact()) {
            Some(v) => v,
            None => self.fresh(ty),
        }
    }

    pub(super) fn fresh_constant(&mut self, ty: &Type) -> Value {
        let elem = ty.elem_scalar().unwrap_or(ScalarType::I32);
        let kind = self.data_kind(false);
        let (values, info) = self.data(elem, 1, kind);
        self.value(OpKind::Constant { value: values[0], ty: ty.clone() }, info)
    }

    fn fresh_arange(&mut self, ty: &Type) -> Value {
        let (Some(elem), Type::Tile(tile)) = (ty.elem_scalar(), ty) else { return self.fresh_constant(ty) };
        if elem == ScalarType::Bool {
            return self.fresh_constant(ty);
        }
        let axis = self.c.below(tile.rank()) as u8;
        let start = self.c.of(&[0, 1, -3, 100]);
        let ints = if elem.is_int() { elem } else { ScalarType::I32 };
        let kind = OpKind::Arange { shape: tile.shape.clone(), elem: ints, axis, start };
        if elem.is_int() {
            return self.value(kind, Info::ANY);
        }
        let x = self.hidden(kind);
        let cast = OpKind::Cast { x, to: elem, rounding: Rounding::NearestEven, saturate: true };
        // Starts and extents are below 256, which every format but fp8 holds.
        let info = super::info::cast(ScalarType::F64, elem, true, Info::whole(256.0)).unwrap_or(Info::ANY);
        self.value(cast, info)
    }

    /// A value of a type from a new argument.
    pub(super) fn load_new(&mut self, ty: &Type, bounded: bool) -> Value {
        let Some(elem) = ty.elem_scalar() else { panic!("only numbers are loaded, not {ty}") };
        let kind = self.data_kind(bounded);
        if elem.memory_bytes().is_none() {
            return self.load_narrow(ty, elem, kind);
        }
        if let Type::Scalar(_) = ty
            && !bounded
        {
            return self.scalar_param(elem);
        }
        let shape: Shape = ty.shape().unwrap_or(&[]).into();
        let extents: Vec<i64> = shape.iter().map(|&d| i64::from(d)).collect();
        let view = self.input(elem, &extents, kind);
        let info = self.params.last().copied().unwrap_or(Info::ANY);
        let zero = self.index(0);
        let rank = shape.len();
        let in_bounds = if self.c.one_in(3) { AxisSet::all(rank) } else { AxisSet::NONE };
        let addr = Address::Tile { view, offsets: std::iter::repeat_n(zero, rank).collect(), shape, in_bounds };
        self.value(OpKind::Load { addr, mask: None, pad: None, access: Access::default() }, info)
    }

    /// 4-bit integers, which are not in memory: the low bits of bytes.
    fn load_narrow(&mut self, ty: &Type, elem: ScalarType, kind: DataKind) -> Value {
        let bytes = ty.with_elem(ScalarType::U8).unwrap_or(Type::scalar(ScalarType::U8));
        let extents: Vec<i64> = bytes.shape().unwrap_or(&[]).iter().map(|&d| i64::from(d)).collect();
        let view = self.input(ScalarType::U8, &extents, kind);
        let zero = self.index(0);
        let addr = Address::Tile {
            view,
            offsets: extents.iter().map(|_| zero).collect(),
            shape: bytes.shape().unwrap_or(&[]).into(),
            in_bounds: AxisSet::NONE,
        };
        let x = self.hidden(OpKind::Load { addr, mask: None, pad: None, access: Access::default() });
        self.value(OpKind::Cast { x, to: elem, rounding: Rounding::NearestEven, saturate: false }, Info::ANY)
    }

    /// Truth values of a shape, to be a mask or a condition.
    pub(super) fn truths(&mut self, shape: &[u32]) -> Value {
        let ty = Type::shaped(shape.iter().copied(), ScalarType::Bool);
        if let Some(v) = self.pick(|t, _| *t == ty) {
            return v;
        }
        let ints = Type::shaped(shape.iter().copied(), ScalarType::I32);
        let a = self.exact(&ints);
        let limit = self.c.between(0, 8);
        let b = self.constant(ints, Literal::Int(limit));
        self.value(OpKind::Compare { op: crate::ops::CmpOp::Lt, a, b }, Info::ANY)
    }

    /// `+0.0` added to a sum: whether a sum of zeros is -0.0 depends on what it starts with, which is not specified.
    pub(super) fn without_negative_zero(&mut self, v: Value) -> Value {
        let ty = self.ty(v).clone();
        let zero = self.constant(ty, Literal::Float(0.0));
        self.hidden(OpKind::Binary { op: crate::ops::BinaryOp::Add, a: v, b: zero })
    }
}

pub(super) fn is_float(ty: &Type) -> bool {
    ty.elem_scalar().is_some_and(ScalarType::is_float)
}

/// Whether arithmetic is defined on the elements.
pub(super) fn is_arithmetic(ty: &Type) -> bool {
    matches!(ty.elem(), Some(Elem::Scalar(t)) if t != ScalarType::Bool && !t.is_fp8())
}
