//! The operations that expansions are written in: floats of one width, integers of the same width, truth values.
//! Written over a trait, an expansion can be emitted as IR, and evaluated on the host to measure its error.

use crate::ops::{BinaryOp, CmpOp, UnaryOp};

use super::coefficients::{F32, F64, Table};

/// The float format of an expansion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    /// `f32`.
    W32,
    /// `f64`.
    W64,
}

impl Width {
    /// Bits of the format and of its integers.
    pub const fn bits(self) -> i64 {
        match self {
            Width::W32 => 32,
            Width::W64 => 64,
        }
    }

    /// Stored mantissa bits.
    pub const fn mantissa_bits(self) -> i64 {
        match self {
            Width::W32 => 23,
            Width::W64 => 52,
        }
    }

    /// Exponent bias.
    pub const fn bias(self) -> i64 {
        match self {
            Width::W32 => 127,
            Width::W64 => 1023,
        }
    }

    /// The coefficients.
    pub const fn table(self) -> &'static Table {
        match self {
            Width::W32 => &F32,
            Width::W64 => &F64,
        }
    }

    /// The value for this width.
    pub const fn pick(self, w32: f64, w64: f64) -> f64 {
        match self {
            Width::W32 => w32,
            Width::W64 => w64,
        }
    }

    /// 1.5 · 2^mantissa: adding it rounds to an integer, which then stands in the lowest bits.
    pub const fn round_magic(self) -> f64 {
        self.pick(12582912.0, 6755399441055744.0)
    }

    /// Bits of [`Width::round_magic`].
    pub const fn round_magic_bits(self) -> i64 {
        match self {
            Width::W32 => 0x4b40_0000,
            Width::W64 => 0x4338_0000_0000_0000,
        }
    }

    /// The least normal number.
    pub const fn min_normal(self) -> f64 {
        self.pick(f32::MIN_POSITIVE as f64, f64::MIN_POSITIVE)
    }
}

/// Where expansions run: in the IR, or on the host.
pub trait MathOps {
    /// A float.
    type F: Copy;
    /// A signed integer of the float's width.
    type I: Copy;
    /// A truth value.
    type B: Copy;

