//! Bulk copies and bulk tensor copies (`cp.async.bulk…`, `cp.reduce.async.bulk…`), stores and reductions into other programs' memory
//! (`st.async`, `red.async`), and `tensormap.replace`.
//!
//! A copy is queued with the cluster. In strict mode it happens when nothing else can run, or when its group is waited for; until
//! then its destination in shared memory holds poison. Otherwise it happens at once.

mod decode;
mod engine;
mod remote;

pub(super) use decode::{decode_cp, decode_tensormap};
pub(super) use remote::{decode_fill, decode_remote};

use super::atomic::Update;
use super::memory::bytes_at;
use crate::error::Result;
use crate::finding::FindingKind;
use crate::ptx::decode::{AddressOperand, Space, Ty};
use crate::ptx::exec::memory::Place;
use crate::ptx::exec::state::Order;
use crate::ptx::exec::{Cx, Step};
use crate::ptx::program::NONE;
use crate::ptx::tensor_map::{Element, Mode, TensorMap};
use crate::sanitizer::Action;

/// Where a copy's bytes come from or go to in global memory.
#[derive(Clone, Debug)]
enum Global {
    Linear { address: u64, bytes: usize },
    Tensor { map: Box<TensorMap>, coordinates: [i32; 5], offsets: [u16; 3] },
}

impl Global {
    fn bytes(&self) -> usize {
        match self {
            Self::Linear { bytes, .. } => *bytes,
            Self::Tensor { map, .. } => map.copy_bytes(),
        }
    }
}

#[derive(Clone, Debug)]
enum Kind {
    /// Into the shared memory of some programs, all at the same offset, and their memory barriers.
    Load { from: Global, ctas: Vec<usize>, offset: usize, barrier: u32 },
    /// Out of shared memory, with a reduction or without.
    Store { to: Global, offset: usize, reduce: Option<(Update, Ty)> },
    /// Between programs.
    Shared { offset: usize, bytes: usize, to: (usize, usize), barrier: (usize, u32), reduce: Option<(Update, Ty)> },
    /// A value out of registers, into the shared memory of a program.
    Value { data: Box<[u8]>, to: (usize, usize), barrier: (usize, u32), reduce: Option<(Update, Ty)> },
}

/// A bulk copy under way.
#[derive(Clone, Debug)]
pub(crate) struct BulkCopy {
    agent: u16,
    lane: u8,
    pc: u32,
    cta: usize,
    /// What the issuing thread knew.
    order: Order,
    /// The bulk group it belongs to; [`NONE`] for copies that complete on a memory barrier.
    group: u32,
    number: u32,
    /// When it reads shared memory, by the clock of the warp's asynchronous reader; 0 if it does not.
    read_time: u32,
    kind: Kind,
}

/// A bulk instruction.
pub(crate) enum BulkOp {
    Copy(Box<CopyForm>),
    Remote(remote::RemoteForm),
    Fill(remote::FillForm),
    Commit,
    Wait {
        left: u32,
    },
    Replace {
        field: &'static str,
        ordinal: usize,
        space: Space,
        address: AddressOperand,
        value: u32,
        wide: bool,
        scale: u32,
    },
    /// A tensor map from shared to global memory, made visible to copies.
    Publish {
        to: AddressOperand,
        from: AddressOperand,
    },
}

/// Directions of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Load,
    Store,
    SharedToShared,
}

/// A copy as the instruction states it.
pub(crate) struct CopyForm {
    direction: Direction,
    to: AddressOperand,
    from: AddressOperand,
    to_space: Space,
    /// The size of a linear copy.
    bytes: u32,
    /// Coordinates of a tensor copy.
    coordinates: Option<Vec<u32>>,
    offsets: Vec<u32>,
    im2col: bool,
    barrier: Option<AddressOperand>,
    multicast: u32,
    reduce: Option<(Update, Option<Ty>)>,
}

