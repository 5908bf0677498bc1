//! Bulk copies and bulk tensor copies (`cp.async.bulk…`, `cp.reduce.async.bulk…`), and `tensormap.replace`.
//!
//! A copy is queued with the cluster. In strict mode it happens when nothing else can run, or when its group is waited for; until
//! then its destination in shared memory holds poison. Otherwise it happens at once.

use super::atomic::Update;
use super::memory::bytes_at;
use super::{Op, copy};
use crate::counters::Class;
use crate::error::Result;
use crate::finding::{Address, Agent, Finding, FindingKind, OtherAccess, Space as FoundSpace};
use crate::memory::{Cursor, POISON};
use crate::ptx::decode::{AddressOperand, Decoder, Modifiers, Space, Ty};
use crate::ptx::exec::launch::Launched;
use crate::ptx::exec::memory::Place;
use crate::ptx::exec::state::{Order, World};
use crate::ptx::exec::{Cx, Step};
use crate::ptx::program::NONE;
use crate::ptx::syntax::ast::{Instruction, Operand};
use crate::ptx::tensor_map::{Element, Mode, TensorMap};
use crate::sanitizer::{Action, Site};

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
    kind: Kind,
}

/// A bulk instruction.
pub(crate) enum BulkOp {
    Copy(Box<CopyForm>),
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
                    // The thread now knows that the engine has read its sources.
                    cx.warp.order.clock.join(&cx.world.engine.clock);
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
                let lanes = cx.lanes();
                for lane in lanes {
                    form.issue(cx, lane);
                }
                if !cx.l.launch.strict {
                    while let Some(index) = cx.world.bulk.len().checked_sub(1) {
                        cx.world.complete_bulk(cx.l, index);
                    }
                }
            }
        }
        Ok(Step::Next)
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
        let mut offsets = [0; 3];
        for (offset, &slot) in offsets.iter_mut().zip(&self.offsets) {
            *offset = word(slot) as u16;
        }
        Some(Global::Tensor { map: Box::new(map), coordinates: at, offsets })
    }

    fn issue(&self, cx: &mut Cx, lane: usize) {
        let kind = match self.direction {
            Direction::Load => self.load(cx, lane),
            Direction::Store => self.store(cx, lane),
            Direction::SharedToShared => self.between(cx, lane),
        };
        let Some(kind) = kind else { return };
        let group = if matches!(kind, Kind::Store { .. }) { cx.warp.bulk_groups[lane] } else { NONE };
        let agent = cx.warp.agent;
        let number = cx.world.new_copy(agent, cx.pc);
        let copy = BulkCopy {
            agent,
            lane: lane as u8,
            pc: cx.pc,
            cta: cx.warp.cta,
            order: cx.warp.order.clone(),
            group,
            number,
            kind,
        };
        // What the thread does from now on is not known to the copy.
        cx.warp.order.clock.tick(agent);
        let bytes = copy.bytes() as u64;
        cx.warp.counters.bulk_copy_bytes += bytes;
        cx.world.bytes_in_flight += bytes;
        cx.world.max_bytes_in_flight = cx.world.max_bytes_in_flight.max(cx.world.bytes_in_flight);
        cx.world.begin(cx.l, &copy);
        cx.world.bulk.push(copy);
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

impl BulkCopy {
    fn bytes(&self) -> usize {
        match &self.kind {
            Kind::Load { from, .. } => from.bytes(),
            Kind::Store { to, .. } => to.bytes(),
            Kind::Shared { bytes, .. } => *bytes,
        }
    }

    fn site(&self, agent: u16) -> Site {
        Site { agent, lane: self.lane, pc: self.pc }
    }
}

impl World {
    /// A finding about a copy.
    #[cold]
    fn find_bulk(
        &self,
        l: &Launched,
        copy: &BulkCopy,
        kind: FindingKind,
        address: Option<Address>,
        other: Option<OtherAccess>,
        message: impl Into<String>,
    ) {
        l.report.add(Finding {
            kind,
            kernel: l.kernel.name.clone(),
            instruction: l.instruction(copy.pc),
            agent: self.agent(copy.agent, Some(copy.lane.into())),
            address,
            other,
            message: message.into(),
            count: 1,
        });
    }

    fn shared_address(&self, offset: usize, bytes: usize, cta: usize) -> Address {
        let size = self.ctas[cta].shared.len() as u64;
        Address {
            space: FoundSpace::Shared,
            address: offset as u64,
            bytes: bytes as u32,
            allocation: None,
            offset: offset as i64,
            size,
        }
    }

    /// Marks a copy's destination in shared memory, and checks its source and what was there before.
    fn begin(&mut self, l: &Launched, copy: &BulkCopy) {
        let engine = self.engine_agent();
        let targets: Vec<(usize, usize, usize)> = match &copy.kind {
            Kind::Load { from, ctas, offset, .. } => ctas.iter().map(|&cta| (cta, *offset, from.bytes())).collect(),
            Kind::Shared { bytes, to, .. } => vec![(to.0, to.1, *bytes)],
            Kind::Store { .. } => Vec::new(),
        };
        let source = match &copy.kind {
            Kind::Store { to, offset, .. } => Some((*offset, to.bytes())),
            Kind::Shared { offset, bytes, .. } => Some((*offset, *bytes)),
            Kind::Load { .. } => None,
        };
        if l.sanitize
            && let Some((offset, bytes)) = source
        {
            self.check_source(l, copy, offset, bytes);
        }
        let reduces = matches!(&copy.kind, Kind::Shared { reduce: Some(_), .. });
        for (cta, offset, bytes) in targets {
            if l.sanitize {
                // The copy may write from now on: whoever used the memory before must be done.
                let mut clock = copy.order.clock.clone();
                clock.join(&self.engine.clock);
                self.engine.clock.tick(engine);
                clock.tick(engine);
                let site = copy.site(engine);
                let state = &mut self.ctas[cta];
                if let Some(shadow) = &mut state.shadow {
                    let conflict = shadow.access(offset, bytes, Action::Write, site, &clock);
                    if !reduces {
                        shadow.mark_unwritten(offset, bytes);
                    }
                    if let Some(conflict) = conflict {
                        let other = OtherAccess {
                            action: if conflict.action == Action::Read { "read" } else { "write" }.into(),
                            instruction: l.instruction(conflict.other.pc),
                            agent: self.agent(conflict.other.agent, Some(conflict.other.lane.into())),
                        };
                        let address = self.shared_address(offset, bytes, cta);
                        let message = "the destination is still in use: nothing orders the copy after the other access";
                        self.find_bulk(l, copy, FindingKind::SharedRace, Some(address), Some(other), message);
                    }
                }
                if l.launch.strict {
                    self.ctas[cta].in_flight[offset / 4..(offset + bytes).div_ceil(4)].fill(copy.number);
                }
            }
            if l.launch.strict && !reduces {
                self.ctas[cta].shared[offset..offset + bytes].fill(POISON);
            }
        }
    }

    /// The source of a copy out of shared memory must be written, and fenced for the asynchronous proxy.
    fn check_source(&self, l: &Launched, copy: &BulkCopy, offset: usize, bytes: usize) {
        let engine = self.engine_agent();
        let Some(shadow) = &self.ctas[copy.cta].shadow else { return };
        let mut found = None;
        for word in (offset..offset + bytes).step_by(4) {
            if let Some((clock, site)) = shadow.last_write(word)
                && site.agent != engine
            {
                if clock > copy.order.clock.get(site.agent) {
                    found = Some((FindingKind::SharedRace, word, site, "nothing orders the copy after the write"));
                    break;
                }
                if clock > copy.order.fenced.get(site.agent) {
                    found = Some((
                        FindingKind::MissingProxyFence,
                        word,
                        site,
                        "it was written by ordinary stores, and no fence.proxy.async lies in between",
                    ));
                    break;
                }
            }
        }
        if let Some((kind, word, site, message)) = found {
            let other = OtherAccess {
                action: "write".into(),
                instruction: l.instruction(site.pc),
                agent: self.agent(site.agent, Some(site.lane.into())),
            };
            let address = self.shared_address(word, 4, copy.cta);
            self.find_bulk(l, copy, kind, Some(address), Some(other), message);
        }
        if let Some(first) =
            self.ctas[copy.cta].shadow.as_ref().and_then(|shadow| shadow.first_unwritten(offset, bytes))
        {
            let address = self.shared_address(first, 1, copy.cta);
            self.find_bulk(
                l,
                copy,
                FindingKind::UninitializedRead,
                Some(address),
                None,
                format!("the byte at {first:#x} of the source was never written"),
            );
        }
    }

    /// Does a copy now.
    pub fn complete_bulk(&mut self, l: &Launched, index: usize) {
        let copy = self.bulk.remove(index);
        self.progress += 1;
        self.bytes_in_flight -= copy.bytes() as u64;
        match &copy.kind {
            Kind::Load { from, ctas, offset, barrier } => {
                let data = self.gather(l, &copy, from);
                for &cta in ctas {
                    self.arrive_bulk(l, &copy, (cta, *offset), &data, from, (cta, *barrier), None);
                }
            }
            Kind::Shared { offset, bytes, to, barrier, reduce } => {
                let data = self.take_source(l, &copy, *offset, *bytes);
                let plain = Global::Linear { address: 0, bytes: *bytes };
                self.arrive_bulk(l, &copy, *to, &data, &plain, *barrier, *reduce);
            }
            Kind::Store { to, offset, reduce } => {
                let data = self.take_source(l, &copy, *offset, to.bytes());
                self.scatter(l, &copy, to, *offset, &data, *reduce);
            }
        }
    }

    /// Does a copy whose program has ended. Loads have nowhere to go any more.
    pub fn complete_bulk_at_exit(&mut self, l: &Launched) {
        let last = self.bulk.len() - 1;
        if let Kind::Load { .. } = self.bulk[last].kind {
            let copy = self.bulk.remove(last);
            let message = "the program ended before the copy was waited for";
            self.find_bulk(l, &copy, FindingKind::UnfinishedAsync, None, None, message);
        } else {
            self.complete_bulk(l, last);
        }
    }

    /// Reads the source in shared memory. A write since the copy was issued is reported.
    fn take_source(&mut self, l: &Launched, copy: &BulkCopy, offset: usize, bytes: usize) -> Vec<u8> {
        let engine = self.engine_agent();
        if l.sanitize {
            let mut clock = copy.order.clock.clone();
            clock.join(&self.engine.clock);
            self.engine.clock.tick(engine);
            clock.tick(engine);
            let site = copy.site(engine);
            let conflict = self.ctas[copy.cta]
                .shadow
                .as_mut()
                .and_then(|shadow| shadow.access(offset, bytes, Action::Read, site, &clock));
            if let Some(conflict) = conflict {
                let other = OtherAccess {
                    action: "write".into(),
                    instruction: l.instruction(conflict.other.pc),
                    agent: self.agent(conflict.other.agent, Some(conflict.other.lane.into())),
                };
                let address = self.shared_address(offset, bytes, copy.cta);
                let message = "the source was written again before the copy was known to have read it (cp.async.bulk.wait_group.read)";
                self.find_bulk(l, copy, FindingKind::AsyncSourceOverwritten, Some(address), Some(other), message);
            }
        }
        self.ctas[copy.cta].shared[offset..offset + bytes].to_vec()
    }

    /// Puts bytes into shared memory and counts them at a memory barrier.
    #[allow(clippy::too_many_arguments)]
    fn arrive_bulk(
        &mut self,
        l: &Launched,
        copy: &BulkCopy,
        (cta, offset): (usize, usize),
        data: &[u8],
        from: &Global,
        barrier: (usize, u32),
        reduce: Option<(Update, Ty)>,
    ) {
        let engine = self.engine_agent();
        let bytes = data.len();
        if l.sanitize {
            let mut clock = copy.order.clock.clone();
            clock.join(&self.engine.clock);
            self.engine.clock.tick(engine);
            clock.tick(engine);
            let site = copy.site(engine);
            let state = &mut self.ctas[cta];
            for word in &mut state.in_flight[offset / 4..(offset + bytes).div_ceil(4)] {
                if *word == copy.number {
                    *word = 0;
                }
            }
            if let Some(shadow) = &mut state.shadow {
                // Conflicts were told when it was issued.
                shadow.access(offset, bytes, Action::Write, site, &clock);
            }
        }
        let state = &mut self.ctas[cta];
        match (from, reduce) {
            (_, Some((update, ty))) => {
                let width = ty.bytes() as usize;
                for (n, element) in data.chunks_exact(width).enumerate() {
                    let at = offset + n * width;
                    let old = number(&state.shared[at..at + width]);
                    let new = update.apply(ty, false, old, number(element), 0);
                    state.shared[at..at + width].copy_from_slice(&new.to_le_bytes()[..width]);
                }
            }
            (Global::Tensor { map, .. }, None) => {
                for (piece, bytes) in data.chunks(16).enumerate() {
                    let address = map.swizzle.apply((offset + piece * 16) as u64) as usize;
                    state.shared[address..address + bytes.len()].copy_from_slice(bytes);
                }
            }
            (Global::Linear { .. }, None) => state.shared[offset..offset + bytes].copy_from_slice(data),
        }
        let mut order = copy.order.clone();
        order.join(&self.engine);
        match self.ctas[barrier.0].memory_barriers.get_mut(&barrier.1) {
            Some(barrier) => {
                barrier.transactions -= bytes as i64;
                barrier.order.join(&order);
            }
            None => {
                let message = format!("the mbarrier at {:#x} was invalidated while the copy was under way", barrier.1);
                self.find_bulk(l, copy, FindingKind::BarrierObject, None, None, message);
            }
        }
        self.settle(barrier.0, barrier.1);
    }

    /// Reads the global side of a load, in the order of shared memory without the swizzle.
    fn gather(&self, l: &Launched, copy: &BulkCopy, from: &Global) -> Vec<u8> {
        let mut data = vec![0; from.bytes()];
        match from {
            Global::Linear { address, bytes } => {
                if let Some(place) = self.global_place(l, copy, *address, *bytes) {
                    self.note_bulk(l, copy, place, *bytes, Action::Read, None);
                    l.snapshot.allocation(place.0).read(place.1, &mut data);
                } else {
                    data.fill(POISON);
                }
            }
            Global::Tensor { map, coordinates, offsets } => {
                let width = map.element.bytes() as usize;
                let fill = map.fill();
                let mut runs = Vec::new();
                map.runs(coordinates, offsets, |run| runs.push(run));
                for run in runs {
                    let start = run.shared as usize;
                    let row = &mut data[start..start + run.length as usize * width];
                    row.chunks_exact_mut(width).for_each(|element| element.copy_from_slice(&fill[..width]));
                    let (before, valid) = (run.before as usize * width, run.valid as usize * width);
                    if valid == 0 {
                        continue;
                    }
                    if let Some(place) = self.global_place(l, copy, run.address, valid) {
                        self.note_bulk(l, copy, place, valid, Action::Read, None);
                        l.snapshot.allocation(place.0).read(place.1, &mut data[start + before..start + before + valid]);
                    }
                }
            }
        }
        data
    }

    /// Writes the global side of a store.
    fn scatter(
        &self,
        l: &Launched,
        copy: &BulkCopy,
        to: &Global,
        offset: usize,
        data: &[u8],
        reduce: Option<(Update, Ty)>,
    ) {
        let put = |address: u64, bytes: &[u8]| {
            let Some(place) = self.global_place(l, copy, address, bytes.len()) else { return };
            let memory = l.snapshot.allocation(place.0);
            let Some((update, ty)) = reduce else {
                self.note_bulk(l, copy, place, bytes.len(), Action::Write, Some(bytes));
                memory.write(place.1, bytes);
                return;
            };
            self.note_bulk(l, copy, place, bytes.len(), Action::Atomic, None);
            let width = ty.bytes() as usize;
            for (n, element) in bytes.chunks_exact(width).enumerate() {
                let operand = number(element);
                memory.fetch_update(place.1 + n * width, width, |old| Some(update.apply(ty, false, old, operand, 0)));
            }
        };
        match to {
            Global::Linear { address, .. } => put(*address, data),
            Global::Tensor { map, coordinates, offsets } => {
                let width = map.element.bytes() as usize;
                // Undo the swizzle piece by piece.
                let mut plain = vec![0; data.len()];
                for (piece, bytes) in plain.chunks_mut(16).enumerate() {
                    let address = map.swizzle.apply((offset + piece * 16) as u64) as usize - offset;
                    bytes.copy_from_slice(&data[address..address + bytes.len()]);
                }
                let mut runs = Vec::new();
                map.runs(coordinates, offsets, |run| runs.push(run));
                for run in runs.iter().filter(|run| run.valid > 0) {
                    let start = run.shared as usize + run.before as usize * width;
                    put(run.address, &plain[start..start + run.valid as usize * width]);
                }
            }
        }
    }

    fn global_place(&self, l: &Launched, copy: &BulkCopy, address: u64, bytes: usize) -> Option<(usize, usize)> {
        match l.snapshot.locate(&mut Cursor::default(), address, bytes) {
            Ok(place) => Some(place),
            Err(miss) => {
                let kind = if miss.freed { FindingKind::UseAfterFree } else { FindingKind::OutOfBounds };
                let message = format!("{bytes} bytes at {address:#x} are not in an allocation");
                let address = Address {
                    space: FoundSpace::Global,
                    address,
                    bytes: bytes as u32,
                    allocation: miss.allocation,
                    offset: miss.offset,
                    size: miss.size,
                };
                self.find_bulk(l, copy, kind, Some(address), None, message);
                None
            }
        }
    }

    /// Notes an access to global memory; `new` is what a write will write (the same value twice is let pass).
    fn note_bulk(
        &self,
        l: &Launched,
        copy: &BulkCopy,
        place: (usize, usize),
        bytes: usize,
        action: Action,
        new: Option<&[u8]>,
    ) {
        if !l.sanitize {
            return;
        }
        let memory = l.snapshot.allocation(place.0);
        let address = || Address {
            space: FoundSpace::Global,
            address: memory.base() + place.1 as u64,
            bytes: bytes as u32,
            allocation: Some(memory.name().to_owned()),
            offset: place.1 as i64,
            size: memory.size(),
        };
        if action != Action::Write
            && let Some(first) = memory.first_unwritten(place.1, bytes)
        {
            let message = format!("byte {first} of `{}` was never written", memory.name());
            self.find_bulk(l, copy, FindingKind::UninitializedRead, Some(address()), None, message);
        }
        let Some(shadow) = &l.shadow else { return };
        let program = self.ctas[copy.cta].linear;
        if let Some(conflict) = shadow.access(place, bytes, action, program, copy.site(copy.agent), &copy.order.clock) {
            if conflict.action == Action::Write
                && let Some(new) = new
            {
                let mut old = vec![0; new.len()];
                memory.read(place.1, &mut old);
                if old == new {
                    return;
                }
            }
            let other = OtherAccess {
                action: if conflict.action == Action::Read { "read" } else { "write" }.into(),
                instruction: l.instruction(conflict.other.pc),
                agent: Agent {
                    program: l.program(conflict.program),
                    warp: u32::from(conflict.other.agent) % self.warps_per_cta as u32,
                    lane: Some(conflict.other.lane.into()),
                },
            };
            let message = "nothing orders the copy and the other access";
            self.find_bulk(l, copy, FindingKind::GlobalRace, Some(address()), Some(other), message);
        }
    }
}

/// Up to eight bytes as a number.
fn number(bytes: &[u8]) -> u64 {
    let mut value = [0; 8];
    value[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(value)
}

/// Decodes `cp`.
pub(super) fn decode_cp(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<(Op, Class)> {
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
    if m.any(&["tile::gather4", "tile::scatter4", "im2col::w", "im2col::w::128"]).is_some() {
        return Err(d.unsupported("this load mode"));
    }
    let barrier = m.take("mbarrier::complete_tx::bytes");
    m.take("bulk_group");
    let multicast = m.take("multicast::cluster");
    if m.any(&["cta_group::1", "cta_group::2", "cp_mask"]).is_some() {
        return Err(d.unsupported("CTA pairs and byte masks"));
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
pub(super) fn decode_tensormap(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Option<Op>> {
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
