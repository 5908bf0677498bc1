//! The asynchronous engine: what happens to a copy when it begins and when it is done.

use super::{BulkCopy, Global, Kind};
use crate::finding::{Address, Agent, Finding, FindingKind, OtherAccess, Space as FoundSpace};
use crate::memory::{Cursor, POISON};
use crate::ptx::decode::Ty;
use crate::ptx::exec::launch::Launched;
use crate::ptx::exec::state::World;
use crate::ptx::isa::atomic::Update;
use crate::sanitizer::{Action, Site};

impl BulkCopy {
    pub(super) fn bytes(&self) -> usize {
        match &self.kind {
            Kind::Value { data, .. } => data.len(),
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
    pub(super) fn begin(&mut self, l: &Launched, copy: &BulkCopy) {
        let engine = self.engine_agent();
        let targets: Vec<(usize, usize, usize)> = match &copy.kind {
            Kind::Load { from, ctas, offset, .. } => ctas.iter().map(|&cta| (cta, *offset, from.bytes())).collect(),
            Kind::Shared { bytes, to, .. } => vec![(to.0, to.1, *bytes)],
            Kind::Value { data, to, .. } => vec![(to.0, to.1, data.len())],
            Kind::Store { .. } => Vec::new(),
        };
        let source = match &copy.kind {
            Kind::Store { to, offset, .. } => Some((*offset, to.bytes())),
            Kind::Shared { offset, bytes, .. } => Some((*offset, *bytes)),
            Kind::Load { .. } | Kind::Value { .. } => None,
        };
        if l.sanitize
            && let Some((offset, bytes)) = source
        {
            self.check_source(l, copy, offset, bytes);
            let reader = self.reader_agent(copy.agent);
            let mut clock = copy.order.clock.clone();
            clock.advance(reader, copy.read_time);
            if let Some(shadow) = &mut self.ctas[copy.cta].shadow {
                // Conflicts with earlier writes have been told.
                shadow.access(offset, bytes, Action::Read, copy.site(reader), &clock);
            }
        }
        let reduces = matches!(&copy.kind, Kind::Shared { reduce: Some(_), .. } | Kind::Value { reduce: Some(_), .. });
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
                        let (kind, mut message) = self.conflict(l, &conflict, &copy.order.clock);
                        if conflict.other.agent <= engine {
                            message = "the destination is still in use: nothing orders the copy after the other access";
                        }
                        self.find_bulk(l, copy, kind, Some(address), Some(other), message);
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
                let data = self.take_source(&copy, *offset, *bytes);
                let plain = Global::Linear { address: 0, bytes: *bytes };
                self.arrive_bulk(l, &copy, *to, &data, &plain, *barrier, *reduce);
            }
            Kind::Value { data, to, barrier, reduce } => {
                let plain = Global::Linear { address: 0, bytes: data.len() };
                self.arrive_bulk(l, &copy, *to, data, &plain, *barrier, *reduce);
            }
            Kind::Store { to, offset, reduce } => {
                let data = self.take_source(&copy, *offset, to.bytes());
                self.scatter(l, &copy, to, *offset, &data, *reduce);
            }
        }
    }

    /// Does a copy whose program has ended. Loads have nowhere to go any more, and the source of a store may already belong to
    /// another program.
    pub fn complete_bulk_at_exit(&mut self, l: &Launched) {
        let last = self.bulk.len() - 1;
        let message = match self.bulk[last].kind {
            Kind::Store { .. } => {
                "the program ended before the copy was known to have read its source (cp.async.bulk.wait_group.read)"
            }
            _ => "the program ended before the copy was waited for",
        };
        self.find_bulk(l, &self.bulk[last], FindingKind::UnfinishedAsync, None, None, message);
        if let Kind::Load { .. } = self.bulk[last].kind {
            self.bulk.remove(last);
        } else {
            self.complete_bulk(l, last);
        }
    }

    /// The source in shared memory. From its issue on the copy counts as reading it.
    fn take_source(&self, copy: &BulkCopy, offset: usize, bytes: usize) -> Vec<u8> {
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
        if l.sanitize && copy.read_time > 0 {
            // Who waits for it knows that the source was read.
            order.clock.advance(self.reader_agent(copy.agent), copy.read_time);
        }
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
                        let row = &mut data[start + before..start + before + valid];
                        l.snapshot.allocation(place.0).read(place.1, row);
                        map.element.convert(row);
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
                let message = miss.message(bytes);
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

    /// Notes an access to global memory; `new` is what a write will write (the same value twice in one program is let pass).
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
            if conflict.program == program
                && conflict.action == Action::Write
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
