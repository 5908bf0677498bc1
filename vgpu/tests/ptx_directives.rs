//! What surrounds instructions: linkage, aliases, parameters in registers, tables of branch and call targets, hints.

use tegula_vgpu::launch::{Argument, Launch};
use tegula_vgpu::memory::{Fill, GlobalMemory};
use tegula_vgpu::ptx::Module;

/// Runs the kernel `k` of a text for so many threads; each writes so many words to an output of zeros.
fn run(text: &str, threads: u32, words: usize) -> Vec<u32> {
    let memory = GlobalMemory::default();
    let module = Module::load(text, None, &memory).unwrap_or_else(|error| panic!("{error}"));
    let out = memory.allocate("out", u64::from(threads) * words as u64 * 4, Fill::Poison).expect("memory");
    let launch = Launch::new("k").block([threads, 1, 1]).arg(Argument::pointer(out));
    let outcome = module.launch(&memory, &launch).unwrap_or_else(|error| panic!("{error}"));
    assert!(outcome.is_clean(), "{}", outcome.findings[0]);
    let mut bytes = vec![0; threads as usize * words * 4];
    memory.read(out, &mut bytes).expect("in bounds");
    module.unload(&memory).expect("all variables are there once");
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";
/// Registers, and the thread's place in the output: `%rd1`; its number is `%r1`.
const START: &str = "
.reg .b16 %h<4>; .reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .f32 %f<4>; .reg .f64 %d<4>; .reg .pred %p<4>;
ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x;";

#[test]
fn parameters_in_registers() {
    let text = format!(
        "{HEAD}
.func (.reg .b32 r) mix(.reg .b32 a, .reg .b64 b, .reg .f32 c, .reg .b16 d) {{
    .reg .b32 %r<4>;
    cvt.rzi.u32.f32 %r1, c; cvt.u32.u64 %r2, b; mad.lo.u32 r, a, %r2, %r1; cvt.u32.u16 %r3, d; add.u32 r, r, %r3; ret;
}}
.func (.reg .b32 r) down(.reg .b32 n, .reg .b32 step) {{
    .reg .pred %p; .reg .b32 %r<4>;
    setp.lt.u32 %p, n, step; mov.u32 r, 0; @%p bra E;
    sub.u32 %r1, n, step;
    // Hands its parameters on, and reads them again afterwards.
    call (%r2), down, (%r1, step);
    add.u32 r, %r2, n;
E:  ret;
}}
.func (.param .b32 r, .reg .b32 s) both(.param .b32 a, .reg .b32 b) {{
    .reg .b32 %r<3>;
    ld.param.b32 %r1, [a]; sub.u32 %r2, %r1, b; st.param.b32 [r], %r2; add.u32 s, %r1, b; ret;
}}
.func (.param .b32 r) fibonacci(.param .b32 n) {{
    .reg .pred %p; .reg .b32 %r<6>; .param .b32 x; .param .b32 y;
    ld.param.b32 %r1, [n]; setp.lt.u32 %p, %r1, 2; @%p bra E;
    sub.u32 %r2, %r1, 1; call (y), fibonacci, (%r2); ld.param.b32 %r3, [y];
    // The parameter is still there after a call of itself.
    ld.param.b32 %r1, [n]; sub.u32 %r2, %r1, 2; st.param.b32 [x], %r2; call (%r4), fibonacci, (x);
    add.u32 %r1, %r3, %r4;
E:  st.param.b32 [r], %r1; ret;
}}
.visible .entry k(.param .u64 out) {{ {START}
    mad.wide.u32 %rd1, %r1, 20, %rd1;
    cvt.u64.u32 %rd2, %r1; mov.u16 %h1, 9;
    call (%r2), mix, (%r1, %rd2, 0f40600000, %h1); st.global.u32 [%rd1], %r2;
    and.b32 %r3, %r1, 15;
    call (%r4), down, (%r3, 3); st.global.u32 [%rd1+4], %r4;
    call (%r5, %r6), both, (%r1, 100); st.global.u32 [%rd1+8], %r5; st.global.u32 [%rd1+12], %r6;
    and.b32 %r3, %r1, 7;
    call (%r7), fibonacci, (%r3); st.global.u32 [%rd1+16], %r7; ret;
}}"
    );
    fn down(n: u32) -> u32 {
        if n < 3 { 0 } else { n + down(n - 3) }
    }
    for (t, got) in run(&text, 64, 5).chunks_exact(5).enumerate() {
        let t = t as u32;
        let fibonacci = [0, 1, 1, 2, 3, 5, 8, 13][t as usize % 8];
        assert_eq!(got, [t * t + 3 + 9, down(t % 16), t.wrapping_sub(100), t + 100, fibonacci], "thread {t}");
    }
}

#[test]
fn aliases_weak_and_common_symbols() {
    let text = format!(
        ".version 8.8\n.target sm_80\n.address_size 64
.extern .global .align 4 .u32 later;
.common .global .align 4 .b32 zero;
.weak .global .align 4 .u32 weak_value = 7;
.visible .func (.param .b32 r) target(.param .b32 x) {{
    .reg .b32 %r<3>; ld.param.b32 %r1, [x]; shl.b32 %r1, %r1, 2; st.param.b32 [r], %r1; ret;
}}
.visible .func (.param .b32 r) other(.param .b32 x);
.alias other, target;
.global .align 8 .u64 table[3] = {{target, generic(weak_value), later+0}};
.visible .global .attribute(.managed) .align 4 .u32 later = 11;
.visible .entry k(.param .u64 .ptr .global .align 4 out) .maxntid 64, 1, 1 .minnctapersm 2 .maxnreg 64 .pragma \"nounroll\"; {{ {START}
    .pragma \"used_bytes_mask 0xfff\";
    mad.wide.u32 %rd1, %r1, 16, %rd1;
    {{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call.uni (b), other, (a); ld.param.b32 %r2, [b]; }}
    st.global.u32 [%rd1], %r2;
    P: .callprototype (.param .b32 _) _ (.param .b32 _);
    ld.global.u64 %rd3, [table];
    {{ .param .b32 a; .param .b32 b; st.param.b32 [a], 5; call (b), %rd3, (a), P; ld.param.b32 %r3, [b]; }}
    st.global.u32 [%rd1+4], %r3;
    ld.global.u64 %rd4, [table+8]; ld.u32 %r4, [%rd4]; ld.global.u64 %rd5, [table+16]; ld.global.u32 %r5, [%rd5];
    ld.global.u32 %r6, [zero]; add.u32 %r4, %r4, %r6; st.global.u32 [%rd1+8], %r4; st.global.u32 [%rd1+12], %r5; ret;
}}"
    );
    for (t, got) in run(&text, 32, 4).chunks_exact(4).enumerate() {
        assert_eq!(got, [4 * t as u32, 20, 7, 11], "thread {t}");
    }
}

