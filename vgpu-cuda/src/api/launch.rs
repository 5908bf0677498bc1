//! Launches.

use crate::abi::{Handle, LaunchConfig};
use crate::entry::{In, c_interface};
use crate::state::{event, function, stream};
use crate::status::Outcome;
use std::ffi::{c_uint, c_void};
use std::sync::Arc;
use tegula_vgpu::launch::Argument;
use tegula_vgpu_driver::capture;
use tegula_vgpu_driver::code::Kernel;
use tegula_vgpu_driver::ffi;
use tegula_vgpu_driver::launch::{Config, Launch};
use tegula_vgpu_driver::op::Op;

/// Numbers of launch attributes that matter here.
mod attribute {
    pub const PROGRAMMATIC_EVENT: u32 = 7;
    pub const LAUNCH_COMPLETION_EVENT: u32 = 12;
    /// The highest number there is.
    pub const LAST: u32 = 18;
}

/// What a launch asks for, and the events that its kernel triggers: kernels do not overlap here, so that they happen when it is done.
/// Preferences and permissions to overlap change nothing.
pub fn read(config: &LaunchConfig) -> Outcome<(Config, Vec<Handle>)> {
    let mut events = Vec::new();
    let asked = config.read(|id, words| {
        if matches!(id, attribute::PROGRAMMATIC_EVENT | attribute::LAUNCH_COMPLETION_EVENT) {
            events.push((u64::from(words[0]) | u64::from(words[1]) << 32) as Handle);
        }
        id <= attribute::LAST
    })?;
    Ok((asked, events))
}

/// The number that ends a list of `extra`.
const EXTRA_END: usize = 0;

/// The arguments of a launch.
pub(crate) fn arguments(
    kernel: &Kernel,
    params: *const *const c_void,
    extra: *const *const c_void,
) -> Outcome<Vec<Argument>> {
    // SAFETY: C promises the list.
    unsafe { ffi::arguments(kernel, params, extra, EXTRA_END) }
}

fn launch(
    of: Handle,
    config: Config,
    on: Handle,
    params: *const *const c_void,
    extra: *const *const c_void,
) -> Outcome {
    if capture::skips_launches() && of != 0 {
        return Ok(());
    }
    let (kernel, stream) = (function(of)?, stream(on)?);
    stream.context.core.check()?;
    let args = arguments(&kernel, params, extra)?;
    let launch = Launch::new(kernel, config, args)?;
    Ok(stream.core.submit(&stream.context.core, Op::Launch(Arc::new(launch))).map(drop)?)
}

c_interface! {
    /// Launches a kernel.
    fn cuLaunchKernel(
        of: Handle,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared: c_uint,
        on: Handle,
        params: *const *const c_void,
        extra: *const *const c_void,
    ) {
        let config = Config::new([grid_x, grid_y, grid_z], [block_x, block_y, block_z], shared);
        launch(of, config, on, params, extra)
    }

    /// Launches a kernel all of whose blocks are resident at a time.
    fn cuLaunchCooperativeKernel(
        of: Handle,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared: c_uint,
        on: Handle,
        params: *const *const c_void,
    ) {
        let config = Config::new([grid_x, grid_y, grid_z], [block_x, block_y, block_z], shared);
        launch(of, Config { cooperative: true, ..config }, on, params, std::ptr::null())
    }

    /// Launches a kernel with attributes.
    fn cuLaunchKernelEx(
        config: In<LaunchConfig>,
        of: Handle,
        params: *const *const c_void,
        extra: *const *const c_void,
    ) {
        let config = config.get()?;
        let (asked, events) = read(&config)?;
        launch(of, asked, config.stream, params, extra)?;
        for handle in events {
            let (event, stream) = (event(handle)?, stream(config.stream)?);
            stream.core.record(&stream.context.core, &event)?;
        }
        Ok(())
    }
}
