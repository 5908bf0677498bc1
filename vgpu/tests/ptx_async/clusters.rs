//! Clusters: ranks, distributed shared memory, remote barriers, multicast, asynchronous stores.

use super::harness::{ALL, Run, WAIT, bytes, words};

/// `%r10` is the thread's word in the tile, `%r11` its index among all threads, `%rd10` its word of the output.
const INDEX: &str = "
shl.b32 %r10, %r1, 2; add.u32 %r10, %r10, %r3;
mov.u32 %r11, %ctaid.x; mov.u32 %r12, %ntid.x; mad.lo.u32 %r11, %r11, %r12, %r1; mad.wide.u32 %rd10, %r11, 4, %rd2;";

fn cluster(programs: u32, threads: u32) -> Run<'static> {
    Run {
        grid: [programs, 1, 1],
        cluster: [programs, 1, 1],
        block: threads,
        output: vec![0; (programs * threads * 4) as usize],
        ..Run::default()
    }
}

#[test]
fn ranks_and_extents() {
    let run = Run { grid: [4, 6, 2], cluster: [2, 3, 1], block: 1, output: vec![0; 48 * 32], ..Run::default() };
    let out = words(&run.run(
        "mov.u32 %r10, %ctaid.x; mov.u32 %r11, %ctaid.y; mov.u32 %r12, %ctaid.z;
        mad.lo.u32 %r13, %r12, 6, %r11; mad.lo.u32 %r13, %r13, 4, %r10; mad.wide.u32 %rd10, %r13, 32, %rd2;
        mov.u32 %r14, %cluster_ctaid.x; mov.u32 %r15, %cluster_ctaid.y; mov.u32 %r16, %clusterid.x; mov.u32 %r17, %clusterid.y;
        mov.u32 %r18, %nclusterid.x; mov.u32 %r19, %cluster_nctarank; mov.u32 %r20, %cluster_nctaid.y;
        st.global.v4.u32 [%rd10], {%r2, %r14, %r15, %r16}; st.global.v4.u32 [%rd10+16], {%r17, %r18, %r19, %r20};",
    ));
    for z in 0..2 {
        for y in 0..6 {
            for x in 0..4 {
                let at = (((z * 6 + y) * 4 + x) * 8) as usize;
                let (cx, cy) = (x % 2, y % 3);
                assert_eq!(out[at..at + 8], [cy * 2 + cx, cx, cy, x / 2, y / 3, 2, 6, 3], "{x} {y} {z}");
            }
        }
    }
}

#[test]
fn shared_memory_of_the_next_program() {
    let out = words(&cluster(4, 64).run(&format!(
        "{INDEX} mad.lo.u32 %r13, %r2, 1000, %r1; st.shared.u32 [%r10], %r13; {ALL}
        add.u32 %r14, %r2, 1; and.b32 %r14, %r14, 3; mapa.shared::cluster.u32 %r15, %r10, %r14;
        ld.shared::cluster.u32 %r16, [%r15];
        cvt.u64.u32 %rd5, %r10; cvta.shared.u64 %rd5, %rd5; mapa.u64 %rd6, %rd5, %r14; ld.u32 %r17, [%rd6];
        getctarank.shared::cluster.u32 %r18, %r15; getctarank.u64 %r19, %rd6;
        setp.ne.u32 %p2, %r18, %r14; @%p2 trap; setp.ne.u32 %p2, %r19, %r14; @%p2 trap; setp.ne.u32 %p2, %r16, %r17; @%p2 trap;
        isspacep.shared::cluster %p3, %rd6; @!%p3 trap; isspacep.shared::cta %p3, %rd5; @!%p3 trap;
        {ALL} st.global.u32 [%rd10], %r16;"
    )));
    for (index, &word) in out.iter().enumerate() {
        assert_eq!(word as usize, (index / 64 + 1) % 4 * 1000 + index % 64);
    }
}

#[test]
fn stores_and_atomics_into_one_program() {
    let out = words(&cluster(4, 32).run(&format!(
        "{INDEX} st.shared.u32 [%r10], 0; {ALL}
        mapa.shared::cluster.u32 %r15, %r3, 0; mad.lo.u32 %r16, %r2, 4, %r15;
        add.u32 %r17, %r1, 1; atom.shared::cluster.add.u32 %r18, [%r15+64], %r17;
        @%p1 st.shared::cluster.u32 [%r16], %r2; {ALL}
        ld.shared.u32 %r19, [%r10]; st.global.u32 [%rd10], %r19; {ALL}"
    )));
    let mut expected = vec![0; 128];
    expected[..4].copy_from_slice(&[0, 1, 2, 3]);
    expected[16] = 4 * 32 * 33 / 2;
    assert_eq!(out, expected);
}

