//! The devices that can be stood in for: what a program can ask of them, from the vendors' data sheets and programming guides.

use tegula_vgpu::gcn::Arch;
use tegula_vgpu::ptx;

/// What kind of code a device runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// NVIDIA, by compute capability.
    Nvidia {
        /// Major.
        major: u32,
        /// Minor.
        minor: u32,
    },
    /// AMD, by instruction set.
    Amd(Arch),
}

/// A model of device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// What `VGPU_MODEL` calls it.
    pub key: &'static str,
    /// What the driver calls it.
    pub name: &'static str,
    /// What code it runs.
    pub architecture: Architecture,
    /// The full name of the target, such as `gfx942:sramecc+:xnack-`.
    pub target: &'static str,
    /// Multiprocessors, or compute units.
    pub multiprocessors: u32,
    /// Lanes of a warp.
    pub warp: u32,
    /// Threads of a multiprocessor.
    pub threads_per_multiprocessor: u32,
    /// Blocks of a multiprocessor.
    pub blocks_per_multiprocessor: u32,
    /// 32-bit registers of a multiprocessor.
    pub registers_per_multiprocessor: u32,
    /// Shared memory that a block has without asking, in bytes.
    pub shared_per_block: u32,
    /// Shared memory that a block can have, in bytes.
    pub shared_per_block_optin: u32,
    /// Shared memory of a multiprocessor, in bytes.
    pub shared_per_multiprocessor: u32,
    /// Bytes of memory.
    pub memory: u64,
    /// Bytes of the last cache that the driver tells about.
    pub l2: u32,
    /// Clock in kHz.
    pub clock: u32,
    /// Memory clock in kHz.
    pub memory_clock: u32,
    /// Width of the memory's bus in bits.
    pub bus_width: u32,
}

const H200: Model = Model {
    key: "h200",
    name: "NVIDIA H200",
    architecture: Architecture::Nvidia { major: 9, minor: 0 },
    target: "sm_90a",
    multiprocessors: 132,
    warp: 32,
    threads_per_multiprocessor: 2048,
    blocks_per_multiprocessor: 32,
    registers_per_multiprocessor: 65536,
    shared_per_block: 48 << 10,
    shared_per_block_optin: 227 << 10,
    shared_per_multiprocessor: 228 << 10,
    memory: 141 << 30,
    l2: 60 << 20,
    clock: 1_980_000,
    memory_clock: 3_201_000,
    bus_width: 6144,
};

const MI300X: Model = Model {
    key: "mi300x",
    name: "AMD Instinct MI300X",
    architecture: Architecture::Amd(Arch::Gfx942),
    target: "gfx942:sramecc+:xnack-",
    multiprocessors: 304,
    warp: 64,
    threads_per_multiprocessor: 2048,
    blocks_per_multiprocessor: 32,
    registers_per_multiprocessor: 65536,
    shared_per_block: 64 << 10,
    shared_per_block_optin: 64 << 10,
    shared_per_multiprocessor: 64 << 10,
    memory: 192 << 30,
    l2: 4 << 20,
    clock: 2_100_000,
    memory_clock: 1_300_000,
    bus_width: 8192,
};

