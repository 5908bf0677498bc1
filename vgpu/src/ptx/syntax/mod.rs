//! PTX text: tokens, syntax tree, parser. Nothing here knows what an instruction means.

pub mod ast;
mod lexer;
mod parser;

pub use parser::parse;
