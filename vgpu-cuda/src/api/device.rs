//! Devices and their attributes.

use crate::abi::{Device, DeviceProperties, Handle, Uuid};
use crate::entry::{Buffer, Out, Text, c_interface};
use crate::state::{CudaContext, POOLS, device, lock, state};
use crate::status::{CUresult, Outcome};
use std::ffi::{c_int, c_uint};
use std::sync::atomic::Ordering::Relaxed;
use tegula_vgpu_driver::model::Model;

/// An attribute's value by its number; none for a number without an attribute.
fn attribute(model: &Model, index: usize, number: c_uint) -> Option<i64> {
    let (major, minor) = model.capability();
    Some(match number {
        // Threads and extents of blocks and grids.
        1..=3 => 1024,
        4 => 64,
        5 => i64::from(i32::MAX),
        6 | 7 => 65535,
        8 => model.shared_per_block.into(),
        // Constant memory; lanes of a warp; the widest pitch.
        9 => 65536,
        10 => model.warp.into(),
        11 => i64::from(i32::MAX),
        12 | 82 => model.registers_per_multiprocessor.into(),
        13 => model.clock.into(),
        // Alignments of textures, surfaces and their pitch.
        14 | 30 => 512,
        51 => 32,
        // Overlapped copies, copy engines.
        15 => 1,
        40 => 3,
        16 => model.multiprocessors.into(),
        // Not bound in time, not integrated, maps host memory, default compute mode.
        17 | 18 | 20 => 0,
        19 => 1,
        // Textures and surfaces: the limits are told, although none can be made.
        21 | 42 | 55 | 61 | 77 => {
            if number == 77 {
                32768
            } else {
                131_072.min(texture(number))
            }
        }
        22..=29 | 43..=49 | 52..=54 | 56..=60 | 62..=74 => texture(number),
        // Concurrent kernels, error correction, the place on the bus, no TCC driver.
        31 | 32 => 1,
        33 => index as i64 + 1,
        34 | 35 | 50 => 0,
        36 => model.memory_clock.into(),
        37 => model.bus_width.into(),
        38 => model.l2.into(),
        39 => model.threads_per_multiprocessor.into(),
        // Unified addresses, priorities of streams, caches.
        41 | 78..=80 => 1,
        75 => major.into(),
        76 => minor.into(),
        81 => model.shared_per_multiprocessor.into(),
        // Managed memory, accessible to both sides at once; the program's pageable memory is not the device's.
        83 | 89 | 90 | 91 => 1,
        84 | 85 | 86 | 88 | 92..=94 => 0,
        87 => 2,
        // Cooperative launches, of one device.
        95 => 1,
        96 | 98 => 0,
        97 => model.shared_per_block_optin.into(),
        // Registered host memory.
        99 => 1,
        100..=105 | 107 | 110 | 112..=114 | 116..=119 => 0,
        106 => model.blocks_per_multiprocessor.into(),
        // Persisting L2, and the window of an access policy.
        108 => i64::from(model.l2) * 3 / 4,
        109 => 128 << 20,
        111 => 1024,
        // Memory pools.
        115 => 1,
        // Cluster launches; deferred mapping, no IPC events, memory sync domains, tensor maps; unified function pointers.
        120 => model.has_clusters().into(),
        121 | 122 | 124..=126 | 128..=131 | 133..=142 => 0,
        123 => {
            if model.has_clusters() {
                4
            } else {
                1
            }
        }
        127 => model.has_clusters().into(),
        132 => 0,
        _ => return None,
    })
}

/// Limits of textures and surfaces by attribute, as devices of these generations have them.
fn texture(number: c_uint) -> i64 {
    match number {
        22 | 21 | 23 | 69 => 131_072,
        24..=26 | 58..=60 | 47..=49 => 16384,
        29 | 43 | 54 | 62 | 65 | 68 => 2048,
        70..=71 => 131_072,
        72 => 2_097_120,
        57 => 65536,
        _ => 32768,
    }
}

fn primary(ordinal: Device) -> Outcome<std::sync::MutexGuard<'static, crate::state::Primary>> {
    let device = device(ordinal)?;
    Ok(lock(&state()?.primaries[device.index]))
}

