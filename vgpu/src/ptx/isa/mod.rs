//! The instruction set, family by family: each file decodes its instructions and executes them.

pub(crate) mod atomic;
pub(crate) mod barrier;
pub(crate) mod bulk;
pub(crate) mod collective;
pub(crate) mod compare;
pub(crate) mod control;
pub(crate) mod convert;
pub(crate) mod copy;
pub(crate) mod float;
mod gemm;
pub(crate) mod half;
pub(crate) mod integer;
pub(crate) mod lanes;
pub(crate) mod matrix_move;
pub(crate) mod memory;
pub(crate) mod mma;
pub(crate) mod moves;
pub(crate) mod quad;
mod shape;
mod sparse;
pub(crate) mod special;
pub(crate) mod stack;
pub(crate) mod wgmma;
pub(crate) mod wmma;

use super::decode::{Decoder, Modifiers, Ty};
use super::exec::{Cx, Step};
use super::syntax::ast::Instruction;
use crate::counters::Class;
use crate::error::Result;

/// An operation. Large ones are boxed, so that the interpreter's loop touches little.
pub(crate) enum Op {
    /// From registers to registers, each lane by itself.
    Lane(lanes::LaneOp),
    Carry(integer::CarryOp),
    Lop3(integer::Lop3Op),
    Compare(compare::CompareOp),
    Convert(convert::ConvertOp),
    Pack(Box<moves::PackOp>),
    Clock {
        kind: moves::Clock,
        to: u32,
    },
    Load(Box<memory::LoadOp>),
    Store(Box<memory::StoreOp>),
    MapAddress(Box<memory::MapAddressOp>),
    Atomic(Box<atomic::AtomicOp>),
    Fence(atomic::FenceOp),
    Control(control::ControlOp),
    Stack(stack::StackOp),
    Barrier(barrier::BarrierOp),
    ClusterBarrier(barrier::ClusterBarrierOp),
    MemoryBarrier(Box<barrier::MemoryBarrierOp>),
    Collective(Box<collective::CollectiveOp>),
    Copy(Box<copy::CopyOp>),
    MatrixMove(Box<matrix_move::MatrixMoveOp>),
    Mma(Box<mma::MmaOp>),
    QuadMma(Box<quad::QuadMmaOp>),
    Wgmma(Box<wgmma::WgmmaOp>),
    Wmma(Box<wmma::WmmaOp>),
    Bulk(Box<bulk::BulkOp>),
    /// Has no effect here.
    Nop,
}

/// Executes an operation.
#[inline(always)]
pub(crate) fn execute(op: &Op, cx: &mut Cx) -> Result<Step> {
    match op {
        Op::Lane(op) => op.execute(&mut cx.warp.registers, cx.mask),
        Op::Carry(op) => op.execute(&mut cx.warp.registers, cx.mask),
        Op::Lop3(op) => op.execute(&mut cx.warp.registers, cx.mask),
        Op::Compare(op) => op.execute(&mut cx.warp.registers, cx.mask),
        Op::Convert(op) => op.execute(&mut cx.warp.registers, cx.mask),
        Op::Pack(op) => op.execute(&mut cx.warp.registers, cx.mask),
        Op::Clock { kind, to } => moves::read_clock(cx, *kind, *to),
        Op::Load(op) => op.execute(cx),
        Op::Store(op) => op.execute(cx),
        Op::MapAddress(op) => op.execute(cx),
        Op::Atomic(op) => op.execute(cx),
        Op::Fence(op) => op.execute(cx),
        Op::Control(op) => return op.execute(cx),
        Op::Stack(op) => op.execute(cx),
        Op::Barrier(op) => return op.execute(cx),
        Op::ClusterBarrier(op) => return op.execute(cx),
        Op::MemoryBarrier(op) => return op.execute(cx),
        Op::Collective(op) => return op.execute(cx),
        Op::Copy(op) => return op.execute(cx),
        Op::MatrixMove(op) => return op.execute(cx),
        Op::Mma(op) => return op.execute(cx),
        Op::QuadMma(op) => return op.execute(cx),
        Op::Wgmma(op) => return op.execute(cx),
        Op::Wmma(op) => return op.execute(cx),
        Op::Bulk(op) => return op.execute(cx),
        Op::Nop => {}
    }
    Ok(Step::Next)
}

/// Video instructions, without the number of elements.
const VIDEO: [&str; 10] = ["vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vmad", "vset"];

/// The type that an instruction names first.
fn first_type(i: &Instruction) -> Option<Ty> {
    i.modifiers.iter().find_map(|word| Ty::parse(word))
}

