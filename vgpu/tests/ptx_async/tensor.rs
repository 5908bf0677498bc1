//! Tensor copies of tiles: 1 to 5 dimensions, edges, fills, element strides, swizzles, stores and reductions.

use super::harness::{ALL, Run, WAIT, bytes, words};
use tegula_vgpu::ptx::{Element, Swizzle, TensorMap};

/// A tensor of words, each of them its own index.
fn numbered(extents: &[u64]) -> Vec<u8> {
    bytes(0..extents.iter().product::<u64>() as u32)
}

/// Strides in bytes of a contiguous tensor, without the innermost.
fn strides(extents: &[u64], element: u64) -> Vec<u64> {
    extents[..extents.len() - 1]
        .iter()
        .scan(element, |stride, extent| {
            *stride *= extent;
            Some(*stride)
        })
        .collect()
}

/// A body that loads a box at coordinates into the tile (at an offset), and stores `count` words of it (as they lie) to the output.
fn load(coordinates: &[i32], bytes: usize, mode: &str, offsets: &str) -> String {
    let rank = coordinates.len();
    let list: Vec<_> = coordinates.iter().map(|c| c.to_string()).collect();
    format!(
        "@%p1 mbarrier.init.shared::cta.b64 [%r4], 1; fence.mbarrier_init.release.cluster; bar.sync 0;
        @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], {bytes};
        @%p1 cp.async.bulk.tensor.{rank}d.shared::cluster.global.{mode}.mbarrier::complete_tx::bytes [%r3], [%rd3, {{{}}}], [%r4]{offsets};
        {WAIT}
        mov.u32 %r10, %r1; L: setp.ge.u32 %p2, %r10, {}; @%p2 bra E;
        shl.b32 %r11, %r10, 2; add.u32 %r12, %r11, %r3; ld.shared.u32 %r13, [%r12];
        mad.wide.u32 %rd10, %r10, 4, %rd2; st.global.u32 [%rd10], %r13;
        add.u32 %r10, %r10, 32; bra L; E:",
        list.join(", "),
        bytes / 4
    )
}

/// What a box of a numbered tensor holds, with steps along each dimension.
fn expected(extents: &[u64], box_extents: &[u32], steps: &[u32], at: &[i32], fill: u32) -> Vec<u32> {
    let counts: Vec<u32> = box_extents.iter().zip(steps).map(|(extent, step)| extent.div_ceil(*step)).collect();
    (0..counts.iter().product::<u32>())
        .map(|mut index| {
            let (mut linear, mut scale) = (0_i64, 1_i64);
            for n in 0..extents.len() {
                let position = i64::from(at[n]) + i64::from(index % counts[n] * steps[n]);
                index /= counts[n];
                if !(0..extents[n] as i64).contains(&position) {
                    return fill;
                }
                linear += position * scale;
                scale *= extents[n] as i64;
            }
            linear as u32
        })
        .collect()
}

#[test]
fn tiles_of_all_ranks_at_all_edges() {
    let extents = [12_u64, 7, 5, 4, 3];
    let boxes = [8_u32, 3, 2, 3, 2];
    for rank in 1..=5 {
        let (extents, boxes) = (&extents[..rank], &boxes[..rank]);
        let input = numbered(extents);
        let count = boxes.iter().product::<u32>() as usize;
        for shift in [[0, 0, 0, 0, 0], [-3, -1, -1, -2, -1], [9, 5, 4, 2, 2], [2, 1, 1, 1, 1], [40, 0, 0, 0, 0]] {
            let at = &shift[..rank];
            let run = Run { input: &input, output: vec![0; count * 4], ..Run::default() };
            let out = run.with_maps(&load(at, count * 4, "tile", ""), |input, _| {
                vec![TensorMap::tiled(input, Element::U32, extents, &strides(extents, 4), boxes)]
            });
            assert_eq!(words(&out), expected(extents, boxes, &[1; 5][..rank], at, 0), "{rank}d at {at:?}");
        }
    }
}

