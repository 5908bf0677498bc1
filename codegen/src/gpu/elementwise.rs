//! Elementwise operations: the scalar operation, register by register.

use tegula_ir::function::{Op, Value};
use tegula_ir::ops::{BinaryOp, OpKind};
use tegula_ir::types::{Elem, ScalarType};

use super::lowering::{Lowering, Registers, Result};
use crate::elementwise::{Conversion, arith, convert, register_type};
use crate::emit::Val;

impl<'c> Lowering<'_, 'c, '_> {
    /// Lowers an elementwise op.
    pub(super) fn elementwise(&mut self, op: Op) -> Result<()> {
        let f = self.f;
        let result = f.op(op).results[0];
        match &f.op(op).kind {
            OpKind::Unary { op, x, fast } => {
                let ty = self.number(*x);
                self.map([*x], result, |this, [x]| {
                    arith::unary(&this.e, this.target, *op, ty, x, *fast).ok_or_else(|| {
                        this.unsupported(op.name(), format!("of {ty}"), "run the pass `expand-math` first")
                    })
                })
            }
            OpKind::Binary { op, a, b } => {
                let ty = self.number(*a);
                self.map([*a, *b], result, |this, [a, b]| this.binary(*op, ty, a, b))
            }
            OpKind::Compare { op, a, b } => {
                let elem = self.elem(*a);
                self.map([*a, *b], result, |this, [a, b]| Ok(arith::compare(&this.e, *op, elem, a, b)))
            }
            OpKind::Select { cond, a, b } => {
                self.map([*cond, *a, *b], result, |this, [cond, a, b]| Ok(this.e.select(cond, a, b)))
            }
            OpKind::Fma { a, b, c } => {
                let ty = self.number(*a);
                self.map([*a, *b, *c], result, |this, [a, b, c]| Ok(arith::fma(&this.e, this.target, ty, a, b, c)))
            }
            OpKind::Cast { x, to, rounding, saturate } => {
                let conversion =
                    Conversion { from: self.number(*x), to: *to, rounding: *rounding, saturate: *saturate };
                self.map([*x], result, |this, [x]| Ok(convert::convert(&this.e, this.target, conversion, x)))
            }
            OpKind::Bitcast { x, to } => {
                let to = Elem::Scalar(*to);
                self.map([*x], result, |this, [x]| Ok(this.e.bitcast(x, register_type(&this.e, to))))
            }
            OpKind::PtrAdd { ptr, offset } => {
                let pointee = self.elem(*ptr).pointee().expect("the verifier has checked that this is a pointer");
                let offset_type = self.number(*offset);
                self.map([*ptr, *offset], result, |this, [ptr, offset]| {
                    Ok(this.element_address(ptr, offset, offset_type, pointee))
                })
            }
            kind => unreachable!("{} is not elementwise", kind.mnemonic()),
        }
    }

    /// A two-operand operation on one register of each operand.
    pub(super) fn binary(&self, op: BinaryOp, ty: ScalarType, a: Val<'c>, b: Val<'c>) -> Result<Val<'c>> {
        let (e, native) = (&self.e, self.target);
        if let Some(value) = arith::binary(e, native, op, ty, a, b) {
            return Ok(value);
        }
        match op {
            BinaryOp::Rem => Ok(arith::float_rem(e, native, ty, a, b)),
            BinaryOp::FloorRem => Ok(arith::float_floor_rem(e, native, ty, a, b)),
            _ => Err(self.unsupported(op.name(), format!("of {ty}"), "run the pass `expand-math` first")),
        }
    }

    /// The address `offset` elements after `ptr`, computed in 64 bits.
    pub(super) fn element_address(
        &self,
        ptr: Val<'c>,
        offset: Val<'c>,
        offset_type: ScalarType,
        pointee: ScalarType,
    ) -> Val<'c> {
        let e = &self.e;
        let offset =
            if offset_type.is_signed_int() { e.sext_or_trunc(offset, 64) } else { e.zext_or_trunc(offset, 64) };
        let bytes = pointee.memory_bytes().expect("the verifier has checked that this type is in memory");
        e.offset(ptr, e.mul(offset, e.i64(bytes.into())))
    }

    /// Applies `function` to each register of the operands, which are brought to the result's layout; operands that are
    /// scalars are used for every register.
    fn map<const N: usize>(
        &mut self,
        operands: [Value; N],
        result: Value,
        mut function: impl FnMut(&mut Self, [Val<'c>; N]) -> Result<Val<'c>>,
    ) -> Result<()> {
        let layout = self.layout(result)?;
        let mut inputs: Vec<Registers<'c>> = Vec::with_capacity(N);
        for operand in operands {
            inputs.push(self.registers_in(operand, layout.as_deref())?);
        }
        let count = layout.as_ref().map_or(1, |l| l.in_size(tegula_ir::layout::Dim::Register) as usize);
        let mut registers = Vec::with_capacity(count);
        for r in 0..count {
            let args: [Val<'c>; N] =
                std::array::from_fn(|i| if inputs[i].len() == 1 { inputs[i][0] } else { inputs[i][r] });
            registers.push(function(self, args)?);
        }
        self.set_registers(result, registers);
        Ok(())
    }
}
