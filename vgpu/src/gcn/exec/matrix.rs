//! Matrix instructions: which there are, the multiplication itself, and the distances that software must keep from their results.
//!
//! Products are accumulated in the order of k, each with one rounding. What the hardware does in between is not documented; the
//! difference is below what any use of these formats can tell.

use super::matrix_layout::{self as layout, Layout};
use super::matrix_product::{Broadcast, Operands, product};
use super::registers::Width;
use super::{Cx, sparse, wmma};
use crate::gcn::arch::Arch;
use crate::gcn::inst::{Handler, Inst, Kind, Opnd};
use crate::numeric::{Format, bf16_to_f32};
use std::sync::OnceLock;

/// A format of matrix elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    F64,
    F32,
    /// 19 bits of an `f32`.
    Xf32,
    F16,
    Bf16,
    Fp8,
    Bf8,
    I8,
    /// Signedness by modifier.
    Iu8,
    Iu4,
    /// Chosen by the instruction's broadcast fields: fp8, bf8, fp6, bf6, fp4.
    F8f6f4,
}

impl Element {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "f64" => Self::F64,
            "f32" => Self::F32,
            "xf32" => Self::Xf32,
            "f16" => Self::F16,
            "bf16" => Self::Bf16,
            "fp8" => Self::Fp8,
            "bf8" => Self::Bf8,
            "i8" => Self::I8,
            "iu8" => Self::Iu8,
            "iu4" => Self::Iu4,
            "f8f6f4" => Self::F8f6f4,
            _ => return None,
        })
    }

    /// Bits of one element.
    pub(super) fn bits(self) -> u32 {
        match self {
            Self::F64 => 64,
            Self::F32 | Self::Xf32 => 32,
            Self::F16 | Self::Bf16 => 16,
            Self::Iu4 => 4,
            _ => 8,
        }
    }
}

/// What a matrix instruction multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MatrixOp {
    pub m: u16,
    pub n: u16,
    pub k: u16,
    pub blocks: u16,
    pub a: Element,
    pub b: Element,
    /// Format of the sum.
    pub sum: Element,
    /// Integer sums.
    pub integer: bool,
    /// Two of every four factors of the first matrix are there, with their places in a third operand.
    pub sparse: bool,
    pub layout: Layout,
}

/// Reads a mnemonic.
pub(super) fn parse(name: &str, arch: Arch) -> Option<MatrixOp> {
    let (rest, sparse, wmma) = if let Some(rest) = name.strip_prefix("v_mfma_") {
        (rest, false, false)
    } else if let Some(rest) = name.strip_prefix("v_smfmac_") {
        (rest, true, false)
    } else if let Some(rest) = name.strip_prefix("v_wmma_") {
        (rest, false, true)
    } else {
        (name.strip_prefix("v_swmmac_")?, true, true)
    };
    let mut parts = rest.split('_');
    let sum_name = parts.next()?;
    let (sum, integer) = if sum_name == "i32" { (Element::F32, true) } else { (Element::parse(sum_name)?, false) };
    let mut extents = parts.next()?.split('x').map(str::parse::<u16>);
    let (m, n, k) = (extents.next()?.ok()?, extents.next()?.ok()?, extents.next()?.ok()?);
    let mut next = parts.next()?;
    let mut blocks = 1;
    if let Some(count) = next.strip_suffix('b')
        && let Ok(count) = count.parse()
    {
        blocks = count;
        next = parts.next()?;
    }
    let a = Element::parse(next)?;
    let b = match parts.next() {
        Some(other) => Element::parse(other)?,
        None => a,
    };
    let layout = match (wmma, arch.is_gfx12()) {
        (false, _) => Layout::Mfma,
        (true, false) => Layout::Wmma11,
        (true, true) => Layout::Wmma12,
    };
    Some(MatrixOp { m, n, k, blocks, a, b, sum, integer, sparse, layout })
}

/// The handler of a matrix operation.
pub(super) fn handler(op: MatrixOp) -> Handler {
    match (op.layout, op.sparse, op.a) {
        (Layout::Mfma, true, _) => sparse::smfmac,
        (Layout::Mfma, false, Element::F64) => mfma_f64,
        (Layout::Mfma, false, _) => mfma,
        (_, true, _) => sparse::swmmac,
        (_, false, _) => wmma::wmma,
    }
}

/// The operation of an instruction that has one.
pub(super) fn operation(i: &Inst) -> Option<MatrixOp> {
    match i.kind {
        Kind::Matrix(op) => Some(op),
        _ => None,
    }
}

/// Most elements of a matrix in one instruction.
pub(super) const MOST: usize = 64 * 64;

/// A matrix of floats, or of integers exact in a float.
pub(super) type Elements = [f32; MOST];

