//! Code objects that are broken in any way: nothing panics, neither in the loader nor in the machine that runs what is left of them.

use crate::asm::{Result, Source};
use proptest::prelude::*;
use std::sync::OnceLock;
use tegula_vgpu::gcn::Module;
use tegula_vgpu::gcn::metadata::ArgumentKind;
use tegula_vgpu::launch::{Argument, Launch};
use tegula_vgpu::memory::{Fill, GlobalMemory};

/// A kernel with some of everything: calls, LDS, scratch, matrix instructions, atomics, branches.
const BODY: &str = "
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_lshlrev_b32 v1, 2, v0
    s_waitcnt lgkmcnt(0)
    global_load_dword v2, v1, s[4:5]
    s_mov_b32 s8, s4
    s_and_b32 s9, s5, 0xffff
    s_mov_b32 s10, 0x100
    s_mov_b32 s11, 0x27000
    buffer_load_dword v6, v1, s[8:11], 0 offen
    v_and_b32 v3, 0xfc, v1
    ds_write_b32 v3, v0
    s_waitcnt vmcnt(0) lgkmcnt(0)
    s_barrier
    ds_read2_b32 v[4:5], v3 offset1:4
    scratch_store_dword off, v2, off
    v_mov_b32_dpp v7, v2 row_shr:1 row_mask:0xf bank_mask:0xf
    v_add_f32_sdwa v8, v2, v2 dst_sel:WORD_1 src0_sel:BYTE_1
    v_mfma_f32_16x16x16_f16 a[0:3], v[2:3], v[4:5], 0
    v_cmp_gt_u32 vcc, 9, v0
    s_and_saveexec_b64 s[12:13], vcc
    v_fma_f64 v[10:11], v[2:3], v[4:5], v[6:7]
    global_atomic_add_f32 v1, v2, s[6:7]
    s_mov_b64 exec, s[12:13]
    s_getpc_b64 s[14:15]
    s_add_u32 s14, s14, 16
    s_addc_u32 s15, s15, 0
    s_swappc_b64 s[16:17], s[14:15]
    s_waitcnt vmcnt(0) lgkmcnt(0)
    global_store_dword v1, v2, s[6:7]
";

fn seeds() -> &'static [Vec<u8>] {
    static SEEDS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    SEEDS.get_or_init(|| {
        let rdna = "
            s_load_b128 s[4:7], s[0:1], 0x0
            v_lshlrev_b32 v1, 2, v0
            s_waitcnt lgkmcnt(0)
            global_load_b32 v2, v1, s[4:5]
            s_waitcnt vmcnt(0)
            v_dual_add_f32 v4, v2, v2 :: v_dual_mul_f32 v5, v2, v2
            v_wmma_f32_16x16x16_f16 v[8:15], v[16:23], v[24:31], v[8:15]
            ds_store_b32 v1, v2
            global_store_b32 v1, v2, s[6:7]";
        let sources = [
            Source { lds: 512, scratch: 64, ..Source::new(BODY, 2) },
            Source { arch: "gfx1100", lds: 512, ..Source::new(rdna, 2) },
        ];
        sources.iter().filter_map(|source| source.assemble().ok().flatten()).collect()
    })
}

/// Loads it, asks all that can be asked, and runs a little of each kernel.
fn exercise(bytes: &[u8]) {
    let Ok(module) = Module::load(bytes) else { return };
    for kernel in module.kernels() {
        let _ = (kernel.unsupported(), kernel.mnemonics(), kernel.listing().count(), kernel.descriptor());
        let memory = GlobalMemory::default();
        let Ok(buffer) = memory.allocate("buffer", 4096, Fill::Zero) else { return };
        for strict in [false, true] {
            let mut launch = Launch::new(kernel.name()).block([96, 1, 1]);
            for arg in kernel.info().args.iter().filter(|arg| arg.kind == ArgumentKind::Explicit) {
                let mut value = buffer.to_le_bytes().to_vec();
                value.resize((arg.size as usize).min(4096), 0);
                launch = launch.arg(Argument::bytes(value));
            }
            launch = if strict { launch } else { launch.fast() };
            launch.instruction_limit = 2000;
            let _ = kernel.launch_on(&launch, &memory, None);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn bytes_changed_anywhere(seed in 0..2_usize, changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..24)) {
        if let Some(bytes) = seeds().get(seed) {
            let mut bytes = bytes.clone();
            for (at, value) in changes {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            exercise(&bytes);
        }
    }

    #[test]
    fn words_of_the_headers_changed(seed in 0..2_usize, changes in prop::collection::vec((0..2048_usize, prop::sample::select(vec![0_u64, 1, 4, 0xff, 0x1000, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 1 << 40, u64::MAX])), 1..4)) {
        if let Some(bytes) = seeds().get(seed) {
            let mut bytes = bytes.clone();
            for (at, value) in changes {
                let at = at.min(bytes.len() - 8) & !3;
                bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
            }
            exercise(&bytes);
        }
    }

    #[test]
    fn cut_short(seed in 0..2_usize, length in any::<prop::sample::Index>()) {
        if let Some(bytes) = seeds().get(seed) {
            exercise(&bytes[..length.index(bytes.len())]);
        }
    }

    /// The code alone is other words: whatever decodes is executed.
    #[test]
    fn other_code(seed in 0..2_usize, words in prop::collection::vec(any::<u32>(), 1..40), at in 0..24_usize) {
        if let Some(bytes) = seeds().get(seed) {
            let mut bytes = bytes.clone();
            // `s_load_*` of the start, by its words.
            let first: [u8; 4] = if seed == 0 { [0x00, 0x01, 0x0a, 0xc0] } else { [0x00, 0x01, 0x08, 0xf4] };
            if let Some(start) = bytes.windows(4).position(|window| window == first) {
                for (n, word) in words.iter().enumerate() {
                    let place = start + (at + n) * 4;
                    if let Some(slot) = bytes.get_mut(place..place + 4) {
                        slot.copy_from_slice(&word.to_le_bytes());
                    }
                }
            }
            exercise(&bytes);
        }
    }
}

#[test]
fn the_seeds_run() -> Result<()> {
    for bytes in seeds() {
        Module::load(bytes)?;
        exercise(bytes);
    }
    Ok(())
}