/// All models. The first of each vendor is what its stand-in takes when none is named.
pub const MODELS: &[Model] = &[
    H200,
    Model {
        key: "h100",
        name: "NVIDIA H100 80GB HBM3",
        memory: 80 << 30,
        l2: 50 << 20,
        memory_clock: 2_619_000,
        bus_width: 5120,
        ..H200
    },
    Model {
        key: "a100",
        name: "NVIDIA A100-SXM4-80GB",
        architecture: Architecture::Nvidia { major: 8, minor: 0 },
        target: "sm_80",
        multiprocessors: 108,
        shared_per_block_optin: 163 << 10,
        shared_per_multiprocessor: 164 << 10,
        memory: 80 << 30,
        l2: 40 << 20,
        clock: 1_410_000,
        memory_clock: 1_593_000,
        bus_width: 5120,
        ..H200
    },
    MI300X,
    Model {
        key: "mi355x",
        name: "AMD Instinct MI355X",
        architecture: Architecture::Amd(Arch::Gfx950),
        target: "gfx950:sramecc+:xnack-",
        multiprocessors: 256,
        shared_per_block: 160 << 10,
        shared_per_block_optin: 160 << 10,
        shared_per_multiprocessor: 160 << 10,
        memory: 288 << 30,
        clock: 2_400_000,
        memory_clock: 2_000_000,
        ..MI300X
    },
    Model {
        key: "rx7900xtx",
        name: "AMD Radeon RX 7900 XTX",
        architecture: Architecture::Amd(Arch::Gfx1100),
        target: "gfx1100",
        multiprocessors: 48,
        warp: 32,
        memory: 24 << 30,
        l2: 6 << 20,
        clock: 2_482_000,
        memory_clock: 1_249_000,
        bus_width: 384,
        ..MI300X
    },
    Model {
        key: "rx9070xt",
        name: "AMD Radeon RX 9070 XT",
        architecture: Architecture::Amd(Arch::Gfx1201),
        target: "gfx1201",
        multiprocessors: 32,
        warp: 32,
        memory: 16 << 30,
        l2: 8 << 20,
        clock: 2_970_000,
        memory_clock: 1_258_000,
        bus_width: 256,
        ..MI300X
    },
];

impl Model {
    /// The model with a name, in any case.
    pub fn by_key(key: &str) -> Option<&'static Self> {
        MODELS.iter().find(|model| model.key.eq_ignore_ascii_case(key))
    }

    /// Whether it is of NVIDIA.
    pub fn is_nvidia(&self) -> bool {
        matches!(self.architecture, Architecture::Nvidia { .. })
    }

    /// Compute capability; (0, 0) for others than NVIDIA's.
    pub fn capability(&self) -> (u32, u32) {
        match self.architecture {
            Architecture::Nvidia { major, minor } => (major, minor),
            Architecture::Amd(_) => (0, 0),
        }
    }

    /// Whether blocks can be launched in clusters.
    pub fn has_clusters(&self) -> bool {
        self.capability().0 >= 9
    }

    /// The model as the PTX machine wants it.
    pub fn ptx(&self) -> ptx::Model {
        ptx::Model {
            name: self.name,
            capability: self.capability(),
            multiprocessors: self.multiprocessors,
            shared_per_block: self.shared_per_block_optin,
            shared_per_multiprocessor: self.shared_per_multiprocessor,
            threads_per_multiprocessor: self.threads_per_multiprocessor,
            blocks_per_multiprocessor: self.blocks_per_multiprocessor,
            has_clusters: self.has_clusters(),
            memory: self.memory,
        }
    }

    /// Whether PTX for a target such as `sm_90a` can be compiled for this device.
    pub fn runs_ptx(&self, target: &str) -> bool {
        let Some(rest) = target.strip_prefix("sm_") else { return false };
        let digits = rest.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let Ok(number) = digits.parse::<u32>() else { return false };
        let (major, minor) = self.capability();
        let own = major * 10 + minor;
        match &rest[digits.len()..] {
            "" => number <= own,
            // Features of one architecture, or of one family from the given member on.
            "a" => number == own,
            "f" => number / 10 == major && number <= own,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptx_runs_on_its_own_and_later_devices() {
        let (a100, h200) = (Model::by_key("A100").unwrap(), Model::by_key("h200").unwrap());
        for (target, on_a100, on_h200) in
            [("sm_70", true, true), ("sm_80", true, true), ("sm_90", false, true), ("sm_90a", false, true)]
        {
            assert_eq!((a100.runs_ptx(target), h200.runs_ptx(target)), (on_a100, on_h200), "{target}");
        }
        assert!(!h200.runs_ptx("sm_100a") && !h200.runs_ptx("compute_90") && !h200.runs_ptx("sm_80a"));
    }
}
