//! The state of waves, workgroups and the launch.

use super::hazard::Hazards;
use super::hazard_rdna::RdnaHazards;
use super::queue::Queues;
use crate::counters::Counters;
use crate::error::{Error, Location};
use crate::finding::{Instruction, Report};
use crate::gcn::arch::Arch;
use crate::gcn::inst::sreg;
use crate::gcn::program::Program;
use crate::memory::{Cursor, Snapshot};
use crate::numeric::Rounding;
use crate::sanitizer::{GlobalShadow, SharedShadow, VectorClock};
use crate::trace::Tracer;

/// One value for each lane.
pub(crate) type Lanes = [u32; 64];

/// What is to happen after an instruction.
#[derive(Debug)]
pub(crate) enum Flow {
    /// The next one.
    Next,
    /// The one at [`super::Cx::next`].
    Jump,
    /// The wave waits at the barrier, and then goes on.
    Barrier,
    /// Another wave may run first.
    Yield,
    /// The wave is done.
    End,
    /// The launch stops.
    Fail(Error),
}

/// The floating-point mode of a wave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mode {
    pub round_32: Rounding,
    pub round_16_64: Rounding,
    /// Denormal 32-bit sources are flushed.
    pub flush_32_in: bool,
    /// Denormal 32-bit results are flushed.
    pub flush_32_out: bool,
    pub flush_16_64_in: bool,
    pub flush_16_64_out: bool,
    pub dx10_clamp: bool,
    pub ieee: bool,
    pub fp16_overflow: bool,
    /// Instructions of the vector units are passed over (CDNA).
    pub skip_vector: bool,
    /// The register itself.
    pub bits: u32,
}

impl Mode {
    /// The mode that the register's bits ask for.
    pub(crate) fn from_bits(bits: u32) -> Self {
        let round = |code| match code & 3 {
            0 => Rounding::NearestEven,
            1 => Rounding::Up,
            2 => Rounding::Down,
            _ => Rounding::TowardZero,
        };
        let bit = |at: u32| bits >> at & 1 != 0;
        Self {
            round_32: round(bits),
            round_16_64: round(bits >> 2),
            flush_32_in: !bit(4),
            flush_32_out: !bit(5),
            flush_16_64_in: !bit(6),
            flush_16_64_out: !bit(7),
            dx10_clamp: bit(8),
            ieee: bit(9),
            fp16_overflow: bit(23),
            skip_vector: bit(28),
            bits,
        }
    }
}

/// A wave.
pub(crate) struct Wave {
    /// Its place in the workgroup.
    pub id: u16,
    /// Lanes that exist.
    pub lanes: u32,
    pub wave32: bool,
    /// Vector registers; accumulation registers from [`crate::gcn::inst::ACC`] on.
    pub v: Vec<Lanes>,
    /// Lanes of each that hold something.
    pub v_defined: Vec<u64>,
    /// Lanes of each that an outstanding load will write.
    pub v_pending: Vec<u64>,
    pub s: [u32; 128],
    pub s_defined: u128,
    pub s_pending: u128,
    pub exec: u64,
    pub scc: bool,
    pub scc_defined: bool,
    pub mode: Mode,
    /// Address of the next instruction.
    pub pc: u64,
    pub state: WaveState,
    pub queues: Queues,
    /// Wait states so far: instructions, and what `s_nop` adds.
    pub ticks: u32,
    /// Recent instructions, where distances between them are checked.
    pub hazards: Option<Box<Hazards>>,
    /// The same for RDNA.
    pub rdna_hazards: Option<Box<RdnaHazards>>,
    pub scratch: Vec<u8>,
    /// By byte; the same length.
    pub scratch_written: Vec<bool>,
    /// Bytes of scratch a lane.
    pub scratch_bytes: u32,
    pub cursor: Cursor,
    pub executed: u64,
    /// Vector registers are indexed by m0: the mode.
    pub gpr_index: Option<u8>,
    /// The last scalar store that may still be in the scalar cache alone.
    pub scalar_store: Option<u32>,
    /// What was known when the wave arrived at the barrier that it is to pass.
    pub arrived: Option<VectorClock>,
}

/// What a wave is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaveState {
    Running,
    /// At a barrier, at the instruction with this address.
    Barrier(u32),
    Done,
}

