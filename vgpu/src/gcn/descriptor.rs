//! The kernel descriptor: 64 bytes beside the code that say how a wave's registers are to be set up.

use crate::gcn::arch::Arch;

/// A decoded kernel descriptor (`amdhsa_kernel`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelDescriptor {
    /// Bytes of LDS that the kernel declares.
    pub group_segment_bytes: u32,
    /// Bytes of scratch a work item.
    pub private_segment_bytes: u32,
    /// Bytes of kernel arguments, 0 where the compiler did not say.
    pub kernarg_bytes: u32,
    /// From the descriptor's own address to the first instruction.
    pub entry_offset: i64,
    /// Vector registers allocated, accumulation registers among them on CDNA.
    pub vgprs: u32,
    /// The first accumulation register's place in the unified file (CDNA).
    pub accum_offset: u32,
    /// Rounding of 32-bit floats: 0 nearest even, 1 up, 2 down, 3 towards zero.
    pub round_32: u8,
    /// Rounding of 16- and 64-bit floats.
    pub round_16_64: u8,
    /// Denormals of 32-bit floats: bit 0 keeps sources, bit 1 keeps results.
    pub denorm_32: u8,
    /// Denormals of 16- and 64-bit floats.
    pub denorm_16_64: u8,
    /// Clamping turns NaN into zero.
    pub dx10_clamp: bool,
    /// IEEE mode: minimum and maximum quiet signalling NaNs.
    pub ieee: bool,
    /// Overflowing conversions to 16-bit floats saturate.
    pub fp16_overflow: bool,
    /// User scalar registers, preloaded arguments among them.
    pub user_sgprs: u32,
    /// Which workgroup ids are wanted, in x, y, z.
    pub workgroup_id: [bool; 3],
    /// Whether the workgroup's information word is wanted.
    pub workgroup_info: bool,
    /// The highest dimension of the work-item id that is wanted.
    pub workitem_id: u8,
    /// What the user registers hold, in this order: private segment buffer, dispatch pointer, queue pointer, kernarg pointer,
    /// dispatch id, flat scratch, private segment size.
    pub user: [bool; 7],
    /// Waves of 32 lanes.
    pub wave32: bool,
    /// The waves of a workgroup share one compute unit: not split over several (CDNA), nor over the two of a processor (RDNA).
    pub one_compute_unit: bool,
    /// Words of kernel arguments that are preloaded into user registers.
    pub preload_words: u32,
    /// The first preloaded word.
    pub preload_offset: u32,
}

/// Registers that each user-register flag takes.
pub(crate) const USER_REGISTERS: [u32; 7] = [4, 2, 2, 2, 2, 2, 1];

impl KernelDescriptor {
    /// The size of a descriptor.
    pub const BYTES: usize = 64;

    /// Reads a descriptor.
    pub fn parse(bytes: &[u8; Self::BYTES], arch: Arch) -> Self {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let (rsrc3, rsrc1, rsrc2) = (word(44), word(48), word(52));
        let properties = word(56);
        let preload = properties >> 16;
        let bit = |word: u32, bit: u32| word >> bit & 1 != 0;
        let wave32 = !arch.is_cdna() && bit(properties, 10);
        // The granule of vector register allocation.
        let granule = if arch.is_cdna() || wave32 { 8 } else { 4 };
        let mut entry = [0; 8];
        entry.copy_from_slice(&bytes[16..24]);
        let pre_gfx12 = !arch.is_gfx12();
        Self {
            group_segment_bytes: word(0),
            private_segment_bytes: word(4),
            kernarg_bytes: word(8),
            entry_offset: i64::from_le_bytes(entry),
            vgprs: ((rsrc1 & 0x3f) + 1) * granule,
            accum_offset: if arch.is_cdna() { ((rsrc3 & 0x3f) + 1) * 4 } else { 256 },
            round_32: (rsrc1 >> 12 & 3) as u8,
            round_16_64: (rsrc1 >> 14 & 3) as u8,
            denorm_32: (rsrc1 >> 16 & 3) as u8,
            denorm_16_64: (rsrc1 >> 18 & 3) as u8,
            // GFX12 gave these two bits other meanings, and always behaves as if they were set.
            dx10_clamp: !pre_gfx12 || bit(rsrc1, 21),
            ieee: pre_gfx12 && bit(rsrc1, 23),
            fp16_overflow: bit(rsrc1, 26),
            user_sgprs: rsrc2 >> 1 & 0x1f,
            workgroup_id: [bit(rsrc2, 7), bit(rsrc2, 8), bit(rsrc2, 9)],
            workgroup_info: bit(rsrc2, 10),
            workitem_id: (rsrc2 >> 11 & 3) as u8,
            user: std::array::from_fn(|i| bit(properties, i as u32)),
            wave32,
            one_compute_unit: if arch.is_cdna() { !bit(rsrc3, 16) } else { !bit(rsrc1, 29) },
            preload_words: if arch.is_cdna() { preload & 0x7f } else { 0 },
            preload_offset: if arch.is_cdna() { preload >> 7 & 0x1ff } else { 0 },
        }
    }
}
