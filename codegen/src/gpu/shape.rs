//! Creation and shape operations.
//!
//! Most shape operations are linear maps of coordinates: they rename what each thread holds, and then convert to the
//! result's layout if that is another. The rest go through shared memory by computed indices.

use inkwell::IntPredicate::{SGT, SLT, ULT};
use tegula_ir::function::{Op, Value};
use tegula_ir::layout::{Dim, LinearLayout, Space, register_moves, register_sources, reshape_is_linear};
use tegula_ir::ops::OpKind;
use tegula_ir::types::{TileType, Type};

use super::lowering::{Lowered, Lowering, Registers, Result};
use crate::elementwise::arith;
use crate::emit::Val;

impl<'c> Lowering<'_, 'c, '_> {
    /// Lowers constants, `arange` and `splat`.
    pub(super) fn creation(&mut self, op: Op) -> Result<()> {
        let f = self.f;
        let result = f.op(op).results[0];
        let layout = self.layout(result)?;
        let count = layout.as_ref().map_or(1, |l| l.in_size(Dim::Register) as usize);
        match &f.op(op).kind {
            OpKind::Constant { value, .. } => {
                let constant = arith::literal(&self.e, self.number(result), *value);
                self.set_registers(result, vec![constant; count]);
            }
            OpKind::Splat { x, .. } => {
                let value = self.scalar(*x);
                self.set_registers(result, vec![value; count]);
            }
            OpKind::Arange { elem, axis, start, .. } => {
                let Some(layout) = layout else { return Err(self.invalid("arange gives a tile")) };
                let spread = self.spread(&layout);
                let e = &self.e;
                let registers = (0..spread.registers())
                    .map(|r| {
                        let coordinate = spread.coordinate(e, r, usize::from(*axis));
                        e.add(e.zext_or_trunc(coordinate, elem.bits()), e.const_int(elem.bits(), *start))
                    })
                    .collect();
                self.set_registers(result, registers);
            }
            kind => unreachable!("{} creates nothing", kind.mnemonic()),
        }
        Ok(())
    }

    /// Lowers a shape operation.
    pub(super) fn shape_op(&mut self, op: Op) -> Result<()> {
        let f = self.f;
        let results = &f.op(op).results;
        if self.move_registers(op) {
            return Ok(());
        }
        match &f.op(op).kind {
            OpKind::Broadcast { x, .. } => self.broadcast(*x, results[0]),
            OpKind::Reshape { x, .. } => self.reshape(*x, results[0]),
            OpKind::Permute { x, perm } => {
                let order: Vec<usize> = perm.iter().map(|&axis| usize::from(axis)).collect();
                let (_, from) = self.expect_tile(*x)?;
                let moved = from.permute(&order).map_err(|error| self.invalid(error.to_string()))?;
                self.rename(*x, &moved, results[0])
            }
            OpKind::Flip { x, axis } => self.flip(*x, usize::from(*axis), results[0]),
            OpKind::Cat { parts, axis } => self.cat(parts, usize::from(*axis), results[0]),
            OpKind::Join { a, b } => self.join(*a, *b, results[0]),
            OpKind::Split { x } => self.split(*x, results[0], results[1]),
            OpKind::ExtractSlice { x, offsets, .. } => self.extract_slice(*x, offsets, results[0]),
            OpKind::InsertSlice { x, into, offsets } => self.insert_slice(*x, *into, offsets, results[0]),
            OpKind::GatherAxis { x, index, axis } => self.gather_axis(*x, *index, usize::from(*axis), results[0]),
            kind => unreachable!("{} is no shape operation", kind.mnemonic()),
        }
    }

    /// Carries the op out by naming registers anew, if every thread has what it needs.
    fn move_registers(&mut self, op: Op) -> bool {
        let f = self.f;
        let operands = f.kind(op).operands();
        let results = f.op(op).results.clone();
        let moves: Option<Vec<_>> = (0..results.len()).map(|result| register_moves(f, op, result)).collect();
        let Some(moves) = moves else { return false };
        let sources: Vec<Registers<'c>> = operands.iter().map(|&operand| self.registers(operand)).collect();
        for (&result, moves) in results.iter().zip(moves) {
            let registers = moves.into_iter().map(|(operand, r)| sources[operand][r as usize]).collect();
            self.set_registers(result, registers);
        }
        true
    }

    fn expect_tile(&self, value: Value) -> Result<(TileType, std::sync::Arc<LinearLayout>)> {
        match self.tile(value)? {
            Some((tile, layout)) => Ok((tile.clone(), layout)),
            None => Err(self.invalid("a tile is needed where a scalar stands")),
        }
    }

