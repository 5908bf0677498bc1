//! `wgmma` with all swizzles, both directions and negation.

use crate::elements::*;
use tegula_vgpu::launch::{Argument, Launch};
use tegula_vgpu::memory::{Fill, GlobalMemory};
use tegula_vgpu::ptx::{Module, Swizzle};

/// A matrix in shared memory: the bytes of rows (of `k` elements, or of the other dimension if transposed), swizzled, and its descriptor.
struct Tile {
    bytes: Vec<u8>,
    leading: u64,
    stride: u64,
}

/// Puts a matrix of `rows` by `columns` (columns contiguous) into blocks of as many columns as the swizzle spans; `at` is its
/// address. The plain layout has cores of 8 rows by 16 bytes.
fn tile(matrix: &[i64], rows: usize, columns: usize, kind: Kind, swizzle: Swizzle, at: u64, transposed: bool) -> Tile {
    let span = match swizzle {
        Swizzle::None => 16,
        Swizzle::B32 => 32,
        Swizzle::B64 => 64,
        Swizzle::B128 => 128,
    };
    let mut bytes = vec![0; 32768];
    let size = kind.bits / 8;
    let block = rows * span;
    for row in 0..rows {
        for column in 0..columns {
            let byte = column * size;
            let linear = byte / span * block + row * span + byte % span;
            let address = swizzle.apply(at + linear as u64) - at;
            put(&mut bytes, address as usize * 8, kind.bits, (kind.encode)(matrix[row * columns + column]));
        }
    }
    // Groups of 8 rows; blocks of columns. For the plain layout the fields change places when transposed.
    let (groups, blocks) = (8 * span as u64, block as u64);
    let (leading, stride) = if swizzle == Swizzle::None && transposed { (groups, blocks) } else { (blocks, groups) };
    Tile { bytes, leading, stride }
}

fn descriptor(at: u64, tile: &Tile, swizzle: Swizzle) -> u64 {
    let mode = match swizzle {
        Swizzle::None => 0_u64,
        Swizzle::B128 => 1,
        Swizzle::B64 => 2,
        Swizzle::B32 => 3,
    };
    mode << 62 | (tile.stride >> 4) << 32 | (tile.leading >> 4) << 16 | at >> 4
}

struct Form {
    n: usize,
    kind: Kind,
    d: &'static str,
    swizzle: Swizzle,
    transpose: [bool; 2],
    negate: [bool; 2],
    accumulate: bool,
}

