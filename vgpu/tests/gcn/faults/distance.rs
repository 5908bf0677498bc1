//! Programs for gfx942 and gfx950 in which dependent instructions come too close: distances that software has to keep.

use super::Fault;
use tegula_vgpu::finding::FindingKind::*;

pub const FAULTS: &[Fault] = &[
    Fault::new(
        "m0 set right before a load into the LDS",
        Hazard,
        "s_mov_b32 m0, 0
         <<||s_nop 0>>
         global_load_lds_dword v1, s[4:5]
         s_waitcnt vmcnt(0)
         ds_read_b32 v2, v1
         s_waitcnt lgkmcnt(0)
         global_store_dword v1, v2, s[6:7]",
    ),
    Fault::new(
        "m0 set right before it indexes scalar registers",
        Hazard,
        "s_mov_b32 s9, 5
         s_mov_b32 m0, 1
         <<||s_nop 0>>
         s_movrels_b32 s10, s8
         v_mov_b32 v2, s10
         global_store_dword v1, v2, s[6:7]",
    ),
    Fault::new(
        "a hardware register read right after it was set",
        Hazard,
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1
         <<||s_nop 1>>
         s_getreg_b32 s8, hwreg(HW_REG_MODE)
         v_mov_b32 v2, s8
         global_store_dword v1, v2, s[6:7]",
    ),
    Fault::new(
        "a dot product's result read by another instruction",
        Hazard,
        "v_mov_b32 v2, 0
         v_dot4_i32_i8 v3, v0, v1, v2
         <<||s_nop 2>>
         v_add_u32 v3, 1, v3
         global_store_dword v1, v3, s[6:7]",
    ),
    Fault::new(
        "a dot product's result as a factor of the next",
        Hazard,
        "v_mov_b32 v2, 0
         v_dot4_i32_i8 v3, v0, v1, v2
         <<||s_nop 2>>
         v_dot4_i32_i8 v3, v3, v1, v2
         s_nop 2
         global_store_dword v1, v3, s[6:7]",
    ),
    Fault::new(
        "a dot product's result stored at once",
        Hazard,
        "v_mov_b32 v2, 0
         v_dot4_i32_i8 v3, v0, v1, v2
         v_dot4_i32_i8 v3, v0, v1, v3
         <<||s_nop 2>>
         global_store_dword v1, v3, s[6:7]",
    ),
    Fault::new(
        "a dot product's result overwritten by another instruction",
        Hazard,
        "v_mov_b32 v2, 0
         v_dot4_i32_i8 v3, v0, v1, v2
         <<||s_nop 2>>
         v_mov_b32 v3, 1
         s_nop 2
         global_store_dword v1, v3, s[6:7]",
    ),
    Fault::new(
        "a part of a register written, and the whole read at once",
        Hazard,
        "v_mov_b32 v2, 0
         v_mov_b32_sdwa v2, v0 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD
         <<||s_nop 0>>
         v_add_u32 v3, 1, v2
         global_store_dword v1, v3, s[6:7]",
    ),
    Fault::new(
        "a lane read right after a vector instruction wrote it",
        Hazard,
        "v_add_u32 v2, 1, v0
         <<||s_nop 0>>
         v_readfirstlane_b32 s8, v2
         s_nop 1
         v_mov_b32 v3, s8
         global_store_dword v1, v3, s[6:7]",
    ),
    Fault::new(
        "an execution mask too young to choose the first lane",
        Hazard,
        "s_mov_b64 s[10:11], exec
         v_cmpx_lt_u32 vcc, 7, v0
         s_nop <<1||3>>
         v_readfirstlane_b32 s8, v0
         s_mov_b64 exec, s[10:11]
         s_nop 1
         v_mov_b32 v3, s8
         global_store_dword v1, v3, s[6:7]",
    ),
    Fault::new(
        "an execution mask too young for DPP",
        Hazard,
        "s_mov_b64 s[10:11], exec
         v_mov_b32 v3, 0
         v_cmpx_lt_u32 vcc, 7, v0
         s_nop <<3||4>>
         v_mov_b32_dpp v3, v0 row_shr:1 row_mask:0xf bank_mask:0xf
         s_mov_b64 exec, s[10:11]
         global_store_dword v1, v3, s[6:7]",
    ),
    Fault::new(
        "a carry too young for a division's last step",
        Hazard,
        "v_cvt_f32_u32 v2, v0
         v_mov_b32 v3, 1.0
         v_div_scale_f32 v4, vcc, v2, v3, v2
         s_nop <<2||3>>
         v_div_fmas_f32 v5, v2, v3, v4
         global_store_dword v1, v5, s[6:7]",
    ),
    Fault::new(
        "an accumulation register written right before a matrix instruction reads it",
        Hazard,
        "v_mov_b32 v2, 1.0
         v_mov_b32 v3, 1.0
         v_accvgpr_write_b32 a0, 0
         v_accvgpr_write_b32 a1, 0
         v_accvgpr_write_b32 a2, 0
         v_accvgpr_write_b32 a3, 0
         <<||s_nop 1>>
         v_mfma_f32_16x16x16_f16 a[0:3], v[2:3], v[2:3], a[0:3]
         s_nop 15
         v_accvgpr_read_b32 v4, a0
         global_store_dword v1, v4, s[6:7]",
    ),
    Fault::new(
        "a small matrix result read too early",
        Hazard,
        "v_mov_b32 v2, 1.0
         v_mov_b32 v3, 1.0
         s_nop 1
         v_mfma_f32_4x4x4_16b_f16 v[16:19], v[2:3], v[2:3], 0
         s_nop <<3||4>>
         v_add_f32 v4, 1.0, v16
         global_store_dword v1, v4, s[6:7]",
    ),
    Fault::new(
        "a small matrix result as addend at once",
        Hazard,
        "v_mov_b32 v2, 1.0
         v_mov_b32 v3, 1.0
         s_nop 1
         v_mfma_f32_4x4x4_16b_f16 v[16:19], v[2:3], v[2:3], 0
         <<||s_nop 1>>
         v_mfma_f32_4x4x4_16b_f16 v[16:19], v[2:3], v[2:3], v[16:19]
         s_nop 15
         global_store_dword v1, v16, s[6:7]",
    ),
    Fault::new(
        "a matrix result as an overlapping addend too early",
        Hazard,
        "v_mov_b32 v2, 1.0
         v_mov_b32 v3, 1.0
         v_mov_b32 v20, 0
         v_mov_b32 v21, 0
         s_nop 1
         v_mfma_f32_16x16x16_f16 v[16:19], v[2:3], v[2:3], 0
         s_nop <<3||4>>
         v_mfma_f32_16x16x16_f16 v[24:27], v[2:3], v[2:3], v[18:21]
         s_nop 15
         global_store_dword v1, v24, s[6:7]",
    ),
    Fault::new(
        "a matrix result overwritten too early",
        Hazard,
        "v_mov_b32 v2, 1.0
         v_mov_b32 v3, 1.0
         s_nop 1
         v_mfma_f32_32x32x8_f16 v[16:31], v[2:3], v[2:3], 0
         s_nop <<9||10>>
         v_mov_b32 v16, 0
         global_store_dword v1, v16, s[6:7]",
    ),
    Fault::new(
        "a load into registers that a matrix instruction still writes",
        Hazard,
        "v_mov_b32 v2, 1.0
         v_mov_b32 v3, 1.0
         s_nop 1
         v_mfma_f32_32x32x8_f16 v[16:31], v[2:3], v[2:3], 0
         <<||s_nop 10>>
         global_store_dword v1, v17, s[6:7]",
    ),
    Fault::new(
        "a single-precision matrix result read too early",
        Hazard,
        "v_mov_b32 v2, 1.0
         v_mov_b32 v3, 1.0
         s_nop 1
         v_mfma_f32_16x16x4_f32 v[16:19], v2, v3, 0
         s_nop <<8||9>>
         v_add_f32 v4, 1.0, v16
         global_store_dword v1, v4, s[6:7]",
    ),
    Fault::new(
        "an eight-bit matrix result read too early",
        Hazard,
        "v_mov_b32 v2, 0
         v_mov_b32 v3, 0
         s_nop 1
         v_mfma_f32_32x32x16_fp8_fp8 a[0:15], v[2:3], v[2:3], 0
         s_nop <<9||10>>
         v_accvgpr_read_b32 v4, a7
         global_store_dword v1, v4, s[6:7]",
    ),
    Fault::new(
        "a sparse matrix result read too early",
        Hazard,
        "v_mov_b32 v2, 0
         v_mov_b32 v3, 0
         v_mov_b32 v4, 0
         v_mov_b32 v5, 0
         v_mov_b32 v6, 0
         v_mov_b32 v16, 0
         v_mov_b32 v17, 0
         v_mov_b32 v18, 0
         v_mov_b32 v19, 0
         s_nop 1
         v_smfmac_f32_16x16x32_f16 v[16:19], v[2:3], v[2:5], v6
         s_nop <<5||6>>
         v_add_f32 v4, 1.0, v16
         global_store_dword v1, v4, s[6:7]",
    ),
    Fault::new(
        "a double-precision matrix result read too early",
        Hazard,
        "v_mov_b32 v2, 0
         v_mov_b32 v3, 0
         s_nop 1
         v_mfma_f64_16x16x4_f64 v[16:23], v[2:3], v[2:3], 0
         s_nop <<9||10>>
         v_add_u32 v4, 1, v16
         global_store_dword v1, v4, s[6:7]",
    ),
    Fault::new(
        "a double-precision matrix result stored too early",
        Hazard,
        "v_mov_b32 v2, 0
         v_mov_b32 v3, 0
         s_nop 1
         v_mfma_f64_4x4x4_4b_f64 v[16:17], v[2:3], v[2:3], 0
         s_nop <<7||8>>
         global_store_dword v1, v16, s[6:7]",
    ),
    Fault::new(
        "a double-precision multiply-add right after a matrix instruction",
        Hazard,
        "v_mov_b32 v2, 0
         v_mov_b32 v3, 0
         s_nop 1
         v_mfma_f64_4x4x4_4b_f64 v[16:17], v[2:3], v[2:3], 0
         <<||s_nop 1>>
         v_fma_f64 v[4:5], v[2:3], v[2:3], v[2:3]
         global_store_dword v1, v4, s[6:7]",
    ),
    Fault::new(
        "an eight-bit matrix result of gfx950 read too early",
        Hazard,
        "v_mov_b32 v2, 0
         v_mov_b32 v3, 0
         v_mov_b32 v4, 0
         v_mov_b32 v5, 0
         v_mov_b32 v6, 0
         v_mov_b32 v7, 0
         v_mov_b32 v8, 0
         v_mov_b32 v9, 0
         s_nop 1
         v_mfma_f32_16x16x128_f8f6f4 v[16:19], v[2:9], v[2:9], 0
         s_nop <<10||11>>
         v_add_f32 v4, 1.0, v16
         global_store_dword v1, v4, s[6:7]",
    )
    .on("gfx950"),
];
