//! `mma.sync`: matrix products of a warp, for all element types.
//!
//! Fragments follow one rule. With `g = lane / 4` and `t = lane % 4`, and `e` elements in a register: register `r` of A holds row
//! `g + 8 * (r % 2)` (or `g` for m8), columns `(r / 2) * 4e + t * e` and on; register `r` of B holds column `g`, rows
//! `r * 4e + t * e` and on; accumulators hold row `g + 8 * (r / 2)`, column `2t + r % 2`.

use super::sparse::Sparsity;
use super::{Op, gemm, quad};
use crate::error::Result;
use crate::numeric::{Format, f16_to_f32, f32_to_f16};
use crate::ptx::decode::{Decoder, Modifiers, Ty};
use crate::ptx::exec::{Cx, Step};
use crate::ptx::isa::lanes::Registers;
use crate::ptx::program::L32;
use crate::ptx::syntax::ast::{Instruction, Operand};

/// How two bits meet in a `b1` product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bitwise {
    And,
    Xor,
}

/// A matrix product.
pub(crate) struct MmaOp {
    m: usize,
    n: usize,
    k: usize,
    a_ty: Ty,
    b_ty: Ty,
    d_ty: Ty,
    c_ty: Ty,
    a: Vec<u32>,
    b: Vec<u32>,
    c: Vec<u32>,
    d: Vec<u32>,
    saturate: bool,
    bitwise: Bitwise,
    /// A is packed: only half of its elements are there.
    sparse: Option<Sparsity>,
}

/// The value of an element as `f32`.
pub(super) fn element(ty: Ty, bits: u32) -> f32 {
    match ty {
        Ty::F16 => gemm::widen_f16(bits as u16),
        Ty::BF16 => f32::from_bits(bits << 16),
        // Tensor cores read the upper 19 bits.
        Ty::TF32 => f32::from_bits(bits & 0xFFFF_E000),
        Ty::E4M3 => Format::E4M3.decode(bits.into()) as f32,
        Ty::E5M2 => Format::E5M2.decode(bits.into()) as f32,
        _ => f32::from_bits(bits),
    }
}

/// Eight-bit floats by their pattern.
pub(super) fn fp8_table(ty: Ty) -> &'static [f32; 256] {
    static E4M3: std::sync::LazyLock<[f32; 256]> =
        std::sync::LazyLock::new(|| std::array::from_fn(|bits| Format::E4M3.decode(bits as u64) as f32));
    static E5M2: std::sync::LazyLock<[f32; 256]> =
        std::sync::LazyLock::new(|| std::array::from_fn(|bits| Format::E5M2.decode(bits as u64) as f32));
    if ty == Ty::E4M3 { &E4M3 } else { &E5M2 }
}

pub(super) fn integer(ty: Ty, bits: u32) -> i32 {
    match ty {
        Ty::U8 => (bits & 0xFF) as i32,
        Ty::S8 => i32::from(bits as u8 as i8),
        Ty::U4 => (bits & 15) as i32,
        _ => ((bits << 28) as i32) >> 28,
    }
}

impl MmaOp {
    pub fn execute(&self, cx: &mut Cx) -> Result<Step> {
        if let Some(step) = cx.converge_all() {
            return Ok(step);
        }
        cx.warp.counters.matrix_multiply_adds += (self.m * self.n * self.a_columns()) as u64;
        if let Some(sparse) = &self.sparse {
            sparse.check(cx, cx.warp.registers.w(sparse.metadata));
        }
        match self.a_ty {
            Ty::F64 => self.doubles(cx),
            Ty::U8 | Ty::S8 | Ty::U4 | Ty::S4 => self.integers(cx),
            Ty::B1 => self.bits(cx),
            _ => self.floats(cx),
        }
        Ok(Step::Next)
    }

    /// Columns of A as it is stored.
    fn a_columns(&self) -> usize {
        if self.sparse.is_some() { self.k / 2 } else { self.k }
    }

