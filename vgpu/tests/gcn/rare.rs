//! Instructions that compilers seldom or never emit: forks and joins, vector instructions passed over, relative moves, and what is
//! refused.

use crate::asm::{Result, Source, run_clean};
use tegula_vgpu::error::Error;
use tegula_vgpu::gcn::Module;
use tegula_vgpu::launch::{Argument, Launch};
use tegula_vgpu::memory::{Fill, GlobalMemory};

/// s[4:5] result, v1 four times the lane.
const START: &str = "
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    v_lshlrev_b32 v1, 2, v0
    s_waitcnt lgkmcnt(0)
";

#[test]
fn forks_run_both_sides_and_join() -> Result<()> {
    // Two nested forks of 64 lanes into four values; the stack lies in s[0:7], so the pointer goes out of its way.
    let body = format!(
        "{START}
        s_mov_b64 s[40:41], s[4:5]
        s_mov_b32 s50, 0
        s_mov_b32 s51, 1
        s_mov_b64 s[42:43], 0xffff
        s_mov_b64 s[44:45], 0xf0f0
        s_mov_b32 s46, 0xff00ff
        s_mov_b32 s47, 0xff00ff
        v_mov_b32 v2, 1
        s_cbranch_i_fork s[42:43], .Lfirst
        v_mov_b32 v2, 2
        s_branch .Ljoin
        .Lfirst:
        s_getpc_b64 s[52:53]
        .Lhere:
        s_add_u32 s52, s52, .Linner-.Lhere
        s_addc_u32 s53, s53, 0
        s_cbranch_g_fork s[44:45], s[52:53]
        v_mov_b32 v2, 3
        s_branch .Linnerjoin
        .Linner:
        v_mov_b32 v2, 4
        .Linnerjoin:
        s_cbranch_join s51
        .Ljoin:
        s_cbranch_join s50
        s_mov_b64 exec, -1
        global_store_dword v1, v2, s[40:41]"
    );
    // The inner join compares with depth 1 where the outer fork pushed, the outer one with depth 0. Each leaves the
    // lanes of the side that came last.
    let Some(out) = run_clean(Source::new(&body, 1), 64, &[], 64)? else { return Ok(()) };
    for (lane, &value) in out.iter().enumerate() {
        let expected = match lane {
            16.. => 2,
            _ if 0xf0f0 >> lane & 1 != 0 => 4,
            _ => 3,
        };
        assert_eq!(value, expected, "lane {lane}");
    }
    Ok(())
}

#[test]
fn a_fork_that_all_lanes_take_pushes_nothing() -> Result<()> {
    let body = format!(
        "{START}
        s_mov_b64 s[42:43], -1
        s_mov_b32 s50, 0
        v_mov_b32 v2, 1
        s_cbranch_i_fork s[42:43], .Ltaken
        v_mov_b32 v2, 2
        .Ltaken:
        s_cbranch_join s50
        global_store_dword v1, v2, s[4:5]"
    );
    let Some(out) = run_clean(Source::new(&body, 1), 64, &[], 64)? else { return Ok(()) };
    assert_eq!(out, [1; 64]);
    Ok(())
}

#[test]
fn vector_instructions_are_passed_over() -> Result<()> {
    let body = format!(
        "{START}
        s_mov_b32 s8, 4
        v_mov_b32 v2, 1
        s_setvskip s8, 2
        v_mov_b32 v2, 2
        ds_write_b32 v1, v2
        global_store_dword v1, v2, s[4:5]
        s_add_u32 s9, s8, 3
        s_setvskip s8, 0
        v_add_u32 v2, s9, v2
        global_store_dword v1, v2, s[4:5]"
    );
    let Some(out) = run_clean(Source::new(&body, 1), 64, &[], 64)? else { return Ok(()) };
    assert_eq!(out, [8; 64]);
    Ok(())
}

#[test]
fn conditional_exchange_of_the_lds() -> Result<()> {
    let body = format!(
        "{START}
        v_lshlrev_b32 v10, 3, v0
        v_mov_b32 v2, 1
        v_mov_b32 v3, 2
        ds_write_b64 v10, v[2:3]
        v_mov_b32 v4, 0x80000007
        v_mov_b32 v5, 9
        s_waitcnt lgkmcnt(0)
        ds_condxchg32_rtn_b64 v[6:7], v10, v[4:5]
        s_waitcnt lgkmcnt(0)
        ds_nop
        ds_read_b64 v[8:9], v10
        s_waitcnt lgkmcnt(0)
        v_lshlrev_b32 v11, 4, v0
        global_store_dwordx4 v11, v[6:9], s[4:5]"
    );
    let source = Source { lds: 512, ..Source::new(&body, 1) };
    let Some(out) = run_clean(source, 64, &[], 256)? else { return Ok(()) };
    assert!(out.chunks_exact(4).all(|words| words == [1, 2, 7, 2]));
    Ok(())
}

/// As [`START`], for waves of 32.
fn rdna(arch: &str, body: &str) -> String {
    let wait = if arch == "gfx1201" { "s_wait_kmcnt 0x0" } else { "s_waitcnt lgkmcnt(0)" };
    format!("s_load_b64 s[4:5], s[0:1], 0x0\n v_lshlrev_b32_e32 v1, 2, v0\n {wait}\n {body}")
}

