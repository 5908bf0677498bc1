//! The `tegula` command over kernels of one's own: two kernels, and one line.
//!
//! ```text
//! cargo run --package tegula-cli --example own_kernels -- compile saxpy --target gfx942 --emit asm
//! cargo run --package tegula-cli --example own_kernels -- run row_sums --arg x=100x3000 --arg sums=100 --grid 100 --check
//! ```

use tegula::prelude::*;

/// `out = a · x + y`.
#[kernel(defaults(B = 1024))]
fn saxpy<B: Dim>(x: &Tensor<f32, 1>, y: &Tensor<f32, 1>, out: &mut Tiles<f32, (B,)>, a: Scalar<f32>) {
    let [i] = out.index();
    out.store(x.tile::<(B,)>(i).load() * a + y.tile::<(B,)>(i).load());
}

/// The sum of each row, `B` columns at a time; negated where that is asked for. One program a row.
#[kernel(defaults(B = 256))]
fn row_sums<T: Float, B: Dim>(x: &Tensor<T, 2>, sums: &mut Tensor<f32, 1>, #[comptime(default = false)] negated: bool) {
    let i = program_id(0);
    let mut sum = zeros::<f32, (Const<1>,)>();
    for j in 0..x.tiles::<B>(1) {
        sum = sum + x.tile::<(Const<1>, B)>([i, j]).load().cast::<f32>().sum::<1>();
    }
    sums.tile_mut::<(Const<1>,)>(i).store(if negated { -sum } else { sum });
}

tegula_cli::cli![saxpy, row_sums];
