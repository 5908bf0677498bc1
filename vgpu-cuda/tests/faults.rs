//! What goes wrong: faults lose the context, findings reach the report, limits are held, and bad code has a log.

mod support;

use cudarc::driver::sys::{self, CUfunction_attribute, CUjit_option, CUresult};
use std::ffi::{CStr, CString, c_void};
use std::ptr::null_mut;
use support::*;
use tegula_vgpu_driver::testing::under;

const MODEL: (&str, &str) = ("VGPU_MODEL", "h200");

#[test]
fn a_stray_write_loses_the_context_until_it_is_made_again() {
    if !under("a_stray_write_loses_the_context_until_it_is_made_again", &[MODEL]) {
        return;
    }
    start();
    let stray = function(load(), "stray");
    let own = stream(false);
    ok(launch_pointer(stray, 1, 0x1000, own));
    let fault = CUresult::CUDA_ERROR_ILLEGAL_ADDRESS;
    assert_eq!(synchronize(own), fault);
    // SAFETY: the pointers are to local variables.
    unsafe {
        let mut address = 0;
        assert_eq!(sys::cuMemAlloc_v2(&mut address, 16), fault);
        assert_eq!(sys::cuCtxSynchronize(), fault);
        assert_eq!(launch_pointer(stray, 1, 0x1000, own), fault);
        ok(sys::cuDevicePrimaryCtxReset_v2(0));
    }
    start();
    let memory = alloc(4);
    ok(launch_pointer(function(load(), "stray"), 1, memory, null_mut()));
    assert_eq!(read(memory, 1), [1]);
}

#[test]
fn each_kind_of_fault_has_its_code() {
    if !under("each_kind_of_fault_has_its_code", &[MODEL]) {
        return;
    }
    let after = |run: &dyn Fn()| {
        start();
        run();
        // SAFETY: a context is current.
        unsafe {
            let result = sys::cuCtxSynchronize();
            ok(sys::cuDevicePrimaryCtxReset_v2(0));
            result
        }
    };
    let stray = |offset: u64| {
        let memory = alloc(8);
        ok(launch_pointer(function(load(), "stray"), 1, memory + offset, null_mut()));
    };
    assert_eq!(after(&|| stray(0)), CUresult::CUDA_SUCCESS);
    assert_eq!(after(&|| stray(8)), CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_eq!(after(&|| stray(2)), CUresult::CUDA_ERROR_MISALIGNED_ADDRESS);
    let quit = || ok(launch(function(load(), "quit"), 1, 1, null_mut(), &mut []));
    assert_eq!(after(&quit), CUresult::CUDA_ERROR_LAUNCH_FAILED);
}

#[test]
fn findings_reach_the_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("report.jsonl");
    if std::env::var_os("VGPU_TESTING").is_some() {
        start();
        let module = load();
        let memory = alloc(4);
        // Two blocks write one element: found, and nothing that a device would stop at.
        ok(launch_pointer(function(module, "race"), 2, memory, null_mut()));
        // SAFETY: a context is current.
        ok(unsafe { sys::cuCtxSynchronize() });
        // Nobody wrote what is read.
        let (mut y, mut x, mut a, mut n) = (alloc(4), alloc(4), 1.0_f32, 1_u32);
        let args = &mut [argument(&mut y), argument(&mut x), argument(&mut a), argument(&mut n)];
        ok(launch(function(module, "axpy"), 1, 1, null_mut(), args));
        let quit = function(module, "quit");
        ok(launch_pointer(function(module, "stray"), 1, 0x1000, null_mut()));
        // Refused if the fault before it has already come, and never run.
        let refused = launch(quit, 1, 1, null_mut(), &mut []);
        assert!(matches!(refused, CUresult::CUDA_SUCCESS | CUresult::CUDA_ERROR_ILLEGAL_ADDRESS), "{refused:?}");
        // SAFETY: a context is current.
        assert_ne!(unsafe { sys::cuCtxSynchronize() }, CUresult::CUDA_SUCCESS);
        return;
    }
    let path = report.to_str().expect("a path");
    assert!(!under("findings_reach_the_report", &[MODEL, ("VGPU_REPORT", path)]));
    let text = std::fs::read_to_string(&report).expect("a report");
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let kinds: Vec<_> = lines.iter().filter_map(|line| line["kind"].as_str()).collect();
    assert_eq!(kinds, ["global-race", "uninitialized-read", "uninitialized-read", "out-of-bounds"], "{text}");
    assert!(lines.iter().all(|line| line["type"] == "finding" && line["device"] == "NVIDIA H200 #0"), "{text}");
    assert_eq!(lines[0]["kernel"], "race");
    assert!(lines[0]["instruction"]["location"]["line"].is_u64(), "{text}");

    // The same without the sanitizer: only what the machine cannot let go by.
    assert!(!under("findings_reach_the_report", &[MODEL, ("VGPU_REPORT", path), ("VGPU_SANITIZE", "0")]));
    let more = std::fs::read_to_string(&report).expect("a report");
    assert_eq!(more.lines().count(), lines.len() + 1, "{more}");
}

