//! Literal values: what constants, scalar arguments and padding hold.

use crate::types::ScalarType;

/// A number or truth value. Its [`ScalarType`] is kept beside it; the literal itself only knows the family.
#[derive(Clone, Copy, Debug)]
pub enum Literal {
    /// A truth value.
    Bool(bool),
    /// An integer of any width: the value for signed types, the two's-complement bits for `u64`.
    Int(i64),
    /// A float of any format; every format is a subset of `f64`.
    Float(f64),
}

impl Literal {
    /// Zero (false) of a type.
    pub const fn zero(t: ScalarType) -> Self {
        Self::small(t, 0)
    }

    /// A small integer in the family of `t` (for `Bool`: not zero).
    pub const fn small(t: ScalarType, v: i32) -> Self {
        match t {
            ScalarType::Bool => Self::Bool(v != 0),
            t if t.is_float() => Self::Float(v as f64),
            _ => Self::Int(v as i64),
        }
    }

    /// Whether the literal's family is that of the type.
    pub const fn fits(&self, t: ScalarType) -> bool {
        match self {
            Self::Bool(_) => matches!(t, ScalarType::Bool),
            Self::Int(_) => t.is_int(),
            Self::Float(_) => t.is_float(),
        }
    }

    /// Whether the literal is a value of the type: its family fits, and an integer lies in the type's range (for
    /// `u64`, whose bits it holds, every integer does).
    pub const fn in_range(&self, t: ScalarType) -> bool {
        match *self {
            Self::Int(v) => match t.bits() {
                _ if !self.fits(t) => false,
                64 => true,
                bits if t.is_signed_int() => v >= -(1 << (bits - 1)) && v < 1 << (bits - 1),
                bits => v >= 0 && v < 1 << bits,
            },
            _ => self.fits(t),
        }
    }

    /// The integer value, if it is one.
    pub const fn as_int(&self) -> Option<i64> {
        if let Self::Int(v) = self { Some(*v) } else { None }
    }
}

// Floats compare and hash by their bits, so that NaN constants can be numbered and -0.0 stays apart from 0.0.
impl Literal {
    fn key(&self) -> (u8, u64) {
        match *self {
            Self::Bool(b) => (0, u64::from(b)),
            Self::Int(v) => (1, v as u64),
            Self::Float(v) => (2, v.to_bits()),
        }
    }
}

impl PartialEq for Literal {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Literal {}

impl std::hash::Hash for Literal {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}
