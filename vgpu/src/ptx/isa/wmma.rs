//! `wmma`: matrix products of a warp whose fragments have no stated layout, loaded and stored by instructions of their own.
//!
//! The layout here: a matrix is laid out row by row over the elements of the lanes, lane after lane; where the fragments have room for more
//! than the matrix, it is there more than once. Programs may change fragments only element by element, which keeps that.

use super::mma::{element, integer, shape};
use super::{Op, gemm};
use crate::error::Result;
use crate::numeric::{f16_to_f32, f32_to_f16};
use crate::ptx::decode::{AddressOperand, Decoder, Modifiers, Space, Ty};
use crate::ptx::exec::{Cx, Step};
use crate::ptx::isa::lanes::Registers;
use crate::ptx::program::NONE;
use crate::ptx::syntax::ast::{Instruction, Operand};
use crate::sanitizer::Action;

/// A fragment: an element type and its registers.
struct Fragment {
    ty: Ty,
    registers: Vec<u32>,
    /// Elements of the matrix.
    size: usize,
}

impl Fragment {
    /// Elements of a register.
    fn per_register(&self) -> usize {
        (32 / self.ty.bits() as usize).max(1)
    }

    /// The place of an element: lane, register, and the number in the register; its first copy.
    fn place(&self, index: usize) -> (usize, usize, usize) {
        let per_lane = self.registers.len() * self.per_register();
        let within = index % per_lane;
        (index / per_lane, within / self.per_register(), within % self.per_register())
    }

    fn mask(&self) -> u64 {
        if self.ty.bits() >= 64 { u64::MAX } else { (1 << self.ty.bits()) - 1 }
    }

    fn get(&self, registers: &Registers, index: usize) -> u64 {
        let (lane, register, number) = self.place(index);
        let slot = self.registers[register];
        if self.ty == Ty::F64 {
            return registers.d(slot)[lane];
        }
        (u64::from(registers.w(slot)[lane]) >> (number * self.ty.bits() as usize)) & self.mask()
    }

    /// Writes the matrix to all copies.
    fn set(&self, registers: &mut Registers, mask: u32, value: impl Fn(usize) -> u64) {
        let per_lane = self.registers.len() * self.per_register();
        for (number, &slot) in self.registers.iter().enumerate() {
            let lane_value = |lane: usize| {
                (0..self.per_register()).fold(0, |bits, n| {
                    let index = (lane * per_lane + number * self.per_register() + n) % self.size;
                    bits | (value(index) & self.mask()) << (n * self.ty.bits() as usize)
                })
            };
            if self.ty == Ty::F64 {
                registers.set_d(slot, &std::array::from_fn(lane_value), mask);
            } else {
                registers.set_w(slot, &std::array::from_fn(|lane| lane_value(lane) as u32), mask);
            }
        }
    }
}

/// A fragment's matrix in memory.
struct Move {
    load: bool,
    fragment: Fragment,
    space: Space,
    address: AddressOperand,
    /// Elements from one row (or column) to the next: a register, or [`NONE`] for a matrix without gaps.
    stride: u32,
    rows: usize,
    columns: usize,
    /// Whether rows are contiguous.
    row_major: bool,
}

/// A product of fragments.
struct Product {
    m: usize,
    n: usize,
    k: usize,
    a: Fragment,
    b: Fragment,
    c: Fragment,
    d: Fragment,
    saturate: bool,
    xor: bool,
}

/// A `wmma` instruction.
pub(crate) struct WmmaOp(Kind);

enum Kind {
    Move(Move),
    Product(Product),
}

impl WmmaOp {
    pub fn execute(&self, cx: &mut Cx) -> Result<Step> {
        if let Some(step) = cx.converge_all() {
            return Ok(step);
        }
        match &self.0 {
            Kind::Move(op) => op.execute(cx),
            Kind::Product(op) => op.execute(cx),
        }
        Ok(Step::Next)
    }
}

impl Move {
    fn execute(&self, cx: &mut Cx) {
        let lane = cx.mask.trailing_zeros() as usize;
        let base = cx.addresses(&self.address)[lane];
        let contiguous = if self.row_major { self.columns } else { self.rows };
        let stride = match self.stride {
            NONE => contiguous,
            slot => cx.warp.registers.w(slot)[lane] as usize,
        };
        let bits = self.fragment.ty.bits() as usize;
        // A contiguous row or column at a time; elements of less than a byte come in whole bytes.
        let bytes = contiguous * bits / 8;
        let lines = self.rows * self.columns / contiguous;
        let mut values = vec![0_u64; self.fragment.size];
        let mut line = vec![0; bytes];
        for number in 0..lines {
            let at = |within: usize| {
                if self.row_major { number * self.columns + within } else { within * self.columns + number }
            };
            let address = base.wrapping_add((number * stride * bits / 8) as u64);
            let align = (bits / 8).clamp(1, 16).max(bytes.min(4));
            let place = cx.place(self.space, address, bytes, align, lane);
            if self.load {
                line.fill(crate::memory::POISON);
                if let Some(place) = place {
                    cx.note(place, bytes, Action::Read, lane, None);
                    cx.read(place, lane, &mut line);
                }
                for within in 0..contiguous {
                    let mut value = 0;
                    for bit in (0..bits).step_by(8) {
                        value |= u64::from(line[(within * bits + bit) / 8]) << bit;
                    }
                    values[at(within)] = value >> (within * bits % 8);
                }
            } else if let Some(place) = place {
                line.fill(0);
                for within in 0..contiguous {
                    let value = self.fragment.get(&cx.warp.registers, at(within));
                    for bit in (0..bits).step_by(8) {
                        line[(within * bits + bit) / 8] |= ((value >> bit) << (within * bits % 8)) as u8;
                    }
                }
                cx.note(place, bytes, Action::Write, lane, Some(&line));
                cx.write(place, lane, &line);
            }
        }
        if self.load {
            self.fragment.set(&mut cx.warp.registers, cx.mask, |index| values[index]);
        }
    }
}