impl BulkOp {
    pub fn execute(&self, cx: &mut Cx) -> Result<Step> {
        match self {
            Self::Commit => {
                for lane in cx.lanes() {
                    cx.warp.bulk_groups[lane] += 1;
                }
            }
            Self::Wait { left } => {
                for lane in cx.lanes() {
                    let done = cx.warp.bulk_groups[lane].saturating_sub(*left);
                    let agent = cx.warp.agent;
                    let due = |copy: &BulkCopy| {
                        copy.agent == agent && usize::from(copy.lane) == lane && copy.group != NONE && copy.group < done
                    };
                    while let Some(index) = cx.world.bulk.iter().position(due) {
                        cx.world.complete_bulk(cx.l, index);
                    }
                    // The thread now knows that the sources have been read.
                    cx.warp.order.clock.join(&cx.world.engine.clock);
                    let reader = cx.world.reader_agent(agent);
                    let order = &mut cx.warp.order;
                    cx.warp.bulk_reads.retain(|&(of, group, time)| {
                        let known = usize::from(of) == lane && group < done;
                        if known {
                            order.clock.advance(reader, time);
                        }
                        !known
                    });
                }
            }
            Self::Replace { field, ordinal, space, address, value, wide, scale } => {
                let addresses = cx.addresses(address);
                for lane in cx.lanes() {
                    let registers = &cx.warp.registers;
                    let value =
                        if *wide { registers.d(*value)[lane] } else { registers.w(*value)[lane].into() } << scale;
                    let Some(place) = cx.place(*space, addresses[lane], 128, 64, lane) else { continue };
                    let mut bytes = [0; 128];
                    cx.read(place, lane, &mut bytes);
                    if !TensorMap::replace(&mut bytes, field, *ordinal, value) {
                        let message = format!("{value} is not a value of the field `{field}`");
                        cx.find(FindingKind::BadDescriptor, Some(lane), None, None, message);
                    }
                    cx.note(place, 128, Action::Write, lane, None);
                    cx.write(place, lane, &bytes);
                }
            }
            Self::Publish { to, from } => {
                if let Some(step) = cx.converge_all() {
                    return Ok(step);
                }
                let lane = cx.mask.trailing_zeros() as usize;
                let (to, from) = (cx.addresses(to)[lane], cx.addresses(from)[lane]);
                let from = cx.place(Space::Shared, from, 128, 128, lane);
                let to = cx.place(Space::Global, to, 128, 128, lane);
                if let (Some(from), Some(to)) = (from, to) {
                    let mut bytes = [0; 128];
                    cx.note(from, 128, Action::Read, lane, None);
                    cx.read(from, lane, &mut bytes);
                    cx.note(to, 128, Action::Write, lane, Some(&bytes));
                    cx.write(to, lane, &bytes);
                }
                cx.synchronize_device(false, true);
            }
            Self::Copy(form) => {
                for lane in cx.lanes() {
                    if let Some(kind) = form.start(cx, lane) {
                        cx.issue(kind, lane);
                    }
                }
                cx.finish_if_hasty();
            }
            Self::Remote(form) => {
                for lane in cx.lanes() {
                    if let Some(kind) = form.start(cx, lane) {
                        cx.issue(kind, lane);
                    }
                }
                cx.finish_if_hasty();
            }
            Self::Fill(form) => form.execute(cx),
        }
        Ok(Step::Next)
    }
}

