//! What names stand for, and how variables are laid out.

use super::types::Ty;
use crate::ptx::program::Register;
use crate::ptx::syntax::ast::Variable;
use std::rc::Rc;

/// A state space, as the decoder tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Space {
    Generic,
    /// Global and constant memory, which share the device's memory.
    Global,
    Shared,
    SharedCluster,
    Local,
    /// The kernel's parameters.
    EntryParam,
    /// Parameters and results of calls.
    CallParam,
}

/// What a name stands for.
#[derive(Clone, Debug)]
pub(crate) enum Symbol {
    Register {
        register: Register,
        bits: u32,
    },
    Variable {
        space: Space,
        address: u64,
    },
    /// The dynamic shared memory; its address is known when all of the static one is.
    DynamicShared,
    Label(u32),
    Targets(Rc<[String]>),
    Prototype,
}

/// Size and alignment of a variable.
pub(crate) fn layout(variable: &Variable) -> Result<(u64, u64), String> {
    let Some(ty) = Ty::parse(&variable.ty) else {
        return Err(format!("unknown type `.{}`", variable.ty));
    };
    let element = u64::from(ty.bytes()) * u64::from(variable.vector);
    let size = element.checked_mul(variable.elements.unwrap_or(1)).filter(|&size| size < 1 << 40);
    let size = size.ok_or_else(|| format!("`{}` is too large", variable.name))?;
    let align = variable.align.unwrap_or(element);
    if !align.is_power_of_two() || align > 4096 {
        return Err(format!("`{}` has the alignment {align}, which is not a power of two up to 4096", variable.name));
    }
    Ok((size, align))
}
