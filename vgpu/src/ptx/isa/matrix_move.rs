//! `ldmatrix`, `stmatrix`, `movmatrix`: 8 by 8 matrices of 16-bit elements between shared memory and fragments.

use super::Op;
use crate::counters::bank_conflicts;
use crate::error::Result;
use crate::ptx::decode::{AddressOperand, Decoder, Modifiers, Space, Ty};
use crate::ptx::exec::{Cx, Step};
use crate::ptx::syntax::ast::Instruction;
use crate::sanitizer::Action;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Load,
    Store,
    Transpose,
}

/// A move of 1, 2 or 4 matrices.
pub(crate) struct MatrixMoveOp {
    kind: Kind,
    transpose: bool,
    space: Space,
    address: Option<AddressOperand>,
    registers: Vec<u32>,
    to: u32,
}

/// Row and column of the first of the two elements that a lane holds, and of the second.
fn places(lane: usize, transpose: bool) -> [(usize, usize); 2] {
    let (g, t) = (lane / 4, lane % 4 * 2);
    if transpose { [(t, g), (t + 1, g)] } else { [(g, t), (g, t + 1)] }
}

impl MatrixMoveOp {
    pub fn execute(&self, cx: &mut Cx) -> Result<Step> {
        if let Some(step) = cx.converge_all() {
            return Ok(step);
        }
        if self.kind == Kind::Transpose {
            let source = *cx.warp.registers.w(self.registers[0]);
            let mut matrix = [[0_u16; 8]; 8];
            for (lane, word) in source.iter().enumerate() {
                for (half, (row, column)) in places(lane, false).into_iter().enumerate() {
                    matrix[row][column] = (word >> (16 * half)) as u16;
                }
            }
            let result = std::array::from_fn(|lane| {
                let [low, high] = places(lane, true);
                u32::from(matrix[low.0][low.1]) | u32::from(matrix[high.0][high.1]) << 16
            });
            cx.warp.registers.set_w(self.to, &result, cx.mask);
            return Ok(Step::Next);
        }
        let Some(address) = &self.address else {
            return Ok(Step::Next);
        };
        let addresses = cx.addresses(address);
        let count = self.registers.len();
        cx.warp.counters.shared_accesses += 1;
        let rows: [Option<u64>; 32] = std::array::from_fn(|lane| (lane < count * 8).then(|| addresses[lane]));
        cx.warp.counters.bank_conflict_cycles += bank_conflicts(&rows[..count * 8], 16);
        for (number, &slot) in self.registers.iter().enumerate() {
            let mut matrix = [[0_u16; 8]; 8];
            if self.kind == Kind::Load {
                for (row, values) in matrix.iter_mut().enumerate() {
                    let lane = number * 8 + row;
                    let mut bytes = [crate::memory::POISON; 16];
                    if let Some(place) = cx.place(self.space, addresses[lane], 16, 16, lane) {
                        cx.note(place, 16, Action::Read, lane, None);
                        cx.read(place, lane, &mut bytes);
                    }
                    for (value, pair) in values.iter_mut().zip(bytes.chunks_exact(2)) {
                        *value = u16::from_le_bytes([pair[0], pair[1]]);
                    }
                }
                let result = std::array::from_fn(|lane| {
                    let [low, high] = places(lane, self.transpose);
                    u32::from(matrix[low.0][low.1]) | u32::from(matrix[high.0][high.1]) << 16
                });
                cx.warp.registers.set_w(slot, &result, cx.mask);
                continue;
            }
            for (lane, word) in cx.warp.registers.w(slot).iter().enumerate() {
                for (half, (row, column)) in places(lane, self.transpose).into_iter().enumerate() {
                    matrix[row][column] = (word >> (16 * half)) as u16;
                }
            }
            for (row, values) in matrix.iter().enumerate() {
                let lane = number * 8 + row;
                let mut bytes = [0; 16];
                for (pair, value) in bytes.chunks_exact_mut(2).zip(values) {
                    pair.copy_from_slice(&value.to_le_bytes());
                }
                if let Some(place) = cx.place(self.space, addresses[lane], 16, 16, lane) {
                    cx.note(place, 16, Action::Write, lane, Some(&bytes));
                    cx.write(place, lane, &bytes);
                }
            }
        }
        Ok(Step::Next)
    }
}

/// Decodes `ldmatrix`, `stmatrix` and `movmatrix`.
pub(super) fn decode(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Option<Op>> {
    if !(m.take("sync") && m.take("aligned")) {
        return Ok(None);
    }
    if let Some(shape) = m.any(&["m16n16", "m8n16", "m16n8"]) {
        return Err(d.requires("sm_100a", &format!("matrices of 8-bit elements (`.{shape}`)")));
    }
    if !m.take("m8n8") {
        return Ok(None);
    }
    let transpose = m.take("trans");
    if i.opcode == "movmatrix" {
        m.ty();
        let [to, from] = d.operands(i)?;
        let registers = vec![d.word(from, Ty::B32)?];
        let to = d.word_destination(to)?;
        let op = MatrixMoveOp { kind: Kind::Transpose, transpose, space: Space::Shared, address: None, registers, to };
        return Ok(Some(Op::MatrixMove(Box::new(op))));
    }
    let count = match m.any(&["x1", "x2", "x4"]) {
        Some("x1") => 1,
        Some("x2") => 2,
        Some(_) => 4,
        None => return Ok(None),
    };
    let space = match m.any(&["shared", "shared::cta"]) {
        Some(_) => Space::Shared,
        None => Space::Generic,
    };
    if m.ty() != Some(Ty::B16) {
        return Err(d.unsupported("only 16-bit elements"));
    }
    let [first, second] = d.operands(i)?;
    let load = i.opcode == "ldmatrix";
    let (values, address) = if load { (first, second) } else { (second, first) };
    let address = Some(d.address(address)?);
    let values = d.vector(values);
    if values.len() != count {
        return Err(d.bad(format!("expected {count} registers")));
    }
    let registers = values
        .iter()
        .map(|value| if load { d.word_destination(value) } else { d.word(value, Ty::B32) })
        .collect::<Result<Vec<_>>>()?;
    let kind = if load { Kind::Load } else { Kind::Store };
    Ok(Some(Op::MatrixMove(Box::new(MatrixMoveOp { kind, transpose, space, address, registers, to: 0 }))))
}
