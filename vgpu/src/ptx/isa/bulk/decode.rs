//! Decoding `cp.async.bulk…`, `cp.reduce.async.bulk…` and `tensormap`.

use super::{BulkOp, CopyForm, Direction};
use crate::counters::Class;
use crate::error::Result;
use crate::ptx::decode::{AddressOperand, Decoder, Modifiers, Space, Ty};
use crate::ptx::isa::atomic::Update;
use crate::ptx::isa::{Op, copy};
use crate::ptx::program::NONE;
use crate::ptx::syntax::ast::{Instruction, Operand};

/// Decodes `cp`.
pub(in crate::ptx::isa) fn decode_cp(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<(Op, Class)> {
    let reduces = m.take("reduce");
    m.take("async");
    let op = if !m.take("bulk") {
        copy::decode(d, i, m)?
    } else if m.take("commit_group") {
        Some(Op::Bulk(Box::new(BulkOp::Commit)))
    } else if m.take("wait_group") {
        m.take("read");
        let [left] = d.operands(i)?;
        Some(Op::Bulk(Box::new(BulkOp::Wait { left: d.immediate(left)? as u32 })))
    } else if m.take("prefetch") {
        decode_prefetch(d, i, m)?
    } else {
        decode_bulk(d, i, m, reduces)?
    };
    match op {
        Some(op) => Ok((op, Class::Async)),
        None => Err(d.unsupported("no such form of cp")),
    }
}

fn decode_prefetch(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Option<Op>> {
    m.take("tensor");
    m.any(&["1d", "2d", "3d", "4d", "5d"]);
    m.any(&["L2", "tile", "im2col"]);
    m.any(&["global", "tile", "im2col"]);
    m.any(&["tile", "im2col"]);
    m.cache();
    if let Some(address) = i.operands.first() {
        d.address(address)?;
    }
    Ok(Some(Op::Nop))
}

/// Coordinates in an address' braces.
fn coordinates(d: &mut Decoder, operand: &Operand, rank: usize) -> Result<Vec<u32>> {
    let Operand::Address { coordinates: Some(list), .. } = operand else {
        return Err(d.bad("coordinates are missing"));
    };
    if list.len() != rank {
        return Err(d.bad(format!("expected {rank} coordinates, found {}", list.len())));
    }
    list.iter().map(|operand| d.word(operand, Ty::S32)).collect()
}

fn decode_bulk(d: &mut Decoder, i: &Instruction, m: &mut Modifiers, reduces: bool) -> Result<Option<Op>> {
    let tensor = m.take("tensor");
    let rank = m.any(&["1d", "2d", "3d", "4d", "5d"]).map(|word| usize::from(word.as_bytes()[0] - b'0'));
    // Destination, then source.
    let spaces = ["shared::cluster", "shared::cta", "global"];
    let (Some(to), Some(from)) =
        (m.map(|word| spaces.contains(&word).then_some(word)), m.map(|word| spaces.contains(&word).then_some(word)))
    else {
        return Ok(None);
    };
    let im2col = m.any(&["im2col", "im2col_no_offs"]).is_some();
    m.take("tile");
    const MODES: [&str; 6] = [
        "tile::gather4",
        "tile::scatter4",
        "im2col::w",
        "im2col::w::128",
        "im2col_no_offs::w",
        "im2col_no_offs::w::128",
    ];
    if let Some(mode) = m.any(&MODES) {
        return Err(d.requires("sm_100a", &format!("the mode `.{mode}`")));
    }
    let barrier = m.take("mbarrier::complete_tx::bytes");
    m.take("bulk_group");
    let multicast = m.take("multicast::cluster");
    if m.any(&["cta_group::1", "cta_group::2"]).is_some() {
        return Err(d.requires("sm_100a", "pairs of programs"));
    }
    if m.take("cp_mask") {
        return Err(d.requires("sm_100", "masks of bytes"));
    }
    m.cache();
    let mut reduce = None;
    if reduces {
        let Some(update) = m.map(Update::parse) else { return Ok(None) };
        m.take("noftz");
        reduce = Some((update, m.ty()));
    }
    let direction = match (to, from) {
        ("global", _) => Direction::Store,
        (_, "global") => Direction::Load,
        _ => Direction::SharedToShared,
    };
    if barrier == (direction == Direction::Store) {
        return Err(d.bad("loads complete on a memory barrier, stores in a bulk group"));
    }
    let operands = i.operands.as_slice();
    let zero = AddressOperand { base: crate::ptx::decode::AddressBase::None, offset: 0, space: None };
    let mut form = CopyForm {
        direction,
        to: zero,
        from: zero,
        to_space: if to == "shared::cluster" { Space::SharedCluster } else { Space::Shared },
        bytes: NONE,
        coordinates: None,
        offsets: Vec::new(),
        im2col,
        barrier: None,
        multicast: NONE,
        reduce,
    };
    let [first, second, rest @ ..] = operands else {
        return Err(d.bad("operands are missing"));
    };
    form.to = d.address(first)?;
    form.from = d.address(second)?;
    let mut rest = rest.iter();
    if tensor {
        let Some(rank) = rank else { return Ok(None) };
        let described = if direction == Direction::Load { second } else { first };
        form.coordinates = Some(coordinates(d, described, rank)?);
    } else {
        let Some(bytes) = rest.next() else {
            return Err(d.bad("the size is missing"));
        };
        form.bytes = d.word(bytes, Ty::U32)?;
    }
    if barrier {
        let Some(operand) = rest.next() else {
            return Err(d.bad("the memory barrier is missing"));
        };
        form.barrier = Some(d.address(operand)?);
    }
    if im2col && direction == Direction::Load {
        if let Some(Operand::Vector(list)) = rest.next() {
            form.offsets = list.iter().map(|operand| d.word(operand, Ty::U16)).collect::<Result<_>>()?;
        } else {
            return Err(d.bad("the im2col offsets are missing"));
        }
    }
    if multicast {
        let Some(operand) = rest.next() else {
            return Err(d.bad("the mask of programs is missing"));
        };
        form.multicast = d.word(operand, Ty::U16)?;
    }
    Ok(Some(Op::Bulk(Box::new(BulkOp::Copy(Box::new(form))))))
}

/// Decodes `tensormap.replace`.
pub(in crate::ptx::isa) fn decode_tensormap(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Option<Op>> {
    const FIELDS: [&str; 11] = [
        "global_address",
        "rank",
        "box_dim",
        "global_dim",
        "global_stride",
        "element_stride",
        "elemtype",
        "interleave_layout",
        "swizzle_mode",
        "fill_mode",
        "swizzle_atomicity",
    ];
    if m.take("cp_fenceproxy") {
        m.any(&["global"]);
        m.any(&["shared::cta", "shared"]);
        m.take("tensormap::generic");
        m.take("release");
        m.any(&["cta", "cluster", "gpu", "sys"]);
        m.take("sync");
        m.take("aligned");
        let [to, from, bytes] = d.operands(i)?;
        if d.immediate(bytes)? != 128 {
            return Err(d.bad("a tensor map has 128 bytes"));
        }
        let (to, from) = (d.address(to)?, d.address(from)?);
        return Ok(Some(Op::Bulk(Box::new(BulkOp::Publish { to, from }))));
    }
    if !m.take("replace") {
        return Ok(None);
    }
    m.take("tile");
    let Some(field) = m.any(&FIELDS) else { return Ok(None) };
    let space = match m.any(&["global", "shared::cta"]) {
        Some("global") => Space::Global,
        Some(_) => Space::Shared,
        None => Space::Generic,
    };
    m.take("b1024");
    let wide = m.ty().is_some_and(|ty| ty.bits() == 64);
    // Before PTX 8.5 strides are given in units of 16 bytes.
    let scale = u32::from(field == "global_stride" && d.version() < (8, 5)) * 4;
    let (address, ordinal, value) = match i.operands.as_slice() {
        [address, value] => (address, 0, value),
        [address, ordinal, value] => (address, d.immediate(ordinal)?, value),
        _ => return Err(d.bad("expected an address and a value")),
    };
    let address = d.address(address)?;
    let value = if wide { d.double(value, Ty::B64)? } else { d.word(value, Ty::B32)? };
    Ok(Some(Op::Bulk(Box::new(BulkOp::Replace {
        field,
        ordinal: ordinal.clamp(0, 4) as usize,
        space,
        address,
        value,
        wide,
        scale,
    }))))
}
