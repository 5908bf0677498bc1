//! What a launch cost: instructions by class, memory traffic, bank conflicts, matrix work, occupancy.

use serde::{Deserialize, Serialize};

/// The class of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Integer and logic on vector registers.
    Integer,
    /// Floating point.
    Float,
    /// Transcendental and approximate functions.
    Special,
    /// Conversions.
    Convert,
    /// Moves, selects, predicate logic.
    Move,
    /// Instructions of the scalar unit (AMD).
    Scalar,
    /// Matrix multiplication.
    Matrix,
    /// Loads and stores of global memory, and of generic addresses.
    Global,
    /// Loads and stores of shared memory (LDS), ldmatrix and the like among them.
    Shared,
    /// Local (scratch) memory.
    Local,
    /// Parameters and constants.
    Constant,
    /// Atomics.
    Atomic,
    /// Asynchronous copies and their bookkeeping.
    Async,
    /// Cross-lane operations.
    Warp,
    /// Barriers, fences and waits.
    Sync,
    /// Branches, calls, exits.
    Control,
}

impl Class {
    /// All classes, in the order of [`Counters::instructions`].
    pub const ALL: [Self; 16] = [
        Self::Integer,
        Self::Float,
        Self::Special,
        Self::Convert,
        Self::Move,
        Self::Scalar,
        Self::Matrix,
        Self::Global,
        Self::Shared,
        Self::Local,
        Self::Constant,
        Self::Atomic,
        Self::Async,
        Self::Warp,
        Self::Sync,
        Self::Control,
    ];
}

/// What limits how many programs share a multiprocessor (compute unit).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Occupancy {
    /// Registers of a thread.
    pub registers: u32,
    /// Shared memory of a program in bytes.
    pub shared: u32,
    /// Threads of a program.
    pub threads: u32,
    /// Programs resident at a time on one multiprocessor.
    pub programs: u32,
    /// Warps resident at a time, of the most that there could be.
    pub warps: u32,
    /// The most warps there could be.
    pub max_warps: u32,
    /// What limits it: "registers", "shared memory", "threads" or "programs".
    pub limited_by: String,
}

/// The counters of a launch. Counts are per warp unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// Warp instructions executed, by [`Class`].
    pub instructions: [u64; Class::ALL.len()],
    /// Lane operations: the sum of active lanes over all instructions.
    pub lane_operations: u64,
    /// Multiply-adds done by matrix instructions.
    pub matrix_multiply_adds: u64,
    /// 32-byte sectors touched by global loads.
    pub global_load_sectors: u64,
    /// Bytes that global loads asked for.
    pub global_load_bytes: u64,
    /// 32-byte sectors touched by global stores.
    pub global_store_sectors: u64,
    /// Bytes that global stores wrote.
    pub global_store_bytes: u64,
    /// Accesses to shared memory by warps.
    pub shared_accesses: u64,
    /// Cycles of shared-memory access over what the same accesses need without bank conflicts.
    pub bank_conflict_cycles: u64,
    /// Bytes copied by per-thread asynchronous copies.
    pub async_copy_bytes: u64,
    /// Bytes copied by bulk (tensor) copies.
    pub bulk_copy_bytes: u64,
    /// Barriers passed, counted once per warp.
    pub barriers: u64,
    /// The most bytes of asynchronous copies in flight in one program at a time.
    pub max_bytes_in_flight: u64,
    /// Occupancy.
    pub occupancy: Occupancy,
}

impl Counters {
    /// Counts one warp instruction with so many active lanes.
    #[inline]
    pub fn count(&mut self, class: Class, lanes: u32) {
        self.instructions[class as usize] += 1;
        self.lane_operations += u64::from(lanes);
    }

    /// Warp instructions of a class.
    pub fn of(&self, class: Class) -> u64 {
        self.instructions[class as usize]
    }

    /// Warp instructions of all classes.
    pub fn total(&self) -> u64 {
        self.instructions.iter().sum()
    }

