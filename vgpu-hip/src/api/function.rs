//! What is known of kernels, what can be set, and occupancy.

use crate::abi::{FuncAttributes, Handle};
use crate::entry::{Out, c_interface};
use crate::state::function;
use crate::status::{Outcome, hipError_t};
use std::ffi::{c_int, c_uint};
use std::sync::atomic::Ordering::Relaxed;
use tegula_vgpu_driver::code::Kernel;

fn attributes(kernel: &Kernel) -> FuncAttributes {
    let info = &kernel.info;
    FuncAttributes {
        binary_version: 0,
        cache_mode_ca: 0,
        const_size_bytes: 0,
        local_size_bytes: info.local as usize,
        max_dynamic_shared_size_bytes: kernel.dynamic_limit.load(Relaxed) as c_int,
        max_threads_per_block: info.max_threads as c_int,
        num_regs: info.registers as c_int,
        preferred_shmem_carveout: kernel.carveout.load(Relaxed) as c_int,
        ptx_version: 0,
        shared_size_bytes: info.shared as usize,
    }
}

fn attribute(kernel: &Kernel, number: c_uint) -> Outcome<c_int> {
    let all = attributes(kernel);
    Ok(match number {
        0 => all.max_threads_per_block,
        1 => all.shared_size_bytes as c_int,
        2 => all.const_size_bytes as c_int,
        3 => all.local_size_bytes as c_int,
        4 => all.num_regs,
        5 => all.ptx_version,
        6 => all.binary_version,
        7 => all.cache_mode_ca,
        8 => all.max_dynamic_shared_size_bytes,
        9 => all.preferred_shmem_carveout,
        _ => return Err(hipError_t::INVALID_VALUE.into()),
    })
}

fn active_blocks(out: Out<c_int>, of: Handle, threads: c_int, shared: usize) -> Outcome {
    let kernel = function(of)?;
    let threads = u32::try_from(threads).ok().filter(|&threads| threads > 0).ok_or(hipError_t::INVALID_VALUE)?;
    out.set(kernel.resident_blocks(threads, u32::try_from(shared).unwrap_or(u32::MAX)) as c_int)
}

fn potential_block(grid: Out<c_int>, block: Out<c_int>, of: Handle, shared: usize, limit: c_int) -> Outcome {
    let (blocks, threads) = function(of)?.best_block(|_| shared, u32::try_from(limit).unwrap_or(0));
    grid.set(blocks as c_int)?;
    block.set(threads as c_int)
}

c_interface! {
    /// An attribute of a kernel.
    fn hipFuncGetAttribute(out: Out<c_int>, number: c_uint, of: Handle) {
        out.set(attribute(&*function(of)?, number)?)
    }

    /// All attributes of a kernel.
    fn hipFuncGetAttributes(out: Out<FuncAttributes>, of: Handle) {
        out.set(attributes(&*function(of)?))
    }

    /// Sets an attribute of a kernel.
    fn hipFuncSetAttribute(of: Handle, number: c_uint, value: c_int) {
        let kernel = function(of)?;
        match number {
            8 => {
                let bytes = u32::try_from(value).map_err(|_| hipError_t::INVALID_VALUE)?;
                Ok(kernel.set_dynamic_limit(bytes)?)
            }
            9 if (-1..=100).contains(&value) => {
                kernel.carveout.store(value as u32, Relaxed);
                Ok(())
            }
            _ => Err(hipError_t::INVALID_VALUE.into()),
        }
    }

    /// How many blocks a compute unit holds at a time.
    fn hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(out: Out<c_int>, of: Handle, threads: c_int, shared: usize)
        as hipOccupancyMaxActiveBlocksPerMultiprocessor
    {
        active_blocks(out, of, threads, shared)
    }

    /// The same.
    fn hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        out: Out<c_int>,
        of: Handle,
        threads: c_int,
        shared: usize,
        flags: c_uint,
    ) as hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags {
        let _ = flags;
        active_blocks(out, of, threads, shared)
    }

    /// The block size that fills a compute unit best.
    fn hipModuleOccupancyMaxPotentialBlockSize(
        grid: Out<c_int>,
        block: Out<c_int>,
        of: Handle,
        shared: usize,
        limit: c_int,
    ) as hipOccupancyMaxPotentialBlockSize {
        potential_block(grid, block, of, shared, limit)
    }

    /// The same.
    fn hipModuleOccupancyMaxPotentialBlockSizeWithFlags(
        grid: Out<c_int>,
        block: Out<c_int>,
        of: Handle,
        shared: usize,
        limit: c_int,
        flags: c_uint,
    ) {
        let _ = flags;
        potential_block(grid, block, of, shared, limit)
    }
}