impl Cx<'_> {
    /// Queues a copy of a lane.
    fn issue(&mut self, kind: Kind, lane: usize) {
        let group = if matches!(kind, Kind::Store { .. }) { self.warp.bulk_groups[lane] } else { NONE };
        let agent = self.warp.agent;
        let number = self.world.new_copy(agent, self.pc);
        let mut read_time = 0;
        if self.l.sanitize && matches!(kind, Kind::Store { .. } | Kind::Shared { .. }) {
            read_time = self.world.start_reading(agent, &self.warp.order.clock);
            if group != NONE {
                self.warp.bulk_reads.push((lane as u8, group, read_time));
            }
        }
        let copy = BulkCopy {
            read_time,
            agent,
            lane: lane as u8,
            pc: self.pc,
            cta: self.warp.cta,
            order: self.warp.order.clone(),
            group,
            number,
            kind,
        };
        // What the thread does from now on is not known to the copy.
        self.warp.order.clock.tick(agent);
        let bytes = copy.bytes() as u64;
        self.warp.counters.bulk_copy_bytes += bytes;
        self.world.bytes_in_flight += bytes;
        self.world.max_bytes_in_flight = self.world.max_bytes_in_flight.max(self.world.bytes_in_flight);
        self.world.begin(self.l, &copy);
        self.world.bulk.push(copy);
    }

    /// Outside strict mode copies happen at once.
    fn finish_if_hasty(&mut self) {
        if !self.l.launch.strict {
            while let Some(index) = self.world.bulk.len().checked_sub(1) {
                self.world.complete_bulk(self.l, index);
            }
        }
    }
}

impl CopyForm {
    /// The global side of the copy: an address and a size, or a tensor map and coordinates.
    fn global(&self, cx: &mut Cx, lane: usize) -> Option<Global> {
        let side = if self.direction == Direction::Load { &self.from } else { &self.to };
        let address = cx.addresses(side)[lane];
        let Some(coordinates) = &self.coordinates else {
            let bytes = cx.warp.registers.w(self.bytes)[lane] as usize;
            if !bytes.is_multiple_of(16) || !address.is_multiple_of(16) {
                let message = format!("{bytes} bytes at {address:#x}: both must be multiples of 16");
                cx.find(FindingKind::Misaligned, Some(lane), None, None, message);
                return None;
            }
            return Some(Global::Linear { address, bytes });
        };
        let bytes = bytes_at::<128>(cx, Space::Generic, address, lane)?;
        let map = match TensorMap::decode(&bytes) {
            Ok(map) => map,
            Err(message) => {
                cx.find(FindingKind::BadDescriptor, Some(lane), None, None, message);
                return None;
            }
        };
        if map.rank() != coordinates.len() {
            let message = format!("{} coordinates for a tensor of {} dimensions", coordinates.len(), map.rank());
            cx.find(FindingKind::BadDescriptor, Some(lane), None, None, message);
            return None;
        }
        if self.im2col != (map.mode != Mode::Tile) {
            cx.find(
                FindingKind::BadDescriptor,
                Some(lane),
                None,
                None,
                "the tensor map was made for another mode (tile or im2col)",
            );
            return None;
        }
        let word = |slot: u32| cx.warp.registers.w(slot)[lane];
        let mut at = [0; 5];
        for (at, &slot) in at.iter_mut().zip(coordinates) {
            *at = word(slot) as i32;
        }
        if let Some(elements) = map.slice_elements()
            && i64::from(at[0]) % elements as i64 != 0
        {
            let message =
                format!("the first coordinate is {}: a copy of slices starts at a multiple of {elements}", at[0]);
            cx.find(FindingKind::BadDescriptor, Some(lane), None, None, message);
            return None;
        }
        let mut offsets = [0; 3];
        for (offset, &slot) in offsets.iter_mut().zip(&self.offsets) {
            *offset = word(slot) as u16;
        }
        Some(Global::Tensor { map: Box::new(map), coordinates: at, offsets })
    }

    /// Checks a lane's copy, and gives what is to be queued.
    fn start(&self, cx: &mut Cx, lane: usize) -> Option<Kind> {
        match self.direction {
            Direction::Load => self.load(cx, lane),
            Direction::Store => self.store(cx, lane),
            Direction::SharedToShared => self.between(cx, lane),
        }
    }

