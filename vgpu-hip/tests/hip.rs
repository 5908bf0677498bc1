//! HIP through its C symbols: devices, modules, launches, streams, graphs, faults.

mod support;

use amdhip64::abi::{self, DeviceProperties};
use std::ffi::{CStr, c_void};
use std::mem::{MaybeUninit, offset_of};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};
use support::*;
use tegula_vgpu_driver::testing::under;

const MODEL: (&str, &str) = ("VGPU_MODEL", "mi300x");

fn release(flag: *mut u32) {
    // SAFETY: page-locked memory of a word, which the kernel reads as a whole.
    unsafe { AtomicU32::from_ptr(flag) }.store(1, Ordering::SeqCst);
}

#[test]
fn types_lie_as_the_interface_has_them() {
    // As compilers lay out the structures of HIP 6's headers.
    assert_eq!(size_of::<DeviceProperties>(), 1472);
    assert_eq!(offset_of!(DeviceProperties, warp_size), 308);
    assert_eq!(offset_of!(DeviceProperties, surface_alignment), 568);
    assert_eq!(offset_of!(DeviceProperties, shared_mem_per_block_optin), 696);
    assert_eq!(offset_of!(DeviceProperties, gcn_arch_name), 1160);
    assert_eq!(offset_of!(DeviceProperties, arch), 1428);
    assert_eq!(size_of::<abi::FuncAttributes>(), 56);
    assert_eq!(size_of::<abi::PointerAttributes>(), 32);
    assert_eq!(size_of::<abi::LaunchConfig>(), 56);
    assert_eq!(size_of::<abi::LaunchAttribute>(), 72);
    assert_eq!(size_of::<abi::KernelNodeParams>(), 64);
    assert_eq!(size_of::<abi::MemsetParams>(), 48);
}

#[test]
fn a_device_tells_what_it_is() {
    if !under("a_device_tells_what_it_is", &[MODEL, ("VGPU_DEVICES", "2")]) {
        return;
    }
    let hip = Hip::load();
    // SAFETY: the pointers are to local variables of the interface's types.
    unsafe {
        ok((hip.hipInit)(0));
        let mut count = 0;
        ok((hip.hipGetDeviceCount)(&mut count));
        assert_eq!(count, 2);
        let mut properties = MaybeUninit::<DeviceProperties>::zeroed();
        ok((hip.hipGetDevicePropertiesR0600)(properties.as_mut_ptr().cast(), 1));
        let properties = properties.assume_init();
        assert_eq!(CStr::from_bytes_until_nul(&properties.gcn_arch_name), Ok(c"gfx942:sramecc+:xnack-"));
        assert_eq!(CStr::from_bytes_until_nul(&properties.name), Ok(c"AMD Instinct MI300X"));
        assert_eq!((properties.warp_size, properties.multi_processor_count), (64, 304));
        assert_eq!((properties.major, properties.minor, properties.total_global_mem), (9, 4, 192 << 30));
        let mut warp = 0;
        ok((hip.hipDeviceGetAttribute)(&mut warp, 87, 0));
        assert_eq!(warp, 64);
        assert_eq!((hip.hipSetDevice)(2), 101);
        assert_eq!((hip.hipGetLastError)(), 101);
        assert_eq!((hip.hipGetLastError)(), SUCCESS);
        assert_eq!(CStr::from_ptr((hip.hipGetErrorName)(209)), c"hipErrorNoBinaryForGpu");
        assert_eq!(CStr::from_ptr((hip.hipGetErrorString)(700)), c"an illegal memory access was encountered");
    }
}