    /// Adds what another part of the same launch counted.
    pub fn merge(&mut self, other: &Self) {
        for (sum, n) in self.instructions.iter_mut().zip(&other.instructions) {
            *sum += n;
        }
        self.lane_operations += other.lane_operations;
        self.matrix_multiply_adds += other.matrix_multiply_adds;
        self.global_load_sectors += other.global_load_sectors;
        self.global_load_bytes += other.global_load_bytes;
        self.global_store_sectors += other.global_store_sectors;
        self.global_store_bytes += other.global_store_bytes;
        self.shared_accesses += other.shared_accesses;
        self.bank_conflict_cycles += other.bank_conflict_cycles;
        self.async_copy_bytes += other.async_copy_bytes;
        self.bulk_copy_bytes += other.bulk_copy_bytes;
        self.barriers += other.barriers;
        self.max_bytes_in_flight = self.max_bytes_in_flight.max(other.max_bytes_in_flight);
    }
}

/// Different 32-byte sectors touched by the lanes of one access of `bytes` bytes a lane.
pub fn sectors(addresses: impl Iterator<Item = u64>, bytes: u32) -> u64 {
    // At most 64 lanes of 32 bytes touch two sectors each.
    let mut seen = [0_u64; 128];
    let mut count = 0;
    for address in addresses {
        // An address that a program made up may be the last one.
        let last = address.saturating_add(u64::from(bytes.max(1)) - 1);
        for sector in address / 32..=last / 32 {
            // Neighbouring lanes mostly hit the sector found last.
            if count < seen.len() && !seen[..count].iter().rev().any(|&s| s == sector) {
                seen[count] = sector;
                count += 1;
            }
        }
    }
    count as u64
}

/// Cycles over the minimum that one access to shared memory with 32 banks of 4 bytes takes.
///
/// An access of 8 or 16 bytes a lane goes in that many more parts, each of as many consecutive lanes as together cover the
/// 128 bytes of one cycle; lanes of a part conflict when they need different words of one bank.
pub fn bank_conflicts(addresses: &[Option<u64>], bytes: u32) -> u64 {
    let words = u64::from(bytes.div_ceil(4).max(1));
    let lanes = (32 / words as usize).max(1);
    let mut extra = 0;
    for part in addresses.chunks(lanes) {
        // The first word met in each bank: mostly there is no second one.
        let mut first = [u64::MAX; 32];
        let mut more: Vec<u64> = Vec::new();
        for address in part.iter().flatten() {
            for word in address / 4..address / 4 + words {
                let bank = &mut first[(word % 32) as usize];
                if *bank == u64::MAX {
                    *bank = word;
                } else if *bank != word && !more.contains(&word) {
                    more.push(word);
                }
            }
        }
        if !more.is_empty() {
            let mut depth = [0_u64; 32];
            more.iter().for_each(|word| depth[(word % 32) as usize] += 1);
            extra += depth.into_iter().max().unwrap_or(0);
        }
    }
    extra
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(f: impl Fn(u64) -> u64) -> Vec<Option<u64>> {
        (0..32).map(|lane| Some(f(lane))).collect()
    }

    #[test]
    fn sectors_of_known_patterns() {
        assert_eq!(sectors((0..32).map(|i| i * 4), 4), 4);
        assert_eq!(sectors([u64::MAX - 1].into_iter(), 16), 1);
        assert_eq!(sectors((0..32).map(|i| i * 16), 16), 16);
        assert_eq!(sectors((0..32).map(|i| i * 128), 4), 32);
        assert_eq!(sectors((0..32).map(|i| 4 + i * 4), 4), 5);
        assert_eq!(sectors((0..32).map(|_| 64), 4), 1);
    }

    #[test]
    fn bank_conflicts_of_known_patterns() {
        assert_eq!(bank_conflicts(&lanes(|i| i * 4), 4), 0);
        assert_eq!(bank_conflicts(&lanes(|_| 4), 4), 0);
        assert_eq!(bank_conflicts(&lanes(|i| i * 8), 4), 1);
        assert_eq!(bank_conflicts(&lanes(|i| i * 128), 4), 31);
        assert_eq!(bank_conflicts(&lanes(|i| i * 16), 16), 0);
        // Rows of 128 bytes, one 16-byte piece of each: all eight lanes of a part meet in four banks.
        assert_eq!(bank_conflicts(&lanes(|i| i * 128), 16), 4 * 7);
        // The same with the piece swizzled by the row.
        assert_eq!(bank_conflicts(&lanes(|i| i * 128 + ((i % 8) * 16)), 16), 0);
    }
}