    /// Row and first column of what a lane's register of A holds.
    fn a_place(&self, register: usize, lane: usize, elements: usize) -> (usize, usize) {
        let (g, t) = (lane / 4, lane % 4);
        if self.m == 16 {
            (g + 8 * (register % 2), (register / 2) * 4 * elements + t * elements)
        } else {
            (g, register * 4 * elements + t * elements)
        }
    }

    fn floats(&self, cx: &mut Cx) {
        let width = self.a_ty.bits() as usize;
        let elements = 32 / width;
        let mask = if width == 32 { u32::MAX } else { (1 << width) - 1 };
        let (mut a, mut b, mut c) = ([0.0_f32; 16 * 32], [0.0_f32; 64 * 8], [0.0_f32; 16 * 8]);
        let (k, stored) = (self.k, self.a_columns());
        let registers = &cx.warp.registers;
        if width == 16 {
            self.halves(registers, &mut a, &mut b);
        } else {
            for (r, &slot) in self.a.iter().enumerate() {
                let words = registers.w(slot);
                for (lane, &word) in words.iter().enumerate() {
                    let (row, column) = self.a_place(r, lane, elements);
                    for e in 0..elements {
                        a[row * stored + column + e] = self.value(self.a_ty, (word >> (e * width)) & mask);
                    }
                }
            }
            for (r, &slot) in self.b.iter().enumerate() {
                let words = registers.w(slot);
                for (lane, &word) in words.iter().enumerate() {
                    let (column, row) = (lane / 4, r * 4 * elements + lane % 4 * elements);
                    for e in 0..elements {
                        b[(row + e) * 8 + column] = self.value(self.b_ty, (word >> (e * width)) & mask);
                    }
                }
            }
        }
        let half = self.c_ty == Ty::F16;
        for (r, &slot) in self.c.iter().enumerate() {
            let words: &L32 = registers.w(slot);
            for (lane, &word) in words.iter().enumerate() {
                let (g, t) = (lane / 4, lane % 4);
                if half {
                    c[(g + 8 * r) * 8 + 2 * t] = f16_to_f32(word as u16);
                    c[(g + 8 * r) * 8 + 2 * t + 1] = f16_to_f32((word >> 16) as u16);
                } else {
                    c[(g + 8 * (r / 2)) * 8 + 2 * t + r % 2] = f32::from_bits(word);
                }
            }
        }
        match &self.sparse {
            Some(sparse) => {
                let a = sparse.expand(registers.w(sparse.metadata), &a);
                gemm::f32(&a, &b[..k * 8], &mut c, 8, k);
            }
            None => gemm::f32(&a[..self.m * k], &b[..k * 8], &mut c[..self.m * 8], 8, k),
        }
        let half = self.d_ty == Ty::F16;
        for (r, &slot) in self.d.iter().enumerate() {
            let mut words = [0; 32];
            for (lane, word) in words.iter_mut().enumerate() {
                let (g, t) = (lane / 4, lane % 4);
                *word = if half {
                    let at = (g + 8 * r) * 8 + 2 * t;
                    u32::from(f32_to_f16(c[at])) | u32::from(f32_to_f16(c[at + 1])) << 16
                } else {
                    super::float::bits(c[(g + 8 * (r / 2)) * 8 + 2 * t + r % 2])
                };
            }
            cx.warp.registers.set_w(slot, &words, cx.mask);
        }
    }

    /// A and B of 16-bit floats, the usual case: whole registers are widened at a time, and lie in rows of eight.
    fn halves(&self, registers: &Registers, a: &mut [f32; 16 * 32], b: &mut [f32; 64 * 8]) {
        let widen = |words: &L32| -> [[f32; 32]; 2] {
            if self.a_ty == Ty::F16 {
                [words.map(|word| gemm::widen_f16(word as u16)), words.map(|word| gemm::widen_f16((word >> 16) as u16))]
            } else {
                [words.map(|word| f32::from_bits(word << 16)), words.map(|word| f32::from_bits(word & 0xFFFF_0000))]
            }
        };
        let stored = self.a_columns();
        for (r, &slot) in self.a.iter().enumerate() {
            let [low, high] = widen(registers.w(slot));
            for g in 0..8 {
                let row = &mut a[(g + 8 * (r % 2)) * stored + r / 2 * 8..][..8];
                for t in 0..4 {
                    row[2 * t] = low[4 * g + t];
                    row[2 * t + 1] = high[4 * g + t];
                }
            }
        }
        for (r, &slot) in self.b.iter().enumerate() {
            let [low, high] = widen(registers.w(slot));
            for t in 0..4 {
                let rows = &mut b[(r * 8 + 2 * t) * 8..][..16];
                for g in 0..8 {
                    rows[g] = low[4 * g + t];
                    rows[8 + g] = high[4 * g + t];
                }
            }
        }
    }

