//! Memory of all kinds, copies and fills in one to three dimensions, peers, and tensor maps.

mod support;

use cudarc::driver::sys::{self, CUDA_MEMCPY2D_st, CUDA_MEMCPY3D_st, CUmemorytype, CUresult};
use std::ptr::null_mut;
use support::*;
use tegula_vgpu::ptx::{Element, Mode, Swizzle, TensorMap};
use tegula_vgpu_driver::testing::under;

const MODEL: (&str, &str) = ("VGPU_MODEL", "h200");

#[test]
fn fills_of_all_widths_and_copies_of_boxes() {
    if !under("fills_of_all_widths_and_copies_of_boxes", &[MODEL]) {
        return;
    }
    start();
    // SAFETY: sizes are those of the allocations and arrays.
    unsafe {
        let memory = alloc(16);
        ok(sys::cuMemsetD32_v2(memory, 0x0102_0304, 4));
        ok(sys::cuMemsetD16_v2(memory + 4, 0xABCD, 2));
        ok(sys::cuMemsetD8_v2(memory + 8, 0x77, 3));
        ok(sys::cuMemsetD32Async(memory + 12, 9, 1, null_mut()));
        assert_eq!(read(memory, 4), [0x0102_0304, 0xABCD_ABCD, 0x0177_7777, 9]);

        // Rows of 12 bytes, pitched; a window of 2 rows of 8 bytes comes back.
        let (mut rows, mut pitch) = (0, 0);
        ok(sys::cuMemAllocPitch_v2(&mut rows, &mut pitch, 12, 3, 4));
        assert!(pitch >= 12 && pitch.is_multiple_of(512));
        ok(sys::cuMemsetD2D32_v2(rows, pitch, 5, 3, 3));
        let source: [u32; 9] = std::array::from_fn(|n| n as u32);
        let mut copy = CUDA_MEMCPY2D_st {
            srcMemoryType: CUmemorytype::CU_MEMORYTYPE_HOST,
            srcHost: source.as_ptr().cast(),
            srcPitch: 12,
            dstMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
            dstDevice: rows,
            dstPitch: pitch,
            WidthInBytes: 12,
            Height: 3,
            ..std::mem::zeroed::<std::mem::MaybeUninit<CUDA_MEMCPY2D_st>>().assume_init_2d()
        };
        ok(sys::cuMemcpy2D_v2(&copy));
        let mut window = [0_u32; 4];
        copy.srcMemoryType = CUmemorytype::CU_MEMORYTYPE_DEVICE;
        (copy.srcDevice, copy.srcPitch, copy.srcXInBytes, copy.srcY) = (rows, pitch, 4, 1);
        copy.dstMemoryType = CUmemorytype::CU_MEMORYTYPE_HOST;
        (copy.dstHost, copy.dstPitch) = (window.as_mut_ptr().cast(), 8);
        (copy.WidthInBytes, copy.Height) = (8, 2);
        ok(sys::cuMemcpy2D_v2(&copy));
        assert_eq!(window, [4, 5, 7, 8]);
        // One row too many.
        copy.Height = 3;
        assert_eq!(sys::cuMemcpy2D_v2(&copy), CUresult::CUDA_ERROR_INVALID_VALUE);
    }
}

/// Zeroed copy parameters: the enumerations in them have no zero, so that they are set first.
trait Zeroed<T> {
    unsafe fn assume_init_2d(self) -> T;
}

impl Zeroed<CUDA_MEMCPY2D_st> for std::mem::MaybeUninit<CUDA_MEMCPY2D_st> {
    unsafe fn assume_init_2d(mut self) -> CUDA_MEMCPY2D_st {
        let pointer = self.as_mut_ptr();
        // SAFETY: all other fields are numbers and pointers, for which zero is a value.
        unsafe {
            (&raw mut (*pointer).srcMemoryType).write(CUmemorytype::CU_MEMORYTYPE_HOST);
            (&raw mut (*pointer).dstMemoryType).write(CUmemorytype::CU_MEMORYTYPE_HOST);
            self.assume_init()
        }
    }
}

