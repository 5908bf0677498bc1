//! Tensors shared with other libraries by DLPack, without copies: here `ndarray`; NumPy, PyTorch and JAX speak it as
//! well. Run this with `cargo run --example dlpack`.

use dlpark::allocation::dynamic::Initialized;
use dlpark::ffi::DLManagedTensorVersioned;
use dlpark::versioned::Dlpack;
use ndarray::{Array2, ArrayView2};
use tegula::prelude::*;

#[kernel(defaults(R = 4, N = 64))]
pub(crate) fn hypotenuse<R: Dim, N: Dim>(x: &Tensor<f32, 2>, y: &Tensor<f32, 2>, out: &mut Tiles<f32, (R, N)>) {
    let index = out.index();
    let (a, b) = (x.tile::<(R, N)>(index).load(), y.tile::<(R, N)>(index).load());
    out.store((a * a + b * b).sqrt());
}

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Memory of `ndarray` is memory of the processor; a tensor of PyTorch on a GPU would be memory of `cuda:0`.
    let device = Device::open("cpu")?;

    // From the other library: the array itself goes into the DLPack tensor, which frees it in the end.
    let array = Array2::from_shape_fn((33, 70), |(i, j)| (3 * (i + j)) as f32);
    let address = array.as_ptr().addr();
    let initialized: Initialized<DLManagedTensorVersioned> = Box::new(array).try_into()?;
    // SAFETY: the description was made of the array by dlpark, and nobody else has the array now.
    let shared: Dlpack = unsafe { initialized.finish() };
    // SAFETY: `ndarray` is memory of the processor, and does nothing in the background.
    let x = unsafe { tegula::runtime::Tensor::<f32>::from_dlpack(&device, shared) }?;
    assert_eq!(x.address() as usize, address, "it lies where it was");

    let y = device.tensor(
        &Array2::from_shape_fn((33, 70), |(i, j)| (4 * (i + j)) as f32).into_raw_vec_and_offset().0,
        [33, 70],
    )?;
    let mut out = device.empty::<f32>([33, 70])?;
    hypotenuse(&x, &y, &mut out).launch()?;

    // And back: `to_dlpack` waits for the kernel, and keeps the memory as long as the other library needs it.
    let shared = out.to_dlpack()?;
    drop(out);
    let view = shared.validate()?;
    // SAFETY: the tensor is in the processor's memory, and nothing writes it any more.
    let values = unsafe { view.cpu_slice::<f32>() }?;
    let result = ArrayView2::from_shape((33, 70), values)?;
    assert!(result.indexed_iter().all(|((i, j), v)| *v == (5 * (i + j)) as f32));
    println!("33 x 70 values through DLPack and back, none copied: the last is {}", result[[32, 69]]);
    Ok(())
}
