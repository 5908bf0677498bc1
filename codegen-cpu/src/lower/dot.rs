//! Matrix products: a register-blocked micro-kernel over packed operands.
//!
//! Operands are packed straight from where they come from (tensors, buffers, or the ops in between) into the type that
//! is computed in. `a` keeps its rows, so that the micro-kernel broadcasts from as many addresses as it has rows; `b`
//! is cut into panels as wide as the micro-kernel, each a contiguous piece of memory. The micro-kernel holds a block
//! of the result in registers while it walks along K, in pieces that keep a panel in the nearest cache.
//!
//! Each element of the result is `acc + a0*b0 + a1*b1 + ...` from k = 0 up, each step with one rounding (a fused
//! multiply-add). Products of 8- and 16-bit floats are exact in `f32`. So are those of `f32` inputs where three products
//! of narrower parts are asked for: the processor has no units for the parts, and the exact product is nearer.

use smallvec::SmallVec;
use tegula_codegen::emit::{MemoryFlags, Val};
use tegula_ir::function::{Op, Value};
use tegula_ir::ops::{DotPrecision, OpKind};
use tegula_ir::types::{Elem, ScalarType};

use super::eval::{Coord, Mode, Site};
use super::{Lowering, Scratch};
use crate::builder::Slot;
use crate::plan::Place;
use crate::plan::buffers::{buffer_bytes, element_bytes};
use crate::plan::index::Coords;

/// Steps along K between two visits of a block of the result.
const K_BLOCK: u32 = 256;

/// Elements between the end of a packed row of `a` and the next: rows a power of two apart would share cache sets.
const ROW_PADDING: u32 = 16;

/// Extents and register blocking of one product.
#[derive(Clone, Copy, Debug)]
struct Blocking {
    m: u32,
    n: u32,
    k: u32,
    /// Type computed in.
    t: ScalarType,
    lanes: u32,
    /// Most rows of a block of the result.
    rows: u32,
    /// Vectors in a row of a block.
    vectors: u32,
}

impl Blocking {
    /// Vectors that hold a row of the result.
    fn row_vectors(&self) -> u32 {
        self.n.div_ceil(self.lanes)
    }

    fn bytes(&self) -> u32 {
        self.t.bits() / 8
    }

    /// Lanes that count in the last vector of a row, if not all do.
    fn tail(&self) -> Option<u32> {
        let rest = self.n % self.lanes;
        (rest != 0).then_some(rest)
    }
}

/// A row-major matrix in the arena.
#[derive(Clone, Copy)]
struct Rows<'c> {
    base: Val<'c>,
    /// Elements from one row to the next.
    stride: u32,
}

impl<'c> Lowering<'_, 'c, '_> {
    /// `dot`.
    pub fn dot(&mut self, op: Op) {
        let func = self.func;
        let OpKind::Dot { a, b: right, acc, precision } = func.kind(op) else { unreachable!("a dot") };
        let (a, right, acc) = (*a, *right, *acc);
        let result = func.op(op).results[0];
        let input = self.elem(a).scalar().expect("a dot of numbers");
        let t = match input {
            ScalarType::F64 => ScalarType::F64,
            t if t.is_float() => ScalarType::F32,
            _ => ScalarType::I32,
        };
        let out = self.elem(result).scalar().expect("a dot of numbers");
        let shape_a: SmallVec<[u32; 5]> = self.shape(a).into();
        let n = *self.shape(right).last().expect("a matrix");
        let rank = shape_a.len();
        let (m, k) = (shape_a[rank - 2], shape_a[rank - 1]);
        let blocking = self.blocking(m, n, k, t);

        let target = self.buffer_of(result);
        self.copy_to_buffer(acc, target);

        let mut scratch = Scratch::default();
        let matrix = |rows: u64, columns: u32| buffer_bytes(Elem::Scalar(t), &[rows as u32, columns]);
        let stride = k + ROW_PADDING;
        // The forms with three products are there to come near `f32`; plain `f32` products are nearer.
        let tf32 = *precision == DotPrecision::Tf32;
        let packed_a = scratch.take(self, matrix(m.into(), stride));
        let packed_b = scratch.take(self, matrix(k.into(), blocking.row_vectors() * blocking.lanes));
        // An accumulator of another type is widened for the product.
        let wide = (out != t).then(|| scratch.take(self, matrix(m.into(), n)));

        let mut batch = Coords::new();
        self.each_index(&shape_a[..rank - 2], &mut batch, &mut |this, batch| {
            let first = this.matrix_offset(batch, &shape_a[..rank - 2], m * n);
            let b = this.b.clone();
            let in_place = b.element(this.buffer_base(target), first, out.bits().div_ceil(8));
            let c = match wide {
                Some(wide) => {
                    this.convert_rows(in_place, out, wide, t, m * n);
                    wide
                }
                None => in_place,
            };
            let rows = this.pack_rows(a, tf32, batch, blocking, packed_a, stride);
            this.pack_panels(right, tf32, batch, blocking, packed_b);
            this.multiply(blocking, rows, packed_b, c);
            if wide.is_some() {
                this.convert_rows(c, t, in_place, out, m * n);
            }
        });
    }

