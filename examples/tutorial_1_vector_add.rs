//! Tutorial 1: vector addition.
//!
//! A kernel is a function that many *programs* run at once, each on its own tile of the output. Run this with
//! `cargo run --release --example tutorial_1_vector_add`.

use tegula::prelude::*;

// `#[kernel]` turns the function into one that is compiled for a GPU or the CPU when it is first launched.
//
// - `T: Float` is the element type: f16, bf16, f32 or f64. The kernel is compiled for the ones it is launched with.
// - `B: Dim` is a *symbolic dim*: the extent of the tiles. It is part of the types, so that tiles of different extents
//   cannot be mixed up, but its size stays open: the launch (or a tuner) chooses it.
// - `&Tensor` is an input. `&mut Tiles<T, (B,)>` is an output cut into tiles of `B` elements. There is one program for
//   each tile, and a program can only write its own.
#[kernel(defaults(B = 1024))]
pub(crate) fn add<T: Float, B: Dim>(x: &Tensor<T, 1>, y: &Tensor<T, 1>, out: &mut Tiles<T, (B,)>) {
    // Which tile this program owns.
    let [i] = out.index();
    // `x.tile::<(B,)>(i)` is the i-th tile of `x`; `load` reads it. The last tile may reach beyond the end of the tensor:
    // what is outside reads as zero, and is not written. There is nothing to mask by hand.
    let sum = x.tile::<(B,)>(i).load() + y.tile::<(B,)>(i).load();
    out.store(sum);
}

pub(crate) fn main() -> tegula::Result<()> {
    // The fastest device there is. `Device::open("cpu")` asks for one by name.
    let device = Device::best()?;

    let n = 98_765;
    let a: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let b: Vec<f32> = (0..n).map(|i| 2.0 * i as f32).collect();
    let (x, y) = (device.tensor(&a, [n])?, device.tensor(&b, [n])?);
    let mut out = device.empty::<f32>([n])?;

    // Calling the kernel gives a call that can be configured; `launch` compiles it the first time, and runs it. The
    // number of programs follows from the output: 97 tiles of 1024 elements.
    add(&x, &y, &mut out).launch()?;

    // The same kernel with other tiles. `add::Dims` has a field for each symbolic dim.
    let mut again = device.empty::<f32>([n])?;
    add(&x, &y, &mut again).dims(add::Dims { b: 256 }).launch()?;

    let out = out.to_vec()?;
    assert_eq!(out, again.to_vec()?);
    assert!(out.iter().enumerate().all(|(i, &v)| v == 3.0 * i as f32));
    println!("{}: added {n} elements; the last is {}", device.name(), out[n - 1]);
    Ok(())
}
