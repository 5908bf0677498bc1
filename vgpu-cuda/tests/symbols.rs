//! Every function that cudarc can call: each is found, and answers with a code of the interface whatever it is given.

mod support;

use cuda::status::CUresult;
use cudarc::driver::sys;
use std::collections::BTreeMap;
use std::ptr::null_mut;
use support::*;
use tegula_vgpu_driver::testing::under;

/// The names of all functions that cudarc 0.19 loads from the driver, for any version of CUDA.
const NAMES: &str = include_str!("cudarc-symbols.txt");

/// What C passes in registers and on the stack: enough for every function.
type Any =
    unsafe extern "C" fn(usize, usize, usize, usize, usize, usize, usize, usize, usize, usize, usize, usize) -> u32;

#[test]
fn every_function_is_found_and_answers() {
    if !under("every_function_is_found_and_answers", &[("VGPU_MODEL", "h200")]) {
        return;
    }
    let mut codes: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for name in NAMES.lines() {
        // Some functions destroy the context.
        start();
        // SAFETY: loading runs no code of the library; null pointers and numbers of nothing are what the functions have to bear.
        let code = unsafe {
            let function = sys::culib().get::<Any>(name.as_bytes());
            let function = function.unwrap_or_else(|error| panic!("{name}: {error}"));
            let mut address = null_mut();
            let mut status = sys::CUdriverProcAddressQueryResult::CU_GET_PROC_ADDRESS_SUCCESS;
            let text = std::ffi::CString::new(name).expect("no zero");
            ok(sys::cuGetProcAddress_v2(text.as_ptr(), &mut address, 13000, 0, &mut status));
            assert!(!address.is_null(), "{name}");
            function(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        };
        let code = CUresult(code).name().unwrap_or_else(|| panic!("{name} gave {code}")).to_string_lossy().into_owned();
        codes.entry(code).or_default().push(name);
    }
    let of = |code: &str| codes.get(code).map_or(&[][..], |names| names);
    // A function that panics gives this.
    assert!(of("CUDA_ERROR_UNKNOWN").is_empty(), "{:?}", of("CUDA_ERROR_UNKNOWN"));
    let refused = of("CUDA_ERROR_NOT_SUPPORTED");
    for name in
        ["cuTexObjectCreate", "cuArrayCreate_v2", "cuIpcGetMemHandle", "cuMemAddressReserve", "cuGreenCtxCreate"]
    {
        assert!(refused.contains(&name), "{name} is not refused");
    }
    // What cudarc's safe layer needs is not among them.
    for name in
        ["cuMemAlloc_v2", "cuLaunchKernel", "cuStreamCreate", "cuGraphLaunch", "cuMemAllocAsync", "cuModuleLoadData"]
    {
        assert!(!refused.contains(&name), "{name} is refused");
    }
}

#[test]
fn logs_tell_why_an_image_is_refused() {
    if !under("logs_tell_why_an_image_is_refused", &[("VGPU_MODEL", "h200")]) {
        return;
    }
    start();
    // The header of a cubin without sections, and a fat binary whose PTX is compressed.
    let mut cubin = vec![0_u8; 64];
    cubin[..4].copy_from_slice(b"\x7fELF");
    cubin[18] = 190;
    cubin[58] = 64;
    let mut fatbin = vec![0_u8; 16 + 64 + 8];
    fatbin[0..4].copy_from_slice(&0xBA55_ED50_u32.to_le_bytes());
    fatbin[6] = 16;
    fatbin[8] = 72;
    fatbin[16] = 1;
    fatbin[20] = 64;
    fatbin[24] = 8;
    fatbin[57] = 0x20;
    let broken = PTX.replacen("[a];", "[a;", 1) + "\0";
    for (image, code, told) in [
        (cubin, sys::CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU, "machine code"),
        (fatbin, sys::CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU, "compressed"),
        (broken.into_bytes(), sys::CUresult::CUDA_ERROR_INVALID_PTX, "line"),
    ] {
        let mut log = vec![0_u8; 512];
        let mut options =
            [sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER, sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values = [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(log.len())];
        let mut module = null_mut();
        // SAFETY: the image and the log are as long as they say, and text ends with zero.
        let result = unsafe {
            let (options, values) = (options.as_mut_ptr(), values.as_mut_ptr());
            sys::cuModuleLoadDataEx(&mut module, image.as_ptr().cast(), 2, options, values)
        };
        assert_eq!(result, code);
        let text = String::from_utf8_lossy(&log);
        assert!(text.contains(told), "{told}: {text}");
        assert!(values[1].addr() > 1 && values[1].addr() < 512);
    }
}
