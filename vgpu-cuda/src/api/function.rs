//! What is known of kernels, what can be set, and occupancy.

use crate::abi::{BlockToShared, Device, Handle, LaunchConfig};
use crate::api::launch;
use crate::entry::{In, Out, c_interface};
use crate::state::{device, function, live};
use crate::status::{CUresult, Failure, Outcome};
use std::collections::HashMap;
use std::ffi::{CString, c_char, c_int, c_uint};
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use tegula_vgpu_driver::code::Kernel;

fn attribute(kernel: &Kernel, number: c_uint) -> Outcome<c_int> {
    let info = &kernel.info;
    let (major, minor) = kernel.module().device().model.capability();
    let cluster = |axis: usize| info.required_cluster.map_or(0, |cluster| cluster[axis]);
    Ok(match number {
        0 => info.max_threads as c_int,
        1 => info.shared as c_int,
        2 => 0,
        3 => info.local as c_int,
        4 => info.registers as c_int,
        5 => kernel.module().ptx_version() as c_int,
        6 => (major * 10 + minor) as c_int,
        7 => 0,
        8 => kernel.dynamic_limit.load(Relaxed) as c_int,
        9 => kernel.carveout.load(Relaxed) as c_int,
        10 => info.required_cluster.is_some().into(),
        11 => cluster(0) as c_int,
        12 => cluster(1) as c_int,
        13 => cluster(2) as c_int,
        14 => kernel.large_clusters.load(Relaxed).into(),
        15 => 0,
        _ => return Err(CUresult::ERROR_INVALID_VALUE.into()),
    })
}

fn set_attribute(kernel: &Kernel, number: c_uint, value: c_int) -> Outcome {
    let invalid = || Failure::from(CUresult::ERROR_INVALID_VALUE);
    match number {
        8 => {
            let bytes = u32::try_from(value).map_err(|_| invalid())?;
            Ok(kernel.set_dynamic_limit(bytes)?)
        }
        9 if (-1..=100).contains(&value) => {
            kernel.carveout.store(value as u32, Relaxed);
            Ok(())
        }
        14 => {
            kernel.large_clusters.store(value != 0, Relaxed);
            Ok(())
        }
        // A preference of the hardware's scheduler.
        15 if (0..=2).contains(&value) => Ok(()),
        _ => Err(invalid()),
    }
}

/// Text that C keeps: one copy of each name for ever.
fn interned(name: &str) -> *const c_char {
    static NAMES: Mutex<Option<HashMap<String, CString>>> = Mutex::new(None);
    let mut names = crate::state::lock(&NAMES);
    let names = names.get_or_insert_default();
    let text = names.entry(name.to_owned()).or_insert_with(|| CString::new(name).unwrap_or_default());
    text.as_ptr()
}

fn param(kernel: &Kernel, index: usize, offset: Out<usize>, size: Out<usize>) -> Outcome {
    let (at, bytes) = *kernel.info.params.get(index).ok_or(CUresult::ERROR_INVALID_VALUE)?;
    offset.set(at as usize)?;
    size.set_if_wanted(bytes as usize);
    Ok(())
}

fn potential_block(
    grid: Out<c_int>,
    block: Out<c_int>,
    of: Handle,
    shared_of: BlockToShared,
    shared: usize,
    limit: c_int,
) -> Outcome {
    let kernel = function(of)?;
    let shared = |threads: u32| match shared_of {
        // SAFETY: C gave the function to be called with a block size.
        Some(shared_of) => unsafe { shared_of(threads as c_int) },
        None => shared,
    };
    let (blocks, threads) = kernel.best_block(shared, u32::try_from(limit).unwrap_or(0));
    grid.set(blocks as c_int)?;
    block.set(threads as c_int)
}

fn active_blocks(out: Out<c_int>, of: Handle, threads: c_int, shared: usize) -> Outcome {
    live()?;
    let kernel = function(of)?;
    let threads = u32::try_from(threads).ok().filter(|&threads| threads > 0).ok_or(CUresult::ERROR_INVALID_VALUE)?;
    out.set(kernel.resident_blocks(threads, u32::try_from(shared).unwrap_or(u32::MAX)) as c_int)
}

/// Multiprocessors of a group: a cluster stays in one.
const GROUP: u32 = 16;

