//! Shapes: broadcasting, reshaping, reordering, joining, slicing; reductions, scans and matrix products.

use tegula::prelude::*;
use tegula::shape::dim::Div as DivDim;
use tegula_macros::kernel;

use crate::harness::{build_errors, empty, run, tensor, values};

type D1 = Const<1>;
type D2 = Const<2>;
type D3 = Const<3>;
type D4 = Const<4>;
type D6 = Const<6>;
type D12 = Const<12>;

/// Builds a kernel from a 3 × 4 tile to a tile of some shape, and gives what it writes for 0, 1, 2, …
macro_rules! on_tile {
    (|$x:ident: $from:ty| $body:expr => $to:ty, $n:expr) => {{
        #[kernel]
        fn case(x: &Tensor<i32, 1>, y: &mut Tensor<i32, 1>) {
            let $x = x.tile::<(Const<{ 64 }>,)>([0]).load().slice::<(Mul<D12, D2>,)>([0]);
            let $x = $x.slice::<(D12,)>([0]).reshape::<$from>();
            let r: Tile<i32, $to> = $body;
            let flat = r.reshape::<(Const<{ $n }>,)>();
            y.store_tile([0], flat);
        }
        let x = tensor(&[64], 0..64);
        let mut y = empty::<i32>(&[$n]);
        run(case(&x, &mut y).grid([1, 1, 1]));
        values::<i32>(&y)
    }};
}

#[test]
fn reordering() {
    assert_eq!(on_tile!(|x: (D3, D4)| x.transpose() => (D4, D3), 12), [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]);
    assert_eq!(
        on_tile!(|x: (D2, D3, D2)| x.permute::<(Axis<2>, Axis<0>, Axis<1>)>() => (D2, D2, D3), 12),
        [0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11]
    );
    assert_eq!(on_tile!(|x: (D3, D4)| x.flip::<1>() => (D3, D4), 12), [3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8]);
    assert_eq!(on_tile!(|x: (D3, D4)| x.flip::<0>() => (D3, D4), 12), [8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3]);
}

#[test]
fn broadcasting_through_new_axes() {
    assert_eq!(
        on_tile!(|x: (D3, D4)| {
            let row = x.min::<0>();
            let column = x.max::<1>();
            row.expand::<0>() * 100 + column.expand::<1>()
        } => (D3, D4), 12),
        [3, 103, 203, 303, 7, 107, 207, 307, 11, 111, 211, 311]
    );
    assert_eq!(
        on_tile!(|x: (D3, D4)| x.sum::<1>().expand::<1>().broadcast::<(D3, D4)>() => (D3, D4), 12),
        [6, 6, 6, 6, 22, 22, 22, 22, 38, 38, 38, 38]
    );
    assert_eq!(on_tile!(|x: (D3, D4)| x.sum::<1>().expand::<0>().squeeze::<0>() => (D3,), 3), [6, 22, 38]);
}

#[test]
fn joining_and_splitting() {
    assert_eq!(
        on_tile!(|x: (D3, D4)| x.cat::<0, _>(x + 100).slice::<(D2, D4)>([2, 0]) => (D2, D4), 8),
        [8, 9, 10, 11, 100, 101, 102, 103]
    );
    assert_eq!(
        on_tile!(|x: (D3, D4)| x.cat::<1, _>(x.slice::<(D3, D2)>([0, 1])).with_shape() => (D3, D6), 18),
        [0, 1, 2, 3, 1, 2, 4, 5, 6, 7, 5, 6, 8, 9, 10, 11, 9, 10]
    );
    assert_eq!(
        on_tile!(|x: (D2, D6)| {
            let top = x.slice::<(Const<1>, D6)>([0, 0]).reshape::<(D6,)>();
            let bottom = x.slice::<(Const<1>, D6)>([1, 0]).reshape::<(D6,)>();
            top.interleave(bottom)
        } => (Twice<D6>,), 12),
        [0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11]
    );
    assert_eq!(
        on_tile!(|x: (D6, D2)| {
            let (even, odd) = x.split();
            even * 100 + odd
        } => (D6,), 6),
        [1, 203, 405, 607, 809, 1011]
    );
    assert_eq!(
        on_tile!(|x: (D12,)| {
            let (a, b) = x.reshape::<(DivDim<D12, D2>, D2)>().split();
            b.join(a)
        } => (DivDim<D12, D2>, D2), 12),
        [1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10]
    );
    assert_eq!(
        on_tile!(|x: (D3, D4)| x.insert(x.slice::<(D2, D2)>([1, 2]) + 100, [0, 1]) => (D3, D4), 12),
        [0, 106, 107, 3, 4, 110, 111, 7, 8, 9, 10, 11]
    );
}

