//! Matrix instructions of RDNA, in waves of 32.

use super::Cx;
use super::matrix::{
    Decoding, Element, Elements, MOST, MatrixOp, Rows, decodings, multiply, multiply_integers, operation,
};
use super::matrix_layout::Layout;
use super::state::Lanes;
use crate::gcn::inst::Inst;
use crate::numeric::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};

/// The register and the lane of an element of a 16 by 16 sum of 32-bit elements.
fn sum_place(layout: Layout, row: usize, column: usize) -> (usize, usize) {
    match layout {
        // Even rows in the lower half of the wave, odd ones in the upper.
        Layout::Wmma11 => (row / 2, column + 16 * (row % 2)),
        _ => (row % 8, column + 16 * (row / 8)),
    }
}

/// A sum's element: its register, lane, and half where two share a register.
fn place(op: &MatrixOp, i: &Inst, row: usize, column: usize) -> (usize, usize, u32) {
    let (register, lane) = sum_place(op.layout, row, column);
    match (op.sum, op.layout) {
        (Element::F16 | Element::Bf16, Layout::Wmma11) => (register, lane, u32::from(i.op_sel >> 2 & 1) * 16),
        (Element::F16 | Element::Bf16, _) => (register / 2, lane, (register % 2 * 16) as u32),
        _ => (register, lane, 0),
    }
}

/// Registers of a sum.
fn sum_registers(op: &MatrixOp) -> u16 {
    match (op.sum, op.layout) {
        (Element::F16 | Element::Bf16, Layout::Wmma12) => 4,
        _ => 8,
    }
}

/// A sum's elements as they lie in registers, and back.
fn read_sum(op: &MatrixOp, i: &Inst, rows: &Rows) -> Vec<u32> {
    (0..256)
        .map(|at| {
            let (register, lane, shift) = place(op, i, at / 16, at % 16);
            rows.word(register, lane) >> shift
        })
        .collect()
}

fn to_float(op: &MatrixOp, bits: u32) -> f32 {
    match op.sum {
        Element::F16 => f16_to_f32(bits as u16),
        Element::Bf16 => bf16_to_f32(bits as u16),
        _ => f32::from_bits(bits),
    }
}

fn from_float(op: &MatrixOp, value: f32) -> u32 {
    match op.sum {
        Element::F16 => u32::from(f32_to_f16(value)),
        Element::Bf16 => u32::from(f32_to_bf16(value)),
        _ => value.to_bits(),
    }
}

/// Multiplies, adds and writes.
fn finish(cx: &mut Cx<'_>, i: &Inst, op: &MatrixOp, a: &[f32], b: &[f32], addend: &Rows) {
    let k = usize::from(op.k);
    let old = read_sum(op, i, addend);
    // The modifiers of the addend: absolute value, then sign.
    let (abs, neg) = (i.neg_hi >> 2 & 1 != 0, i.neg >> 2 & 1 != 0);
    let results: Vec<u32> = if op.integer {
        let mut sum: Vec<i32> = old.iter().map(|&bits| bits as i32).collect();
        if i.clamp {
            // Saturation is of the exact sum.
            let mut exact = vec![0; 256];
            multiply_integers(16, 16, k, a, b, &mut exact);
            for (s, e) in sum.iter_mut().zip(exact) {
                *s = s.saturating_add(e);
            }
        } else {
            multiply_integers(16, 16, k, a, b, &mut sum);
        }
        sum.into_iter().map(|v| v as u32).collect()
    } else {
        let modify = |v: f32| {
            let v = if abs { v.abs() } else { v };
            if neg { -v } else { v }
        };
        let mut sum: Vec<f32> = old.iter().map(|&bits| modify(to_float(op, bits))).collect();
        multiply(16, 16, k, a, b, &mut sum);
        sum.into_iter().map(|v| from_float(op, v)).collect()
    };
    // Halves that are not written keep what the addend's registers hold.
    let mut out: Vec<Lanes> = addend.rows.clone();
    for (at, bits) in results.into_iter().enumerate() {
        let (register, lane, shift) = place(op, i, at / 16, at % 16);
        let mask = if matches!(op.sum, Element::F16 | Element::Bf16) { 0xffff } else { u32::MAX };
        let word = &mut out[register][lane];
        *word = *word & !(mask << shift) | bits << shift;
    }
    cx.write_matrix(i, &out);
}