    /// The result has the registers of `x`, which are in `layout` when seen as the result's elements.
    fn rename(&mut self, x: Value, layout: &LinearLayout, result: Value) -> Result<()> {
        let registers = self.registers(x);
        self.set_converted(registers, layout, result)
    }

    /// Gives `result` these registers, converted from `layout`.
    fn set_converted(&mut self, registers: Registers<'c>, layout: &LinearLayout, result: Value) -> Result<()> {
        let (tile, to) = self.expect_tile(result)?;
        let registers = self.convert_registers(&registers, tile.elem, layout, &to)?;
        self.set(result, Lowered::Registers(registers));
        Ok(())
    }

    /// The operand is brought to the result's layout with the repeated axes squashed: then each thread has what it
    /// repeats.
    fn broadcast(&mut self, x: Value, result: Value) -> Result<()> {
        let (from, _) = self.expect_tile(x)?;
        let (to, layout) = self.expect_tile(result)?;
        let mut wanted = (*layout).clone();
        for axis in (0..to.rank()).filter(|&axis| from.shape[axis] == 1 && to.shape[axis] != 1) {
            wanted = wanted.squash_axis(axis).map_err(|error| self.invalid(error.to_string()))?;
        }
        let registers = self.registers_in(x, Some(&wanted))?;
        // The same squashing without merging registers says which register each of the result's repeats.
        let kept = |basis: u64| {
            let coordinates: Vec<(Dim, u32)> = wanted
                .outs()
                .dims()
                .filter(|(_, bits)| *bits > 0)
                .map(|(dim, _)| (dim, layout.outs().coordinate(basis, dim)))
                .collect();
            wanted.outs().flatten(&coordinates)
        };
        let unmerged = map_bases(&layout, wanted.outs().clone(), kept);
        let sources = register_sources(&wanted, &unmerged)
            .ok_or_else(|| self.invalid("the layouts of a broadcast do not fit together"))?;
        let registers = sources.iter().map(|&r| registers[r as usize]).collect();
        self.set(result, Lowered::Registers(registers));
        Ok(())
    }

    fn reshape(&mut self, x: Value, result: Value) -> Result<()> {
        let f = self.f;
        match (f.ty(x), f.ty(result)) {
            (Type::Scalar(_), Type::Scalar(_)) => {
                let value = self.scalar(x);
                self.set(result, Lowered::scalar(value));
                Ok(())
            }
            (Type::Scalar(_), Type::Tile(_)) => {
                let value = self.scalar(x);
                let (_, layout) = self.expect_tile(result)?;
                self.set_registers(result, vec![value; layout.in_size(Dim::Register) as usize]);
                Ok(())
            }
            // A tile of one element is held by every thread.
            (Type::Tile(_), Type::Scalar(_)) => {
                let value = self.registers(x)[0];
                self.set(result, Lowered::scalar(value));
                Ok(())
            }
            (Type::Tile(from), Type::Tile(to)) => {
                if reshape_is_linear(&from.shape, &to.shape) {
                    let (_, layout) = self.expect_tile(x)?;
                    let shape: Vec<u32> = to.shape.iter().map(|extent| extent.next_power_of_two()).collect();
                    let renamed = layout.reshape(&shape).map_err(|error| self.invalid(error.to_string()))?;
                    return self.rename(x, &renamed, result);
                }
                let (from, to) = (from.shape.clone(), to.shape.clone());
                self.through_memory(
                    x,
                    result,
                    move |this, at| this.row_major(at, &from),
                    move |this, at| this.row_major(at, &to),
                )
            }
            _ => Err(self.invalid("a view cannot be reshaped")),
        }
    }

    fn flip(&mut self, x: Value, axis: usize, result: Value) -> Result<()> {
        let (tile, _) = self.expect_tile(x)?;
        let (shape, last) = (tile.shape.clone(), i64::from(tile.shape[axis]) - 1);
        let read_shape = shape.clone();
        self.through_memory(
            x,
            result,
            move |this, at| this.row_major(at, &shape),
            move |this, at| {
                let mut at = at.to_vec();
                at[axis] = this.e.sub(this.e.i32(last), at[axis]);
                this.row_major(&at, &read_shape)
            },
        )
    }