/// The values of an eight-bit or smaller format, by pattern.
pub(super) fn table(format: Format) -> &'static [f32; 256] {
    static TABLES: [OnceLock<[f32; 256]>; 7] = [const { OnceLock::new() }; 7];
    const FORMATS: [Format; 7] =
        [Format::E4M3, Format::E5M2, Format::E4M3_FNUZ, Format::E5M2_FNUZ, Format::E2M3, Format::E3M2, Format::E2M1];
    let slot = FORMATS.iter().position(|&f| f == format).unwrap_or(0);
    TABLES[slot].get_or_init(|| {
        let mask = (1_u64 << FORMATS[slot].bits()) - 1;
        std::array::from_fn(|bits| FORMATS[slot].decode(bits as u64 & mask) as f32)
    })
}

/// A half as a float, without branches, so that loops over it become vector code.
#[inline]
pub(super) fn half_to_f32(bits: u16) -> f32 {
    let bits = u32::from(bits);
    let magnitude = f32::from_bits((bits & 0x7fff) << 13) * f32::from_bits(0x7780_0000);
    let special = if bits & 0x7c00 == 0x7c00 { 0x7f80_0000 } else { 0 };
    f32::from_bits(magnitude.to_bits() | special | (bits & 0x8000) << 16)
}

/// How the elements of one operand are decoded: format and signedness.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decoding {
    pub element: Element,
    pub format: Option<Format>,
    pub signed: bool,
}

impl Decoding {
    /// Element `n` of a lane, whose registers `word` gives.
    #[inline]
    pub(super) fn element(&self, n: usize, word: impl Fn(usize) -> u32) -> f32 {
        match self.element {
            Element::F32 => f32::from_bits(word(n)),
            Element::Xf32 => f32::from_bits(round_xf32(word(n))),
            Element::F16 => half_to_f32((word(n / 2) >> (n % 2 * 16)) as u16),
            Element::Bf16 => bf16_to_f32((word(n / 2) >> (n % 2 * 16)) as u16),
            Element::I8 | Element::Iu8 => {
                let byte = (word(n / 4) >> (n % 4 * 8)) as u8;
                if self.signed { f32::from(byte as i8) } else { f32::from(byte) }
            }
            Element::Iu4 => {
                let nibble = word(n / 8) >> (n % 8 * 4) & 15;
                if self.signed { ((nibble << 28) as i32 >> 28) as f32 } else { nibble as f32 }
            }
            Element::Fp8 | Element::Bf8 | Element::F8f6f4 => {
                let Some(format) = self.format else { return f32::NAN };
                let bits = format.bits() as usize;
                let at = n * bits;
                let low = u64::from(word(at / 32));
                // Six-bit elements may lie across two registers.
                let pair = if at % 32 + bits > 32 { low | u64::from(word(at / 32 + 1)) << 32 } else { low };
                table(format)[(pair >> (at % 32)) as usize & ((1 << bits) - 1)]
            }
            Element::F64 => f32::NAN,
        }
    }
}

/// Rounds to the 19 bits that the matrix core reads: nearest, ties to even.
pub(super) fn round_xf32(bits: u32) -> u32 {
    if bits & 0x7f80_0000 == 0x7f80_0000 {
        return bits;
    }
    let odd = bits >> 13 & 1;
    (bits + 0xfff + odd) & !0x1fff
}

/// `sum += a * b` for matrices `a[m][k]`, `b[k][n]`, `sum[m][n]`.
pub(super) fn multiply(m: usize, n: usize, k: usize, a: &[f32], b: &[f32], sum: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma")]
        fn fast(m: usize, n: usize, k: usize, a: &[f32], b: &[f32], sum: &mut [f32]) {
            multiply_rows(m, n, k, a, b, sum);
        }
        if std::arch::is_x86_feature_detected!("fma") && std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the features were detected.
            unsafe { fast(m, n, k, a, b, sum) };
            return;
        }
    }
    multiply_rows(m, n, k, a, b, sum);
}

#[inline(always)]
fn multiply_rows(m: usize, n: usize, k: usize, a: &[f32], b: &[f32], sum: &mut [f32]) {
    for i in 0..m {
        let row = &mut sum[i * n..][..n];
        for p in 0..k {
            let factor = a[i * k + p];
            let other = &b[p * n..][..n];
            for (s, &v) in row.iter_mut().zip(other) {
                *s = factor.mul_add(v, *s);
            }
        }
    }
}

/// The same for integers, which wrap.
pub(super) fn multiply_integers(m: usize, n: usize, k: usize, a: &[f32], b: &[f32], sum: &mut [i32]) {
    for i in 0..m {
        for p in 0..k {
            let factor = a[i * k + p] as i32;
            for j in 0..n {
                let s = &mut sum[i * n + j];
                *s = s.wrapping_add(factor.wrapping_mul(b[p * n + j] as i32));
            }
        }
    }
}