#[test]
fn elements_out_of_bounds_are_nan_when_asked() {
    let extents = [8_u64, 3];
    let input = numbered(&extents);
    let out = |element: Element, extents: [u64; 2], boxes: [u32; 2]| {
        let run = Run { input: &input, output: vec![0; 128], ..Run::default() };
        run.with_maps(&load(&[0, 1], 128, "tile", ""), |input, _| {
            let mut map = TensorMap::tiled(input, element, &extents, &[32], &boxes);
            map.fill_nan = true;
            vec![map]
        })
    };
    let single = words(&out(Element::F32, [8, 3], [8, 4]));
    assert_eq!(single[..16], expected(&extents, &[8, 2], &[1, 1], &[0, 1], 0));
    assert!(single[16..].iter().all(|&x| f32::from_bits(x).is_nan()));
    let halves = out(Element::F16, [16, 3], [16, 4]);
    assert!(halves[64..].chunks_exact(2).all(|b| half::f16::from_le_bytes([b[0], b[1]]).is_nan()));
    let brain = out(Element::BF16, [16, 3], [16, 4]);
    assert!(brain[64..].chunks_exact(2).all(|b| half::bf16::from_le_bytes([b[0], b[1]]).is_nan()));
}

#[test]
fn element_strides_skip() {
    let (extents, boxes, steps) = ([8_u64, 20, 9], [8_u32, 8, 4], [1_u32, 3, 2]);
    let input = numbered(&extents);
    let at = [0, 2, 1];
    let wanted = expected(&extents, &boxes, &steps, &at, 0);
    let run = Run { input: &input, output: vec![0; wanted.len() * 4], ..Run::default() };
    let out = run.with_maps(&load(&at, wanted.len() * 4, "tile", ""), |input, _| {
        let mut map = TensorMap::tiled(input, Element::U32, &extents, &strides(&extents, 4), &boxes);
        // The innermost one is ignored.
        map.element_strides = vec![7, 3, 2];
        vec![map]
    });
    assert_eq!(words(&out), wanted);
}

#[test]
fn swizzles_permute_pieces_of_16_bytes() {
    for (swizzle, span) in [(Swizzle::B32, 32_u64), (Swizzle::B64, 64), (Swizzle::B128, 128)] {
        let extents = [span / 4, 16];
        let input = numbered(&extents);
        let size = (span * 16) as usize;
        let run = Run { input: &input, output: vec![0; size], ..Run::default() };
        let boxes = [span as u32 / 4, 16];
        let map = |address| {
            let mut map = TensorMap::tiled(address, Element::U32, &extents, &[span], &boxes);
            map.swizzle = swizzle;
            map
        };
        let out = words(&run.with_maps(&load(&[0, 0], size, "tile", ""), |input, _| vec![map(input)]));
        for (index, &word) in out.iter().enumerate() {
            // Bits 4 and up are changed by those of the 128-byte line.
            let (line, piece) = (index as u64 / 32, index as u64 % 32 / 4);
            let mask = span / 16 - 1;
            let from = line * 32 + (piece ^ (line & mask)) * 4 + index as u64 % 4;
            assert_eq!(u64::from(word), from, "{swizzle:?} at {index}");
        }
        // Out again through the same swizzle: nothing is changed.
        let back = run.with_maps(
            &format!(
                "@!%p1 bra E; mbarrier.init.shared::cta.b64 [%r4], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], {size};
                cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r3], [%rd3, {{0, 0}}], [%r4]; {WAIT}
                cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd4, {{0, 0}}], [%r3];
                cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; E:"
            ),
            |input, output| vec![map(input), map(output)],
        );
        assert_eq!(back, input);
    }
}

/// Each thread of 32 puts a word into the tile; then the first stores the box.
fn store(instruction: &str) -> String {
    format!(
        "shl.b32 %r10, %r1, 2; add.u32 %r10, %r10, %r3; mad.wide.u32 %rd5, %r1, 4, %rd1; ld.global.u32 %r11, [%rd5]; st.shared.u32 [%r10], %r11;
        fence.proxy.async.shared::cta; bar.sync 0; @!%p1 bra E; {instruction}
        cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; E:"
    )
}

