// A dim that the kernel does not have.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn scale<T: Float, N: Dim>(x: &Tensor<T, 1>, by: Scalar<T>, y: &mut Tiles<T, (N,)>) {
    y.store(x.tile::<(N,)>(y.index()).load() * by);
}

#[kernel]
fn other<M: Dim>(y: &mut Tiles<f32, (M,)>) {
    y.store(ones());
}

fn main() {
    use tegula_ir::exec::HostTensor;

    let x = HostTensor::zeros(ScalarType::F32, &[8]);
    let mut y = HostTensor::zeros(ScalarType::F32, &[8]);
    let _ = scale::<f32>(&x, 2.0, &mut y).dims(scale::Dims { k: 4 });
}
