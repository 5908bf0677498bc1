//! The text format of Tile IR.

mod nearest;

pub use nearest::nearest;