    /// The format.
    fn width(&self) -> Width;
    /// A float constant, rounded to the format.
    fn c(&mut self, v: f64) -> Self::F;
    /// An integer constant (the low bits count).
    fn i(&mut self, v: i64) -> Self::I;
    /// A function of floats.
    fn unary(&mut self, op: UnaryOp, x: Self::F) -> Self::F;
    /// A function of two floats.
    fn binary(&mut self, op: BinaryOp, a: Self::F, b: Self::F) -> Self::F;
    /// `a * b + c`, rounded once.
    fn fma(&mut self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// A comparison of floats.
    fn cmp(&mut self, op: CmpOp, a: Self::F, b: Self::F) -> Self::B;
    /// A choice of floats.
    fn select(&mut self, c: Self::B, a: Self::F, b: Self::F) -> Self::F;
    /// A choice of integers.
    fn iselect(&mut self, c: Self::B, a: Self::I, b: Self::I) -> Self::I;
    /// A function of two signed integers.
    fn int(&mut self, op: BinaryOp, a: Self::I, b: Self::I) -> Self::I;
    /// A function of two integers taken as unsigned.
    fn uint(&mut self, op: BinaryOp, a: Self::I, b: Self::I) -> Self::I;
    /// A comparison of signed integers.
    fn icmp(&mut self, op: CmpOp, a: Self::I, b: Self::I) -> Self::B;
    /// A comparison of integers taken as unsigned.
    fn ucmp(&mut self, op: CmpOp, a: Self::I, b: Self::I) -> Self::B;
    /// A function of truth values.
    fn logic(&mut self, op: BinaryOp, a: Self::B, b: Self::B) -> Self::B;
    /// The bits of a float.
    fn bits(&mut self, x: Self::F) -> Self::I;
    /// The float with these bits.
    fn float_of_bits(&mut self, x: Self::I) -> Self::F;
    /// A signed integer as a float.
    fn float(&mut self, x: Self::I) -> Self::F;
    /// Whether the target has a primitive for this function within its bound, to build on.
    fn native(&self, op: UnaryOp) -> bool;
    /// The target's approximation of a function.
    fn approximate(&mut self, op: UnaryOp, x: Self::F) -> Self::F;

    /// `a + b`.
    fn add(&mut self, a: Self::F, b: Self::F) -> Self::F {
        self.binary(BinaryOp::Add, a, b)
    }
    /// `a - b`.
    fn sub(&mut self, a: Self::F, b: Self::F) -> Self::F {
        self.binary(BinaryOp::Sub, a, b)
    }
    /// `a * b`.
    fn mul(&mut self, a: Self::F, b: Self::F) -> Self::F {
        self.binary(BinaryOp::Mul, a, b)
    }
    /// `a / b`.
    fn div(&mut self, a: Self::F, b: Self::F) -> Self::F {
        self.binary(BinaryOp::Div, a, b)
    }
    /// `a * v` with a constant.
    fn mulc(&mut self, a: Self::F, v: f64) -> Self::F {
        let v = self.c(v);
        self.mul(a, v)
    }
    /// `a + v` with a constant.
    fn addc(&mut self, a: Self::F, v: f64) -> Self::F {
        let v = self.c(v);
        self.add(a, v)
    }
    /// `v - a` with a constant.
    fn csub(&mut self, v: f64, a: Self::F) -> Self::F {
        let v = self.c(v);
        self.sub(v, a)
    }
    /// `a * b + v` with constants as said.
    fn fma_cc(&mut self, a: Self::F, b: f64, c: f64) -> Self::F {
        let (b, c) = (self.c(b), self.c(c));
        self.fma(a, b, c)
    }
    /// `a * v + c` with a constant factor.
    fn fmac(&mut self, a: Self::F, v: f64, c: Self::F) -> Self::F {
        let v = self.c(v);
        self.fma(a, v, c)
    }
    /// `-x`.
    fn neg(&mut self, x: Self::F) -> Self::F {
        self.unary(UnaryOp::Neg, x)
    }
    /// `|x|`.
    fn abs(&mut self, x: Self::F) -> Self::F {
        self.unary(UnaryOp::Abs, x)
    }
    /// `|a|` with the sign of `b`.
    fn copysign(&mut self, a: Self::F, b: Self::F) -> Self::F {
        self.binary(BinaryOp::CopySign, a, b)
    }
    /// Comparison with a constant.
    fn cmpc(&mut self, op: CmpOp, a: Self::F, v: f64) -> Self::B {
        let v = self.c(v);
        self.cmp(op, a, v)
    }
    /// Whether x is NaN.
    fn is_nan(&mut self, x: Self::F) -> Self::B {
        self.cmp(CmpOp::Ne, x, x)
    }
    /// Integer operation with a constant.
    fn intc(&mut self, op: BinaryOp, a: Self::I, v: i64) -> Self::I {
        let v = self.i(v);
        self.int(op, a, v)
    }
    /// Unsigned operation with a constant.
    fn uintc(&mut self, op: BinaryOp, a: Self::I, v: i64) -> Self::I {
        let v = self.i(v);
        self.uint(op, a, v)
    }
    /// A polynomial by Horner's rule, coefficients lowest degree first.
    fn poly(&mut self, x: Self::F, coefficients: &[f64]) -> Self::F {
        let (last, rest) = coefficients.split_last().expect("a polynomial has a coefficient");
        let last = self.c(*last);
        rest.iter().rev().fold(last, |p, &c| {
            let c = self.c(c);
            self.fma(p, x, c)
        })
    }
    /// `x` limited to `lo..=hi`; NaN stays.
    fn clamp(&mut self, x: Self::F, lo: f64, hi: f64) -> Self::F {
        let (l, h) = (self.c(lo), self.c(hi));
        let above = self.cmp(CmpOp::Gt, x, h);
        let x = self.select(above, h, x);
        let below = self.cmp(CmpOp::Lt, x, l);
        self.select(below, l, x)
    }
}