/// `v_wmma_*`.
pub(super) fn wmma(cx: &mut Cx<'_>, i: &Inst) {
    let Some(op) = operation(i) else { return };
    if !cx.w.wave32 {
        cx.unsupported(i, "matrix instructions of RDNA in waves of 64".to_owned());
        return;
    }
    let k = usize::from(op.k);
    cx.with_all_lanes(i, |cx| {
        let [da, db] = decodings(&op, i, cx.env.arch);
        // RDNA 3 gives each lane of a half all k's, RDNA 4 half of them.
        let per_lane = if op.layout == Layout::Wmma11 { k } else { k / 2 };
        let registers = |d: &Decoding| (per_lane * d.element.bits() as usize).div_ceil(32) as u16;
        let a_rows = cx.matrix_rows(i, i.src[0], registers(&da));
        let b_rows = cx.matrix_rows(i, i.src[1], registers(&db));
        let addend = cx.matrix_rows(i, i.src[2], sum_registers(&op));
        let mut a: Box<Elements> = Box::new([0.0; MOST]);
        let mut b: Box<Elements> = Box::new([0.0; MOST]);
        let groups = if op.layout == Layout::Wmma11 { 1 } else { 2 };
        for lane in 0..16 * groups {
            for e in 0..per_lane {
                let p = lane / 16 * per_lane + e;
                a[lane % 16 * k + p] = signed(&op, i, 0, e, da.element(e, |r| a_rows.word(r, lane)));
                b[p * 16 + lane % 16] = signed(&op, i, 1, e, db.element(e, |r| b_rows.word(r, lane)));
            }
        }
        finish(cx, i, &op, &a[..], &b[..], &addend);
    });
    cx.g.counters.matrix_multiply_adds += 256 * k as u64;
}

/// The sign modifiers of 16-bit factors: one for even elements, one for odd ones.
fn signed(op: &MatrixOp, i: &Inst, n: u32, element: usize, value: f32) -> f32 {
    if !matches!(op.a, Element::F16 | Element::Bf16) {
        return value;
    }
    let field = if element.is_multiple_of(2) { i.neg } else { i.neg_hi };
    if field >> n & 1 != 0 { -value } else { value }
}

/// What spreads the stored elements of a sparse matrix.
type Spread =
    fn(usize, usize, usize, usize, &Decoding, &mut [f32], &dyn Fn(usize, usize) -> u32, &dyn Fn(usize) -> u32);

/// `v_swmmac_*`: the destination is also the addend.
pub(super) fn sparse(cx: &mut Cx<'_>, i: &Inst, op: MatrixOp, spread: Spread) {
    let k = usize::from(op.k);
    let [da, db] = decodings(&op, i, cx.env.arch);
    let (per_a, per_b) = (k / 4, k / 2);
    let registers = |d: &Decoding, per_lane: usize| (per_lane * d.element.bits() as usize).div_ceil(32) as u16;
    let a_rows = cx.matrix_rows(i, i.src[0], registers(&da, per_a));
    let b_rows = cx.matrix_rows(i, i.src[1], registers(&db, per_b));
    let indices = cx.matrix_rows(i, i.src[2], 1);
    let addend = cx.matrix_rows(i, i.dst, sum_registers(&op));
    let mut a: Box<Elements> = Box::new([0.0; MOST]);
    let mut b: Box<Elements> = Box::new([0.0; MOST]);
    let bits = per_a as u32 * 2;
    let set = if bits < 32 { u32::from(i.op_sel & 3) % (32 / bits) * bits } else { 0 };
    spread(32, 16, k, per_a, &da, &mut a[..], &|r, lane| a_rows.word(r, lane), &|lane| indices.word(0, lane) >> set);
    for lane in 0..32 {
        for e in 0..per_b {
            b[(lane / 16 * per_b + e) * 16 + lane % 16] = db.element(e, |r| b_rows.word(r, lane));
        }
    }
    finish(cx, i, &op, &a[..], &b[..], &addend);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_sums() {
        assert_eq!(sum_place(Layout::Wmma11, 5, 3), (2, 19));
        assert_eq!(sum_place(Layout::Wmma12, 5, 3), (5, 3));
        assert_eq!(sum_place(Layout::Wmma12, 13, 3), (5, 19));
    }
}