c_interface! {
    /// The device with a number.
    fn cuDeviceGet(out: Out<Device>, ordinal: c_int) {
        device(ordinal)?;
        out.set(ordinal)
    }

    /// How many devices there are.
    fn cuDeviceGetCount(out: Out<c_int>) {
        out.set(state()?.devices.len() as c_int)
    }

    /// A device's name.
    fn cuDeviceGetName(name: Buffer, room: c_int, ordinal: Device) {
        let device = device(ordinal)?;
        name.write(usize::try_from(room).unwrap_or(0), device.model.name).map(drop)
    }

    /// A device's identity: the same in every process.
    fn cuDeviceGetUuid(out: Out<Uuid>, ordinal: Device) as cuDeviceGetUuid_v2 {
        let device = device(ordinal)?;
        let mut bytes = *b"vgpu\0\0\0\0\0\0\0\0\0\0\0\0";
        for (byte, key) in bytes[4..15].iter_mut().zip(device.model.key.bytes()) {
            *byte = key;
        }
        bytes[15] = device.index as u8;
        out.set(Uuid { bytes })
    }

    /// A device's memory in bytes.
    fn cuDeviceTotalMem_v2(out: Out<usize>, ordinal: Device) {
        out.set(device(ordinal)?.memory.capacity() as usize)
    }

    /// One of a device's attributes.
    fn cuDeviceGetAttribute(out: Out<c_int>, number: c_uint, ordinal: Device) {
        let device = device(ordinal)?;
        let value = attribute(device.model, device.index, number).ok_or(CUresult::ERROR_INVALID_VALUE)?;
        out.set(value.min(i32::MAX.into()) as c_int)
    }

    /// Compute capability.
    fn cuDeviceComputeCapability(major: Out<c_int>, minor: Out<c_int>, ordinal: Device) {
        let capability = device(ordinal)?.model.capability();
        major.set(capability.0 as c_int)?;
        minor.set(capability.1 as c_int)
    }

    /// Some of a device's attributes.
    fn cuDeviceGetProperties(out: Out<DeviceProperties>, ordinal: Device) {
        let model = device(ordinal)?.model;
        out.set(DeviceProperties {
            max_threads_per_block: 1024,
            max_threads_dim: [1024, 1024, 64],
            max_grid_size: [i32::MAX, 65535, 65535],
            shared_mem_per_block: model.shared_per_block as c_int,
            total_constant_memory: 65536,
            simd_width: model.warp as c_int,
            mem_pitch: i32::MAX,
            regs_per_block: model.registers_per_multiprocessor as c_int,
            clock_rate: model.clock as c_int,
            texture_align: 512,
        })
    }

    /// A device's place on the bus.
    fn cuDeviceGetPCIBusId(out: Buffer, room: c_int, ordinal: Device) {
        let device = device(ordinal)?;
        let room = usize::try_from(room).unwrap_or(0);
        out.write(room, &format!("0000:{:02X}:00.0", device.index + 1)).map(drop)
    }

    /// The device at a place on the bus.
    fn cuDeviceGetByPCIBusId(out: Out<Device>, id: Text) {
        let wanted = id.get()?.to_ascii_uppercase();
        let wanted = wanted.strip_prefix("0000:").unwrap_or(&wanted);
        let place = |index: usize| format!("{:02X}:00.0", index + 1);
        let found = (0..state()?.devices.len()).find(|&index| place(index) == wanted);
        out.set(found.ok_or(CUresult::ERROR_INVALID_DEVICE)? as Device)
    }

    /// Whether a device reaches another one's memory: every one does.
    fn cuDeviceCanAccessPeer(out: Out<c_int>, from: Device, to: Device) {
        let (from, to) = (device(from)?, device(to)?);
        out.set((from.index != to.index).into())
    }

    /// What links two devices.
    fn cuDeviceGetP2PAttribute(out: Out<c_int>, attribute: c_uint, from: Device, to: Device) {
        let (from, to) = (device(from)?, device(to)?);
        if from.index == to.index {
            return Err(CUresult::ERROR_INVALID_DEVICE.into());
        }
        match attribute {
            // The rank among links; access; atomics; arrays.
            1 | 4 => out.set(0),
            2 | 3 => out.set(1),
            _ => Err(CUresult::ERROR_INVALID_VALUE.into()),
        }
    }

    /// Holds a device's primary context, and makes it if nobody did.
    fn cuDevicePrimaryCtxRetain(out: Out<Handle>, ordinal: Device) {
        out.check()?;
        let mut primary = primary(ordinal)?;
        if primary.context.is_none() {
            primary.context = Some(CudaContext::create(device(ordinal)?, true, primary.flags)?);
        }
        primary.count += 1;
        out.set(primary.context.as_ref().map_or(0, |(handle, _)| *handle))
    }

    /// Lets a device's primary context go: the last one to do so destroys it.
    fn cuDevicePrimaryCtxRelease(ordinal: Device) as cuDevicePrimaryCtxRelease_v2 {
        let mut primary = primary(ordinal)?;
        if primary.count == 0 {
            return Err(CUresult::ERROR_INVALID_CONTEXT.into());
        }
        primary.count -= 1;
        if primary.count == 0
            && let Some((handle, context)) = primary.context.take()
        {
            context.destroy(handle);
        }
        Ok(())
    }

    /// Destroys a device's primary context, whoever holds it; a lost one is replaced when it is next retained.
    fn cuDevicePrimaryCtxReset(ordinal: Device) as cuDevicePrimaryCtxReset_v2 {
        let mut primary = primary(ordinal)?;
        primary.count = 0;
        if let Some((handle, context)) = primary.context.take() {
            context.destroy(handle);
        }
        Ok(())
    }

    /// Sets the flags of a device's primary context.
    fn cuDevicePrimaryCtxSetFlags(ordinal: Device, flags: c_uint) as cuDevicePrimaryCtxSetFlags_v2 {
        let mut primary = primary(ordinal)?;
        primary.flags = flags;
        if let Some((_, context)) = &primary.context {
            context.flags.store(flags, Relaxed);
        }
        Ok(())
    }

    /// The flags of a device's primary context, and whether it exists.
    fn cuDevicePrimaryCtxGetState(ordinal: Device, flags: Out<c_uint>, active: Out<c_int>) {
        let primary = primary(ordinal)?;
        flags.set(primary.flags)?;
        active.set(primary.context.is_some().into())
    }

    /// A device's own memory pool.
    fn cuDeviceGetDefaultMemPool(out: Out<Handle>, ordinal: Device) {
        out.set(state()?.pools[device(ordinal)?.index].default)
    }

    /// The pool that a device's allocations come from.
    fn cuDeviceGetMemPool(out: Out<Handle>, ordinal: Device) {
        out.set(state()?.pools[device(ordinal)?.index].current.load(Relaxed))
    }

    /// Sets the pool that a device's allocations come from.
    fn cuDeviceSetMemPool(ordinal: Device, pool: Handle) {
        let device = device(ordinal)?;
        let found = POOLS.get(pool).filter(|pool| pool.device == device.index);
        found.ok_or(CUresult::ERROR_INVALID_VALUE)?;
        state()?.pools[device.index].current.store(pool, Relaxed);
        Ok(())
    }
}
