//! Asynchronous matrix products.

use super::Op;
use crate::counters::Class;
use crate::error::Result;
use crate::ptx::decode::{Decoder, Modifiers};
use crate::ptx::exec::{Cx, Step};
use crate::ptx::program::InstInfo;
use crate::ptx::syntax::ast::Instruction;

#[derive(Default)]
pub(crate) struct MatrixQueue {}
impl MatrixQueue {
    pub fn is_empty(&self) -> bool {
        true
    }
    pub fn touches(&self, _info: &InstInfo) -> bool {
        false
    }
}
pub(crate) struct WgmmaOp;
impl WgmmaOp {
    pub fn execute(&self, _cx: &mut Cx) -> Result<Step> {
        Ok(Step::Next)
    }
}
impl Cx<'_> {
    pub fn find_matrix_in_flight(&self) {}
}
pub(super) fn decode(d: &mut Decoder, _i: &Instruction, _m: &mut Modifiers) -> Result<(Op, Class)> {
    Err(d.unsupported("asynchronous matrix products"))
}
