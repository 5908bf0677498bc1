//! The kernels that the language's documentation starts with.

use tegula::kernel::{BuildOptions, Listed};
use tegula::prelude::*;
use tegula_macros::kernel;

use crate::harness::{Value, empty, run, tensor, values};

#[kernel]
pub fn add<B: Dim>(x: &Tensor<f32, 1>, y: &Tensor<f32, 1>, out: &mut Tiles<f32, (B,)>) {
    let i = out.index();
    out.store(x.tile::<(B,)>(i).load() + y.tile::<(B,)>(i).load());
}

#[kernel]
pub fn matmul<T: Float, BM: Dim, BN: Dim, BK: Dim>(a: &Tensor<T, 2>, b: &Tensor<T, 2>, c: &mut Tiles<T, (BM, BN)>) {
    let [i, j] = c.index();
    let mut acc = zeros::<f32, (BM, BN)>();
    for k in 0..a.tiles::<BK>(1) {
        acc = dot(a.tile::<(BM, BK)>([i, k]).load(), b.tile::<(BK, BN)>([k, j]).load(), acc);
    }
    c.store(acc.cast());
}

#[kernel]
pub fn softmax<T: Float, R: Dim, N: Dim>(x: &Tensor<T, 2>, y: &mut Tiles<T, (R, N)>) {
    let i = y.index();
    let v = x.tile::<(R, N)>(i).load_or(f32::NEG_INFINITY).cast::<f32>();
    let e = (v - v.max::<1>().expand::<1>()).exp();
    y.store((e / e.sum::<1>().expand::<1>()).cast());
}

#[test]
fn add_of_odd_sizes() {
    for n in [1, 7, 64, 65, 1000] {
        let x = tensor(&[n], (0..n).map(|i| i as f32));
        let y = tensor(&[n], (0..n).map(|i| 0.5 * i as f32));
        let mut out = empty::<f32>(&[n]);
        run(add(&x, &y, &mut out).dims(add::Dims { b: 64 }));
        assert_eq!(values::<f32>(&out), (0..n).map(|i| 1.5 * i as f32).collect::<Vec<_>>());
    }
}

fn matmul_case<T: Float + Value>(m: i64, n: i64, k: i64, of: fn(f32) -> T) {
    let x: Vec<f32> = (0..m * k).map(|i| ((i * 7) % 11) as f32 - 5.0).collect();
    let y: Vec<f32> = (0..k * n).map(|i| ((i * 3) % 7) as f32 - 3.0).collect();
    let a = tensor(&[m, k], x.iter().map(|&v| of(v)));
    let b = tensor(&[k, n], y.iter().map(|&v| of(v)));
    let mut c = empty::<T>(&[m, n]);
    run(matmul::<T>(&a, &b, &mut c).dims(matmul::Dims { bm: 16, bn: 8, bk: 12 }));
    let mut expected = Vec::new();
    for i in 0..m {
        for j in 0..n {
            expected.push(of((0..k).map(|p| x[(i * k + p) as usize] * y[(p * n + j) as usize]).sum()));
        }
    }
    assert_eq!(values::<T>(&c), expected);
}

#[test]
fn matmul_of_odd_sizes() {
    matmul_case::<f32>(17, 9, 31, |v| v);
    matmul_case::<f32>(1, 1, 1, |v| v);
    matmul_case::<f16>(33, 24, 5, f16::from_f32);
    matmul_case::<f64>(5, 40, 13, f64::from);
}

#[test]
fn softmax_of_a_padded_row() {
    let x = tensor(&[2, 3], [0.0f32, 1.0, 2.0, -1.0, -1.0, -1.0]);
    let mut y = empty::<f32>(&[2, 3]);
    run(softmax::<f32>(&x, &mut y).dims(softmax::Dims { r: 2, n: 8 }));
    let y = values::<f32>(&y);
    let sum: f64 = (0..3).map(|i| f64::from(i).exp()).sum();
    for i in 0..3 {
        assert!((f64::from(y[i]) - (i as f64).exp() / sum).abs() < 1e-6, "{y:?}");
        assert!((y[3 + i] - 1.0 / 3.0).abs() < 1e-6, "{y:?}");
    }
}

#[test]
fn they_are_listed() {
    let names: Vec<&str> = [add::Listing::INFO, matmul::Listing::INFO, softmax::Listing::INFO]
        .iter()
        .map(|info| {
            info.build(&BuildOptions::default()).unwrap();
            info.name
        })
        .collect();
    assert_eq!(names, ["add", "matmul", "softmax"]);
    let info = matmul::Listing::INFO;
    assert_eq!(info.params[0].ty, "&Tensor<T, 2>");
    assert_eq!(info.params[2].ty, "&mut Tiles<T, (BM, BN)>");
    let types: Vec<&str> = (info.instances)().iter().map(|i| i.types[0].name()).collect();
    assert_eq!(types, ["f32", "f16", "bf16", "f64"]);
    let f = info.build(&BuildOptions::default().ty("T", ScalarType::BF16).dim("BM", 64)).unwrap();
    assert_eq!(f.dims[0], ("BM".to_owned(), 64));
    let error = info.build(&BuildOptions::default().dim("BX", 64)).unwrap_err();
    assert_eq!(error.diagnostics[0].message, "the kernel has no dim BX");
}
