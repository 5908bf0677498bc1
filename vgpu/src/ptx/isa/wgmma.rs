//! `wgmma`: asynchronous matrix products of four warps, with operands in shared memory or registers.
//!
//! Each warp computes its own 16 of the 64 rows. In strict mode products happen when they are waited for: shared memory is read then,
//! and accumulators hold poison until then.

use super::mma::{fp8_table, shape};
use super::sparse::Sparsity;
use super::{Op, gemm};
use crate::counters::Class;
use crate::error::Result;
use crate::finding::{FindingKind, OtherAccess};
use crate::memory::POISON;
use crate::numeric::{f16_to_f32, f32_to_f16};
use crate::ptx::decode::{Decoder, Modifiers, Space, Ty};
use crate::ptx::exec::memory::Place;
use crate::ptx::exec::{Cx, Step};
use crate::ptx::program::{File, InstInfo, L32, NONE, Register};
use crate::ptx::syntax::ast::{Instruction, Operand};
use crate::ptx::tensor_map::Swizzle;
use crate::sanitizer::VectorClock;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The bits of an address that a descriptor can state.
const ADDRESS: u64 = 0x3_FFFF;
/// Rows of A that a warp computes.
const ROWS: usize = 16;

/// Where A comes from.
#[derive(Clone, Debug)]
enum Source {
    Registers(Vec<u32>),
    Descriptor(u32),
}

/// A product as the instruction states it.
#[derive(Debug)]
pub(crate) struct Product {
    n: usize,
    k: usize,
    a_ty: Ty,
    b_ty: Ty,
    d_ty: Ty,
    d: Vec<u32>,
    a: Source,
    b: u32,
    /// The predicate that says whether to add to D; [`NONE`] for always.
    scale_d: (u32, bool),
    negate: [bool; 2],
    transpose: [bool; 2],
    saturate: bool,
    xor: bool,
    /// A is packed: only half of its elements are there.
    sparse: Option<Sparsity>,
}

impl Product {
    /// Columns of A as it is stored.
    fn a_columns(&self) -> usize {
        if self.sparse.is_some() { self.k / 2 } else { self.k }
    }

    /// Registers other than the accumulators that the product reads while it is under way.
    fn sources(&self) -> impl Iterator<Item = u32> {
        let a: &[u32] = match &self.a {
            Source::Registers(slots) => slots,
            Source::Descriptor(_) => &[],
        };
        a.iter().copied().chain(self.sparse.map(|sparse| sparse.metadata))
    }
}

/// A `wgmma` instruction.
pub(crate) enum WgmmaOp {
    Product(Arc<Product>),
    Fence,
    Commit,
    Wait(u32),
}

/// A's place or values at issue.
#[derive(Clone, Debug)]
enum Operands {
    Registers(Vec<L32>),
    Descriptor(u64),
}

/// A product under way.
#[derive(Debug)]
struct Pending {
    product: Arc<Product>,
    pc: u32,
    group: u32,
    a: Operands,
    b: u64,
    /// The sparsity's metadata.
    metadata: L32,
    accumulate: bool,
    /// When it reads shared memory, by the clock of the warp's asynchronous reader.
    time: u32,
}

/// The products of a warp that have not been waited for.
#[derive(Debug, Default)]
pub(crate) struct MatrixQueue {
    pending: Vec<Pending>,
    groups: u32,
    /// True values of accumulators under way.
    accumulators: HashMap<u32, Box<L32>>,
    /// Registers that products under way read A from.
    sources: HashSet<u32>,
    /// Registers written since the last fence.
    dirty: HashSet<u32>,
    fenced: bool,
}

impl MatrixQueue {
    /// Whether nothing has to be watched.
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Whether an instruction touches registers of a product under way.
    pub fn touches(&self, info: &InstInfo) -> bool {
        if info.opcode == "wgmma" {
            return false;
        }
        let word = |register: &&Register| register.file == File::Word;
        info.reads.iter().filter(word).any(|r| self.accumulators.contains_key(&r.slot))
            || info
                .writes
                .iter()
                .filter(word)
                .any(|r| self.accumulators.contains_key(&r.slot) || self.sources.contains(&r.slot))
    }

