//! Expansions emitted as IR.

use smallvec::SmallVec;

use super::ops::{MathOps, Width};
use crate::function::Value;
use crate::literal::Literal;
use crate::ops::{BinaryOp, CmpOp, OpKind, UnaryOp};
use crate::passes::rewrite::Emitter;
use crate::types::{ScalarType, Type};

/// Emits an expansion for values of one shape.
pub struct Emit<'e, 'f> {
    e: &'e mut Emitter<'f>,
    width: Width,
    float: Type,
    int: Type,
    native: &'e [UnaryOp],
    constants: SmallVec<[(Literal, Value); 16]>,
}

impl<'e, 'f> Emit<'e, 'f> {
    /// Expansions of `f32` or `f64` values shaped (and laid out) as `like`.
    pub fn new(e: &'e mut Emitter<'f>, width: Width, like: Value, native: &'e [UnaryOp]) -> Self {
        let (f, i) = match width {
            Width::W32 => (ScalarType::F32, ScalarType::I32),
            Width::W64 => (ScalarType::F64, ScalarType::I64),
        };
        let ty = e.f.ty(like).clone();
        let with = |t: ScalarType| {
            let new = ty.with_elem(t).expect("a scalar or tile");
            ty.layout().map_or(new.clone(), |l| new.with_layout(l.clone()))
        };
        Self { width, float: with(f), int: with(i), native, constants: SmallVec::new(), e }
    }

    fn constant(&mut self, value: Literal) -> Value {
        if let Some((_, v)) = self.constants.iter().find(|(l, _)| *l == value) {
            return *v;
        }
        let ty = if matches!(value, Literal::Int(_)) { &self.int } else { &self.float };
        let v = self.e.constant(value, ty);
        self.constants.push((value, v));
        v
    }

    fn unsigned(&self) -> ScalarType {
        match self.width {
            Width::W32 => ScalarType::U32,
            Width::W64 => ScalarType::U64,
        }
    }

    fn signed(&self) -> ScalarType {
        match self.width {
            Width::W32 => ScalarType::I32,
            Width::W64 => ScalarType::I64,
        }
    }
}

impl MathOps for Emit<'_, '_> {
    type F = Value;
    type I = Value;
    type B = Value;

    fn width(&self) -> Width {
        self.width
    }

    fn c(&mut self, v: f64) -> Value {
        let v = if self.width == Width::W32 { f64::from(v as f32) } else { v };
        self.constant(Literal::Float(v))
    }

    fn i(&mut self, v: i64) -> Value {
        let v = if self.width == Width::W32 { i64::from(v as i32) } else { v };
        self.constant(Literal::Int(v))
    }

    fn unary(&mut self, op: UnaryOp, x: Value) -> Value {
        self.e.unary(op, x)
    }

    fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        self.e.binary(op, a, b)
    }

    fn fma(&mut self, a: Value, b: Value, c: Value) -> Value {
        self.e.value(OpKind::Fma { a, b, c })
    }

    fn cmp(&mut self, op: CmpOp, a: Value, b: Value) -> Value {
        self.e.compare(op, a, b)
    }

    fn select(&mut self, c: Value, a: Value, b: Value) -> Value {
        self.e.select(c, a, b)
    }

    fn iselect(&mut self, c: Value, a: Value, b: Value) -> Value {
        self.e.select(c, a, b)
    }

    fn int(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        self.e.binary(op, a, b)
    }

    fn uint(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        let to = self.unsigned();
        let (a, b) = (self.e.value(OpKind::Bitcast { x: a, to }), self.e.value(OpKind::Bitcast { x: b, to }));
        let x = self.e.binary(op, a, b);
        self.e.value(OpKind::Bitcast { x, to: self.signed() })
    }

    fn icmp(&mut self, op: CmpOp, a: Value, b: Value) -> Value {
        self.e.compare(op, a, b)
    }

    fn ucmp(&mut self, op: CmpOp, a: Value, b: Value) -> Value {
        let to = self.unsigned();
        let (a, b) = (self.e.value(OpKind::Bitcast { x: a, to }), self.e.value(OpKind::Bitcast { x: b, to }));
        self.e.compare(op, a, b)
    }

    fn logic(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        self.e.binary(op, a, b)
    }

    fn bits(&mut self, x: Value) -> Value {
        self.e.value(OpKind::Bitcast { x, to: self.signed() })
    }

    fn float_of_bits(&mut self, x: Value) -> Value {
        let to = match self.width {
            Width::W32 => ScalarType::F32,
            Width::W64 => ScalarType::F64,
        };
        self.e.value(OpKind::Bitcast { x, to })
    }

    fn float(&mut self, x: Value) -> Value {
        let to = match self.width {
            Width::W32 => ScalarType::F32,
            Width::W64 => ScalarType::F64,
        };
        self.e.cast(x, to)
    }

    fn native(&self, op: UnaryOp) -> bool {
        self.width == Width::W32 && self.native.contains(&op)
    }

    fn approximate(&mut self, op: UnaryOp, x: Value) -> Value {
        self.e.value(OpKind::Unary { op, x, fast: true })
    }
}
