//! Tutorial 4: dropout with random numbers that need no memory.
//!
//! Dropout zeroes each element with probability `p`. Storing the mask costs as much memory as the tensor; a random
//! number that is a function of a seed and the element's index can be computed again whenever it is needed. Run this with
//! `cargo run --release --example tutorial_4_dropout`.

use tegula::prelude::*;

// Numbers are passed as `Scalar<T>`: a value known when the kernel runs.
#[kernel(defaults(B = 1024))]
pub(crate) fn dropout<T: Float, B: Dim>(x: &Tensor<T, 1>, y: &mut Tiles<T, (B,)>, p: Scalar<f32>, seed: Scalar<u64>) {
    let [i] = y.index();
    // The index of each element of the tile in the tensor.
    let element = arange::<i64, (B,)>() + i * B::size();
    // Uniform in 0..1, by Philox 4x32-10: the same for the same seed and index, on every device.
    let keep = rand(seed, element) >= p;
    let scale = (1.0 - p).recip().cast::<T>();
    let v = x.tile::<(B,)>(i).load();
    // `select` chooses element by element; an `if` chooses for the whole program.
    y.store(select(keep, v * scale, 0.0));
}

pub(crate) fn main() -> tegula::Result<()> {
    let device = Device::best()?;
    let n = 1_000_000;
    let x = device.tensor(&vec![1f32; n], [n])?;
    let mut y = device.empty::<f32>([n])?;

    dropout(&x, &mut y, 0.25, 42).launch()?;
    let first = y.to_vec()?;
    let kept = first.iter().filter(|&&v| v != 0.0).count();
    println!("{}: kept {:.3} of the elements with p = 0.25", device.name(), kept as f64 / n as f64);
    assert!((kept as f64 / n as f64 - 0.75).abs() < 0.005);

    // The same seed gives the same mask; another seed another one.
    dropout(&x, &mut y, 0.25, 42).launch()?;
    assert_eq!(y.to_vec()?, first);
    dropout(&x, &mut y, 0.25, 43).launch()?;
    assert_ne!(y.to_vec()?, first);
    Ok(())
}
