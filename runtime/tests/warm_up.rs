//! Kernels that are compiled before they are launched.

use tegula_runtime::{Config, Device, Launch, WarmUp};

mod kernels {
    pub use tegula_lang::prelude::*;
    pub use tegula_macros::kernel;

    #[kernel(crate = tegula_lang, defaults(R = 1, N = 64))]
    pub fn scale<R: Dim, N: Dim>(x: &Tensor<f32, 2>, out: &mut Tiles<f32, (R, N)>) {
        let [i, j] = out.index();
        out.store(x.tile::<(R, N)>([i, j]).load() * 3.0);
    }
}

use kernels::scale;

#[test]
fn what_was_warmed_up_is_not_compiled_again_and_failures_are_collected() {
    let device = Device::open("cpu").expect("there is a CPU");
    let dims = |r, n| Config::new().dims(scale::Dims { r, n });
    let kernel = scale::Kernel::<(), ()>::new(());
    let made = || {
        let origins = device.kernel_origins();
        origins.compiled + origins.disk
    };
    let error =
        kernel.warm_up(&device, [dims(2, 64), dims(1, 0), Config::new(), dims(0, 0)]).expect_err("0 is no size");
    assert_eq!(error.failures.len(), 2);
    let text = error.to_string();
    assert!(text.contains("2 configurations") && text.contains("dims [1, 0]") && text.contains("scale"), "{text}");
    assert_eq!(made(), 2);

    let x = device.tensor(&[1.0f32; 32 * 64], [32, 64]).expect("memory");
    let mut out = device.empty::<f32>([32, 64]).expect("memory");
    scale(&x, &mut out).launch().expect("it runs");
    scale(&x, &mut out).dims(scale::Dims { r: 2, n: 64 }).launch().expect("it runs");
    assert_eq!(out.to_vec().expect("the copy works"), [3.0; 32 * 64]);
    assert_eq!(made(), 2, "both launches found their kernels");
    kernel.warm_up(&device, [dims(2, 64)]).expect("it is there");
    assert_eq!(made(), 2);
}