    /// The block of the result that makes most of the registers: as many multiply-adds for each load as fit.
    fn blocking(&self, m: u32, n: u32, k: u32, t: ScalarType) -> Blocking {
        let lanes = (self.target.vector_bytes * 8 / t.bits()).min(n.next_power_of_two()).max(2);
        let row_vectors = n.div_ceil(lanes);
        let registers = self.target.vector_registers;
        let cost = |rows: u32, vectors: u32| {
            let full = u64::from(row_vectors / vectors);
            let rest = row_vectors % vectors;
            let row_panels = u64::from(m.div_ceil(rows));
            // Multiply-adds and loads go to different ports, two of each a cycle.
            let block = |v: u32| u64::from((rows * v).max(rows + v));
            row_panels * (full * block(vectors) + if rest > 0 { block(rest) } else { 0 })
        };
        let mut best = (u64::MAX, 1, 1);
        for vectors in 1..=4.min(row_vectors) {
            let most = (registers - vectors - 2) / vectors;
            for rows in 1..=most.min(m).min(24) {
                let c = cost(rows, vectors);
                // Of equal costs the block with more rows, which reads the panel fewer times.
                if c < best.0 || (c == best.0 && rows > best.1) {
                    best = (c, rows, vectors);
                }
            }
        }
        Blocking { m, n, k, t, lanes, rows: best.1, vectors: best.2 }
    }

