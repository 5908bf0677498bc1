//! The stack of a thread in local memory: `alloca`, `stacksave`, `stackrestore`.

use super::Op;
use crate::error::Result;
use crate::ptx::decode::{Decoder, Modifiers, Ty};
use crate::ptx::exec::Cx;
use crate::ptx::program::File;
use crate::ptx::syntax::ast::{Instruction, Operand};

/// An operation on the stack pointer.
pub(crate) enum StackOp {
    /// Takes so many bytes, aligned.
    Allocate {
        to: u32,
        bytes: u32,
        align: u64,
    },
    Save {
        to: u32,
    },
    Restore {
        from: u32,
    },
}

impl StackOp {
    pub fn execute(&self, cx: &mut Cx) {
        let mask = cx.mask;
        let stack = cx.kernel().stack;
        let registers = &mut cx.warp.registers;
        let pointers = *registers.d(stack);
        match *self {
            Self::Allocate { to, bytes, align } => {
                let starts = pointers.map(|pointer| pointer.next_multiple_of(align));
                let bytes = *registers.d(bytes);
                let ends = std::array::from_fn(|lane| starts[lane].saturating_add(bytes[lane]));
                registers.set_d(to, &starts, mask);
                registers.set_d(stack, &ends, mask);
            }
            Self::Save { to } => registers.set_d(to, &pointers, mask),
            Self::Restore { from } => {
                let saved = *registers.d(from);
                registers.set_d(stack, &saved, mask);
            }
        }
    }
}

/// Decodes `alloca`, `stacksave` and `stackrestore`.
pub(super) fn decode(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Option<Op>> {
    if !matches!(m.ty(), Some(Ty::U64)) {
        return Err(d.bad("only addresses of 64 bits are supported"));
    }
    d.stack();
    let op = match (i.opcode.as_str(), i.operands.as_slice()) {
        ("alloca", [to, bytes, rest @ ..]) => {
            let align = match rest {
                [] => 8,
                [align, ..] => d.immediate(align)?,
            };
            if !(1..=4096).contains(&align) || align & (align - 1) != 0 {
                return Err(d.bad("the alignment must be a power of two"));
            }
            let bytes = size(d, bytes)?;
            StackOp::Allocate { to: d.double_destination(to)?, bytes, align: align as u64 }
        }
        ("stacksave", [to]) => StackOp::Save { to: d.double_destination(to)? },
        ("stackrestore", [from]) => StackOp::Restore { from: d.double(from, Ty::U64)? },
        _ => return Ok(None),
    };
    Ok(Some(Op::Stack(op)))
}

fn size(d: &mut Decoder, operand: &Operand) -> Result<u32> {
    match d.file_of(operand) {
        Some(File::Word | File::Predicate) => Err(d.bad("the size must have 64 bits")),
        _ => d.double(operand, Ty::U64),
    }
}