/// Decodes an instruction.
pub(crate) fn decode(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<(Op, Class)> {
    let ty = first_type(i);
    let class = |float: Class| match ty {
        Some(ty) if ty.is_float() || matches!(ty, Ty::F16x2 | Ty::BF16x2 | Ty::F32x2) => float,
        _ => Class::Integer,
    };
    let arithmetic = |d: &mut Decoder, m: &mut Modifiers| match ty {
        Some(Ty::F32 | Ty::F64 | Ty::F32x2) => float::decode(d, i, m),
        Some(Ty::F16 | Ty::BF16 | Ty::F16x2 | Ty::BF16x2) => half::decode(d, i, m),
        _ => integer::decode(d, i, m),
    };
    let (op, class) = match i.opcode.as_str() {
        "add" | "sub" | "mul" | "mad" | "fma" | "min" | "max" | "abs" | "neg" | "div" | "rem" => {
            (arithmetic(d, m)?, class(Class::Float))
        }
        "rcp" | "sqrt" => (float::decode(d, i, m)?, Class::Special),
        "copysign" => (float::decode(d, i, m)?, Class::Float),
        "testp" => (float::decode_testp(d, i, m)?, Class::Float),
        "ex2" | "tanh" if matches!(ty, Some(Ty::F16 | Ty::BF16 | Ty::F16x2 | Ty::BF16x2)) => {
            (half::decode(d, i, m)?, Class::Special)
        }
        "ex2" | "lg2" | "rsqrt" | "sin" | "cos" | "tanh" => (special::decode(d, i, m)?, Class::Special),
        "addc" | "subc" | "madc" | "mul24" | "mad24" | "sad" | "popc" | "clz" | "bfind" | "fns" | "brev" | "bfe"
        | "bfi" | "bmsk" | "szext" | "and" | "or" | "xor" | "not" | "cnot" | "lop3" | "shl" | "shr" | "shf"
        | "prmt" | "dp4a" | "dp2a" => (integer::decode(d, i, m)?, Class::Integer),
        "setp" => (compare::decode_setp(d, i, m)?, class(Class::Float)),
        "set" => (compare::decode_set(d, i, m)?, class(Class::Float)),
        "selp" => (compare::decode_selp(d, i, m)?, Class::Move),
        "slct" => (compare::decode_slct(d, i, m)?, Class::Move),
        "cvt" => (convert::decode(d, i, m)?, Class::Convert),
        "mov" => (moves::decode(d, i, m)?, Class::Move),
        "cvta" => (moves::decode_cvta(d, i, m)?, Class::Move),
        "isspacep" => (moves::decode_isspacep(d, i, m)?, Class::Move),
        "ld" | "ldu" => return memory::decode_load(d, i, m),
        "st" => return memory::decode_store(d, i, m),
        "mapa" | "getctarank" => (memory::decode_map_address(d, i, m)?, Class::Integer),
        "prefetch" | "prefetchu" | "applypriority" | "discard" => (memory::decode_hint(d, i, m)?, Class::Global),
        "createpolicy" => (memory::decode_policy(d, i, m)?, Class::Move),
        "atom" | "red" => (atomic::decode(d, i, m)?, Class::Atomic),
        "membar" | "fence" => (atomic::decode_fence(d, i, m)?, Class::Sync),
        "bra" | "brx" | "call" | "ret" | "exit" | "trap" | "brkpt" | "nanosleep" | "pmevent" | "griddepcontrol"
        | "setmaxnreg" => (control::decode(d, i, m)?, Class::Control),
        "alloca" | "stacksave" | "stackrestore" => (stack::decode(d, i, m)?, Class::Control),
        "bar" | "barrier" => (barrier::decode(d, i, m)?, Class::Sync),
        "mbarrier" => (barrier::decode_memory_barrier(d, i, m)?, Class::Sync),
        "shfl" | "vote" | "match" | "redux" | "activemask" | "elect" => (collective::decode(d, i, m)?, Class::Warp),
        "cp" => return bulk::decode_cp(d, i, m),
        "tensormap" => (bulk::decode_tensormap(d, i, m)?, Class::Async),
        "ldmatrix" | "stmatrix" => (matrix_move::decode(d, i, m)?, Class::Shared),
        "movmatrix" => (matrix_move::decode(d, i, m)?, Class::Warp),
        "mma" => (mma::decode(d, i, m)?, Class::Matrix),
        "wgmma" => return wgmma::decode(d, i, m),
        "wmma" => (wmma::decode(d, i, m)?, Class::Matrix),
        "tcgen05" => return Err(d.requires("sm_100a", "tensor cores with memory of their own")),
        "clusterlaunchcontrol" => return Err(d.requires("sm_100", "programs that take over the work of others")),
        "multimem" => return Err(d.unsupported("memory that several devices share is not modelled")),
        "tex" | "tld4" | "txq" | "suld" | "sust" | "sured" | "suq" | "istypep" => {
            return Err(d.unsupported("textures and surfaces are not modelled"));
        }
        _ if i.opcode.starts_with('v') && VIDEO.contains(&i.opcode.trim_end_matches(['2', '4'])) => {
            return Err(d.unsupported("video instructions are not modelled"));
        }
        _ => (None, Class::Control),
    };
    match op {
        Some(op) => Ok((op, class)),
        None => Err(d.unsupported("no such instruction, or no such form of it")),
    }
}
