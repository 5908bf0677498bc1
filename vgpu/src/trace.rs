//! Traces: each instruction that a warp or wave executes, with the registers it reads and writes.

use crate::error::Location;
use std::sync::Mutex;

/// One register of one lane in a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// The register: its number in its file on the PTX machine, the assembler's name on the AMD machine.
    pub register: String,
    /// Its bits in the first executing lane; none while a load into it is outstanding.
    pub bits: Option<u64>,
}

/// An executed instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The program.
    pub program: [u32; 3],
    /// The warp (wave) in it.
    pub warp: u32,
    /// Lanes that execute.
    pub mask: u64,
    /// Where it stands: a line of the text, or an address in the code object.
    pub location: Location,
    /// The instruction.
    pub text: String,
    /// What it read, before.
    pub reads: Vec<Value>,
    /// What it wrote.
    pub writes: Vec<Value>,
}

/// Calls a function for each executed instruction that a filter lets pass. Programs run one after another while they are traced.
pub struct Tracer<'a> {
    /// The program to trace; `None` for all.
    pub program: Option<[u32; 3]>,
    /// The warp to trace; `None` for all.
    pub warp: Option<u32>,
    /// Only instructions whose text contains this.
    pub contains: Option<String>,
    /// Called for each.
    pub sink: &'a (dyn Fn(Event) + Sync),
    /// What the instruction that is being executed has read, for a machine that tells before and after apart.
    pub(crate) pending: Mutex<Vec<Value>>,
}

impl<'a> Tracer<'a> {
    /// A tracer of everything.
    pub fn new(sink: &'a (dyn Fn(Event) + Sync)) -> Self {
        Self { program: None, warp: None, contains: None, sink, pending: Mutex::default() }
    }

    /// Whether a warp is traced.
    pub(crate) fn follows(&self, program: [u32; 3], warp: u32) -> bool {
        self.program.is_none_or(|wanted| wanted == program) && self.warp.is_none_or(|wanted| wanted == warp)
    }

    /// Whether instructions with a text are traced.
    pub(crate) fn shows(&self, text: &str) -> bool {
        self.contains.as_ref().is_none_or(|part| text.contains(part.as_str()))
    }
}
