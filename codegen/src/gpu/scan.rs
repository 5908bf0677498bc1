//! Inclusive scans: inside a thread, then over the lanes of a warp, then over warps.
//!
//! A scan wants the positions along its axis dealt out in order: neighbours in one thread's registers, the next in the
//! next lane, then in the next warp. A tile in another layout is converted first and back after.

use inkwell::IntPredicate::{EQ, UGE, UGT, ULT};
use tegula_ir::function::{Op, Value};
use tegula_ir::layout::{Blocked, Dim, LinearLayout};
use tegula_ir::ops::OpKind;

use super::combine::{Combine, Partial};
use super::convert_layout::element_bytes;
use super::lowering::{Lowered, Lowering, Registers, Result};
use super::reduce::Operands;
use super::spread::select_bits;
use crate::elementwise::{Conversion, convert};
use crate::emit::Val;

impl<'c> Lowering<'_, 'c, '_> {
    /// Lowers a scan.
    pub(super) fn scan(&mut self, op: Op) -> Result<()> {
        let f = self.f;
        let results = f.op(op).results.clone();
        let (inputs, axis, reverse, function): (Vec<Value>, usize, bool, Combine) = match f.kind(op) {
            OpKind::Scan { kind, x, axis, reverse } => {
                let ty = self.number(*x).accumulator();
                (vec![*x], usize::from(*axis), *reverse, Combine::of_scan(*kind, ty))
            }
            OpKind::ScanWith { inputs, axis, reverse, body } => {
                (inputs.to_vec(), usize::from(*axis), *reverse, Combine::Body(*body))
            }
            kind => unreachable!("{} is no scan", kind.mnemonic()),
        };
        let mut operands = self.operands(&inputs)?;
        if let Combine::Binary(_, ty) = function {
            self.widen(&mut operands, ty);
        }
        let plan = match ScanBits::new(&operands.layout, axis) {
            Some(plan) => plan,
            None => {
                let arch = self.target.architecture();
                let layout = scan_layout(&operands.shape, axis, arch.warp_size, f.num_warps);
                self.convert_operands(&mut operands, layout)?;
                ScanBits::new(&operands.layout, axis)
                    .ok_or_else(|| self.invalid("the layout made for a scan does not suit it"))?
            }
        };
        let registers = self.scan_registers(&operands, axis, reverse, function, &plan)?;
        for (i, &result) in results.iter().enumerate() {
            let mut registers: Registers<'c> = registers[i].clone().into();
            if let (Combine::Binary(_, from), Some(to)) = (function, self.elem(result).scalar()) {
                let conversion = Conversion::nearest(from, to);
                registers = registers.iter().map(|&v| convert::convert(&self.e, self.target, conversion, v)).collect();
            }
            let Some(to) = self.layout(result)? else { return Err(self.invalid("a scan gives tiles")) };
            let registers = self.convert_registers(&registers, self.elem(result), &operands.layout, &to)?;
            self.set(result, Lowered::Registers(registers));
        }
        Ok(())
    }

    /// Scans operands whose layout suits; gives the registers of each result in the same layout.
    fn scan_registers(
        &mut self,
        operands: &Operands<'c>,
        axis: usize,
        reverse: bool,
        function: Combine,
        plan: &ScanBits,
    ) -> Result<Vec<Vec<Val<'c>>>> {
        let count = operands.layout.in_size(Dim::Register);
        let spread = self.spread(&operands.layout);
        let length = 1u32 << plan.registers.len();
        let register_of = |k: u32| plan.registers.iter().enumerate().fold(0, |r, (i, &bit)| r | (k >> i & 1) << bit);
        let along: u32 = register_of(length - 1);
        let mut scanned: Vec<Option<Partial<'c>>> = vec![None; count as usize];
        let mut order: Vec<u32> = (0..length).collect();
        if reverse {
            order.reverse();
        }

