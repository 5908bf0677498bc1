//! `mma.sync.m8n8k4` of `f16`: four products by pairs of groups of four lanes, in all layouts.

use crate::elements::*;
use tegula_vgpu::launch::{Argument, Launch};
use tegula_vgpu::memory::{Fill, GlobalMemory};
use tegula_vgpu::numeric::Format;
use tegula_vgpu::ptx::Module;

fn check(a_layout: &str, b_layout: &str, d: &str, c: &str) {
    let halves = |count: usize| count.div_ceil(2);
    let accumulators = |ty: &str| if ty == "f16" { halves(8) } else { 8 };
    let (c_registers, d_registers) = (accumulators(c), accumulators(d));
    let words = 4 + c_registers + d_registers;
    let mut bytes = vec![0; 32 * words * 4];
    let matrices: Vec<_> = (0..4).map(|q| (values(32, q), values(32, q + 5), values(64, q + 9))).collect();
    // As the PTX ISA gives rows and columns of a lane's elements.
    let accumulator = |ty: &str, lane: usize, i: usize| {
        let upper = if lane < 16 { 0 } else { 4 };
        match ty {
            "f16" => (lane % 4 + upper, i),
            _ => ((lane & 1) + (i & 2) + upper, (i & 4) + (lane & 2) + (i & 1)),
        }
    };
    for lane in 0..32 {
        let (a, b, accumulators) = &matrices[lane % 16 / 4];
        let upper = if lane < 16 { 0 } else { 4 };
        let at = |word: usize| (lane * words + word) * 32;
        for i in 0..4 {
            let (row, column) = if a_layout == "row" { (lane % 4 + upper, i) } else { (i + upper, lane % 4) };
            put(&mut bytes, at(0) + 16 * i, 16, (F16.encode)(a[row * 4 + column]));
            let (row, column) = if b_layout == "row" { (lane % 4, i + upper) } else { (i, lane % 4 + upper) };
            put(&mut bytes, at(2) + 16 * i, 16, (F16.encode)(b[row * 8 + column]));
        }
        for i in 0..8 {
            let (row, column) = accumulator(c, lane, i);
            let value = accumulators[row * 8 + column];
            if c == "f16" {
                put(&mut bytes, at(4) + 16 * i, 16, float(Format::F16, value));
            } else {
                put(&mut bytes, at(4) + 32 * i, 32, u64::from((value as f32).to_bits()));
            }
        }
    }
    let list = |start: usize, count: usize| {
        let names: Vec<_> = (start..start + count).map(|n| format!("%r{n}")).collect();
        format!("{{{}}}", names.join(", "))
    };
    let loads: String =
        (0..4 + c_registers).map(|n| format!("ld.global.b32 %r{}, [%rd1+{}];\n", 10 + n, n * 4)).collect();
    let first = (4 + c_registers) * 4;
    let stores: String =
        (0..d_registers).map(|n| format!("st.global.b32 [%rd1+{}], %r{};\n", first + n * 4, 40 + n)).collect();
    let text = format!(
        ".version 8.8\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 io) {{
        .reg .b32 %r<64>; .reg .b64 %rd<3>;
        ld.param.u64 %rd1, [io]; mov.u32 %r1, %laneid; mad.wide.u32 %rd1, %r1, {}, %rd1;
        {loads}
        mma.sync.aligned.m8n8k4.{a_layout}.{b_layout}.{d}.f16.f16.{c} {}, {}, {}, {};
        {stores} ret;\n}}",
        words * 4,
        list(40, d_registers),
        list(10, 2),
        list(12, 2),
        list(14, c_registers),
    );
    let memory = GlobalMemory::default();
    let io = memory.allocate("io", bytes.len() as u64, Fill::Zero).expect("memory");
    memory.write(io, &bytes).expect("in bounds");
    let module = Module::load(&text, None, &memory).expect("it parses");
    let outcome = module.launch(&memory, &Launch::new("k").arg(Argument::pointer(io))).expect("it runs");
    assert!(outcome.is_clean(), "{}", outcome.findings[0]);
    assert_eq!(outcome.counters.matrix_multiply_adds, 4 * 8 * 8 * 4);
    memory.read(io, &mut bytes).expect("in bounds");
    for lane in 0..32 {
        let (a, b, accumulators) = &matrices[lane % 16 / 4];
        let expected = product(a, b, accumulators, 8, 4);
        for i in 0..8 {
            let (row, column) = accumulator(d, lane, i);
            let start = lane * words * 4 + first;
            let got = if d == "f16" {
                let at = start + i * 2;
                half::f16::from_le_bytes([bytes[at], bytes[at + 1]]).to_f64()
            } else {
                let at = start + i * 4;
                f32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes")).into()
            };
            assert_eq!(got, expected[row * 8 + column] as f64, "{a_layout} {b_layout} {d} {c}: lane {lane}, {i}");
        }
    }
}

#[test]
fn four_products_at_once() {
    for a in ["row", "col"] {
        for b in ["row", "col"] {
            check(a, b, "f16", "f16");
            check(a, b, "f32", "f16");
            check(a, b, "f32", "f32");
        }
    }
}
