//! Reductions: inside a thread, then between the lanes of a warp, then between warps.
//!
//! By the layout, each bit of an index along a reduced axis belongs to a register, a lane or a warp number. A register
//! bit is reduced by combining pairs of registers, a lane bit by one exchange between lanes, and all warp bits together
//! by one trip through shared memory. A function that commutes takes them in this order; one that does not takes the
//! bits from the lowest, so that what is combined is always next to each other.

use std::collections::BTreeMap;

use inkwell::IntPredicate::EQ;
use tegula_ir::function::{Op, Value};
use tegula_ir::layout::{Blocked, Dim, LinearLayout};
use tegula_ir::ops::{OpKind, ReduceKind};
use tegula_ir::types::{Elem, ScalarType};

use super::combine::{Combine, Partial};
use super::convert_layout::element_bytes;
use super::lowering::{Lowered, Lowering, Registers, Result};
use super::scan::scan_layout;
use super::spread::select_bits;
use crate::elementwise::{Conversion, convert};
use crate::emit::Val;

/// What is reduced: operands of one shape in one layout.
pub(super) struct Operands<'c> {
    pub registers: Vec<Registers<'c>>,
    pub elems: Vec<Elem>,
    pub layout: LinearLayout,
    pub shape: Vec<u32>,
}

impl<'c> Lowering<'_, 'c, '_> {
    /// Lowers a reduction.
    pub(super) fn reduction(&mut self, op: Op) -> Result<()> {
        let f = self.f;
        let results = f.op(op).results.clone();
        let (inputs, axes, function): (Vec<Value>, Vec<usize>, Combine) = match f.kind(op) {
            OpKind::Reduce { kind, x, axes } => {
                let ty = self.number(*x);
                let ty = if accumulates(*kind) { ty.accumulator() } else { ty };
                (vec![*x], axes.iter().map(|&a| usize::from(a)).collect(), Combine::of_reduce(*kind, ty))
            }
            OpKind::ArgReduce { kind, x, axis } => {
                (vec![*x], vec![usize::from(*axis)], Combine::Extreme(*kind, self.number(*x)))
            }
            OpKind::ReduceWith { inputs, axis, body } => {
                (inputs.to_vec(), vec![usize::from(*axis)], Combine::Body(*body))
            }
            kind => unreachable!("{} is no reduction", kind.mnemonic()),
        };
        let mut operands = self.operands(&inputs)?;
        if let Combine::Binary(_, ty) = function {
            self.widen(&mut operands, ty);
        }
        if let Combine::Extreme(..) = function {
            self.add_indices(&mut operands, axes[0]);
        }
        let (registers, layout) = self.reduce(operands, &axes, function)?;
        for (i, &result) in results.iter().enumerate() {
            let mut registers = registers[i].clone();
            if let (Combine::Binary(_, from), Some(to)) = (function, self.elem(result).scalar()) {
                let conversion = Conversion::nearest(from, to);
                registers = registers.iter().map(|&v| convert::convert(&self.e, self.target, conversion, v)).collect();
            }
            match self.layout(result)? {
                Some(to) => {
                    let registers = self.convert_registers(&registers, self.elem(result), &layout, &to)?;
                    self.set(result, Lowered::Registers(registers));
                }
                None => self.set(result, Lowered::scalar(registers[0])),
            }
        }
        Ok(())
    }

