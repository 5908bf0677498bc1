//! Launches.

use crate::abi::{Handle, LaunchConfig};
use crate::entry::{In, c_interface};
use crate::state::{event, function, stream};
use crate::status::{CUresult, Outcome};
use std::ffi::{c_uint, c_void};
use std::sync::Arc;
use tegula_vgpu::launch::Argument;
use tegula_vgpu_driver::capture;
use tegula_vgpu_driver::code::Kernel;
use tegula_vgpu_driver::ffi;
use tegula_vgpu_driver::launch::{Config, Launch};
use tegula_vgpu_driver::op::Op;
use tegula_vgpu_driver::settings::Settings;

/// Numbers of launch attributes that matter here.
mod attribute {
    pub const COOPERATIVE: u32 = 2;
    pub const CLUSTER_DIMENSION: u32 = 4;
    pub const PROGRAMMATIC_EVENT: u32 = 7;
    pub const LAUNCH_COMPLETION_EVENT: u32 = 12;
    /// The highest number there is.
    pub const LAST: u32 = 18;
}

/// What the attributes of a launch ask for.
#[derive(Debug, Default)]
pub struct Attributes {
    /// Blocks of a cluster.
    pub cluster: Option<[u32; 3]>,
    /// All blocks must be resident at a time.
    pub cooperative: bool,
    /// Events that the kernel triggers. Kernels do not overlap here, so that they happen when it is done.
    pub events: Vec<Handle>,
}

/// Reads the attributes of a launch. Preferences and permissions to overlap change nothing here.
pub fn attributes(config: &LaunchConfig) -> Outcome<Attributes> {
    let mut read = Attributes::default();
    for entry in config.attrs.values(config.num_attrs as usize)? {
        let words = entry.value.0;
        match entry.id {
            attribute::COOPERATIVE => read.cooperative = words[0] != 0,
            attribute::CLUSTER_DIMENSION => read.cluster = Some([words[0], words[1], words[2]]),
            attribute::PROGRAMMATIC_EVENT | attribute::LAUNCH_COMPLETION_EVENT => {
                read.events.push((u64::from(words[0]) | u64::from(words[1]) << 32) as Handle);
            }
            0..=attribute::LAST => {}
            _ => return Err(CUresult::ERROR_INVALID_VALUE.into()),
        }
    }
    Ok(read)
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

/// Whether launches do nothing, and none has to be recorded.
fn is_null() -> bool {
    Settings::get().null_launch && capture::none()
}

fn launch(
    of: Handle,
    config: Config,
    on: Handle,
    params: *const *const c_void,
    extra: *const *const c_void,
) -> Outcome {
    if is_null() && of != 0 {
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
        let attributes = attributes(&config)?;
        let asked = Config {
            cluster: attributes.cluster,
            cooperative: attributes.cooperative,
            ..Config::new(config.grid, config.block, config.shared_mem_bytes)
        };
        launch(of, asked, config.stream, params, extra)?;
        for handle in attributes.events {
            let (event, stream) = (event(handle)?, stream(config.stream)?);
            stream.core.record(&stream.context.core, &event)?;
        }
        Ok(())
    }
}
