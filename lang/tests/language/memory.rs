//! Tensors in memory: tiles, sub-views, gather and scatter, atomics, pointers; random numbers; prints and asserts.

use tegula::prelude::*;
use tegula_ir::exec::HostTensor;
use tegula_macros::kernel;

use crate::harness::{empty, run, tensor, try_run, values};

type D1 = Const<1>;
type D2 = Const<2>;
type D3 = Const<3>;
type D4 = Const<4>;

#[kernel]
fn windows(x: &Tensor<i32, 2>, y: &mut Tensor<i32, 2>, #[comptime] place: (i64, i64), #[comptime] how: usize) {
    let view = x.tile_at::<(D2, D3)>([place.0, place.1]);
    let mask = arange_along::<i32, (D2, D3), 1>() < 2;
    let t = match how {
        0 => view.load(),
        1 => view.load_or(-1),
        2 => view.load_masked(mask),
        3 => view.load_masked_or(mask, -1),
        _ => view.cache(CacheHint::Streaming).volatile().load_or(x.get([0, 1])),
    };
    y.store_tile([0, 0], t);
}

fn window(place: (i64, i64), how: usize) -> Vec<i32> {
    let x = tensor(&[3, 4], 0..12);
    let mut y = empty::<i32>(&[2, 3]);
    run(windows(&x, &mut y, place, how).grid([1, 1, 1]));
    values(&y)
}

#[test]
fn loads_pad_outside_of_the_tensor() {
    assert_eq!(window((1, 1), 0), [5, 6, 7, 9, 10, 11]);
    assert_eq!(window((2, 2), 0), [10, 11, 0, 0, 0, 0]);
    assert_eq!(window((-1, 2), 1), [-1, -1, -1, 2, 3, -1]);
    assert_eq!(window((0, 0), 2), [0, 1, 0, 4, 5, 0]);
    assert_eq!(window((0, 3), 3), [3, -1, -1, 7, -1, -1]);
    assert_eq!(window((2, 3), 4), [11, 1, 1, 1, 1, 1]);
}

#[kernel]
fn stores(x: &Tensor<i32, 2>, y: &mut Tensor<i32, 2>) {
    let t = x.tile::<(D2, D3)>([0, 0]).load();
    y.store_tile_at([2, 2], t);
    y.tile_at_mut::<(D2, D3)>([0, 0]).store_masked(t, t > 1);
    y.set([0, 3], 77);
    y.set([9, 9], 88);
}

#[test]
fn stores_leave_what_is_outside() {
    let x = tensor(&[2, 3], 0..6);
    let mut y = tensor(&[3, 4], [9; 12]);
    run(stores(&x, &mut y).grid([1, 1, 1]));
    assert_eq!(values::<i32>(&y), [9, 9, 2, 77, 3, 4, 5, 9, 9, 9, 0, 1]);
}

#[kernel]
fn sub_views(x: &Tensor<i32, 3>, y: &mut Tensor<i32, 3>, n: Scalar<i32>) {
    // y[j, :, i] = x[i, j, :]
    for i in 0..n {
        for j in unrolled(0..2) {
            let row = x.at_axis(0, i).at_axis(0, j).tile::<(D4,)>([0]).load();
            let mut out = y.permute_mut([2, 0, 1]);
            out.at_axis_mut(0, i).at_axis_mut(0, j).store_tile([0], row);
        }
    }
}

#[test]
fn sub_views_drop_and_reorder_axes() {
    let x = tensor(&[3, 2, 4], 0..24);
    let mut y = empty::<i32>(&[2, 4, 3]);
    run(sub_views(&x, &mut y, 3).grid([1, 1, 1]));
    let y = values::<i32>(&y);
    for i in 0..3 {
        for j in 0..2 {
            for k in 0..4 {
                assert_eq!(y[j * 12 + k * 3 + i], (i * 8 + j * 4 + k) as i32);
            }
        }
    }
}

