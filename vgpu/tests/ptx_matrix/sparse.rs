//! Products with a sparse A: `mma.sp` and `wgmma.mma_async.sp`. A is made as a full matrix with half of each chunk empty; what is stored
//! of it and the metadata are laid out here after the PTX ISA.

use crate::elements::*;
use tegula_vgpu::finding::FindingKind;
use tegula_vgpu::launch::{Argument, Launch, Outcome};
use tegula_vgpu::memory::{Fill, GlobalMemory};
use tegula_vgpu::numeric::Format;
use tegula_vgpu::ptx::Module;

/// A sparse matrix: whole, as it is stored, and the four bits of each chunk.
struct Sparse {
    whole: Vec<i64>,
    stored: Vec<i64>,
    bits: Vec<u32>,
}

/// Elements of a chunk, and how many of them go together.
fn chunk(kind: Kind) -> (usize, usize) {
    match kind.bits {
        32 => (2, 1),
        4 => (8, 2),
        _ => (4, 1),
    }
}

/// Fills each chunk with one of the choices that there are. Where the order of the two numbers is free some come in the other one.
fn sparse(rows: usize, k: usize, kind: Kind, ordered: bool, seed: usize) -> Sparse {
    let (size, unit) = chunk(kind);
    let mut matrix = Sparse { whole: vec![0; rows * k], stored: Vec::new(), bits: Vec::new() };
    let numbers = values(rows * k / 2, seed);
    let pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
    for number in 0..rows * k / size {
        let start = number * size;
        let choice = (number * 5 + number / 7 + seed) % 6;
        if size == 2 {
            let at = choice % 2;
            matrix.whole[start + at] = numbers[number];
            matrix.stored.push(numbers[number]);
            matrix.bits.push(if at == 0 { 0b0100 } else { 0b1110 });
            continue;
        }
        let (mut first, mut second) = pairs[choice];
        if !ordered && number % 3 == 0 {
            std::mem::swap(&mut first, &mut second);
        }
        for at in [first, second] {
            for element in 0..unit {
                let value = numbers[matrix.stored.len()];
                matrix.whole[start + at * unit + element] = value;
                matrix.stored.push(value);
            }
        }
        matrix.bits.push((first | second << 2) as u32);
    }
    matrix
}

/// The metadata of 16 rows by lane. Lanes that need not have any hold `other`.
fn metadata(bits: &[u32], kind: Kind, k: usize, selector: usize, other: u32) -> [u32; 32] {
    let chunks = k / chunk(kind).0;
    let mut lanes = [None::<u32>; 32];
    for row in 0..16 {
        for index in 0..chunks {
            // Of 16 and more bits: thread T holds columns of four chunks, of row g in bits 0 to 15 and of row g + 8 in bits 16
            // to 31. Of fewer: T0 and T2 hold eight chunks of row g, T1 and T3 of row g + 8.
            let (thread, first_bit) = match kind.bits {
                16 | 32 => (index / 4, row / 8 * 16 + index % 4 * 4),
                _ => (index / 8 * 2 + row / 8, index % 8 * 4),
            };
            let threads_selected = match chunks {
                4 => 1,
                8 => 2,
                _ => 4,
            };
            let lane = row % 8 * 4 + selector * threads_selected + thread;
            *lanes[lane].get_or_insert(0) |= bits[row * chunks + index] << first_bit;
        }
    }
    lanes.map(|lane| lane.unwrap_or(other))
}

fn registers(letter: &str, start: usize, count: usize) -> String {
    let names: Vec<_> = (start..start + count).map(|n| format!("%{letter}{n}")).collect();
    format!("{{{}}}", names.join(", "))
}

struct WarpForm {
    k: usize,
    kind: Kind,
    d: &'static str,
    suffix: &'static str,
    selector: usize,
}