    /// Notes registers that an ordinary instruction writes.
    pub fn wrote(&mut self, info: &InstInfo) {
        if info.opcode != "wgmma" {
            self.dirty.extend(info.writes.iter().filter(|r| r.file == File::Word).map(|r| r.slot));
        }
    }
}

/// A matrix in shared memory, as its descriptor has it.
#[derive(Clone, Copy, Debug)]
struct Matrix {
    start: u64,
    leading: u64,
    stride: u64,
    swizzle: Swizzle,
    base: u64,
    /// Whether the rows (or columns of B) are contiguous, not `k`.
    transposed: bool,
}

impl Matrix {
    fn new(descriptor: u64, transposed: bool) -> Self {
        let field = |shift: u32| ((descriptor >> shift) & 0x3FFF) << 4;
        Self {
            start: field(0),
            leading: field(16),
            stride: field(32),
            base: (descriptor >> 49) & 7,
            swizzle: match descriptor >> 62 {
                0 => Swizzle::None,
                1 => Swizzle::B128,
                2 => Swizzle::B64,
                _ => Swizzle::B32,
            },
            transposed,
        }
    }

    /// The address of a piece of 16 bytes. Where `k` is contiguous: of a row, and the number of the piece along `k`. Else: of
    /// an index of `k`, and the number of the piece along the rows.
    fn piece(&self, row: usize, piece: usize) -> u64 {
        let (row, piece) = (row as u64, piece as u64);
        // Bytes of a row of the swizzle's pattern.
        let pitch: u64 = match self.swizzle {
            Swizzle::None => 16,
            Swizzle::B32 => 32,
            Swizzle::B64 => 64,
            Swizzle::B128 => 128,
        };
        let per_row = pitch / 16;
        let linear = match (self.transposed, self.swizzle) {
            (false, Swizzle::None) => row % 8 * 16 + row / 8 * self.stride + piece * self.leading,
            (false, _) => row % 8 * pitch + row / 8 * self.stride + piece * 16,
            (true, Swizzle::None) => row % 8 * 16 + row / 8 * self.leading + piece * self.stride,
            (true, _) => {
                row % 8 * pitch + row / 8 * self.stride + piece % per_row * 16 + piece / per_row * self.leading
            }
        };
        let address = self.start + linear;
        // A pattern that does not start at a multiple of its size says so in the base.
        let phase = self.base << 7;
        self.swizzle.apply(address.wrapping_sub(phase)).wrapping_add(phase)
    }
}

/// The elements of 16 bytes as `f32`.
fn widen(ty: Ty, bytes: &[u8; 16], out: &mut [f32]) {
    match ty {
        Ty::F16 | Ty::BF16 => {
            for (out, pair) in out.iter_mut().zip(bytes.chunks_exact(2)) {
                let bits = u16::from_le_bytes([pair[0], pair[1]]);
                *out = if ty == Ty::F16 { gemm::widen_f16(bits) } else { f32::from_bits(u32::from(bits) << 16) };
            }
        }
        Ty::TF32 => {
            for (out, word) in out.iter_mut().zip(bytes.chunks_exact(4)) {
                *out = f32::from_bits(u32::from_le_bytes([word[0], word[1], word[2], word[3]]) & 0xFFFF_E000);
            }
        }
        Ty::E4M3 | Ty::E5M2 => {
            let table = fp8_table(ty);
            for (out, &byte) in out.iter_mut().zip(bytes) {
                *out = table[usize::from(byte)];
            }
        }
        // Integers of 8 bits are exact in f32, and so are their products; sums are not, and are made apart.
        Ty::S8 => out.iter_mut().zip(bytes).for_each(|(out, &byte)| *out = (byte as i8).into()),
        _ => out.iter_mut().zip(bytes).for_each(|(out, &byte)| *out = byte.into()),
    }
}

impl WgmmaOp {
    pub fn execute(&self, cx: &mut Cx) -> Result<Step> {
        if let Some(step) = cx.converge_all() {
            return Ok(step);
        }
        match self {
            Self::Fence => {
                cx.warp.matrix.dirty.clear();
                cx.warp.matrix.fenced = true;
            }
            Self::Commit => cx.warp.matrix.groups += 1,
            Self::Wait(left) => {
                let done = cx.warp.matrix.groups.saturating_sub(*left);
                cx.complete_products(done);
            }
            Self::Product(product) => issue(cx, product),
        }
        Ok(Step::Next)
    }
}

