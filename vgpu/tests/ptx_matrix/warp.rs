//! `mma.sync` of every type and shape.

use crate::elements::*;
use tegula_vgpu::launch::{Argument, Launch};
use tegula_vgpu::memory::{Fill, GlobalMemory};
use tegula_vgpu::numeric::Format;
use tegula_vgpu::ptx::Module;

fn mma((m, n, k): (usize, usize, usize), kind: Kind, d: &str) {
    let (a, b, c) = (values(m * k, 1), values(k * n, 2), values(m * n, 3));
    let width = if kind.bits == 64 { 64 } else { 32 };
    let per = width / kind.bits;
    let (a_regs, b_regs) = (m * k / 32 / per, n * k / 32 / per);
    let d_bits = match d {
        "f16" => 16,
        "f64" => 64,
        _ => 32,
    };
    let d_per = width / d_bits;
    let d_regs = m * n / 32 / d_per;
    let step = width / 8;
    let stride = (a_regs + b_regs + 2 * d_regs) * step;
    let mut input = vec![0_u8; 32 * stride];
    let encode_d = |x: i64| match d {
        "f16" => float(Format::F16, x),
        "f32" => u64::from((x as f32).to_bits()),
        "f64" => (x as f64).to_bits(),
        _ => x as u64 & 0xFFFF_FFFF,
    };
    // The layouts as the PTX ISA draws them.
    let d_place = |lane: usize, index: usize| (lane / 4 + 8 * (index / 2), lane % 4 * 2 + index % 2);
    for lane in 0..32 {
        let (g, t) = (lane / 4, lane % 4);
        for register in 0..a_regs {
            for e in 0..per {
                let (row, block) = if m == 16 { (g + register % 2 * 8, register / 2) } else { (g, register) };
                let column = block * 4 * per + t * per + e;
                put(
                    &mut input,
                    (lane * stride + register * step) * 8 + e * kind.bits,
                    kind.bits,
                    (kind.encode)(a[row * k + column]),
                );
            }
        }
        for register in 0..b_regs {
            for e in 0..per {
                let row = register * 4 * per + t * per + e;
                let at = lane * stride + (a_regs + register) * step;
                put(&mut input, at * 8 + e * kind.bits, kind.bits, (kind.encode)(b[row * n + g]));
            }
        }
        for index in 0..d_regs * d_per {
            let (row, column) = d_place(lane, index);
            let at = (lane * stride + (a_regs + b_regs) * step) * 8 + index * d_bits;
            put(&mut input, at, d_bits, encode_d(c[row * n + column]));
        }
    }
    let letter = if width == 64 { "rd" } else { "r" };
    let list = |start: usize, count: usize| {
        let names: Vec<_> = (start..start + count).map(|n| format!("%{letter}{n}")).collect();
        format!("{{{}}}", names.join(", "))
    };
    let mut body = String::new();
    for register in 0..a_regs + b_regs + d_regs {
        body += &format!("ld.global.b{width} %{letter}{}, [%a1+{}];\n", 10 + register, register * step);
    }
    body += &format!(
        "mma.sync.aligned.m{m}n{n}k{k}.row.col.{d}.{t}.{t}.{d} {}, {}, {}, {};\n",
        list(60, d_regs),
        list(10, a_regs),
        list(10 + a_regs, b_regs),
        list(10 + a_regs + b_regs, d_regs),
        t = kind.name
    );
    for register in 0..d_regs {
        let at = (a_regs + b_regs + d_regs + register) * step;
        body += &format!("st.global.b{width} [%a1+{at}], %{letter}{};\n", 60 + register);
    }
    let text = format!(
        ".version 8.8\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 io) {{
        .reg .b32 %r<99>; .reg .b64 %rd<99>; .reg .b64 %a<3>; .reg .b32 %l;
        ld.param.u64 %a1, [io]; mov.u32 %l, %laneid; mad.wide.u32 %a1, %l, {stride}, %a1;\n{body}ret;\n}}"
    );
    let memory = GlobalMemory::default();
    let io = memory.allocate("io", input.len() as u64, Fill::Zero).expect("memory");
    memory.write(io, &input).expect("in bounds");
    let module = Module::load(&text, None, &memory).expect("it parses");
    let outcome = module.launch(&memory, &Launch::new("k").arg(Argument::pointer(io))).expect("it runs");
    assert!(outcome.is_clean(), "{}", outcome.findings[0]);
    memory.read(io, &mut input).expect("in bounds");
    let expected = product(&a, &b, &c, n, k);
    for lane in 0..32 {
        for index in 0..d_regs * d_per {
            let (row, column) = d_place(lane, index);
            let at = lane * stride + (a_regs + b_regs + d_regs) * step + index * d_bits / 8;
            let mut bits = [0; 8];
            bits[..d_bits / 8].copy_from_slice(&input[at..at + d_bits / 8]);
            let got = u64::from_le_bytes(bits);
            assert_eq!(got, encode_d(expected[row * n + column]), "{} m{m}n{n}k{k} at {row}, {column}", kind.name);
        }
    }
}

#[test]
fn products_of_a_warp() {
    mma((16, 8, 8), F16, "f32");
    mma((16, 8, 16), F16, "f32");
    mma((16, 8, 16), F16, "f16");
    mma((16, 8, 8), BF16, "f32");
    mma((16, 8, 16), BF16, "f32");
    mma((16, 8, 4), TF32, "f32");
    mma((16, 8, 8), TF32, "f32");
    mma((16, 8, 16), E4M3, "f32");
    mma((16, 8, 32), E4M3, "f32");
    mma((16, 8, 32), E5M2, "f16");
    mma((8, 8, 16), S8, "s32");
    mma((16, 8, 16), S8, "s32");
    mma((16, 8, 32), S8, "s32");
    mma((8, 8, 32), S4, "s32");
    mma((16, 8, 32), S4, "s32");
    mma((16, 8, 64), S4, "s32");
    mma((8, 8, 4), F64, "f64");
    mma((16, 8, 4), F64, "f64");
    mma((16, 8, 8), F64, "f64");
    mma((16, 8, 16), F64, "f64");
}
