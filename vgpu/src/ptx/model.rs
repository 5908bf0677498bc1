//! What the machine knows of devices: limits that launches are checked against, and that occupancy follows from.

/// A model of device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Its name.
    pub name: &'static str,
    /// Compute capability.
    pub capability: (u32, u32),
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Shared memory that a block can have, in bytes.
    pub shared_per_block: u32,
    /// Shared memory of a multiprocessor, in bytes.
    pub shared_per_multiprocessor: u32,
    /// Threads of a multiprocessor.
    pub threads_per_multiprocessor: u32,
    /// Blocks of a multiprocessor.
    pub blocks_per_multiprocessor: u32,
    /// Whether it has clusters.
    pub has_clusters: bool,
    /// Bytes of device memory.
    pub memory: u64,
}

impl Model {
    /// NVIDIA A100.
    pub const A100: Self = Self {
        name: "A100",
        capability: (8, 0),
        multiprocessors: 108,
        shared_per_block: 163 << 10,
        shared_per_multiprocessor: 164 << 10,
        threads_per_multiprocessor: 2048,
        blocks_per_multiprocessor: 32,
        has_clusters: false,
        memory: 80 << 30,
    };

    /// NVIDIA H200.
    pub const H200: Self = Self {
        name: "H200",
        capability: (9, 0),
        multiprocessors: 132,
        shared_per_block: 227 << 10,
        shared_per_multiprocessor: 228 << 10,
        threads_per_multiprocessor: 2048,
        blocks_per_multiprocessor: 32,
        has_clusters: true,
        memory: 141 << 30,
    };

    /// The model that stands for a target such as `sm_80` or `sm_90a`.
    pub fn for_target(target: &str) -> Self {
        let number: String = target.chars().filter(char::is_ascii_digit).collect();
        match number.parse::<u32>() {
            Ok(..90) => Self::A100,
            _ => Self::H200,
        }
    }
}
