//! The text format of Tile IR: what people read, what tests are written in, and what a bug report holds.
//!
//! Printing and parsing are inverse: the text of a function parses back to the same function, and prints to the
//! same text. Source locations are printed where [`PrintOptions::locs`] asks for them; without, ops that are
//! parsed get their place in the text.
//!
//! ```text
//! ; a comment; `//` starts one too
//! kernel @scale(%x: view<2d, f16> read {align = 16, unit_inner}, %s: f32, %y: view<2d, f16> write)
//!     grid(%y = [32, 64]) dims(R = 32, N = 64) num_warps(4) {
//!   %i = program_id 0 : i64
//!   %zero = constant 0 : i64
//!   %t = load %x[%i, %zero] in_bounds [1] : tile<32x64xf16>
//!   %w = cast %t : tile<32x64xf32>
//!   %f = splat %s : tile<32x64xf32>
//!   %p = mul %w, %f : tile<32x64xf32>
//!   %h = cast %p : tile<32x64xf16>
//!   store %h, %y[%i, %zero]
//!   return
//! }
//! ```
//!
//! * `%name` is a value, `%name.1` another of the same name, `%0` one without a name.
//! * Operands come first, then named parts (`mask %m`, `axis 1`), then attributes that differ from their default
//!   (`{cache = streaming}`), then `:` and the types of the results. Ops with nested blocks put the types behind
//!   `->`, before the first block.
//! * The types of the results may be left out where the operands give them; where they are written they are
//!   checked. They are needed where they are an attribute of the op: `constant`, `arange`, `splat`, `broadcast`,
//!   `reshape`, `extract_slice`, `cast`, `bitcast`, `convert_layout`, and a `load` or an atomic of a box.
//! * `#l0 = layout<...>` names a layout for use in types: `tile<32x64xf16, #l0>`.
//! * `loc("file.rs":3:7)` at the end of an op is its place in the user's source; `#loc1 = loc(...)` names one.
//!
//! | file | subject |
//! |---|---|
//! | `print` | printing functions and ops |
//! | `names` | unique printed names of values |
//! | `scalar` | literals, strings and identifiers, both ways |
//! | `lex` | tokens |
//! | `parse` | parsing modules, headers, types and ops |
//! | `error` | what can be wrong with a text |
//! | `nearest` | suggestions for misspelt names |

mod error;
mod lex;
mod names;
mod nearest;
mod parse;
mod print;
mod scalar;

pub use error::{ParseError, ParseErrorKind};
#[cfg(any(test, feature = "testing"))]
pub(crate) use lex::Token;
pub use nearest::nearest;
#[cfg(any(test, feature = "testing"))]
pub(crate) use parse::cursor::Cursor;
pub use parse::{mnemonics, parse_function, parse_module};
pub use print::{LocStyle, PrintOptions, print_function, print_module};
#[cfg(test)]
mod tests;
