//! Launches: checked as a driver checks them when they are asked for, run when the stream comes to them.

use crate::code::{Code, Kernel};
use crate::device::Device;
use crate::error::{Error, Fault, Result};
use crate::report;
use crate::settings::Settings;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tegula_vgpu::error::Error as VgpuError;
use tegula_vgpu::finding::{FindingKind, Space};
use tegula_vgpu::launch::{Argument, Launch as VgpuLaunch, Outcome};

/// How a kernel is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks of a cluster, where clusters are asked for.
    pub cluster: Option<[u32; 3]>,
    /// Dynamic shared memory in bytes.
    pub shared: u32,
    /// All blocks must be resident at a time.
    pub cooperative: bool,
}

impl Config {
    /// A launch without clusters.
    pub fn new(grid: [u32; 3], block: [u32; 3], shared: u32) -> Self {
        Self { grid, block, cluster: None, shared, cooperative: false }
    }
}

/// A launch ready to run.
#[derive(Debug)]
pub struct Launch {
    /// The kernel.
    pub kernel: Arc<Kernel>,
    /// How it is launched.
    pub config: Config,
    args: Vec<Argument>,
}

/// Reads a kernel's arguments through pointers to each.
///
/// # Safety
/// `pointers` points to as many pointers as the kernel has parameters, each to as many bytes as the parameter has.
pub unsafe fn arguments_from_pointers(kernel: &Kernel, pointers: *const *const c_void) -> Result<Vec<Argument>> {
    if kernel.info.params.is_empty() {
        return Ok(Vec::new());
    }
    if pointers.is_null() {
        return Err(Error::value(format!("`{}` takes {} arguments", kernel.name(), kernel.info.params.len())));
    }
    let read = |(index, &(_, size)): (usize, &(u32, u32))| {
        // SAFETY: the caller promises as many pointers as parameters.
        let pointer = unsafe { *pointers.add(index) };
        if pointer.is_null() {
            return Err(Error::value(format!("argument {index} of `{}` is null", kernel.name())));
        }
        // SAFETY: the caller promises as many bytes.
        let bytes = unsafe { std::slice::from_raw_parts(pointer.cast::<u8>(), size as usize) };
        Ok(Argument::bytes(bytes))
    };
    kernel.info.params.iter().enumerate().map(read).collect()
}

/// Takes a kernel's arguments out of a buffer that has them as the kernel's own parameters lie.
pub fn arguments_from_buffer(kernel: &Kernel, buffer: &[u8]) -> Result<Vec<Argument>> {
    let read = |&(offset, size): &(u32, u32)| {
        let range = offset as usize..(offset + size) as usize;
        let bytes = buffer.get(range).ok_or_else(|| {
            let (has, wants) = (buffer.len(), offset + size);
            Error::value(format!("the argument buffer has {has} bytes, `{}` needs {wants}", kernel.name()))
        })?;
        Ok(Argument::bytes(bytes))
    };
    kernel.info.params.iter().map(read).collect()
}

impl Launch {
    /// Checks a launch.
    pub fn new(kernel: Arc<Kernel>, config: Config, args: Vec<Argument>) -> Result<Self> {
        check(&kernel, &config)?;
        Ok(Self { kernel, config, args })
    }

    /// Runs it.
    pub(crate) fn execute(&self, device: &Device) -> Result<(), Fault> {
        let settings = Settings::get();
        if settings.null_launch {
            return Ok(());
        }
        let mut launch = VgpuLaunch::new(self.kernel.name())
            .grid(self.config.grid)
            .block(self.config.block)
            .cluster(self.config.cluster.unwrap_or([1; 3]))
            .dynamic_shared(self.config.shared)
            .seed(settings.seed);
        launch.args.clone_from(&self.args);
        if !settings.sanitize {
            launch = launch.fast();
        }
        let (result, outcome) = match &self.kernel.module.code {
            Code::Ptx(module) => module.launch_on(&device.memory, &launch, &device.model.ptx(), None),
            Code::Gcn(module) => module.launch_on(&launch, &device.memory, None),
        };
        let error = result.as_ref().err();
        let name = format!("{} #{}", device.model.name, device.index);
        report::record(&name, self.kernel.name(), &outcome, error);
        match fault(&outcome, error) {
            Some(fault) => Err(fault),
            None => Ok(()),
        }
    }
}