#[test]
fn calls_through_tables_of_targets() {
    let text = format!(
        "{HEAD}
.func (.reg .b32 r) first(.reg .b32 x) {{ add.u32 r, x, 1; ret; }}
.func (.reg .b32 r) second(.reg .b32 x) {{ add.u32 r, x, 2; ret; }}
.func (.reg .b32 r) third(.reg .b32 x) {{ add.u32 r, x, 3; ret; }}
.const .align 8 .u64 functions[3] = {{first, second, third}};
.visible .entry k(.param .u64 out) {{ {START}
    mad.wide.u32 %rd1, %r1, 4, %rd1;
    rem.u32 %r2, %r1, 3; mov.u64 %rd2, functions; mad.wide.u32 %rd2, %r2, 8, %rd2; ld.const.u64 %rd3, [%rd2];
    all: .calltargets first, second, third;
    call (%r3), %rd3, (%r1), all;
    T: .branchtargets A, B;
    and.b32 %r4, %r1, 1; brx.idx %r4, T;
A:  add.u32 %r3, %r3, 1000; bra.uni C;
B:  add.u32 %r3, %r3, 2000;
C:  st.global.u32 [%rd1], %r3; ret;
}}"
    );
    for (t, got) in run(&text, 32, 1).into_iter().enumerate() {
        assert_eq!(got as usize, t + t % 3 + 1 + [1000, 2000][t % 2], "thread {t}");
    }
}

