//! Devices, their properties, and what stands in for contexts.

use crate::abi::{Device, DeviceProperties, Handle, Uuid};
use crate::entry::{Buffer, Out, c_interface};
use crate::state::{context_of, current, current_index, device, devices, live, reset, set_current};
use crate::status::{Outcome, hipError_t};
use std::ffi::{c_int, c_uint};
use tegula_vgpu::gcn::Arch;
use tegula_vgpu_driver::device::Device as VirtualDevice;
use tegula_vgpu_driver::model::{Architecture, Model};

/// Major and minor number of an instruction set, as in `gfx942`: 9 and 4.
fn version(model: &Model) -> (c_int, c_int) {
    match model.architecture {
        Architecture::Amd(Arch::Gfx942) => (9, 4),
        Architecture::Amd(Arch::Gfx950) => (9, 5),
        Architecture::Amd(Arch::Gfx1100) => (11, 0),
        Architecture::Amd(Arch::Gfx1201) => (12, 0),
        Architecture::Nvidia { .. } => (0, 0),
    }
}

fn text<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    let length = text.len().min(N - 1);
    bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
    bytes
}

fn uuid(device: &VirtualDevice) -> Uuid {
    let mut bytes = text::<16>(&format!("vgpu{}", device.model.key));
    bytes[15] = device.index as u8;
    Uuid { bytes }
}

/// Features of `hipDeviceArch_t`, from the lowest bit: atomics on integers and floats, doubles, warp votes and shuffles, fences,
/// three-dimensional grids; no surfaces, no dynamic parallelism.
const ARCH_FEATURES: c_uint = 0b0_1101_1111_1111_1111;

fn properties(device: &VirtualDevice) -> DeviceProperties {
    let model = device.model;
    let (major, minor) = version(model);
    DeviceProperties {
        name: text(model.name),
        uuid: uuid(device),
        luid: [0; 8],
        luid_device_node_mask: 0,
        total_global_mem: device.memory.capacity() as usize,
        shared_mem_per_block: model.shared_per_block as usize,
        regs_per_block: model.registers_per_multiprocessor as c_int,
        warp_size: model.warp as c_int,
        mem_pitch: i32::MAX as usize,
        max_threads_per_block: 1024,
        max_threads_dim: [1024; 3],
        max_grid_size: [i32::MAX, 65536, 65536],
        clock_rate: model.clock as c_int,
        total_const_mem: i32::MAX as usize,
        major,
        minor,
        texture_alignment: 256,
        texture_pitch_alignment: 256,
        device_overlap: 1,
        multi_processor_count: model.multiprocessors as c_int,
        kernel_exec_timeout_enabled: 0,
        integrated: 0,
        can_map_host_memory: 1,
        compute_mode: 0,
        textures_and_surfaces: [0; 40],
        surface_alignment: 256,
        concurrent_kernels: 1,
        ecc_enabled: 1,
        pci_bus_id: device.index as c_int + 1,
        pci_device_id: 0,
        pci_domain_id: 0,
        tcc_driver: 0,
        async_engine_count: 2,
        unified_addressing: 1,
        memory_clock_rate: model.memory_clock as c_int,
        memory_bus_width: model.bus_width as c_int,
        l2_cache_size: model.l2 as c_int,
        persisting_l2_cache_max_size: 0,
        max_threads_per_multi_processor: model.threads_per_multiprocessor as c_int,
        stream_priorities_supported: 1,
        global_l1_cache_supported: 1,
        local_l1_cache_supported: 1,
        shared_mem_per_multiprocessor: model.shared_per_multiprocessor as usize,
        regs_per_multiprocessor: model.registers_per_multiprocessor as c_int,
        managed_memory: 1,
        is_multi_gpu_board: 0,
        multi_gpu_board_group_id: 0,
        host_native_atomic_supported: 1,
        single_to_double_precision_perf_ratio: 0,
        pageable_memory_access: 0,
        concurrent_managed_access: 1,
        compute_preemption_supported: 0,
        can_use_host_pointer_for_registered_mem: 1,
        cooperative_launch: 1,
        cooperative_multi_device_launch: 0,
        shared_mem_per_block_optin: model.shared_per_block_optin as usize,
        pageable_memory_access_uses_host_page_tables: 0,
        direct_managed_mem_access_from_host: 0,
        max_blocks_per_multi_processor: model.blocks_per_multiprocessor as c_int,
        access_policy_max_window_size: 0,
        reserved_shared_mem_per_block: 0,
        host_register_supported: 1,
        sparse_hip_array_supported: 0,
        host_register_read_only_supported: 0,
        timeline_semaphore_interop_supported: 0,
        memory_pools_supported: 1,
        gpu_direct_rdma_supported: 0,
        gpu_direct_rdma_flush_writes_options: 0,
        gpu_direct_rdma_writes_ordering: 0,
        memory_pool_supported_handle_types: 0,
        deferred_mapping_hip_array_supported: 0,
        ipc_event_supported: 0,
        cluster_launch: 0,
        unified_function_pointers: 0,
        reserved: [0; 63],
        hip_reserved: [0; 32],
        gcn_arch_name: text(model.target),
        max_shared_memory_per_multi_processor: model.shared_per_multiprocessor as usize,
        clock_instruction_rate: 100_000,
        arch: ARCH_FEATURES,
        hdp_mem_flush_cntl: std::ptr::null_mut(),
        hdp_reg_flush_cntl: std::ptr::null_mut(),
        cooperative_multi_device_unmatched_func: 0,
        cooperative_multi_device_unmatched_grid_dim: 0,
        cooperative_multi_device_unmatched_block_dim: 0,
        cooperative_multi_device_unmatched_shared_mem: 0,
        is_large_bar: 1,
        asic_revision: 0,
    }
}