#[test]
fn stores_are_cut_at_the_edges() {
    let input = bytes(100..132);
    let run = Run { input: &input, output: bytes([1; 40]), ..Run::default() };
    let out = words(&run.with_maps(
        &store("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd3, {5, -1}], [%r3];"),
        |_, output| vec![TensorMap::tiled(output, Element::U32, &[8, 5], &[32], &[8, 4])],
    ));
    for (index, &word) in out.iter().enumerate() {
        let (x, y) = (index % 8, index / 8);
        // Rows -1 to 2, columns 5 to 12.
        let expected = if x >= 5 && y < 3 { 100 + (y as u32 + 1) * 8 + (x as u32 - 5) } else { 1 };
        assert_eq!(word, expected, "{x}, {y}");
    }
}

#[test]
fn stores_reduce() {
    let floats = |start: usize| -> Vec<u8> {
        (0..32).flat_map(|n| ((n * 5 + start) as f32 / 2.0 - 9.0).to_le_bytes()).collect()
    };
    let integers =
        |start: i32| -> Vec<u8> { (0..32).flat_map(|n| ((n * 77 + start) % 50 - 25).to_le_bytes()).collect() };
    let run = |operation: &str, element: Element, input: &[u8], output: &[u8]| {
        let run = Run { input, output: output.to_vec(), ..Run::default() };
        let width = 32 / element.bytes() as u64;
        run.with_maps(
            &store(&format!(
                "cp.reduce.async.bulk.tensor.2d.global.shared::cta.{operation}.tile.bulk_group [%rd3, {{0, 0}}], [%r3];"
            )),
            |_, output| vec![TensorMap::tiled(output, element, &[width, 4], &[32], &[width as u32, 4])],
        )
    };
    let (a, b) = (floats(1), floats(8));
    let f = |bytes: &[u8]| -> Vec<f32> { words(bytes).into_iter().map(f32::from_bits).collect() };
    let sums: Vec<f32> = f(&a).iter().zip(f(&b)).map(|(a, b)| a + b).collect();
    assert_eq!(f(&run("add", Element::F32, &a, &b)), sums);
    let (a, b) = (integers(3), integers(-40));
    let i = |bytes: &[u8]| -> Vec<i32> { words(bytes).into_iter().map(|x| x as i32).collect() };
    type Reduction = fn(i32, i32) -> i32;
    for (operation, element, f) in [
        ("add", Element::S32, (|a, b| a + b) as Reduction),
        ("min", Element::S32, |a, b| a.min(b)),
        ("max", Element::S32, |a, b| a.max(b)),
        ("min", Element::U32, |a, b| (a as u32).min(b as u32) as i32),
        ("max", Element::U32, |a, b| (a as u32).max(b as u32) as i32),
        ("and", Element::U32, |a, b| a & b),
        ("or", Element::U32, |a, b| a | b),
        ("xor", Element::S32, |a, b| a ^ b),
    ] {
        let expected: Vec<i32> = i(&a).into_iter().zip(i(&b)).map(|(a, b)| f(a, b)).collect();
        assert_eq!(i(&run(operation, element, &a, &b)), expected, "{operation} {element:?}");
    }
    let h = |start: usize| -> Vec<u8> {
        (0..64).flat_map(|n| half::f16::from_f32((n * 3 + start) as f32 / 4.0).to_le_bytes()).collect()
    };
    let decode = |bytes: &[u8]| -> Vec<f32> {
        bytes.chunks_exact(2).map(|b| half::f16::from_le_bytes([b[0], b[1]]).to_f32()).collect()
    };
    let sums: Vec<f32> = decode(&h(0)).iter().zip(decode(&h(9))).map(|(a, b)| a + b).collect();
    assert_eq!(decode(&run("add", Element::F16, &h(0), &h(9))), sums);
}