#[test]
fn shared_memory_of_all_kinds() {
    let text = "
.version 8.0
.target sm_80
.address_size 64
.shared .align 4 .b32 fixed[4];
.extern .shared .align 16 .b8 dynamic[];
.func (.param .b32 r) look(.param .b32 x) {
    .reg .b32 %r<4>; .shared .align 4 .b32 inner[2];
    ld.param.b32 %r1, [x]; st.shared.b32 [inner], %r1; ld.shared.b32 %r2, [inner]; st.param.b32 [r], %r2; ret;
}
.visible .entry k(.param .u64 out) {
    .reg .b32 %r<9>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [out];
    { .param .b32 a; .param .b32 b; st.param.b32 [a], 77; call (b), look, (a); ld.param.b32 %r1, [b]; }
    mov.u32 %r2, dynamic; st.shared.b32 [%r2], 5; st.shared.b32 [fixed+12], 6; st.shared.b32 [%r2+60], 7;
    ld.shared.b32 %r3, [dynamic]; ld.shared.b32 %r4, [fixed+12]; mov.u32 %r5, %dynamic_smem_size;
    st.global.v4.b32 [%rd1], {%r1, %r3, %r4, %r5}; ret;
}";
    let memory = GlobalMemory::default();
    let module = Module::load(text, None, &memory).expect("it parses");
    let out = memory.allocate("out", 16, Fill::Poison).expect("memory");
    let launch = Launch::new("k").block([1, 1, 1]).dynamic_shared(64).arg(Argument::pointer(out));
    let outcome = module.launch(&memory, &launch).expect("it runs");
    assert!(outcome.is_clean(), "{}", outcome.findings[0]);
    let mut bytes = [0; 16];
    memory.read(out, &mut bytes).expect("in bounds");
    let words: Vec<_> = bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    assert_eq!(words, [77, 5, 6, 64]);
}

#[test]
fn required_extents_are_kept() {
    let text = format!("{HEAD}.visible .entry k(.param .u64 out) .reqntid 32, 2 {{ ret; }}");
    let memory = GlobalMemory::default();
    let module = Module::load(&text, None, &memory).expect("it parses");
    assert_eq!(module.survey("k").expect("a kernel").required_block, Some([32, 2, 1]));
    let launch = |block| module.launch(&memory, &Launch::new("k").block(block).arg(Argument::pointer(0)));
    assert!(launch([32, 2, 1]).is_ok());
    assert!(launch([64, 1, 1]).expect_err("another extent").to_string().contains(".reqntid"));
}

#[test]
fn memory_from_the_stack() {
    // Each turn of a loop takes more; what a function takes ends with it.
    let text = format!(
        "{HEAD}
.func (.param .b32 r) sum(.param .b32 n) {{
    .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<6>;
    ld.param.b32 %r1, [n]; mul.wide.u32 %rd1, %r1, 4; alloca.u64 %rd2, %rd1, 16;
    mov.u32 %r2, 0; mov.u64 %rd3, %rd2;
A:  st.local.u32 [%rd3], %r2; add.u64 %rd3, %rd3, 4; add.u32 %r2, %r2, 1; setp.lt.u32 %p, %r2, %r1; @%p bra A;
    mov.u32 %r3, 0; mov.u32 %r2, 0; cvta.local.u64 %rd4, %rd2;
B:  ld.u32 %r4, [%rd4]; add.u32 %r3, %r3, %r4; add.u64 %rd4, %rd4, 4; add.u32 %r2, %r2, 1; setp.lt.u32 %p, %r2, %r1; @%p bra B;
    st.param.b32 [r], %r3; ret;
}}
.visible .entry k(.param .u64 out) {{ {START}
    mad.wide.u32 %rd1, %r1, 8, %rd1; mov.u32 %r2, 0; mov.u32 %r3, 0;
L:  add.u32 %r4, %r1, 50;
    {{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r4; call (b), sum, (a); ld.param.b32 %r5, [b]; }}
    add.u32 %r2, %r2, %r5;
    stacksave.u64 %rd2; alloca.u64 %rd3, 800; st.local.u32 [%rd3+796], %r2; ld.local.u32 %r6, [%rd3+796]; stackrestore.u64 %rd2;
    add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 64; @%p1 bra L;
    st.global.v2.u32 [%rd1], {{%r2, %r6}}; ret;
}}"
    );
    for (t, got) in run(&text, 32, 2).chunks_exact(2).enumerate() {
        let n = t as u32 + 50;
        assert_eq!(got, [64 * n * (n - 1) / 2; 2], "thread {t}");
    }
}
