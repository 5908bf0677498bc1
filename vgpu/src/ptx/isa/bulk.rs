//! Bulk copies.

use super::{Op, copy};
use crate::counters::Class;
use crate::error::Result;
use crate::ptx::decode::{Decoder, Modifiers};
use crate::ptx::exec::launch::Launched;
use crate::ptx::exec::state::World;
use crate::ptx::exec::{Cx, Step};
use crate::ptx::syntax::ast::Instruction;

pub(crate) struct BulkCopy;
pub(crate) struct BulkOp;

impl BulkOp {
    pub fn execute(&self, _cx: &mut Cx) -> Result<Step> {
        Ok(Step::Next)
    }
}

impl World {
    pub fn complete_bulk(&mut self, _l: &Launched, _index: usize) {}
    pub fn complete_bulk_at_exit(&mut self, _l: &Launched) {
        self.bulk.clear();
    }
}

pub(super) fn decode_cp(
    d: &mut Decoder,
    i: &Instruction,
    m: &mut Modifiers,
) -> Result<(Op, Class)> {
    if m.take("async") && !i.modifiers.iter().any(|word| word == "bulk") {
        return match copy::decode(d, i, m)? {
            Some(op) => Ok((op, Class::Async)),
            None => Err(d.unsupported("no such form")),
        };
    }
    Err(d.unsupported("bulk copies"))
}

pub(super) fn decode_tensormap(
    d: &mut Decoder,
    _i: &Instruction,
    _m: &mut Modifiers,
) -> Result<Option<Op>> {
    Err(d.unsupported("tensor maps"))
}