/// The registers of an operand, whole; constants are the same everywhere.
pub(super) struct Rows {
    pub rows: Vec<super::state::Lanes>,
}

impl Rows {
    pub(super) fn word(&self, register: usize, lane: usize) -> u32 {
        self.rows.get(register).map_or(0, |row| row[lane])
    }
}

impl Cx<'_> {
    /// Reads `registers` registers of an operand in all lanes: matrix instructions do not look at the execution mask.
    pub(super) fn matrix_rows(&mut self, i: &Inst, opnd: Opnd, registers: u16) -> Rows {
        let rows = match opnd {
            Opnd::V(_) => (0..registers).map(|part| self.v32(i, opnd.plus(part), Width::B32)).collect(),
            constant => vec![self.v32(i, constant, Width::B32); usize::from(registers)],
        };
        Rows { rows }
    }

    /// The scales of both factors, by lane; none where the instruction has none.
    fn matrix_scales(&mut self, i: &Inst) -> Option<Box<[[f32; 64]; 2]>> {
        let scale = i.scale.as_deref()?;
        let of = |cx: &mut Self, n: usize| {
            cx.v32(i, scale.src[n], Width::B32).map(|word| match word >> (scale.byte[n] * 8) & 0xff {
                255 => f32::NAN,
                exponent => super::float64::ldexp(1.0, exponent as i32 - 127) as f32,
            })
        };
        Some(Box::new([of(self, 0), of(self, 1)]))
    }

    /// Runs `f` with all lanes active.
    pub(super) fn with_all_lanes(&mut self, i: &Inst, f: impl FnOnce(&mut Self)) {
        self.hazard_exec(i, 4);
        let exec = self.w.exec;
        self.w.exec = if self.w.wave32 { u64::from(u32::MAX) } else { u64::MAX };
        f(self);
        self.w.exec = exec;
    }

    /// Writes the registers of a result in all lanes.
    pub(super) fn write_matrix(&mut self, i: &Inst, rows: &[super::state::Lanes]) {
        let Opnd::V(dst) = i.dst else { return };
        let all = self.w.exec;
        // One undefined element spreads over rows and columns; here it spreads over the result.
        self.defined = if self.defined & all == all { u64::MAX } else { 0 };
        for (part, row) in rows.iter().enumerate() {
            self.set_v32(i, dst + part as u16, row, all);
        }
    }
}

/// Passes of four cycles that an instruction takes.
pub(super) fn passes(op: &MatrixOp, i: &Inst) -> u8 {
    // Eight-bit factors take twice the time of narrower ones where the instruction chooses the formats.
    let eight_bits = op.a == Element::F8f6f4 && ((i.imm & 7) < 2 || (i.imm >> 7 & 7) < 2);
    match (op.m, op.blocks, op.a) {
        (4, _, Element::F64) => 4,
        (4, ..) => 2,
        (16, _, Element::F64) => 8,
        (16, 1, Element::F32) => 8,
        (16, 1, _) if eight_bits => 8,
        (16, 1, _) => 4,
        (16, ..) => 8,
        (_, 1, Element::F32) => 16,
        (_, 1, _) if eight_bits => 16,
        (_, 1, _) => 8,
        _ => 16,
    }
}

/// The format and signedness of the two factors of an instruction.
pub(super) fn decodings(op: &MatrixOp, i: &Inst, arch: Arch) -> [Decoding; 2] {
    let of = |element: Element, field: i32, signed: bool| {
        let format = match element {
            Element::Fp8 => Some(super::convert::fp8(arch, false)),
            Element::Bf8 => Some(super::convert::fp8(arch, true)),
            Element::F8f6f4 => Some(match field & 7 {
                0 => Format::E4M3,
                1 => Format::E5M2,
                2 => Format::E2M3,
                3 => Format::E3M2,
                _ => Format::E2M1,
            }),
            _ => None,
        };
        Decoding { element, format, signed: signed || element == Element::I8 }
    };
    [of(op.a, i.imm, i.neg & 1 != 0), of(op.b, i.imm >> 7, i.neg & 2 != 0)]
}

