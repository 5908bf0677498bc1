//! The text form of layouts: printing, and parsing of exactly what is printed.
//!
//! ```text
//! 128x64: reg d1[1 2 4] d0[64], lane d1[8 16 32] d0[1 2], warp d0[4 8 16 32]
//! 16x16: reg d1[1], lane 0 0 d0[1 2 4], warp d1:2^d0:8
//! ```
//!
//! First the padded shape of the tile; then, for each input dimension, its bases from the lowest bit. `d1[1 2 4]` is
//! three bases along axis 1; `0` is a basis that changes nothing; `d1:2^d0:8` is one basis that moves along both axes.
//! An input dimension of size 1 is left out. A map that does not end in a tile names its outputs: `(reg 4, lane 32): …`.

use super::linear::LinearLayout;
use super::space::{Dim, Space};
use std::fmt;
use std::str::FromStr;

impl fmt::Display for LinearLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.outs())?;
        for (i, (dim, _)) in self.ins().dims().enumerate() {
            write!(f, "{} {dim}", if i == 0 { ":" } else { "," })?;
            if self.bases(dim).is_empty() {
                f.write_str(" -")?;
            }
            let mut open: Option<Dim> = None;
            for &basis in self.bases(dim) {
                let moves: Vec<(Dim, u32)> = self
                    .outs()
                    .dims()
                    .map(|(out, _)| (out, self.outs().coordinate(basis, out)))
                    .filter(|&(_, value)| value != 0)
                    .collect();
                let along = match moves[..] {
                    [(out, _)] => Some(out),
                    _ => None,
                };
                if open.is_some() && open != along {
                    f.write_str("]")?;
                }
                match moves[..] {
                    [] => f.write_str(" 0")?,
                    [(_, value)] if open == along => write!(f, " {value}")?,
                    [(out, value)] => write!(f, " {out}[{value}")?,
                    _ => {
                        for (j, (out, value)) in moves.iter().enumerate() {
                            write!(f, "{}{out}:{value}", if j == 0 { " " } else { "^" })?;
                        }
                    }
                }
                open = along;
            }
            if open.is_some() {
                f.write_str("]")?;
            }
        }
        Ok(())
    }
}

/// Why a text is not a layout.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct ParseLayoutError {
    /// Byte offset in the text.
    pub offset: usize,
    /// What is wrong there.
    pub message: String,
}

impl FromStr for LinearLayout {
    type Err = ParseLayoutError;

    fn from_str(text: &str) -> Result<Self, ParseLayoutError> {
        let mut parser = Parser { text, at: 0 };
        let layout = parser.layout()?;
        if parser.peek().is_some() {
            return Err(parser.error("expected `,` and an input dimension, a basis, or the end of the layout"));
        }
        Ok(layout)
    }
}

