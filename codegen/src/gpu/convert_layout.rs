//! Moving a tile from one layout to another, as planned from the two matrices.

use std::collections::HashMap;

use inkwell::IntPredicate::EQ;
use tegula_ir::layout::{
    Conversion, ConversionOptions, Dim, LaneMap, LinearLayout, MemoryPlan, SharedMemory as Banks, ShufflePlan,
};
use tegula_ir::types::{Elem, ScalarType};

use super::lowering::{Lowering, Registers, Result};
use super::spread::select_bits;
use crate::elementwise::{memory_type, register_type};
use crate::emit::{MemoryFlags, Ty, Val};

/// Shared memory that one conversion uses at a time.
const WINDOW_BYTES: u32 = 32 * 1024;

/// The most rounds: a tile so large that it needs more takes as much memory as it needs.
const MAX_ROUNDS: u32 = 32;

/// A place in the window of a round.
struct Place<'c> {
    /// Bytes from the start of the window.
    offset: Val<'c>,
    /// Whether the place is in this round; `None` is always.
    inside: Option<Val<'c>>,
}

impl<'c> Lowering<'_, 'c, '_> {
    /// The registers of a tile of elements `elem` in layout `to`, given those in layout `from`.
    pub(super) fn convert_registers(
        &mut self,
        registers: &Registers<'c>,
        elem: Elem,
        from: &LinearLayout,
        to: &LinearLayout,
    ) -> Result<Registers<'c>> {
        let arch = self.target.architecture();
        let options = ConversionOptions {
            shared: Banks {
                banks: arch.shared_banks,
                word_bytes: arch.shared_bank_bytes,
                max_access_bytes: arch.max_access_bytes,
            },
            ..ConversionOptions::new(8 * element_bytes(elem))
        };
        let plan = Conversion::plan(from, to, &options).map_err(|error| self.invalid(error.to_string()))?;
        Ok(match plan {
            Conversion::Identity => registers.clone(),
            Conversion::Registers { source } => source.iter().map(|&r| registers[r as usize]).collect(),
            Conversion::Shuffle(plan) => self.convert_by_shuffles(registers, elem, to, &plan).into(),
            Conversion::Memory(plan) => self.convert_through_memory(registers, elem, from, &plan).into(),
        })
    }

    fn convert_by_shuffles(
        &mut self,
        registers: &Registers<'c>,
        elem: Elem,
        to: &LinearLayout,
        plan: &ShufflePlan,
    ) -> Vec<Val<'c>> {
        let e = &self.e;
        let ty = register_type(e, elem);
        let bits = 8 * element_bytes(elem);
        let mut received: Vec<Option<Val<'c>>> = vec![None; to.in_size(Dim::Register) as usize];
        let mut words: HashMap<u32, Val<'c>> = HashMap::new();
        for round in &plan.rounds {
            // The word that this lane sends, of those that any lane sends.
            let mut word_of = |register: u32| {
                *words.entry(register).or_insert_with(|| {
                    let elements = plan.packed.iter().map(|&(send, _)| registers[(register ^ send) as usize]);
                    self.pack_word(elements, bits)
                })
            };
            let send = self.lane_map(&round.send);
            let candidates = round.send.values();
            let mut word = word_of(candidates[0]);
            for &candidate in &candidates[1..] {
                let chosen = e.icmp(EQ, send, e.i32(candidate.into()));
                word = e.select(chosen, word_of(candidate), word);
            }
            let word = self.shuffle_by(&round.from, word);
            // Where this lane puts it.
            let receive = self.lane_map(&round.receive);
            let places = round.receive.values();
            for (k, &(_, offset)) in plan.packed.iter().enumerate() {
                let element = self.unpack_word(word, k as u32, bits, ty);
                for &place in &places {
                    let slot = &mut received[(place ^ offset) as usize];
                    *slot = Some(match *slot {
                        // The lanes for which this round is not the one are served by another.
                        None => element,
                        Some(old) => e.select(e.icmp(EQ, receive, e.i32(place.into())), element, old),
                    });
                }
            }
        }
        let poison = e.poison(ty);
        plan.received.iter().map(|&r| received[r as usize].unwrap_or(poison)).collect()
    }

    /// Elements side by side in one integer of at least 32 bits.
    fn pack_word(&self, elements: impl Iterator<Item = Val<'c>>, bits: u32) -> Val<'c> {
        let e = &self.e;
        let width = bits.max(32);
        elements.enumerate().fold(e.const_int(width, 0), |word, (i, element)| {
            let element = e.zext_or_trunc(e.to_bits(element), width);
            e.or_disjoint(word, e.shl_const(element, i as u32 * bits))
        })
    }

    fn unpack_word(&self, word: Val<'c>, index: u32, bits: u32, ty: Ty<'c>) -> Val<'c> {
        let e = &self.e;
        e.bitcast(e.zext_or_trunc(e.lshr_const(word, index * bits), e.bits(ty)), ty)
    }

    /// The value of a lane map for this thread, `i32`.
    fn lane_map(&self, map: &LaneMap) -> Val<'c> {
        let e = &self.e;
        let lane = select_bits(e, self.lane, &map.lane).0;
        let warp = select_bits(e, self.warp, &map.warp).0;
        e.xor(e.xor(lane, warp), e.i32(map.constant.into()))
    }

    /// The word of the lane that `from` gives.
    fn shuffle_by(&self, from: &LaneMap, word: Val<'c>) -> Val<'c> {
        let own = from.lane.iter().enumerate().all(|(bit, &basis)| basis == 1 << bit);
        if own && from.warp.iter().all(|&basis| basis == 0) {
            return match from.constant {
                0 => word,
                mask => self.shuffle(word, |word| self.target.shuffle_xor(&self.e, word, mask)),
            };
        }
        let lane = self.lane_map(from);
        self.shuffle(word, |word| self.target.shuffle_index(&self.e, word, lane))
    }

    /// Exchanges a value of any type between lanes, 32 bits at a time.
    pub(super) fn shuffle(&self, value: Val<'c>, exchange: impl Fn(Val<'c>) -> Val<'c>) -> Val<'c> {
        let e = &self.e;
        let ty = value.get_type();
        let bits = e.bits(ty);
        let word = e.to_bits(value);
        if bits <= 32 {
            let moved = exchange(e.zext_or_trunc(word, 32));
            return e.bitcast(e.zext_or_trunc(moved, bits), ty);
        }
        let low = e.zext_or_trunc(exchange(e.zext_or_trunc(word, 32)), 64);
        let high = e.zext_or_trunc(exchange(e.zext_or_trunc(e.lshr_const(word, 32), 32)), 64);
        e.bitcast(e.or_disjoint(low, e.shl_const(high, 32)), ty)
    }

    /// Every thread stores what it has and loads what it wants. A tile larger than [`WINDOW_BYTES`] goes through in
    /// rounds, each of the elements whose offsets have the same top bits.
    fn convert_through_memory(
        &mut self,
        registers: &Registers<'c>,
        elem: Elem,
        from: &LinearLayout,
        plan: &MemoryPlan,
    ) -> Vec<Val<'c>> {
        let memory = memory_type(&self.e, elem);
        let owner = self.owner(from);
        let duplicates = from.free_bits(Dim::Register);
        let count = plan.load_offsets.in_size(Dim::Register) as usize;
        let mut result = vec![self.e.poison(register_type(&self.e, elem)); count];
        let rounds = (plan.bytes() / WINDOW_BYTES).clamp(1, MAX_ROUNDS);
        let window = plan.bytes() / rounds;
        for round in 0..rounds {
            let base = self.scratch(window.into());
            self.only_if(owner, |this| {
                for group in plan.store.groups().iter().filter(|group| group[0] & duplicates == 0) {
                    let place = this.place(&plan.store_offsets, group[0], plan.element_bytes, window, round);
                    let (address, inside) = (this.e.offset(base, place.offset), place.inside);
                    this.only_if(inside, |this| {
                        let e = &this.e;
                        let elements: Vec<Val<'c>> =
                            group.iter().map(|&r| to_memory(e, registers[r as usize], elem)).collect();
                        let align = plan.element_bytes * group.len() as u32;
                        e.store(e.pack(&elements), address, align, MemoryFlags::default());
                    });
                }
            });
            self.scratch_written();
            let e = &self.e;
            for group in plan.load.groups() {
                let width = group.len() as u32;
                let place = self.place(&plan.load_offsets, group[0], plan.element_bytes, window, round);
                if place.inside.is_some_and(|inside| e.as_const(inside) == Some(0)) {
                    continue;
                }
                let ty = if width == 1 { memory } else { e.vec_type(memory, width) };
                let address = e.offset(base, place.offset);
                let vector = e.load(ty, address, plan.element_bytes * width, MemoryFlags::default());
                for (&r, element) in group.iter().zip(e.unpack(vector)) {
                    let element = from_memory(e, element, elem);
                    let slot = &mut result[r as usize];
                    *slot = place.inside.map_or(element, |inside| e.select(inside, element, *slot));
                }
            }
        }
        result
    }

    /// Where in the window of a round the place lies that `offsets` gives to a register of this thread.
    fn place(&self, offsets: &LinearLayout, register: u32, bytes: u32, window: u32, round: u32) -> Place<'c> {
        let e = &self.e;
        let narrow = |dim| offsets.bases(dim).iter().map(|&b| b as u32 * bytes).collect::<Vec<_>>();
        let (lane, lane_mask) = select_bits(e, self.lane, &narrow(Dim::Lane));
        let (warp, warp_mask) = select_bits(e, self.warp, &narrow(Dim::Warp));
        let (thread, mask) = (e.xor(lane, warp), lane_mask | warp_mask);
        let constant = offsets.apply(&[(Dim::Register, register)]) as u32 * bytes;

        let low = window - 1;
        let inner = if mask <= low { thread } else { e.and(thread, e.i32(low.into())) };
        let offset = if constant & low & mask == 0 {
            // One address a thread, and constant offsets from it.
            e.add(inner, e.i32((constant & low).into()))
        } else {
            e.xor(inner, e.i32((constant & low).into()))
        };
        let wanted = round * window;
        let inside = if mask & !low == 0 {
            (constant & !low != wanted).then(|| e.bool(false))
        } else {
            let top = e.xor(e.and(thread, e.i32(i64::from(!low))), e.i32((constant & !low).into()));
            Some(e.icmp(EQ, top, e.i32(wanted.into())))
        };
        Place { offset, inside }
    }

    /// Whether this thread is the one that acts for each of its elements; `None` if all threads are.
    pub(super) fn owner(&self, layout: &LinearLayout) -> Option<Val<'c>> {
        let e = &self.e;
        let clear =
            |number: Val<'c>, mask: u32| (mask != 0).then(|| e.icmp(EQ, e.and(number, e.i32(mask.into())), e.i32(0)));
        let lane = clear(self.lane, layout.free_bits(Dim::Lane));
        let warp = clear(self.warp, layout.free_bits(Dim::Warp));
        match (lane, warp) {
            (Some(lane), Some(warp)) => Some(e.and(lane, warp)),
            (one, other) => one.or(other),
        }
    }

    /// Runs `work` in the threads where `condition` holds, or in all if there is none.
    pub(super) fn only_if(&mut self, condition: Option<Val<'c>>, work: impl FnOnce(&mut Self)) {
        let Some(condition) = condition else { return work(self) };
        match self.e.as_const(condition) {
            Some(0) => return,
            Some(_) => return work(self),
            None => {}
        }
        let (then_block, end) = (self.e.block("then"), self.e.block("endif"));
        self.e.cond_br(condition, then_block, end);
        self.e.move_to(then_block);
        work(self);
        self.e.br(end);
        self.e.move_to(end);
    }
}

/// Bytes of an element in shared memory.
pub(super) fn element_bytes(elem: Elem) -> u32 {
    match elem {
        Elem::Ptr(_) => 8,
        Elem::Scalar(t) => t.bits().div_ceil(8),
    }
}

/// A register's value as it stands in memory.
pub(super) fn to_memory<'c>(e: &crate::emit::Emitter<'c, '_>, value: Val<'c>, elem: Elem) -> Val<'c> {
    match elem {
        Elem::Scalar(t) if t.bits() < 8 => e.zext_or_trunc(e.to_bits(value), 8),
        _ => value,
    }
}

/// A value in memory as it stands in a register.
pub(super) fn from_memory<'c>(e: &crate::emit::Emitter<'c, '_>, value: Val<'c>, elem: Elem) -> Val<'c> {
    match elem {
        // In memory a truth value is a byte, 0 or 1; any other byte counts as true.
        Elem::Scalar(ScalarType::Bool) => e.icmp(inkwell::IntPredicate::NE, value, e.const_int(8, 0)),
        Elem::Scalar(t) if t.bits() < 8 => e.bitcast(e.zext_or_trunc(value, t.bits()), register_type(e, elem)),
        _ => value,
    }
}