    /// The operands of a reduction or scan, brought to the layout of the first.
    pub(super) fn operands(&mut self, inputs: &[Value]) -> Result<Operands<'c>> {
        let Some((tile, layout)) = self.tile(inputs[0])? else {
            return Err(self.invalid("a scalar cannot be reduced"));
        };
        let shape = tile.shape.to_vec();
        let mut registers = Vec::with_capacity(inputs.len());
        for &input in inputs {
            registers.push(self.registers_in(input, Some(&layout))?);
        }
        let elems = inputs.iter().map(|&v| self.elem(v)).collect();
        Ok(Operands { registers, elems, layout: (*layout).clone(), shape })
    }

    /// Converts the one operand to the type that is accumulated in.
    pub(super) fn widen(&self, operands: &mut Operands<'c>, to: ScalarType) {
        let Some(from) = operands.elems[0].scalar() else { return };
        let conversion = Conversion::nearest(from, to);
        let registers = &operands.registers[0];
        operands.registers[0] =
            registers.iter().map(|&v| convert::convert(&self.e, self.target, conversion, v)).collect();
        operands.elems[0] = to.into();
    }

    fn add_indices(&self, operands: &mut Operands<'c>, axis: usize) {
        let spread = self.spread(&operands.layout);
        operands.registers.push((0..spread.registers()).map(|r| spread.coordinate(&self.e, r, axis)).collect());
        operands.elems.push(ScalarType::I32.into());
    }

    /// Reduces over `axes`; gives the registers of each operand's result and their layout.
    fn reduce(
        &mut self,
        mut operands: Operands<'c>,
        axes: &[usize],
        function: Combine,
    ) -> Result<(Vec<Registers<'c>>, LinearLayout)> {
        let ordered = !function.is_commutative();
        if let Some(better) = self.layout_to_reduce(&operands, axes, ordered) {
            self.convert_operands(&mut operands, better)?;
        }
        let layout = operands.layout.clone();
        let bits = ReducedBits::new(&layout, axes);

        // What each register holds, without duplicates and padding.
        let spread = self.spread(&layout);
        let duplicates = layout.free_bits(Dim::Register);
        let mut alive: BTreeMap<u32, Partial<'c>> = BTreeMap::new();
        for r in (0..spread.registers()).filter(|r| r & duplicates == 0) {
            let values = operands.registers.iter().map(|registers| registers[r as usize]).collect();
            // Only padding along the reduced axes matters.
            let present = axes.iter().fold(None, |present, &axis| {
                let (least, most) = spread.range(r, axis);
                let extent = operands.shape[axis];
                let inside = if most < extent {
                    return present;
                } else if least >= extent {
                    self.e.bool(false)
                } else {
                    let coordinate = spread.coordinate(&self.e, r, axis);
                    self.e.icmp(inkwell::IntPredicate::ULT, coordinate, self.e.i32(extent.into()))
                };
                Some(present.map_or(inside, |present| self.e.and(present, inside)))
            });
            alive.insert(r, self.partial(function, values, present));
        }

        for step in bits.steps(ordered) {
            match step {
                Step::Register(bit) => {
                    let lower: Vec<u32> = alive.keys().copied().filter(|r| r >> bit & 1 == 0).collect();
                    for r in lower {
                        let upper = alive.remove(&(r | 1 << bit)).expect("registers come in pairs");
                        let merged = self.merge(function, &alive[&r], &upper)?;
                        alive.insert(r, merged);
                    }
                }
                Step::Lane(bit) => {
                    for r in alive.keys().copied().collect::<Vec<_>>() {
                        let own = alive[&r].clone();
                        let other = self.shuffle_partial(&own, |word| self.target.shuffle_xor(&self.e, word, 1 << bit));
                        let merged = if ordered {
                            let e = &self.e;
                            let is_lower = e.icmp(EQ, e.and(self.lane, e.i32(1 << bit)), e.i32(0));
                            let (left, right) = self.in_order(is_lower, &own, &other);
                            self.merge(function, &left, &right)?
                        } else {
                            self.merge(function, &own, &other)?
                        };
                        alive.insert(r, merged);
                    }
                }
            }
        }
        if bits.warp != 0 {
            self.reduce_warps(&mut alive, &bits, &operands.elems, function)?;
        }

        let mut reduced = layout;
        for &axis in axes.iter().rev() {
            reduced = reduced.remove_axis(axis).map_err(|error| self.invalid(error.to_string()))?;
        }
        debug_assert_eq!(alive.len(), reduced.in_size(Dim::Register) as usize);
        let results =
            (0..operands.registers.len()).map(|i| alive.values().map(|partial| partial.values[i]).collect()).collect();
        Ok((results, reduced))
    }

    fn in_order(&self, own_first: Val<'c>, own: &Partial<'c>, other: &Partial<'c>) -> (Partial<'c>, Partial<'c>) {
        let e = &self.e;
        let choose = |a: &Partial<'c>, b: &Partial<'c>| Partial {
            values: a.values.iter().zip(&b.values).map(|(&a, &b)| e.select(own_first, a, b)).collect(),
            present: a.present.zip(b.present).map(|(a, b)| e.select(own_first, a, b)),
        };
        (choose(own, other), choose(other, own))
    }

    /// Combines what the warps have: one lane of each group writes, all read.
    fn reduce_warps(
        &mut self,
        alive: &mut BTreeMap<u32, Partial<'c>>,
        bits: &ReducedBits,
        elems: &[Elem],
        function: Combine,
    ) -> Result<()> {
        let flags = alive.values().any(|p| p.present.is_some());
        if flags {
            // All or none, so that every thread writes and reads the same.
            let always = self.e.bool(true);
            for partial in alive.values_mut() {
                partial.present.get_or_insert(always);
            }
        }
        let mut elems = elems.to_vec();
        if flags {
            elems.push(ScalarType::Bool.into());
        }
        let lane_bits = self.target.architecture().warp_size.ilog2();
        let kept: Vec<u32> = (0..lane_bits).filter(|bit| bits.lane >> bit & 1 == 0).collect();
        let lanes = 1u32 << kept.len();
        let per_register = self.f.num_warps * lanes;
        // The widest first, so that each area is aligned for its elements.
        let mut order: Vec<usize> = (0..elems.len()).collect();
        order.sort_by_key(|&i| std::cmp::Reverse(element_bytes(elems[i])));
        let count = alive.len() as u32 * per_register;
        let mut starts = vec![0u32; elems.len()];
        let mut bytes = 0u32;
        for &i in &order {
            starts[i] = bytes;
            bytes += count * element_bytes(elems[i]);
        }
        let base = self.scratch(bytes.into());
        let e = &self.e;
        let areas: Vec<Val<'c>> = starts.iter().map(|&start| e.offset(base, e.i32(start.into()))).collect();
        // A lane's number without the reduced bits.
        let compressed = {
            let mut bases = vec![0u32; lane_bits as usize];
            for (to, &from) in kept.iter().enumerate() {
                bases[from as usize] = 1 << to;
            }
            select_bits(e, self.lane, &bases).0
        };
        let index = |warp: Val<'c>, slot: u32| {
            let place = e.add(e.mul(warp, e.i32(lanes.into())), compressed);
            e.add(place, e.i32((slot * per_register).into()))
        };
        let representative = (bits.lane != 0).then(|| e.icmp(EQ, e.and(self.lane, e.i32(bits.lane.into())), e.i32(0)));
        let own: Vec<(u32, Partial<'c>)> = alive.iter().map(|(&r, p)| (r, p.clone())).collect();
        let places: Vec<Val<'c>> = (0..own.len() as u32).map(|slot| index(self.warp, slot)).collect();
        let base_warp = e.and(self.warp, e.i32(!i64::from(bits.warp)));
        let part_places: Vec<Vec<Val<'c>>> = (0..own.len() as u32)
            .map(|slot| {
                bits.warp_parts().map(|part| index(e.or_disjoint(base_warp, e.i32(part.into())), slot)).collect()
            })
            .collect();
        self.only_if(representative, |this| {
            for ((_, partial), &place) in own.iter().zip(&places) {
                let values = partial.values.iter().chain(partial.present.as_ref());
                for ((value, &area), &elem) in values.zip(&areas).zip(&elems) {
                    this.store_indexed(area, place, *value, elem);
                }
            }
        });
        self.scratch_written();
        for ((r, _), places) in own.iter().zip(&part_places) {
            let mut total: Option<Partial<'c>> = None;
            for &place in places {
                let mut values: Vec<Val<'c>> =
                    areas.iter().zip(&elems).map(|(&area, &elem)| self.load_indexed(area, place, elem)).collect();
                let present = if flags { values.pop() } else { None };
                let part = Partial { values, present };
                total = Some(match total {
                    None => part,
                    Some(total) => self.merge(function, &total, &part)?,
                });
            }
            alive.insert(*r, total.expect("there is at least one warp"));
        }
        Ok(())
    }

    /// Brings all operands to another layout.
    pub(super) fn convert_operands(&mut self, operands: &mut Operands<'c>, to: LinearLayout) -> Result<()> {
        for i in 0..operands.registers.len() {
            let registers = operands.registers[i].clone();
            operands.registers[i] = self.convert_registers(&registers, operands.elems[i], &operands.layout, &to)?;
        }
        operands.layout = to;
        Ok(())
    }

    /// A layout that can be reduced, if this one cannot.
    fn layout_to_reduce(&self, operands: &Operands<'c>, axes: &[usize], ordered: bool) -> Option<LinearLayout> {
        let layout = &operands.layout;
        let bits = ReducedBits::new(layout, axes);
        if bits.is_separate && (!ordered || bits.is_ordered(layout, axes[0])) {
            return None;
        }
        let warp_size = self.target.architecture().warp_size;
        if ordered {
            return Some(scan_layout(&operands.shape, axes[0], warp_size, self.f.num_warps));
        }
        let order: Vec<usize> = (0..operands.shape.len()).rev().collect();
        Some(Blocked::coalesced(&operands.shape, &order, 1, warp_size, self.f.num_warps).layout(&operands.shape))
    }
}