        // In each thread, for each line of registers.
        let lines: Vec<u32> = (0..count).filter(|r| r & along == 0).collect();
        let mut totals = Vec::with_capacity(lines.len());
        for &line in &lines {
            let mut total: Option<Partial<'c>> = None;
            for &k in &order {
                let r = line | register_of(k);
                let values = operands.registers.iter().map(|registers| registers[r as usize]).collect();
                // Padding comes last in a forward scan and changes nothing; in a reverse one it comes first.
                let present = if reverse { self.present(&spread, r, axis, operands.shape[axis]) } else { None };
                let own = self.partial(function, values, present);
                let sum = match &total {
                    None => own,
                    Some(total) => self.merge(function, total, &own)?,
                };
                scanned[r as usize] = Some(sum.clone());
                total = Some(sum);
            }
            totals.push(total.expect("a line has at least one register"));
        }

        // Over lanes: what the lanes before hold together.
        let mut before: Vec<Option<Partial<'c>>> = vec![None; lines.len()];
        if plan.lane_count > 0 {
            let e = &self.e;
            let number = e.and(e.lshr_const(self.lane, plan.lane_start), e.i32((1 << plan.lane_count) - 1));
            let last = (1i64 << plan.lane_count) - 1;
            // Position in the order of the scan.
            let position = if reverse { e.sub(e.i32(last), number) } else { number };
            for (i, total) in totals.iter_mut().enumerate() {
                for step in 0..plan.lane_count {
                    let distance = 1u32 << step;
                    let other = self.earlier_lane(total, distance, plan, reverse);
                    let there = self.e.icmp(UGE, position, self.e.i32(distance.into()));
                    let other = self.only_where(other, there);
                    *total = self.merge(function, &other, total)?;
                }
                let earlier = self.earlier_lane(total, 1, plan, reverse);
                let there = self.e.icmp(UGE, position, self.e.i32(1));
                before[i] = Some(self.only_where(earlier, there));
            }
        }
        if plan.warp_count > 0 {
            let of_warps = self.totals_of_earlier_warps(&totals, &operands.elems, reverse, function, plan)?;
            for (before, of_warps) in before.iter_mut().zip(of_warps) {
                *before = Some(match before.take() {
                    None => of_warps,
                    Some(of_lanes) => self.merge(function, &of_warps, &of_lanes)?,
                });
            }
        }

