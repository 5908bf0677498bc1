//! What a launch is, and what it gives back.

use crate::counters::Counters;
use crate::finding::Finding;
use serde::{Deserialize, Serialize};

/// The value of one kernel parameter: its bytes, little-endian, as the kernel's parameter list lays them out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Argument {
    bytes: Vec<u8>,
}

impl Argument {
    /// A parameter of any type by its bytes, such as a tensor map.
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self { bytes: bytes.into() }
    }

    /// A device address.
    pub fn pointer(address: u64) -> Self {
        Self::bytes(address.to_le_bytes())
    }

    /// A 32-bit integer.
    pub fn i32(value: i32) -> Self {
        Self::bytes(value.to_le_bytes())
    }

    /// A 64-bit integer.
    pub fn i64(value: i64) -> Self {
        Self::bytes(value.to_le_bytes())
    }

    /// A 32-bit float.
    pub fn f32(value: f32) -> Self {
        Self::bytes(value.to_le_bytes())
    }

    /// A 64-bit float.
    pub fn f64(value: f64) -> Self {
        Self::bytes(value.to_le_bytes())
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// One launch of a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// The kernel's name in its module.
    pub entry: String,
    /// Programs (thread blocks, workgroups) in x, y, z. On both machines this counts programs, not threads.
    pub grid: [u32; 3],
    /// Threads of a program in x, y, z.
    pub block: [u32; 3],
    /// Programs of a cluster in x, y, z; `[1, 1, 1]` without clusters.
    pub cluster: [u32; 3],
    /// Dynamic shared memory (LDS) in bytes, on top of what the kernel declares.
    pub dynamic_shared: u32,
    /// Parameters, in order.
    pub args: Vec<Argument>,
    /// Complete asynchronous work as late as the program allows, and poison its destinations meanwhile.
    pub strict: bool,
    /// Look for races, uninitialised reads and the rest that [`crate::finding`] lists. Accesses outside allocations are found
    /// either way.
    pub sanitize: bool,
    /// Seed of the scheduler: which warp runs when is a pure function of it.
    pub seed: u64,
    /// The most warp instructions a single program may execute.
    pub instruction_limit: u64,
    /// The most findings kept; more are counted, not kept.
    pub finding_limit: usize,
}

impl Launch {
    /// A strict, sanitized launch of one program of one warp without arguments, to be filled in.
    pub fn new(entry: impl Into<String>) -> Self {
        Self {
            entry: entry.into(),
            grid: [1; 3],
            block: [32, 1, 1],
            cluster: [1; 3],
            dynamic_shared: 0,
            args: Vec::new(),
            strict: true,
            sanitize: true,
            seed: 1,
            instruction_limit: 2_000_000_000,
            finding_limit: 64,
        }
    }

    /// Sets the grid, in programs.
    pub fn grid(mut self, grid: [u32; 3]) -> Self {
        self.grid = grid;
        self
    }

    /// Sets the threads of a program.
    pub fn block(mut self, block: [u32; 3]) -> Self {
        self.block = block;
        self
    }

    /// Sets the programs of a cluster.
    pub fn cluster(mut self, cluster: [u32; 3]) -> Self {
        self.cluster = cluster;
        self
    }

    /// Sets the dynamic shared memory in bytes.
    pub fn dynamic_shared(mut self, bytes: u32) -> Self {
        self.dynamic_shared = bytes;
        self
    }

    /// Adds a parameter.
    pub fn arg(mut self, argument: Argument) -> Self {
        self.args.push(argument);
        self
    }

    /// Sets the scheduler's seed.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Turns strict asynchrony and the sanitizer off, for speed.
    pub fn fast(mut self) -> Self {
        self.strict = false;
        self.sanitize = false;
        self
    }

    /// Threads of a program.
    pub fn threads(&self) -> u64 {
        self.block.iter().map(|&n| u64::from(n)).product()
    }

    /// Programs of the grid.
    pub fn programs(&self) -> u64 {
        self.grid.iter().map(|&n| u64::from(n)).product()
    }
}

/// What a launch that ran to its end gives back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// What it cost.
    pub counters: Counters,
    /// What the program did wrong.
    pub findings: Vec<Finding>,
    /// Findings over [`Launch::finding_limit`], which were counted only.
    pub findings_dropped: u64,
    /// What the program printed.
    pub printed: String,
}

impl Outcome {
    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty() && self.findings_dropped == 0
    }
}