/// Whether sums of this kind are kept in a wider type.
fn accumulates(kind: ReduceKind) -> bool {
    matches!(kind, ReduceKind::Sum | ReduceKind::Prod)
}

/// One step of a reduction inside a warp.
#[derive(Clone, Copy)]
enum Step {
    /// Pairs of registers.
    Register(u32),
    /// Pairs of lanes.
    Lane(u32),
}

/// The bits of hardware numbers along reduced axes, without those that only duplicate.
struct ReducedBits {
    register: u32,
    lane: u32,
    warp: u32,
    /// Whether each bit moves along reduced axes or along others, but not both.
    is_separate: bool,
    /// The flattened coordinate that each register and lane bit moves.
    moves: Vec<(u64, Step)>,
}

impl ReducedBits {
    fn new(layout: &LinearLayout, axes: &[usize]) -> Self {
        let outs = layout.outs();
        let reduced_mask = outs
            .dims()
            .filter(|(dim, _)| axes.iter().any(|&axis| *dim == Dim::Axis(axis as u8)))
            .fold(0u64, |mask, (dim, bits)| mask | (((1u64 << bits) - 1) << outs.shift(dim)));
        let mut is_separate = true;
        let mut moves = Vec::new();
        let mut select = |dim: Dim| {
            let free = layout.free_bits(dim);
            let mut mask = 0;
            for (bit, &basis) in layout.bases(dim).iter().enumerate() {
                let (along, across) = (basis & reduced_mask, basis & !reduced_mask);
                is_separate &= along == 0 || across == 0;
                if along == 0 || free >> bit & 1 == 1 {
                    continue;
                }
                mask |= 1 << bit;
                match dim {
                    Dim::Register => moves.push((along, Step::Register(bit as u32))),
                    Dim::Lane => moves.push((along, Step::Lane(bit as u32))),
                    _ => {}
                }
            }
            mask
        };
        let (register, lane, warp) = (select(Dim::Register), select(Dim::Lane), select(Dim::Warp));
        ReducedBits { register, lane, warp, is_separate, moves }
    }