#[test]
fn two_streams_an_event_and_a_graph() {
    if !under("two_streams_an_event_and_a_graph", &[MODEL]) {
        return;
    }
    let hip = Hip::load();
    let module = hip.module();
    let axpy = hip.function(module, "axpy");
    let n = 1000;
    let (mut x, mut y) = (hip.alloc(n * 4), hip.alloc(n * 4));
    hip.write(x, &vec![1.0_f32.to_bits(); n]);
    hip.write(y, &vec![0.0_f32.to_bits(); n]);
    let (first, second) = (hip.stream(false), hip.stream(false));
    let (before, after) = (hip.event(), hip.event());
    let mut axpy_on = |stream, mut a: f32| {
        let mut count = n as u32;
        let args = &mut [argument(&mut y), argument(&mut x), argument(&mut a), argument(&mut count)];
        ok(hip.launch(axpy, 4, 256, stream, args));
    };
    // SAFETY: handles made above.
    unsafe {
        ok((hip.hipEventRecord)(before, first));
        axpy_on(first, 2.0);
        ok((hip.hipEventRecord)(after, first));
        ok((hip.hipStreamWaitEvent)(second, after, 0));
        axpy_on(second, 3.0);
        ok((hip.hipStreamSynchronize)(second));
        let mut time = -1.0;
        ok((hip.hipEventElapsedTime)(&mut time, before, after));
        assert!(time > 0.0);

        ok((hip.hipStreamBeginCapture)(first, 0));
        axpy_on(first, 10.0);
        axpy_on(first, 100.0);
        let (mut graph, mut exec) = (null_mut(), null_mut());
        ok((hip.hipStreamEndCapture)(first, &mut graph));
        ok((hip.hipGraphInstantiate)(&mut exec, graph, null_mut(), null_mut(), 0));
        ok((hip.hipGraphLaunch)(exec, first));
        ok((hip.hipGraphLaunch)(exec, first));
        ok((hip.hipGraphDestroy)(graph));
        ok((hip.hipGraphExecDestroy)(exec));
        ok((hip.hipStreamDestroy)(first));
        ok((hip.hipDeviceSynchronize)());
    }
    assert_eq!(hip.read(y, n), vec![225.0_f32.to_bits(); n]);
}

/// A number in a list of `extra`.
fn mark(number: usize) -> *mut c_void {
    std::ptr::without_provenance_mut(number)
}

#[test]
fn arguments_come_in_a_buffer_too() {
    if !under("arguments_come_in_a_buffer_too", &[MODEL]) {
        return;
    }
    let hip = Hip::load();
    let axpy = hip.function(hip.module(), "axpy");
    let (x, y) = (hip.alloc(4), hip.alloc(4));
    hip.write(x, &[2.0_f32.to_bits()]);
    hip.write(y, &[1.0_f32.to_bits()]);
    let mut buffer = Vec::new();
    buffer.extend(y.to_le_bytes());
    buffer.extend(x.to_le_bytes());
    buffer.extend(4.0_f32.to_le_bytes());
    buffer.extend(1_u32.to_le_bytes());
    let mut size = buffer.len();
    let mut extra = [mark(1), buffer.as_mut_ptr().cast(), mark(2), (&raw mut size).cast(), mark(3)];
    // SAFETY: the list ends with its mark, and the buffer is as long as told.
    ok(unsafe { (hip.hipModuleLaunchKernel)(axpy, 1, 1, 1, 64, 1, 1, 0, null_mut(), null_mut(), extra.as_mut_ptr()) });
    assert_eq!(hip.read(y, 1), [9.0_f32.to_bits()]);
}

#[test]
fn streams_run_beside_each_other_and_the_host() {
    if !under("streams_run_beside_each_other_and_the_host", &[MODEL]) {
        return;
    }
    let hip = Hip::load();
    let module = hip.module();
    let (wait, count) = (hip.function(module, "wait"), hip.function(module, "count"));
    let (first, second) = (hip.stream(false), hip.stream(false));
    let flag = hip.pinned_word();
    ok(hip.launch_pointer(wait, 1, flag as u64, first));
    ok(hip.launch(count, 1, 1, second, &mut []));
    // SAFETY: handles made above.
    unsafe {
        ok((hip.hipStreamSynchronize)(second));
        assert_eq!((hip.hipStreamQuery)(first), NOT_READY);
        assert_eq!((hip.hipGetLastError)(), SUCCESS, "work under way is no error");
        let (mut address, mut size) = (0, 0);
        ok((hip.hipModuleGetGlobal)(&mut address, &mut size, module, c"counter".as_ptr()));
        assert_eq!(size, 4);
        let mut value = 0_u32;
        ok((hip.hipMemcpyDtoHAsync)((&raw mut value).cast(), address, 4, second));
        assert_eq!(value, 6);
        // Unloaded and destroyed with work in flight.
        ok((hip.hipModuleUnload)(module));
        ok((hip.hipStreamDestroy)(first));
        assert_eq!((hip.hipStreamQuery)(first), INVALID_HANDLE);
        release(flag);
        ok((hip.hipDeviceSynchronize)());
        ok((hip.hipHostFree)(flag.cast()));
    }
}

