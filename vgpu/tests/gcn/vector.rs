//! Vector instructions against what they are documented to do, many in one program: each case computes v[10:11] from the inputs in v1 to v6,
//! of which v20 to v25 have a copy as pairs of finite halves, and v[26:27] to v[30:31] as finite doubles.

use crate::asm::{Result, Source, run_clean};
use tegula_vgpu::numeric::{f16_to_f32, f32_to_f16};

/// The inputs of all lanes, and the lane that is asked for.
pub struct Lanes<'a> {
    inputs: &'a [[u32; 6]],
    lane: usize,
}

impl Lanes<'_> {
    /// Input register `n`, from 1.
    pub fn v(&self, n: usize) -> u32 {
        self.of(self.lane, n)
    }

    /// The lane that is asked for.
    pub fn lane(&self) -> usize {
        self.lane
    }

    pub fn of(&self, lane: usize, n: usize) -> u32 {
        self.inputs[lane][n - 1]
    }

    pub fn i(&self, n: usize) -> i32 {
        self.v(n) as i32
    }

    pub fn f(&self, n: usize) -> f32 {
        f32::from_bits(self.v(n))
    }

    /// Two registers from `n` on.
    pub fn w(&self, n: usize) -> u64 {
        u64::from(self.v(n)) | u64::from(self.v(n + 1)) << 32
    }

    /// The low half of v19+n, a finite number below two.
    pub fn h(&self, n: usize) -> f64 {
        half::f16::from_bits((self.v(n) & 0xbbff) as u16).to_f64()
    }

    /// The high half of v19+n.
    pub fn hh(&self, n: usize) -> f64 {
        half::f16::from_bits((self.v(n) >> 16 & 0xbbff) as u16).to_f64()
    }

    /// The double in v[26:27], v[28:29] or v[30:31], by number from 1: a finite number below two.
    pub fn d(&self, n: usize) -> f64 {
        f64::from_bits(self.w(n * 2 - 1) & 0xbfff_ffff_ffff_ffff)
    }
}