    #[inline(always)]
    fn value(&self, ty: Ty, bits: u32) -> f32 {
        match ty {
            Ty::E4M3 | Ty::E5M2 => fp8_table(ty)[bits as usize],
            ty => element(ty, bits),
        }
    }

    fn doubles(&self, cx: &mut Cx) {
        let (k, n) = (self.k, self.n);
        let (mut a, mut b, mut c) = (vec![0.0; self.m * k], vec![0.0; k * n], vec![0.0; self.m * n]);
        let registers = &cx.warp.registers;
        for lane in 0..32 {
            let (g, t) = (lane / 4, lane % 4);
            for (r, &slot) in self.a.iter().enumerate() {
                let (row, column) = self.a_place(r, lane, 1);
                a[row * k + column] = f64::from_bits(registers.d(slot)[lane]);
            }
            for (r, &slot) in self.b.iter().enumerate() {
                b[(r * 4 + t) * n + g] = f64::from_bits(registers.d(slot)[lane]);
            }
            for (r, &slot) in self.c.iter().enumerate() {
                c[(g + 8 * (r / 2)) * n + 2 * t + r % 2] = f64::from_bits(registers.d(slot)[lane]);
            }
        }
        gemm::f64(&a, &b, &mut c, n, k);
        for (r, &slot) in self.d.iter().enumerate() {
            let values = std::array::from_fn(|lane| c[(lane / 4 + 8 * (r / 2)) * n + 2 * (lane % 4) + r % 2].to_bits());
            cx.warp.registers.set_d(slot, &values, cx.mask);
        }
    }

    /// Accumulators of integer products.
    fn accumulators(&self, cx: &Cx) -> Vec<i32> {
        let mut c = vec![0; self.m * self.n];
        for (r, &slot) in self.c.iter().enumerate() {
            for (lane, &word) in cx.warp.registers.w(slot).iter().enumerate() {
                c[(lane / 4 + 8 * (r / 2)) * self.n + 2 * (lane % 4) + r % 2] = word as i32;
            }
        }
        c
    }

    fn write_integers(&self, cx: &mut Cx, c: &[i32]) {
        for (r, &slot) in self.d.iter().enumerate() {
            let words =
                std::array::from_fn(|lane| c[(lane / 4 + 8 * (r / 2)) * self.n + 2 * (lane % 4) + r % 2] as u32);
            cx.warp.registers.set_w(slot, &words, cx.mask);
        }
    }

    fn integers(&self, cx: &mut Cx) {
        let (k, n) = (self.k, self.n);
        let width = self.a_ty.bits() as usize;
        let elements = 32 / width;
        let stored = self.a_columns();
        let (mut a, mut b) = (vec![0; self.m * stored], vec![0; k * n]);
        for lane in 0..32 {
            for (r, &slot) in self.a.iter().enumerate() {
                let (row, column) = self.a_place(r, lane, elements);
                for e in 0..elements {
                    a[row * stored + column + e] = integer(self.a_ty, cx.warp.registers.w(slot)[lane] >> (e * width));
                }
            }
            for (r, &slot) in self.b.iter().enumerate() {
                for e in 0..elements {
                    let row = r * 4 * elements + lane % 4 * elements + e;
                    b[row * n + lane / 4] = integer(self.b_ty, cx.warp.registers.w(slot)[lane] >> (e * width));
                }
            }
        }
        if let Some(sparse) = &self.sparse {
            a = sparse.expand(cx.warp.registers.w(sparse.metadata), &a);
        }
        let mut c = self.accumulators(cx);
        if self.saturate {
            let before = std::mem::replace(&mut c, vec![0; self.m * n]);
            // Sums of one instruction's products cannot overflow; adding the accumulator can.
            gemm::i32(&a, &b, &mut c, n, k);
            c.iter_mut().zip(before).for_each(|(sum, c)| *sum = sum.saturating_add(c));
        } else {
            gemm::i32(&a, &b, &mut c, n, k);
        }
        self.write_integers(cx, &c);
    }

