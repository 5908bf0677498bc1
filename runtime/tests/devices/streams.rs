//! Streams, events and graphs.

use tegula_runtime::{Device, Launch, Result};

use crate::kernels;
use crate::support::{numbers, on_devices};

on_devices!(
    work_of_a_stream_is_done_in_order,
    events_order_streams_and_measure_time,
    graphs_are_captured_and_replayed,
    captures_that_fail_end,
    memory_outlives_the_work_that_uses_it,
    streams_are_dropped_with_work_in_flight,
);

fn work_of_a_stream_is_done_in_order(device: &Device) -> Result<()> {
    let stream = device.stream()?;
    let mut t = numbers(device, 100)?;
    for _ in 0..5 {
        kernels::affine(2.0, 1.0, &mut t).launch_on(&stream)?;
    }
    stream.synchronize()?;
    assert!(stream.is_idle()?);
    // x → 2x + 1, five times.
    assert!(t.to_vec()?.iter().enumerate().all(|(i, v)| *v == 32.0 * i as f32 + 31.0));
    Ok(())
}

fn events_order_streams_and_measure_time(device: &Device) -> Result<()> {
    let (a, b) = (device.stream()?, device.stream()?);
    let x = numbers(device, 200)?;
    let (mut y, mut z) = (device.empty::<f32>([200])?, device.empty::<f32>([200])?);
    let start = a.record()?;
    kernels::add(&x, &x, &mut y).launch_on(&a)?;
    let done = a.record()?;
    b.wait(&done)?;
    kernels::add(&y, &x, &mut z).launch_on(&b)?;
    let end = b.record()?;
    end.synchronize()?;
    assert!(end.is_done()? && done.is_done()?);
    assert!(z.to_vec()?.iter().enumerate().all(|(i, v)| *v == 3.0 * i as f32));
    let (first, both) = (done.elapsed_since(&start)?, end.elapsed_since(&start)?);
    assert!(first <= both, "{first:?} {both:?}");
    assert!(both.as_secs() < 60);
    Ok(())
}

fn graphs_are_captured_and_replayed(device: &Device) -> Result<()> {
    let stream = device.stream()?;
    let mut t = device.zeros::<f32>([64])?;
    let graph = {
        // Memory that only the graph knows afterwards.
        let ones = device.tensor(&[1.0f32; 64], [64])?;
        let mut sum = device.empty::<f32>([64])?;
        stream.capture(|s| {
            kernels::affine(3.0, 0.0, &mut t).launch_on(s)?;
            let before = t.clone();
            kernels::add(&before, &ones, &mut sum).launch_on(s)?;
            s.copy(&sum, &mut t)
        })?
    };
    assert_eq!(t.to_vec()?, [0.0; 64], "a capture does nothing");
    for _ in 0..4 {
        graph.replay(&stream)?;
    }
    // x → 3x + 1, four times from 0.
    assert_eq!(t.to_vec()?, [40.0; 64]);
    graph.clone().replay(&device.default_stream())?;
    drop(graph);
    assert_eq!(t.to_vec()?, [121.0; 64]);
    Ok(())
}

fn captures_that_fail_end(device: &Device) -> Result<()> {
    let stream = device.stream()?;
    let mut t = numbers(device, 64)?;
    let error = stream.capture(|s| s.synchronize()).expect_err("waiting in a capture");
    assert!(error.to_string().contains("graph"), "{error}");
    let error = device.default_stream().capture(|_| Ok(())).expect_err("the default stream");
    assert!(error.to_string().contains("device.stream()"), "{error}");
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| stream.capture(|_| panic!("as a test"))));
    assert!(panicked.is_err());
    // The stream works as before.
    kernels::affine(2.0, 0.0, &mut t).launch_on(&stream)?;
    stream.synchronize()?;
    assert_eq!(t.to_vec()?[63], 126.0);
    Ok(())
}

/// Handles are dropped right after the launch, and new tensors take the memory.
fn memory_outlives_the_work_that_uses_it(device: &Device) -> Result<()> {
    let n = 4096;
    let mut results = Vec::new();
    for round in 0..8 {
        let stream = device.stream()?;
        let mut out = device.empty::<f32>([n])?;
        {
            let x = device.tensor(&vec![round as f32; n], [n])?;
            let y = device.tensor(&vec![1.0f32; n], [n])?;
            kernels::add(&x, &y, &mut out).launch_on(&stream)?;
        }
        // Where the blocks were freed too early, these take them.
        let others = [device.tensor(&vec![-9.0f32; n], [n])?, device.tensor(&vec![-9.0f32; n], [n])?];
        drop(others);
        drop(stream);
        results.push(out);
    }
    for (round, out) in results.iter().enumerate() {
        assert_eq!(out.to_vec()?, vec![round as f32 + 1.0; n]);
    }
    Ok(())
}

fn streams_are_dropped_with_work_in_flight(device: &Device) -> Result<()> {
    let mut t = device.zeros::<f32>([256])?;
    for _ in 0..20 {
        let stream = device.stream()?;
        kernels::affine(1.0, 1.0, &mut t).launch_on(&stream)?;
        let done = stream.record()?;
        drop(stream);
        device.default_stream().wait(&done)?;
        kernels::affine(1.0, 1.0, &mut t).launch()?;
        device.synchronize()?;
    }
    assert_eq!(t.to_vec()?, [40.0; 256]);
    Ok(())
}
