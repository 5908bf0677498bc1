//! t
use tegula::prelude::*;

#[kernel(defaults(R = 1, N = 1024))]
fn softmax<T: Float, R: Dim, N: Dim>(x: &Tensor<T, 2>, y: &mut Tiles<T, (R, N)>) {
    let [i, j] = y.index();                                    // the tile that this program owns
    let v = x.tile::<(R, N)>([i, j]).load_or(f32::NEG_INFINITY).cast::<T::Acc>();
    let e = (v - v.max::<1>().expand::<1>()).exp();
    y.store((e / e.sum::<1>().expand::<1>()).cast());          // bounds are checked; nothing to mask by hand
}

fn main() -> tegula::Result<()> {
    let device = Device::best()?;
    let x = device.tensor(&vec![1.0f32; 1823 * 781], [1823, 781])?;
    let mut y = device.empty::<f32>([1823, 781])?;
    softmax(&x, &mut y).launch()?;                             // compiled just in time; the grid follows from `y`
    println!("{}", y.to_vec()?[0]);
    Ok(())
}

mod intro {
use tegula::prelude::*;

#[kernel]
pub fn softmax<T: Float, R: Dim, N: Dim>(x: &Tensor<T, 2>, y: &mut Tiles<T, (R, N)>) {
    let i = y.index();
    let v = x.tile::<(R, N)>(i).load_or(f32::NEG_INFINITY).cast::<f32>();
    let e = (v - v.max::<1>().expand::<1>()).exp();
    y.store((e / e.sum::<1>().expand::<1>()).cast());
}
}