fn issue(cx: &mut Cx, product: &Arc<Product>) {
    cx.warp.counters.matrix_multiply_adds += (ROWS * product.n * product.a_columns()) as u64;
    let lane = cx.mask.trailing_zeros() as usize;
    if cx.l.sanitize {
        check_fence(cx, product);
    }
    let registers = &cx.warp.registers;
    let a = match &product.a {
        Source::Registers(slots) => Operands::Registers(slots.iter().map(|&slot| *registers.w(slot)).collect()),
        Source::Descriptor(slot) => Operands::Descriptor(registers.d(*slot)[lane]),
    };
    let accumulate = match product.scale_d {
        (NONE, _) => true,
        (slot, negated) => ((registers.p(slot) >> lane) & 1 == 1) != negated,
    };
    let b = registers.d(product.b)[lane];
    let metadata = product.sparse.map_or([0; 32], |sparse| *registers.w(sparse.metadata));
    if let Some(sparse) = &product.sparse {
        sparse.check(cx, &metadata);
    }
    let group = cx.warp.matrix.groups;
    for &slot in &product.d {
        let registers = &mut cx.warp.registers;
        cx.warp.matrix.accumulators.entry(slot).or_insert_with(|| Box::new(*registers.w(slot)));
        if cx.l.launch.strict {
            registers.words[slot as usize] = [u32::from_le_bytes([POISON; 4]); 32];
        }
    }
    cx.warp.matrix.sources.extend(product.sources());
    let mut pending = Pending { product: Arc::clone(product), pc: cx.pc, group, a, b, metadata, accumulate, time: 0 };
    if cx.l.sanitize {
        let fenced = cx.warp.order.fenced.clone();
        check_proxy(cx, &pending, &fenced);
        pending.time = note_operands(cx, &pending);
    }
    cx.warp.matrix.pending.push(pending);
    if !cx.l.launch.strict {
        cx.complete_products(u32::MAX);
    }
}

/// Registers must not have been written since the last `wgmma.fence`, and there must have been one.
fn check_fence(cx: &mut Cx, product: &Product) {
    let queue = &cx.warp.matrix;
    let written = product.d.iter().copied().chain(product.sources()).any(|slot| queue.dirty.contains(&slot));
    if !queue.fenced || written {
        let what = if queue.fenced { "its registers were written since the last one" } else { "there was none before" };
        let message = format!("wgmma.fence is missing: {what}");
        cx.find(FindingKind::MatrixRegistersInFlight, None, None, None, message);
        // Told once.
        cx.warp.matrix.dirty.clear();
        cx.warp.matrix.fenced = true;
    }
}

impl Pending {
    /// The matrices in shared memory with the rows and pieces that a warp reads of them.
    fn matrices(&self, warp: usize) -> Vec<(Matrix, std::ops::Range<usize>, std::ops::Range<usize>)> {
        let product = &self.product;
        let per_piece = 128 / product.a_ty.bits() as usize;
        let mut list = Vec::new();
        if let Operands::Descriptor(descriptor) = self.a {
            let matrix = Matrix::new(descriptor, product.transpose[0]);
            let first = warp % 4 * ROWS;
            list.push(if product.transpose[0] {
                (matrix, 0..product.a_columns(), first / per_piece..(first + ROWS) / per_piece)
            } else {
                (matrix, first..first + ROWS, 0..product.a_columns() / per_piece)
            });
        }
        let matrix = Matrix::new(self.b, product.transpose[1]);
        list.push(if product.transpose[1] {
            (matrix, 0..product.k, 0..product.n / per_piece)
        } else {
            (matrix, 0..product.n, 0..product.k / per_piece)
        });
        list
    }
}

/// What ordinary writes left in shared memory must have been fenced for the asynchronous proxy.
fn check_proxy(cx: &mut Cx, pending: &Pending, fenced: &VectorClock) {
    for (matrix, rows, pieces) in pending.matrices(cx.warp.index) {
        for row in rows {
            for piece in pieces.clone() {
                let offset = matrix.piece(row, piece) as usize;
                if let Some(other) = cx.unfenced(cx.warp.cta, offset, 16, fenced) {
                    let address = cx.describe(crate::finding::Space::Shared, offset as u64, 16);
                    let message = "it was written by ordinary stores, and no fence.proxy.async lies in between";
                    cx.find(FindingKind::MissingProxyFence, None, Some(address), Some(other), message);
                    return;
                }
            }
        }
    }
}