#[kernel]
fn transposed(x: &Tensor<i32, 2>, y: &mut Tiles<i32, (D4, D2)>, start: Scalar<i64>) {
    let [i, j] = y.index();
    let t = x.transpose();
    let narrow = t.narrow(0, start, 3);
    y.store(narrow.tile::<(D4, D2)>([i, j]).load_or(-1) + (t.extent(0) * 100 + narrow.extent(0) * 1000).cast::<i32>());
}

#[test]
fn views_transpose_and_narrow() {
    let x = tensor(&[2, 5], 0..10);
    let mut y = empty::<i32>(&[4, 2]);
    run(transposed(&x, &mut y, 1));
    assert_eq!(values::<i32>(&y).iter().map(|v| v - 3500).collect::<Vec<_>>(), [1, 6, 2, 7, 3, 8, -1, -1]);
    run(transposed(&x, &mut y, 4));
    assert_eq!(values::<i32>(&y).iter().map(|v| v - 1500).collect::<Vec<_>>(), [4, 9, -1, -1, -1, -1, -1, -1]);
    run(transposed(&x, &mut y, -7));
    assert_eq!(values::<i32>(&y).iter().map(|v| v - 3500).collect::<Vec<_>>(), [0, 5, 1, 6, 2, 7, -1, -1]);
}

#[kernel]
fn gathers(x: &Tensor<i32, 2>, at: &Tensor<i64, 1>, y: &mut Tensor<i32, 2>, z: &mut Tensor<i32, 1>) {
    let at = at.tile::<(D4,)>([0]).load();
    let columns = arange::<i32, (D3,)>();
    let rows = x.gather((at.expand::<1>(), columns.expand::<0>()));
    y.tile_mut::<(D4, D3)>([0, 0]).store(rows);
    z.scatter((at,), at.cast::<i32>() * 10);
    z.scatter_masked(at + 1, full(5), at == 1);
    let one = x.at_axis(0, 1).gather(at);
    z.set([4], one.sum_all() + x.gather_masked((at, 0), at > 0, 100).sum_all() * 1000);
}

#[test]
fn gather_and_scatter_check_bounds() {
    let x = tensor(&[2, 3], 1..7);
    let at = tensor(&[4], [1i64, 0, -1, 3]);
    let (mut y, mut z) = (empty::<i32>(&[4, 3]), tensor(&[5], [9; 5]));
    run(gathers(&x, &at, &mut y, &mut z).grid([1, 1, 1]));
    assert_eq!(values::<i32>(&y), [4, 5, 6, 1, 2, 3, 0, 0, 0, 0, 0, 0]);
    assert_eq!(values::<i32>(&z), [0, 10, 5, 30, 304_009]);
}

#[kernel]
fn five_axes(x: &Tensor<i32, 5>, y: &mut Tensor<i32, 5>) {
    let (a, b) = (arange::<i32, (D2,)>(), arange::<i64, (D3,)>());
    let (rows, columns) = (a.expand::<1>(), b.expand::<0>());
    let t = x.gather((rows, 0, 1, columns, scalar(0u8)));
    y.scatter((0, rows, 0, 0, columns), t);
    let rest = x.at_axis(1, 1).at_axis(1, 1).at_axis(2, 0).tile::<(D2, D3)>([0, 0]).load();
    y.tile_mut::<(D1, D2, D1, D1, D3)>([1, 0, 0, 0, 0]).store(rest.reshape());
}

#[test]
fn tensors_of_five_axes() {
    let x = tensor(&[2, 2, 2, 3, 1], 0..24);
    let mut y = empty::<i32>(&[2, 2, 1, 1, 3]);
    run(five_axes(&x, &mut y).grid([1, 1, 1]));
    assert_eq!(values::<i32>(&y), [3, 4, 5, 15, 16, 17, 9, 10, 11, 21, 22, 23]);
}