#[test]
fn gathering_along_an_axis_clamps() {
    assert_eq!(
        on_tile!(|x: (D3, D4)| {
            let index = arange_along::<i32, (D3, D2), 1>() * 5 - 1;
            x.gather::<1, _>(index)
        } => (D3, D2), 6),
        [0, 3, 4, 7, 8, 11]
    );
}

#[test]
fn counting() {
    assert_eq!(on_tile!(|x: (D12,)| x * 0 + arange_from::<i32, (D12,)>(5) => (D12,), 12)[..3], [5, 6, 7]);
    assert_eq!(
        on_tile!(|x: (D3, D4)| x * 0 + arange_along::<i32, (D3, D4), 0>() => (D3, D4), 12),
        [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]
    );
}

#[test]
fn reductions() {
    assert_eq!(on_tile!(|x: (D3, D4)| x.sum::<0>() => (D4,), 4), [12, 15, 18, 21]);
    assert_eq!(on_tile!(|x: (D3, D4)| (x + 1).prod::<1>() => (D3,), 3), [24, 1680, 11880]);
    assert_eq!(on_tile!(|x: (D2, D3, D2)| x.sum_over::<(Axis<0>, Axis<2>)>() => (D3,), 3), [14, 22, 30]);
    assert_eq!(on_tile!(|x: (D2, D3, D2)| x.max_over::<(Axis<1>, Axis<2>)>() => (D2,), 2), [5, 11]);
    assert_eq!(on_tile!(|x: (D3, D4)| x.sum_all() => (), 1), [66]);
    assert_eq!(on_tile!(|x: (D3, D4)| (x % 2 == 0).sum::<1>() => (D3,), 3), [2, 2, 2]);
    assert_eq!(on_tile!(|x: (D3, D4)| (x < 5).sum_all() => (), 1), [5]);
    assert_eq!(
        on_tile!(|x: (D3, D4)| (x < 6).any::<1>().cast::<i32>() * 10 + (x < 6).all::<1>().cast::<i32>() => (D3,), 3),
        [11, 10, 0]
    );
    assert_eq!(on_tile!(|x: (D3, D4)| x.xor_reduce::<1>() => (D3,), 3), [0, 0, 0]);
    assert_eq!(on_tile!(|x: (D3, D4)| x.or_reduce::<1>() + x.and_reduce::<1>() => (D3,), 3), [3, 11, 19]);
}

#[test]
fn reductions_over_several_axes() {
    assert_eq!(on_tile!(|x: (D2, D1, D3, D2)| x.sum_over::<(Axis<0>, Axis<1>, Axis<2>, Axis<3>)>() => (), 1), [66]);
    assert_eq!(on_tile!(|x: (D2, D1, D3, D2)| x.max_over::<(Axis<0>, Axis<1>, Axis<3>)>() => (D3,), 3), [7, 9, 11]);
    assert_eq!(
        on_tile!(|x: (D2, D3, D2)| {
            let some = (x == 3).any_over::<(Axis<1>, Axis<2>)>().cast::<i32>();
            some * 10 + (x > 5).all_over::<(Axis<1>, Axis<2>)>().cast::<i32>()
        } => (D2,), 2),
        [10, 1]
    );
    assert_eq!(on_tile!(|x: (D3, D4)| x.transpose().argmax_all() * 100 + (x * 7 % 12).argmin_all() => (), 1), [1100]);
    assert_eq!(
        on_tile!(|x: (D3, D4)| {
            let (most, at) = (x * 7 % 12).max_with_index_all();
            let (least, first) = (x / 5 * 3 - 1).min_with_index_all();
            most * 1000 + at * 100 + least * 10 + first
        } => (), 1),
        [11_490]
    );
}

#[test]
fn three_hundred_true_values_are_counted() {
    #[kernel]
    fn count(x: &Tensor<bool, 1>, y: &mut Tensor<i32, 1>) {
        y.set([0], x.tile::<(Const<256>,)>([0]).load().sum::<0>());
    }
    let x = tensor(&[256], [true; 256]);
    let mut y = empty::<i32>(&[1]);
    run(count(&x, &mut y).grid([1, 1, 1]));
    assert_eq!(values::<i32>(&y), [256]);
}