    /// Elements before a batch's matrix.
    fn matrix_offset(&self, batch: &[Coord<'c>], extents: &[u32], size: u32) -> Val<'c> {
        let mut strides: SmallVec<[i64; 5]> = crate::plan::index::strides(extents);
        strides.iter_mut().for_each(|s| *s *= i64::from(size));
        match self.linear_index(batch, &strides, 1) {
            Coord::Affine { base, .. } => base,
            Coord::Lanes(v) => v,
        }
    }

    /// Converts `count` contiguous elements.
    fn convert_rows(&mut self, from: Val<'c>, from_t: ScalarType, to: Val<'c>, to_t: ScalarType, count: u32) {
        let b = self.b.clone();
        let strip = self.cut(count, 32, 1, false);
        let elem = Elem::Scalar(from_t);
        self.each_vector(count, strip, &mut |this, vector| {
            let at = b.element(from, vector.first, element_bytes(elem));
            // What lies beyond the end is slack of the buffer.
            let stored =
                b.load(b.lanes_ty(this.memory_ty(elem), strip.lanes), at, element_bytes(elem), Default::default());
            let v = this.convert_nearest(from_t, to_t, this.unpack_element(elem, stored));
            let site = Site::new(Mode::General, vector.active);
            let at = Coord::vector(vector.first, strip.lanes);
            this.raw_store(&site, to, Elem::Scalar(to_t), at, v);
        });
    }

    /// An element as it is multiplied: in the type computed in, rounded to tf32 where that is asked for.
    fn factor(&self, tf32: bool, from: ScalarType, t: ScalarType, v: Val<'c>) -> Val<'c> {
        let v = self.convert_nearest(from, t, v);
        if tf32 { self.round_to_tf32(v) } else { v }
    }

    /// Rounds an `f32` to tf32 (10 mantissa bits), to nearest even.
    fn round_to_tf32(&self, v: Val<'c>) -> Val<'c> {
        let b = &self.b;
        let bits = b.to_bits(v);
        let odd = b.and(b.lshr_const(bits, 13), b.int_like(bits, 1));
        let rounded = b.add(bits, b.add(odd, b.int_like(bits, 0xfff)));
        let rounded = b.and(rounded, b.int_like(bits, !0x1fff));
        let rounded = b.bitcast(rounded, v.get_type());
        b.select(b.fcmp(inkwell::FloatPredicate::UNO, v, v), v, rounded)
    }

    /// The rows of `a`, packed where that is needed.
    fn pack_rows(
        &mut self,
        a: Value,
        tf32: bool,
        batch: &[Coord<'c>],
        blocking: Blocking,
        to: Val<'c>,
        stride: u32,
    ) -> Rows<'c> {
        let from = self.elem(a).scalar().expect("a matrix of numbers");
        let Blocking { m, k, t, .. } = blocking;
        if from == t
            && !tf32
            && let Place::Buffer { buffer, dropped: 0 } = self.plan.place(a)
        {
            let extents: SmallVec<[u32; 5]> = self.shape(a)[..batch.len()].into();
            let first = self.matrix_offset(batch, &extents, m * k);
            return Rows { base: self.b.element(self.buffer_base(buffer), first, blocking.bytes()), stride: k };
        }
        let loads = self.loads_of(&[a]);
        self.by_mode(&loads, |this, mode| {
            let strip = this.strip(mode, &[crate::plan::Root::Tile(a)], k);
            let mut at: Coords<Coord<'c>> = batch.into();
            this.each_index(&[m], &mut at, &mut |this, at| {
                this.each_vector(k, strip, &mut |this, vector| {
                    let mut site = Site::new(mode, vector.active);
                    let column = Coord::vector(vector.first, strip.lanes);
                    at.push(column);
                    let v = this.eval(&mut site, a, at, strip.lanes);
                    at.pop();
                    let v = this.factor(tf32, from, t, v);
                    let row = at[batch.len()];
                    let place = this.linear_index(&[row, column], &[stride.into(), 1], strip.lanes);
                    this.raw_store(&site, to, Elem::Scalar(t), place, v);
                });
            });
        });
        Rows { base: to, stride }
    }

    /// Packs `b` into panels: for each panel its rows, one after another.
    fn pack_panels(&mut self, right: Value, tf32: bool, batch: &[Coord<'c>], blocking: Blocking, to: Val<'c>) {
        let from = self.elem(right).scalar().expect("a matrix of numbers");
        let Blocking { k, t, lanes, .. } = blocking;
        let loads = self.loads_of(&[right]);
        let b = self.b.clone();
        self.by_mode(&loads, |this, mode| {
            let mut at: Coords<Coord<'c>> = batch.into();
            this.each_index(&[k], &mut at, &mut |this, at| {
                let row = at[batch.len()];
                let Coord::Affine { base: row_index, .. } = row else { unreachable!("a loop index") };
                let mut put = |this: &mut Self, panel: Val<'c>, width: u32| {
                    // `panel` is the panel's first vector.
                    let start = b.mul(panel, b.i64(i64::from(lanes * k)));
                    let start = b.add(start, b.mul(row_index, b.i64(i64::from(width * lanes))));
                    for v in 0..width {
                        let vector = this.add_const(panel, v.into());
                        let column = match b.as_const(vector) {
                            Some(c) => b.i64(c * i64::from(lanes)),
                            None => b.mul(vector, b.i64(lanes.into())),
                        };
                        let is_last = b.as_const(vector) == Some(i64::from(blocking.row_vectors()) - 1);
                        let active = blocking.tail().filter(|_| is_last).map(|rest| this.first_lanes(rest, lanes));
                        let mut site = Site::new(mode, active);
                        at.push(Coord::vector(column, lanes));
                        let value = this.eval(&mut site, right, at, lanes);
                        at.pop();
                        let value = this.factor(tf32, from, t, value);
                        let place = Coord::Affine { base: this.add_const(start, i64::from(v * lanes)), step: 1 };
                        let whole = Site::new(mode, None);
                        this.raw_store(&whole, to, Elem::Scalar(t), place, value);
                    }
                };
                for (first, end, width) in blocking.panels() {
                    b.static_loop(first.into(), end.into(), width.into(), |panel| put(this, panel, width));
                }
            });
        });
    }

    /// The first `n` of `lanes`, as a mask.
    fn first_lanes(&self, n: u32, lanes: u32) -> Val<'c> {
        let mask: Vec<Val<'c>> = (0..lanes).map(|l| self.b.bool(l < n)).collect();
        self.b.const_vector(&mask)
    }

    /// Adds the product of packed operands to the row-major `c`.
    fn multiply(&mut self, blocking: Blocking, a: Rows<'c>, panels: Val<'c>, c: Val<'c>) {
        let b = self.b.clone();
        let Blocking { m, n, k, lanes, .. } = blocking;
        let bytes = blocking.bytes();
        let blocks = k.div_ceil(K_BLOCK);
        let depth = k.div_ceil(blocks);
        // Rows are dealt out evenly: blocks of `base + 1` rows, then of `base`.
        let row_blocks = m.div_ceil(blocking.rows);
        let (base, extra) = (m / row_blocks, m % row_blocks);
        let mut along_k = |first: i64, end: i64, depth: u32| {
            b.static_loop(first, end, depth.into(), |from| {
                for (panel_first, panel_end, width) in blocking.panels() {
                    b.static_loop(panel_first.into(), panel_end.into(), width.into(), |panel| {
                        let start = b.mul(panel, b.i64(i64::from(lanes * k)));
                        let start = b.add(start, b.mul(from, b.i64(i64::from(width * lanes))));
                        let right = b.element(panels, start, bytes);
                        let column = b.mul(panel, b.i64(lanes.into()));
                        let partial = panel_end == blocking.row_vectors() && blocking.tail().is_some();
                        let tail = if partial { blocking.tail() } else { None };
                        let mut rows = |first: u32, end: u32, height: u32| {
                            b.static_loop(first.into(), end.into(), height.into(), |row| {
                                let at = b.add(b.mul(row, b.i64(a.stride.into())), from);
                                let left = b.element(a.base, at, bytes);
                                let at = b.add(b.mul(row, b.i64(n.into())), column);
                                let out = b.element(c, at, bytes);
                                let block = MicroKernel { rows: height, vectors: width, depth, tail };
                                self.micro_kernel(blocking, block, left, a.stride, right, out);
                            });
                        };
                        let taller = extra * (base + 1);
                        rows(0, taller, base + 1);
                        rows(taller, m, base);
                    });
                }
            });
        };
        let whole = i64::from(k / depth * depth);
        along_k(0, whole, depth);
        if whole < i64::from(k) {
            along_k(whole, k.into(), k % depth);
        }
    }

    /// Adds to a block of the result that is held in registers.
    fn micro_kernel(
        &mut self,
        blocking: Blocking,
        block: MicroKernel,
        left: Val<'c>,
        left_stride: u32,
        right: Val<'c>,
        out: Val<'c>,
    ) {
        let b = self.b.clone();
        let Blocking { n, t, lanes, .. } = blocking;
        let bytes = blocking.bytes();
        let scalar = self.register_ty(Elem::Scalar(t));
        let ty = b.lanes_ty(scalar, lanes);
        let plain = MemoryFlags::default();
        let at = |base: Val<'c>, elements: u32| b.element(base, b.i64(elements.into()), bytes);
        let mask =
            |v: u32| (v + 1 == block.vectors).then_some(block.tail).flatten().map(|n| self.first_lanes(n, lanes));
        let mut slots: Vec<Slot<'c>> = Vec::new();
        for r in 0..block.rows {
            for v in 0..block.vectors {
                let from = at(out, r * n + v * lanes);
                let first = match mask(v) {
                    Some(mask) => b.masked_load(from, mask, b.zero(ty), bytes),
                    None => b.load(ty, from, bytes, plain),
                };
                slots.push(b.slot_with(first));
            }
        }
        let unroll = [4, 2, 1].into_iter().find(|u| block.depth.is_multiple_of(*u)).unwrap_or(1);
        b.static_loop(0, block.depth.into(), unroll.into(), |i| {
            let left = b.element(left, i, bytes);
            let right = b.element(right, b.mul(i, b.i64(i64::from(block.vectors * lanes))), bytes);
            for u in 0..unroll {
                let columns: Vec<Val<'c>> = (0..block.vectors)
                    .map(|v| b.load(ty, at(right, (u * block.vectors + v) * lanes), bytes, plain))
                    .collect();
                for r in 0..block.rows {
                    let x = b.load(scalar, at(left, r * left_stride + u), bytes, plain);
                    let x = b.broadcast(x, lanes);
                    for (v, &column) in columns.iter().enumerate() {
                        let slot = slots[(r * block.vectors) as usize + v];
                        let sum = b.get(slot);
                        let next = if t.is_float() { b.fma(x, column, sum) } else { b.add(sum, b.mul(x, column)) };
                        b.set(slot, next);
                    }
                }
            }
        });
        for r in 0..block.rows {
            for v in 0..block.vectors {
                let sum = b.get(slots[(r * block.vectors + v) as usize]);
                let to = at(out, r * n + v * lanes);
                match mask(v) {
                    Some(mask) => b.masked_store(sum, to, mask, bytes),
                    None => b.store(sum, to, bytes, plain),
                }
            }
        }
    }
}

/// One micro-kernel.
#[derive(Clone, Copy)]
struct MicroKernel {
    rows: u32,
    vectors: u32,
    /// Steps along K.
    depth: u32,
    /// Lanes that count in the last vector, if not all do.
    tail: Option<u32>,
}

impl Blocking {
    /// Panels by first vector: `(first, end, width)` for loops over panels of one width. A last vector that is not full
    /// is in a panel of its own loop.
    fn panels(&self) -> SmallVec<[(u32, u32, u32); 3]> {
        let all = self.row_vectors();
        // Panels whose vectors are all full share a loop.
        let full = if self.tail().is_some() { all - 1 } else { all } / self.vectors * self.vectors;
        let mut panels = SmallVec::new();
        if full > 0 {
            panels.push((0, full, self.vectors));
        }
        if full < all {
            panels.push((full, all, all - full));
        }
        panels
    }
}