    fn bits(&self, cx: &mut Cx) {
        let words = self.k / 32;
        let (mut a, mut b) = (vec![0_u32; self.m * words], vec![0_u32; words * self.n]);
        for lane in 0..32 {
            for (r, &slot) in self.a.iter().enumerate() {
                let (row, column) = self.a_place(r, lane, 1);
                a[row * words + column] = cx.warp.registers.w(slot)[lane];
            }
            for (r, &slot) in self.b.iter().enumerate() {
                b[(lane / 4) * words + r * 4 + lane % 4] = cx.warp.registers.w(slot)[lane];
            }
        }
        let mut c = self.accumulators(cx);
        for row in 0..self.m {
            for column in 0..self.n {
                let pairs = a[row * words..].iter().zip(&b[column * words..]).take(words);
                let ones: u32 = pairs
                    .map(|(a, b)| match self.bitwise {
                        Bitwise::And => (a & b).count_ones(),
                        Bitwise::Xor => (a ^ b).count_ones(),
                    })
                    .sum();
                c[row * self.n + column] = c[row * self.n + column].wrapping_add(ones as i32);
            }
        }
        self.write_integers(cx, &c);
    }
}

/// `m16n8k16` as numbers.
pub(super) fn shape(word: &str) -> Option<(usize, usize, usize)> {
    let (m, rest) = word.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    Some((m.parse().ok()?, n.parse().ok()?, k.parse().ok()?))
}

/// Whether a shape exists for an element type.
fn exists(shape: (usize, usize, usize), ty: Ty, sparse: bool) -> bool {
    if sparse {
        return match ty {
            Ty::F16 | Ty::BF16 => matches!(shape, (16, 8, 16 | 32)),
            Ty::TF32 => matches!(shape, (16, 8, 8 | 16)),
            Ty::E4M3 | Ty::E5M2 => shape == (16, 8, 64),
            Ty::S8 | Ty::U8 => matches!(shape, (16, 8, 32 | 64)),
            Ty::S4 | Ty::U4 => matches!(shape, (16, 8, 64 | 128)),
            _ => false,
        };
    }
    match ty {
        Ty::F16 | Ty::BF16 => matches!(shape, (16, 8, 8 | 16)),
        Ty::TF32 => matches!(shape, (16, 8, 4 | 8)),
        Ty::E4M3 | Ty::E5M2 => matches!(shape, (16, 8, 16 | 32)),
        Ty::S8 | Ty::U8 => matches!(shape, (8, 8, 16) | (16, 8, 16 | 32)),
        Ty::S4 | Ty::U4 => matches!(shape, (8, 8, 32) | (16, 8, 32 | 64)),
        Ty::B1 => matches!(shape, (8, 8, 128) | (16, 8, 128 | 256)),
        Ty::F64 => matches!(shape, (8, 8, 4) | (16, 8, 4 | 8 | 16)),
        _ => false,
    }
}