/// From its issue until it is waited for a product may read its operands: they must be there, and stay. Gives the time of the reading.
fn note_operands(cx: &mut Cx, pending: &Pending) -> u32 {
    let (clock, time) = cx.next_reader();
    for (matrix, rows, pieces) in pending.matrices(cx.warp.index) {
        for row in rows {
            for piece in pieces.clone() {
                let address = matrix.piece(row, piece) & ADDRESS;
                if let Some(Place::Shared { cta, offset }) = cx.place(Space::Shared, address, 16, 16, 0) {
                    cx.note_reader(cta, offset, 16, &clock);
                }
            }
        }
    }
    time
}

impl Cx<'_> {
    /// The last write of a range of shared memory, if it is an ordinary one that no proxy fence covers.
    pub fn unfenced(&self, cta: usize, offset: usize, bytes: usize, fenced: &VectorClock) -> Option<OtherAccess> {
        let shadow = self.world.ctas[cta].shadow.as_ref()?;
        let end = (offset + bytes).min(self.world.ctas[cta].shared.len());
        for word in (offset..end).step_by(4) {
            if let Some((clock, site)) = shadow.last_write(word)
                && site.agent != self.world.engine_agent()
                && clock > fenced.get(site.agent)
            {
                return Some(OtherAccess {
                    action: "write".into(),
                    instruction: self.l.instruction(site.pc),
                    agent: self.world.agent(site.agent, Some(site.lane.into())),
                });
            }
        }
        None
    }

    /// Reports an instruction that touches registers of a product under way.
    #[cold]
    pub fn find_matrix_in_flight(&self) {
        let queue = &self.warp.matrix;
        let other = queue.pending.last().map(|pending| OtherAccess {
            action: "asynchronous product".into(),
            instruction: self.l.instruction(pending.pc),
            agent: self.agent(None),
        });
        let message = "registers of a wgmma are touched before wgmma.wait_group";
        self.find(FindingKind::MatrixRegistersInFlight, None, None, other, message);
    }

    /// Does the products of groups below `done`.
    fn complete_products(&mut self, done: u32) {
        let pc = self.pc;
        let pending = std::mem::take(&mut self.warp.matrix.pending);
        let (due, left): (Vec<_>, Vec<_>) = pending.into_iter().partition(|pending| pending.group < done);
        for pending in &due {
            self.pc = pending.pc;
            self.compute(pending);
            if self.l.sanitize {
                self.warp.order.clock.advance(self.world.reader_agent(self.warp.agent), pending.time);
            }
        }
        self.pc = pc;
        // What no product needs any more becomes visible.
        let still: HashSet<u32> = left.iter().flat_map(|pending| pending.product.d.iter().copied()).collect();
        let registers = &mut self.warp.registers;
        self.warp.matrix.accumulators.retain(|slot, value| {
            let keep = still.contains(slot);
            if !keep {
                registers.words[*slot as usize] = **value;
            }
            keep
        });
        self.warp.matrix.sources.clear();
        for pending in &left {
            self.warp.matrix.sources.extend(pending.product.sources());
        }
        self.warp.matrix.pending = left;
    }

    /// Reads a matrix of shared memory as it lies there: its rows one after the other, in `f32`.
    fn load(
        &mut self,
        matrix: Matrix,
        rows: std::ops::Range<usize>,
        pieces: std::ops::Range<usize>,
        ty: Ty,
    ) -> Vec<f32> {
        let count = 128 / ty.bits() as usize;
        let mut out = vec![0.0; rows.len() * pieces.len() * count];
        let mut to = out.chunks_exact_mut(count);
        for row in rows {
            for piece in pieces.clone() {
                let address = matrix.piece(row, piece) & ADDRESS;
                let offset = address as usize;
                let mut bytes = [POISON; 16];
                if let Some(from) = self.world.ctas[self.warp.cta].shared.get(offset..offset + 16) {
                    bytes.copy_from_slice(from);
                } else if !self.l.sanitize {
                    // With the sanitizer it was told when the product was issued.
                    self.place(Space::Shared, address, 16, 16, 0);
                }
                if let Some(to) = to.next() {
                    widen(ty, &bytes, to);
                }
            }
        }
        out
    }

    /// A as `ROWS` by its columns, B as `k` by `n`.
    fn operand(&mut self, pending: &Pending, side: usize) -> Vec<f32> {
        let product = &pending.product;
        let stored = product.a_columns();
        let (ty, transposed) = ([product.a_ty, product.b_ty][side], product.transpose[side]);
        let mut matrices = pending.matrices(self.warp.index);
        let mut values = match (&pending.a, side) {
            (Operands::Registers(values), 0) => {
                let elements = 32 / ty.bits() as usize;
                let mut a = vec![0.0_f32; ROWS * stored];
                for (r, words) in values.iter().enumerate() {
                    for (lane, word) in words.iter().enumerate() {
                        let row = lane / 4 + 8 * (r % 2);
                        let column = (r / 2) * 4 * elements + lane % 4 * elements;
                        let mut bytes = [0; 16];
                        bytes[..4].copy_from_slice(&word.to_le_bytes());
                        let mut wide = [0.0; 16];
                        widen(ty, &bytes, &mut wide);
                        a[row * stored + column..][..elements].copy_from_slice(&wide[..elements]);
                    }
                }
                a
            }
            _ => {
                let index = if side == 0 { 0 } else { matrices.len() - 1 };
                let (matrix, rows, pieces) = matrices.swap_remove(index);
                let lines = rows.len();
                let values = self.load(matrix, rows, pieces, ty);
                // A lies in rows, B in columns, unless transposed.
                if (side == 0) == transposed { gemm::transpose(&values, lines) } else { values }
            }
        };
        if product.negate[side] {
            values.iter_mut().for_each(|value| *value = -*value);
        }
        match (&product.sparse, side) {
            (Some(sparse), 0) => sparse.expand(&pending.metadata, &values),
            _ => values,
        }
    }

    fn compute(&mut self, pending: &Pending) {
        let product = &pending.product;
        let (n, k) = (product.n, product.k);
        if product.a_ty == Ty::B1 {
            self.compute_bits(pending);
            return;
        }
        let (a, b) = (self.operand(pending, 0), self.operand(pending, 1));
        let integer = product.d_ty == Ty::S32;
        let half = product.d_ty == Ty::F16;
        // Row and column of an accumulator's (first) element.
        let place = |index: usize, lane: usize| {
            let (g, t) = (lane / 4, lane % 4);
            if half {
                (g + 8 * (index % 2), index / 2 * 8 + 2 * t)
            } else {
                (g + 8 * (index % 4 / 2), index / 4 * 8 + 2 * t + index % 2)
            }
        };
        if integer {
            let narrow = |values: &[f32]| values.iter().map(|&x| x as i32).collect::<Vec<_>>();
            let mut sums = vec![0_i32; ROWS * n];
            gemm::i32(&narrow(&a), &narrow(&b), &mut sums, n, k);
            for (index, slot) in product.d.iter().enumerate() {
                let Some(words) = self.warp.matrix.accumulators.get_mut(slot) else { continue };
                for (lane, word) in words.iter_mut().enumerate() {
                    let (row, column) = place(index, lane);
                    let before = if pending.accumulate { *word as i32 } else { 0 };
                    let sum = sums[row * n + column];
                    *word = if product.saturate { before.saturating_add(sum) } else { before.wrapping_add(sum) } as u32;
                }
            }
            return;
        }
        let mut c = vec![0.0_f32; ROWS * n];
        if pending.accumulate {
            for (index, slot) in product.d.iter().enumerate() {
                let Some(words) = self.warp.matrix.accumulators.get(slot) else { continue };
                for (lane, &word) in words.iter().enumerate() {
                    let (row, column) = place(index, lane);
                    let at = row * n + column;
                    if half {
                        c[at] = f16_to_f32(word as u16);
                        c[at + 1] = f16_to_f32((word >> 16) as u16);
                    } else {
                        c[at] = f32::from_bits(word);
                    }
                }
            }
        }
        gemm::f32(&a, &b, &mut c, n, k);
        for (index, slot) in product.d.iter().enumerate() {
            let Some(words) = self.warp.matrix.accumulators.get_mut(slot) else { continue };
            for (lane, word) in words.iter_mut().enumerate() {
                let (row, column) = place(index, lane);
                let at = row * n + column;
                *word = if half {
                    u32::from(f32_to_f16(c[at])) | u32::from(f32_to_f16(c[at + 1])) << 16
                } else {
                    super::float::bits(c[at])
                };
            }
        }
    }

    /// Products of single bits: pieces of 128 of them, counted where both (or one) are set.
    fn compute_bits(&mut self, pending: &Pending) {
        let product = &pending.product;
        let n = product.n;
        let words = product.k / 8;
        let mut sides = [vec![0_u8; ROWS * words], vec![0_u8; n * words]];
        let matrices = pending.matrices(self.warp.index);
        if let Operands::Registers(values) = &pending.a {
            for (r, lanes) in values.iter().enumerate() {
                for (lane, word) in lanes.iter().enumerate() {
                    let at = (lane / 4 + 8 * (r % 2)) * words + (r / 2) * 16 + lane % 4 * 4;
                    sides[0][at..at + 4].copy_from_slice(&word.to_le_bytes());
                }
            }
        }
        let skip = 2 - matrices.len();
        for (side, (matrix, rows, pieces)) in matrices.into_iter().enumerate() {
            let values = self.load(matrix, rows, pieces, Ty::U8);
            sides[side + skip].iter_mut().zip(values).for_each(|(to, value)| *to = value as u8);
        }
        for (index, slot) in product.d.iter().enumerate() {
            let Some(lanes) = self.warp.matrix.accumulators.get_mut(slot) else { continue };
            for (lane, word) in lanes.iter_mut().enumerate() {
                let (row, column) = (lane / 4 + 8 * (index % 4 / 2), index / 4 * 8 + lane % 4 * 2 + index % 2);
                let pairs = sides[0][row * words..].iter().zip(&sides[1][column * words..]).take(words);
                let ones: u32 = pairs.map(|(a, b)| if product.xor { a ^ b } else { a & b }.count_ones()).sum();
                *word = if pending.accumulate { word.wrapping_add(ones) } else { ones };
            }
        }
    }
}