#[test]
fn a_multicast_of_two_halves() {
    // Each of two programs loads 8 of 16 rows for both.
    let extents = [32_u64, 16];
    let input = numbered(&extents);
    let run =
        Run { grid: [2, 1, 1], cluster: [2, 1, 1], input: &input, output: vec![0; 2 * 16 * 128], ..Run::default() };
    let out = words(&run.with_maps(
        &format!(
            "@%p1 mbarrier.init.shared::cta.b64 [%r4], 1; fence.mbarrier_init.release.cluster; {ALL}
            @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 2048;
            shl.b32 %r10, %r2, 3; shl.b32 %r11, %r2, 10; add.u32 %r11, %r11, %r3; mov.u16 %h1, 3; mov.u32 %r12, 0;
            @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [%r11], [%rd3, {{%r12, %r10}}], [%r4], %h1, %rd1;
            {WAIT}
            shl.b32 %r13, %r1, 2; add.u32 %r13, %r13, %r3; shl.b32 %r14, %r2, 9; add.u32 %r14, %r14, %r1; mov.u32 %r15, 0;
            L: ld.shared.u32 %r16, [%r13]; mad.wide.u32 %rd10, %r14, 4, %rd2; st.global.u32 [%rd10], %r16;
            add.u32 %r13, %r13, 128; add.u32 %r14, %r14, 32; add.u32 %r15, %r15, 1; setp.lt.u32 %p2, %r15, 16; @%p2 bra L; {ALL}"
        ),
        |input, _| vec![TensorMap::tiled(input, Element::U32, &extents, &[128], &[32, 8])],
    ));
    let half: Vec<u32> = (0..512).collect();
    assert_eq!(out, [half.clone(), half].concat());
}

#[test]
fn reductions_of_all_types() {
    // Two operands of 128 bytes, element by element.
    let (a, b): (Vec<u8>, Vec<u8>) =
        ((0..128_u32).map(|n| (n * 37 + 11) as u8).collect(), (0..128_u32).map(|n| (n * 91 + 5) as u8).collect());
    let run = |operation: &str, element: Element, input: &[u8], output: &[u8]| {
        let run = Run { input, output: output.to_vec(), ..Run::default() };
        let width = 32 / element.bytes();
        run.with_maps(
            &store(&format!(
                "cp.reduce.async.bulk.tensor.2d.global.shared::cta.{operation}.tile.bulk_group [%rd3, {{0, 0}}], [%r3];"
            )),
            |_, output| vec![TensorMap::tiled(output, element, &[width.into(), 4], &[32], &[width, 4])],
        )
    };
    type Elementwise<'a> = &'a dyn Fn(&[u8], &[u8]) -> Vec<u8>;
    let check = |operation: &str, element: Element, f: Elementwise| {
        let width = element.bytes() as usize;
        let expected: Vec<u8> =
            b.chunks_exact(width).zip(a.chunks_exact(width)).flat_map(|(old, new)| f(old, new)).collect();
        assert_eq!(run(operation, element, &a, &b), expected, "{operation} {element:?}");
    };
    let u64_of = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("8 bytes"));
    let u32_of = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("4 bytes"));
    check("add", Element::U64, &|x, y| u64_of(x).wrapping_add(u64_of(y)).to_le_bytes().into());
    check("min", Element::U64, &|x, y| u64_of(x).min(u64_of(y)).to_le_bytes().into());
    check("max", Element::S64, &|x, y| (u64_of(x) as i64).max(u64_of(y) as i64).to_le_bytes().into());
    check("and", Element::U64, &|x, y| (u64_of(x) & u64_of(y)).to_le_bytes().into());
    check("xor", Element::S64, &|x, y| (u64_of(x) ^ u64_of(y)).to_le_bytes().into());
    check("inc", Element::U32, &|x, y| if u32_of(x) >= u32_of(y) { 0 } else { u32_of(x) + 1 }.to_le_bytes().into());
    check("dec", Element::U32, &|x, y| {
        let (x, y) = (u32_of(x), u32_of(y));
        if x == 0 || x > y { y } else { x - 1 }.to_le_bytes().into()
    });
    // Floats: small multiples of a quarter, exact in all types.
    let quarters = |n: usize, step: usize| (n * step % 23) as f32 / 4.0 - 2.0;
    type Encode = fn(f32) -> Vec<u8>;
    for (element, encode) in [
        (Element::F16, (|x| half::f16::from_f32(x).to_le_bytes().into()) as Encode),
        (Element::BF16, |x| half::bf16::from_f32(x).to_le_bytes().into()),
    ] {
        let values = |step: usize| (0..64).map(move |n| quarters(n, step));
        let encoded = |values: &mut dyn Iterator<Item = f32>| values.flat_map(encode).collect::<Vec<u8>>();
        let (x, y) = (encoded(&mut values(5)), encoded(&mut values(7)));
        type Reduction = fn(f32, f32) -> f32;
        for (operation, f) in [("add", (|a, b| a + b) as Reduction), ("min", f32::min), ("max", f32::max)] {
            let expected = encoded(&mut values(5).zip(values(7)).map(|(a, b)| f(a, b)));
            assert_eq!(run(operation, element, &x, &y), expected, "{operation} {element:?}");
        }
    }
    let doubles =
        |step: usize| (0..16).flat_map(move |n| f64::from(quarters(n, step)).to_le_bytes()).collect::<Vec<u8>>();
    let sums: Vec<u8> = (0..16).flat_map(|n| f64::from(quarters(n, 5) + quarters(n, 7)).to_le_bytes()).collect();
    assert_eq!(run("add", Element::F64, &doubles(5), &doubles(7)), sums);
}