/// Content of a vector register, with what is known of it.
pub(crate) struct SavedRow {
    values: Lanes,
    defined: u64,
}

impl Wave {
    /// Reads a 64-bit scalar.
    pub(crate) fn s64(&self, register: u8) -> u64 {
        if register == sreg::EXEC {
            return self.exec;
        }
        let at = register as usize & 127;
        u64::from(self.s[at]) | u64::from(self.s[(at + 1) & 127]) << 32
    }

    /// Sets a scalar register.
    pub(crate) fn set_s(&mut self, register: u8, value: u32) {
        let at = register as usize & 127;
        self.s[at] = value;
        self.s_defined |= 1 << at;
        match at as u8 {
            sreg::EXEC => self.exec = self.exec & !0xffff_ffff | u64::from(value),
            r if r == sreg::EXEC + 1 && !self.wave32 => {
                self.exec = self.exec & 0xffff_ffff | u64::from(value) << 32;
            }
            _ => {}
        }
    }

    /// Sets the execution mask.
    pub(crate) fn set_exec(&mut self, mask: u64) {
        self.set_s(sreg::EXEC, mask as u32);
        if !self.wave32 {
            self.set_s(sreg::EXEC + 1, (mask >> 32) as u32);
        }
    }

    /// The mask of lanes in the vector condition code.
    pub(crate) fn vcc(&self) -> u64 {
        if self.wave32 { u64::from(self.s[sreg::VCC as usize]) } else { self.s64(sreg::VCC) }
    }

    pub(crate) fn save_row(&self, register: u16) -> SavedRow {
        SavedRow { values: self.v[register as usize], defined: self.v_defined[register as usize] }
    }

    pub(crate) fn restore_row(&mut self, register: u16, row: &SavedRow) {
        self.v[register as usize] = row.values;
        self.v_defined[register as usize] = row.defined;
    }
}

/// A workgroup.
pub(crate) struct Group {
    pub id: [u32; 3],
    /// Its number in the grid.
    pub linear: u32,
    pub lds: Vec<u8>,
    /// Absent when nothing is checked.
    pub lds_shadow: Option<SharedShadow>,
    pub clocks: Vec<VectorClock>,
    /// Waves that have arrived at the barrier which is not open yet.
    pub signalled: u32,
    pub counters: Counters,
}

/// The launch, as all workgroups see it.
pub(crate) struct Env<'a> {
    pub arch: Arch,
    pub kernel: &'a str,
    pub program: &'a Program,
    /// Where the code object's image was loaded.
    pub image: u64,
    pub memory: &'a Snapshot,
    pub shadow: Option<&'a GlobalShadow>,
    pub report: &'a Report,
    pub strict: bool,
    pub sanitize: bool,
    /// All waves of a workgroup run on one compute unit, whose vector memory operations stay in order.
    pub one_compute_unit: bool,
    pub grid: [u32; 3],
    /// The most instructions that a workgroup may execute.
    pub instruction_limit: u64,
    pub trace: Option<&'a Tracer<'a>>,
    /// Counts up, for the clock instructions.
    pub started: std::time::Instant,
}

/// Base of the LDS aperture in the flat address space.
pub(crate) const SHARED_APERTURE: u64 = 0x1_0000_0000_0000;
/// Base of the scratch aperture.
pub(crate) const PRIVATE_APERTURE: u64 = 0x2_0000_0000_0000;
/// What `hidden_hostcall_buffer` points to. Nothing is ever allocated there: kernels that declare the argument run as long as they do not
/// call the host, and whoever does is told so by name.
pub(crate) const HOSTCALL_BUFFER: std::ops::Range<u64> = 0x3_0000_0000_0000..0x3_0000_0001_0000;
/// Size of each.
pub(crate) const APERTURE_BYTES: u64 = 1 << 32;

impl Env<'_> {
    /// The place of an instruction.
    pub(crate) fn location(&self, pc: u32) -> Location {
        Location::code(u64::from(pc))
    }

    /// The text of an instruction.
    pub(crate) fn text(&self, pc: u32) -> String {
        self.program.text(pc)
    }

    /// An instruction for a report.
    pub(crate) fn instruction(&self, pc: u32) -> Instruction {
        Instruction { text: self.text(pc), location: self.location(pc), source: self.program.source(pc) }
    }
}