    /// Whether taking the bits from the lowest combines neighbours only: each bit moves one bit of the coordinate, warps
    /// the topmost, and no thread sees the elements in another order.
    fn is_ordered(&self, layout: &LinearLayout, axis: usize) -> bool {
        let dim = Dim::Axis(axis as u8);
        let along = |of: Dim| layout.bases(of).iter().map(|&b| layout.outs().coordinate(b, dim)).filter(|&b| b != 0);
        let single = [Dim::Register, Dim::Lane, Dim::Warp].into_iter().all(|of| along(of).all(u32::is_power_of_two));
        let in_warp = along(Dim::Register).chain(along(Dim::Lane)).max().unwrap_or(0);
        let warps: Vec<u32> = along(Dim::Warp).collect();
        let warps_on_top = warps.iter().all(|&w| w > in_warp) && warps.windows(2).all(|w| w[0] < w[1]);
        let count = along(Dim::Register).count() + along(Dim::Lane).count() + warps.len();
        let no_duplicates = count as u32 == layout.outs().bits(dim);
        single && warps_on_top && no_duplicates
    }

    fn steps(&self, ordered: bool) -> Vec<Step> {
        let mut moves = self.moves.clone();
        debug_assert_eq!(moves.len() as u32, self.register.count_ones() + self.lane.count_ones());
        if ordered {
            moves.sort_by_key(|(coordinate, _)| *coordinate);
        }
        moves.into_iter().map(|(_, step)| step).collect()
    }

    /// The warp numbers that differ from 0 in reduced bits only, ascending.
    fn warp_parts(&self) -> impl Iterator<Item = u32> + '_ {
        let bits: Vec<u32> = (0..u32::BITS).filter(|bit| self.warp >> bit & 1 == 1).collect();
        (0..1u32 << bits.len())
            .map(move |part| bits.iter().enumerate().fold(0, |warp, (i, &bit)| warp | (part >> i & 1) << bit))
    }
}