/// The most bits that the text form takes for a dimension: coordinates are 32-bit.
const MAX_BITS: u32 = 31;

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn layout(&mut self) -> Result<LinearLayout, ParseLayoutError> {
        let outs = self.outs()?;
        let mut bases: Vec<(Dim, Vec<u64>)> = Vec::new();
        if self.eat(':') {
            loop {
                let start = self.skip_space();
                let dim = self.dim()?;
                if bases.iter().any(|&(d, _)| d == dim) {
                    return Err(self.error_at(start, format!("input dimension `{dim}` is given twice")));
                }
                bases.push((dim, self.bases(&outs)?));
                if !self.eat(',') {
                    break;
                }
            }
        }
        if bases.iter().map(|(_, bases)| bases.len()).sum::<usize>() > 64 {
            return Err(self.error("a layout has at most 64 bases"));
        }
        Ok(LinearLayout::from_bases(outs, bases))
    }

    fn outs(&mut self) -> Result<Space, ParseLayoutError> {
        let start = self.skip_space();
        let mut dims = Vec::new();
        if self.eat('(') {
            while !self.eat(')') {
                let start = self.skip_space();
                let dim = self.dim()?;
                if dims.iter().any(|&(d, _)| d == dim) {
                    return Err(self.error_at(start, format!("output dimension `{dim}` is given twice")));
                }
                dims.push((dim, self.extent()?));
                if !self.eat(',') && self.peek() != Some(')') {
                    return Err(self.error("expected `,` or `)`"));
                }
            }
        } else {
            loop {
                if dims.len() > usize::from(u8::MAX) {
                    return Err(self.error("too many axes"));
                }
                dims.push((Dim::Axis(dims.len() as u8), self.extent()?));
                if !self.eat('x') {
                    break;
                }
            }
        }
        if dims.iter().map(|&(_, bits)| bits).sum::<u32>() > 64 {
            return Err(self.error_at(start, "a layout has at most 64 output bits"));
        }
        Ok(Space::new(dims))
    }

    fn extent(&mut self) -> Result<u32, ParseLayoutError> {
        let start = self.skip_space();
        let extent = self.number()?;
        let bits = extent.checked_ilog2().filter(|_| extent.is_power_of_two());
        bits.filter(|&bits| bits <= MAX_BITS).ok_or_else(|| {
            self.error_at(start, format!("the extent {extent} is not a power of two; layouts are over padded extents"))
        })
    }

    fn bases(&mut self, outs: &Space) -> Result<Vec<u64>, ParseLayoutError> {
        let mut bases = Vec::new();
        if self.eat('-') {
            return Ok(bases);
        }
        while let Some(next) = self.peek() {
            let start = self.at;
            if next == '0' {
                self.at += 1;
                bases.push(0);
                continue;
            }
            if !next.is_ascii_alphabetic() {
                break;
            }
            let dim = self.dim()?;
            if !outs.contains(dim) {
                return Err(self.error_at(start, format!("`{dim}` is not an output dimension of the layout")));
            }
            if self.eat('[') {
                while !self.eat(']') {
                    bases.push(self.step(outs, dim)?);
                }
                continue;
            }
            let mut basis = self.expect(':').and_then(|()| self.step(outs, dim))?;
            while self.eat('^') {
                let dim = self.dim()?;
                basis ^= self.expect(':').and_then(|()| self.step(outs, dim))?;
            }
            bases.push(basis);
        }
        Ok(bases)
    }

    /// A nonzero move along one dimension, as a flattened index.
    fn step(&mut self, outs: &Space, dim: Dim) -> Result<u64, ParseLayoutError> {
        let start = self.skip_space();
        let value = self.number()?;
        if value == 0 {
            return Err(self.error_at(
                start,
                "a move along a dimension is not 0; write a bare `0` for a basis that changes nothing",
            ));
        }
        if value >= u64::from(outs.size(dim)) {
            return Err(
                self.error_at(start, format!("{value} is outside `{dim}`, which has {} elements", outs.size(dim)))
            );
        }
        Ok(outs.flatten(&[(dim, value as u32)]))
    }

    fn dim(&mut self) -> Result<Dim, ParseLayoutError> {
        let start = self.skip_space();
        let word: String = self.text[start..].chars().take_while(char::is_ascii_alphanumeric).collect();
        self.at += word.len();
        let axis = word.strip_prefix('d').and_then(|digits| digits.parse().ok()).map(Dim::Axis);
        let named = [Dim::Register, Dim::Lane, Dim::Warp, Dim::Block, Dim::Offset];
        axis.or_else(|| named.into_iter().find(|dim| dim.to_string() == word)).ok_or_else(|| {
            self.error_at(
                start,
                "expected a dimension: `reg`, `lane`, `warp`, `block`, `offset`, or an axis such as `d0`",
            )
        })
    }

    fn number(&mut self) -> Result<u64, ParseLayoutError> {
        let start = self.skip_space();
        let digits: String = self.text[start..].chars().take_while(char::is_ascii_digit).collect();
        self.at += digits.len();
        digits.parse().map_err(|_| self.error_at(start, "expected a number"))
    }

    fn skip_space(&mut self) -> usize {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.at
    }

    fn peek(&mut self) -> Option<char> {
        let start = self.skip_space();
        self.text[start..].chars().next()
    }

    fn eat(&mut self, token: char) -> bool {
        let found = self.peek() == Some(token);
        if found {
            self.at += token.len_utf8();
        }
        found
    }

    fn expect(&mut self, token: char) -> Result<(), ParseLayoutError> {
        if self.eat(token) { Ok(()) } else { Err(self.error(format!("expected `{token}`"))) }
    }

    fn error(&mut self, message: impl Into<String>) -> ParseLayoutError {
        let offset = self.skip_space();
        self.error_at(offset, message)
    }

    fn error_at(&self, offset: usize, message: impl Into<String>) -> ParseLayoutError {
        ParseLayoutError { offset, message: message.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn round_trip(text: &str) {
        let layout: LinearLayout = text.parse().unwrap_or_else(|error| panic!("{text}: {error:?}"));
        assert_eq!(layout.to_string(), text);
    }

    #[test]
    fn texts_round_trip() {
        round_trip("128x64: reg d1[1 2 4] d0[64], lane d1[8 16 32] d0[1 2], warp d0[4 8 16 32]");
        round_trip("16x16: reg d1[1], lane 0 0 d0[1 2 4], warp d1:2^d0:8");
        round_trip("64x64: offset d1[1 2 4 8 16 32] d1:1^d0:1 d1:2^d0:2 d0[4]");
        round_trip("8: reg d0[1 3 7]");
        round_trip("1x8: lane d1[1 2 4]");
        round_trip("(): lane 0 0");
        round_trip("()");
        round_trip("(reg 8, lane 32): reg reg[1 2], lane lane[1] reg[4]");
        round_trip("(offset 16): d1 offset[1 2], d0 -");
    }

    #[track_caller]
    fn fails(text: &str, offset: usize, message: &str) {
        let error = text.parse::<LinearLayout>().expect_err(text);
        assert_eq!((error.offset, error.message.as_str()), (offset, message), "{text}");
    }

    #[test]
    fn errors_say_where_and_what() {
        fails("12: reg d0[1]", 0, "the extent 12 is not a power of two; layouts are over padded extents");
        fails("8: reg d1[1]", 7, "`d1` is not an output dimension of the layout");
        fails("8: reg d0[8]", 10, "8 is outside `d0`, which has 8 elements");
        fails("8: reg d0[1], reg 0", 14, "input dimension `reg` is given twice");
        fails("8: reg d0[1", 11, "expected a number");
        fails(
            "8: reg d0[0]",
            10,
            "a move along a dimension is not 0; write a bare `0` for a basis that changes nothing",
        );
        fails(
            "8: thread 0",
            3,
            "expected a dimension: `reg`, `lane`, `warp`, `block`, `offset`, or an axis such as `d0`",
        );
        fails("8: reg d0[1] 7", 13, "expected `,` and an input dimension, a basis, or the end of the layout");
        fails("8: reg d0 1", 10, "expected `:`");
        fails("x", 0, "expected a number");
        fails("99999999999999999999", 0, "expected a number");
    }
}