        let mut results = vec![Vec::with_capacity(count as usize); operands.registers.len()];
        for r in 0..count {
            let own = scanned[r as usize].take().expect("every register is on a line");
            let line = lines.iter().position(|&line| line == r & !along).expect("every register is on a line");
            let sum = match &before[line] {
                None => own,
                Some(before) => self.merge(function, before, &own)?,
            };
            for (result, value) in results.iter_mut().zip(sum.values) {
                result.push(value);
            }
        }
        Ok(results)
    }

    fn present(&self, spread: &super::spread::Spread<'c>, r: u32, axis: usize, extent: u32) -> Option<Val<'c>> {
        let (least, most) = spread.range(r, axis);
        if most < extent {
            None
        } else if least >= extent {
            Some(self.e.bool(false))
        } else {
            let coordinate = spread.coordinate(&self.e, r, axis);
            Some(self.e.icmp(ULT, coordinate, self.e.i32(extent.into())))
        }
    }

    fn only_where(&self, partial: Partial<'c>, condition: Val<'c>) -> Partial<'c> {
        let present = partial.present.map_or(condition, |present| self.e.and(present, condition));
        Partial { values: partial.values, present: Some(present) }
    }

    /// What the lane `distance` positions before this one has; anything where there is none.
    fn earlier_lane(&self, partial: &Partial<'c>, distance: u32, plan: &ScanBits, reverse: bool) -> Partial<'c> {
        let e = &self.e;
        let offset = i64::from(distance) << plan.lane_start;
        let lane = e.add(self.lane, e.i32(if reverse { offset } else { -offset }));
        let lane = e.and(lane, e.i32(i64::from(self.target.architecture().warp_size) - 1));
        self.shuffle_partial(partial, |word| self.target.shuffle_index(&self.e, word, lane))
    }

    /// For each line, what all warps before this one hold together: the last lane of each warp writes its total, and
    /// each thread adds up those before its own.
    fn totals_of_earlier_warps(
        &mut self,
        totals: &[Partial<'c>],
        elems: &[tegula_ir::types::Elem],
        reverse: bool,
        function: Combine,
        plan: &ScanBits,
    ) -> Result<Vec<Partial<'c>>> {
        let flags = totals.iter().any(|t| t.present.is_some());
        let mut elems = elems.to_vec();
        if flags {
            elems.push(tegula_ir::types::ScalarType::Bool.into());
        }
        let lane_bits = self.target.architecture().warp_size.ilog2();
        let scanned_lanes = ((1u32 << plan.lane_count) - 1) << plan.lane_start;
        let kept: Vec<u32> = (0..lane_bits).filter(|bit| scanned_lanes >> bit & 1 == 0).collect();
        let lanes = 1u32 << kept.len();
        let per_line = self.f.num_warps * lanes;
        let mut order: Vec<usize> = (0..elems.len()).collect();
        order.sort_by_key(|&i| std::cmp::Reverse(element_bytes(elems[i])));
        let mut starts = vec![0u32; elems.len()];
        let mut bytes = 0u32;
        for &i in &order {
            starts[i] = bytes;
            bytes += totals.len() as u32 * per_line * element_bytes(elems[i]);
        }
        let base = self.scratch(bytes.into());
        let e = &self.e;
        let areas: Vec<Val<'c>> = starts.iter().map(|&start| e.offset(base, e.i32(start.into()))).collect();
        let mut bases = vec![0u32; lane_bits as usize];
        for (to, &from) in kept.iter().enumerate() {
            bases[from as usize] = 1 << to;
        }
        let compressed = select_bits(e, self.lane, &bases).0;
        let place = |warp: Val<'c>, line: usize| {
            let index = e.add(e.mul(warp, e.i32(lanes.into())), compressed);
            e.add(index, e.i32((line as u32 * per_line).into()))
        };
        let scanned_warps = ((1i64 << plan.warp_count) - 1) << plan.warp_start;
        let other_warps = e.and(self.warp, e.i32(!scanned_warps));
        let number = e.lshr_const(e.and(self.warp, e.i32(scanned_warps)), plan.warp_start);
        let last = (1u32 << plan.warp_count) - 1;
        let position = if reverse { e.sub(e.i32(last.into()), number) } else { number };
        let own_places: Vec<Val<'c>> = (0..totals.len()).map(|line| place(self.warp, line)).collect();
        let earlier_places: Vec<Vec<Val<'c>>> = (0..totals.len())
            .map(|line| {
                (0..last)
                    .map(|at| {
                        let warp = if reverse { last - at } else { at };
                        place(e.or_disjoint(other_warps, e.i32((warp << plan.warp_start).into())), line)
                    })
                    .collect()
            })
            .collect();
        let holder = (plan.lane_count > 0).then(|| {
            let end = if reverse { 0 } else { i64::from(scanned_lanes) };
            e.icmp(EQ, e.and(self.lane, e.i32(scanned_lanes.into())), e.i32(end))
        });
        let always = e.bool(true);
        self.only_if(holder, |this| {
            for (total, &place) in totals.iter().zip(&own_places) {
                let flag = flags.then(|| total.present.unwrap_or(always));
                let values = total.values.iter().copied().chain(flag);
                for ((value, &area), &elem) in values.zip(&areas).zip(&elems) {
                    this.store_indexed(area, place, value, elem);
                }
            }
        });
        self.scratch_written();
        let mut sums = Vec::with_capacity(totals.len());
        for places in &earlier_places {
            let mut sum: Option<Partial<'c>> = None;
            for (at, &place) in places.iter().enumerate() {
                let mut values: Vec<Val<'c>> =
                    areas.iter().zip(&elems).map(|(&area, &elem)| self.load_indexed(area, place, elem)).collect();
                let present = if flags { values.pop() } else { None };
                let earlier = self.e.icmp(UGT, position, self.e.i32(at as i64));
                let part = self.only_where(Partial { values, present }, earlier);
                sum = Some(match sum {
                    None => part,
                    Some(sum) => self.merge(function, &sum, &part)?,
                });
            }
            sums.push(sum.expect("there are at least two warps"));
        }
        Ok(sums)
    }
}