/// Runs one `mma.sp` on a matrix with these metadata, and gives D by lane and register.
fn run(form: &WarpForm, a: &[i64], b: &[i64], metadata: &[u32; 32]) -> (Vec<u8>, Outcome) {
    let WarpForm { k, kind, d, suffix, selector } = *form;
    let per = 32 / kind.bits;
    let (a_words, b_words) = (16 * k / 2 / 32 / per, k * 8 / 32 / per);
    let d_words = if d == "f16" { 2 } else { 4 };
    let words = a_words + b_words + d_words + 1;
    let mut bytes = vec![0; 32 * words * 4];
    for (lane, &metadata) in metadata.iter().enumerate() {
        let (g, t) = (lane / 4, lane % 4);
        let at = |word: usize| (lane * words + word) * 32;
        for register in 0..a_words {
            for e in 0..per {
                let (row, column) = (g + register % 2 * 8, register / 2 * 4 * per + t * per + e);
                put(&mut bytes, at(register) + e * kind.bits, kind.bits, (kind.encode)(a[row * k / 2 + column]));
            }
        }
        for register in 0..b_words {
            for e in 0..per {
                let row = register * 4 * per + t * per + e;
                put(&mut bytes, at(a_words + register) + e * kind.bits, kind.bits, (kind.encode)(b[row * 8 + g]));
            }
        }
        put(&mut bytes, at(a_words + b_words), 32, metadata.into());
    }
    let loads: String =
        (0..a_words + b_words + 1).map(|n| format!("ld.global.b32 %r{}, [%rd1+{}];\n", 10 + n, n * 4)).collect();
    let first = (a_words + b_words + 1) * 4;
    let stores: String =
        (0..d_words).map(|n| format!("st.global.b32 [%rd1+{}], %r{};\n", first + n * 4, 40 + n)).collect();
    let zeros: String = (0..d_words).map(|n| format!("mov.b32 %r{}, 0;\n", 40 + n)).collect();
    let text = format!(
        ".version 8.8\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 io) {{
        .reg .b32 %r<64>; .reg .b64 %rd<3>;
        ld.param.u64 %rd1, [io]; mov.u32 %r1, %laneid; mad.wide.u32 %rd1, %r1, {}, %rd1;
        {loads}{zeros}
        mma.{suffix}.sync.aligned.m16n8k{k}.row.col.{d}.{t}.{t}.{d} {}, {}, {}, {}, %r{}, {selector};
        {stores} ret;\n}}",
        words * 4,
        registers("r", 40, d_words),
        registers("r", 10, a_words),
        registers("r", 10 + a_words, b_words),
        registers("r", 40, d_words),
        10 + a_words + b_words,
        t = kind.name,
    );
    let memory = GlobalMemory::default();
    let io = memory.allocate("io", bytes.len() as u64, Fill::Zero).expect("memory");
    memory.write(io, &bytes).expect("in bounds");
    let module = Module::load(&text, None, &memory).expect("it parses");
    let outcome =
        module.launch(&memory, &Launch::new("k").arg(Argument::pointer(io))).unwrap_or_else(|error| panic!("{error}"));
    memory.read(io, &mut bytes).expect("in bounds");
    let results = bytes.chunks_exact(words * 4).flat_map(|lane| lane[first..].to_vec()).collect();
    (results, outcome)
}

fn number(d: &str, bytes: &[u8]) -> f64 {
    match d {
        "f16" => half::f16::from_le_bytes([bytes[0], bytes[1]]).to_f64(),
        "f32" => f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]).into(),
        _ => i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]).into(),
    }
}