#[test]
fn arrivals_from_other_programs() {
    // Rank 0 waits for three arrivals from afar and its own one, each after data was stored there.
    let out = words(&cluster(4, 32).run(&format!(
        "{INDEX} @%p1 mbarrier.init.shared::cta.b64 [%r4], 4; fence.mbarrier_init.release.cluster; {ALL}
        mapa.shared::cluster.u32 %r15, %r10, 0; mapa.shared::cluster.u32 %r16, %r4, 0; shl.b32 %r17, %r2, 7; add.u32 %r17, %r17, %r15;
        mad.lo.u32 %r18, %r2, 100, %r1; st.shared::cluster.u32 [%r17], %r18; bar.warp.sync -1;
        @%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r16];
        setp.ne.u32 %p2, %r2, 0; @%p2 bra E;
        W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p7, [%r4], 0; @!%p7 bra W;
        mov.u32 %r20, 0; L: shl.b32 %r21, %r20, 7; add.u32 %r22, %r21, %r10; ld.shared.u32 %r23, [%r22];
        cvt.u64.u32 %rd11, %r21; add.u64 %rd11, %rd11, %rd10; st.global.u32 [%rd11], %r23;
        add.u32 %r20, %r20, 1; setp.lt.u32 %p3, %r20, 4; @%p3 bra L;
        E: {ALL}"
    )));
    for (index, &word) in out.iter().enumerate() {
        assert_eq!(word as usize, index / 32 * 100 + index % 32);
    }
}

#[test]
fn multicast_reaches_the_programs_of_the_mask() {
    let input = bytes((0..256).map(|n| n * 3));
    let run = Run { input: &input, ..cluster(4, 128) };
    // Rank 0 sends 1024 bytes to 0, 1 and 3, each waits on its own barrier.
    let out = words(&run.run(&format!(
        "{INDEX} setp.ne.u32 %p2, %r2, 2; and.pred %p3, %p2, %p1;
        @%p1 mbarrier.init.shared::cta.b64 [%r4], 1; fence.mbarrier_init.release.cluster; {ALL}
        @%p3 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 1024;
        setp.eq.u32 %p4, %r2, 0; and.pred %p4, %p4, %p1; mov.u16 %h1, 11;
        @%p4 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r3], [%rd1], 1024, [%r4], %h1;
        mov.u32 %r20, 7; @!%p2 bra E; {WAIT} ld.shared.u32 %r20, [%r10+512];
        E: st.global.u32 [%rd10], %r20; {ALL}"
    )));
    for (index, &word) in out.iter().enumerate() {
        let expected = if index / 128 == 2 { 7 } else { (index % 128 + 128) * 3 };
        assert_eq!(word as usize, expected);
    }
}

#[test]
fn asynchronous_stores_and_reductions() {
    // Each of two programs sends to the other one.
    let remote = |length: u32, instruction: &str, bytes: u32| {
        let mut run = cluster(2, 32);
        run.output = vec![0; 2 * 32 * 16];
        words(&run.run(&format!(
            "{INDEX} shl.b32 %r13, %r1, 4; add.u32 %r10, %r13, %r3; mad.wide.u32 %rd10, %r11, 16, %rd2;
            st.shared.v4.u32 [%r10], {{9, 9, 9, 9}};
            @%p1 mbarrier.init.shared::cta.b64 [%r4], 1; fence.mbarrier_init.release.cluster; {ALL}
            xor.b32 %r14, %r2, 1; mapa.shared::cluster.u32 %r15, %r10, %r14; mapa.shared::cluster.u32 %r16, %r4, %r14;
            mad.lo.u32 %r17, %r2, 100, %r1; add.u32 %r18, %r17, 1000; cvt.u64.u32 %rd11, %r17; neg.s64 %rd11, %rd11;
            @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], {};
            {instruction}
            {WAIT} ld.shared.v4.u32 {{%r20, %r21, %r22, %r23}}, [%r10]; st.global.v4.u32 [%rd10], {{%r20, %r21, %r22, %r23}}; {ALL}",
            bytes * length
        )))
    };
    let check = |instruction: &str, bytes: u32, expected: fn(u32) -> [u32; 4]| {
        for (index, got) in remote(32, instruction, bytes).chunks_exact(4).enumerate() {
            let sent = (1 - index as u32 / 32) * 100 + index as u32 % 32;
            assert_eq!(got, expected(sent), "{instruction}");
        }
    };
    let complete = "shared::cluster.mbarrier::complete_tx::bytes";
    check(&format!("st.async.{complete}.u32 [%r15], %r17, [%r16];"), 4, |x| [x, 9, 9, 9]);
    check(&format!("st.async.weak.{complete}.b64 [%r15+8], %rd11, [%r16];"), 8, |x| {
        let negative = (-i64::from(x)) as u64;
        [9, 9, negative as u32, (negative >> 32) as u32]
    });
    check(&format!("st.async.{complete}.v4.b32 [%r15], {{%r17, %r18, %r17, %r18}}, [%r16];"), 16, |x| {
        [x, x + 1000, x, x + 1000]
    });
    check(&format!("st.async.{complete}.v2.s32 [%r15+8], {{%r18, %r17}}, [%r16];"), 8, |x| [9, 9, x + 1000, x]);
    for (operation, expected) in [
        ("add.u32", (|x| x + 9) as fn(u32) -> u32),
        ("min.s32", |x| x.min(9)),
        ("max.u32", |x| x.max(9)),
        ("inc.u32", |x| if 9 >= x { 0 } else { 10 }),
        ("dec.u32", |x| if 9 > x { x } else { 8 }),
        ("and.b32", |x| x & 9),
        ("or.b32", |x| x | 9),
        ("xor.b32", |x| x ^ 9),
    ] {
        let instruction = format!("red.async.relaxed.cluster.{complete}.{operation} [%r15+4], %r17, [%r16];");
        for (index, got) in remote(32, &instruction, 4).chunks_exact(4).enumerate() {
            let sent = (1 - index as u32 / 32) * 100 + index as u32 % 32;
            assert_eq!(got, [9, expected(sent), 9, 9], "{instruction} of {sent}");
        }
    }
    // All lanes into one word of 64 bits.
    let out = remote(
        32,
        &format!(
            "mapa.shared::cluster.u32 %r15, %r3, %r14; red.async.relaxed.cluster.{complete}.add.u64 [%r15], %rd11, [%r16];"
        ),
        8,
    );
    let first = u64::from(out[0]) | u64::from(out[1]) << 32;
    assert_eq!(first.wrapping_sub(9 | 9 << 32) as i64, -(3200 + 31 * 32 / 2));
}