#[test]
fn extremes_and_their_places() {
    #[kernel]
    fn extremes(x: &Tensor<f32, 2>, v: &mut Tiles<f32, (D4,)>, at: &mut Tiles<i32, (D4,)>, #[comptime] max: bool) {
        let x = x.tile::<(D4, D4)>([0, 0]).load();
        let (value, index) = if max { x.max_with_index::<1>() } else { x.min_with_index::<1>() };
        v.store(value);
        at.store(index);
    }
    const NAN: f32 = f32::NAN;
    const INF: f32 = f32::INFINITY;
    let rows = [[NAN, 2.0, 2.0, -INF], [NAN, NAN, NAN, NAN], [-0.0, 0.0, -0.0, 0.0], [INF, INF, NAN, -INF]];
    let x = tensor(&[4, 4], rows.concat());
    let (mut v, mut at) = (empty::<f32>(&[4]), empty::<i32>(&[4]));
    run(extremes(&x, &mut v, &mut at, true));
    assert_eq!(values::<i32>(&at), [1, 0, 0, 0]);
    assert_eq!(values::<f32>(&v)[0], 2.0);
    assert!(values::<f32>(&v)[1].is_nan());
    run(extremes(&x, &mut v, &mut at, false));
    assert_eq!(values::<i32>(&at), [3, 0, 0, 3]);
}

#[test]
fn scans() {
    assert_eq!(on_tile!(|x: (D3, D4)| x.cumsum::<1>() => (D3, D4), 12), [0, 1, 3, 6, 4, 9, 15, 22, 8, 17, 27, 38]);
    assert_eq!(on_tile!(|x: (D12,)| x.cumsum_reverse::<0>() => (D12,), 12)[..3], [66, 66, 65]);
    assert_eq!(on_tile!(|x: (D3, D4)| (x + 1).cumprod::<0>() => (D3, D4), 12)[8..], [45, 120, 231, 384]);
    assert_eq!(on_tile!(|x: (D12,)| (x * 5 % 7).cummax::<0>() => (D12,), 12), [0, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 6]);
    assert_eq!(on_tile!(|x: (D12,)| (x * 5 % 7).cummin_reverse::<0>() => (D12,), 12)[7..], [0, 1, 1, 1, 6]);
}

/// Composition of affine functions: associative, not commutative.
fn compose(f: (Scalar<i64>, Scalar<i64>), g: (Scalar<i64>, Scalar<i64>)) -> (Scalar<i64>, Scalar<i64>) {
    (f.0 * g.0, g.0 * f.1 + g.1)
}

#[kernel]
fn affine(
    a: &Tensor<i64, 1>,
    b: &Tensor<i64, 1>,
    out: &mut Tensor<i64, 2>,
    last: &mut Tensor<i64, 1>,
    #[comptime] reverse: bool,
) {
    let inputs = (a.tile::<(D12,)>([0]).load(), b.tile::<(D12,)>([0]).load());
    let (p, q) = if reverse { scan_with_reverse::<0, _>(inputs, compose) } else { scan_with::<0, _>(inputs, compose) };
    out.tile_mut::<(Const<1>, D12)>([0, 0]).store(p.expand::<0>().broadcast::<(Const<1>, D12)>());
    out.tile_mut::<(Const<1>, D12)>([1, 0]).store(q.reshape::<(Const<1>, D12)>());
    let (s, t) = reduce_with::<0, _>(inputs, compose);
    last.set([0], s);
    last.set([1], t);
}

#[test]
fn scans_and_reductions_with_a_function_that_does_not_commute() {
    let (a, b): (Vec<i64>, Vec<i64>) = (0..12).map(|i| (1 + i % 3, i - 5)).unzip();
    for reverse in [false, true] {
        let (ta, tb) = (tensor(&[12], a.clone()), tensor(&[12], b.clone()));
        let (mut out, mut last) = (empty::<i64>(&[2, 12]), empty::<i64>(&[2]));
        run(affine(&ta, &tb, &mut out, &mut last, reverse).grid([1, 1, 1]));
        let mut want = [(0, 0); 12];
        let mut state = None;
        for step in 0..12 {
            let i = if reverse { 11 - step } else { step };
            let next = match state {
                None => (a[i], b[i]),
                Some((p, q)) => (p * a[i], a[i] * q + b[i]),
            };
            want[i] = next;
            state = Some(next);
        }
        let out = values::<i64>(&out);
        for i in 0..12 {
            assert_eq!((out[i], out[12 + i]), want[i], "at {i}, reverse: {reverse}");
        }
        if !reverse {
            assert_eq!(values::<i64>(&last), [want[11].0, want[11].1]);
        }
    }
}