#[test]
fn types_change_values_on_their_way() {
    let input: Vec<u32> =
        vec![0x3F80_0FFF, 0x3F80_1000, 0xBF80_3000, 0x0000_0001, 0x8000_0400, 0x7F80_0000, 0x7FC0_0001, 0xFF7F_FFFF];
    let loaded =
        |element: Element| {
            let input = bytes(input.iter().copied());
            let run = Run { input: &input, output: vec![0; 32], ..Run::default() };
            words(&run.with_maps(&load(&[0], 32, "tile", ""), |input, _| {
                vec![TensorMap::tiled(input, element, &[8], &[], &[8])]
            }))
        };
    assert_eq!(loaded(Element::F32), input);
    let flushed = [0x3F80_0FFF, 0x3F80_1000, 0xBF80_3000, 0, 0x8000_0000, 0x7F80_0000, 0x7FC0_0001, 0xFF7F_FFFF];
    assert_eq!(loaded(Element::F32Ftz), flushed);
    // tf32 has 10 bits behind the point: ties go away from zero.
    let rounded = [0x3F80_0000, 0x3F80_2000, 0xBF80_4000, 0, 0x8000_0000, 0x7F80_0000, 0x7FFF_E000, 0xFF80_0000];
    assert_eq!(loaded(Element::TF32), rounded);
    assert_eq!(loaded(Element::TF32Ftz), rounded);
}

/// An interleaved tensor of words: the innermost dimension in slices of so many, then the positions, the slices, the images.
fn interleaved(extents: &[u64], slice: u64) -> (Vec<u8>, Vec<u64>) {
    let slices = extents[0].div_ceil(slice);
    let between: u64 = extents[1..extents.len() - 1].iter().product();
    let images = extents[extents.len() - 1];
    let mut data = vec![0; (slices * between * images * slice) as usize];
    // A number for each element by its place in the plain tensor; the padding is zero.
    for image in 0..images {
        for position in 0..between {
            for channel in 0..extents[0] {
                let at = ((image * slices + channel / slice) * between + position) * slice + channel % slice;
                data[at as usize] = (((image * between + position) * extents[0] + channel) as u32) + 1;
            }
        }
    }
    let mut strides = vec![slice * 4];
    for extent in &extents[1..extents.len() - 2] {
        strides.push(strides[strides.len() - 1] * extent);
    }
    strides.push(slices * between * slice * 4);
    (bytes(data), strides)
}

