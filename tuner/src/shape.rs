//! Classes of argument extents: launches whose tensors are of about the same size share a choice.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tegula_lang::host::{Arg, PointerArg};

use crate::error::Error;

/// The extents of all tensors of a call, each rounded up to a power of two; `1024x64 64` is a matrix of 1024 × 64 and
/// a vector of 64.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shape(Vec<Vec<u8>>);

/// The exponent of the smallest power of two that is not below `n`; 0 for nothing.
fn exponent(n: i64) -> u8 {
    u64::try_from(n).unwrap_or(0).max(1).next_power_of_two().trailing_zeros() as u8
}

impl Shape {
    /// The class of these extents.
    pub fn new<'a>(tensors: impl IntoIterator<Item = &'a [i64]>) -> Self {
        Self(tensors.into_iter().map(|t| t.iter().map(|&n| exponent(n)).collect()).collect())
    }

    /// The class of a call's arguments.
    pub fn of_args(args: &[Arg<'_>]) -> Self {
        Self::new(args.iter().filter_map(|arg| match arg {
            Arg::Read(t) => Some(t.extents()),
            Arg::Write(t) | Arg::Pointer(_, PointerArg::Tensor(t)) => Some(t.extents()),
            Arg::Scalar(..) | Arg::Pointer(..) => None,
        }))
    }

    /// How far apart two classes are, in doublings of an extent; `None` if ranks differ.
    pub fn distance(&self, other: &Self) -> Option<u32> {
        let same = self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(|(a, b)| a.len() == b.len());
        let pairs = || self.0.iter().flatten().zip(other.0.iter().flatten());
        same.then(|| pairs().map(|(a, b)| u32::from(a.abs_diff(*b))).sum())
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tensor = |t: &Vec<u8>| match t.len() {
            0 => "()".to_owned(),
            _ => t.iter().map(|&e| (1u64 << e).to_string()).collect::<Vec<_>>().join("x"),
        };
        f.write_str(&self.0.iter().map(tensor).collect::<Vec<_>>().join(" "))
    }
}

impl FromStr for Shape {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = || Error::Config { text: text.into() };
        let extent = |n: &str| n.parse::<i64>().ok().filter(|&n| (1..=1 << 62).contains(&n)).ok_or_else(bad);
        let tensor = |t: &str| match t {
            "()" => Ok(Vec::new()),
            _ => t.split('x').map(|n| extent(n).map(exponent)).collect(),
        };
        Ok(Self(text.split_whitespace().map(tensor).collect::<Result<_, _>>()?))
    }
}

impl TryFrom<String> for Shape {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<Shape> for String {
    fn from(shape: Shape) -> Self {
        shape.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn extents_are_rounded_up() {
        let shape = Shape::new([&[1000, 64, 65][..], &[], &[1, 0]]);
        assert_eq!(shape.to_string(), "1024x64x128 () 1x1");
        assert_eq!(shape.distance(&Shape::new([&[1025, 64, 1][..], &[], &[1, 1]])), Some(1 + 7));
        assert_eq!(shape.distance(&Shape::new([&[1025, 64][..], &[], &[1, 1]])), None);
    }

    proptest! {
        #[test]
        fn text_form_reads_back(t in prop::collection::vec(prop::collection::vec(0i64..1 << 40, 0..5), 1..5)) {
            let shape = Shape::new(t.iter().map(Vec::as_slice));
            prop_assert_eq!(shape.to_string().parse::<Shape>().expect("it reads back"), shape);
        }
    }
}
