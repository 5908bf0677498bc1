//! Matrix products by multiply-add, with the operands in shared memory.
//!
//! Each thread computes the elements of the result that its layout gives it. Both operands are written to shared memory
//! with the summed axis outermost, so that a thread reads neighbouring rows of `a` and columns of `b` as vectors. If they
//! do not fit, the summed axis is taken in steps.

use std::collections::BTreeMap;

use inkwell::IntPredicate::ULT;
use tegula_ir::function::Value;
use tegula_ir::layout::{Dim, LinearLayout};
use tegula_ir::ops::{DotPrecision, Rounding};
use tegula_ir::types::ScalarType;

use super::lowering::{Lowered, Lowering, Registers, Result};
use super::spread::Spread;
use crate::elementwise::float_format::{FloatFormat, Specials, round_to};
use crate::elementwise::{Conversion, convert, register_type};
use crate::emit::{Emitter, MemoryFlags, Ty, Val};

/// Shared memory that the operands should fit in, so that several programs fit on a processor.
const PREFERRED_BYTES: u32 = 32 * 1024;

/// Elements of a padded row beyond the row itself: keeps rows apart in the banks, and vectors aligned.
const ROW_PADDING: u32 = 4;

/// Most elements read at once.
const MAX_VECTOR: u32 = 4;

/// Steps of the innermost loop that are written out.
const UNROLL: u32 = 4;

/// One operand: a matrix for each batch, one axis summed over.
struct Operand<'c> {
    registers: Registers<'c>,
    layout: LinearLayout,
    ty: ScalarType,
    /// Whether elements are rounded to tf32.
    tf32: bool,
    /// Axis that the result has as well.
    outer: usize,
    /// Axis summed over.
    summed: usize,
    /// Extent of `outer`, padded to a power of two.
    length: u32,
}

/// Where an operand's elements are in shared memory: `[batch][k][outer]`.
struct Staged<'c> {
    base: Val<'c>,
    row: u32,
    matrix: u32,
}

impl<'c> Lowering<'_, 'c, '_> {
    /// Lowers `acc + a · b`.
    pub(super) fn dot(&mut self, a: Value, b: Value, acc: Value, precision: DotPrecision, result: Value) -> Result<()> {
        let Some((tile, layout)) = self.tile(result)? else { return Err(self.invalid("dot gives a tile")) };
        let shape = tile.shape.to_vec();
        let rank = shape.len();
        let acc_type = self.number(result);
        let compute = if acc_type.is_float() { acc_type.accumulator() } else { acc_type };
        let operand = |this: &Self, value: Value, outer: usize, summed: usize| -> Result<Operand<'c>> {
            let Some((tile, layout)) = this.tile(value)? else { return Err(this.invalid("dot takes tiles")) };
            Ok(Operand {
                registers: this.registers(value),
                ty: this.number(value),
                // The forms with three products are there to come near `f32`; plain `f32` products are nearer.
                tf32: precision == DotPrecision::Tf32,
                length: tile.shape[outer].next_power_of_two(),
                layout: (*layout).clone(),
                outer,
                summed,
            })
        };
        let (a_operand, b_operand) = (operand(self, a, rank - 2, rank - 1)?, operand(self, b, rank - 1, rank - 2)?);
        let depth = self.f.ty(a).shape().expect("dot takes tiles")[rank - 1];
        let batches: u32 = shape[..rank - 2].iter().map(|extent| extent.next_power_of_two()).product();

        let bytes = compute.memory_bytes().expect("sums are of types that are in memory");
        let row_bytes = |operand: &Operand<'c>| (operand.length + ROW_PADDING) * batches * bytes;
        let per_step = row_bytes(&a_operand) + row_bytes(&b_operand);
        let step = (PREFERRED_BYTES / per_step).max(1);
        let step = if step >= depth { depth } else { 1 << step.ilog2() };
        let steps = depth.div_ceil(step);

        let spread = self.spread(&layout);
        let start = self.registers_in(acc, Some(&layout))?;
        let widen = Conversion::nearest(acc_type, compute);
        let start: Vec<Val<'c>> = start.iter().map(|&v| convert::convert(&self.e, self.target, widen, v)).collect();

