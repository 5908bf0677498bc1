//! What a launcher must know of a compiled kernel: its ops that call back, resolved to what the callbacks need.

use tegula_artifact::cpu::{CpuInfo, PrintArg, Site};
use tegula_codegen::symbol::symbol_name;
use tegula_ir::Function;
use tegula_ir::ops::OpKind;
use tegula_ir::types::Type;

use crate::lower::{CallSite, Lowered};
use crate::plan::memory::{Origin, origin};

/// What is known of a lowered kernel.
pub(crate) fn info(func: &Function, lowered: &Lowered, checks_pointers: bool) -> CpuInfo {
    CpuInfo {
        symbol: symbol_name(&func.name),
        sites: lowered.sites.iter().map(|s| site(func, s)).collect(),
        arena_bytes: lowered.arena_bytes,
        uses_pointers: uses_pointers(func),
        checks_pointers,
    }
}

fn uses_pointers(func: &Function) -> bool {
    let mut found = false;
    func.walk(|_, op| {
        if let OpKind::Load { addr, .. }
        | OpKind::Store { addr, .. }
        | OpKind::AtomicRmw { addr, .. }
        | OpKind::AtomicCas { addr, .. } = func.kind(op)
        {
            found |= origin(func, addr) == Origin::Pointer;
        }
    });
    found
}

fn site(func: &Function, site: &CallSite) -> Site {
    match site {
        CallSite::Print(op) => {
            let OpKind::Print { message, args } = func.kind(*op) else { unreachable!("a print") };
            let arg = |v: &tegula_ir::Value| {
                let ty = func.ty(*v);
                PrintArg {
                    elem: ty.elem_scalar().expect("only numbers are printed"),
                    tile: matches!(ty, Type::Tile(_)),
                    count: ty.tile().map_or(1, |t| t.count() as usize),
                }
            };
            Site::Print { message: message.clone(), args: args.iter().map(arg).collect() }
        }
        CallSite::Assert(op) => {
            let OpKind::Assert { cond, message } = func.kind(*op) else { unreachable!("an assert") };
            Site::Assert {
                message: message.clone(),
                loc: func.locs.get(func.op(*op).loc).clone(),
                shape: func.ty(*cond).tile().map(|t| t.shape.to_vec()),
            }
        }
        CallSite::Access(op) => Site::Access { loc: func.locs.get(func.op(*op).loc).clone() },
    }
}