#[kernel]
fn products(a: &Tensor<f32, 3>, b: &Tensor<f32, 3>, c: &mut Tensor<f32, 3>, #[comptime] how: usize) {
    let x = a.tile::<(D2, D3, D4)>([0, 0, 0]).load();
    let y = b.tile::<(D2, D4, D6)>([0, 0, 0]).load();
    if how == 0 {
        c.store_tile([0, 0, 0], dot_batched(x, y, full::<f32, (D2, D3, D6)>(1.0)));
    } else {
        for i in unrolled(0..2) {
            let x = a.at_axis(0, i).tile::<(D3, D4)>([0, 0]).load();
            let y = b.at_axis(0, i).tile::<(D4, D6)>([0, 0]).load();
            let one = ones::<f32, (D3, D6)>();
            let r = match how {
                1 => dot_with(x, y, one, DotPrecision::Tf32x3),
                2 => dot(x.cast::<bf16>(), y.cast::<bf16>(), one),
                3 => dot(x.cast::<i8>(), y.cast::<i8>(), one.cast::<i32>()).cast(),
                4 => dot(x.cast::<f64>(), y.cast::<f64>(), one),
                _ => dot(x.cast::<F8E4M3>(), y.cast::<F8E4M3>(), one),
            };
            c.at_axis_mut(0, i).store_tile([0, 0], r);
        }
    }
}

#[test]
fn matrix_products() {
    let a: Vec<f32> = (0..24).map(|i| (i % 5) as f32 - 2.0).collect();
    let b: Vec<f32> = (0..48).map(|i| (i % 7) as f32 - 3.0).collect();
    for how in 0..6 {
        let (x, y) = (tensor(&[2, 3, 4], a.clone()), tensor(&[2, 4, 6], b.clone()));
        let mut c = empty::<f32>(&[2, 3, 6]);
        run(products(&x, &y, &mut c, how).grid([1, 1, 1]));
        let c = values::<f32>(&c);
        for n in 0..2 {
            for i in 0..3 {
                for j in 0..6 {
                    let want = 1.0 + (0..4).map(|k| a[n * 12 + i * 4 + k] * b[n * 24 + k * 6 + j]).sum::<f32>();
                    assert_eq!(c[n * 18 + i * 6 + j], want, "how {how} at {n} {i} {j}");
                }
            }
        }
    }
}

#[test]
fn a_dot_in_f32_is_ieee() {
    #[kernel]
    fn wound(x: &Tensor<f32, 2>, y: &mut Tensor<f32, 1>) {
        let a = x.tile::<(Const<1>, Const<64>)>([0, 0]).load();
        let r = dot(a, ones::<f32, (Const<64>, Const<1>)>(), zeros());
        y.set([0], r.to_scalar());
    }
    let x = tensor(&[1, 64], [1.0 + 2f32.powi(-12); 64]);
    let mut y = empty::<f32>(&[1]);
    run(wound(&x, &mut y).grid([1, 1, 1]));
    assert_eq!(values::<f32>(&y), [64.015625]);
}

/// A helper outside of any macro, generic in shape and element type, with literals and operators.
fn smooth<S: Shape>(x: Tile<f32, S>, s: Scalar<f32>) -> Tile<f32, S> {
    (x * 0.5 + s).maximum(0.0) - 1.0 + s * x
}

#[test]
fn helpers_are_ordinary_functions() {
    #[kernel]
    fn helped(x: &Tensor<f32, 1>, y: &mut Tiles<f32, (D4,)>) {
        y.store(smooth(x.tile(y.index()).load(), scalar(2.0)));
    }
    let x = tensor(&[4], [-8.0f32, 0.0, 2.0, 4.0]);
    let mut y = empty::<f32>(&[4]);
    run(helped(&x, &mut y));
    assert_eq!(values::<f32>(&y), [-17.0, 1.0, 6.0, 11.0]);
}

#[test]
fn sizes_that_do_not_fit_are_errors_of_the_build() {
    #[kernel]
    fn sizes<M: Dim, N: Dim>(x: &Tensor<f32, 1>, y: &mut Tiles<f32, (N,)>) {
        let v = x.tile::<(M,)>([0]).load();
        y.store(v.reshape::<(N,)>());
        let half = v.slice::<(Half<N>,)>([7]);
        y.store(half.cat::<0, _>(half).with_shape::<(N,)>());
    }
    let (x, mut y) = (empty::<f32>(&[8]), empty::<f32>(&[8]));
    let call = sizes(&x, &mut y).dims(sizes::Dims { m: 8, n: 10 });
    assert_eq!(
        build_errors(&call),
        ["cannot reshape [8] (8 elements) to [10] (10 elements)", "a slice of [5] at [7] does not lie within [8]",]
    );
}