    /// The offset of an operand in shared memory that a copy needs so many bytes of.
    fn shared(
        &self,
        cx: &mut Cx,
        operand: &AddressOperand,
        space: Space,
        bytes: usize,
        align: usize,
        lane: usize,
    ) -> Option<(usize, usize)> {
        let address = cx.addresses(operand)[lane];
        match cx.place(space, address, bytes, align, lane)? {
            Place::Shared { cta, offset } => Some((cta, offset)),
            _ => {
                cx.find(FindingKind::OutOfBounds, Some(lane), None, None, "the address is not in shared memory");
                None
            }
        }
    }

    fn load(&self, cx: &mut Cx, lane: usize) -> Option<Kind> {
        let from = self.global(cx, lane)?;
        let align = match &from {
            Global::Linear { .. } => 16,
            // A swizzle needs its whole pattern; the plain layout 128 bytes.
            Global::Tensor { .. } => 128,
        };
        let (cta, offset) = self.shared(cx, &self.to, self.to_space, from.bytes(), align, lane)?;
        let operand = self.barrier.as_ref()?;
        let address = cx.addresses(operand)[lane];
        let (barrier_cta, barrier) = cx.memory_barrier(Space::SharedCluster, address, lane)?;
        let ctas = if self.multicast == NONE {
            vec![cta]
        } else {
            let mask = cx.warp.registers.w(self.multicast)[lane];
            (0..cx.world.ctas.len()).filter(|rank| (mask >> rank) & 1 == 1).collect()
        };
        if self.multicast == NONE && barrier_cta != cta {
            let message = "the memory barrier and the destination lie in different programs";
            cx.find(FindingKind::BarrierObject, Some(lane), None, None, message);
        }
        for &cta in &ctas {
            if !cx.world.ctas[cta].memory_barriers.contains_key(&barrier) {
                let message = format!("there is no initialised mbarrier at {barrier:#x}");
                cx.find(FindingKind::BarrierObject, Some(lane), None, None, message);
                return None;
            }
        }
        Some(Kind::Load { from, ctas, offset, barrier })
    }

    fn store(&self, cx: &mut Cx, lane: usize) -> Option<Kind> {
        let to = self.global(cx, lane)?;
        let align = if matches!(to, Global::Linear { .. }) { 16 } else { 128 };
        let (_, offset) = self.shared(cx, &self.from, Space::Shared, to.bytes(), align, lane)?;
        let ty = match &to {
            Global::Tensor { map, .. } => Some(element_type(map.element)),
            Global::Linear { .. } => None,
        };
        let reduce = self.reduce.and_then(|(update, given)| Some((update, given.or(ty)?)));
        Some(Kind::Store { to, offset, reduce })
    }

    fn between(&self, cx: &mut Cx, lane: usize) -> Option<Kind> {
        let bytes = cx.warp.registers.w(self.bytes)[lane] as usize;
        let (_, offset) = self.shared(cx, &self.from, Space::Shared, bytes, 16, lane)?;
        let to = self.shared(cx, &self.to, self.to_space, bytes, 16, lane)?;
        let operand = self.barrier.as_ref()?;
        let address = cx.addresses(operand)[lane];
        let barrier = cx.memory_barrier(Space::SharedCluster, address, lane)?;
        let reduce = self.reduce.and_then(|(update, ty)| Some((update, ty?)));
        Some(Kind::Shared { offset, bytes, to, barrier, reduce })
    }
}

/// The type that a reduction of a tensor's elements computes in.
fn element_type(element: Element) -> Ty {
    match element {
        Element::U8 => Ty::U8,
        Element::U16 => Ty::U16,
        Element::U32 => Ty::U32,
        Element::S32 => Ty::S32,
        Element::U64 => Ty::U64,
        Element::S64 => Ty::S64,
        Element::F16 => Ty::F16,
        Element::F64 => Ty::F64,
        Element::BF16 => Ty::BF16,
        Element::F32 | Element::F32Ftz | Element::TF32 | Element::TF32Ftz => Ty::F32,
    }
}