#[test]
fn relative_moves_and_lane_addresses_of_rdna() -> Result<()> {
    for arch in ["gfx1100", "gfx1201"] {
        let wait = if arch == "gfx1201" {
            "s_wait_loadcnt 0x0\n s_wait_storecnt 0x0"
        } else {
            "s_waitcnt vmcnt(0)\n s_waitcnt_vscnt null, 0x0"
        };
        let body = rdna(
            arch,
            &format!(
                "v_mov_b32_e32 v10, 10
                v_mov_b32_e32 v11, 11
                v_mov_b32_e32 v12, 12
                v_mov_b32_e32 v13, 13
                s_mov_b32 s10, 20
                s_mov_b32 s11, 21
                s_mov_b32 s12, 22
                s_mov_b32 m0, 0x20001
                v_movrelsd_2_b32 v10, v10
                v_swaprel_b32 v11, v10
                s_movrelsd_2_b32 s10, s10
                v_mov_b32_e32 v20, 2.0
                v_mov_b32_e32 v21, 0x40400000
                v_mullit_f32 v14, v20, v21, 1.0
                v_mov_b32_e32 v15, s12
                global_store_addtid_b32 v10, s[4:5]
                global_store_addtid_b32 v11, s[4:5] offset:128
                global_store_addtid_b32 v12, s[4:5] offset:256
                global_store_addtid_b32 v13, s[4:5] offset:384
                global_store_addtid_b32 v14, s[4:5] offset:512
                {wait}
                global_load_addtid_b32 v16, s[4:5] offset:512
                {wait}
                v_add_f32_e32 v16, 1.0, v16
                global_store_b32 v1, v16, s[4:5] offset:640
                global_store_b32 v1, v15, s[4:5] offset:768"
            ),
        );
        let source = Source { arch, ..Source::new(&body, 1) };
        let Some(out) = run_clean(source, 32, &[], 32 * 7)? else { return Ok(()) };
        for lane in 0..32 {
            let row: Vec<u32> = (0..7).map(|n| out[n * 32 + lane]).collect();
            // v[10+2] = v[10+1]; then v[11+2] and v[10+1] change places.
            assert_eq!(row, [10, 13, 11, 11, 6.0_f32.to_bits(), 7.0_f32.to_bits(), 21], "{arch}, lane {lane}");
        }
    }
    Ok(())
}

#[test]
fn the_barrier_tells_its_state() -> Result<()> {
    // Two waves: each adds up who was first and what it saw of the barrier.
    let body = rdna(
        "gfx1201",
        "s_barrier_signal_isfirst -1
        s_cselect_b32 s8, 1, 0
        s_get_barrier_state s9, -1
        s_wait_kmcnt 0x0
        s_barrier_wait -1
        s_bfe_u32 s10, s9, 0x70004
        s_and_b32 s9, s9, 1
        s_lshl_b32 s9, s9, 4
        s_lshl_b32 s10, s10, 8
        s_or_b32 s8, s8, s9
        s_or_b32 s8, s8, s10
        v_mov_b32_e32 v2, s8
        global_store_b32 v1, v2, s[4:5]",
    );
    let source = Source { arch: "gfx1201", ..Source::new(&body, 1) };
    let Some(out) = run_clean(source, 64, &[], 64)? else { return Ok(()) };
    assert_eq!([out[0], out[32]].iter().filter(|&&word| word & 1 != 0).count(), 1, "one wave is the first");
    assert!(out.iter().all(|word| word & !1 == 0x210));
    Ok(())
}

#[test]
fn what_is_refused_is_named_with_its_place_and_the_reason() -> Result<()> {
    for (arch, body, reason) in [
        ("gfx942", "s_rfe_b64 s[2:3]", "trap handler"),
        ("gfx942", "v_screen_partition_4se_b32 v1, v0", "graphics"),
        ("gfx1100", "ds_bvh_stack_rtn_b32 v1, v2, v3, v[4:7]", "ray tracing"),
        ("gfx1201", "s_alloc_vgpr s4", "descriptor"),
        ("gfx1201", "s_barrier_join m0", "workgroup's"),
    ] {
        let Some(bytes) = (Source { arch, ..Source::new(&format!("s_nop 0\n {body}"), 1) }).assemble()? else {
            return Ok(());
        };
        let module = Module::load(&bytes)?;
        let memory = GlobalMemory::default();
        let out = memory.allocate("out", 64, Fill::Poison)?;
        let launch = Launch::new("k").block([32, 1, 1]).arg(Argument::pointer(out));
        let (result, _) = module.launch_on(&launch, &memory, None);
        let Err(Error::Unsupported { instruction, location, reason: given }) = result else {
            return Err(format!("{arch}: {body} was not refused").into());
        };
        let mnemonic = body.split(' ').next().unwrap_or(body);
        assert!(instruction.starts_with(mnemonic), "{instruction}");
        assert!(given.contains(reason), "{given}");
        let entry = module.object().kernels[0].entry;
        assert_eq!(location.to_string(), tegula_vgpu::error::Location::code(entry + 4).to_string());
    }
    Ok(())
}
