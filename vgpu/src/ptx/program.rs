//! A kernel decoded for execution: dense operations on register slots.

use super::isa::Op;
use super::syntax::ast::Position;
use crate::counters::Class;
use crate::finding::SourceLine;

/// One 32-bit register of a warp: a value for each lane. Narrower registers live in it, zero-extended.
pub(crate) type L32 = [u32; 32];
/// One 64-bit register of a warp.
pub(crate) type L64 = [u64; 32];

/// A slot that is not there.
pub(crate) const NONE: u32 = u32::MAX;

/// The register files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum File {
    /// Up to 32 bits.
    Word,
    /// 64 bits.
    Double,
    /// Predicates.
    Predicate,
}

/// A register: a file and a slot in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Register {
    pub file: File,
    pub slot: u32,
}

/// Values that a warp's registers have from the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Special {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    Laneid,
    Warpid,
    Nwarpid,
    Smid,
    Nsmid,
    Gridid,
    LanemaskEq,
    LanemaskLe,
    LanemaskLt,
    LanemaskGe,
    LanemaskGt,
    Clusterid(u8),
    Nclusterid(u8),
    ClusterCtaid(u8),
    ClusterNctaid(u8),
    ClusterCtarank,
    ClusterNctarank,
    IsExplicitCluster,
    TotalSmemSize,
    AggrSmemSize,
    DynamicSmemSize,
    Zero,
    ZeroDouble,
}

/// A decoded instruction: what the interpreter's loop touches.
pub(crate) struct Inst {
    pub op: Op,
    /// Slot of the guard predicate, or [`NONE`].
    pub guard: u32,
    pub guard_negated: bool,
    pub class: Class,
}

/// The rest about an instruction: for findings, traces and checks.
pub(crate) struct InstInfo {
    pub text: String,
    pub position: Position,
    pub source: Option<u32>,
    pub reads: Box<[Register]>,
    pub writes: Box<[Register]>,
    /// The opcode without its modifiers.
    pub opcode: String,
}

/// A parameter of a kernel.
#[derive(Clone, Debug)]
pub(crate) struct Param {
    pub name: String,
    pub offset: u32,
    pub size: u32,
    pub align: u32,
}

/// Where an argument, a result or a formal parameter of a function is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passed {
    /// In call-parameter memory.
    Memory { offset: u32, size: u32 },
    /// In a register, of 128 bits in it and the next one.
    Register { register: Register, bits: u32 },
}

impl Passed {
    /// The registers that it takes up.
    pub fn registers(self) -> impl Iterator<Item = Register> {
        let (register, count) = match self {
            Self::Memory { .. } => (Register { file: File::Word, slot: NONE }, 0),
            Self::Register { register, bits } => (register, bits.div_ceil(64)),
        };
        (0..count).map(move |n| Register { slot: register.slot + n, ..register })
    }
}

/// A function in the kernel's code.
pub(crate) struct FunctionRange {
    pub name: String,
    pub entry: u32,
    /// Its registers, to be saved when it is called again before it returned.
    pub words: std::ops::Range<u32>,
    pub doubles: std::ops::Range<u32>,
    pub predicates: std::ops::Range<u32>,
    /// Its formal parameters and results.
    pub params: Vec<Passed>,
    pub returns: Vec<Passed>,
    /// Its variables in local memory and call-parameter memory.
    pub locals: std::ops::Range<u32>,
    pub call_params: std::ops::Range<u32>,
}

/// A kernel ready to run.
pub(crate) struct Kernel {
    /// Whether it has instructions that read shared memory asynchronously (`wgmma`, bulk copies).
    pub has_readers: bool,
    pub name: String,
    pub insts: Vec<Inst>,
    pub infos: Vec<InstInfo>,
    pub sources: Vec<SourceLine>,
    pub functions: Vec<FunctionRange>,
    /// The function behind each function of the module, by its number there; [`NONE`] for those that the kernel does not have.
    pub pointers: Vec<u32>,
    pub words: u32,
    pub doubles: u32,
    pub predicates: u32,
    pub constant_words: Vec<(u32, u32)>,
    pub constant_doubles: Vec<(u32, u64)>,
    pub constant_predicates: Vec<(u32, bool)>,
    pub specials: Vec<(Special, Register)>,
    /// Registers that count as written from the start.
    pub defined: Vec<Register>,
    pub params: Vec<Param>,
    pub param_bytes: u32,
    pub shared_static: u32,
    pub shared_names: Vec<(String, u32, u32)>,
    pub local_bytes: u32,
    pub call_param_bytes: u32,
    /// The register of the stack pointer, where there is one; [`NONE`] else. The stack grows up from where it starts in local memory.
    pub stack: u32,
    pub stack_start: u32,
    pub reqntid: Option<[u32; 3]>,
    pub maxntid: Option<[u32; 3]>,
    pub maxnreg: Option<u32>,
    pub reqnctapercluster: Option<[u32; 3]>,
    /// Registers declared by the kernel itself in units of 32 bits, before any allocation.
    pub declared_registers: u32,
}
