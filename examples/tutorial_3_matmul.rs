//! Tutorial 3: matrix multiplication.
//!
//! Each program computes a `BM × BN` tile of the product, walking along K in steps of `BK`. Run this with
//! `cargo run --release --example tutorial_3_matmul`.

use std::time::Instant;

use tegula::prelude::*;

#[kernel(defaults(BM = 64, BN = 64, BK = 32))]
pub(crate) fn matmul<T: Float, BM: Dim, BN: Dim, BK: Dim>(
    a: &Tensor<T, 2>,
    b: &Tensor<T, 2>,
    c: &mut Tiles<T, (BM, BN)>,
) {
    let [i, j] = c.index();
    let mut acc = zeros::<T::Acc, (BM, BN)>();
    // `a.tiles::<BK>(1)` is the number of tiles of `BK` along axis 1: a value known when the kernel runs, so this becomes
    // a loop in the compiled kernel. `acc` is assigned in it, so the loop carries it.
    for k in 0..a.tiles::<BK>(1) {
        // `dot` wants (M, K) · (K, N) + (M, N). Exchange the operands, or load a tile with the wrong dims, and rustc
        // reports which type was expected and which was found.
        acc = dot(a.tile::<(BM, BK)>([i, k]).load(), b.tile::<(BK, BN)>([k, j]).load(), acc);
    }
    c.store(acc.cast());
}

// A helper that itself contains loops or branches on run-time values is marked `#[device]`. This one takes the epilogue,
// what is done to the tile before it is stored, as a closure: ordinary Rust, resolved when the kernel is built.
#[device]
fn matmul_then<T: Float, BM: Dim, BN: Dim, BK: Dim>(
    a: &Tensor<T, 2>,
    b: &Tensor<T, 2>,
    c: &mut Tiles<T, (BM, BN)>,
    epilogue: impl Fn(Tile<T::Acc, (BM, BN)>) -> Tile<T::Acc, (BM, BN)>,
) {
    let [i, j] = c.index();
    let mut acc = zeros::<T::Acc, (BM, BN)>();
    for k in 0..a.tiles::<BK>(1) {
        acc = dot(a.tile::<(BM, BK)>([i, k]).load(), b.tile::<(BK, BN)>([k, j]).load(), acc);
    }
    c.store(epilogue(acc).cast());
}

#[kernel(defaults(BM = 64, BN = 64, BK = 32))]
pub(crate) fn matmul_relu<T: Float, BM: Dim, BN: Dim, BK: Dim>(
    a: &Tensor<T, 2>,
    b: &Tensor<T, 2>,
    c: &mut Tiles<T, (BM, BN)>,
) {
    matmul_then::<T, BM, BN, BK>(a, b, c, |acc| acc.relu());
}

pub(crate) fn main() -> tegula::Result<()> {
    let device = Device::best()?;
    let (m, n, k) = (500, 700, 300);
    let a: Vec<f32> = (0..m * k).map(|i| ((i * 31) % 17) as f32 - 8.0).collect();
    let b: Vec<f32> = (0..k * n).map(|i| ((i * 43) % 19) as f32 - 9.0).collect();
    let (x, y) = (device.tensor(&a, [m, k])?, device.tensor(&b, [k, n])?);
    let mut c = device.empty::<f32>([m, n])?;

    matmul(&x, &y, &mut c).launch()?;
    let product = c.to_vec()?;
    for (i, j) in [(0, 0), (m - 1, n - 1), (m / 2, n / 3)] {
        let want: f32 = (0..k).map(|p| a[i * k + p] * b[p * n + j]).sum();
        assert_eq!(product[i * n + j], want);
    }

    // Tensors can have any strides: `t()` is the transpose, without a copy.
    let (xt, yt) = (x.t()?, y.t()?);
    let mut ct = device.empty::<f32>([n, m])?;
    matmul(&yt, &xt, &mut ct).launch()?;
    assert_eq!(ct.t()?.to_vec()?, product);

    matmul_relu(&x, &y, &mut c).launch()?;
    assert!(c.to_vec()?.iter().zip(&product).all(|(r, p)| *r == p.max(0.0)));

    // Times with different tiles. What is best differs from device to device.
    for dims in [matmul::Dims { bm: 32, bn: 32, bk: 32 }, matmul::Dims { bm: 64, bn: 64, bk: 64 }] {
        matmul(&x, &y, &mut c).dims(dims).launch()?; // compiles
        let start = Instant::now();
        matmul(&x, &y, &mut c).dims(dims).launch()?;
        device.synchronize()?;
        let t = start.elapsed().as_secs_f64();
        println!("{}: {dims:?}: {:.1} GFLOP/s", device.name(), 2.0 * (m * n * k) as f64 / t / 1e9);
    }
    Ok(())
}
