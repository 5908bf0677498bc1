//! Loads and stores of all widths, vectors and state spaces, and what goes with addresses.

use super::lanes::{LaneOp, lanes};
use super::{Op, bulk};
use crate::counters::{Class, bank_conflicts, sectors};
use crate::error::Result;
use crate::ptx::decode::{AddressOperand, Decoder, Modifiers, Space, Ty};
use crate::ptx::exec::Cx;
use crate::ptx::exec::memory::{Place, RANK_SHIFT, SHARED_WINDOW};
use crate::ptx::program::{File, Register};
use crate::ptx::syntax::ast::{Instruction, Operand};
use crate::sanitizer::Action;

/// The most bytes of one access by a lane.
pub(super) const MAX_BYTES: usize = 32;

/// How an element in memory becomes a register.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extend {
    Zero,
    Sign,
}

/// A load.
pub(crate) struct LoadOp {
    space: Space,
    address: AddressOperand,
    element: usize,
    extend: Extend,
    wide: bool,
    to: Vec<u32>,
    /// The bytes that count as read, as runs of offset and length. See [`LoadOp::forget_unread`].
    counted: Vec<(usize, usize)>,
    /// Ordered accesses (acquire, volatile, relaxed) count as atomic.
    ordered: bool,
    acquire: bool,
}

/// A store.
pub(crate) struct StoreOp {
    space: Space,
    address: AddressOperand,
    element: usize,
    wide: bool,
    from: Vec<u32>,
    ordered: bool,
    release: bool,
}

impl Cx<'_> {
    /// Counts the traffic of an access by all lanes.
    #[inline]
    pub fn count_access(&mut self, space: Space, addresses: &[u64; 32], bytes: usize, store: bool) {
        let lanes = u64::from(self.mask.count_ones());
        let first = addresses[self.mask.trailing_zeros() as usize % 32];
        let shared =
            matches!(space, Space::Shared | Space::SharedCluster) || space == Space::Generic && first >> 32 == 1;
        let counters = &mut self.warp.counters;
        if shared {
            counters.shared_accesses += 1;
            let mut active = [None; 32];
            for (lane, active) in active.iter_mut().enumerate() {
                if (self.mask >> lane) & 1 == 1 {
                    *active = Some(addresses[lane]);
                }
            }
            counters.bank_conflict_cycles += bank_conflicts(&active, bytes as u32);
        } else if space == Space::Global || space == Space::Generic && first >> 32 >= 5 {
            let mask = self.mask;
            let active = (0..32).filter(|lane| (mask >> lane) & 1 == 1).map(|lane| addresses[lane]);
            let count = sectors(active, bytes as u32);
            if store {
                counters.global_store_sectors += count;
                counters.global_store_bytes += lanes * bytes as u64;
            } else {
                counters.global_load_sectors += count;
                counters.global_load_bytes += lanes * bytes as u64;
            }
        }
    }
}

impl LoadOp {
    /// Parts of a vector that no instruction ever reads do not count as read: compilers widen a vector of three to one of four, and
    /// what lies behind it may be unwritten or another thread's.
    pub fn forget_unread(&mut self, is_read: impl Fn(Register) -> bool) {
        let file = if self.wide { File::Double } else { File::Word };
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for (number, &slot) in self.to.iter().enumerate() {
            if is_read(Register { file, slot }) {
                let offset = number * self.element;
                match runs.last_mut() {
                    Some((start, length)) if *start + *length == offset => *length += self.element,
                    _ => runs.push((offset, self.element)),
                }
            }
        }
        if !runs.is_empty() {
            self.counted = runs;
        }
    }

