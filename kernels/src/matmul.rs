//! Matrix products: plain, with bias and activation, with `B` stored transposed, batched, and split along K.

use strum::EnumString;
use tegula::prelude::*;

/// What the tuner may choose for a product.
const TILES: Tuning = tuning!(
    BM = [32, 64, 128],
    BN = [32, 64, 128, 256],
    BK = [32, 64, 128],
    warps = [4, 8],
    stages = [2, 3],
    when(BM * BN >= 32 * 64),
    when(BM * BN <= 128 * 128)
);

/// The product of row block `i` of `a` and column block `j` of `b`, accumulated along K.
#[device]
fn product<T: Float, BM: Dim, BN: Dim, BK: Dim>(
    a: &Tensor<T, 2>,
    b: &Tensor<T, 2>,
    i: Scalar<i64>,
    j: Scalar<i64>,
) -> Tile<T::Acc, (BM, BN)> {
    let mut acc = zeros::<T::Acc, (BM, BN)>();
    for k in 0..a.tiles::<BK>(1) {
        acc = dot(a.tile::<(BM, BK)>([i, k]).load(), b.tile::<(BK, BN)>([k, j]).load(), acc);
    }
    acc
}

/// `c = a · b` for `a` of M×K and `b` of K×N, with any strides.
#[kernel(defaults(BM = 64, BN = 64, BK = 32), tune = TILES)]
pub fn matmul<T: Float, BM: Dim, BN: Dim, BK: Dim>(a: &Tensor<T, 2>, b: &Tensor<T, 2>, c: &mut Tiles<T, (BM, BN)>) {
    let [i, j] = c.index();
    c.store(product::<T, BM, BN, BK>(a, b, i, j).cast());
}

/// `c = a · bᵀ` for `b` stored as N×K.
#[kernel(defaults(BM = 64, BN = 64, BK = 32), tune = TILES)]
pub fn matmul_nt<T: Float, BM: Dim, BN: Dim, BK: Dim>(a: &Tensor<T, 2>, b: &Tensor<T, 2>, c: &mut Tiles<T, (BM, BN)>) {
    let [i, j] = c.index();
    c.store(product::<T, BM, BN, BK>(a, &b.transpose(), i, j).cast());
}

/// What is done to a product before it is stored: an activation, chosen when the kernel is built.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum Activation {
    /// Nothing.
    #[default]
    Identity,
    /// `max(x, 0)`.
    Relu,
    /// [`Tile::gelu`].
    Gelu,
    /// [`Tile::silu`].
    Silu,
}

/// A product with an epilogue: any function of the accumulated tile and its coordinates.
#[device]
fn matmul_with<T: Float, BM: Dim, BN: Dim, BK: Dim>(
    a: &Tensor<T, 2>,
    b: &Tensor<T, 2>,
    c: &mut Tiles<T, (BM, BN)>,
    epilogue: impl Fn(Tile<T::Acc, (BM, BN)>, Scalar<i64>) -> Tile<T::Acc, (BM, BN)>,
) {
    let [i, j] = c.index();
    c.store(epilogue(product::<T, BM, BN, BK>(a, b, i, j), j).cast());
}

/// `c = activation(a · b + bias)`, the bias one value a column.
#[kernel(defaults(BM = 64, BN = 64, BK = 32), tune = TILES)]
pub fn matmul_bias<T: Float, BM: Dim, BN: Dim, BK: Dim>(
    a: &Tensor<T, 2>,
    b: &Tensor<T, 2>,
    bias: &Tensor<T, 1>,
    c: &mut Tiles<T, (BM, BN)>,
    #[comptime] activation: Activation,
) {
    matmul_with::<T, BM, BN, BK>(a, b, c, |acc, j| {
        let x = acc + bias.tile::<(BN,)>(j).load().cast::<T::Acc>().expand::<0>();
        match activation {
            Activation::Identity => x,
            Activation::Relu => x.relu(),
            Activation::Gelu => x.gelu(),
            Activation::Silu => x.silu(),
        }
    });
}

/// `c[n] = a[n] · b[n]` for each of a batch of matrices.
#[kernel(defaults(BM = 64, BN = 64, BK = 32), tune = TILES)]
pub fn matmul_batched<T: Float, BM: Dim, BN: Dim, BK: Dim>(
    a: &Tensor<T, 3>,
    b: &Tensor<T, 3>,
    c: &mut Tiles<T, (Const<1>, BM, BN)>,
) {
    let [n, i, j] = c.index();
    let acc = product::<T, BM, BN, BK>(&a.at_axis(0, n), &b.at_axis(0, n), i, j);
    c.store(acc.cast::<T>().reshape::<(Const<1>, BM, BN)>());
}

/// `c += a · b`, the sum along K cut into pieces that programs compute at the same time and add atomically. The grid is
/// (tiles of `c`, pieces); `c` starts at zero.
#[kernel(defaults(BM = 64, BN = 64, BK = 32))]
pub fn matmul_split_k<T: Float, BM: Dim, BN: Dim, BK: Dim>(a: &Tensor<T, 2>, b: &Tensor<T, 2>, c: &mut Tensor<f32, 2>) {
    let columns = c.tiles::<BN>(1);
    let (i, j) = (program_id(0) / columns, program_id(0) % columns);
    let mut acc = zeros::<f32, (BM, BN)>();
    for k in (program_id(1)..a.tiles::<BK>(1)).step_by(num_programs(1)) {
        acc = dot(a.tile::<(BM, BK)>([i, k]).load(), b.tile::<(BK, BN)>([k, j]).load(), acc);
    }
    c.tile_mut::<(BM, BN)>([i, j]).atomic().fetch_add(acc);
}
