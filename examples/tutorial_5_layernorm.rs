//! Tutorial 5: layer normalisation, forward and backward.
//!
//! Two ways of reducing: within a row, which one program holds, and over rows, where programs meet in memory and add
//! atomically. Run this with `cargo run --release --example tutorial_5_layernorm`.

use tegula::prelude::*;

/// `y = (x - mean) * rstd * weight + bias`; also stores the mean and the reciprocal of the standard deviation.
#[kernel(defaults(R = 1, N = 1024))]
pub(crate) fn layernorm<R: Dim, N: Dim>(
    x: &Tensor<f32, 2>,
    weight: &Tensor<f32, 1>,
    bias: &Tensor<f32, 1>,
    y: &mut Tiles<f32, (R, N)>,
    mean_out: &mut Tiles<f32, (R,)>,
    rstd_out: &mut Tiles<f32, (R,)>,
    eps: Scalar<f32>,
) {
    let [i, j] = y.index();
    let n = x.extent(1).cast::<f32>();
    let v = x.tile::<(R, N)>([i, j]).load();
    let mean = v.sum::<1>() / n;
    // The tile may be wider than the row. Its extra columns are zero in `v`, but not in `v - mean`.
    let inside = (arange::<i64, (N,)>() < x.extent(1)).expand::<0>();
    let d = select(inside, v - mean.expand::<1>(), 0.0);
    let variance = (d * d).sum::<1>() / n;
    let rstd = (variance + eps).sqrt().recip();
    let (w, b) = (weight.tile::<(N,)>(j).load(), bias.tile::<(N,)>(j).load());
    y.store(d * rstd.expand::<1>() * w.expand::<0>() + b.expand::<0>());
    mean_out.store(mean);
    rstd_out.store(rstd);
}

/// Gradients of the input, and of weight and bias. The latter sum over rows, which belong to different programs: they
/// are `&mut Tensor`, written at explicit places, here by atomic addition.
#[kernel(defaults(R = 1, N = 1024))]
pub(crate) fn layernorm_backward<R: Dim, N: Dim>(
    dy: &Tensor<f32, 2>,
    x: &Tensor<f32, 2>,
    weight: &Tensor<f32, 1>,
    mean: &Tensor<f32, 1>,
    rstd: &Tensor<f32, 1>,
    dx: &mut Tiles<f32, (R, N)>,
    dweight: &mut Tensor<f32, 1>,
    dbias: &mut Tensor<f32, 1>,
) {
    let [i, j] = dx.index();
    let n = x.extent(1).cast::<f32>();
    let inside = (arange::<i64, (N,)>() < x.extent(1)).expand::<0>();
    let rstd = rstd.tile::<(R,)>(i).load().expand::<1>();
    let mean = mean.tile::<(R,)>(i).load().expand::<1>();
    let hat = select(inside, (x.tile::<(R, N)>([i, j]).load() - mean) * rstd, 0.0);
    let dy = dy.tile::<(R, N)>([i, j]).load();
    let wdy = dy * weight.tile::<(N,)>(j).load().expand::<0>();
    let c1 = (hat * wdy).sum::<1>() / n;
    let c2 = wdy.sum::<1>() / n;
    dx.store((wdy - hat * c1.expand::<1>() - c2.expand::<1>()) * rstd);
    dweight.tile_mut::<(N,)>(j).atomic().fetch_add((dy * hat).sum::<0>());
    dbias.tile_mut::<(N,)>(j).atomic().fetch_add(dy.sum::<0>());
}

pub(crate) fn main() -> tegula::Result<()> {
    let device = Device::best()?;
    let (m, n) = (151, 300);
    let data: Vec<f32> = (0..m * n).map(|i| ((i * 37) % 101) as f32 / 25.0 - 2.0).collect();
    let w: Vec<f32> = (0..n).map(|i| 1.0 + i as f32 / n as f32).collect();
    let (x, weight) = (device.tensor(&data, [m, n])?, device.tensor(&w, [n])?);
    let bias = device.zeros::<f32>([n])?;
    let mut y = device.empty::<f32>([m, n])?;
    let (mut mean, mut rstd) = (device.empty::<f32>([m])?, device.empty::<f32>([m])?);
    layernorm(&x, &weight, &bias, &mut y, &mut mean, &mut rstd, 1e-5).launch()?;

    // With weight divided out, each row has mean 0 and variance 1.
    let row: Vec<f32> = y.to_vec()?[..n].iter().zip(&w).map(|(y, w)| y / w).collect();
    let mu = row.iter().sum::<f32>() / n as f32;
    let variance = row.iter().map(|v| (v - mu).powi(2)).sum::<f32>() / n as f32;
    println!("{}: first row: mean {mu:.1e}, variance {variance:.4}", device.name());
    assert!(mu.abs() < 1e-5 && (variance - 1.0).abs() < 1e-3);

    let dy = device.tensor(&vec![1f32; m * n], [m, n])?;
    let mut dx = device.empty::<f32>([m, n])?;
    let (mut dweight, mut dbias) = (device.zeros::<f32>([n])?, device.zeros::<f32>([n])?);
    layernorm_backward(&dy, &x, &weight, &mean, &rstd, &mut dx, &mut dweight, &mut dbias).launch()?;
    // With `dy` all ones, the gradient of the bias is the number of rows, and that of the weight the sum of the normalised
    // rows, which are `y / weight`.
    assert!(dbias.to_vec()?.iter().all(|&v| v == m as f32));
    let (y, dweight) = (y.to_vec()?, dweight.to_vec()?);
    for (j, (dw, w)) in dweight.iter().zip(&w).enumerate() {
        let want: f32 = (0..m).map(|i| y[i * n + j] / w).sum();
        assert!((dw - want).abs() < 1e-3, "column {j}: {dw}, not {want}");
    }
    // The result does not change when a constant is added to a row, so its gradient sums to zero along it.
    let sum: f32 = dx.to_vec()?[..n].iter().sum();
    println!("{}: gradient of the first row sums to {sum:.1e}", device.name());
    assert!(sum.abs() < 1e-3);
    Ok(())
}