    pub fn execute(&self, cx: &mut Cx) {
        let addresses = cx.addresses(&self.address);
        let bytes = self.element * self.to.len();
        cx.count_access(self.space, &addresses, bytes, false);
        let action = if self.ordered { Action::AtomicRead } else { Action::Read };
        let mut buffer = [0_u8; MAX_BYTES];
        for lane in cx.lanes() {
            let buffer = &mut buffer[..bytes];
            match cx.place(self.space, addresses[lane], bytes, bytes, lane) {
                Some(place) => {
                    if cx.l.sanitize {
                        if self.ordered {
                            cx.synchronize(place, self.acquire, false);
                        }
                        for &(offset, length) in &self.counted {
                            cx.note(place.after(offset), length, action, lane, None);
                        }
                    }
                    cx.read(place, lane, buffer);
                }
                None => buffer.fill(crate::memory::POISON),
            }
            let registers = &mut cx.warp.registers;
            for (element, &slot) in buffer.chunks_exact(self.element).zip(&self.to) {
                let mut value = [0; 8];
                value[..element.len()].copy_from_slice(element);
                let mut value = u64::from_le_bytes(value);
                if self.extend == Extend::Sign {
                    let shift = 64 - 8 * self.element as u32;
                    value = ((value << shift) as i64 >> shift) as u64;
                }
                if self.wide {
                    registers.doubles[slot as usize][lane] = value;
                } else {
                    registers.words[slot as usize][lane] = value as u32;
                }
            }
        }
    }
}

impl StoreOp {
    pub fn execute(&self, cx: &mut Cx) {
        let addresses = cx.addresses(&self.address);
        let bytes = self.element * self.from.len();
        cx.count_access(self.space, &addresses, bytes, true);
        let mut buffer = [0_u8; MAX_BYTES];
        for lane in cx.lanes() {
            let registers = &cx.warp.registers;
            for (element, &slot) in buffer.chunks_exact_mut(self.element).zip(&self.from) {
                let value = if self.wide {
                    registers.doubles[slot as usize][lane]
                } else {
                    registers.words[slot as usize][lane].into()
                };
                element.copy_from_slice(&value.to_le_bytes()[..self.element]);
            }
            let data = &buffer[..bytes];
            if let Some(place) = cx.place(self.space, addresses[lane], bytes, bytes, lane) {
                if cx.l.sanitize {
                    if self.ordered {
                        cx.synchronize(place, false, self.release);
                        cx.note(place, bytes, Action::Atomic, lane, None);
                    } else {
                        cx.note(place, bytes, Action::Write, lane, Some(data));
                    }
                }
                cx.write(place, lane, data);
            }
        }
    }
}

/// The state space of a load or store.
fn space(m: &mut Modifiers) -> Space {
    match m.any(&[
        "global",
        "shared",
        "shared::cta",
        "shared::cluster",
        "local",
        "param",
        "param::entry",
        "param::func",
        "const",
    ]) {
        None => Space::Generic,
        Some("global" | "const") => Space::Global,
        Some("shared" | "shared::cta") => Space::Shared,
        Some("shared::cluster") => Space::SharedCluster,
        Some("local") => Space::Local,
        // Whose parameters they are depends on the name.
        Some(_) => Space::EntryParam,
    }
}

/// `.weak`, `.relaxed`, `.acquire`, `.volatile` and scopes. The first result says whether accesses are ordered, the second what by.
fn ordering(m: &mut Modifiers) -> (bool, bool) {
    let how = m.any(&["weak", "relaxed", "acquire", "release", "volatile", "mmio"]);
    m.any(&["cta", "cluster", "gpu", "sys"]);
    (
        matches!(how, Some("relaxed" | "acquire" | "release" | "volatile")),
        matches!(how, Some("acquire" | "release" | "volatile")),
    )
}

/// The class of an access by its space.
fn class(space: Space) -> Class {
    match space {
        Space::Generic | Space::Global => Class::Global,
        Space::Shared | Space::SharedCluster => Class::Shared,
        Space::Local | Space::CallParam => Class::Local,
        Space::EntryParam => Class::Constant,
    }
}

/// What loads and stores have in common: space, vector length, type, address.
struct Access {
    space: Space,
    ty: Ty,
    ordered: bool,
    strong: bool,
    address: AddressOperand,
}

