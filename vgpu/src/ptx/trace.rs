//! What the PTX machine tells a tracer.

use super::exec::launch::Launched;
use super::exec::state::World;
use super::exec::warp::Warp;
use super::program::{File, Register};
use crate::error::Location;
use crate::trace::{Event, Tracer, Value};

fn wants(tracer: &Tracer<'_>, warp: &Warp, world: &World, l: &Launched, pc: u32) -> bool {
    tracer.follows(world.ctas[warp.cta].id, warp.index as u32) && tracer.shows(&l.kernel.infos[pc as usize].text)
}

/// Notes what an instruction is about to read.
pub(crate) fn before(tracer: &Tracer<'_>, warp: &Warp, world: &World, l: &Launched, pc: u32, mask: u32) {
    if wants(tracer, warp, world, l, pc) {
        let reads = values(warp, &l.kernel.infos[pc as usize].reads, mask);
        *super::exec::launch::lock(&tracer.pending) = reads;
    }
}

/// Tells of an instruction that was executed.
pub(crate) fn after(tracer: &Tracer<'_>, warp: &Warp, world: &World, l: &Launched, pc: u32, mask: u32) {
    if wants(tracer, warp, world, l, pc) {
        let info = &l.kernel.infos[pc as usize];
        (tracer.sink)(Event {
            program: world.ctas[warp.cta].id,
            warp: warp.index as u32,
            mask: u64::from(mask),
            location: Location { line: Some(info.position.line), ..Location::default() },
            text: info.text.clone(),
            reads: std::mem::take(&mut *super::exec::launch::lock(&tracer.pending)),
            writes: values(warp, &info.writes, mask),
        });
    }
}

fn values(warp: &Warp, registers: &[Register], mask: u32) -> Vec<Value> {
    let lane = mask.trailing_zeros() as usize % 32;
    let value = |register: &Register| match register.file {
        File::Word => ("w", u64::from(warp.registers.w(register.slot)[lane])),
        File::Double => ("d", warp.registers.d(register.slot)[lane]),
        File::Predicate => ("p", u64::from(warp.registers.p(register.slot) >> lane & 1)),
    };
    registers
        .iter()
        .map(|register| {
            let (file, bits) = value(register);
            Value { register: format!("{file}{}", register.slot), bits: Some(bits) }
        })
        .collect()
}