#[test]
fn host_memory_is_shared_with_the_device() {
    if !under("host_memory_is_shared_with_the_device", &[MODEL]) {
        return;
    }
    start();
    let stray = function(load(), "stray");
    // SAFETY: sizes are those of the allocations.
    unsafe {
        let mut managed = 0;
        ok(sys::cuMemAllocManaged(&mut managed, 64, sys::CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL as u32));
        ok(launch_pointer(stray, 1, managed + 8, null_mut()));
        ok(sys::cuCtxSynchronize());
        assert_eq!(*((managed + 8) as *const u32), 1);
        let pinned = pinned_word();
        ok(launch_pointer(stray, 1, pinned as u64, null_mut()));
        ok(sys::cuCtxSynchronize());
        assert_eq!(*pinned, 1);
        let mut own = vec![0_u32; 100];
        ok(sys::cuMemHostRegister_v2(own.as_mut_ptr().cast(), 400, 0));
        let again = sys::cuMemHostRegister_v2(own.as_mut_ptr().cast(), 400, 0);
        assert_eq!(again, CUresult::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
        ok(launch_pointer(stray, 1, own.as_ptr().add(99) as u64, null_mut()));
        ok(sys::cuMemHostUnregister(own.as_mut_ptr().cast()));
        assert_eq!(own[99], 1);
        let mut managed_kind = 0_u32;
        let attribute = sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED;
        ok(sys::cuPointerGetAttribute((&raw mut managed_kind).cast(), attribute, managed + 60));
        assert_eq!(managed_kind, 1);
        ok(sys::cuMemFree_v2(managed));
        ok(sys::cuMemFreeHost(pinned.cast()));
        assert_eq!(sys::cuMemFreeHost(pinned.cast()), CUresult::CUDA_ERROR_INVALID_VALUE);
        // Pageable memory is read when the call is made.
        let memory = alloc(4);
        let own = stream(false);
        let flag = pinned_word();
        ok(launch_pointer(function(load(), "wait"), 1, flag as u64, own));
        let mut value = 42_u32;
        ok(sys::cuMemcpyHtoDAsync_v2(memory, (&raw const value).cast(), 4, own));
        value += 1;
        std::hint::black_box(value);
        flag.write_volatile(1);
        ok(synchronize(own));
        assert_eq!(read(memory, 1), [42]);
    }
}

#[test]
fn stream_ordered_memory_and_pools() {
    if !under("stream_ordered_memory_and_pools", &[MODEL]) {
        return;
    }
    start();
    let own = stream(false);
    // SAFETY: handles made here.
    unsafe {
        let (mut pool, mut memory) = (null_mut(), 0);
        ok(sys::cuDeviceGetDefaultMemPool(&mut pool, 0));
        ok(sys::cuMemAllocFromPoolAsync(&mut memory, 64, pool, own));
        ok(sys::cuMemsetD32Async(memory, 3, 16, own));
        ok(sys::cuMemFreeAsync(memory, own));
        ok(synchronize(own));
        assert_eq!(sys::cuMemsetD32Async(memory, 3, 16, own), CUresult::CUDA_ERROR_INVALID_VALUE);
        let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        let mut threshold = u64::MAX;
        ok(sys::cuMemPoolSetAttribute(pool, attribute, (&raw mut threshold).cast()));
        threshold = 0;
        ok(sys::cuMemPoolGetAttribute(pool, attribute, (&raw mut threshold).cast()));
        assert_eq!(threshold, u64::MAX);
    }
}

#[test]
fn peers_see_each_other_once_they_may() {
    if !under("peers_see_each_other_once_they_may", &[MODEL, ("VGPU_DEVICES", "2")]) {
        return;
    }
    let first = start();
    // SAFETY: handles made here.
    unsafe {
        let mut second = null_mut();
        ok(sys::cuDevicePrimaryCtxRetain(&mut second, 1));
        ok(sys::cuCtxSetCurrent(second));
        let far = alloc(8);
        write(far, &[0, 0]);
        ok(sys::cuCtxSetCurrent(first));
        let near = alloc(8);
        write(near, &[7, 8]);
        ok(sys::cuMemcpyPeer(far, second, near, first, 8));
        assert_eq!(read(far, 2), [7, 8]);
        ok(sys::cuCtxEnablePeerAccess(second, 0));
        assert_eq!(sys::cuCtxEnablePeerAccess(second, 0), CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
        let stray = function(load(), "stray");
        ok(launch_pointer(stray, 1, far, null_mut()));
        ok(sys::cuCtxSynchronize());
        assert_eq!(read(far, 2), [1, 8]);
        ok(sys::cuCtxDisablePeerAccess(second));
        ok(launch_pointer(stray, 1, far, null_mut()));
        assert_eq!(sys::cuCtxSynchronize(), CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    }
}

#[test]
fn nodes_of_a_graph_copy_fill_and_launch() {
    if !under("nodes_of_a_graph_copy_fill_and_launch", &[MODEL]) {
        return;
    }
    start();
    let (source, target) = (alloc(16), alloc(16));
    let mut written = target + 4;
    let mut params = [argument(&mut written)];
    // SAFETY: handles and memory made here.
    unsafe {
        let (mut graph, mut fill, mut copy, mut kernel) = (null_mut(), null_mut(), null_mut(), null_mut());
        ok(sys::cuGraphCreate(&mut graph, 0));
        let memset =
            sys::CUDA_MEMSET_NODE_PARAMS_st { dst: source, pitch: 16, value: 6, elementSize: 4, width: 4, height: 1 };
        ok(sys::cuGraphAddMemsetNode(&mut fill, graph, std::ptr::null(), 0, &memset, null_mut()));
        let mut copy_params = std::mem::MaybeUninit::<CUDA_MEMCPY3D_st>::zeroed();
        let raw = copy_params.as_mut_ptr();
        (&raw mut (*raw).srcMemoryType).write(CUmemorytype::CU_MEMORYTYPE_DEVICE);
        (&raw mut (*raw).dstMemoryType).write(CUmemorytype::CU_MEMORYTYPE_DEVICE);
        ((*raw).srcDevice, (*raw).dstDevice) = (source, target);
        ((*raw).WidthInBytes, (*raw).Height, (*raw).Depth) = (16, 1, 1);
        ok(sys::cuGraphAddMemcpyNode(&mut copy, graph, &fill, 1, raw, null_mut()));
        let launch = sys::CUDA_KERNEL_NODE_PARAMS_v2_st {
            func: function(load(), "stray"),
            gridDimX: 1,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: 1,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: 0,
            kernelParams: params.as_mut_ptr(),
            extra: null_mut(),
            kern: null_mut(),
            ctx: null_mut(),
        };
        ok(sys::cuGraphAddKernelNode_v2(&mut kernel, graph, &copy, 1, &launch));
        let mut exec = null_mut();
        ok(sys::cuGraphInstantiateWithFlags(&mut exec, graph, 0));
        ok(sys::cuGraphLaunch(exec, null_mut()));
        assert_eq!(read(target, 4), [6, 1, 6, 6]);
        // A cycle is refused.
        ok(sys::cuGraphAddDependencies_v2(graph, &kernel, &fill, std::ptr::null(), 1));
        assert_eq!(sys::cuGraphInstantiateWithFlags(&mut exec, graph, 0), CUresult::CUDA_ERROR_INVALID_VALUE);
    }
}

#[test]
fn tensor_maps_are_what_the_machine_reads() {
    if !under("tensor_maps_are_what_the_machine_reads", &[MODEL]) {
        return;
    }
    start();
    let memory = alloc(1 << 16);
    // SAFETY: the arrays have as many elements as the rank asks for.
    unsafe {
        let mut map: sys::CUtensorMap = std::mem::zeroed();
        let result = sys::cuTensorMapEncodeTiled(
            &mut map,
            sys::CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
            2,
            memory as *mut _,
            [128, 64].as_ptr(),
            [256].as_ptr(),
            [64, 32].as_ptr(),
            [1, 1].as_ptr(),
            sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
            sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_128B,
            sys::CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
            sys::CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        );
        ok(result);
        let mut expected = TensorMap::tiled(memory, Element::BF16, &[128, 64], &[256], &[64, 32]);
        expected.swizzle = Swizzle::B128;
        let bytes = |map: &sys::CUtensorMap| std::ptr::from_ref(map).cast::<[u8; 128]>().read();
        assert_eq!(TensorMap::decode(&bytes(&map)), Ok(expected));

        let result = sys::cuTensorMapEncodeIm2col(
            &mut map,
            sys::CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
            4,
            memory as *mut _,
            [64, 8, 8, 2].as_ptr(),
            [128, 1024, 8192].as_ptr(),
            [-1, -1].as_ptr(),
            [1, 1].as_ptr(),
            64,
            32,
            [1, 1, 1, 1].as_ptr(),
            sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
            sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_128B,
            sys::CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_NONE,
            sys::CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA,
        );
        ok(result);
        let decoded = TensorMap::decode(&bytes(&map)).expect("a map");
        let mode = Mode::Im2col { lower: [-1, -1, 0], upper: [1, 1, 0], channels: 64, pixels: 32 };
        assert_eq!((decoded.mode, decoded.fill_nan, decoded.rank()), (mode, true, 4));

        // A stride that is no multiple of 16.
        let result = sys::cuTensorMapEncodeTiled(
            &mut map,
            sys::CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_UINT8,
            2,
            memory as *mut _,
            [128, 64].as_ptr(),
            [250].as_ptr(),
            [64, 32].as_ptr(),
            [1, 1].as_ptr(),
            sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
            sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_NONE,
            sys::CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_NONE,
            sys::CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        );
        assert_eq!(result, CUresult::CUDA_ERROR_INVALID_VALUE);
    }
}
