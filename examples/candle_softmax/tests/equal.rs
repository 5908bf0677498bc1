//! Values equal candle's own, for every float type and for strided inputs.

use candle_core::{DType, Device, Result, Tensor};
use candle_softmax::{SoftmaxLastDim, softmax_last_dim};

fn largest_difference(a: &Tensor, b: &Tensor) -> Result<f64> {
    assert_eq!(a.shape(), b.shape());
    assert_eq!(a.dtype(), b.dtype());
    let difference = (a.to_dtype(DType::F64)? - b.to_dtype(DType::F64)?)?.abs()?;
    difference.flatten_all()?.max(0)?.to_scalar()
}

#[test]
fn equal_to_candle() -> Result<()> {
    let op = SoftmaxLastDim::new()?;
    for shape in [&[1, 1][..], &[3, 7], &[5, 65], &[2, 3, 1000], &[1031], &[2, 1, 4, 63]] {
        for (dtype, bound) in [(DType::F32, 1e-6), (DType::F64, 1e-14), (DType::F16, 2e-3), (DType::BF16, 1e-2)] {
            let x = Tensor::randn(0f64, 4.0, shape, &Device::Cpu)?.to_dtype(dtype)?;
            let ours = x.apply_op1_no_bwd(&op)?;
            // In double precision: candle sums the halves themselves.
            let theirs = candle_nn::ops::softmax_last_dim(&x.to_dtype(DType::F64)?)?.to_dtype(dtype)?;
            let difference = largest_difference(&ours, &theirs)?;
            assert!(difference <= bound, "{shape:?} {dtype:?}: {difference:e}");
        }
    }
    Ok(())
}

#[test]
fn strided_inputs_are_read_in_place() -> Result<()> {
    let x = Tensor::randn(0f32, 4.0, (6, 40), &Device::Cpu)?;
    for view in [x.t()?, x.narrow(1, 3, 20)?, x.narrow(0, 2, 3)?, x.t()?.narrow(0, 5, 7)?] {
        let ours = softmax_last_dim(&view)?;
        let theirs = candle_nn::ops::softmax_last_dim(&view.contiguous()?)?;
        assert!(largest_difference(&ours, &theirs)? <= 1e-6, "{:?}", view.layout());
    }
    Ok(())
}

#[test]
fn what_does_not_fit_is_an_error() -> Result<()> {
    let integers = Tensor::zeros((2, 3), DType::I64, &Device::Cpu)?;
    assert!(softmax_last_dim(&integers).is_err_and(|e| e.to_string().contains("floating point")));
    let uneven = Tensor::zeros((2, 3, 4), DType::F32, &Device::Cpu)?.transpose(0, 1)?;
    assert!(softmax_last_dim(&uneven).is_err_and(|e| e.to_string().contains("contiguous")));
    assert_eq!(softmax_last_dim(&Tensor::zeros((0, 3), DType::F32, &Device::Cpu)?)?.dims(), [0, 3]);
    Ok(())
}
