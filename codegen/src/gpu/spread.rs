//! A tile's layout in use: the coordinates of each register's element, as values of this thread.

use tegula_ir::layout::{Dim, LinearLayout};

use crate::emit::{Emitter, Val};

/// Where the registers of this thread stand in a tile.
///
/// The coordinate of register `r` on an axis is the thread's part, which is the same for all its registers, exclusive-or
/// a constant. Almost always the two share no bits, and the sum says the same: LLVM then finds that the addresses of
/// neighbouring registers differ by constants.
pub(super) struct Spread<'c> {
    axes: Vec<Axis<'c>>,
    registers: u32,
}

struct Axis<'c> {
    /// The thread's part of the coordinate, `i32`.
    thread: Val<'c>,
    /// Bits that the thread's part may have set.
    mask: u32,
    /// The constant part of each register.
    constants: Vec<u32>,
}

impl<'c> Spread<'c> {
    /// Computes the thread's part from its lane and warp numbers.
    pub(super) fn new(e: &Emitter<'c, '_>, layout: &LinearLayout, lane: Val<'c>, warp: Val<'c>) -> Self {
        let registers = layout.in_size(Dim::Register);
        let axes = (0..layout.outs().rank())
            .map(|axis| {
                let dim = Dim::Axis(axis as u8);
                let part = |of: Dim| -> Vec<u32> {
                    layout.bases(of).iter().map(|&basis| layout.outs().coordinate(basis, dim)).collect()
                };
                let (lanes, warps) = (part(Dim::Lane), part(Dim::Warp));
                let thread = combine(e, select_bits(e, lane, &lanes), select_bits(e, warp, &warps));
                let mask = lanes.iter().chain(&warps).fold(0, |mask, basis| mask | basis);
                let constants = (0..registers)
                    .map(|r| layout.outs().coordinate(layout.apply(&[(Dim::Register, r)]), dim))
                    .collect();
                Axis { thread: thread.0, mask, constants }
            })
            .collect();
        Spread { axes, registers }
    }

    /// Number of registers of the thread.
    pub(super) fn registers(&self) -> u32 {
        self.registers
    }

    /// The thread's part of the coordinate on an axis, `i32`.
    pub(super) fn thread(&self, axis: usize) -> Val<'c> {
        self.axes[axis].thread
    }

    /// Bits that the thread's part of the coordinate may have set.
    pub(super) fn thread_mask(&self, axis: usize) -> u32 {
        self.axes[axis].mask
    }

    /// Whether on this axis every register's coordinate is the thread's part plus a constant.
    pub(super) fn is_additive(&self, axis: usize) -> bool {
        self.axes[axis].constants.iter().all(|c| c & self.axes[axis].mask == 0)
    }

    /// The constant part of a register's coordinate.
    pub(super) fn constant(&self, register: u32, axis: usize) -> u32 {
        self.axes[axis].constants[register as usize]
    }

    /// The coordinate of a register on an axis, `i32`.
    pub(super) fn coordinate(&self, e: &Emitter<'c, '_>, register: u32, axis: usize) -> Val<'c> {
        let Axis { thread, mask, constants } = &self.axes[axis];
        let constant = constants[register as usize];
        combine(e, (*thread, *mask), (e.i32(constant.into()), constant)).0
    }

    /// All coordinates of a register.
    pub(super) fn coordinates(&self, e: &Emitter<'c, '_>, register: u32) -> Vec<Val<'c>> {
        (0..self.axes.len()).map(|axis| self.coordinate(e, register, axis)).collect()
    }

    /// The least and greatest coordinate that a register can have on an axis, over all threads.
    pub(super) fn range(&self, register: u32, axis: usize) -> (u32, u32) {
        let Axis { mask, constants, .. } = &self.axes[axis];
        let constant = constants[register as usize];
        (constant & !mask, constant | mask)
    }
}

/// A linear function of the bits of `number`: the exclusive or of the `bases` that its bits select. Gives the value and
/// the bits that it may have set.
pub(super) fn select_bits<'c>(e: &Emitter<'c, '_>, number: Val<'c>, bases: &[u32]) -> (Val<'c>, u32) {
    let mut sum = (e.i32(0), 0);
    let mut bit = 0;
    while bit < bases.len() {
        let basis = bases[bit];
        if basis == 0 {
            bit += 1;
            continue;
        }
        // A run of bits that only moves: mask and shift all of them at once.
        let run = if basis.is_power_of_two() {
            (bit..bases.len()).take_while(|&i| u64::from(bases[i]) == u64::from(basis) << (i - bit)).count()
        } else {
            1
        };
        let (run_mask, from, to) = ((1u32 << run) - 1, bit as u32, basis.trailing_zeros());
        let field = e.and(number, e.i32(i64::from(run_mask << from)));
        let moved = if basis.is_power_of_two() {
            if to >= from { e.shl_const(field, to - from) } else { e.lshr_const(field, from - to) }
        } else {
            e.mul(e.lshr_const(field, from), e.i32(basis.into()))
        };
        sum = combine(e, sum, (moved, if basis.is_power_of_two() { run_mask << to } else { basis }));
        bit += run;
    }
    sum
}

/// The exclusive or of two values of which it is known which bits they may have set.
fn combine<'c>(e: &Emitter<'c, '_>, a: (Val<'c>, u32), b: (Val<'c>, u32)) -> (Val<'c>, u32) {
    let value = if a.1 & b.1 == 0 { e.or_disjoint(a.0, b.0) } else { e.xor(a.0, b.0) };
    (value, a.1 | b.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Machine, Session};

    /// Lane and warp numbers as constants fold, so that every coordinate is a constant to compare.
    #[test]
    fn coordinates_are_those_of_the_layout() {
        let session = Session::new();
        let machine = Machine::host().unwrap();
        let module = session.module("spread", &machine);
        let ty = session.context().void_type().fn_type(&[], false);
        let e = Emitter::new(session.context(), &module, module.add_function("f", ty, None));
        for text in [
            "128x64: reg d1[1 2 4] d0[16 32 64], lane d1[8 16 32] d0[1 2], warp d0[4 8]",
            "16x4: reg d0[1 2], lane d0[4 8] d1[1] d1:2^d0:2",
            "8: reg d0[4] 0, lane d0[1 2] 0 0 0, warp 0",
        ] {
            let layout: LinearLayout = text.parse().unwrap();
            for (lane, warp) in [(0, 0), (1, 0), (5, 1), (7, 3), (30, 2)] {
                let (lane, warp) = (lane % layout.in_size(Dim::Lane), warp % layout.in_size(Dim::Warp));
                let spread = Spread::new(&e, &layout, e.i32(lane.into()), e.i32(warp.into()));
                for r in 0..spread.registers() {
                    let at = layout.coordinates(&[(Dim::Register, r), (Dim::Lane, lane), (Dim::Warp, warp)]);
                    for (axis, &want) in at.iter().enumerate() {
                        assert_eq!(e.as_const(spread.coordinate(&e, r, axis)), Some(want.into()), "{text}");
                        let (least, most) = spread.range(r, axis);
                        assert!((least..=most).contains(&want), "{text}");
                    }
                }
            }
        }
    }
}