/// Decodes `mma`.
pub(super) fn decode(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Option<Op>> {
    if !(m.take("sync") && m.take("aligned")) {
        return Ok(None);
    }
    if m.take("block_scale") {
        return Err(d.requires("sm_120a", "products with block scales"));
    }
    if m.map(|word| word.starts_with("kind::").then_some(())).is_some() {
        return Err(d.requires("sm_120a", "products of floats of 4 and 6 bits"));
    }
    let ordered = m.take("sp::ordered_metadata");
    let sparse = ordered || m.take("sp");
    let Some(shape) = m.map(shape) else {
        return Ok(None);
    };
    if shape == (8, 8, 4) && !i.modifiers.iter().any(|word| word == "f64") {
        return quad::decode(d, i, m);
    }
    let layouts = (m.any(&["row", "col"]), m.any(&["col", "row"]));
    if layouts != (Some("row"), Some("col")) {
        return Err(d.unsupported("layouts other than row.col"));
    }
    let saturate = m.take("satfinite");
    let bitwise = if m.take("and") { Bitwise::And } else { Bitwise::Xor };
    m.take("xor");
    m.take("popc");
    m.rounding();
    let (Some(d_ty), Some(a_ty), Some(b_ty), Some(c_ty)) = (m.ty(), m.ty(), m.ty(), m.ty()) else {
        return Ok(None);
    };
    let mixed = matches!(
        (a_ty, b_ty),
        (Ty::E4M3 | Ty::E5M2, Ty::E4M3 | Ty::E5M2)
            | (Ty::S8 | Ty::U8, Ty::S8 | Ty::U8)
            | (Ty::S4 | Ty::U4, Ty::S4 | Ty::U4)
    );
    let accumulator = match a_ty {
        Ty::F64 => d_ty == Ty::F64,
        Ty::S8 | Ty::U8 | Ty::S4 | Ty::U4 | Ty::B1 => d_ty == Ty::S32,
        Ty::F16 | Ty::E4M3 | Ty::E5M2 => matches!(d_ty, Ty::F32 | Ty::F16),
        _ => d_ty == Ty::F32,
    };
    let exists = exists(shape, a_ty, sparse) && accumulator && (a_ty == b_ty || mixed) && d_ty == c_ty;
    if sparse && exists && d_ty == Ty::F16 && a_ty.bits() == 8 {
        return Err(d.requires("sm_120", "sparse products of 8-bit floats with 16-bit accumulators"));
    }
    if !exists {
        return Err(d.unsupported("this shape does not exist for these types"));
    }
    let (mm, n, k) = shape;
    let (operands, metadata) = if sparse {
        let [to, a, b, c, metadata, selector] = d.operands(i)?;
        ([to, a, b, c], Some((metadata, selector)))
    } else {
        (d.operands(i)?.each_ref(), None)
    };
    let [to, a, b, c] = operands;
    let bits = a_ty.bits().min(64) as usize;
    let width = if a_ty == Ty::F64 { 64 } else { 32 };
    let counts = (
        mm * k * bits / (32 * width) / if sparse { 2 } else { 1 },
        n * k * bits / (32 * width),
        mm * n * d_ty.bits() as usize / (32 * width),
    );
    let (to, a, b, c) = (d.vector(to), d.vector(a), d.vector(b), d.vector(c));
    if a.len() != counts.0 || b.len() != counts.1 || c.len() != counts.2 || to.len() != counts.2 {
        return Err(d.bad(format!("expected {}, {} and {} registers for A, B and C", counts.0, counts.1, counts.2)));
    }
    let wide = a_ty == Ty::F64;
    let mut sources = |operands: &[Operand]| {
        let slot = |operand: &Operand| {
            if wide { d.double(operand, Ty::F64) } else { d.word(operand, Ty::B32) }
        };
        operands.iter().map(slot).collect::<Result<Vec<_>>>()
    };
    let (a, b) = (sources(a)?, sources(b)?);
    let mut zero_or = |operand: &Operand| {
        let ty = if wide {
            Ty::F64
        } else if d_ty == Ty::F32 {
            Ty::F32
        } else {
            Ty::B32
        };
        if wide { d.double(operand, ty) } else { d.word(operand, ty) }
    };
    let c = c.iter().map(&mut zero_or).collect::<Result<Vec<_>>>()?;
    let sparse = match metadata {
        Some(metadata) => Some(Sparsity::decode(d, metadata, a_ty, k, ordered)?),
        None => None,
    };
    let to = to
        .iter()
        .map(|operand| if wide { d.double_destination(operand) } else { d.word_destination(operand) })
        .collect::<Result<Vec<_>>>()?;
    Ok(Some(Op::Mma(Box::new(MmaOp {
        m: mm,
        n,
        k,
        a_ty,
        b_ty,
        d_ty,
        c_ty,
        a,
        b,
        c,
        d: to,
        saturate,
        bitwise,
        sparse,
    }))))
}