fn access(d: &mut Decoder, m: &mut Modifiers, address: &Operand, values: &Operand) -> Result<Access> {
    let (ordered, strong) = ordering(m);
    let mut space = space(m);
    m.cache();
    let vector = m.any(&["v2", "v4", "v8"]);
    let Some(ty) = m.ty() else {
        return Err(d.bad("the type is missing"));
    };
    let expected = match vector {
        Some("v2") => 2,
        Some("v4") => 4,
        Some(_) => 8,
        None => 1,
    };
    let elements = d.vector(values).len();
    if elements != expected {
        return Err(d.bad(format!("expected {expected} registers, found {elements}")));
    }
    if ty.bytes() as usize * elements > MAX_BYTES {
        return Err(d.bad(format!("an access has at most {MAX_BYTES} bytes")));
    }
    let address = d.address(address)?;
    if space == Space::EntryParam
        && let Some(named) = address.space
    {
        space = named;
    }
    Ok(Access { space, ty, ordered, strong, address })
}

/// Decodes `ld`.
pub(super) fn decode_load(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<(Op, Class)> {
    let operands = match i.operands.as_slice() {
        // A cache policy may follow.
        [to, address, _] | [to, address] => [to, address],
        _ => return Err(d.bad("expected a destination and an address")),
    };
    let [to, address] = operands;
    let access = access(d, m, address, to)?;
    let class = class(access.space);
    if access.ty == Ty::B128 {
        let to = d.quad_destination(to)?.to_vec();
        let op = LoadOp {
            space: access.space,
            address: access.address,
            element: 8,
            extend: Extend::Zero,
            wide: true,
            to,
            counted: vec![(0, 16)],
            ordered: access.ordered,
            acquire: access.strong,
        };
        return Ok((Op::Load(Box::new(op)), class));
    }
    let elements = d.vector(to);
    // A register wider than the type gets it extended.
    let wide = elements.iter().any(|element| d.is_double(element)) || access.ty.bits() == 64;
    let to = elements
        .iter()
        .map(|element| if wide { d.double_destination(element) } else { d.word_destination(element) })
        .collect::<Result<Vec<_>>>()?;
    let counted = vec![(0, access.ty.bytes() as usize * to.len())];
    let op = LoadOp {
        space: access.space,
        address: access.address,
        element: access.ty.bytes() as usize,
        extend: if access.ty.is_signed() { Extend::Sign } else { Extend::Zero },
        wide,
        to,
        counted,
        ordered: access.ordered,
        acquire: access.strong,
    };
    Ok((Op::Load(Box::new(op)), class))
}

/// Decodes `st`.
pub(super) fn decode_store(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<(Op, Class)> {
    if m.take("async") {
        let op = bulk::decode_remote(d, i, m)?;
        return op.map(|op| (op, Class::Async)).ok_or_else(|| d.unsupported("no such form of st.async"));
    }
    if m.take("bulk") {
        let op = bulk::decode_fill(d, i, m)?;
        return op.map(|op| (op, Class::Shared)).ok_or_else(|| d.unsupported("no such form of st.bulk"));
    }
    let operands = match i.operands.as_slice() {
        [address, from, _] | [address, from] => [address, from],
        _ => return Err(d.bad("expected an address and a source")),
    };
    let [address, from] = operands;
    let access = access(d, m, address, from)?;
    let class = class(access.space);
    let (element, wide, from) = if access.ty == Ty::B128 {
        (8, true, d.quad(from)?.to_vec())
    } else {
        let elements = d.vector(from);
        let wide = access.ty.bits() == 64 || elements.iter().any(|element| d.is_double(element));
        let slots = elements
            .iter()
            .map(|element| if wide { d.double(element, access.ty) } else { d.word(element, access.ty) })
            .collect::<Result<Vec<_>>>()?;
        (access.ty.bytes() as usize, wide, slots)
    };
    let op = StoreOp {
        space: access.space,
        address: access.address,
        element,
        wide,
        from,
        ordered: access.ordered,
        release: access.strong,
    };
    Ok((Op::Store(Box::new(op)), class))
}

/// `mapa` and `getctarank`: addresses of other programs' shared memory.
pub(crate) struct MapAddressOp {
    /// The rank to map to; none to ask for the rank.
    rank: Option<u32>,
    wide: bool,
    generic: bool,
    address: u32,
    to: u32,
}

impl MapAddressOp {
    pub fn execute(&self, cx: &mut Cx) {
        let (mut words, mut doubles) = ([0; 32], [0; 32]);
        for lane in cx.lanes() {
            let registers = &cx.warp.registers;
            let address =
                if self.wide { registers.d(self.address)[lane] } else { registers.w(self.address)[lane].into() };
            let (cta, offset) = cx.shared_address(address);
            let value = match self.rank {
                Some(rank) => {
                    let rank = u64::from(cx.warp.registers.w(rank)[lane]);
                    offset | (rank + 1) << RANK_SHIFT | if self.generic { SHARED_WINDOW } else { 0 }
                }
                None => cta as u64,
            };
            words[lane] = value as u32;
            doubles[lane] = value;
        }
        let mask = cx.mask;
        if self.wide && self.rank.is_some() {
            cx.warp.registers.set_d(self.to, &doubles, mask);
        } else {
            cx.warp.registers.set_w(self.to, &words, mask);
        }
    }
}

/// Decodes `mapa` and `getctarank`.
pub(super) fn decode_map_address(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Option<Op>> {
    let generic = !m.take("shared::cluster");
    let Some(ty) = m.ty() else { return Ok(None) };
    let wide = ty.bits() == 64;
    let mut source = |operand: &Operand| {
        if wide { d.double(operand, ty) } else { d.word(operand, ty) }
    };
    let op = match (i.opcode.as_str(), i.operands.as_slice()) {
        ("mapa", [to, address, rank]) => {
            let address = source(address)?;
            let rank = Some(d.word(rank, Ty::U32)?);
            let to = if wide { d.double_destination(to)? } else { d.word_destination(to)? };
            MapAddressOp { rank, wide, generic, address, to }
        }
        ("getctarank", [to, address]) => {
            let address = source(address)?;
            MapAddressOp { rank: None, wide, generic, address, to: d.word_destination(to)? }
        }
        _ => return Ok(None),
    };
    Ok(Some(Op::MapAddress(Box::new(op))))
}

/// Decodes what only advises the caches: it has no effect here.
pub(super) fn decode_hint(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Option<Op>> {
    m.any(&["global", "local", "const", "param"]);
    m.take("tensormap");
    m.any(&["L1", "L2"]);
    m.cache();
    for operand in &i.operands {
        if let Operand::Address { .. } = operand {
            d.address(operand)?;
        }
    }
    Ok(Some(Op::Nop))
}

/// Decodes `createpolicy`: policies have no effect, but the register must be written.
pub(super) fn decode_policy(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Option<Op>> {
    m.any(&["fractional", "range"]);
    if m.take("cvt") {
        m.take("L2");
    }
    m.take("global");
    m.cache();
    while m.map(|word| word.starts_with("L2::").then_some(())).is_some() {}
    m.ty();
    let Some(to) = i.operands.first() else {
        return Ok(None);
    };
    let a = d.constant_double(0);
    let to = d.double_destination(to)?;
    Ok(Some(Op::Lane(LaneOp::DD { f: lanes!(D(a: D), a), d: to, a })))
}

/// The bytes at a place, for descriptors and strings.
pub(crate) fn bytes_at<const N: usize>(cx: &mut Cx, space: Space, address: u64, lane: usize) -> Option<[u8; N]> {
    let place: Place = cx.place(space, address, N, 1, lane)?;
    let mut bytes = [0; N];
    cx.read(place, lane, &mut bytes);
    Some(bytes)
}