#[kernel]
fn counts(x: &Tensor<i32, 1>, histogram: &mut Tensor<i32, 1>, old: &mut Tensor<i32, 1>) {
    let x = x.tile::<(Const<8>,)>([program_id(0)]).load();
    let before = histogram.atomic_at(x).fetch_add(1);
    if program_id(0) == 0 {
        old.store_tile([0], before);
        old.tile_at_mut::<(D2,)>([0]).atomic().fetch_max(full::<i32, (D2,)>(50));
        old.tile_at_mut::<(D2,)>([1]).atomic().masked(arange::<i32, (D2,)>() == 0).exchange(7);
        old.atomic_at((2,)).fetch_min(-3);
        old.atomic_at((3,)).compare_exchange(0, 60);
        old.atomic_at((4,)).fetch_or(96);
        old.atomic_at((100,)).fetch_add(1);
    }
}

#[test]
fn atomics() {
    let x = tensor(&[16], (0..16).map(|i| i % 3));
    let (mut histogram, mut old) = (empty::<i32>(&[3]), empty::<i32>(&[8]));
    run(counts(&x, &mut histogram, &mut old).grid([2, 1, 1]));
    assert_eq!(values::<i32>(&histogram), [6, 5, 5]);
    assert_eq!(values::<i32>(&old), [50, 7, -3, 1, 97, 1, 2, 2]);
}

#[kernel]
unsafe fn pointers(p: Pointer<i32>, n: Scalar<i32>, y: &mut Tensor<i32, 1>) {
    let i = arange::<i32, (D4,)>();
    let at = p.offset(i);
    // SAFETY: the caller gives at least `n` elements.
    let t = unsafe { at.load_masked(i < n, -1) };
    // SAFETY: as above; no other program runs.
    unsafe {
        at.store_masked(t + 100, i < n);
        p.atomic().fetch_add(1000);
    }
    // SAFETY: as above.
    let view = unsafe { p.as_tensor([n.cast::<i64>()], [scalar(1)]) };
    y.store_tile([0], t + view.tile::<(D4,)>([0]).load());
}

#[test]
fn pointers_are_unsafe() {
    let mut p = tensor(&[4], 1..5);
    let mut y = empty::<i32>(&[4]);
    // SAFETY: the kernel stays within the four elements.
    run(unsafe { pointers(&mut p, 3, &mut y) }.grid([1, 1, 1]));
    assert_eq!(values::<i32>(&p), [1101, 102, 103, 4]);
    assert_eq!(values::<i32>(&y), [1102, 104, 106, -1]);
}

#[kernel]
fn draws(y: &mut Tiles<u32, (D4, D4)>, words: &Tensor<u32, 1>, seed: Scalar<u64>) {
    let w = words.tile::<(D4,)>([0]).load();
    let [a, b, c, d] = philox(seed, [0, 1, 2, 3].map(|i| w.slice::<(Const<1>,)>([i])));
    y.store(a.cat::<0, _>(b).cat::<0, _>(c).cat::<0, _>(d).with_shape::<(D4,)>().expand::<0>().broadcast());
}