#[test]
fn limits_and_wrong_calls_are_errors() {
    if !under("limits_and_wrong_calls_are_errors", &[MODEL, ("VGPU_MEMORY", "64K")]) {
        return;
    }
    let hip = Hip::load();
    let module = hip.module();
    let (shared, count) = (hip.function(module, "shared"), hip.function(module, "count"));
    assert_eq!(hip.launch(count, 1, 1025, null_mut(), &mut []), INVALID_CONFIGURATION);
    assert_eq!(hip.launch(count, 0, 64, null_mut(), &mut []), INVALID_CONFIGURATION);
    // SAFETY: null pointers and handles that are none are checked.
    unsafe {
        let mut memory = hip.alloc(4);
        let mut index = 3_u32;
        let mut args = [argument(&mut memory), argument(&mut index)];
        let mut launch = |dynamic: u32| {
            let args = args.as_mut_ptr();
            (hip.hipModuleLaunchKernel)(shared, 1, 1, 1, 64, 1, 1, dynamic, null_mut(), args, null_mut())
        };
        assert_eq!(launch((24 << 10) + 1), INVALID_CONFIGURATION);
        ok(launch(24 << 10));
        assert_eq!(hip.read(memory, 1), [10]);
        let (mut lds, mut blocks) = (0, 0);
        ok((hip.hipFuncGetAttribute)(&mut lds, 1, shared));
        ok((hip.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor)(&mut blocks, shared, 64, 0));
        assert_eq!((lds, blocks), (40 << 10, 1));

        assert_eq!((hip.hipMalloc)(null_mut(), 4), INVALID_VALUE);
        let mut address = 0;
        assert_eq!((hip.hipMalloc)(&mut address, 1 << 20), OUT_OF_MEMORY);
        assert_eq!((hip.hipFree)(memory + 4), INVALID_VALUE);
        let mut function = null_mut();
        assert_eq!((hip.hipModuleGetFunction)(&mut function, module, c"absent".as_ptr()), NOT_FOUND);
        assert_eq!((hip.hipStreamSynchronize)(0x7EAD_0000 as _), INVALID_HANDLE);
        assert_eq!((hip.hipMemset)(memory, 0, 5), INVALID_VALUE);
    }
}

#[test]
fn a_fault_loses_the_device_until_it_is_reset() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("report.jsonl");
    if std::env::var_os("VGPU_TESTING").is_some() {
        let hip = Hip::load();
        let module = hip.module();
        let memory = hip.alloc(4);
        ok(hip.launch_pointer(hip.function(module, "race"), 2, memory, null_mut()));
        ok(hip.launch_pointer(hip.function(module, "stray"), 1, 0x1000, null_mut()));
        // SAFETY: nothing is passed but handles and pointers to local variables.
        unsafe {
            assert_eq!((hip.hipDeviceSynchronize)(), ILLEGAL_ADDRESS);
            let mut address = 0;
            assert_eq!((hip.hipMalloc)(&mut address, 4), ILLEGAL_ADDRESS);
            ok((hip.hipDeviceReset)());
        }
        let memory = hip.alloc(4);
        ok(hip.launch_pointer(hip.function(hip.module(), "stray"), 1, memory, null_mut()));
        assert_eq!(hip.read(memory, 1), [1]);
        return;
    }
    let path = report.to_str().expect("a path");
    assert!(!under("a_fault_loses_the_device_until_it_is_reset", &[MODEL, ("VGPU_REPORT", path)]));
    let text = std::fs::read_to_string(&report).expect("a report");
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let kinds: Vec<_> = lines.iter().filter_map(|line| line["kind"].as_str()).collect();
    assert_eq!(kinds, ["global-race", "out-of-bounds"], "{text}");
    assert_eq!((&lines[0]["kernel"], &lines[1]["kernel"]), (&"race".into(), &"stray".into()));
}

#[test]
fn code_for_another_device_is_refused() {
    if !under("code_for_another_device_is_refused", &[("VGPU_MODEL", "mi355x")]) {
        return;
    }
    let hip = Hip::load();
    let mut module = null_mut();
    // SAFETY: a whole code object, for gfx942.
    assert_eq!(unsafe { (hip.hipModuleLoadData)(&mut module, CODE.as_ptr().cast()) }, NO_BINARY);
}
