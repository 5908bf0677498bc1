//! What a launch after the first costs.

use tegula_runtime::{Device, Launch, Result};

use crate::support::{numbers, on_stand_ins};
use crate::{allocations, kernels};

on_stand_ins!(null_launches ["VGPU_NULL_LAUNCH" = "1"] launches_allocate_nothing);

/// Launches after the first allocate nothing.
fn launches_allocate_nothing(device: &Device) -> Result<()> {
    let stream = device.stream()?;
    let x: Vec<_> = (0..9).map(|_| numbers(device, 1000)).collect::<Result<_>>()?;
    let mut out = device.empty::<f32>([1000])?;
    let mut launch = |n: usize| -> Result<()> {
        match n {
            0 => kernels::nothing().grid([1, 1, 1]).launch_on(&stream),
            4 => kernels::four(&x[0], &x[1], 2.0, &mut out)
                .dims(kernels::four::Dims { b: 128 })
                .warps(2)
                .launch_on(&stream),
            _ => kernels::nineteen(
                &x[0], &x[1], &x[2], &x[3], &x[4], &x[5], &x[6], &x[7], &x[8], 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7, 8, 9,
                &mut out,
            )
            .launch_on(&stream),
        }
    };
    for n in [0, 4, 19] {
        launch(n)?;
    }
    for n in [0, 4, 19] {
        let mut result = Ok(());
        let allocations = allocations::count(|| result = (0..100).try_for_each(|_| launch(n)));
        result?;
        assert_eq!(allocations, 0, "{n} arguments");
    }
    // The counter counts.
    assert_eq!(allocations::count(|| drop(std::hint::black_box(Box::new(1)))), 1);
    Ok(())
}
