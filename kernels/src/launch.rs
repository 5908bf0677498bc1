//! Kernels that do hardly anything: what their launch costs is measured. They are not in the library's list.

use tegula::prelude::*;
use tegula::runtime::{self, Config, Stream};
use tegula::{Device, Result};

/// The numbers of arguments that there is a kernel for.
pub const ARGUMENTS: [usize; 3] = [0, 4, 19];

/// Does nothing, without arguments.
#[kernel]
pub fn nothing() {}

/// Four arguments.
#[kernel(defaults(B = 64))]
pub fn four<B: Dim>(x: &Tensor<f32, 1>, y: &Tensor<f32, 1>, a: Scalar<f32>, out: &mut Tiles<f32, (B,)>) {
    let i = out.index();
    out.store(x.tile::<(B,)>(i).load() * a + y.tile::<(B,)>(i).load());
}

/// Nineteen arguments: nine tensors, nine numbers, an output.
#[kernel(defaults(B = 64))]
pub fn nineteen<B: Dim>(
    x0: &Tensor<f32, 1>,
    x1: &Tensor<f32, 1>,
    x2: &Tensor<f32, 1>,
    x3: &Tensor<f32, 1>,
    x4: &Tensor<f32, 1>,
    x5: &Tensor<f32, 1>,
    x6: &Tensor<f32, 1>,
    x7: &Tensor<f32, 1>,
    x8: &Tensor<f32, 1>,
    a0: Scalar<f32>,
    a1: Scalar<f32>,
    a2: Scalar<f32>,
    a3: Scalar<f32>,
    a4: Scalar<f32>,
    a5: Scalar<f32>,
    a6: Scalar<i32>,
    a7: Scalar<i32>,
    a8: Scalar<i64>,
    out: &mut Tiles<f32, (B,)>,
) {
    let i = out.index();
    let t = |x: &Tensor<f32, 1>| x.tile::<(B,)>(i).load();
    let n = (a6 + a7).cast::<f32>() + a8.cast::<f32>();
    let sum = t(x0) * a0 + t(x1) * a1 + t(x2) * a2 + t(x3) * a3 + t(x4) * a4 + t(x5) * a5;
    out.store(sum + t(x6) + t(x7) + t(x8) + n);
}

/// What the kernels are launched on.
pub struct Arguments {
    device: Device,
    x: [runtime::Tensor<f32>; 9],
    out: runtime::Tensor<f32>,
}

impl Arguments {
    /// Tensors of a device.
    ///
    /// # Errors
    /// If the device has no memory for them.
    pub fn new(device: &Device) -> Result<Self> {
        let tensor = || device.zeros::<f32>([1000]);
        let x = (0..9).map(|_| tensor()).collect::<Result<Vec<_>>>()?;
        let x = x.try_into().unwrap_or_else(|_| unreachable!("there are nine"));
        Ok(Self { device: device.clone(), x, out: tensor()? })
    }

    /// Launches the kernel with this number of arguments, one of [`ARGUMENTS`].
    ///
    /// # Errors
    /// Those of a launch.
    pub fn launch(&mut self, count: usize, stream: &Stream) -> Result<()> {
        let [x0, x1, x2, x3, x4, x5, x6, x7, x8] = &self.x;
        let out = &mut self.out;
        match count {
            0 => nothing().grid([1, 1, 1]).launch_on(stream),
            4 => four(x0, x1, 2.0, out).launch_on(stream),
            _ => nineteen(x0, x1, x2, x3, x4, x5, x6, x7, x8, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7, 8, 9, out)
                .launch_on(stream),
        }
    }

    /// Compiles what [`Self::launch`] launches.
    ///
    /// # Errors
    /// If it cannot be compiled.
    pub fn warm_up(&mut self, count: usize) -> Result<()> {
        let [x0, x1, x2, x3, x4, x5, x6, x7, x8] = &self.x;
        let out = &mut self.out;
        match count {
            // Without tensors a call does not say where it belongs.
            0 => nothing::Kernel::<(), ()>::new(())
                .warm_up(&self.device, [Config::new()])
                .map_err(|mut e| e.failures.remove(0).1),
            4 => four(x0, x1, 2.0, out).warm_up(),
            _ => nineteen(x0, x1, x2, x3, x4, x5, x6, x7, x8, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7, 8, 9, out).warm_up(),
        }
    }
}