#[test]
fn sparse_products_of_a_warp() {
    for (kind, d, shapes) in [
        (F16, "f32", [(16, 4), (32, 2)].as_slice()),
        (F16, "f16", &[(16, 4), (32, 2)]),
        (BF16, "f32", &[(16, 4), (32, 2)]),
        (TF32, "f32", &[(8, 4), (16, 2)]),
        (S8, "s32", &[(32, 2), (64, 1)]),
        (S4, "s32", &[(64, 2), (128, 1)]),
        (E4M3, "f32", &[(64, 1)]),
        (E5M2, "f32", &[(64, 1)]),
    ] {
        for &(k, selectors) in shapes {
            for selector in 0..selectors {
                for (suffix, ordered) in [("sp", false), ("sp::ordered_metadata", true)] {
                    let form = WarpForm { k, kind, d, suffix, selector };
                    let (a, b) = (sparse(16, k, kind, ordered, 1), values(k * 8, 2));
                    // Metadata of lanes that are not selected is not looked at: it may mean nothing.
                    let metadata = metadata(&a.bits, kind, k, selector, 0);
                    let (bytes, outcome) = run(&form, &a.stored, &b, &metadata);
                    assert!(outcome.is_clean(), "{}", outcome.findings[0]);
                    assert_eq!(outcome.counters.matrix_multiply_adds, (16 * 8 * k / 2) as u64);
                    let expected = product(&a.whole, &b, &[0; 128], 8, k);
                    let size = if d == "f16" { 2 } else { 4 };
                    for lane in 0..32 {
                        for i in 0..4 {
                            let (row, column) = (lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2);
                            let got = number(d, &bytes[(lane * 4 + i) * size..]);
                            let name = kind.name;
                            assert_eq!(
                                got,
                                expected[row * 8 + column] as f64,
                                "{suffix} {name} k{k} selector {selector} at {row}, {column}"
                            );
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn metadata_without_a_meaning_is_found() {
    for (suffix, kind, k, bits) in [
        ("sp", F16, 16, 0b0101),
        ("sp::ordered_metadata", F16, 16, 0b0101),
        ("sp::ordered_metadata", F16, 16, 0b0001),
        ("sp", TF32, 8, 0b0001),
    ] {
        let form = WarpForm { k, kind, d: "f32", suffix, selector: 0 };
        let mut a = sparse(16, k, kind, true, 1);
        a.bits[5] = bits;
        let (_, outcome) = run(&form, &a.stored, &values(k * 8, 2), &metadata(&a.bits, kind, k, 0, 0));
        assert_eq!(outcome.findings.len(), 1, "{suffix}");
        assert_eq!(outcome.findings[0].kind, FindingKind::BadDescriptor);
        assert!(outcome.findings[0].message.contains("row 1, chunk 1"), "{}", outcome.findings[0]);
    }
}

struct GroupForm {
    n: usize,
    kind: Kind,
    d: &'static str,
    selector: usize,
    in_registers: bool,
    transpose: bool,
}

/// `wgmma.mma_async.sp` with operands in the plain layout: cores of 8 rows by 16 bytes, the cores of a column of cores in a row.
fn warpgroup(form: &GroupForm) {
    let GroupForm { n, kind, d, selector, in_registers, transpose } = *form;
    let k = 512 / kind.bits;
    let (a, b) = (sparse(64, k, kind, true, 3), values(k * n, 2));
    let mut tile = vec![0; 65536];
    let per_core = 128 / kind.bits;
    // The place of an element of a matrix of so many rows.
    let place = |rows: usize, row: usize, column: usize| {
        (column / per_core * rows * 16 + row * 16) * 8 + column % per_core * kind.bits
    };
    const B: usize = 32768;
    for row in 0..64 {
        for column in 0..k / 2 {
            let at = if transpose { place(k / 2, column, row) } else { place(64, row, column) };
            put(&mut tile, at, kind.bits, (kind.encode)(a.stored[row * k / 2 + column]));
        }
    }
    for column in 0..n {
        for row in 0..k {
            put(&mut tile[B..], place(n, column, row), kind.bits, (kind.encode)(b[row * n + column]));
        }
    }
    let descriptor = |start: usize, leading: usize, stride: usize| {
        (leading << 16 >> 4 | start >> 4) as u64 | (stride as u64 >> 4) << 32
    };
    // Transposed, the fields change places.
    let a_descriptor = if transpose { descriptor(0, 128, k / 2 * 16) } else { descriptor(0, 64 * 16, 128) };
    // A's registers and the metadata come by thread behind the tile.
    let mut threads = vec![0; 128 * 32];
    for warp in 0..4 {
        let bits = &a.bits[warp * a.bits.len() / 4..][..a.bits.len() / 4];
        let metadata = metadata(bits, kind, k, selector, 0);
        for (lane, metadata) in metadata.into_iter().enumerate() {
            let start = (warp * 32 + lane) * 32 * 8;
            put(&mut threads, start + 16 * 8, 32, metadata.into());
            let per = 32 / kind.bits;
            for register in 0..4 {
                for e in 0..per {
                    let row = warp * 16 + lane / 4 + register % 2 * 8;
                    let column = register / 2 * 4 * per + lane % 4 * per + e;
                    let value = (kind.encode)(a.stored[row * k / 2 + column]);
                    put(&mut threads, start + register * 32 + e * kind.bits, kind.bits, value);
                }
            }
        }
    }
    let count = if d == "f16" { n / 4 } else { n / 2 };
    let store: String = (0..count).map(|r| format!("st.global.b32 [%a2+{}], %d{r};\n", r * 4)).collect();
    let a_operand = if in_registers { "{%r10, %r11, %r12, %r13}".to_owned() } else { "%rd2".to_owned() };
    let flags = match (kind.bits, d, in_registers) {
        (_, "s32", _) => String::new(),
        (16, _, true) => ", 1, 1, 0".to_owned(),
        (16, _, false) => format!(", 1, 1, {}, 0", u8::from(transpose)),
        _ => ", 1, 1".to_owned(),
    };
    let text = format!(
        ".version 8.8\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out) {{
        .reg .pred %p<3>; .reg .b32 %d<200>; .reg .b32 %r<16>; .reg .b64 %rd<9>; .reg .b64 %a<4>; .shared .align 1024 .b8 tile[65536];
        ld.param.u64 %a1, [in]; ld.param.u64 %a2, [out]; mov.u32 %r1, %tid.x; mad.wide.u32 %a2, %r1, {}, %a2;
        shl.b32 %r2, %r1, 4; cvt.u64.u32 %rd1, %r2; mad.wide.u32 %a3, %r1, 32, %a1; add.u64 %a1, %a1, %rd1; mov.u32 %r3, 0;
        L: ld.global.v4.u32 {{%r4, %r5, %r6, %r7}}, [%a1]; st.shared.v4.u32 [%r2], {{%r4, %r5, %r6, %r7}};
        add.u32 %r2, %r2, 2048; add.u64 %a1, %a1, 2048; add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 32; @%p1 bra L;
        fence.proxy.async.shared::cta; bar.sync 0;
        ld.global.v4.u32 {{%r10, %r11, %r12, %r13}}, [%a3+65536]; ld.global.u32 %r14, [%a3+65552];
        mov.b64 %rd2, {a_descriptor}; mov.b64 %rd3, {}; setp.eq.u32 %p2, 1, 0;
        wgmma.fence.sync.aligned;
        wgmma.mma_async.sp.sync.aligned.m64n{n}k{k}.{d}.{t}.{t} {}, {a_operand}, %rd3, %r14, {selector}, %p2{flags};
        wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
        {store} ret;\n}}",
        count * 4,
        descriptor(B, n * 16, 128),
        registers("d", 0, count),
        t = kind.name,
    );
    let memory = GlobalMemory::default();
    let input = memory.allocate("in", 65536 + threads.len() as u64, Fill::Zero).expect("memory");
    memory.write(input, &tile).expect("in bounds");
    memory.write(input + 65536, &threads).expect("in bounds");
    let out = memory.allocate("out", (128 * count * 4) as u64, Fill::Poison).expect("memory");
    let module = Module::load(&text, None, &memory).expect("it parses");
    let launch = Launch::new("k").block([128, 1, 1]).arg(Argument::pointer(input)).arg(Argument::pointer(out));
    let outcome = module.launch(&memory, &launch).unwrap_or_else(|error| panic!("{error}"));
    assert!(outcome.is_clean(), "{}", outcome.findings[0]);
    let mut bytes = vec![0; 128 * count * 4];
    memory.read(out, &mut bytes).expect("in bounds");
    let expected = product(&a.whole, &b, &vec![0; 64 * n], n, k);
    let elements = if d == "f16" { 2 } else { 1 };
    for thread in 0..128 {
        for index in 0..count * elements {
            let row = thread / 32 * 16 + thread % 32 / 4 + index % 4 / 2 * 8;
            let column = index / 4 * 8 + thread % 4 * 2 + index % 2;
            let got = number(d, &bytes[thread * count * 4 + index * 4 / elements..]);
            assert_eq!(got, expected[row * n + column] as f64, "{} n{n} k{k} at {row}, {column}", kind.name);
        }
    }
}

#[test]
fn sparse_products_of_four_warps() {
    for (kind, d, selectors) in [
        (F16, "f32", 2),
        (F16, "f16", 2),
        (BF16, "f32", 2),
        (TF32, "f32", 2),
        (E4M3, "f32", 1),
        (E5M2, "f16", 1),
        (S8, "s32", 1),
    ] {
        for selector in 0..selectors {
            for in_registers in [false, true] {
                let transpose = false;
                warpgroup(&GroupForm { n: 16, kind, d, selector, in_registers, transpose });
            }
        }
    }
    let transposed = GroupForm { n: 64, kind: F16, d: "f32", selector: 1, in_registers: false, transpose: true };
    warpgroup(&transposed);
    warpgroup(&GroupForm { n: 128, kind: S8, d: "s32", selector: 0, in_registers: false, transpose: false });
}

/// What the numbers of the tests rely on: they are exact in every type.
#[test]
fn the_numbers_are_exact() {
    for value in values(64, 1) {
        assert_eq!(Format::E5M2.decode(float(Format::E5M2, value)), value as f64);
        assert_eq!(Format::E4M3.decode(float(Format::E4M3, value)), value as f64);
    }
}