c_interface! {
    /// An attribute of a kernel.
    fn cuFuncGetAttribute(out: Out<c_int>, number: c_uint, of: Handle) {
        out.set(attribute(&*function(of)?, number)?)
    }

    /// Sets an attribute of a kernel.
    fn cuFuncSetAttribute(of: Handle, number: c_uint, value: c_int) {
        set_attribute(&*function(of)?, number, value)
    }

    /// An attribute of a library's kernel.
    fn cuKernelGetAttribute(out: Out<c_int>, number: c_uint, of: Handle, ordinal: Device) {
        device(ordinal)?;
        out.set(attribute(&*function(of)?, number)?)
    }

    /// Sets an attribute of a library's kernel.
    fn cuKernelSetAttribute(number: c_uint, value: c_int, of: Handle, ordinal: Device) {
        device(ordinal)?;
        set_attribute(&*function(of)?, number, value)
    }

    /// The preferred split of cache and shared memory: nothing depends on it.
    fn cuFuncSetCacheConfig(of: Handle, config: c_uint) {
        if config > 3 {
            return Err(CUresult::ERROR_INVALID_VALUE.into());
        }
        function(of).map(drop)
    }

    /// The same of a library's kernel.
    fn cuKernelSetCacheConfig(of: Handle, config: c_uint, ordinal: Device) {
        device(ordinal)?;
        if config > 3 {
            return Err(CUresult::ERROR_INVALID_VALUE.into());
        }
        function(of).map(drop)
    }

    /// The width of shared memory's banks, which is fixed.
    fn cuFuncSetSharedMemConfig(of: Handle, config: c_uint) {
        let _ = config;
        function(of).map(drop)
    }

    /// A kernel's name.
    fn cuFuncGetName(out: Out<*const c_char>, of: Handle) as cuKernelGetName {
        out.set(interned(function(of)?.name()))
    }

    /// Offset and size of a parameter.
    fn cuFuncGetParamInfo(of: Handle, index: usize, offset: Out<usize>, size: Out<usize>) as cuKernelGetParamInfo {
        param(&*function(of)?, index, offset, size)
    }

    /// How many parameters a kernel has.
    fn cuFuncGetParamCount(of: Handle, count: Out<usize>) as cuKernelGetParamCount {
        count.set(function(of)?.info.params.len())
    }

    /// Whether a kernel is loaded: all are.
    fn cuFuncIsLoaded(out: Out<c_uint>, of: Handle) {
        function(of)?;
        out.set(1)
    }

    /// Loads a kernel, which is loaded.
    fn cuFuncLoad(of: Handle) {
        function(of).map(drop)
    }

    /// How many blocks a multiprocessor holds at a time.
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(out: Out<c_int>, of: Handle, threads: c_int, shared: usize) {
        active_blocks(out, of, threads, shared)
    }

    /// The same.
    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        out: Out<c_int>,
        of: Handle,
        threads: c_int,
        shared: usize,
        flags: c_uint,
    ) {
        let _ = flags;
        active_blocks(out, of, threads, shared)
    }

    /// The block size that fills a multiprocessor best.
    fn cuOccupancyMaxPotentialBlockSize(
        grid: Out<c_int>,
        block: Out<c_int>,
        of: Handle,
        shared_of: BlockToShared,
        shared: usize,
        limit: c_int,
    ) {
        potential_block(grid, block, of, shared_of, shared, limit)
    }

    /// The same.
    fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        grid: Out<c_int>,
        block: Out<c_int>,
        of: Handle,
        shared_of: BlockToShared,
        shared: usize,
        limit: c_int,
        flags: c_uint,
    ) {
        let _ = flags;
        potential_block(grid, block, of, shared_of, shared, limit)
    }

    /// The most dynamic shared memory with which so many blocks fit.
    fn cuOccupancyAvailableDynamicSMemPerBlock(out: Out<usize>, of: Handle, blocks: c_int, threads: c_int) {
        let kernel = function(of)?;
        let positive = |n: c_int| u32::try_from(n).ok().filter(|&n| n > 0).ok_or(CUresult::ERROR_INVALID_VALUE);
        let (blocks, threads) = (positive(blocks)?, positive(threads)?);
        let fits = |bytes: u32| kernel.resident_blocks(threads, bytes) >= blocks;
        if !fits(0) {
            return Err(CUresult::ERROR_INVALID_VALUE.into());
        }
        // Fewer bytes never fit worse.
        let (mut low, mut high) = (0, kernel.module().device().model.shared_per_block_optin);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if fits(middle) { low = middle } else { high = middle - 1 }
        }
        out.set(low as usize)
    }

    /// The largest cluster that a launch can have.
    fn cuOccupancyMaxPotentialClusterSize(out: Out<c_int>, of: Handle, config: In<LaunchConfig>) {
        let (kernel, config) = (function(of)?, config.get()?);
        let threads = config.block.iter().product();
        if !kernel.module().device().model.has_clusters() {
            return Err(CUresult::ERROR_NOT_SUPPORTED.into());
        }
        if kernel.resident_blocks(threads, config.shared_mem_bytes) == 0 {
            return out.set(0);
        }
        out.set(if kernel.large_clusters.load(Relaxed) { 16 } else { 8 })
    }

    /// How many clusters the device holds at a time.
    fn cuOccupancyMaxActiveClusters(out: Out<c_int>, of: Handle, config: In<LaunchConfig>) {
        let (kernel, config) = (function(of)?, config.get()?);
        let model = kernel.module().device().model;
        if !model.has_clusters() {
            return Err(CUresult::ERROR_NOT_SUPPORTED.into());
        }
        let cluster = launch::read(&config)?.0.cluster.or(kernel.info.required_cluster).unwrap_or([1; 3]);
        let size: u32 = cluster.iter().product();
        let resident = kernel.resident_blocks(config.block.iter().product(), config.shared_mem_bytes);
        let groups = model.multiprocessors.div_ceil(GROUP);
        let of_group = GROUP.min(model.multiprocessors) * resident / size.max(1);
        out.set((of_group * groups) as c_int)
    }
}
