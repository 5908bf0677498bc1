//! Traces: each instruction that a warp executes, with the registers it reads and writes.

use super::exec::launch::Launched;
use super::exec::state::World;
use super::exec::warp::Warp;
use super::program::{File, Register};

/// One register of one lane in a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// The register's number in its file, as decoded.
    pub register: String,
    /// Its bits in the first executing lane.
    pub bits: u64,
}

/// An executed instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The program.
    pub program: [u32; 3],
    /// The warp in it.
    pub warp: u32,
    /// Lanes that execute.
    pub mask: u32,
    /// Line in the text.
    pub line: u32,
    /// The instruction.
    pub text: String,
    /// What it read, before.
    pub reads: Vec<Value>,
    /// What it wrote.
    pub writes: Vec<Value>,
}

/// Calls a function for each executed instruction that a filter lets pass.
pub struct Tracer<'a> {
    /// Programs and warps to trace; `None` for all.
    pub program: Option<[u32; 3]>,
    /// The warp to trace; `None` for all.
    pub warp: Option<u32>,
    /// Only instructions whose text contains this.
    pub contains: Option<String>,
    /// Called for each.
    pub sink: &'a (dyn Fn(Event) + Sync),
    pending: std::sync::Mutex<Vec<Value>>,
}

impl<'a> Tracer<'a> {
    /// A tracer of everything.
    pub fn new(sink: &'a (dyn Fn(Event) + Sync)) -> Self {
        Self { program: None, warp: None, contains: None, sink, pending: std::sync::Mutex::default() }
    }

    fn wants(&self, warp: &Warp, world: &World, l: &Launched, pc: u32) -> bool {
        self.program.is_none_or(|program| program == world.ctas[warp.cta].id)
            && self.warp.is_none_or(|index| index == warp.index as u32)
            && self.contains.as_ref().is_none_or(|part| l.kernel.infos[pc as usize].text.contains(part.as_str()))
    }

    pub(crate) fn before(&self, warp: &Warp, world: &World, l: &Launched, pc: u32, mask: u32) {
        if self.wants(warp, world, l, pc) {
            let reads = values(warp, &l.kernel.infos[pc as usize].reads, mask);
            *super::exec::launch::lock(&self.pending) = reads;
        }
    }

    pub(crate) fn after(&self, warp: &Warp, world: &World, l: &Launched, pc: u32, mask: u32) {
        if self.wants(warp, world, l, pc) {
            let info = &l.kernel.infos[pc as usize];
            (self.sink)(Event {
                program: world.ctas[warp.cta].id,
                warp: warp.index as u32,
                mask,
                line: info.position.line,
                text: info.text.clone(),
                reads: std::mem::take(&mut *super::exec::launch::lock(&self.pending)),
                writes: values(warp, &info.writes, mask),
            });
        }
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
            Value { register: format!("{file}{}", register.slot), bits }
        })
        .collect()
}
