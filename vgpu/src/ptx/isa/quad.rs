//! `mma.sync.m8n8k4` of `f16`: four products at once, each by two groups of four lanes that lie 16 lanes apart.
//!
//! Lanes `4q..4q+4` and `4q+16..4q+20` compute product `q`. The lower four of them have the first four rows (or columns of B), the upper four
//! the others. It is the form of the first tensor cores; later ones still have it.

use super::{Op, gemm};
use crate::error::Result;
use crate::numeric::{f16_to_f32, f32_to_f16};
use crate::ptx::decode::{Decoder, Modifiers, Ty};
use crate::ptx::exec::{Cx, Step};
use crate::ptx::syntax::ast::{Instruction, Operand};

/// Rows and columns of each product, and its `k`.
const SIZE: usize = 8;
const K: usize = 4;

/// The four products.
pub(crate) struct QuadMmaOp {
    /// Whether A lies in rows, and whether B does.
    rows: [bool; 2],
    d_ty: Ty,
    c_ty: Ty,
    a: Vec<u32>,
    b: Vec<u32>,
    c: Vec<u32>,
    d: Vec<u32>,
}

/// Row and column of an accumulator by the lane's place among the eight of a product: the number in its four, and whether they are
/// the upper four.
fn accumulator(ty: Ty, number: usize, upper: usize, index: usize) -> (usize, usize) {
    match ty {
        Ty::F16 => (number + 4 * upper, index),
        _ => ((number & 1) + (index & 2) + 4 * upper, (index & 4) + (number & 2) + (index & 1)),
    }
}

impl QuadMmaOp {
    pub fn execute(&self, cx: &mut Cx) -> Result<Step> {
        if let Some(step) = cx.converge_all() {
            return Ok(step);
        }
        cx.warp.counters.matrix_multiply_adds += (4 * SIZE * SIZE * K) as u64;
        let registers = &cx.warp.registers;
        let half = |slots: &[u32], lane: usize, index: usize| {
            f16_to_f32((registers.w(slots[index / 2])[lane] >> (16 * (index % 2))) as u16)
        };
        let mut out = vec![[0_u32; 32]; self.d.len()];
        for product in 0..4 {
            let (mut a, mut b, mut c) = ([0.0; SIZE * K], [0.0; K * SIZE], [0.0; SIZE * SIZE]);
            let lanes = || (0..8).map(|at| (at % 4, at / 4, 4 * product + at % 4 + at / 4 * 16));
            for (number, upper, lane) in lanes() {
                for index in 0..4 {
                    let (row, k) = if self.rows[0] { (number, index) } else { (index, number) };
                    a[(row + 4 * upper) * K + k] = half(&self.a, lane, index);
                    let (column, k) = if self.rows[1] { (index, number) } else { (number, index) };
                    b[k * SIZE + column + 4 * upper] = half(&self.b, lane, index);
                }
                for index in 0..SIZE {
                    let (row, column) = accumulator(self.c_ty, number, upper, index);
                    c[row * SIZE + column] = match self.c_ty {
                        Ty::F16 => half(&self.c, lane, index),
                        _ => f32::from_bits(registers.w(self.c[index])[lane]),
                    };
                }
            }
            gemm::f32(&a, &b, &mut c, SIZE, K);
            for (number, upper, lane) in lanes() {
                for index in 0..SIZE {
                    let (row, column) = accumulator(self.d_ty, number, upper, index);
                    let value = c[row * SIZE + column];
                    match self.d_ty {
                        Ty::F16 => out[index / 2][lane] |= u32::from(f32_to_f16(value)) << (16 * (index % 2)),
                        _ => out[index][lane] = super::float::bits(value),
                    }
                }
            }
        }
        for (&slot, values) in self.d.iter().zip(&out) {
            cx.warp.registers.set_w(slot, values, cx.mask);
        }
        Ok(Step::Next)
    }
}

/// Decodes what follows the shape.
pub(super) fn decode(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Option<Op>> {
    // The first layout is A's, whatever it is.
    let layout = |m: &mut Modifiers| m.map(|word| matches!(word, "row" | "col").then_some(word == "row"));
    let (Some(a_rows), Some(b_rows)) = (layout(m), layout(m)) else { return Ok(None) };
    let types = (m.ty(), m.ty(), m.ty(), m.ty());
    let (Some(d_ty @ (Ty::F16 | Ty::F32)), Some(Ty::F16), Some(Ty::F16), Some(c_ty @ (Ty::F16 | Ty::F32))) = types
    else {
        return Err(d.unsupported("this shape does not exist for these types"));
    };
    if c_ty == Ty::F32 && d_ty == Ty::F16 {
        return Err(d.unsupported("accumulators of 32 bits need a result of 32 bits"));
    }
    let [to, a, b, c] = d.operands(i)?;
    let count = |ty: Ty| if ty == Ty::F16 { 4 } else { 8 };
    let (to, a, b, c) = (d.vector(to), d.vector(a), d.vector(b), d.vector(c));
    if a.len() != 2 || b.len() != 2 || c.len() != count(c_ty) || to.len() != count(d_ty) {
        let (c, d_count) = (count(c_ty), count(d_ty));
        return Err(d.bad(format!("expected 2, 2, {c} and {d_count} registers for A, B, C and D")));
    }
    let mut sources = |operands: &[Operand], ty: Ty| {
        let ty = if ty == Ty::F32 { Ty::F32 } else { Ty::B32 };
        operands.iter().map(|operand| d.word(operand, ty)).collect::<Result<Vec<_>>>()
    };
    let (a, b, c) = (sources(a, Ty::F16)?, sources(b, Ty::F16)?, sources(c, c_ty)?);
    let to = to.iter().map(|operand| d.word_destination(operand)).collect::<Result<Vec<_>>>()?;
    Ok(Some(Op::QuadMma(Box::new(QuadMmaOp { rows: [a_rows, b_rows], d_ty, c_ty, a, b, c, d: to }))))
}