#[test]
fn slices_of_interleaved_tensors() {
    use tegula_vgpu::ptx::Interleave;
    for (interleave, slice, swizzle) in [(Interleave::B16, 4_u64, Swizzle::None), (Interleave::B32, 8, Swizzle::B32)] {
        for extents in [[20_u64, 5, 3].as_slice(), &[20, 5, 3, 2], &[13, 4, 3, 2, 2]] {
            let rank = extents.len();
            let (input, strides) = interleaved(extents, slice);
            let boxes = &[2 * slice as u32, 3, 2, 2, 2][..rank];
            let count = boxes.iter().product::<u32>() as usize;
            for shift in [[0, 0, 0, 0, 0], [slice as i32, 3, -1, 1, 1], [2 * slice as i32, -1, 1, 0, 0]] {
                let at = &shift[..rank];
                let run = Run { input: &input, output: vec![0; count * 4], ..Run::default() };
                let map = |address| {
                    let mut map = TensorMap::tiled(address, Element::U32, extents, &strides, boxes);
                    map.interleave = interleave;
                    map.swizzle = swizzle;
                    map
                };
                let out = words(&run.with_maps(&load(at, count * 4, "tile", ""), |input, _| vec![map(input)]));
                // In shared memory: slices of positions, the last dimension outermost.
                let mut expected = vec![0; count];
                let between: u32 = boxes[1..rank - 1].iter().product();
                for (index, value) in expected.iter_mut().enumerate() {
                    let index = index as u32;
                    let (within, rest) = (index % slice as u32, index / slice as u32);
                    let (position, rest) = (rest % between, rest / between);
                    let (number, last) = (rest % 2, rest / 2);
                    let mut place = vec![i64::from(at[0]) + i64::from(number) * slice as i64 + i64::from(within)];
                    let mut left = position;
                    for n in 1..rank - 1 {
                        place.push(i64::from(at[n]) + i64::from(left % boxes[n]));
                        left /= boxes[n];
                    }
                    place.push(i64::from(at[rank - 1]) + i64::from(last));
                    if place.iter().zip(extents).all(|(x, extent)| (0..*extent as i64).contains(x)) {
                        let linear =
                            place.iter().zip(extents).rev().fold(0, |sum, (x, extent)| sum * *extent as i64 + x);
                        *value = linear as u32 + 1;
                    }
                }
                for (index, &word) in out.iter().enumerate() {
                    let piece = swizzle.apply(index as u64 * 4) / 4;
                    assert_eq!(word, expected[piece as usize], "{interleave:?} {rank}d at {at:?}: word {index}");
                }
            }
        }
    }
}

#[test]
fn slices_stored_and_gathered() {
    use tegula_vgpu::ptx::{Interleave, Mode};
    // Two slices of 4 words, 4 positions, one image: into a tensor of the same layout, from its second position on.
    let extents = [8_u64, 5, 1];
    let (_, strides) = interleaved(&extents, 4);
    let input = bytes(100..132);
    let run = Run { input: &input, output: bytes([1; 40]), ..Run::default() };
    let map = |address: u64| {
        let mut map = TensorMap::tiled(address, Element::U32, &extents, &strides, &[8, 4, 1]);
        map.interleave = Interleave::B16;
        map
    };
    let out = words(&run.with_maps(
        &store("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%rd3, {0, 2, 0}], [%r3];"),
        |_, output| vec![map(output)],
    ));
    for (index, &word) in out.iter().enumerate() {
        let (slice, position, channel) = (index / 20, index / 4 % 5, index % 4);
        let expected = if position < 2 { 1 } else { 100 + (slice * 16 + (position - 2) * 4 + channel) as u32 };
        assert_eq!(word, expected, "word {index}");
    }
    // The columns of a filter of 2, slice by slice.
    let extents = [8_u64, 6, 2];
    let (input, strides) = interleaved(&extents, 4);
    let run = Run { input: &input, output: vec![0; 6 * 8 * 4], ..Run::default() };
    let out = words(&run.with_maps(&load(&[0, 0, 0], 6 * 8 * 4, "im2col", ", {1}"), |input, _| {
        let mut map = TensorMap::tiled(input, Element::U32, &extents, &strides, &[1, 1, 1]);
        map.interleave = Interleave::B16;
        map.mode = Mode::Im2col { lower: [0; 3], upper: [-1, 0, 0], channels: 8, pixels: 6 };
        vec![map]
    }));
    for (index, &word) in out.iter().enumerate() {
        let (slice, pixel, within) = (index / 24, index / 4 % 6, index % 4);
        // Bases 0 to 4 of each image.
        let (image, x) = (pixel / 5, pixel % 5 + 1);
        assert_eq!(word as usize, (image * 6 + x) * 8 + slice * 4 + within + 1, "word {index}");
    }
}