/// One result register, or two.
pub enum Expect {
    One(fn(&Lanes<'_>) -> u32),
    Two(fn(&Lanes<'_>) -> u64),
}
pub use Expect::{One, Two};

/// Inputs: 32 lanes of integers with all patterns, the upper ones floats of moderate size.
fn inputs(lanes: usize) -> Vec<[u32; 6]> {
    let mut state = 0x1234_5678_9abc_def0_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) as u32
    };
    (0..lanes)
        .map(|lane| {
            std::array::from_fn(|n| match (lane % 4, n) {
                (0, _) => next(),
                (1, _) => (next() as i32 >> (next() % 28)) as u32,
                _ => ((next() as i32 as f32) / 67_108_864.0).to_bits(),
            })
        })
        .collect()
}

pub fn check(arch: &str, cases: &[(&str, Expect)]) -> Result<()> {
    check_values(arch, cases, false)
}

pub fn check_values(arch: &str, cases: &[(&str, Expect)], any_nan: bool) -> Result<()> {
    let lanes = if arch.starts_with("gfx9") { 64 } else { 32 };
    let mut body = String::from(
        "    s_load_b64 s[4:5], s[0:1], 0x0
    s_load_b64 s[6:7], s[0:1], 0x8
    v_mul_u32_u24 v7, 24, v0
    v_lshlrev_b32 v8, 3, v0
    v_mul_u32_u24 v9, 28, v0
    v_OR v9, 12, v9
    s_waitcnt lgkmcnt(0)
    global_load_b128 v[14:17], v7, s[4:5]
    global_load_b64 v[18:19], v7, s[4:5] offset:16
    s_waitcnt vmcnt(0)
",
    );
    for n in 1..=6 {
        body.push_str(&format!("    v_mov_b32 v{n}, v{}\n", n + 13));
    }
    for n in 1..=6 {
        body.push_str(&format!("    v_and_b32 v{}, 0xbbffbbff, v{n}\n", n + 19));
        let mask = if n % 2 == 0 { "0xbfffffff" } else { "-1" };
        body.push_str(&format!("    v_and_b32 v{}, {mask}, v{n}\n", n + 25));
    }
    for (asm, _) in cases {
        body.push_str("    v_mov_b32 v10, 0\n    v_mov_b32 v11, 0\n    s_nop 4\n");
        for line in asm.split(';') {
            body.push_str(&format!("    {}\n    s_nop 4\n", line.trim()));
        }
        body.push_str("    global_store_b64 v8, v[10:11], s[6:7]\n");
        body.push_str(&format!("    s_add_u32 s6, s6, {}\n    s_addc_u32 s7, s7, 0\n", lanes * 8));
    }
    // The names differ between generations, where the operations do not.
    let rename: &[(&str, &str)] = match arch {
        "gfx942" | "gfx950" => &[
            ("s_load_b64", "s_load_dwordx2"),
            ("load_b128", "load_dwordx4"),
            ("load_b64", "load_dwordx2"),
            ("store_b64", "store_dwordx2"),
            ("v_OR v9", "v_add_u32 v9"),
        ],
        "gfx1100" => &[("v_OR v9", "v_add_nc_u32 v9")],
        _ => &[
            ("v_OR v9", "v_add_nc_u32 v9"),
            ("s_waitcnt lgkmcnt(0)", "s_wait_kmcnt 0x0"),
            ("s_waitcnt vmcnt(0)", "s_wait_loadcnt 0x0"),
            ("s_add_u32", "s_add_co_u32"),
            ("s_addc_u32", "s_add_co_ci_u32"),
        ],
    };
    for (from, to) in rename {
        body = body.replace(from, to);
    }
    let inputs = inputs(lanes);
    let words: Vec<u32> = inputs.iter().flatten().copied().collect();
    let source = Source { arch, directives: ".amdhsa_float_denorm_mode_32 3", ..Source::new(&body, 2) };
    let results = cases.len() * lanes * 2;
    let Some(out) = run_clean(source, lanes as u32, &[&words], results)? else { return Ok(()) };
    for (case, (asm, expect)) in cases.iter().enumerate() {
        for lane in 0..lanes {
            let at = (case * lanes + lane) * 2;
            let given = Lanes { inputs: &inputs, lane };
            let (got, expected) = match expect {
                One(f) => (u64::from(out[at]), u64::from(f(&given))),
                Two(f) => (u64::from(out[at]) | u64::from(out[at + 1]) << 32, f(&given)),
            };
            // Which of several NaNs an operation passes on is not fixed.
            let is_nan = |word: u64| f32::from_bits(word as u32).is_nan();
            let same = |shift: u32| {
                let (g, e) = (got >> shift & 0xffff_ffff, expected >> shift & 0xffff_ffff);
                g == e || (any_nan && is_nan(g) && is_nan(e))
            };
            assert!(same(0) && same(32), "`{asm}` in lane {lane} of {:x?}: {got:#x}, not {expected:#x}", inputs[lane]);
        }
    }
    Ok(())
}

fn half(bits: u32) -> f32 {
    f16_to_f32(bits as u16)
}

fn med(a: i32, b: i32, c: i32) -> i32 {
    a.max(b).min(a.min(b).max(c))
}

#[test]
fn integers() -> Result<()> {
    check(
        "gfx942",
        &[
            ("v_add_u32 v10, v1, v2", One(|l| l.v(1).wrapping_add(l.v(2)))),
            ("v_subrev_u32 v10, v1, v2", One(|l| l.v(2).wrapping_sub(l.v(1)))),
            ("v_add_u32_e64 v10, v1, v2 clamp", One(|l| l.v(1).saturating_add(l.v(2)))),
            ("v_sub_i32 v10, v1, v2 clamp", One(|l| l.i(1).saturating_sub(l.i(2)) as u32)),
            (
                "v_add_co_u32 v10, vcc, v1, v2; v_addc_co_u32 v11, vcc, v3, v4, vcc",
                Two(|l| {
                    let low = u64::from(l.v(1)) + u64::from(l.v(2));
                    (low & 0xffff_ffff)
                        | (low >> 32).wrapping_add(u64::from(l.v(3))).wrapping_add(u64::from(l.v(4))) << 32
                }),
            ),
            (
                "v_sub_co_u32 v10, s[8:9], v1, v2; v_subb_co_u32 v11, vcc, v3, v4, s[8:9]",
                Two(|l| {
                    let a = u64::from(l.v(1)) | u64::from(l.v(3)) << 32;
                    let b = u64::from(l.v(2)) | u64::from(l.v(4)) << 32;
                    a.wrapping_sub(b)
                }),
            ),
            ("v_mul_lo_u32 v10, v1, v2", One(|l| l.v(1).wrapping_mul(l.v(2)))),
            ("v_mul_hi_u32 v10, v1, v2", One(|l| ((u64::from(l.v(1)) * u64::from(l.v(2))) >> 32) as u32)),
            ("v_mul_hi_i32 v10, v1, v2", One(|l| ((i64::from(l.i(1)) * i64::from(l.i(2))) >> 32) as u32)),
            ("v_mul_i32_i24 v10, v1, v2", One(|l| ((l.i(1) << 8 >> 8) as i64 * (l.i(2) << 8 >> 8) as i64) as u32)),
            (
                "v_mad_u32_u24 v10, v1, v2, v3",
                One(|l| (l.v(1) & 0xff_ffff).wrapping_mul(l.v(2) & 0xff_ffff).wrapping_add(l.v(3))),
            ),
            (
                "v_mad_u64_u32 v[10:11], s[8:9], v1, v2, v[4:5]",
                Two(|l| (u64::from(l.v(1)) * u64::from(l.v(2))).wrapping_add(l.w(4))),
            ),
            (
                "v_mad_i64_i32 v[10:11], s[8:9], v1, v2, v[4:5]",
                Two(|l| (i64::from(l.i(1)) * i64::from(l.i(2))).wrapping_add(l.w(4) as i64) as u64),
            ),
            ("v_lshl_add_u64 v[10:11], v[2:3], 3, v[4:5]", Two(|l| (l.w(2) << 3).wrapping_add(l.w(4)))),
            ("v_lshlrev_b64 v[10:11], v1, v[4:5]", Two(|l| l.w(4) << (l.v(1) & 63))),
            ("v_ashrrev_i64 v[10:11], v1, v[4:5]", Two(|l| (l.w(4) as i64 >> (l.v(1) & 63)) as u64)),
            ("v_ashrrev_i32 v10, v1, v2", One(|l| (l.i(2) >> (l.v(1) & 31)) as u32)),
            ("v_med3_i32 v10, v1, v2, v3", One(|l| med(l.i(1), l.i(2), l.i(3)) as u32)),
            ("v_min3_u32 v10, v1, v2, v3", One(|l| l.v(1).min(l.v(2)).min(l.v(3)))),
            ("v_bfe_u32 v10, v1, v2, v3", One(|l| l.v(1) >> (l.v(2) & 31) & ((1_u64 << (l.v(3) & 31)) - 1) as u32)),
            ("v_bfi_b32 v10, v1, v2, v3", One(|l| l.v(1) & l.v(2) | !l.v(1) & l.v(3))),
            (
                "v_alignbit_b32 v10, v1, v2, v3",
                One(|l| ((u64::from(l.v(1)) << 32 | u64::from(l.v(2))) >> (l.v(3) & 31)) as u32),
            ),
            (
                "v_perm_b32 v10, v1, v2, v3",
                One(|l| {
                    let all = u64::from(l.v(1)) << 32 | u64::from(l.v(2));
                    (0..4).fold(0, |out, n| {
                        let byte = match l.v(3) >> (n * 8) & 0xff {
                            s @ 0..=7 => (all >> (s * 8)) as u32 & 0xff,
                            s @ 8..=11 => {
                                if all >> ((s - 8) * 16 + 15) & 1 == 1 {
                                    0xff
                                } else {
                                    0
                                }
                            }
                            12 => 0,
                            _ => 0xff,
                        };
                        out | byte << (n * 8)
                    })
                }),
            ),
            ("v_xad_u32 v10, v1, v2, v3", One(|l| (l.v(1) ^ l.v(2)).wrapping_add(l.v(3)))),
            ("v_add_lshl_u32 v10, v1, v2, v3", One(|l| l.v(1).wrapping_add(l.v(2)) << (l.v(3) & 31))),
            ("v_lshl_or_b32 v10, v1, v2, v3", One(|l| l.v(1) << (l.v(2) & 31) | l.v(3))),
            ("v_bcnt_u32_b32 v10, v1, v2", One(|l| l.v(1).count_ones().wrapping_add(l.v(2)))),
            ("v_ffbh_u32 v10, v1", One(|l| if l.v(1) == 0 { u32::MAX } else { l.v(1).leading_zeros() })),
            (
                "v_sad_u8 v10, v1, v2, v3",
                One(|l| {
                    let sum: u32 = (0..4).map(|n| (l.v(1) >> (n * 8) & 0xff).abs_diff(l.v(2) >> (n * 8) & 0xff)).sum();
                    sum.wrapping_add(l.v(3))
                }),
            ),
            ("v_mul_lo_u16 v10, v1, v2", One(|l| u32::from((l.v(1) as u16).wrapping_mul(l.v(2) as u16)))),
            (
                "v_mad_i32_i16 v10, v1, v2, v3 op_sel:[1,0,0,0]",
                One(|l| (i32::from((l.v(1) >> 16) as i16) * i32::from(l.v(2) as i16)).wrapping_add(l.i(3)) as u32),
            ),
            (
                "v_add_i16 v10, v1, v2 op_sel:[0,1,1]",
                One(|l| u32::from((l.v(1) as u16).wrapping_add((l.v(2) >> 16) as u16)) << 16),
            ),
            (
                "v_pk_add_u16 v10, v1, v2",
                One(|l| {
                    let add =
                        |s: u32| u32::from((l.v(1) >> s) as u16).wrapping_add(u32::from((l.v(2) >> s) as u16)) & 0xffff;
                    add(0) | add(16) << 16
                }),
            ),
            (
                "v_pk_mad_i16 v10, v1, v2, v3 op_sel:[0,1,0] op_sel_hi:[1,0,1]",
                One(|l| {
                    let (a, b, c) = (l.v(1), l.v(2), l.v(3));
                    let mad =
                        |a: u32, b: u32, c: u32| u32::from((a as u16).wrapping_mul(b as u16).wrapping_add(c as u16));
                    mad(a, b >> 16, c) | mad(a >> 16, b, c >> 16) << 16
                }),
            ),
            (
                "v_pk_max_i16 v10, v1, v2",
                One(|l| {
                    let max = |s: u32| u32::from(((l.v(1) >> s) as i16).max((l.v(2) >> s) as i16) as u16);
                    max(0) | max(16) << 16
                }),
            ),
            (
                "v_dot4_i32_i8 v10, v1, v2, v3",
                One(|l| {
                    let sum: i32 = (0..4)
                        .map(|n| i32::from((l.v(1) >> (n * 8)) as i8) * i32::from((l.v(2) >> (n * 8)) as i8))
                        .sum();
                    sum.wrapping_add(l.i(3)) as u32
                }),
            ),
            (
                "v_cmp_lt_i32 vcc, v1, v2; v_cndmask_b32 v10, v3, v4, vcc",
                One(|l| if l.i(1) < l.i(2) { l.v(4) } else { l.v(3) }),
            ),
            (
                "v_cmp_ge_u64 s[8:9], v[2:3], v[4:5]; v_cndmask_b32_e64 v10, 0, 1, s[8:9]",
                One(|l| u32::from(l.w(2) >= l.w(4))),
            ),
        ],
    )
}

#[test]
fn floats() -> Result<()> {
    check_values(
        "gfx942",
        &[
            ("v_add_f32 v10, v1, v2", One(|l| (l.f(1) + l.f(2)).to_bits())),
            ("v_sub_f32_e64 v10, -v1, |v2|", One(|l| (-l.f(1) - l.f(2).abs()).to_bits())),
            ("v_mul_f32_e64 v10, v1, v2 mul:4", One(|l| (l.f(1) * l.f(2) * 4.0).to_bits())),
            (
                "v_add_f32_e64 v10, v1, v2 clamp",
                One(|l| {
                    let sum = l.f(1) + l.f(2);
                    if sum.is_nan() || sum <= 0.0 { 0 } else { sum.min(1.0).to_bits() }
                }),
            ),
            ("v_fma_f32 v10, v1, v2, -v3", One(|l| l.f(1).mul_add(l.f(2), -l.f(3)).to_bits())),
            ("v_mov_b32 v10, v3; v_fmac_f32 v10, v1, v2", One(|l| l.f(1).mul_add(l.f(2), l.f(3)).to_bits())),
            ("v_fmaak_f32 v10, v1, v2, 0x40400000", One(|l| l.f(1).mul_add(l.f(2), 3.0).to_bits())),
            ("v_fmamk_f32 v10, v1, 0x40400000, v2", One(|l| l.f(1).mul_add(3.0, l.f(2)).to_bits())),
            ("v_rndne_f32 v10, v1", One(|l| l.f(1).round_ties_even().to_bits())),
            ("v_floor_f32 v10, v1", One(|l| l.f(1).floor().to_bits())),
            ("v_ldexp_f32 v10, 1.0, -4", One(|_| 0.0625_f32.to_bits())),
            ("v_cvt_i32_f32 v10, v1", One(|l| l.f(1) as i32 as u32)),
            ("v_cvt_u32_f32 v10, v1", One(|l| l.f(1) as u32)),
            ("v_cvt_f32_i32 v10, v1", One(|l| (l.i(1) as f32).to_bits())),
            ("v_cvt_f32_u32 v10, v1", One(|l| (l.v(1) as f32).to_bits())),
            ("v_cvt_f32_ubyte2 v10, v1", One(|l| ((l.v(1) >> 16 & 0xff) as f32).to_bits())),
            ("v_cvt_f64_i32 v[10:11], v1", Two(|l| f64::from(l.i(1)).to_bits())),
            (
                "v_cvt_f64_u32 v[2:3], v1; v_cvt_f64_i32 v[4:5], v6; v_add_f64 v[10:11], v[2:3], -v[4:5]; \
              v_mov_b32 v2, v15; v_mov_b32 v3, v16; v_mov_b32 v4, v17; v_mov_b32 v5, v18",
                Two(|l| (f64::from(l.v(1)) - f64::from(l.i(6))).to_bits()),
            ),
            (
                "v_cvt_f16_f32 v10, v1",
                One(|l| {
                    let bits = u32::from(f32_to_f16(l.f(1)));
                    if l.f(1).is_nan() { bits & 0x8000 | 0x7e00 } else { bits }
                }),
            ),
            ("v_cvt_pkrtz_f16_f32 v10, 1.0, 0.5", One(|_| 0x3800_3c00)),
            (
                "v_cvt_f32_f16_sdwa v10, v1 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1",
                One(|l| {
                    let value = half(l.v(1) >> 16);
                    if value.is_nan() { quiet(value.to_bits()) } else { value.to_bits() }
                }),
            ),
            (
                "v_max_f32 v10, v1, v2",
                One(|l| {
                    let (a, b) = (l.f(1), l.f(2));
                    match (a.is_nan(), b.is_nan()) {
                        (true, true) => quiet(l.v(1)),
                        (true, false) => l.v(2),
                        (false, true) => l.v(1),
                        _ => {
                            if a >= b {
                                l.v(1)
                            } else {
                                l.v(2)
                            }
                        }
                    }
                }),
            ),
            (
                "v_pk_mul_f32 v[10:11], v[2:3], v[4:5] op_sel:[0,1] op_sel_hi:[1,0]",
                Two(|l| {
                    let product = |a: f32, b: f32| u64::from((a * b).to_bits());
                    product(l.f(2), l.f(5)) | product(l.f(3), l.f(4)) << 32
                }),
            ),
            ("v_pk_add_f16 v10, 1.0, 2.0 op_sel_hi:[0,0]", One(|_| 0x4200_4200)),
            ("v_fma_mix_f32 v10, 2.0, v1, v2 op_sel_hi:[0,1,0]", One(|l| half(l.v(1)).mul_add(2.0, l.f(2)).to_bits())),
            ("v_cvt_pk_fp8_f32 v10, 1.0, -2.0", One(|_| 0xc840)),
            (
                "v_mov_b32 v10, 0xc840; v_cvt_pk_f32_fp8 v[10:11], v10",
                Two(|_| u64::from(1.0_f32.to_bits()) | u64::from((-2.0_f32).to_bits()) << 32),
            ),
            ("v_exp_f32 v10, 4.0", One(|_| 16.0_f32.to_bits())),
            ("v_log_f32 v10, 4.0", One(|_| 2.0_f32.to_bits())),
            ("v_rsq_f32 v10, 4.0", One(|_| 0.5_f32.to_bits())),
            (
                "s_movk_i32 s10, 0x203; v_cmp_class_f32 s[8:9], v1, s10; v_cndmask_b32_e64 v10, 0, 1, s[8:9]",
                One(|l| u32::from(l.f(1).is_nan() || l.f(1) == f32::INFINITY)),
            ),
            (
                "v_cmp_nlt_f32 vcc, v1, v2; v_cndmask_b32_e64 v10, 0, 1, vcc",
                One(|l| u32::from(l.f(1).partial_cmp(&l.f(2)) != Some(std::cmp::Ordering::Less))),
            ),
        ],
        true,
    )
}

fn quiet(bits: u32) -> u32 {
    bits | 0x0040_0000
}

/// The sequence that compilers emit for a division, which is exact.
#[test]
fn division() -> Result<()> {
    check(
        "gfx942",
        &[(
            "v_div_scale_f32 v20, s[8:9], v2, v2, v1; v_div_scale_f32 v21, vcc, v1, v2, v1; v_rcp_f32 v22, v20; \
                 v_fma_f32 v23, -v20, v22, 1.0; v_fma_f32 v22, v23, v22, v22; v_mul_f32 v23, v21, v22; \
                 v_fma_f32 v24, -v20, v23, v21; v_fma_f32 v23, v24, v22, v23; v_fma_f32 v20, -v20, v23, v21; \
                 v_div_fmas_f32 v20, v20, v22, v23; v_div_fixup_f32 v10, v20, v2, v1",
            One(|l| {
                let quotient = l.f(1) / l.f(2);
                match (l.f(1).is_nan(), l.f(2).is_nan()) {
                    (true, _) => quiet(l.v(1)),
                    (_, true) => quiet(l.v(2)),
                    _ if quotient.is_nan() => 0xffc0_0000,
                    _ => quotient.to_bits(),
                }
            }),
        )],
    )
}

#[test]
fn across_lanes() -> Result<()> {
    check(
        "gfx942",
        &[
            ("v_mov_b32_dpp v10, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf", One(|l| l.of(l.lane ^ 1, 1))),
            (
                "v_mov_b32_dpp v10, v1 row_shr:3 row_mask:0xf bank_mask:0xf",
                One(|l| if l.lane % 16 >= 3 { l.of(l.lane - 3, 1) } else { 0 }),
            ),
            (
                "v_mov_b32 v10, 7; v_mov_b32_dpp v10, v1 row_shl:1 row_mask:0xa bank_mask:0xf",
                One(|l| if l.lane / 16 % 2 == 1 && l.lane % 16 != 15 { l.of(l.lane + 1, 1) } else { 7 }),
            ),
            (
                "v_mov_b32 v10, 7; v_mov_b32_dpp v10, v1 row_shl:1 row_mask:0xf bank_mask:0x8 bound_ctrl:1",
                One(|l| match l.lane % 16 {
                    15 => 0,
                    12..15 => l.of(l.lane + 1, 1),
                    _ => 7,
                }),
            ),
            (
                "v_mov_b32_dpp v10, v1 row_ror:5 row_mask:0xf bank_mask:0xf",
                One(|l| l.of(l.lane & 48 | (l.lane + 11) & 15, 1)),
            ),
            (
                "v_mov_b32_dpp v10, v1 row_bcast:15 row_mask:0xa bank_mask:0xf",
                One(|l| if l.lane / 16 % 2 == 1 { l.of((l.lane & 48) - 1, 1) } else { 0 }),
            ),
            (
                "v_mov_b32_dpp v10, v1 row_bcast:31 row_mask:0xc bank_mask:0xf",
                One(|l| if l.lane >= 32 { l.of(31, 1) } else { 0 }),
            ),
            ("v_mov_b32_dpp v10, v1 row_newbcast:6 row_mask:0xf bank_mask:0xf", One(|l| l.of(l.lane & 48 | 6, 1))),
            ("v_mov_b32_dpp v10, v1 row_mirror row_mask:0xf bank_mask:0xf", One(|l| l.of(l.lane ^ 15, 1))),
            ("v_mov_b32_dpp v10, v1 row_half_mirror row_mask:0xf bank_mask:0xf", One(|l| l.of(l.lane ^ 7, 1))),
            (
                "v_mov_b32_dpp v10, v1 wave_shr:1 row_mask:0xf bank_mask:0xf",
                One(|l| if l.lane > 0 { l.of(l.lane - 1, 1) } else { 0 }),
            ),
            ("v_mov_b32_dpp v10, v1 wave_rol:1 row_mask:0xf bank_mask:0xf", One(|l| l.of((l.lane + 1) % 64, 1))),
            (
                "v_mov_b32 v10, v1; v_add_u32_dpp v10, v10, v10 row_ror:1 row_mask:0xf bank_mask:0xf",
                One(|l| l.v(1).wrapping_add(l.of(l.lane & 48 | (l.lane + 15) & 15, 1))),
            ),
            ("v_readlane_b32 s8, v1, 37; v_mov_b32 v10, s8", One(|l| l.of(37, 1))),
            (
                "v_mov_b32 v10, v1; s_mov_b32 s8, 5; v_writelane_b32 v10, s8, 9",
                One(|l| if l.lane == 9 { 5 } else { l.v(1) }),
            ),
            (
                "v_cmp_gt_u32 vcc, 10, v0; s_and_saveexec_b64 s[8:9], vcc; s_xor_b64 exec, exec, s[8:9]; \
              v_readfirstlane_b32 s10, v1; s_mov_b64 exec, s[8:9]; v_mov_b32 v10, s10",
                One(|l| l.of(10, 1)),
            ),
            ("v_mbcnt_lo_u32_b32 v10, -1, 0; v_mbcnt_hi_u32_b32 v10, -1, v10", One(|l| l.lane as u32)),
            ("ds_bpermute_b32 v10, v9, v1; s_waitcnt lgkmcnt(0)", One(|l| l.of((l.lane * 7 + 3) % 64, 1))),
            (
                "ds_permute_b32 v10, v9, v1; s_waitcnt lgkmcnt(0)",
                One(|l| {
                    let from = (0..64).find(|from| (from * 7 + 3) % 64 == l.lane).unwrap_or(0);
                    l.of(from, 1)
                }),
            ),
            ("ds_swizzle_b32 v10, v1 offset:swizzle(SWAP,4); s_waitcnt lgkmcnt(0)", One(|l| l.of(l.lane ^ 4, 1))),
            ("ds_swizzle_b32 v10, v1 offset:swizzle(REVERSE,8); s_waitcnt lgkmcnt(0)", One(|l| l.of(l.lane ^ 7, 1))),
            (
                "ds_swizzle_b32 v10, v1 offset:swizzle(BROADCAST,8,3); s_waitcnt lgkmcnt(0)",
                One(|l| l.of(l.lane & 56 | 3, 1)),
            ),
            (
                "v_add_u32_sdwa v10, v1, v2 dst_sel:BYTE_2 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_1 src1_sel:WORD_1",
                One(|l| (((l.v(1) >> 8 & 0xff) + (l.v(2) >> 16)) & 0xff) << 16),
            ),
            (
                "v_mul_u32_u24_sdwa v10, sext(v1), v2 dst_sel:WORD_1 dst_unused:UNUSED_SEXT src0_sel:BYTE_0 src1_sel:BYTE_3",
                One(|l| {
                    let a = i32::from(l.v(1) as i8) as u32 & 0xff_ffff;
                    let product = a.wrapping_mul(l.v(2) >> 24);
                    u32::from(product as u16) << 16
                }),
            ),
            (
                "v_swap_b32 v1, v2; v_mov_b32 v10, v1; v_mov_b32 v11, v2; v_swap_b32 v1, v2",
                Two(|l| u64::from(l.v(2)) | u64::from(l.v(1)) << 32),
            ),
        ],
    )
}

#[test]
fn waves_of_32() -> Result<()> {
    for arch in ["gfx1100", "gfx1201"] {
        check(
            arch,
            &[
                ("v_add_nc_u32 v10, v1, v2", One(|l| l.v(1).wrapping_add(l.v(2)))),
                ("v_xor3_b32 v10, v1, v2, v3", One(|l| l.v(1) ^ l.v(2) ^ l.v(3))),
                (
                    "v_add_co_u32 v10, vcc_lo, v1, v2; v_add_co_ci_u32 v11, vcc_lo, v3, v4, vcc_lo",
                    Two(|l| {
                        let a = u64::from(l.v(1)) | u64::from(l.v(3)) << 32;
                        let b = u64::from(l.v(2)) | u64::from(l.v(4)) << 32;
                        a.wrapping_add(b)
                    }),
                ),
                (
                    "v_dual_mov_b32 v10, v2 :: v_dual_add_f32 v11, v1, v3",
                    Two(|l| u64::from(l.v(2)) | u64::from((l.f(1) + l.f(3)).to_bits()) << 32),
                ),
                (
                    "v_dual_mov_b32 v10, v1 :: v_dual_mov_b32 v11, v2; v_dual_mov_b32 v10, v11 :: v_dual_mov_b32 v11, v10",
                    Two(|l| u64::from(l.v(2)) | u64::from(l.v(1)) << 32),
                ),
                ("v_mov_b32_dpp v10, v1 row_xmask:5 row_mask:0xf bank_mask:0xf", One(|l| l.of(l.lane ^ 5, 1))),
                ("v_mov_b32_dpp v10, v1 dpp8:[7,6,5,4,3,2,1,0]", One(|l| l.of(l.lane ^ 7, 1))),
                (
                    "s_mov_b32 s8, 0x76543210; s_mov_b32 s9, 0xfedcba98; v_permlanex16_b32 v10, v1, s8, s9",
                    One(|l| l.of(l.lane ^ 16, 1)),
                ),
                (
                    "v_cmp_lt_u32 vcc_lo, v1, v2; v_cndmask_b32 v10, v3, v4, vcc_lo",
                    One(|l| if l.v(1) < l.v(2) { l.v(4) } else { l.v(3) }),
                ),
                ("v_maxmin_i32 v10, v1, v2, v3", One(|l| l.i(1).max(l.i(2)).min(l.i(3)) as u32)),
                (
                    "v_dot4_i32_iu8 v10, v1, v2, v3 neg_lo:[1,0,0]",
                    One(|l| {
                        let sum: i32 = (0..4)
                            .map(|n| i32::from((l.v(1) >> (n * 8)) as i8) * i32::from((l.v(2) >> (n * 8)) as u8))
                            .sum();
                        sum.wrapping_add(l.i(3)) as u32
                    }),
                ),
            ],
        )?;
    }
    Ok(())
}
