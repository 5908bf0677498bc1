//! The kernels that the language's documentation starts with.

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
pub fn add<B: Dim>(x: &Tensor<f32, 1>, y: &Tensor<f32, 1>, out: &mut Tiles<f32, (B,)>) {
    let i = out.index();
    out.store(x.tile::<(B,)>(i).load() + y.tile::<(B,)>(i).load());
}

#[kernel]
pub fn matmul<T: Float, BM: Dim, BN: Dim, BK: Dim>(
    a: &Tensor<T, 2>,
    b: &Tensor<T, 2>,
    c: &mut Tiles<T, (BM, BN)>,
) {
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
fn they_build() {
    use tegula::kernel::BuildOptions;
    use tegula::kernel::Listed;
    for info in [add::Listing::INFO, matmul::Listing::INFO, softmax::Listing::INFO] {
        let f = info.build(&BuildOptions::default()).unwrap();
        println!("{f}");
    }
}
