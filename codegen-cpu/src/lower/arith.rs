//! Elementwise arithmetic on lanes: the shared arithmetic of `tegula-codegen`, with 16-bit floats computed in `f32`.

use inkwell::IntPredicate::{EQ, ULT};
use tegula_codegen::elementwise::arith::{self, float_floor_rem, float_rem, literal};
use tegula_codegen::elementwise::convert::{convert, to_f32};
use tegula_codegen::elementwise::{Conversion, Generic, register_type};
use tegula_codegen::emit::Val;
use tegula_ir::literal::Literal;
use tegula_ir::ops::{BinaryOp, CmpOp, OpKind, ReduceKind, UnaryOp};
use tegula_ir::types::{Elem, ScalarType};

use super::Lowering;

/// Whether values of the type are computed with as `f32`.
fn is_half(t: ScalarType) -> bool {
    matches!(t, ScalarType::F16 | ScalarType::BF16)
}

impl<'c> Lowering<'_, 'c, '_> {
    /// From the form of this crate, where 16-bit floats are bits, to the form of the shared arithmetic.
    fn shared(&self, t: ScalarType, v: Val<'c>) -> Val<'c> {
        if is_half(t) { self.b.bitcast(v, self.b.type_like(v, register_type(&self.b, Elem::Scalar(t)))) } else { v }
    }

    /// The reverse of [`Self::shared`].
    fn own(&self, t: ScalarType, v: Val<'c>) -> Val<'c> {
        if is_half(t) { self.b.to_bits(v) } else { v }
    }

    /// A constant.
    pub fn literal(&self, t: ScalarType, v: Literal) -> Val<'c> {
        self.own(t, literal(&self.b, t, v))
    }

    /// Converts by value.
    pub fn convert(&self, conversion: Conversion, x: Val<'c>) -> Val<'c> {
        let Conversion { from, to, saturate, .. } = conversion;
        // An infinity saturates within its own format too.
        if from == to && !(saturate && from.is_float()) {
            return x;
        }
        // bf16 comes and goes as `f32`: LLVM turns some operations on its own type into calls of a run-time library.
        if from == ScalarType::BF16 {
            return self.convert(Conversion { from: ScalarType::F32, ..conversion }, self.widen(from, x));
        }
        if to == ScalarType::BF16 && from.is_fp8() {
            let wide = self.convert_nearest(from, ScalarType::F32, x);
            return self.convert(Conversion { from: ScalarType::F32, ..conversion }, wide);
        }
        let x = self.shared(from, x);
        let y = convert(&self.b, &Generic, conversion, x);
        self.own(to, y)
    }

    /// Converts to the nearest value.
    pub fn convert_nearest(&self, from: ScalarType, to: ScalarType, x: Val<'c>) -> Val<'c> {
        self.convert(Conversion::nearest(from, to), x)
    }

    /// A float of at most 32 bits as `f32`.
    fn widen(&self, t: ScalarType, x: Val<'c>) -> Val<'c> {
        if t == ScalarType::BF16 {
            let bits = self.b.shl_const(self.b.zext_or_trunc(x, 32), 16);
            return self.b.bitcast(bits, self.b.type_like(bits, self.b.f32_type()));
        }
        to_f32(&self.b, &Generic, t, self.shared(t, x))
    }

    /// One op on lanes of its operands. `operands` are those that are scalars or tiles, in order.
    pub fn elementwise(&self, kind: &OpKind, elems: &[Elem], operands: &[Val<'c>]) -> Val<'c> {
        let number = |i: usize| elems[i].scalar();
        match kind {
            OpKind::Unary { op, fast, .. } => self.unary(*op, number(0).expect("a number"), operands[0], *fast),
            OpKind::Binary { op, .. } => self.binary(*op, number(0).expect("a number"), operands[0], operands[1]),
            OpKind::Compare { op, .. } => self.compare(*op, elems[0], operands[0], operands[1]),
            OpKind::Select { .. } => self.b.select(operands[0], operands[1], operands[2]),
            OpKind::Fma { .. } => self.fma(number(0).expect("a number"), operands[0], operands[1], operands[2]),
            OpKind::Cast { to, rounding, saturate, .. } => {
                let from = number(0).expect("a number");
                self.convert(Conversion { from, to: *to, rounding: *rounding, saturate: *saturate }, operands[0])
            }
            OpKind::Bitcast { to, .. } => {
                let to = self.b.type_like(operands[0], self.register_ty(Elem::Scalar(*to)));
                self.b.bitcast(operands[0], to)
            }
            OpKind::PtrAdd { .. } => {
                let pointee = elems[0].pointee().expect("a pointer");
                let signed = number(1).is_some_and(ScalarType::is_signed_int);
                let offset = self.index(operands[1], signed);
                let bytes = pointee.memory_bytes().unwrap_or(1);
                let bytes = self.b.mul(offset, self.b.int_like(offset, bytes.into()));
                self.b.add(operands[0], bytes)
            }
            kind => unreachable!("{} is not elementwise", kind.mnemonic()),
        }
    }

    /// An integer of any type as 64 bits.
    pub fn index(&self, v: Val<'c>, signed: bool) -> Val<'c> {
        if signed { self.b.sext_or_trunc(v, 64) } else { self.b.zext_or_trunc(v, 64) }
    }

    fn unary(&self, op: UnaryOp, t: ScalarType, x: Val<'c>, fast: bool) -> Val<'c> {
        let b = &self.b;
        if is_half(t) {
            match op {
                UnaryOp::Neg => return b.xor(x, b.int_like(x, 0x8000)),
                UnaryOp::Abs => return b.and(x, b.int_like(x, 0x7fff)),
                _ => {}
            }
            let y = self.unary(op, ScalarType::F32, self.widen(t, x), fast);
            return if op.is_predicate() { y } else { self.convert_nearest(ScalarType::F32, t, y) };
        }
        arith::unary(b, &Generic, op, t, x, fast).expect("math functions are expanded before")
    }

    /// A two-operand operation.
    pub fn binary(&self, op: BinaryOp, t: ScalarType, x: Val<'c>, y: Val<'c>) -> Val<'c> {
        let b = &self.b;
        if is_half(t) {
            if op == BinaryOp::CopySign {
                let magnitude = b.and(x, b.int_like(x, 0x7fff));
                return b.or(magnitude, b.and(y, b.int_like(y, 0x8000)));
            }
            let z = self.binary(op, ScalarType::F32, self.widen(t, x), self.widen(t, y));
            return self.convert_nearest(ScalarType::F32, t, z);
        }
        if t.is_float() && matches!(op, BinaryOp::Rem | BinaryOp::FloorRem) {
            // A long division of its own for each lane.
            let lanes: Vec<Val<'c>> = b
                .unpack(x)
                .into_iter()
                .zip(b.unpack(y))
                .map(|(x, y)| match op {
                    BinaryOp::Rem => float_rem(b, &Generic, t, x, y),
                    _ => float_floor_rem(b, &Generic, t, x, y),
                })
                .collect();
            return b.pack(&lanes);
        }
        if t.is_float() && matches!(op, BinaryOp::Min | BinaryOp::Max) && b.lanes(x) == 1 {
            // LLVM 22 compares scalars with AVX-512's class test where it knows that one of them is no NaN, and then gives
            // the other one if it is NaN. Behind a fence it does not know.
            let fence = |v: Val<'c>| b.intrinsic("llvm.arithmetic.fence", &[v.get_type()], &[v]);
            return arith::binary(b, &Generic, op, t, fence(x), fence(y)).expect("an operation of floats");
        }
        arith::binary(b, &Generic, op, t, x, y).expect("math functions are expanded before")
    }

    /// A comparison.
    pub fn compare(&self, op: CmpOp, elem: Elem, x: Val<'c>, y: Val<'c>) -> Val<'c> {
        match elem {
            Elem::Scalar(t) if is_half(t) => {
                let (x, y) = (self.widen(t, x), self.widen(t, y));
                arith::compare(&self.b, op, Elem::Scalar(ScalarType::F32), x, y)
            }
            elem => arith::compare(&self.b, op, elem, x, y),
        }
    }

    /// `x / y` of `f32` where all lanes of `y` are the same: by the reciprocal, which is then computed once for a loop,
    /// and one correction. With `r = 1/y` rounded to nearest and `q = x * r`, `q + (x - q*y) * r` in fused operations is
    /// the correctly rounded quotient (Markstein), as long as nothing leaves the normal numbers; where that is not
    /// certain, a division decides.
    pub fn divide_by_uniform(&self, x: Val<'c>, y: Val<'c>) -> Val<'c> {
        let b = &self.b;
        let lanes = b.lanes(x);
        let exponent = |e: i64| b.i32((e + 127) << 23);
        // Whether a magnitude lies in 2^low..2^high.
        let within = |v: Val<'c>, low: i64, high: i64| {
            let magnitude = b.and(b.to_bits(v), b.int_like(b.to_bits(v), 0x7fff_ffff));
            let span = b.as_const(exponent(high)).zip(b.as_const(exponent(low))).map_or(0, |(h, l)| h - l);
            let low = b.broadcast(exponent(low), lanes);
            b.icmp(ULT, b.sub(magnitude, low), b.int_like(low, span))
        };
        let bits = b.to_bits(x);
        let safe = b.and(within(y, -20, 20), b.or(within(x, -100, 100), b.icmp(EQ, bits, b.int_like(bits, 0))));
        let quick = b.slot(x.get_type());
        b.if_else(
            b.all(safe),
            || {
                let r = b.fdiv(b.float_like(y, 1.0), y);
                let q = b.fmul(x, r);
                let rest = b.fma(b.fneg(q), y, x);
                b.set(quick, b.fma(rest, r, q));
            },
            || b.set(quick, b.fdiv(x, y)),
        );
        b.get(quick)
    }

    fn fma(&self, t: ScalarType, x: Val<'c>, y: Val<'c>, z: Val<'c>) -> Val<'c> {
        if !is_half(t) {
            return arith::fma(&self.b, &Generic, t, x, y, z);
        }
        let wide = |v| {
            let v = self.widen(t, v);
            let to = self.b.type_like(v, self.b.context.f64_type());
            self.b.cast(inkwell::values::InstructionOpcode::FPExt, v, to)
        };
        let sum = arith::fma_to_odd(&self.b, wide(x), wide(y), wide(z));
        self.convert_nearest(ScalarType::F64, t, sum)
    }

    /// One step of a reduction.
    pub fn combine(&self, kind: ReduceKind, t: ScalarType, x: Val<'c>, y: Val<'c>) -> Val<'c> {
        self.binary(kind.combiner(), t, x, y)
    }

    /// What a reduction starts from: combined with any value it gives that value.
    pub fn reduce_identity(&self, kind: ReduceKind, t: ScalarType) -> Val<'c> {
        let float = |v: f64| self.literal(t, Literal::Float(v));
        let bits = t.bits();
        let int = |v: i64| self.b.const_int(bits, v);
        let (min, max) = if t.is_signed_int() { (-1i64 << (bits - 1), !(-1i64 << (bits - 1))) } else { (0, -1) };
        match kind {
            ReduceKind::Sum if t.is_float() => float(-0.0),
            ReduceKind::Prod if t.is_float() => float(1.0),
            // NaN is passed over: the result is NaN only where all are.
            ReduceKind::Min | ReduceKind::Max if t.is_float() => float(f64::NAN),
            ReduceKind::MinNan => float(f64::INFINITY),
            ReduceKind::MaxNan => float(f64::NEG_INFINITY),
            ReduceKind::Sum | ReduceKind::Or | ReduceKind::Xor => int(0),
            ReduceKind::Prod => int(1),
            ReduceKind::Min => int(max),
            ReduceKind::Max => int(min),
            ReduceKind::And => int(-1),
        }
    }
}
