//! A program whose kernels are compiled when it is built: it runs without LLVM.

mod kernels;

use tegula::prelude::*;
use tegula::{Error, Result};

fn main() -> Result<()> {
    tegula::embed!();
    let device = Device::open("cpu")?;

    // Extents of 100 are no multiples of 16, those of 2048 are: each takes code compiled for such arguments.
    for n in [100usize, 2048] {
        let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let tensor = device.tensor(&x, [n])?;
        let mut y = device.tensor(&vec![1.0f32; n], [n])?;
        kernels::saxpy::<f32>(2.0, &tensor, &mut y).launch()?;
        assert!(y.to_vec()?.iter().zip(&x).all(|(y, x)| *y == 2.0 * x + 1.0), "saxpy of {n}");
    }

    let x = device.tensor(&(0..300).map(|i| (i % 7) as f32).collect::<Vec<_>>(), [3, 100])?;
    let mut y = device.empty::<f32>([3, 100])?;
    kernels::softmax::<f32>(&x, &mut y).dims(kernels::softmax::Dims { r: 1, n: 256 }).launch()?;
    let sums: Vec<f32> = y.to_vec()?.chunks(100).map(|row| row.iter().sum()).collect();
    assert!(sums.iter().all(|s| (s - 1.0).abs() < 1e-5), "softmax: {sums:?}");

    let origins = device.kernel_origins();
    println!("embedded {}, compiled {}", origins.embedded, origins.compiled);

    // Other sizes than those embedded need the compiler.
    let other = kernels::softmax::<f32>(&x, &mut y).dims(kernels::softmax::Dims { r: 2, n: 128 }).launch();
    match other {
        Ok(()) => println!("compiled the other sizes"),
        Err(e @ Error::NoCompiler { .. }) => println!("{e}"),
        Err(e) => return Err(e),
    }
    Ok(())
}