/// Whether a product exists for these types and this `k` (of a sparse product half of it).
fn exists(k: usize, d: Ty, a: Ty, b: Ty) -> bool {
    match (a, b) {
        (Ty::F16, Ty::F16) => k == 16 && matches!(d, Ty::F32 | Ty::F16),
        (Ty::BF16, Ty::BF16) => k == 16 && d == Ty::F32,
        (Ty::TF32, Ty::TF32) => k == 8 && d == Ty::F32,
        (Ty::E4M3 | Ty::E5M2, Ty::E4M3 | Ty::E5M2) => k == 32 && matches!(d, Ty::F32 | Ty::F16),
        (Ty::S8 | Ty::U8, Ty::S8 | Ty::U8) => k == 32 && d == Ty::S32,
        (Ty::B1, Ty::B1) => k == 256 && d == Ty::S32,
        _ => false,
    }
}

/// Decodes `wgmma`.
pub(super) fn decode(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<(Op, Class)> {
    let what = m.any(&["fence", "commit_group", "wait_group", "mma_async"]);
    m.take("sync");
    m.take("aligned");
    let op = match what {
        Some("fence") => WgmmaOp::Fence,
        Some("commit_group") => WgmmaOp::Commit,
        Some("wait_group") => {
            let [left] = d.operands(i)?;
            WgmmaOp::Wait(d.immediate(left)? as u32)
        }
        Some(_) => return Ok((Op::Wgmma(Box::new(WgmmaOp::Product(Arc::new(product(d, i, m)?)))), Class::Matrix)),
        None => return Err(d.unsupported("no such form of wgmma")),
    };
    Ok((Op::Wgmma(Box::new(op)), Class::Sync))
}

fn product(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Product> {
    let sparse = m.take("sp");
    let Some((64, n, k)) = m.map(shape) else {
        return Err(d.unsupported("this shape"));
    };
    let saturate = m.take("satfinite");
    let (Some(d_ty), Some(a_ty), Some(b_ty)) = (m.ty(), m.ty(), m.ty()) else {
        return Err(d.bad("types are missing"));
    };
    let xor = m.take("xor");
    m.take("and");
    m.take("popc");
    let steps = match a_ty {
        Ty::S8 | Ty::U8 | Ty::B1 => n % 8 == 0 && (n <= 32 || n % 16 == 0) || n == 24,
        _ => n % 8 == 0,
    };
    let stored = if sparse { k / 2 } else { k };
    if sparse && a_ty == Ty::B1 || !exists(stored, d_ty, a_ty, b_ty) || !steps || !(8..=256).contains(&n) {
        return Err(d.unsupported("this shape does not exist for these types"));
    }
    let [to, a, b, rest @ ..] = i.operands.as_slice() else {
        return Err(d.bad("operands are missing"));
    };
    let targets = d.vector(to);
    let count = ROWS * n * d_ty.bits() as usize / 1024;
    if targets.len() != count {
        return Err(d.bad(format!("expected {count} accumulators, found {}", targets.len())));
    }
    let source = if let Operand::Vector(registers) = a {
        if registers.len() != 4 {
            return Err(d.bad("expected 4 registers for A"));
        }
        Source::Registers(registers.iter().map(|operand| d.word(operand, Ty::B32)).collect::<Result<Vec<_>>>()?)
    } else {
        Source::Descriptor(d.double(a, Ty::B64)?)
    };
    let b = d.double(b, Ty::B64)?;
    let (sparse, rest) = match (sparse, rest) {
        (true, [metadata, selector, rest @ ..]) => {
            (Some(Sparsity::decode(d, (metadata, selector), a_ty, k, false)?), rest)
        }
        (true, _) => return Err(d.bad("the sparsity metadata and selector are missing")),
        (false, rest) => (None, rest),
    };
    let scale_d = match rest.first() {
        Some(operand) => d.predicate_source(operand)?,
        None => (NONE, false),
    };
    let mut flags = Vec::new();
    for operand in rest.iter().skip(1) {
        flags.push(d.immediate(operand)?);
    }
    let float = !matches!(a_ty, Ty::S8 | Ty::U8 | Ty::B1);
    let in_registers = matches!(source, Source::Registers(_));
    let (negate, transpose) = match flags.as_slice() {
        [] => ([false; 2], [false; 2]),
        [a, b] if float => ([*a == -1, *b == -1], [false; 2]),
        [a, b, tb] if float && in_registers => ([*a == -1, *b == -1], [false, *tb == 1]),
        [a, b, ta, tb] if float && !in_registers => ([*a == -1, *b == -1], [*ta == 1, *tb == 1]),
        _ => return Err(d.bad("the number of immediates does not fit the types")),
    };
    if transpose != [false; 2] && a_ty.bits() != 16 {
        return Err(d.bad("only matrices of 16-bit elements are transposed"));
    }
    let slots = targets.iter().map(|operand| d.word_destination(operand)).collect::<Result<Vec<_>>>()?;
    Ok(Product { n, k, a_ty, b_ty, d_ty, d: slots, a: source, b, scale_d, negate, transpose, saturate, xor, sparse })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_place_pieces() {
        // 128-byte swizzle, k contiguous: rows of 128 bytes, groups of 8 rows 1024 bytes apart.
        let matrix = Matrix::new(1 << 62 | 64 << 32 | 0x40, false);
        assert_eq!(matrix.piece(0, 0), 0x400);
        assert_eq!(matrix.piece(1, 0), 0x480 ^ 0x10);
        assert_eq!(matrix.piece(3, 1), (0x400 + 3 * 128 + 16) ^ 0x30);
        assert_eq!(matrix.piece(8, 0), 0x800);
        // The same, rows contiguous: 64 of them, then the leading offset.
        let matrix = Matrix::new(1 << 62 | 64 << 32 | 0x200 << 16, true);
        assert_eq!(matrix.piece(0, 8), 0x2000);
        assert_eq!(matrix.piece(9, 1), (1024 + 128 + 16) ^ 0x10);
        // Without swizzle: cores of 8 rows by 16 bytes.
        let matrix = Matrix::new(0x20 << 32 | 0x10 << 16, false);
        assert_eq!(matrix.piece(9, 1), 16 + 0x200 + 0x100);
    }
}