/// What a real device would have done: which error or finding loses the context.
fn fault(outcome: &Outcome, error: Option<&VgpuError>) -> Option<Fault> {
    // An assertion of the device prints this line, then traps.
    let asserted = outcome.printed.trim_end().ends_with("failed.") && outcome.printed.contains("Assertion `");
    let from_error = error.map(|error| match error {
        VgpuError::Trap { .. } if asserted => Fault::Assert,
        VgpuError::Deadlock { .. } | VgpuError::InstructionLimit { .. } => Fault::Timeout,
        VgpuError::Fault { .. } => Fault::InvalidPc,
        _ => Fault::LaunchFailed,
    });
    // An access that the machine let go by, and a device would not, came before.
    let from_findings = outcome.findings.iter().find_map(|finding| {
        // Parameters can be read past their end: they lie in a bank of constants.
        let parameter = finding.address.as_ref().is_some_and(|address| address.space == Space::Param);
        match finding.kind {
            FindingKind::OutOfBounds | FindingKind::UseAfterFree if !parameter => Some(Fault::IllegalAddress),
            FindingKind::Misaligned => Some(Fault::MisalignedAddress),
            FindingKind::BadDescriptor => Some(Fault::IllegalInstruction),
            _ => None,
        }
    });
    from_findings.or(from_error)
}

fn check(kernel: &Kernel, config: &Config) -> Result<()> {
    let (info, model) = (&kernel.info, kernel.module.device().model);
    let name = kernel.name();
    let [x, y, z] = config.block;
    let threads = u64::from(x) * u64::from(y) * u64::from(z);
    if threads == 0 || config.grid.contains(&0) {
        return Err(Error::InvalidLaunch(format!(
            "`{name}`: a grid of {:?} blocks of {:?} threads",
            config.grid, config.block
        )));
    }
    // AMD has no tighter bound on z.
    let z_most = if model.is_nvidia() { 64 } else { 1024 };
    if threads > 1024 || x > 1024 || y > 1024 || z > z_most {
        return Err(Error::InvalidLaunch(format!(
            "`{name}`: blocks of {:?} threads; there are at most 1024",
            config.block
        )));
    }
    if info.required_block.is_some_and(|required| required != config.block) || threads > u64::from(info.max_threads) {
        return Err(Error::InvalidLaunch(format!(
            "`{name}`: blocks of {:?} threads; it was compiled for {}",
            config.block, info.max_threads
        )));
    }
    let second = if model.is_nvidia() { 65535 } else { u32::MAX };
    if config.grid[0] > i32::MAX as u32 || config.grid[1] > second || config.grid[2] > second {
        return Err(Error::InvalidLaunch(format!("`{name}`: a grid of {:?} blocks", config.grid)));
    }
    let shared = u64::from(info.shared) + u64::from(config.shared);
    if config.shared > kernel.dynamic_limit.load(Relaxed) || shared > u64::from(model.shared_per_block_optin) {
        return Err(Error::InvalidLaunch(format!(
            "`{name}`: {} bytes of dynamic shared memory on top of {}; its limit is {}, and a block of the device has at most {}",
            config.shared,
            info.shared,
            kernel.dynamic_limit.load(Relaxed),
            model.shared_per_block_optin
        )));
    }
    let cluster = check_cluster(kernel, config)?;
    if config.cooperative {
        let resident = u64::from(kernel.resident_blocks(threads as u32, config.shared));
        let most = resident * u64::from(model.multiprocessors);
        let blocks: u64 = config.grid.iter().map(|&n| u64::from(n)).product();
        if blocks > most {
            return Err(Error::CooperativeTooLarge { blocks, most });
        }
    }
    for axis in 0..3 {
        if !config.grid[axis].is_multiple_of(cluster[axis]) {
            return Err(Error::InvalidLaunch(format!(
                "`{name}`: the grid {:?} is not a multiple of the cluster {cluster:?}",
                config.grid
            )));
        }
    }
    Ok(())
}

fn check_cluster(kernel: &Kernel, config: &Config) -> Result<[u32; 3]> {
    let model = kernel.module.device().model;
    let name = kernel.name();
    let cluster = match (kernel.info.required_cluster, config.cluster) {
        (Some(required), Some(asked)) if asked != required && asked != [1; 3] => {
            return Err(Error::InvalidCluster(format!("`{name}` requires clusters of {required:?}, not {asked:?}")));
        }
        (Some(required), _) => required,
        (None, asked) => asked.unwrap_or([1; 3]),
    };
    if cluster.contains(&0) {
        return Err(Error::InvalidLaunch(format!("`{name}`: clusters of {cluster:?}")));
    }
    let size = cluster.iter().try_fold(1_u32, |size, &n| size.checked_mul(n)).unwrap_or(u32::MAX);
    // Eight is what every device has; more must be asked for by an attribute.
    let most = match (model.has_clusters(), kernel.large_clusters.load(Relaxed)) {
        (false, _) => 1,
        (true, false) => 8,
        (true, true) => 16,
    };
    if size > most {
        return Err(Error::InvalidCluster(format!("`{name}`: clusters of {size} blocks; at most {most} are allowed")));
    }
    Ok(cluster)
}