fn wgmma(form: &Form) {
    let Form { n, kind, d, swizzle, transpose, negate, accumulate } = *form;
    let k = 256 / kind.bits;
    let (a, b) = (values(64 * k, 1), values(k * n, 2));
    let flip = |m: &[i64], rows: usize, columns: usize| -> Vec<i64> {
        (0..rows * columns).map(|at| m[at % rows * columns + at / rows]).collect()
    };
    let b_columns = flip(&b, k, n);
    let a_tile = match transpose[0] {
        false => tile(&a, 64, k, kind, swizzle, 0, false),
        true => tile(&flip(&a, 64, k), k, 64, kind, swizzle, 0, true),
    };
    let b_tile = match transpose[1] {
        false => tile(&b_columns, n, k, kind, swizzle, 32768, false),
        true => tile(&b, k, n, kind, swizzle, 32768, true),
    };
    let count = if d == "f16" { n / 4 } else { n / 2 };
    let registers: Vec<_> = (0..count).map(|r| format!("%d{r}")).collect();
    let one = match d {
        "f16" => 0x3C00_3C00_u32,
        "f32" => 1.0_f32.to_bits(),
        _ => 1,
    };
    let zero: String = registers.iter().map(|r| format!("mov.b32 {r}, {one};\n")).collect();
    let store: String =
        registers.iter().enumerate().map(|(r, name)| format!("st.global.b32 [%a2+{}], {name};\n", r * 4)).collect();
    let sign = |negate: bool| if negate { "-1" } else { "1" };
    let immediates = match (d, kind.bits) {
        ("s32", _) => String::new(),
        (_, 16) => format!(
            ", {}, {}, {}, {}",
            sign(negate[0]),
            sign(negate[1]),
            u8::from(transpose[0]),
            u8::from(transpose[1])
        ),
        _ => format!(", {}, {}", sign(negate[0]), sign(negate[1])),
    };
    let text = format!(
        ".version 8.8\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out) {{
        .reg .pred %p<3>; .reg .b32 %d<200>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .b64 %a<4>; .shared .align 1024 .b8 tile[65536];
        ld.param.u64 %a1, [in]; ld.param.u64 %a2, [out]; mov.u32 %r1, %tid.x; mad.wide.u32 %a2, %r1, {}, %a2;
        shl.b32 %r2, %r1, 4; cvt.u64.u32 %rd1, %r2; add.u64 %a1, %a1, %rd1; mov.u32 %r3, 0;
        L: ld.global.v4.u32 {{%r4, %r5, %r6, %r7}}, [%a1]; st.shared.v4.u32 [%r2], {{%r4, %r5, %r6, %r7}};
        add.u32 %r2, %r2, 2048; add.u64 %a1, %a1, 2048; add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 32; @%p1 bra L;
        fence.proxy.async.shared::cta; bar.sync 0;
        {zero}
        mov.b64 %rd2, {}; mov.b64 %rd3, {}; setp.eq.u32 %p2, 1, {};
        wgmma.fence.sync.aligned;
        wgmma.mma_async.sync.aligned.m64n{n}k{k}.{d}.{t}.{t} {{{}}}, %rd2, %rd3, %p2{immediates};
        wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
        {store} ret;\n}}",
        count * 4,
        descriptor(0, &a_tile, swizzle),
        descriptor(32768, &b_tile, swizzle),
        u8::from(accumulate),
        registers.join(", "),
        t = kind.name,
    );
    let memory = GlobalMemory::default();
    let input = memory.allocate("in", 65536, Fill::Zero).expect("memory");
    memory.write(input, &a_tile.bytes).expect("in bounds");
    memory.write(input + 32768, &b_tile.bytes).expect("in bounds");
    let size = 128 * count * 4;
    let out = memory.allocate("out", size as u64, Fill::Poison).expect("memory");
    let module = Module::load(&text, None, &memory).expect("it parses");
    let launch = Launch::new("k").block([128, 1, 1]).arg(Argument::pointer(input)).arg(Argument::pointer(out));
    let outcome = module.launch(&memory, &launch).unwrap_or_else(|error| panic!("{error}"));
    assert!(outcome.is_clean(), "{}", outcome.findings[0]);
    let mut bytes = vec![0; size];
    memory.read(out, &mut bytes).expect("in bounds");
    let factor = if negate[0] != negate[1] { -1 } else { 1 };
    let start = i64::from(accumulate);
    let plain = product(&a, &b, &vec![0; 64 * n], n, k);
    for thread in 0..128 {
        let (warp, g, t) = (thread / 32, thread % 32 / 4, thread % 4);
        let elements = if d == "f16" { 2 } else { 1 };
        for index in 0..count * elements {
            let (row, column) = (warp * 16 + g + index % 4 / 2 * 8, index / 4 * 8 + t * 2 + index % 2);
            let expected = plain[row * n + column] * factor + start;
            let at = thread * count * 4 + index * 4 / elements;
            let word = &bytes[at..];
            let got = match d {
                "f16" => half::f16::from_le_bytes([word[0], word[1]]).to_f64() as i64,
                "f32" => f32::from_le_bytes([word[0], word[1], word[2], word[3]]) as i64,
                _ => i32::from_le_bytes([word[0], word[1], word[2], word[3]]).into(),
            };
            assert_eq!(got, expected, "{} n{n} {swizzle:?} {transpose:?} at {row}, {column}", kind.name);
        }
    }
}

#[test]
fn products_of_four_warps() {
    let plain = Form {
        n: 64,
        kind: F16,
        d: "f32",
        swizzle: Swizzle::B128,
        transpose: [false; 2],
        negate: [false; 2],
        accumulate: true,
    };
    for swizzle in [Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128] {
        for transpose in [[false, false], [false, true], [true, false], [true, true]] {
            wgmma(&Form { swizzle, transpose, ..plain });
        }
        for (kind, d) in [(E4M3, "f32"), (E5M2, "f16"), (S8, "s32"), (TF32, "f32"), (BF16, "f32")] {
            wgmma(&Form { kind, d, swizzle, ..plain });
        }
    }
    for n in [8, 24, 128, 256] {
        wgmma(&Form { n, ..plain });
    }
    wgmma(&Form { d: "f16", ..plain });
    wgmma(&Form { negate: [true, false], accumulate: false, ..plain });
    wgmma(&Form { negate: [true, true], ..plain });
}