#[test]
fn limits_are_held_when_a_launch_is_asked_for() {
    if !under("limits_are_held_when_a_launch_is_asked_for", &[MODEL]) {
        return;
    }
    start();
    let module = load();
    let (shared, count) = (function(module, "shared"), function(module, "count"));
    let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
    assert_eq!(launch(count, 1, 1025, null_mut(), &mut []), invalid);
    assert_eq!(launch(count, 0, 1, null_mut(), &mut []), invalid);
    assert_eq!(launch_pointer(null_mut(), 1, 0, null_mut()), CUresult::CUDA_ERROR_INVALID_HANDLE);
    let dynamic = |bytes: u32| {
        let mut memory = alloc(4);
        let mut args = [argument(&mut memory)];
        // SAFETY: the kernel takes one pointer.
        unsafe { sys::cuLaunchKernel(shared, 1, 1, 1, 1, 1, 1, bytes, null_mut(), args.as_mut_ptr(), null_mut()) }
    };
    // 40 KiB are static: 8 KiB are left of the 48 that need no asking.
    ok(dynamic(8 << 10));
    assert_eq!(dynamic((8 << 10) + 4), invalid);
    let limit = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    // SAFETY: handles made above.
    unsafe {
        assert_eq!(sys::cuFuncSetAttribute(shared, limit, 188 << 10), invalid);
        ok(sys::cuFuncSetAttribute(shared, limit, 187 << 10));
    }
    ok(dynamic(187 << 10));
    let attribute = |number| {
        let mut value = -1;
        // SAFETY: the pointer is to a local variable.
        ok(unsafe { sys::cuFuncGetAttribute(&mut value, number, shared) });
        value
    };
    assert_eq!(attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 40 << 10);
    assert_eq!(attribute(limit), 187 << 10);
    assert_eq!(attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_PTX_VERSION), 80);
    let mut blocks = 0;
    // SAFETY: the pointer is to a local variable. 228 KiB hold five blocks of 40 KiB and what the driver keeps.
    ok(unsafe { sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, shared, 32, 0) });
    assert_eq!(blocks, 5);
    // SAFETY: a cooperative launch of more blocks than fit: 5 on each of 132 multiprocessors.
    unsafe {
        let mut memory = alloc(4);
        let mut args = [argument(&mut memory)];
        let result = sys::cuLaunchCooperativeKernel(shared, 661, 1, 1, 32, 1, 1, 0, null_mut(), args.as_mut_ptr());
        assert_eq!(result, CUresult::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
        ok(sys::cuCtxSynchronize());
    }
}