#[test]
fn philox_gives_the_published_values() {
    let cases: [([u32; 4], u64, [u32; 4]); 3] = [
        ([0; 4], 0, [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
        ([u32::MAX; 4], u64::MAX, [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
        (
            [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
            0x299f_31d0_a409_3822,
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
        ),
    ];
    for (counter, key, want) in cases {
        let words = tensor(&[4], counter);
        let mut y = empty::<u32>(&[4, 4]);
        run(draws(&mut y, &words, key));
        assert_eq!(values::<u32>(&y)[..4], want);
    }
}

#[kernel]
fn uniform(y: &mut Tiles<f32, (Const<256>,)>, seed: Scalar<u64>, #[comptime] normal: bool) {
    let [at] = y.offset();
    let counter = arange::<i64, (Const<256>,)>() + at;
    y.store(if normal { randn(seed, counter) } else { rand(seed, counter) });
}

#[test]
fn random_numbers_have_their_distribution() {
    for (normal, mean, variance) in [(false, 0.5, 1.0 / 12.0), (true, 0.0, 1.0)] {
        let mut y = empty::<f32>(&[4096]);
        run(uniform(&mut y, 42, normal));
        let y = values::<f32>(&y);
        let n = y.len() as f64;
        let m = y.iter().map(|&v| f64::from(v)).sum::<f64>() / n;
        let s = y.iter().map(|&v| (f64::from(v) - m).powi(2)).sum::<f64>() / n;
        assert!((m - mean).abs() < 0.04 && (s - variance).abs() < 0.06 * variance + 0.002, "mean {m}, variance {s}");
        assert!(normal || y.iter().all(|v| (0.0..1.0).contains(v)));
        let mut distinct: Vec<u32> = y.iter().map(|v| v.to_bits()).collect();
        distinct.sort_unstable();
        distinct.dedup();
        assert!(distinct.len() > 4000);
    }
}

#[kernel]
fn talks(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (D2,)>) {
    let v = x.tile::<(D2,)>(y.index()).load();
    device_print!("values", v, v.sum_all());
    device_assert(v < 10, "too large");
    y.store(v);
}

#[test]
fn prints_and_asserts() {
    let x = tensor(&[2], [3, 4]);
    let mut y = empty::<i32>(&[2]);
    let printed = run(talks(&x, &mut y));
    assert!(printed.contains("values") && printed.contains('7'), "{printed}");
    let x = tensor(&[2], [3, 40]);
    let error = try_run(talks(&x, &mut y)).unwrap_err().to_string();
    assert!(error.contains("too large") && error.contains("memory.rs:"), "{error}");
}

#[kernel]
fn promises(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (D4,)>, n: Scalar<i32>) {
    // SAFETY: the caller passes a multiple of four below a hundred.
    let n = unsafe { n.assume_divisible(4).assume_bounded(0, 100) };
    barrier();
    let v = x.tile::<(D4,)>(y.index()).load() + n;
    y.store_masked(v, v > 5);
    y.store(y.load() + 1);
}

#[test]
fn assumptions_pass_the_value_on() {
    let x = tensor(&[4], 0..4);
    let mut y = empty::<i32>(&[4]);
    run(promises(&x, &mut y, 4));
    assert_eq!(values::<i32>(&y), [1, 1, 7, 8]);
}

#[kernel]
fn two_outputs<M: Dim, N: Dim>(x: &Tensor<f32, 2>, sums: &mut Tiles<f32, (M,)>, copy: &mut Tiles<f32, (M, N)>) {
    let t = x.tile::<(M, N)>(copy.index()).load();
    sums.store(t.sum::<1>());
    copy.store(t + copy.tiles(0).cast::<f32>());
}

#[test]
fn outputs_give_the_grid() {
    let x = tensor(&[5, 3], (0..15).map(|i| i as f32));
    let (mut sums, mut copy) = (empty::<f32>(&[5]), empty::<f32>(&[5, 3]));
    run(two_outputs(&x, &mut sums, &mut copy).dims(two_outputs::Dims { m: 2, n: 4 }));
    assert_eq!(values::<f32>(&sums), [3.0, 12.0, 21.0, 30.0, 39.0]);
    assert_eq!(values::<f32>(&copy)[14], 17.0);
    let mut short = empty::<f32>(&[2]);
    let error = try_run(two_outputs(&x, &mut short, &mut copy).dims(two_outputs::Dims { m: 2, n: 4 })).unwrap_err();
    assert_eq!(error.to_string(), "outputs sums and copy ask for 1 and 3 programs");
}

#[test]
fn strides_are_the_tensors_own() {
    let mut x: HostTensor = tensor(&[12], 0..12);
    x.extents = vec![2, 3];
    x.strides = vec![1, 4];
    let mut y = empty::<i32>(&[2, 3]);
    run(windows(&x, &mut y, (0, 0), 0).grid([1, 1, 1]));
    assert_eq!(values::<i32>(&y), [0, 4, 8, 1, 5, 9]);
}
