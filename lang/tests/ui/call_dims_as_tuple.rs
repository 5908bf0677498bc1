// Sizes are given by name.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(y: &mut Tiles<f32, (N,)>) {
    y.store(zeros());
}

fn main() {
    use tegula_ir::exec::HostTensor;

    let mut y = HostTensor::zeros(ScalarType::F32, &[8]);
    let _ = k(&mut y).dims((64,));
}