        if steps > 1 {
            // The loop writes what the iteration before has read.
            self.shared.set_being_read(true);
        }
        let sums = self.repeat(steps, start, |this, index, sums| {
            let first = this.e.mul(index, this.e.i32(step.into()));
            let base = this.scratch(u64::from(per_step * step));
            let b_base = this.e.offset(base, this.e.i32((row_bytes(&a_operand) * step).into()));
            let whole = steps == 1;
            let a_staged = this.stage(&a_operand, base, step, depth, (!whole).then_some(first), compute);
            let b_staged = this.stage(&b_operand, b_base, step, depth, (!whole).then_some(first), compute);
            this.scratch_written();
            Ok(this.multiply(&spread, &layout, rank, step, &a_staged, &b_staged, compute, sums))
        })?;
        let narrow = Conversion::nearest(compute, acc_type);
        let sums: Vec<Val<'c>> = sums.iter().map(|&v| convert::convert(&self.e, self.target, narrow, v)).collect();
        self.set(result, Lowered::Registers(sums.into()));
        Ok(())
    }

    /// Writes the elements of an operand to shared memory: all, or those of `step` positions of the summed axis from
    /// `first` on. Positions beyond `depth` become zero.
    fn stage(
        &mut self,
        operand: &Operand<'c>,
        base: Val<'c>,
        step: u32,
        depth: u32,
        first: Option<Val<'c>>,
        compute: ScalarType,
    ) -> Staged<'c> {
        let row = operand.length + ROW_PADDING;
        let staged = Staged { base, row, matrix: row * step };
        let spread = self.spread(&operand.layout);
        let duplicates = operand.layout.free_bits(Dim::Register);
        let owner = self.owner(&operand.layout);
        let conversion = Conversion::nearest(operand.ty, compute);
        let zero = self.e.zero(register_type(&self.e, compute.into()));
        self.only_if(owner, |this| {
            for r in (0..spread.registers()).filter(|r| r & duplicates == 0) {
                let e = &this.e;
                let value = convert::convert(e, this.target, conversion, operand.registers[r as usize]);
                let value = if operand.tf32 { round_to_tf32(e, value) } else { value };
                let (least, most) = spread.range(r, operand.summed);
                if least >= depth.next_multiple_of(step) {
                    continue;
                }
                let summed = spread.coordinate(e, r, operand.summed);
                let value =
                    if most >= depth { e.select(e.icmp(ULT, summed, e.i32(depth.into())), value, zero) } else { value };
                // In this step, or inside the area.
                let (position, inside) = match first {
                    Some(first) => {
                        let position = e.sub(summed, first);
                        (position, Some(e.icmp(ULT, position, e.i32(step.into()))))
                    }
                    None => (summed, (most >= step).then(|| e.icmp(ULT, summed, e.i32(step.into())))),
                };
                let batch = this.batch_index(&spread, r, &operand.layout);
                let outer = spread.coordinate(e, r, operand.outer);
                let index =
                    e.add(e.add(e.mul(batch, e.i32(staged.matrix.into())), outer), e.mul(position, e.i32(row.into())));
                this.only_if(inside, |this| this.store_indexed(base, index, value, compute.into()));
            }
        });
        staged
    }

    /// The row-major index over the batch axes, padded to powers of two.
    fn batch_index(&self, spread: &Spread<'c>, register: u32, layout: &LinearLayout) -> Val<'c> {
        let shape = layout.shape();
        let batch_axes = shape.len() - 2;
        let coordinates: Vec<Val<'c>> =
            (0..batch_axes).map(|axis| spread.coordinate(&self.e, register, axis)).collect();
        self.row_major(&coordinates, &shape[..batch_axes])
    }

    /// Adds the products over `step` positions of the summed axis to this thread's elements.
    #[allow(clippy::too_many_arguments)]
    fn multiply(
        &mut self,
        spread: &Spread<'c>,
        layout: &LinearLayout,
        rank: usize,
        step: u32,
        a: &Staged<'c>,
        b: &Staged<'c>,
        compute: ScalarType,
        sums: &[Val<'c>],
    ) -> Vec<Val<'c>> {
        let rows = self.fragments(spread, layout, rank - 2, a);
        let columns = self.fragments(spread, layout, rank - 1, b);
        let unroll = if step.is_multiple_of(UNROLL) { UNROLL } else { 1 };
        let this = &*self;
        let e = &this.e;
        e.count_loop(0, step, unroll, sums, |k, sums| {
            let mut sums = sums.to_vec();
            for u in 0..unroll {
                let k = e.add(k, e.i32(u.into()));
                let (left, right) = (this.read_row(&rows, a, k, compute), this.read_row(&columns, b, k, compute));
                for (r, sum) in sums.iter_mut().enumerate() {
                    let (x, y) = (left[rows.element_of[r]], right[columns.element_of[r]]);
                    *sum = if compute.is_float() { e.fma(x, y, *sum) } else { e.add(e.mul(x, y), *sum) };
                }
            }
            sums
        })
    }

    /// Which elements of one row of an operand (`[batch][k]`) this thread needs, as vectors.
    fn fragments(&self, spread: &Spread<'c>, layout: &LinearLayout, axis: usize, staged: &Staged<'c>) -> Fragments<'c> {
        let e = &self.e;
        let shape = layout.shape();
        let batch_axes = shape.len() - 2;
        // Registers with the same constants need the same element.
        let mut by_key: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        let key = |r: u32| -> Vec<u32> { (0..batch_axes).chain([axis]).map(|axis| spread.constant(r, axis)).collect() };
        for r in 0..spread.registers() {
            by_key.entry(key(r)).or_insert(r);
        }
        // How many neighbours along the axis are always held together, and start at a multiple of their number.
        let width = (0..=MAX_VECTOR.ilog2())
            .rev()
            .map(|bits| 1u32 << bits)
            .find(|&width| {
                let aligned = spread.thread_mask(axis) & (width - 1) == 0;
                aligned
                    && by_key.keys().all(|key| {
                        let (&own, batch) = key.split_last().expect("a key has the axis");
                        let start = own & !(width - 1);
                        (start..start + width).all(|c| by_key.contains_key(&[batch, &[c]].concat()))
                    })
            })
            .unwrap_or(1);
        let mut vectors = Vec::new();
        let mut number: BTreeMap<Vec<u32>, usize> = BTreeMap::new();
        for (key, &r) in &by_key {
            let constant = *key.last().expect("a key has the axis");
            if constant & (width - 1) == 0 {
                let batch = self.batch_index(spread, r, layout);
                let outer = spread.coordinate(e, r, axis);
                vectors.push(e.add(e.mul(batch, e.i32(staged.matrix.into())), outer));
            }
        }
        // Keys are in order of batch, then of the axis: vectors follow one another.
        for (position, key) in by_key.keys().enumerate() {
            number.insert(key.clone(), position);
        }
        let element_of = (0..spread.registers()).map(|r| number[&key(r)]).collect();
        Fragments { vectors, width, element_of }
    }

    /// Reads this thread's elements of row `k`.
    fn read_row(
        &self,
        fragments: &Fragments<'c>,
        staged: &Staged<'c>,
        k: Val<'c>,
        compute: ScalarType,
    ) -> Vec<Val<'c>> {
        let e = &self.e;
        let element: Ty<'c> = register_type(e, compute.into());
        let bytes = e.bits(element) / 8;
        let row = e.mul(k, e.i32((staged.row * bytes).into()));
        let width = fragments.width;
        let mut elements = Vec::new();
        for &vector in &fragments.vectors {
            let place = e.mul(vector, e.i32(bytes.into()));
            let address = e.offset(e.offset(staged.base, row), place);
            let ty = if width == 1 { element } else { e.vec_type(element, width) };
            let align = (bytes * width).min(16);
            elements.extend(e.unpack(e.load(ty, address, align, MemoryFlags::default())));
        }
        elements
    }
}

/// The elements of one row of a staged operand that a thread needs.
struct Fragments<'c> {
    /// Index of each vector in row 0, in elements.
    vectors: Vec<Val<'c>>,
    /// Elements of a vector.
    width: u32,
    /// For each register of the result, which element it multiplies.
    element_of: Vec<usize>,
}

/// An `f32` rounded to the 10 mantissa bits of tf32, to nearest even.
fn round_to_tf32<'c>(e: &Emitter<'c, '_>, x: Val<'c>) -> Val<'c> {
    let tf32 = FloatFormat { bits: 19, mantissa: 10, bias: 127, specials: Specials::Ieee };
    let f32_format = FloatFormat::of(ScalarType::F32).expect("f32 is a float");
    let code = round_to(e, e.to_bits(x), f32_format, tf32, Rounding::NearestEven, false);
    e.bitcast(e.shl_const(e.zext_or_trunc(code, 32), 13), e.f32_type())
}
