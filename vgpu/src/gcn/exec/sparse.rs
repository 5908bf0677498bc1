//! Sparse matrix instructions: of every four factors of the first matrix two are stored, with their places in an index operand.

use super::Cx;
use super::matrix::{Decoding, Elements, MOST, decodings, multiply, multiply_integers, operation};
use super::matrix_layout as layout;
use crate::gcn::inst::Inst;

/// Spreads the stored elements of the first matrix over their places.
#[expect(clippy::too_many_arguments, reason = "the extents and the operand of one matrix")]
fn spread(
    lanes: usize,
    m: usize,
    k: usize,
    per_lane: usize,
    decoding: &Decoding,
    out: &mut [f32],
    word: &dyn Fn(usize, usize) -> u32,
    index: &dyn Fn(usize) -> u32,
) {
    for lane in 0..lanes {
        let (row, group) = (lane % m, lane / m);
        let places = index(lane);
        for e in 0..per_lane {
            let four = group * per_lane / 2 + e / 2;
            let place = (places >> (e * 2) & 3) as usize;
            out[row * k + four * 4 + place] = decoding.element(e, |r| word(r, lane));
        }
    }
}

/// `v_smfmac_*`: the destination is also the addend.
pub(super) fn smfmac(cx: &mut Cx<'_>, i: &Inst) {
    let Some(op) = operation(i) else { return };
    let (m, n, k) = (usize::from(op.m), usize::from(op.n), usize::from(op.k));
    let sum_registers = op.m * op.n / 64;
    cx.with_all_lanes(i, |cx| {
        let [da, db] = decodings(&op, i, cx.env.arch);
        let (per_a, per_b) = (m * k / 2 / 64, n * k / 64);
        let registers = |per_lane: usize, bits: u32| (per_lane * bits as usize).div_ceil(32) as u16;
        let a_rows = cx.matrix_rows(i, i.src[0], registers(per_a, op.a.bits()));
        let b_rows = cx.matrix_rows(i, i.src[1], registers(per_b, op.b.bits()));
        let indices = cx.matrix_rows(i, i.src[2], 1);
        let c_rows = cx.matrix_rows(i, i.dst, sum_registers);
        // Without cbsz, abid chooses among the sets of places that fit the index register.
        let bits = per_a as u32 * 2;
        let set = if i.imm & 7 == 0 && bits < 32 { (i.imm as u32 >> 3 & 15) % (32 / bits) * bits } else { 0 };
        let mut a: Box<Elements> = Box::new([0.0; MOST]);
        let mut b: Box<Elements> = Box::new([0.0; MOST]);
        spread(64, m, k, per_a, &da, &mut a[..], &|r, lane| a_rows.word(r, lane), &|lane| indices.word(0, lane) >> set);
        layout::gather(per_b, n, 1, k, &mut b[..], false, |lane, e| db.element(e, |r| b_rows.word(r, lane)));
        let mut out = vec![[0_u32; 64]; usize::from(sum_registers)];
        let place = |at: usize| layout::accumulator(m, n, 1, 0, at / n, at % n);
        let bits_of = |at: usize| {
            let (register, lane) = place(at);
            c_rows.word(register, lane)
        };
        if op.integer {
            let mut sum: Vec<i32> = (0..m * n).map(|at| bits_of(at) as i32).collect();
            multiply_integers(m, n, k, &a[..], &b[..], &mut sum);
            for (at, value) in sum.iter().enumerate() {
                let (register, lane) = place(at);
                out[register][lane] = *value as u32;
            }
        } else {
            let mut sum: Vec<f32> = (0..m * n).map(|at| f32::from_bits(bits_of(at))).collect();
            multiply(m, n, k, &a[..], &b[..], &mut sum);
            for (at, value) in sum.iter().enumerate() {
                let (register, lane) = place(at);
                out[register][lane] = value.to_bits();
            }
        }
        cx.write_matrix(i, &out);
        cx.hazard_matrix(i, &op, sum_registers);
    });
    cx.g.counters.matrix_multiply_adds += (m * n * k) as u64;
}

/// `v_swmmac_*`: the same on RDNA 4.
pub(super) fn swmmac(cx: &mut Cx<'_>, i: &Inst) {
    let Some(op) = operation(i) else { return };
    if cx.w.wave32 {
        cx.with_all_lanes(i, |cx| super::wmma::sparse(cx, i, op, spread));
        cx.g.counters.matrix_multiply_adds += u64::from(op.m) * u64::from(op.n) * u64::from(op.k);
    } else {
        cx.unsupported(i, "sparse matrix instructions in waves of 64".to_owned());
    }
}
