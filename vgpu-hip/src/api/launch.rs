//! Launches.

use crate::abi::{Handle, LaunchConfig};
use crate::entry::{In, c_interface};
use crate::state::{function, stream};
use crate::status::Outcome;
use std::ffi::{c_uint, c_void};
use std::sync::Arc;
use tegula_vgpu_driver::capture;
use tegula_vgpu_driver::ffi;
use tegula_vgpu_driver::launch::{Config, Launch};
use tegula_vgpu_driver::op::Op;

/// The number that ends a list of `extra`.
const EXTRA_END: usize = 3;

/// A launch as an operation.
pub(crate) fn prepare(
    of: Handle,
    config: Config,
    params: *const *const c_void,
    extra: *const *const c_void,
) -> Outcome<Op> {
    let kernel = function(of)?;
    // SAFETY: C promises the list.
    let args = unsafe { ffi::arguments(&kernel, params, extra, EXTRA_END)? };
    Ok(Op::Launch(Arc::new(Launch::new(kernel, config, args)?)))
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
    let stream = stream(on)?;
    stream.context.check()?;
    Ok(stream.core.submit(&stream.context, prepare(of, config, params, extra)?).map(drop)?)
}

c_interface! {
    /// Launches a kernel over a grid of blocks.
    fn hipModuleLaunchKernel(
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
    fn hipModuleLaunchCooperativeKernel(
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
    fn hipDrvLaunchKernelEx(
        config: In<LaunchConfig>,
        of: Handle,
        params: *const *const c_void,
        extra: *const *const c_void,
    ) {
        let config = config.get()?;
        // Preferences change nothing.
        let asked = config.read(|id, _| matches!(id, 0..=10 | 1024))?;
        launch(of, asked, config.stream, params, extra)
    }
}
