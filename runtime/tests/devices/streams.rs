//! Streams, events and graphs.

use tegula_runtime::{Device, Launch, Result};

use crate::kernels;
use crate::support::{numbers, on_devices, on_stand_ins};

on_devices!(
    work_of_a_stream_is_done_in_order,
    events_order_streams_and_measure_time,
    graphs_are_captured_and_replayed,
    graphs_of_several_streams,
    events_of_a_graph_do_not_happen_outside,
    graphs_copy_pinned_memory,
    captures_that_fail_end,
    memory_outlives_the_work_that_uses_it,
    streams_are_dropped_with_work_in_flight,
    bits_of_streams_are_used_again,
    leaked_handles_do_no_harm,
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

/// Work forks into a second stream and joins again; the second one's handle is dropped meanwhile.
fn graphs_of_several_streams(device: &Device) -> Result<()> {
    let stream = device.stream()?;
    let x = numbers(device, 64)?;
    let (mut a, mut b) = (device.zeros::<f32>([64])?, device.zeros::<f32>([64])?);
    let mut c = device.zeros::<f32>([64])?;
    let mut sum = device.zeros::<f32>([64])?;
    let graph = stream.capture(|s| {
        kernels::add(&x, &x, &mut a).launch_on(s)?;
        let forked = s.record()?;
        let joined = {
            let second = device.stream()?;
            second.wait(&forked)?;
            kernels::add(&a, &x, &mut b).launch_on(&second)?;
            second.record()?
        };
        // Beside the work of the second stream.
        kernels::add(&a, &a, &mut c).launch_on(s)?;
        s.wait(&joined)?;
        kernels::add(&b, &c, &mut sum).launch_on(s)
    })?;
    assert_eq!(sum.to_vec()?, [0.0; 64], "a capture does nothing");
    drop((a, b, c));
    for replayed_in in [&stream, &device.default_stream()] {
        // The stream is free for other work.
        kernels::affine(0.0, 0.0, &mut sum).launch_on(&stream)?;
        stream.synchronize()?;
        graph.replay(replayed_in)?;
        assert!(sum.to_vec()?.iter().enumerate().all(|(i, v)| *v == 7.0 * i as f32));
    }
    Ok(())
}

fn events_of_a_graph_do_not_happen_outside(device: &Device) -> Result<()> {
    let (stream, other) = (device.stream()?, device.stream()?);
    let before = stream.record()?;
    let mut inside = None;
    let graph = stream.capture(|s| {
        let error = s.wait(&before).expect_err("an event from before");
        assert!(error.to_string().contains("before the capture"), "{error}");
        inside = Some(s.record()?);
        Ok(())
    })?;
    graph.replay(&stream)?;
    let inside = inside.expect("the capture ran");
    for error in [inside.synchronize(), inside.is_done().map(drop), inside.elapsed_since(&before).map(drop)] {
        let error = error.expect_err("it does not happen").to_string();
        assert!(error.contains("part of a graph"), "{error}");
    }
    let error = other.wait(&inside).expect_err("the capture has ended");
    assert!(error.to_string().contains("has ended"), "{error}");
    let error = stream
        .capture(|s| {
            let event = s.record()?;
            device.default_stream().wait(&event)
        })
        .err()
        .map(|error| error.to_string());
    // A GPU's default stream is none that could be captured.
    let is_gpu = device.name().contains(':');
    assert_eq!(error.is_some_and(|e| e.contains("default stream")), is_gpu);
    before.synchronize()?;
    device.default_stream().synchronize()
}

fn graphs_copy_pinned_memory(device: &Device) -> Result<()> {
    let n = 200;
    let stream = device.stream()?;
    let mut input = device.pinned::<f32>(n)?;
    let mut output = device.pinned::<f32>(n)?;
    let mut t = device.zeros::<f32>([n])?;
    let graph = stream.capture(|s| {
        s.upload(&input, &mut t)?;
        kernels::affine(2.0, 1.0, &mut t).launch_on(s)?;
        s.download(&t, &mut output)
    })?;
    assert!(output.as_slice()?.iter().all(|v| *v == 0.0), "a capture does nothing");
    for round in 0..3 {
        input.as_mut_slice()?.fill(round as f32);
        graph.replay(&stream)?;
        // Looking at it waits for the replay.
        assert!(output.as_slice()?.iter().all(|v| *v == 2.0 * round as f32 + 1.0), "round {round}");
    }
    // The graph does not change what someone looks at.
    let seen = output.as_slice()?;
    let error = graph.replay(&stream).expect_err("the output is being looked at");
    assert!(error.to_string().contains("as_slice"), "{error}");
    assert_eq!(seen[n - 1], 5.0);
    drop(seen);
    let changed = input.as_mut_slice()?;
    assert!(graph.replay(&stream).is_err(), "the input is being changed");
    drop(changed);
    let reading = input.as_slice()?;
    graph.replay(&stream)?;
    drop(reading);
    // The graph keeps the memory.
    drop((input, output));
    graph.replay(&stream)?;
    drop(graph);
    assert_eq!(t.to_vec()?, vec![5.0; n]);
    Ok(())
}

/// Streams that come and go, and more at a time than a block has bits for.
fn bits_of_streams_are_used_again(device: &Device) -> Result<()> {
    let mut t = device.zeros::<f32>([64])?;
    let streams = (0..70).map(|_| device.stream()).collect::<Result<Vec<_>>>()?;
    let mut before = device.default_stream().record()?;
    for stream in &streams {
        stream.wait(&before)?;
        kernels::affine(1.0, 1.0, &mut t).launch_on(stream)?;
        before = stream.record()?;
    }
    drop(streams);
    for _ in 0..10 {
        // It uses a block that streams before it used, and one that is new.
        let stream = device.stream()?;
        let ones = device.tensor(&[1.0f32; 64], [64])?;
        let old = t.clone();
        stream.wait(&before)?;
        kernels::add(&old, &ones, &mut t).launch_on(&stream)?;
        before = stream.record()?;
    }
    assert_eq!(t.to_vec()?, [80.0; 64]);
    Ok(())
}

fn leaked_handles_do_no_harm(device: &Device) -> Result<()> {
    let mut out = device.zeros::<f32>([256])?;
    for _ in 0..3 {
        let stream = device.stream()?;
        let x = numbers(device, 256)?;
        let mut host = device.pinned::<f32>(256)?;
        kernels::add(&x, &x, &mut out).launch_on(&stream)?;
        stream.download(&out, &mut host)?;
        let event = stream.record()?;
        let looking = device.pinned::<f32>(8)?;
        std::mem::forget(looking.as_slice()?);
        std::mem::forget((stream, x, host, event, looking));
    }
    device.synchronize()?;
    assert!(out.to_vec()?.iter().enumerate().all(|(i, v)| *v == 2.0 * i as f32));
    Ok(())
}

on_stand_ins!(in_the_driver [] a_stream_that_is_not_joined_again);

fn a_stream_that_is_not_joined_again(device: &Device) -> Result<()> {
    let (stream, second) = (device.stream()?, device.stream()?);
    let mut t = numbers(device, 64)?;
    let error = stream
        .capture(|s| {
            second.wait(&s.record()?)?;
            kernels::affine(2.0, 0.0, &mut t).launch_on(&second)
        })
        .expect_err("the second stream goes on");
    assert!(error.to_string().contains("not joined again"), "{error}");
    // Both streams work as before.
    kernels::affine(2.0, 0.0, &mut t).launch_on(&second)?;
    stream.wait(&second.record()?)?;
    kernels::affine(2.0, 0.0, &mut t).launch_on(&stream)?;
    assert_eq!(t.to_vec()?[63], 252.0);
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