impl Product {
    fn execute(&self, cx: &mut Cx) {
        let (m, n, k) = (self.m, self.n, self.k);
        cx.warp.counters.matrix_multiply_adds += (m * n * k) as u64;
        let registers = &cx.warp.registers;
        let matrix = |f: &Fragment| (0..f.size).map(|index| f.get(registers, index)).collect::<Vec<_>>();
        let (a, b, c) = (matrix(&self.a), matrix(&self.b), matrix(&self.c));
        let result: Vec<u64> = match self.a.ty {
            Ty::F64 => {
                let wide = |bits: Vec<u64>| bits.into_iter().map(f64::from_bits).collect::<Vec<_>>();
                let mut c = wide(c);
                gemm::f64(&wide(a), &wide(b), &mut c, n, k);
                c.into_iter().map(f64::to_bits).collect()
            }
            Ty::B1 => {
                let bit = |row: usize, column: usize| {
                    let ones = (0..k).filter(|&p| {
                        let (a, b) = (a[row * k + p] & 1, b[p * n + column] & 1);
                        if self.xor { a != b } else { a & b == 1 }
                    });
                    (c[row * n + column] as u32).wrapping_add(ones.count() as u32)
                };
                (0..m * n).map(|at| bit(at / n, at % n).into()).collect()
            }
            Ty::S8 | Ty::U8 | Ty::S4 | Ty::U4 => {
                let narrow = |ty: Ty, bits: &[u64]| bits.iter().map(|&x| integer(ty, x as u32)).collect::<Vec<_>>();
                let mut sums = vec![0; m * n];
                gemm::i32(&narrow(self.a.ty, &a), &narrow(self.b.ty, &b), &mut sums, n, k);
                let add = |(sum, c): (i32, u64)| {
                    let c = c as i32;
                    u64::from(if self.saturate { c.saturating_add(sum) } else { c.wrapping_add(sum) } as u32)
                };
                sums.into_iter().zip(c).map(add).collect()
            }
            _ => {
                let wide = |ty: Ty, bits: &[u64]| bits.iter().map(|&x| element(ty, x as u32)).collect::<Vec<_>>();
                let accumulator = |&bits: &u64| match self.c.ty {
                    Ty::F16 => f16_to_f32(bits as u16),
                    _ => f32::from_bits(bits as u32),
                };
                let mut c: Vec<f32> = c.iter().map(accumulator).collect();
                gemm::f32(&wide(self.a.ty, &a), &wide(self.b.ty, &b), &mut c, n, k);
                let narrow = |value: f32| match self.d.ty {
                    Ty::F16 => f32_to_f16(value).into(),
                    _ => u64::from(super::float::bits(value)),
                };
                c.into_iter().map(narrow).collect()
            }
        };
        self.d.set(&mut cx.warp.registers, cx.mask, |index| result[index]);
    }
}

/// Registers of a fragment: of A (and B with its extents), which are in some types there twice, or of an accumulator.
fn count(ty: Ty, size: usize) -> usize {
    match ty {
        Ty::F64 => size / 32,
        // A and B of `f16` always have 8 registers.
        Ty::F16 => 8,
        ty => size * ty.bits() as usize / 1024,
    }
}

fn exists((m, n, k): (usize, usize, usize), ty: Ty) -> bool {
    match ty {
        Ty::F16 | Ty::BF16 | Ty::S8 | Ty::U8 => matches!((m, n, k), (16, 16, 16) | (8, 32, 16) | (32, 8, 16)),
        Ty::TF32 => (m, n, k) == (16, 16, 8),
        Ty::F64 => (m, n, k) == (8, 8, 4),
        Ty::S4 | Ty::U4 => (m, n, k) == (8, 8, 32),
        Ty::B1 => (m, n, k) == (8, 8, 128),
        _ => false,
    }
}

