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