/// An attribute by its number.
fn attribute(device: &VirtualDevice, number: c_uint) -> Option<c_int> {
    let all = properties(device);
    let bytes = |bytes: usize| bytes.min(i32::MAX as usize) as c_int;
    Some(match number {
        0 => all.ecc_enabled,
        2 => all.async_engine_count,
        3 => all.can_map_host_memory,
        4 => all.can_use_host_pointer_for_registered_mem,
        5 => all.clock_rate,
        6 => all.compute_mode,
        7 => all.compute_preemption_supported,
        8 => all.concurrent_kernels,
        9 => all.concurrent_managed_access,
        10 => all.cooperative_launch,
        11 => all.cooperative_multi_device_launch,
        12 => all.device_overlap,
        13 => all.direct_managed_mem_access_from_host,
        14 => all.global_l1_cache_supported,
        15 => all.host_native_atomic_supported,
        16 => all.integrated,
        17 => all.is_multi_gpu_board,
        18 => all.kernel_exec_timeout_enabled,
        19 => all.l2_cache_size,
        20 => all.local_l1_cache_supported,
        23 => all.major,
        24 => all.managed_memory,
        25 => all.max_blocks_per_multi_processor,
        26 => all.max_threads_dim[0],
        27 => all.max_threads_dim[1],
        28 => all.max_threads_dim[2],
        29 => all.max_grid_size[0],
        30 => all.max_grid_size[1],
        31 => all.max_grid_size[2],
        // Surfaces and textures: none.
        32..=54 => 0,
        55 => all.max_threads_dim[0],
        56 => all.max_threads_per_block,
        57 => all.max_threads_per_multi_processor,
        58 => bytes(all.mem_pitch),
        59 => all.memory_bus_width,
        60 => all.memory_clock_rate,
        61 => all.minor,
        62 => all.multi_gpu_board_group_id,
        63 => all.multi_processor_count,
        65 => all.pageable_memory_access,
        66 => all.pageable_memory_access_uses_host_page_tables,
        67 => all.pci_bus_id,
        68 => all.pci_device_id,
        69 => all.pci_domain_id,
        70 => all.persisting_l2_cache_max_size,
        71 => all.regs_per_block,
        72 => all.regs_per_multiprocessor,
        73 => bytes(all.reserved_shared_mem_per_block),
        74 => bytes(all.shared_mem_per_block),
        75 => bytes(all.shared_mem_per_block_optin),
        76 => bytes(all.shared_mem_per_multiprocessor),
        77 => all.single_to_double_precision_perf_ratio,
        78 => all.stream_priorities_supported,
        79 => bytes(all.surface_alignment),
        80 => all.tcc_driver,
        81 => bytes(all.texture_alignment),
        82 => bytes(all.texture_pitch_alignment),
        83 => bytes(all.total_const_mem),
        84 => bytes(all.total_global_mem),
        85 => all.unified_addressing,
        87 => all.warp_size,
        88 => all.memory_pools_supported,
        // Virtual memory management.
        89 => 0,
        90 => all.host_register_supported,
        91 => all.memory_pool_supported_handle_types as c_int,
        10000 => all.clock_instruction_rate,
        10002 => bytes(all.max_shared_memory_per_multi_processor),
        10007..=10010 | 10013 | 10014 => 0,
        10011 => all.is_large_bar,
        10012 => all.asic_revision,
        10015 => all.multi_processor_count,
        10016 => 1,
        // The wall clock in kHz, and dies.
        10017 => 100_000,
        10018 => {
            if all.warp_size == 64 {
                8
            } else {
                1
            }
        }
        _ => return None,
    })
}

/// Contexts are an older way to name devices: their handles count from here.
const CONTEXT: Handle = 0x1000;

fn of_context(handle: Handle) -> Outcome<c_int> {
    let index = handle.checked_sub(CONTEXT).and_then(|index| c_int::try_from(index).ok());
    let index = index.ok_or(hipError_t::INVALID_CONTEXT)?;
    device(index).map(|_| index).map_err(|_| hipError_t::INVALID_CONTEXT.into())
}

