//! Copies of rows, graphs built by hand, several devices, and what is refused.

mod support;

use amdhip64::abi::{KernelNodeParams, Memcpy2D, MemsetParams};
use std::ptr::{null, null_mut};
use support::*;
use tegula_vgpu_driver::abi::Memcpy2DSide;
use tegula_vgpu_driver::testing::under;

const MODEL: (&str, &str) = ("VGPU_MODEL", "mi300x");
const HOST_TO_DEVICE: u32 = 1;
const DEVICE_TO_HOST: u32 = 2;

#[test]
fn rows_are_copied_both_ways() {
    if !under("rows_are_copied_both_ways", &[MODEL]) {
        return;
    }
    let hip = Hip::load();
    let (width, height) = (7, 5);
    let rows: Vec<u32> = (0..width * height).collect();
    let (width, height) = (width as usize, height as usize);
    let (mut memory, mut pitch) = (0, 0);
    // SAFETY: the host's arrays are as long as the copies say.
    unsafe {
        ok((hip.hipMallocPitch)(&mut memory, &mut pitch, width * 4, height));
        assert!(pitch >= width * 4 && pitch.is_multiple_of(16));
        let device = std::ptr::with_exposed_provenance_mut(memory as usize);
        let from = rows.as_ptr().cast();
        ok((hip.hipMemcpy2D)(device, pitch, from, width * 4, width * 4, height, HOST_TO_DEVICE));
        // The same by a structure: three columns and two rows from the second of both on.
        let mut part = [0_u32; 6];
        let side = Memcpy2DSide { x_in_bytes: 0, y: 0, memory_type: 1, host: 0, device: 0, array: 0, pitch: 0 };
        let copy = Memcpy2D {
            src: Memcpy2DSide { x_in_bytes: 4, y: 1, memory_type: 2, device: memory, pitch, ..side },
            dst: Memcpy2DSide { host: part.as_mut_ptr().expose_provenance(), ..side },
            width_in_bytes: 12,
            height: 2,
        };
        ok((hip.hipMemcpyParam2D)((&raw const copy).cast()));
        assert_eq!(part, [8, 9, 10, 15, 16, 17]);
        let array = Memcpy2D { src: Memcpy2DSide { memory_type: 10, ..copy.src }, ..copy };
        assert_eq!((hip.hipMemcpyParam2D)((&raw const array).cast()), NOT_SUPPORTED);
        let mut back = vec![0_u32; width * height];
        let to = back.as_mut_ptr().cast();
        ok((hip.hipMemcpy2D)(to, width * 4, device, pitch, width * 4, height, DEVICE_TO_HOST));
        assert_eq!(back, rows);
        // Rows that overlap.
        assert_eq!((hip.hipMemcpy2D)(to, 4, device, pitch, width * 4, height, DEVICE_TO_HOST), INVALID_VALUE);
    }
}

#[test]
fn graphs_are_built_by_hand() {
    if !under("graphs_are_built_by_hand", &[MODEL]) {
        return;
    }
    let hip = Hip::load();
    let axpy = hip.function(hip.module(), "axpy");
    let n = 100;
    let (mut x, mut y, mut a, mut count) = (hip.alloc(n * 4), hip.alloc(n * 4), 2.0_f32, n as u32);
    hip.write(x, &vec![3.0_f32.to_bits(); n]);
    let mut out = vec![0_u32; n];
    // SAFETY: parameters as the interface has them, and arrays as long as told.
    unsafe {
        let (mut graph, mut exec) = (null_mut(), null_mut());
        ok((hip.hipGraphCreate)(&mut graph, 0));
        let fill = MemsetParams { dst: y, element_size: 4, height: 1, pitch: 0, value: 1.0_f32.to_bits(), width: n };
        let mut filled = null_mut();
        ok((hip.hipGraphAddMemsetNode)(&mut filled, graph, null(), 0, (&raw const fill).cast()));
        let mut args = [argument(&mut y), argument(&mut x), argument(&mut a), argument(&mut count)];
        let kernel = KernelNodeParams {
            block: [64, 1, 1],
            extra: null(),
            func: axpy.addr(),
            grid: [2, 1, 1],
            kernel_params: args.as_mut_ptr().cast(),
            shared_mem_bytes: 0,
        };
        let (mut first, mut second, mut copied) = (null_mut(), null_mut(), null_mut());
        ok((hip.hipGraphAddKernelNode)(&mut first, graph, &filled, 1, (&raw const kernel).cast()));
        ok((hip.hipGraphAddKernelNode)(&mut second, graph, &first, 1, (&raw const kernel).cast()));
        let device = std::ptr::with_exposed_provenance(y as usize);
        let to = out.as_mut_ptr().cast();
        ok((hip.hipGraphAddMemcpyNode1D)(&mut copied, graph, &second, 1, to, device, n * 4, DEVICE_TO_HOST));
        ok((hip.hipGraphInstantiate)(&mut exec, graph, null_mut(), null_mut(), 0));
        for _ in 0..2 {
            ok((hip.hipGraphLaunch)(exec, null_mut()));
            ok((hip.hipDeviceSynchronize)());
        }
        ok((hip.hipGraphExecDestroy)(exec));
        ok((hip.hipGraphDestroy)(graph));
    }
    // Every launch fills anew.
    assert_eq!(out, vec![13.0_f32.to_bits(); n]);
}

#[test]
fn devices_reach_each_other() {
    if !under("devices_reach_each_other", &[MODEL, ("VGPU_DEVICES", "2")]) {
        return;
    }
    let hip = Hip::load();
    // SAFETY: pointers to local variables.
    unsafe {
        let mut reaches = 0;
        ok((hip.hipDeviceCanAccessPeer)(&mut reaches, 0, 1));
        assert_eq!(reaches, 1);
        ok((hip.hipSetDevice)(1));
        let theirs = hip.alloc(4);
        hip.write(theirs, &[41]);
        ok((hip.hipSetDevice)(0));
        let ours = hip.alloc(4);
        ok((hip.hipMemcpyPeer)(ours, 0, theirs, 1, 4));
        assert_eq!(hip.read(ours, 1), [41]);
        // A kernel of the first device writes memory of the second.
        ok((hip.hipDeviceEnablePeerAccess)(1, 0));
        let module = hip.module();
        ok(hip.launch_pointer(hip.function(module, "stray"), 1, theirs, null_mut()));
        ok((hip.hipDeviceSynchronize)());
        assert_ne!(hip.read(theirs, 1), [41]);
        ok((hip.hipDeviceDisablePeerAccess)(1));
        assert_eq!((hip.hipDeviceDisablePeerAccess)(1), PEER_NOT_ENABLED);
    }
}

#[test]
fn what_is_refused_says_so() {
    if !under("what_is_refused_says_so", &[MODEL]) {
        return;
    }
    let hip = Hip::load();
    let refused = [
        hip.hipCreateTextureObject,
        hip.hipMallocArray,
        hip.hipIpcGetMemHandle,
        hip.hipMemAddressReserve,
        hip.hipDeviceGetDefaultMemPool,
        hip.hipStreamWaitValue32,
    ];
    for function in refused {
        // SAFETY: the functions look at none of their parameters.
        unsafe {
            assert_eq!(function(), NOT_SUPPORTED);
            assert_eq!((hip.hipGetLastError)(), NOT_SUPPORTED);
        }
    }
}
