//! Values out of registers into the shared memory of a program of the cluster, counted on a memory barrier there: `st.async` and
//! `red.async`; and `st.bulk`, which zeroes shared memory.

use super::{BulkOp, Kind};
use crate::error::Result;
use crate::finding::FindingKind;
use crate::ptx::decode::{AddressOperand, Decoder, Modifiers, Space, Ty};
use crate::ptx::exec::Cx;
use crate::ptx::exec::memory::Place;
use crate::ptx::isa::Op;
use crate::ptx::isa::atomic::Update;
use crate::ptx::syntax::ast::{Instruction, Operand};
use crate::sanitizer::Action;

/// `st.async` or `red.async` as the instruction states it.
pub(crate) struct RemoteForm {
    to: AddressOperand,
    barrier: AddressOperand,
    ty: Ty,
    wide: bool,
    values: Vec<u32>,
    reduce: Option<Update>,
}

impl RemoteForm {
    /// Checks a lane's store, and gives what is to be queued.
    pub(super) fn start(&self, cx: &mut Cx, lane: usize) -> Option<Kind> {
        let element = self.ty.bytes() as usize;
        let mut data = Vec::with_capacity(element * self.values.len());
        for &slot in &self.values {
            let registers = &cx.warp.registers;
            let value = if self.wide { registers.d(slot)[lane] } else { registers.w(slot)[lane].into() };
            data.extend_from_slice(&value.to_le_bytes()[..element]);
        }
        let address = cx.addresses(&self.to)[lane];
        let Place::Shared { cta, offset } = cx.place(Space::SharedCluster, address, data.len(), data.len(), lane)?
        else {
            cx.find(FindingKind::OutOfBounds, Some(lane), None, None, "the address is not in shared memory");
            return None;
        };
        let address = cx.addresses(&self.barrier)[lane];
        let barrier = cx.memory_barrier(Space::SharedCluster, address, lane)?;
        if barrier.0 != cta {
            let message = "the memory barrier and the destination lie in different programs";
            cx.find(FindingKind::BarrierObject, Some(lane), None, None, message);
            return None;
        }
        if !cx.world.ctas[barrier.0].memory_barriers.contains_key(&barrier.1) {
            let message = format!("there is no initialised mbarrier at {:#x}", barrier.1);
            cx.find(FindingKind::BarrierObject, Some(lane), None, None, message);
            return None;
        }
        let reduce = self.reduce.map(|update| (update, self.ty));
        Some(Kind::Value { data: data.into(), to: (cta, offset), barrier, reduce })
    }
}

/// Decodes `st.async` and `red.async`.
pub(in crate::ptx::isa) fn decode_remote(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Option<Op>> {
    m.any(&["weak", "relaxed"]);
    m.take("cluster");
    if !m.take("shared::cluster") || !m.take("mbarrier::complete_tx::bytes") {
        return Err(d.unsupported("only the forms that complete on an mbarrier in the cluster's shared memory"));
    }
    let reduce = if i.opcode == "red" {
        let Some(update) = m.map(Update::parse) else { return Ok(None) };
        Some(update)
    } else {
        None
    };
    let count = match m.any(&["v2", "v4"]) {
        Some("v2") => 2,
        Some(_) => 4,
        None => 1,
    };
    let Some(ty) = m.ty() else { return Ok(None) };
    let exists = match reduce {
        None => matches!(ty, Ty::B32 | Ty::U32 | Ty::S32 | Ty::F32 | Ty::B64 | Ty::U64 | Ty::S64 | Ty::F64),
        Some(Update::Add) => matches!(ty, Ty::U32 | Ty::S32 | Ty::U64),
        Some(Update::Min | Update::Max) => matches!(ty, Ty::U32 | Ty::S32),
        Some(Update::Increment | Update::Decrement) => ty == Ty::U32,
        Some(Update::And | Update::Or | Update::Xor) => ty == Ty::B32,
        Some(Update::Exchange | Update::CompareAndSwap) => false,
    };
    if !exists || (reduce.is_some() && count != 1) {
        return Err(d.unsupported("this operation does not exist for this type"));
    }
    let [to, value, barrier] = d.operands(i)?;
    let (to, barrier) = (d.address(to)?, d.address(barrier)?);
    let elements = d.vector(value);
    if elements.len() != count {
        return Err(d.bad(format!("expected {count} registers, found {}", elements.len())));
    }
    let wide = ty.bits() == 64;
    let values = elements
        .iter()
        .map(|element| if wide { d.double(element, ty) } else { d.word(element, ty) })
        .collect::<Result<Vec<_>>>()?;
    Ok(Some(Op::Bulk(Box::new(BulkOp::Remote(RemoteForm { to, barrier, ty, wide, values, reduce })))))
}

/// `st.bulk`: so many bytes of zeros.
pub(crate) struct FillForm {
    space: Space,
    to: AddressOperand,
    bytes: u32,
    wide: bool,
}

impl FillForm {
    pub(super) fn execute(&self, cx: &mut Cx) {
        let addresses = cx.addresses(&self.to);
        for lane in cx.lanes() {
            let registers = &cx.warp.registers;
            let bytes =
                if self.wide { registers.d(self.bytes)[lane] } else { registers.w(self.bytes)[lane].into() } as usize;
            if !bytes.is_multiple_of(8) {
                let message = format!("{bytes} bytes, which is not a multiple of 8");
                cx.find(FindingKind::Misaligned, Some(lane), None, None, message);
                continue;
            }
            match cx.place(self.space, addresses[lane], bytes, 8, lane) {
                Some(place @ Place::Shared { .. }) => {
                    let zeros = vec![0; bytes];
                    cx.note(place, bytes, Action::Write, lane, Some(&zeros));
                    cx.write(place, lane, &zeros);
                }
                Some(_) => {
                    cx.find(FindingKind::OutOfBounds, Some(lane), None, None, "the address is not in shared memory");
                }
                None => {}
            }
        }
    }
}

/// Decodes `st.bulk`.
pub(in crate::ptx::isa) fn decode_fill(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Option<Op>> {
    m.take("weak");
    let space = if m.any(&["shared::cta", "shared"]).is_some() { Space::Shared } else { Space::Generic };
    let [to, bytes, value] = d.operands(i)?;
    if !matches!(value, Operand::Number(_)) || d.immediate(value)? != 0 {
        return Err(d.bad("the initial value must be 0"));
    }
    let wide = d.is_double(bytes);
    let bytes = if wide { d.double(bytes, Ty::U64)? } else { d.word(bytes, Ty::U32)? };
    let to = d.address(to)?;
    Ok(Some(Op::Bulk(Box::new(BulkOp::Fill(FillForm { space, to, bytes, wide })))))
}
