//! Findings: what a program did wrong, as a record and as a readable report.

use crate::error::Location;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;
use std::sync::Mutex;

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FindingKind {
    /// An access outside every allocation, or over the end of shared, local or parameter memory.
    OutOfBounds,
    /// An access to memory that was freed.
    UseAfterFree,
    /// An address that is not a multiple of the access's size.
    Misaligned,
    /// A read of memory that nobody wrote.
    UninitializedRead,
    /// A read of a register that nobody wrote.
    UninitializedRegister,
    /// Two accesses to shared memory without an order between them, one of them a write.
    SharedRace,
    /// Two accesses to global memory without an order between them, one of them a write.
    GlobalRace,
    /// The destination of an asynchronous copy was touched before the copy was waited for.
    AsyncNotWaited,
    /// The source of an asynchronous copy was overwritten before the copy had read it.
    AsyncSourceOverwritten,
    /// Ordinary writes are read by the asynchronous proxy without a proxy fence in between.
    MissingProxyFence,
    /// Registers of an asynchronous matrix multiplication were touched before it was waited for.
    MatrixRegistersInFlight,
    /// A result of an outstanding memory operation was used before its counter was waited for.
    MissingWaitcnt,
    /// Too few wait states between dependent instructions where software must keep the distance.
    Hazard,
    /// A barrier that not all the threads it was made for reached, or that threads of one warp reached apart.
    BarrierDivergence,
    /// A collective operation (shuffle, vote, matrix) executed by other lanes than it names.
    WarpDivergence,
    /// A memory barrier object used wrongly: not initialised, over-arrived, wrong transaction count.
    BarrierObject,
    /// A descriptor (tensor map, matrix descriptor, buffer resource) with values the hardware refuses.
    BadDescriptor,
    /// No progress is possible.
    Deadlock,
    /// Work still outstanding when the program ended.
    UnfinishedAsync,
}

impl FindingKind {
    /// A short description.
    pub fn describe(self) -> &'static str {
        match self {
            Self::OutOfBounds => "access out of bounds",
            Self::UseAfterFree => "use of freed memory",
            Self::Misaligned => "misaligned access",
            Self::UninitializedRead => "read of uninitialised memory",
            Self::UninitializedRegister => "read of an uninitialised register",
            Self::SharedRace => "race in shared memory",
            Self::GlobalRace => "race in global memory",
            Self::AsyncNotWaited => "asynchronous copy not waited for",
            Self::AsyncSourceOverwritten => "source of an asynchronous copy overwritten before it was read",
            Self::MissingProxyFence => "missing proxy fence",
            Self::MatrixRegistersInFlight => {
                "registers of an asynchronous matrix operation touched before it was waited for"
            }
            Self::MissingWaitcnt => "missing wait for an outstanding memory operation",
            Self::Hazard => "data hazard",
            Self::BarrierDivergence => "divergent barrier",
            Self::WarpDivergence => "collective operation under divergence",
            Self::BarrierObject => "misused memory barrier object",
            Self::BadDescriptor => "bad descriptor",
            Self::Deadlock => "deadlock",
            Self::UnfinishedAsync => "asynchronous work outstanding at exit",
        }
    }
}

/// A memory of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Space {
    /// Device memory.
    Global,
    /// Shared memory (LDS).
    Shared,
    /// A thread's own memory (scratch).
    Local,
    /// Kernel parameters.
    Param,
    /// Constant memory.
    Constant,
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Global => "global",
            Self::Shared => "shared",
            Self::Local => "local",
            Self::Param => "param",
            Self::Constant => "constant",
        })
    }
}

/// A line of the program that the code was compiled from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SourceLine {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1; 0 where unknown.
    pub column: u32,
}

/// An instruction, as it is shown to people.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Instruction {
    /// Its text.
    pub text: String,
    /// Where it stands in the code.
    pub location: Location,
    /// The source line it was compiled from, where the code has line information.
    pub source: Option<SourceLine>,
}

/// Who did it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Agent {
    /// The program (thread block, workgroup).
    pub program: [u32; 3],
    /// The warp (wavefront) in the program.
    pub warp: u32,
    /// The first lane concerned; none where the whole warp is meant.
    pub lane: Option<u32>,
}

