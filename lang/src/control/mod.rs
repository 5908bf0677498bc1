//! What the macro turns control flow into.
//!
//! Each construct is a *driver*: ordinary Rust code around the user's own blocks, which decides at build time
//! or opens a region of Tile IR, by the type of the condition or range. The user's blocks stand where they
//! stood, so that borrows, types and spans are the user's. The macro announces each outer variable that a
//! block assigns through [`carry::Carries`].
//!
//! | module | subject |
//! |---|---|
//! | [`carry`] | values that loops and branches can carry |
//! | [`branch`] | `if` |
//! | [`range`] | ranges and what `for` runs over |
//! | [`loops`] | `for`, `while`, `loop` |
//! | [`flag`] | `break`, `continue` and `return` under a condition |
//! | [`host`] | `match` and `as`, which build time decides |

pub mod branch;
pub mod carry;
pub mod flag;
pub mod host;
pub mod loops;
pub mod range;