fn mfma(cx: &mut Cx<'_>, i: &Inst) {
    let Some(op) = operation(i) else { return };
    let (m, n, k, blocks) = (usize::from(op.m), usize::from(op.n), usize::from(op.k), usize::from(op.blocks));
    let sum_registers = op.m * op.n * op.blocks / 64;
    cx.with_all_lanes(i, |cx| {
        let [da, db] = decodings(&op, i, cx.env.arch);
        let registers = |d: &Decoding, per_lane: usize| {
            let bits = d.format.map_or(d.element.bits(), |f| f.bits()) as usize;
            (per_lane * bits).div_ceil(32) as u16
        };
        let (per_a, per_b) = (m * k * blocks / 64, n * k * blocks / 64);
        let mut operands = Operands {
            a: cx.matrix_rows(i, i.src[0], registers(&da, per_a)),
            b: cx.matrix_rows(i, i.src[1], registers(&db, per_b)),
            sum: cx.matrix_rows(i, i.src[2], sum_registers),
        };
        let scales = cx.matrix_scales(i);
        // Where the instruction chooses formats, it does so in the fields that otherwise share blocks and move lanes.
        let (cbsz, abid, blgp) = match op.a {
            Element::F8f6f4 => (0, 0, 0),
            _ => (i.imm as usize & 7, i.imm as usize >> 3 & 15, i.imm as usize >> 7 & 7),
        };
        product(&op, &[da, db], Broadcast { size: cbsz, block: abid }, blgp, scales.as_deref(), &mut operands);
        cx.write_matrix(i, &operands.sum.rows);
        cx.hazard_matrix(i, &op, sum_registers);
    });
    cx.g.counters.matrix_multiply_adds += (m * n * k * blocks) as u64;
}

fn mfma_f64(cx: &mut Cx<'_>, i: &Inst) {
    let Some(op) = operation(i) else { return };
    let (m, n, k, blocks) = (usize::from(op.m), usize::from(op.n), usize::from(op.k), usize::from(op.blocks));
    let per_lane = m * n * blocks / 64;
    cx.with_all_lanes(i, |cx| {
        let a = cx.matrix_rows(i, i.src[0], 2);
        let b = cx.matrix_rows(i, i.src[1], 2);
        let constant = !matches!(i.src[2], Opnd::V(_));
        let c = cx.matrix_rows(i, i.src[2], per_lane as u16 * 2);
        let constant_value = if constant { f64::from_bits(cx.s64(i, i.src[2])) } else { 0.0 };
        // The broadcast field negates the operands here.
        let signs = i.imm >> 7 & 7;
        let sign = |bit: i32| if signs >> bit & 1 != 0 { -1.0 } else { 1.0 };
        let value = |rows: &Rows, at: usize, lane: usize| {
            f64::from_bits(u64::from(rows.word(at * 2, lane)) | u64::from(rows.word(at * 2 + 1, lane)) << 32)
        };
        let mut out = vec![[0_u32; 64]; per_lane * 2];
        for block in 0..blocks {
            for row in 0..m {
                for column in 0..n {
                    let (register, lane) = layout::accumulator_f64(m, n, row, column, block);
                    let mut sum = if constant { constant_value } else { value(&c, register, lane) } * sign(2);
                    for p in 0..k {
                        let left = value(&a, 0, layout::factor_lane(m, blocks, row, block, p)) * sign(0);
                        let right = value(&b, 0, layout::factor_lane(n, blocks, column, block, p)) * sign(1);
                        sum = left.mul_add(right, sum);
                    }
                    out[register * 2][lane] = sum.to_bits() as u32;
                    out[register * 2 + 1][lane] = (sum.to_bits() >> 32) as u32;
                }
            }
        }
        cx.write_matrix(i, &out);
        cx.hazard_matrix(i, &op, per_lane as u16 * 2);
    });
    cx.g.counters.matrix_multiply_adds += (m * n * k * blocks) as u64;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mnemonics() {
        let op = parse("v_mfma_f32_32x32x4_2b_bf16", Arch::Gfx942).expect("a shape of gfx942");
        assert_eq!((op.m, op.n, op.k, op.blocks, op.a), (32, 32, 4, 2, Element::Bf16));
        let op = parse("v_mfma_f32_16x16x32_bf8_fp8", Arch::Gfx942).expect("a shape of gfx942");
        assert_eq!((op.a, op.b, op.blocks), (Element::Bf8, Element::Fp8, 1));
        let op = parse("v_smfmac_i32_32x32x32_i8", Arch::Gfx942).expect("a shape of gfx942");
        assert!(op.sparse && op.integer);
        assert!(parse("v_mul_f32", Arch::Gfx942).is_none());
    }

    #[test]
    fn halves_convert_without_branches() {
        for bits in 0..=u16::MAX {
            let expected = half::f16::from_bits(bits).to_f32();
            let got = half_to_f32(bits);
            assert!(got.to_bits() == expected.to_bits() || (got.is_nan() && expected.is_nan()), "{bits:#06x}");
        }
    }

    #[test]
    fn a_product() {
        let a = [1.0, 2.0, 3.0, 4.0];
        let b = [5.0, 6.0, 7.0, 8.0];
        let mut sum = [1.0, 0.0, 0.0, 0.0];
        multiply(2, 2, 2, &a, &b, &mut sum);
        assert_eq!(sum, [20.0, 22.0, 43.0, 50.0]);
    }
}
