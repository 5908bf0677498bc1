//! Broken PTX: texts cut, doubled and garbled in many ways are errors or kernels, never panics.

use tegula_vgpu::memory::GlobalMemory;
use tegula_vgpu::ptx::Module;

const MIXED: &str = include_str!("ptx/mixed.ptx");

/// A body with an instruction of most families.
const FAMILIES: &str = "
.version 8.8
.target sm_90a
.address_size 64
.const .align 4 .f32 table[4] = {1.0, 0f40000000, -3, 4.5e1};
.extern .shared .align 128 .b8 dynamic[];
.func (.param .b32 r) callee(.param .b32 n, .param .align 8 .b8 s[16]);
.visible .entry k(.param .u64 .ptr .global .align 16 p, .param .align 64 .b8 map[128]) .reqntid 128, 1, 1 .maxnreg 168
{
    .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<99>; .reg .b64 %rd<9>; .reg .b128 %q<2>; .shared .align 8 .b64 bar;
    .loc 1 10 3
    ld.param.u64 %rd1, [p+0];
    mov.u32 %r1, dynamic;
    mad.wide.s32 %rd2, %r1, 4, %rd1;
    ld.global.nc.L1::no_allocate.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1+16];
    lop3.b32 %r1, %r2, %r3, %r4, 0xCA;
    prmt.b32.f4e %r1, %r2, %r3, %r4;
    add.cc.u32 %r1, %r2, 5;
    setp.lt.and.f32 %p1|%p2, %r1, 0f3F800000, !%p3;
    cvt.rn.satfinite.e4m3x2.f32 %h1, %r1, %r2;
    shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, -1;
    atom.acq_rel.gpu.global.cas.b64 %rd3, [%rd1], %rd2, 7;
    cp.async.cg.shared.global [%r1], [%rd1], 0x10, %r2;
    mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;
    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [%r4];
    cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd1], [%r1], 16;
    tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r1], 0, 64;
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r10,%r11,%r12,%r13}, {%r1,%r2,%r3,%r4}, {%r1,%r2}, {%r10,%r11,%r12,%r13};
    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r10,%r11,%r12,%r13}, %rd1, %rd2, %p1, 1, -1, 0, 1;
    ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r1,%r2,%r3,%r4}, [%r5];
    ts: .branchtargets A, B;
    brx.idx %r1, ts;
A:  { .reg .pred q; @!q bra.uni B; }
B:  barrier.cluster.arrive.aligned;
    redux.sync.max.NaN.f32 %r1, %r2, -1;
    setmaxnreg.dec.sync.aligned.u32 40;
    ret;
}";

fn survives(text: &str) {
    let memory = GlobalMemory::default();
    if let Ok(module) = Module::load(text, None, &memory) {
        let names: Vec<_> = module.kernels().map(str::to_owned).collect();
        for name in names {
            let _ = module.survey(&name);
        }
    }
}

#[test]
fn the_text_itself_is_good() {
    let memory = GlobalMemory::default();
    let module = Module::load(FAMILIES, None, &memory).expect("it parses");
    let info = module.survey("k").expect("it decodes");
    assert_eq!(info.unsupported, []);
    assert_eq!((info.required_block, info.max_registers), (Some([128, 1, 1]), Some(168)));
}

#[test]
fn broken_texts_do_not_panic() {
    for text in [MIXED, FAMILIES] {
        for cut in (0..text.len()).filter(|&cut| text.is_char_boundary(cut)) {
            survives(&text[..cut]);
        }
        let words: Vec<&str> = text.split_inclusive([' ', ',', '.', '[', '{', ';', '\n']).collect();
        let mut state = 12345_u64;
        let mut next = |bound: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) as usize) % bound
        };
        for _ in 0..3000 {
            let mut changed: Vec<&str> = words.clone();
            for _ in 0..=next(3) {
                let (at, other) = (next(changed.len()), next(words.len()));
                match next(4) {
                    0 => {
                        changed.remove(at);
                    }
                    1 => changed.insert(at, words[other]),
                    2 => changed[at] = words[other],
                    _ => {
                        changed[at] =
                            ["-1", "0xFFFFFFFFFFFFFFFF", "%r99", "{", "]", "9999999999", "_", "0f7F", "!", "::"]
                                [next(10)]
                    }
                }
            }
            survives(&changed.concat());
        }
    }
}
