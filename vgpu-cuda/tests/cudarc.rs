//! cudarc's safe layer, unmodified, on the stand-in.

mod support;

use cudarc::driver::sys::{CUgraphInstantiate_flags, CUresult, CUstreamCaptureMode};
use cudarc::driver::{CudaContext, CudaFunction, CudaStream, DriverError, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use std::sync::Arc;
use support::PTX;
use tegula_vgpu_driver::testing::under;

type Result<T = ()> = std::result::Result<T, DriverError>;

fn axpy(context: &Arc<CudaContext>) -> Result<CudaFunction> {
    context.load_module(Ptx::from_src(PTX))?.load_function("axpy")
}

/// Adds `a * x` to `y`, over blocks of 128 threads.
fn launch(
    stream: &Arc<CudaStream>,
    f: &CudaFunction,
    y: &mut cudarc::driver::CudaSlice<f32>,
    x: &cudarc::driver::CudaSlice<f32>,
    a: f32,
) -> Result {
    let n = x.len() as u32;
    let config = LaunchConfig { grid_dim: (n.div_ceil(128), 1, 1), block_dim: (128, 1, 1), shared_mem_bytes: 0 };
    // SAFETY: the kernel takes these arguments, and stays below `n`.
    unsafe { stream.launch_builder(f).arg(y).arg(x).arg(&a).arg(&n).launch(config)? };
    Ok(())
}

#[test]
fn two_streams_an_event_and_a_graph() -> Result {
    if !under("two_streams_an_event_and_a_graph", &[("VGPU_MODEL", "h200")]) {
        return Ok(());
    }
    let context = CudaContext::new(0)?;
    assert_eq!(context.name()?, "NVIDIA H200");
    assert_eq!(context.compute_capability()?, (9, 0));
    assert_eq!(CudaContext::device_count()?, 1);
    let f = axpy(&context)?;
    let (first, second) = (context.new_stream()?, context.new_stream()?);

    let n = 1000;
    let ones = first.clone_htod(&vec![1.0_f32; n])?;
    let mut sum = first.alloc_zeros::<f32>(n)?;
    launch(&first, &f, &mut sum, &ones, 2.0)?;
    let done = first.record_event(None)?;
    second.wait(&done)?;
    launch(&second, &f, &mut sum, &ones, 3.0)?;
    assert_eq!(second.clone_dtoh(&sum)?, vec![5.0; n]);
    assert!(done.is_complete());

    // A graph of a copy and two launches, run three times. Events of slices belong to what came before the capture.
    context.synchronize()?;
    // SAFETY: everything below is on one stream.
    unsafe { context.disable_event_tracking() };
    let f = axpy(&context)?;
    let ones = first.clone_htod(&vec![1.0_f32; n])?;
    let mut sum = first.alloc_zeros::<f32>(n)?;
    first.synchronize()?;
    first.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
    launch(&first, &f, &mut sum, &ones, 1.0)?;
    launch(&first, &f, &mut sum, &ones, 10.0)?;
    let graph =
        first.end_capture(CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH)?.expect("a graph");
    assert_eq!(first.clone_dtoh(&sum)?, vec![0.0; n], "capturing does nothing");
    for _ in 0..3 {
        graph.launch()?;
    }
    assert_eq!(first.clone_dtoh(&sum)?, vec![33.0; n]);
    Ok(())
}

#[test]
fn a_bad_launch_and_a_bad_module_are_errors() -> Result {
    if !under("a_bad_launch_and_a_bad_module_are_errors", &[("VGPU_MODEL", "a100")]) {
        return Ok(());
    }
    let context = CudaContext::new(0)?;
    assert_eq!(context.compute_capability()?, (8, 0));
    let stream = context.default_stream();
    let f = axpy(&context)?;
    let x = stream.clone_htod(&[1.0_f32; 8])?;
    let config = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (2048, 1, 1), shared_mem_bytes: 0 };
    // SAFETY: the launch is refused.
    let refused = unsafe { stream.launch_builder(&f).arg(&x).arg(&x).arg(&1.0_f32).arg(&8_u32).launch(config) };
    assert_eq!(refused.unwrap_err().0, CUresult::CUDA_ERROR_INVALID_VALUE);
    let config = LaunchConfig { block_dim: (32, 1, 1), shared_mem_bytes: 100 << 10, ..config };
    // SAFETY: the launch is refused.
    let refused = unsafe { stream.launch_builder(&f).arg(&x).arg(&x).arg(&1.0_f32).arg(&8_u32).launch(config) };
    assert_eq!(refused.unwrap_err().0, CUresult::CUDA_ERROR_INVALID_VALUE);

    let module = |text: String| context.load_module(Ptx::from_src(text)).map(drop).map_err(|error| error.0);
    let broken = PTX.replace("ret;", "return;");
    assert_eq!(module(broken), Err(CUresult::CUDA_ERROR_INVALID_PTX));
    assert_eq!(module(PTX.replace("sm_80", "sm_90a")), Err(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU));
    let missing = context.load_module(Ptx::from_src(PTX))?.load_function("absent").map(drop);
    assert_eq!(missing.map_err(|error| error.0), Err(CUresult::CUDA_ERROR_NOT_FOUND));
    stream.synchronize()
}