/// Where in memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Address {
    /// The memory.
    pub space: Space,
    /// The address in it.
    pub address: u64,
    /// Bytes accessed by one lane.
    pub bytes: u32,
    /// The allocation hit, or the nearest one.
    pub allocation: Option<String>,
    /// Offset from that allocation's start; negative, or beyond its size, when it was missed.
    pub offset: i64,
    /// The allocation's size.
    pub size: u64,
}

/// The other access of a conflict.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OtherAccess {
    /// What it did: "write", "read", "asynchronous write"...
    pub action: String,
    /// Its instruction.
    pub instruction: Instruction,
    /// Who executed it.
    pub agent: Agent,
}

/// One thing that a program did wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What.
    pub kind: FindingKind,
    /// In which kernel.
    pub kernel: String,
    /// At which instruction.
    pub instruction: Instruction,
    /// By whom (the first time).
    pub agent: Agent,
    /// At which address, for accesses.
    pub address: Option<Address>,
    /// Against which other access, for conflicts.
    pub other: Option<OtherAccess>,
    /// One sentence with the particulars, and the way out where one is known.
    pub message: String,
    /// How often it was seen.
    pub count: u64,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn instruction(f: &mut fmt::Formatter<'_>, what: &Instruction) -> fmt::Result {
            writeln!(f, "  at {}: {}", what.location, what.text)?;
            if let Some(source) = &what.source {
                writeln!(f, "     {}:{}:{}", source.file, source.line, source.column)?;
            }
            Ok(())
        }
        fn agent(f: &mut fmt::Formatter<'_>, who: &Agent) -> fmt::Result {
            let [x, y, z] = who.program;
            write!(f, "     program ({x}, {y}, {z}), warp {}", who.warp)?;
            match who.lane {
                Some(lane) => writeln!(f, ", lane {lane}"),
                None => writeln!(f),
            }
        }
        writeln!(f, "{} in `{}`: {}", self.kind.describe(), self.kernel, self.message)?;
        instruction(f, &self.instruction)?;
        agent(f, &self.agent)?;
        if let Some(address) = &self.address {
            write!(f, "     {} bytes of {} memory at {:#x}", address.bytes, address.space, address.address)?;
            match &address.allocation {
                Some(name) => writeln!(f, ": `{name}` ({} bytes) at offset {}", address.size, address.offset)?,
                None => writeln!(f)?,
            }
        }
        if let Some(other) = &self.other {
            writeln!(f, "  against an earlier {}", other.action)?;
            instruction(f, &other.instruction)?;
            agent(f, &other.agent)?;
        }
        if self.count > 1 {
            writeln!(f, "  seen {} times", self.count)?;
        }
        Ok(())
    }
}

/// Findings collected by the threads that run a launch: equal ones are counted, and only so many are kept.
///
/// Two findings are equal when kind, instruction and the other access's instruction are.
#[derive(Debug)]
pub struct Report {
    limit: usize,
    state: Mutex<ReportState>,
}

#[derive(Debug, Default)]
struct ReportState {
    findings: Vec<Finding>,
    index: HashMap<Key, usize>,
    dropped: u64,
}

type Key = (FindingKind, Location, Option<Location>);

impl Report {
    /// An empty report that keeps at most `limit` different findings.
    pub fn new(limit: usize) -> Self {
        Self { limit, state: Mutex::default() }
    }

    /// Adds a finding.
    pub fn add(&self, finding: Finding) {
        let mut state = self.lock();
        let key = (
            finding.kind,
            finding.instruction.location.clone(),
            finding.other.as_ref().map(|other| other.instruction.location.clone()),
        );
        if let Some(&index) = state.index.get(&key) {
            state.findings[index].count += finding.count;
        } else if state.findings.len() < self.limit {
            let index = state.findings.len();
            state.index.insert(key, index);
            state.findings.push(finding);
        } else {
            state.dropped += finding.count;
        }
    }

    /// Whether nothing was found so far.
    pub fn is_empty(&self) -> bool {
        let state = self.lock();
        state.findings.is_empty() && state.dropped == 0
    }

    /// The findings, in an order that does not depend on threads: by location, then kind; and how many were dropped.
    pub fn finish(self) -> (Vec<Finding>, u64) {
        let state = self.state.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut findings = state.findings;
        findings.sort_by(|a, b| {
            let place = |f: &Finding| (f.instruction.location.line, f.instruction.location.address, f.kind);
            place(a).cmp(&place(b))
        });
        (findings, state.dropped)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, ReportState> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