#[test]
fn memory_runs_out_and_comes_back() {
    if !under("memory_runs_out_and_comes_back", &[MODEL, ("VGPU_MEMORY", "1M")]) {
        return;
    }
    start();
    // SAFETY: the pointers are to local variables.
    unsafe {
        let (mut free, mut total) = (0, 0);
        ok(sys::cuMemGetInfo_v2(&mut free, &mut total));
        assert_eq!((free, total), (1 << 20, 1 << 20));
        let most = alloc(1 << 20);
        let mut more = 0;
        assert_eq!(sys::cuMemAlloc_v2(&mut more, 1), CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        ok(sys::cuMemFree_v2(most));
        ok(sys::cuMemAlloc_v2(&mut more, 1));
        assert_eq!(sys::cuMemFree_v2(most), CUresult::CUDA_ERROR_INVALID_VALUE, "freed twice");
    }
}

/// Loads a text and returns the code and the log of errors.
fn jit(text: &str) -> (CUresult, String) {
    let text = CString::new(text).expect("no zero");
    let mut log = vec![0_u8; 4096];
    let mut options = [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let mut values = [log.as_mut_ptr().cast::<c_void>(), 4096 as *mut c_void];
    let mut module = null_mut();
    // SAFETY: the log is as long as told.
    let result = unsafe {
        sys::cuModuleLoadDataEx(&mut module, text.as_ptr().cast(), 2, options.as_mut_ptr(), values.as_mut_ptr())
    };
    let length = values[1] as usize;
    assert!(length <= 4096);
    let log = CStr::from_bytes_until_nul(&log).expect("an end");
    (result, log.to_str().expect("UTF-8").to_owned())
}

#[test]
fn bad_ptx_has_a_log_with_line_and_column() {
    if !under("bad_ptx_has_a_log_with_line_and_column", &[MODEL]) {
        return;
    }
    start();
    assert_eq!(jit(PTX), (CUresult::CUDA_SUCCESS, String::new()));
    let line = 1 + PTX.lines().position(|line| line.contains("ld.param.f32 %f1, [a];")).expect("the line");
    let (result, log) = jit(&PTX.replacen("ld.param.f32 %f1, [a];", "ld.param.f32 %f1, [a;", 1));
    assert_eq!(result, CUresult::CUDA_ERROR_INVALID_PTX);
    assert!(log.contains(&format!("line {line}, column ")), "{log}");
    let (result, log) = jit(&PTX.replacen("fma.rn.f32", "frobnicate.f32", 1));
    assert_eq!(result, CUresult::CUDA_ERROR_INVALID_PTX);
    assert!(log.contains("frobnicate.f32"), "{log}");
    let (result, log) = jit(&PTX.replacen("fma.rn.f32", "griddepcontrol.wait; fma.rn.f32", 1));
    assert_eq!(result, CUresult::CUDA_ERROR_INVALID_PTX);
    assert!(log.contains("needs `.target sm_90` or a later one, and the module has `.target sm_80`"), "{log}");
    let (result, log) = jit(&PTX.replace("sm_80", "sm_100a"));
    assert_eq!(result, CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU);
    assert!(log.contains("sm_100a") && log.contains("H200"), "{log}");
}

#[test]
fn wrong_calls_are_errors_and_not_crashes() {
    if !under("wrong_calls_are_errors_and_not_crashes", &[MODEL]) {
        return;
    }
    // SAFETY: null pointers and handles that are none are checked.
    unsafe {
        let mut count = 0;
        assert_eq!(sys::cuDeviceGetCount(&mut count), CUresult::CUDA_ERROR_NOT_INITIALIZED);
        ok(sys::cuInit(0));
        assert_eq!(sys::cuCtxSynchronize(), CUresult::CUDA_ERROR_INVALID_CONTEXT);
        start();
        let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
        assert_eq!(sys::cuDeviceGetCount(null_mut()), invalid);
        assert_eq!(sys::cuMemAlloc_v2(null_mut(), 16), invalid);
        assert_eq!(sys::cuModuleLoadData(null_mut(), null_mut()), invalid);
        assert_eq!(sys::cuMemcpyHtoD_v2(0x1234, (&raw const count).cast(), 4), invalid);
        let memory = alloc(16);
        let mut bytes = [0_u8; 32];
        assert_eq!(sys::cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), memory, 17), invalid);
        assert_eq!(sys::cuMemsetD32_v2(memory + 2, 0, 1), invalid);
        assert_eq!(sys::cuStreamSynchronize(0x7EAD_0000 as _), CUresult::CUDA_ERROR_INVALID_HANDLE);
        let mut device = 0;
        assert_eq!(sys::cuDeviceGet(&mut device, 1), CUresult::CUDA_ERROR_INVALID_DEVICE);
        let mut text = std::ptr::null();
        ok(sys::cuGetErrorName(CUresult::CUDA_ERROR_INVALID_PTX, &mut text));
        assert_eq!(CStr::from_ptr(text), c"CUDA_ERROR_INVALID_PTX");
        ok(sys::cuGetErrorString(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS, &mut text));
        assert_eq!(CStr::from_ptr(text), c"an illegal memory access was encountered");
    }
}

#[test]
fn another_vendors_model_is_no_device() {
    if !under("another_vendors_model_is_no_device", &[("VGPU_MODEL", "mi300x")]) {
        return;
    }
    // SAFETY: nothing is passed.
    assert_eq!(unsafe { sys::cuInit(0) }, CUresult::CUDA_ERROR_NO_DEVICE);
}