/// Decodes `wmma`.
pub(super) fn decode(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Option<Op>> {
    let Some(what) = m.any(&["load", "store", "mma"]) else { return Ok(None) };
    let role = m.any(&["a", "b", "c", "d"]);
    let xor = m.take("xor");
    let bits = xor || m.take("and");
    if bits {
        m.take("popc");
    }
    if !(m.take("sync") && m.take("aligned")) {
        return Ok(None);
    }
    let layout = |m: &mut Modifiers| m.map(|word| matches!(word, "row" | "col").then_some(word == "row"));
    let first = layout(m);
    let kind = if what == "mma" {
        layout(m);
        Kind::Product(product(d, i, m, xor)?)
    } else {
        let (Some(role), Some(row_major)) = (role, first) else { return Ok(None) };
        Kind::Move(movement(d, i, m, what == "load", role, row_major)?)
    };
    Ok(Some(Op::Wmma(Box::new(WmmaOp(kind)))))
}

fn movement(
    d: &mut Decoder,
    i: &Instruction,
    m: &mut Modifiers,
    load: bool,
    role: &str,
    row_major: bool,
) -> Result<Move> {
    let Some((mm, n, k)) = m.map(shape) else { return Err(d.bad("the shape is missing")) };
    let space = match m.any(&["global", "shared", "shared::cta"]) {
        Some("global") => Space::Global,
        Some(_) => Space::Shared,
        None => Space::Generic,
    };
    let Some(ty) = m.ty() else { return Err(d.bad("the type is missing")) };
    let (rows, columns) = match role {
        "a" => (mm, k),
        "b" => (k, n),
        _ => (mm, n),
    };
    let accumulator = matches!(role, "c" | "d");
    let known = if accumulator { matches!(ty, Ty::F16 | Ty::F32 | Ty::S32 | Ty::F64) } else { exists((mm, n, k), ty) };
    if !known {
        return Err(d.unsupported("this shape does not exist for this type"));
    }
    let (values, address, stride) = match (load, i.operands.as_slice()) {
        (true, [values, address, rest @ ..]) | (false, [address, values, rest @ ..]) => (values, address, rest.first()),
        _ => return Err(d.bad("expected a fragment and an address")),
    };
    let size = rows * columns;
    let registers = if accumulator && ty == Ty::F16 { size / 64 } else { count(ty, size) };
    let fragment = fragment(d, values, ty, size, registers, load)?;
    let address = d.address(address)?;
    let stride = match stride {
        Some(stride) => d.word(stride, Ty::U32)?,
        None => NONE,
    };
    Ok(Move { load, fragment, space, address, stride, rows, columns, row_major })
}

fn fragment(
    d: &mut Decoder,
    operand: &Operand,
    ty: Ty,
    size: usize,
    registers: usize,
    destination: bool,
) -> Result<Fragment> {
    let operands = d.vector(operand);
    if operands.len() != registers {
        return Err(d.bad(format!("expected {registers} registers, found {}", operands.len())));
    }
    let constant = if ty == Ty::F32 { Ty::F32 } else { Ty::B32 };
    let registers = operands
        .iter()
        .map(|operand| match (destination, ty) {
            (true, Ty::F64) => d.double_destination(operand),
            (true, _) => d.word_destination(operand),
            (false, Ty::F64) => d.double(operand, Ty::F64),
            (false, _) => d.word(operand, constant),
        })
        .collect::<Result<_>>()?;
    Ok(Fragment { ty, registers, size })
}

fn product(d: &mut Decoder, i: &Instruction, m: &mut Modifiers, xor: bool) -> Result<Product> {
    let Some((mm, n, k)) = m.map(shape) else { return Err(d.bad("the shape is missing")) };
    let mut types = Vec::new();
    while let Some(ty) = m.ty() {
        types.push(ty);
    }
    // Of `f16` only the accumulators' types are said; `rn` and so on may stand before those of `f64`.
    m.rounding();
    let saturate = m.take("satfinite");
    let (d_ty, a_ty, b_ty, c_ty) = match types.as_slice() {
        [d, c] => (*d, Ty::F16, Ty::F16, *c),
        [d, a, b, c] => (*d, *a, *b, *c),
        _ => return Err(d.bad("expected two or four types")),
    };
    let accumulators = match a_ty {
        Ty::F16 => matches!((d_ty, c_ty), (Ty::F16 | Ty::F32, Ty::F16 | Ty::F32)),
        Ty::BF16 | Ty::TF32 => (d_ty, c_ty) == (Ty::F32, Ty::F32),
        Ty::F64 => (d_ty, c_ty) == (Ty::F64, Ty::F64),
        _ => (d_ty, c_ty) == (Ty::S32, Ty::S32),
    };
    if !exists((mm, n, k), a_ty) || a_ty != b_ty || !accumulators {
        return Err(d.unsupported("this shape does not exist for these types"));
    }
    let [to, a, b, c] = d.operands(i)?;
    let accumulator = |ty: Ty| if ty == Ty::F16 { mm * n / 64 } else { count(ty, mm * n) };
    let a = fragment(d, a, a_ty, mm * k, count(a_ty, mm * k), false)?;
    let b = fragment(d, b, b_ty, k * n, count(b_ty, k * n), false)?;
    let c = fragment(d, c, c_ty, mm * n, accumulator(c_ty), false)?;
    let d = fragment(d, to, d_ty, mm * n, accumulator(d_ty), true)?;
    Ok(Product { m: mm, n, k, a, b, c, d, saturate, xor })
}