    /// Writes `x` to indices that `write` gives, and reads the result from those that `read` gives.
    fn through_memory(
        &mut self,
        x: Value,
        result: Value,
        write: impl Fn(&Self, &[Val<'c>]) -> Val<'c>,
        read: impl Fn(&Self, &[Val<'c>]) -> Val<'c>,
    ) -> Result<()> {
        let ((tile, from), (to, layout)) = (self.expect_tile(x)?, self.expect_tile(result)?);
        let registers = self.registers(x);
        let area = self.exchange_area(tile.count(), tile.elem);
        self.exchange_store(area, &registers, &from, &tile.shape, tile.elem, write);
        self.scratch_written();
        let registers = self.exchange_load(area, &layout, &to.shape, tile.elem, |this, at, _| read(this, at));
        self.set_registers(result, registers);
        Ok(())
    }

    fn cat(&mut self, parts: &[Value], axis: usize, result: Value) -> Result<()> {
        let (to, layout) = self.expect_tile(result)?;
        let (first, first_layout) = self.expect_tile(parts[0])?;
        let equal = parts.iter().all(|&part| self.f.ty(part).shape() == Some(&first.shape[..]));
        if equal && parts.len().is_power_of_two() && first.shape[axis].is_power_of_two() {
            // The number of the part is the top bits of the coordinate: further registers.
            let mut registers = Vec::new();
            for &part in parts {
                registers.extend(self.registers_in(part, Some(&first_layout))?.iter().copied());
            }
            let joined = first_layout.append_registers(axis, parts.len().ilog2());
            return self.set_converted(registers.into(), &joined, result);
        }
        let area = self.exchange_area(to.count(), to.elem);
        let mut start = 0u32;
        for &part in parts {
            let (tile, from) = self.expect_tile(part)?;
            let registers = self.registers(part);
            self.exchange_store(area, &registers, &from, &tile.shape, to.elem, |this, at| {
                let mut at = at.to_vec();
                at[axis] = this.e.add(at[axis], this.e.i32(start.into()));
                this.row_major(&at, &to.shape)
            });
            start += tile.shape[axis];
        }
        self.scratch_written();
        let registers =
            self.exchange_load(area, &layout, &to.shape, to.elem, |this, at, _| this.row_major(at, &to.shape));
        self.set_registers(result, registers);
        Ok(())
    }

    fn join(&mut self, a: Value, b: Value, result: Value) -> Result<()> {
        let f = self.f;
        let Type::Tile(tile) = f.ty(a) else {
            let (_, layout) = self.expect_tile(result)?;
            let pair: Registers<'c> = [self.scalar(a), self.scalar(b)].into();
            let joined = LinearLayout::replicated(&[2], layout.in_size(Dim::Lane), layout.in_size(Dim::Warp));
            return self.set_converted(pair, &joined, result);
        };
        let layout = self.layout_of(tile)?;
        let (first, second) = (self.registers(a), self.registers_in(b, Some(&layout))?);
        let registers: Registers<'c> = first.iter().chain(second.iter()).copied().collect();
        let joined = self.with_pair_axis(&layout, tile.rank())?;
        self.set_converted(registers, &joined, result)
    }

    fn split(&mut self, x: Value, first: Value, second: Value) -> Result<()> {
        let (tile, from) = self.expect_tile(x)?;
        let rank = tile.rank() - 1;
        let joined = match self.layout(first)? {
            Some(layout) => self.with_pair_axis(&layout, rank)?,
            None => LinearLayout::replicated(&[2], from.in_size(Dim::Lane), from.in_size(Dim::Warp)),
        };
        let registers = self.registers_in(x, Some(&joined))?;
        let half = registers.len() / 2;
        let halves = [registers[..half].to_vec(), registers[half..].to_vec()];
        for (value, registers) in [first, second].into_iter().zip(halves) {
            match self.tile(value)? {
                Some(_) => {
                    let half_layout = self.layout(first)?.expect("both halves are tiles");
                    self.set_converted(registers.into(), &half_layout, value)?;
                }
                None => self.set_registers(value, registers),
            }
        }
        Ok(())
    }

    /// A layout with a new last axis of extent 2 in the topmost register bit.
    fn with_pair_axis(&self, layout: &LinearLayout, rank: usize) -> Result<LinearLayout> {
        let wider = layout.insert_axis(rank).map_err(|error| self.invalid(error.to_string()))?;
        Ok(wider.append_registers(rank, 1))
    }

    fn extract_slice(&mut self, x: Value, offsets: &[u32], result: Value) -> Result<()> {
        let (tile, _) = self.expect_tile(x)?;
        let (to, layout) = self.expect_tile(result)?;
        let aligned = (0..tile.rank()).all(|axis| {
            let (whole, part) = (tile.shape[axis], to.shape[axis]);
            whole == part || (whole.is_power_of_two() && part.is_power_of_two() && offsets[axis].is_multiple_of(part))
        });
        if aligned {
            // The slice fixes the top bits of some coordinates. With those bits in registers it picks registers.
            let mut wanted = (*layout).clone();
            let mut register = 0u32;
            for (axis, &offset) in offsets.iter().enumerate() {
                let bits = (tile.shape[axis].next_power_of_two() / to.shape[axis].next_power_of_two()).ilog2();
                let next = wanted.in_size(Dim::Register).ilog2();
                wanted = wanted.append_registers(axis, bits);
                register |= (offset / to.shape[axis]) << next;
            }
            let registers = self.registers_in(x, Some(&wanted))?;
            let count = layout.in_size(Dim::Register);
            let picked = (0..count).map(|r| registers[(register | r) as usize]).collect();
            self.set_registers(result, picked);
            return Ok(());
        }
        let (shape, read_shape, offsets) = (tile.shape.clone(), tile.shape.clone(), offsets.to_vec());
        self.through_memory(
            x,
            result,
            move |this, at| this.row_major(at, &shape),
            move |this, at| {
                let e = &this.e;
                let at: Vec<Val<'c>> = at.iter().zip(&offsets).map(|(&c, &o)| e.add(c, e.i32(o.into()))).collect();
                this.row_major(&at, &read_shape)
            },
        )
    }

    fn insert_slice(&mut self, x: Value, into: Value, offsets: &[u32], result: Value) -> Result<()> {
        let (part, from) = self.expect_tile(x)?;
        let (whole, layout) = self.expect_tile(result)?;
        let base = self.registers_in(into, Some(&layout))?;
        let registers = self.registers(x);
        let area = self.exchange_area(part.count(), part.elem);
        self.exchange_store(area, &registers, &from, &part.shape, part.elem, |this, at| {
            this.row_major(at, &part.shape)
        });
        self.scratch_written();
        let spread = self.spread(&layout);
        let mut merged = Vec::with_capacity(base.len());
        for r in 0..spread.registers() {
            let e = &self.e;
            let at: Vec<Val<'c>> = spread
                .coordinates(e, r)
                .into_iter()
                .zip(offsets)
                .map(|(c, &offset)| e.sub(c, e.i32(offset.into())))
                .collect();
            // Coordinates before the slice wrap around and are large.
            let inside = at
                .iter()
                .zip(&part.shape)
                .fold(e.bool(true), |inside, (&c, &extent)| e.and(inside, e.icmp(ULT, c, e.i32(extent.into()))));
            let index = e.select(inside, self.row_major(&at, &part.shape), e.i32(0));
            let value = self.load_indexed(area, index, part.elem);
            merged.push(e.select(inside, value, base[r as usize]));
        }
        debug_assert_eq!(whole.elem, part.elem);
        self.set_registers(result, merged);
        Ok(())
    }

    fn gather_axis(&mut self, x: Value, index: Value, axis: usize, result: Value) -> Result<()> {
        let (tile, from) = self.expect_tile(x)?;
        let (to, layout) = self.expect_tile(result)?;
        let indices = self.registers_in(index, Some(&layout))?;
        let signed = self.number(index).is_signed_int();
        let registers = self.registers(x);
        let area = self.exchange_area(tile.count(), tile.elem);
        self.exchange_store(area, &registers, &from, &tile.shape, tile.elem, |this, at| {
            this.row_major(at, &tile.shape)
        });
        self.scratch_written();
        let last = i64::from(tile.shape[axis]) - 1;
        let picked = self.exchange_load(area, &layout, &to.shape, tile.elem, |this, at, r| {
            let e = &this.e;
            let mut at = at.to_vec();
            at[axis] = clamp_index(this, indices[r as usize], last, signed);
            debug_assert_eq!(e.bits(at[axis].get_type()), 32);
            this.row_major(&at, &tile.shape)
        });
        self.set_registers(result, picked);
        Ok(())
    }
}

/// An integer of any width clamped into `0..=last`, as `i32`.
fn clamp_index<'c>(lowering: &Lowering<'_, 'c, '_>, index: Val<'c>, last: i64, signed: bool) -> Val<'c> {
    let e = &lowering.e;
    let wide = if signed { e.sext_or_trunc(index, 64) } else { e.zext_or_trunc(index, 64) };
    let (zero, last) = (e.i64(0), e.i64(last));
    let above = if signed { e.icmp(SGT, wide, last) } else { e.icmp(inkwell::IntPredicate::UGT, wide, last) };
    let wide = e.select(above, last, wide);
    let wide = if signed { e.select(e.icmp(SLT, wide, zero), zero, wide) } else { wide };
    e.zext_or_trunc(wide, 32)
}

/// The layout with its bases rewritten, one by one, into another tile.
pub(super) fn map_bases(layout: &LinearLayout, outs: Space, rewrite: impl Fn(u64) -> u64) -> LinearLayout {
    let bases: Vec<(Dim, Vec<u64>)> = layout
        .ins()
        .dims()
        .map(|(dim, _)| (dim, layout.bases(dim).iter().map(|&basis| rewrite(basis)).collect()))
        .collect();
    LinearLayout::from_bases(outs, bases)
}
