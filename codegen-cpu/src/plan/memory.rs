//! Which loads may be moved, and which accesses may meet in memory.

use tegula_ir::function::{Function, Op, ParamKind, Value, ValueDef, ViewAccess};
use tegula_ir::ops::{Address, OpKind};

/// What an access goes through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// The view parameter of this number.
    View(u32),
    /// A pointer, or a view made from one.
    Pointer,
}

/// What an address goes through.
pub fn origin(func: &Function, addr: &Address) -> Origin {
    match addr {
        Address::Tile { view, .. } | Address::Gather { view, .. } => view_origin(func, *view),
        Address::Ptr { .. } => Origin::Pointer,
    }
}

fn view_origin(func: &Function, view: Value) -> Origin {
    match func.value(view).def {
        ValueDef::Param(p) => Origin::View(p),
        _ => Origin::Pointer,
    }
}

/// Whether a read and a write through these may touch the same memory. A view that a kernel only reads is not
/// written while it runs: that is what its launcher promises.
pub fn may_conflict(func: &Function, read: Origin, write: Origin) -> bool {
    if read == write {
        return true;
    }
    let alone = |o: Origin| match o {
        Origin::View(p) => match &func.params[p as usize].kind {
            ParamKind::View { spec, .. } => spec.no_alias,
            _ => false,
        },
        Origin::Pointer => false,
    };
    !alone(read) && !alone(write)
}

/// Whether the view behind this is only read.
fn is_constant(func: &Function, origin: Origin) -> bool {
    match origin {
        Origin::View(p) => {
            matches!(func.params[p as usize].kind, ParamKind::View { access: ViewAccess::Read, .. })
        }
        Origin::Pointer => false,
    }
}

/// What the kernel as a whole does to memory.
pub struct Writes {
    origins: Vec<Origin>,
}

impl Writes {
    /// Collects the writes of a kernel.
    pub fn of(func: &Function) -> Self {
        let mut origins = Vec::new();
        func.walk(|_, op| {
            if let OpKind::Store { addr, .. } | OpKind::AtomicRmw { addr, .. } | OpKind::AtomicCas { addr, .. } =
                func.kind(op)
            {
                let o = origin(func, addr);
                if !origins.contains(&o) {
                    origins.push(o);
                }
            }
        });
        Self { origins }
    }

    /// Whether a load gives the same wherever in the kernel it is done.
    pub fn can_move(&self, func: &Function, load: Op) -> bool {
        let OpKind::Load { addr, access, .. } = func.kind(load) else { return false };
        let from = origin(func, addr);
        !access.volatile && (is_constant(func, from) || !self.origins.iter().any(|&to| may_conflict(func, from, to)))
    }
}