c_interface! {
    /// How many devices there are.
    fn hipGetDeviceCount(out: Out<c_int>) {
        out.set(devices().len() as c_int)?;
        if devices().is_empty() { Err(hipError_t::NO_DEVICE.into()) } else { Ok(()) }
    }

    /// Sets the thread's device.
    fn hipSetDevice(ordinal: c_int) {
        set_current(ordinal)
    }

    /// The thread's device.
    fn hipGetDevice(out: Out<c_int>) {
        device(0)?;
        out.set(current_index() as c_int)
    }

    /// A device's properties.
    fn hipGetDevicePropertiesR0600(out: Out<DeviceProperties>, ordinal: c_int) {
        out.set(properties(device(ordinal)?))
    }

    /// An attribute of a device.
    fn hipDeviceGetAttribute(out: Out<c_int>, number: c_uint, ordinal: c_int) {
        out.set(attribute(device(ordinal)?, number).ok_or(hipError_t::INVALID_VALUE)?)
    }

    /// The device with a number.
    fn hipDeviceGet(out: Out<Device>, ordinal: c_int) {
        device(ordinal)?;
        out.set(ordinal)
    }

    /// A device's name.
    fn hipDeviceGetName(name: Buffer, room: c_int, ordinal: Device) {
        let room = usize::try_from(room).unwrap_or(0);
        name.write(room, device(ordinal)?.model.name).map(drop)
    }

    /// A device's identity: the same in every process.
    fn hipDeviceGetUuid(out: Out<Uuid>, ordinal: Device) {
        out.set(uuid(device(ordinal)?))
    }

    /// A device's memory in bytes.
    fn hipDeviceTotalMem(out: Out<usize>, ordinal: Device) {
        out.set(device(ordinal)?.memory.capacity() as usize)
    }

    /// The numbers of a device's instruction set.
    fn hipDeviceComputeCapability(major: Out<c_int>, minor: Out<c_int>, ordinal: Device) {
        let version = version(device(ordinal)?.model);
        major.set(version.0)?;
        minor.set(version.1)
    }

    /// A device's place on the bus.
    fn hipDeviceGetPCIBusId(out: Buffer, room: c_int, ordinal: c_int) {
        let device = device(ordinal)?;
        out.write(usize::try_from(room).unwrap_or(0), &format!("0000:{:02x}:00.0", device.index + 1)).map(drop)
    }

    /// Waits for all work of the thread's device.
    fn hipDeviceSynchronize() {
        Ok(live()?.synchronize()?)
    }

    /// Gives back all that the thread's device holds; a lost one can be used again.
    fn hipDeviceReset() {
        reset(current_index())
    }

    /// Flags tell how to wait: there is one way.
    fn hipSetDeviceFlags(flags: c_uint) {
        let _ = flags;
        current().map(drop)
    }

    /// The priorities that streams can have. They are told back; threads of the host have none.
    fn hipDeviceGetStreamPriorityRange(least: Out<c_int>, greatest: Out<c_int>) {
        least.set_if_wanted(1);
        greatest.set_if_wanted(-1);
        Ok(())
    }

    /// Whether a device reaches another one's memory: every one does.
    fn hipDeviceCanAccessPeer(out: Out<c_int>, from: c_int, to: c_int) {
        let (from, to) = (device(from)?, device(to)?);
        out.set((from.index != to.index).into())
    }

    /// Lets the thread's device reach another one's memory.
    fn hipDeviceEnablePeerAccess(peer: c_int, flags: c_uint) {
        if flags != 0 {
            return Err(hipError_t::INVALID_VALUE.into());
        }
        Ok(live()?.device.enable_peer(device(peer)?)?)
    }

    /// Takes that back.
    fn hipDeviceDisablePeerAccess(peer: c_int) {
        Ok(live()?.device.disable_peer(device(peer)?)?)
    }

    /// A device's context.
    fn hipDevicePrimaryCtxRetain(out: Out<Handle>, ordinal: Device) {
        out.set(CONTEXT + context_of(device(ordinal)?.index)?.device.index)
    }

    /// A device's context stays until the device is reset.
    fn hipDevicePrimaryCtxRelease(ordinal: Device) {
        device(ordinal).map(drop)
    }

    /// The context of the thread's device.
    fn hipCtxGetCurrent(out: Out<Handle>) {
        out.set(CONTEXT + current()?.device.index)
    }

    /// Makes a context's device the thread's.
    fn hipCtxSetCurrent(handle: Handle) {
        if handle == 0 { Ok(()) } else { set_current(of_context(handle)?) }
    }

    /// The device of the thread's context.
    fn hipCtxGetDevice(out: Out<Device>) {
        out.set(current()?.device.index as Device)
    }

    /// Waits for all work of the thread's device.
    fn hipCtxSynchronize() {
        Ok(live()?.synchronize()?)
    }
}