#[test]
fn copies_between_programs() {
    let exchange = |instruction: &str| {
        words(&cluster(2, 64).run(&format!(
            "{INDEX} mad.lo.u32 %r13, %r2, 1000, %r1; st.shared.u32 [%r10], %r13; st.shared.u32 [%r10+256], 5;
            @%p1 mbarrier.init.shared::cta.b64 [%r4], 1; fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta; {ALL}
            xor.b32 %r14, %r2, 1; add.u32 %r15, %r3, 256; mapa.shared::cluster.u32 %r15, %r15, %r14; mapa.shared::cluster.u32 %r16, %r4, %r14;
            @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 256;
            @%p1 {instruction} [%r15], [%r3], 256, [%r16];
            {WAIT} ld.shared.u32 %r20, [%r10+256]; st.global.u32 [%rd10], %r20; {ALL}"
        )))
    };
    let other = |index: usize| ((1 - index / 64) * 1000 + index % 64) as u32;
    let ends = "shared::cluster.shared::cta.mbarrier::complete_tx::bytes";
    for (index, word) in exchange(&format!("cp.async.bulk.{ends}")).into_iter().enumerate() {
        assert_eq!(word, other(index));
    }
    for (operation, expected) in [
        ("add.u32", (|x| x + 5) as fn(u32) -> u32),
        ("add.s32", |x| x + 5),
        ("min.u32", |x| x.min(5)),
        ("max.s32", |x| x.max(5)),
        ("inc.u32", |x| if 5 >= x { 0 } else { 6 }),
        ("dec.u32", |x| if 5 > x { x } else { 4 }),
        ("and.b32", |x| x & 5),
        ("or.b32", |x| x | 5),
        ("xor.b32", |x| x ^ 5),
    ] {
        let out = exchange(&format!("cp.reduce.async.bulk.{ends}.{operation}"));
        for (index, word) in out.into_iter().enumerate() {
            assert_eq!(word, expected(other(index)), "{operation}");
        }
    }
}

#[test]
fn a_required_cluster_is_a_default() {
    // The launch need not name the cluster that the kernel requires; this is the driver's affair, tested through the library.
    use tegula_vgpu::launch::{Argument, Launch};
    use tegula_vgpu::memory::{Fill, GlobalMemory};
    use tegula_vgpu::ptx::Module;
    let text = ".version 8.8\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 out) .explicitcluster .reqnctapercluster 2, 1, 1 .maxclusterrank 8 {
        .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<3>;
        ld.param.u64 %rd1, [out]; mov.u32 %r1, %ctaid.x; mad.wide.u32 %rd2, %r1, 4, %rd1; mov.u32 %r2, %cluster_ctarank;
        mov.pred %p1, %is_explicit_cluster; @!%p1 trap; st.global.u32 [%rd2], %r2; ret; }";
    let memory = GlobalMemory::default();
    let out = memory.allocate("out", 16, Fill::Poison).expect("memory");
    let module = Module::load(text, None, &memory).expect("it parses");
    let launch = Launch::new("k").grid([4, 1, 1]).block([1, 1, 1]).arg(Argument::pointer(out));
    module.launch(&memory, &launch).expect("it runs");
    let mut got = [0; 16];
    memory.read(out, &mut got).expect("in bounds");
    assert_eq!(words(&got), [0, 1, 0, 1]);
    assert!(module.launch(&memory, &launch.clone().cluster([4, 1, 1])).is_err());
    assert!(module.launch(&memory, &launch.grid([3, 1, 1])).is_err());
}
