//! Barriers between accesses of different threads of a program to the same global memory.
//!
//! Tile IR runs its ops one after another: a load sees what an earlier store of the program wrote, whichever thread
//! wrote it. On a GPU that needs a barrier in between, unless each thread only meets its own accesses. This keeps the
//! accesses since the last barrier and finds those that a new one must wait for.
//!
//! Two parameters do not overlap where one of them is written: the language borrows them so. Raw pointers may overlap
//! each other.

use tegula_ir::function::{Block, Function, Value};
use tegula_ir::ops::{Address, OpKind};
use tegula_ir::types::LayoutRef;

use super::lowering::Lowering;

/// What an access does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AccessKind {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Reads and writes atomically.
    Atomic,
}

/// What memory an access is to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Memory {
    /// A view parameter.
    Param(u32),
    /// Anywhere that is no view parameter.
    Unknown,
}

/// One access since the last barrier.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct GlobalAccess {
    pub memory: Memory,
    pub writes: bool,
    /// Atomics do not wait for one another.
    pub atomic: bool,
    /// If it is known which thread makes which access: the same address and layout mean the same thread for each
    /// element.
    pub place: Option<(Address, Option<LayoutRef>)>,
}

/// The accesses since the last barrier.
#[derive(Debug, Clone, Default)]
pub(super) struct Hazards {
    pending: Vec<GlobalAccess>,
}

impl Hazards {
    /// A barrier has passed.
    pub(super) fn clear(&mut self) {
        self.pending.clear();
    }

    /// Adds what may be pending after another way through the program.
    pub(super) fn join(&mut self, other: Hazards) {
        for access in other.pending {
            if !self.pending.contains(&access) {
                self.pending.push(access);
            }
        }
    }

    fn conflicts(&self, access: &GlobalAccess) -> bool {
        self.pending.iter().any(|earlier| {
            earlier.memory == access.memory
                && (earlier.writes || access.writes)
                && !(earlier.atomic && access.atomic)
                && !(earlier.place.is_some() && earlier.place == access.place)
        })
    }
}

impl<'c> Lowering<'_, 'c, '_> {
    /// Announces an access; puts a barrier before it if an earlier one of another thread may be to the same memory.
    /// Must be called where all threads come.
    pub(super) fn order_access(&mut self, address: &Address, layout: Option<LayoutRef>, kind: AccessKind) {
        let (writes, atomic) = (kind != AccessKind::Read, kind == AccessKind::Atomic);
        let Some(memory) = self.memory_of(address, writes) else { return };
        // Where several threads hold an element, all of them read it and one writes it.
        let one_thread_each = layout.as_ref().is_some_and(|layout| self.owner(layout).is_none());
        let place = one_thread_each.then(|| (address.clone(), layout));
        let access = GlobalAccess { memory, writes, atomic, place };
        if self.hazards.conflicts(&access) {
            self.barrier();
        }
        if !self.hazards.pending.contains(&access) {
            self.hazards.pending.push(access);
        }
    }

    /// The memory that an address is in; `None` if no access to it can conflict.
    fn memory_of(&self, address: &Address, writes: bool) -> Option<Memory> {
        match address {
            Address::Tile { view, .. } | Address::Gather { view, .. } => {
                let view = self.view(*view);
                match view.root {
                    Some(_) if view.read_only && !writes => None,
                    Some(param) => Some(Memory::Param(param)),
                    None => Some(Memory::Unknown),
                }
            }
            Address::Ptr { .. } => Some(Memory::Unknown),
        }
    }

    /// At the head of a loop: what an iteration before may have left pending. The places are forgotten, since the same
    /// value is another address in another iteration.
    pub(super) fn expect_accesses_of(&mut self, blocks: &[Block]) {
        for &block in blocks {
            for (address, kind) in accesses(self.f, block) {
                let (writes, atomic) = (kind != AccessKind::Read, kind == AccessKind::Atomic);
                let defined_inside =
                    |view: Value| !matches!(self.f.value(view).def, tegula_ir::function::ValueDef::Param(_));
                let memory = match &address {
                    // Views that the loop itself makes are not known yet.
                    Address::Tile { view, .. } | Address::Gather { view, .. } if defined_inside(*view) => {
                        Some(Memory::Unknown)
                    }
                    _ => self.memory_of(&address, writes),
                };
                let Some(memory) = memory else { continue };
                let access = GlobalAccess { memory, writes, atomic, place: None };
                if !self.hazards.pending.contains(&access) {
                    self.hazards.pending.push(access);
                }
            }
        }
        for access in &mut self.hazards.pending {
            access.place = None;
        }
    }
}

/// The accesses of a block and those nested in it.
fn accesses(f: &Function, block: Block) -> Vec<(Address, AccessKind)> {
    let mut all = Vec::new();
    f.walk_block(block, &mut |_, op| match f.kind(op) {
        OpKind::Load { addr, .. } => all.push((addr.clone(), AccessKind::Read)),
        OpKind::Store { addr, .. } => all.push((addr.clone(), AccessKind::Write)),
        OpKind::AtomicRmw { addr, .. } | OpKind::AtomicCas { addr, .. } => {
            all.push((addr.clone(), AccessKind::Atomic));
        }
        _ => {}
    });
    all
}