/// Which bits of hardware numbers walk along the axis of a scan, in order.
struct ScanBits {
    /// Register bits, from that of the lowest positions.
    registers: Vec<u32>,
    /// First of the lane bits, which are neighbours.
    lane_start: u32,
    lane_count: u32,
    /// First of the warp bits, which are neighbours.
    warp_start: u32,
    warp_count: u32,
}

impl ScanBits {
    /// If positions along the axis are dealt out in order.
    fn new(layout: &LinearLayout, axis: usize) -> Option<ScanBits> {
        let outs = layout.outs();
        let dim = Dim::Axis(axis as u8);
        let mut next = 1u32;
        let mut bits_along = |of: Dim| -> Option<Vec<u32>> {
            let mut found = Vec::new();
            for (bit, &basis) in layout.bases(of).iter().enumerate() {
                let along = outs.coordinate(basis, dim);
                if along == 0 {
                    continue;
                }
                let alone = basis == outs.flatten(&[(dim, along)]);
                if along != next || !alone {
                    return None;
                }
                next <<= 1;
                found.push(bit as u32);
            }
            Some(found)
        };
        let (registers, lanes, warps) = (bits_along(Dim::Register)?, bits_along(Dim::Lane)?, bits_along(Dim::Warp)?);
        let neighbours = |bits: &[u32]| bits.windows(2).all(|pair| pair[1] == pair[0] + 1);
        let start = |bits: &[u32]| bits.first().copied().unwrap_or(0);
        (next == layout.out_size(dim) && neighbours(&lanes) && neighbours(&warps)).then(|| ScanBits {
            lane_start: start(&lanes),
            lane_count: lanes.len() as u32,
            warp_start: start(&warps),
            warp_count: warps.len() as u32,
            registers,
        })
    }
}

/// A layout that suits a scan (or an ordered reduction) along `axis`: as few threads on a line as keep all threads busy,
/// each with neighbouring positions.
pub(super) fn scan_layout(shape: &[u32], axis: usize, warp_size: u32, num_warps: u32) -> LinearLayout {
    let length = shape[axis].next_power_of_two();
    let others: u32 = (0..shape.len()).filter(|&a| a != axis).map(|a| shape[a].next_power_of_two()).product();
    let threads = warp_size * num_warps;
    let on_line = (threads / others.min(threads)).min(length);
    let lanes = on_line.min(warp_size);
    let warps = on_line / lanes;
    let mut blocked = Blocked {
        per_thread: vec![1; shape.len()],
        lanes: vec![1; shape.len()],
        warps: vec![1; shape.len()],
        order: std::iter::once(axis).chain((0..shape.len()).rev().filter(|&a| a != axis)).collect(),
    };
    blocked.per_thread[axis] = length / on_line;
    blocked.lanes[axis] = lanes;
    blocked.warps[axis] = warps;
    let (mut lanes_left, mut warps_left) = (warp_size / lanes, num_warps / warps);
    for &other in blocked.order.clone().iter().skip(1) {
        let extent = shape[other].next_power_of_two();
        blocked.lanes[other] = lanes_left.min(extent);
        blocked.warps[other] = warps_left.min(extent / blocked.lanes[other]);
        lanes_left /= blocked.lanes[other];
        warps_left /= blocked.warps[other];
    }
    // Threads that find no place hold duplicates: on an axis where they leave the tile.
    let spare = *blocked.order.last().expect("a tile has an axis");
    blocked.lanes[spare] *= lanes_left;
    blocked.warps[spare] *= warps_left;
    blocked.layout(shape)
}
