//! The interface itself: the layout of its types and the numbers of its codes beside cudarc's, the addresses of its functions, the
//! linker, and launches with attributes.

mod support;

use cuda::abi;
use cuda::status::CUresult;
use cudarc::driver::sys;
use std::ffi::{CString, c_void};
use std::mem::offset_of;
use std::ptr::null_mut;
use support::*;
use tegula_vgpu_driver::testing::under;

#[test]
fn types_lie_as_the_interface_has_them() {
    macro_rules! same {
        ($($own:ty = $theirs:ty { $($field:ident = $their_field:ident),* })*) => {$(
            assert_eq!(size_of::<$own>(), size_of::<$theirs>(), stringify!($own));
            assert_eq!(align_of::<$own>(), align_of::<$theirs>(), stringify!($own));
            $(assert_eq!(offset_of!($own, $field), offset_of!($theirs, $their_field), stringify!($own, $field));)*
        )*};
    }
    same! {
        abi::Uuid = sys::CUuuid { bytes = bytes }
        abi::DeviceProperties = sys::CUdevprop_st { shared_mem_per_block = sharedMemPerBlock, texture_align = textureAlign }
        abi::Memcpy2D = sys::CUDA_MEMCPY2D_st { dst = dstXInBytes, width_in_bytes = WidthInBytes, height = Height }
        abi::Memcpy3D = sys::CUDA_MEMCPY3D_st { dst = dstXInBytes, width_in_bytes = WidthInBytes, depth = Depth }
        abi::Memcpy3D = sys::CUDA_MEMCPY3D_PEER_st { dst = dstXInBytes, width_in_bytes = WidthInBytes, depth = Depth }
        abi::MemLocation = sys::CUmemLocation_st { kind = type_ }
        abi::MemPoolProps = sys::CUmemPoolProps_st { location = location, max_size = maxSize }
        abi::MemAccessDesc = sys::CUmemAccessDesc_st { location = location, flags = flags }
        abi::LaunchAttribute = sys::CUlaunchAttribute_st { id = id, value = value }
        abi::LaunchConfig = sys::CUlaunchConfig_st { shared_mem_bytes = sharedMemBytes, stream = hStream, attrs = attrs, num_attrs = numAttrs }
        abi::KernelNodeParams = sys::CUDA_KERNEL_NODE_PARAMS_v2_st { grid = gridDimX, kernel_params = kernelParams, kern = kern }
        abi::MemsetNodeParams = sys::CUDA_MEMSET_NODE_PARAMS_st { dst = dst, value = value, width = width }
        abi::HostNodeParams = sys::CUDA_HOST_NODE_PARAMS_st { user_data = userData }
        abi::GraphInstantiateParams = sys::CUDA_GRAPH_INSTANTIATE_PARAMS_st { upload_stream = hUploadStream, result_out = result_out }
        abi::GraphExecUpdateResultInfo = sys::CUgraphExecUpdateResultInfo_st { result = result, error_node = errorNode }
    }
    assert_eq!(offset_of!(abi::Memcpy2DSide, pitch), offset_of!(sys::CUDA_MEMCPY2D_st, srcPitch));
    assert_eq!(offset_of!(abi::Memcpy3DSide, height), offset_of!(sys::CUDA_MEMCPY3D_st, srcHeight));
}

#[test]
fn codes_have_their_names() {
    for theirs in [
        sys::CUresult::CUDA_SUCCESS,
        sys::CUresult::CUDA_ERROR_INVALID_VALUE,
        sys::CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU,
        sys::CUresult::CUDA_ERROR_INVALID_PTX,
        sys::CUresult::CUDA_ERROR_NOT_FOUND,
        sys::CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
        sys::CUresult::CUDA_ERROR_MISALIGNED_ADDRESS,
        sys::CUresult::CUDA_ERROR_LAUNCH_FAILED,
        sys::CUresult::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
        sys::CUresult::CUDA_ERROR_NOT_SUPPORTED,
        sys::CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
        sys::CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
        sys::CUresult::CUDA_ERROR_INVALID_CLUSTER_SIZE,
    ] {
        let name = CUresult(theirs as u32).name().expect("a name").to_str().expect("ASCII");
        assert_eq!(name, format!("{theirs:?}"));
    }
    assert_eq!(CUresult(12345).name(), None);
}

#[test]
fn functions_are_found_by_name() {
    if !under("functions_are_found_by_name", &[("VGPU_MODEL", "h200")]) {
        return;
    }
    start();
    // SAFETY: the names end with zero; the function is called as the interface declares it.
    unsafe {
        let mut address = null_mut();
        let mut status = sys::CUdriverProcAddressQueryResult::CU_GET_PROC_ADDRESS_SUCCESS;
        ok(sys::cuGetProcAddress_v2(c"cuMemAlloc".as_ptr(), &mut address, 12000, 0, &mut status));
        let allocate: unsafe extern "C" fn(*mut u64, usize) -> u32 = std::mem::transmute::<*mut c_void, _>(address);
        let mut memory = 0;
        assert_eq!(allocate(&mut memory, 64), 0);
        write(memory, &[3; 16]);
        ok(sys::cuGetProcAddress_v2(c"cuNothing".as_ptr(), &mut address, 12000, 0, &mut status));
        assert_eq!(status, sys::CUdriverProcAddressQueryResult::CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
        assert!(address.is_null());
    }
}

#[test]
fn what_is_linked_is_loaded_again() {
    if !under("what_is_linked_is_loaded_again", &[("VGPU_MODEL", "h200")]) {
        return;
    }
    start();
    let text = CString::new(PTX).expect("no zero");
    // SAFETY: the text ends with zero; the image is copied before the linker is destroyed.
    unsafe {
        let mut linker = null_mut();
        ok(sys::cuLinkCreate_v2(0, null_mut(), null_mut(), &mut linker));
        let kind = sys::CUjitInputType::CU_JIT_INPUT_PTX;
        let bad = CString::new(PTX.replacen("[a];", "[a;", 1)).expect("no zero");
        let add = |text: &CString| {
            let size = text.as_bytes_with_nul().len();
            let data = text.as_ptr().cast_mut().cast();
            sys::cuLinkAddData_v2(linker, kind, data, size, c"kernels".as_ptr(), 0, null_mut(), null_mut())
        };
        assert_eq!(add(&bad), sys::CUresult::CUDA_ERROR_INVALID_PTX);
        ok(add(&text));
        let (mut image, mut size) = (null_mut(), 0);
        ok(sys::cuLinkComplete(linker, &mut image, &mut size));
        let cubin = std::slice::from_raw_parts(image.cast::<u8>(), size).to_vec();
        ok(sys::cuLinkDestroy(linker));
        assert!(cubin.starts_with(b"\x7fELF"));
        let mut module = null_mut();
        ok(sys::cuModuleLoadData(&mut module, cubin.as_ptr().cast()));
        let memory = alloc(4);
        ok(launch_pointer(function(module, "stray"), 1, memory, null_mut()));
        assert_eq!(read(memory, 1), [1]);
        // As a library too, where a kernel is a function.
        let (mut library, mut kernel) = (null_mut(), null_mut());
        let image = cubin.as_ptr().cast();
        ok(sys::cuLibraryLoadData(&mut library, image, null_mut(), null_mut(), 0, null_mut(), null_mut(), 0));
        ok(sys::cuLibraryGetKernel(&mut kernel, library, c"stray".as_ptr()));
        let mut from_kernel = null_mut();
        ok(sys::cuKernelGetFunction(&mut from_kernel, kernel));
        ok(launch_pointer(from_kernel, 1, memory, null_mut()));
        ok(synchronize(null_mut()));
    }
}

/// A kernel that writes its rank in the cluster.
const CLUSTER: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry rank(.param .u64 p) {
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %cluster_ctarank;
    mad.wide.u32 %rd2, %r1, 4, %rd1;
    st.global.u32 [%rd2], %r2;
    ret;
}
";

#[test]
fn attributes_of_a_launch_ask_for_clusters() {
    if !under("attributes_of_a_launch_ask_for_clusters", &[("VGPU_MODEL", "h200")]) {
        return;
    }
    start();
    let text = CString::new(CLUSTER).expect("no zero");
    // SAFETY: arguments and attributes are local variables.
    unsafe {
        let mut module = null_mut();
        ok(sys::cuModuleLoadData(&mut module, text.as_ptr().cast()));
        let rank = function(module, "rank");
        let mut memory = alloc(16 * 4);
        let launch = |grid: u32, cluster: u32, memory: &mut u64| {
            let mut attributes: [sys::CUlaunchAttribute_st; 2] = std::mem::zeroed();
            attributes[0].id = sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
            attributes[0].value.clusterDim.x = cluster;
            attributes[0].value.clusterDim.y = 1;
            attributes[0].value.clusterDim.z = 1;
            attributes[1].id = sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
            attributes[1].value.programmaticStreamSerializationAllowed = 1;
            let config = sys::CUlaunchConfig_st {
                gridDimX: grid,
                gridDimY: 1,
                gridDimZ: 1,
                blockDimX: 1,
                blockDimY: 1,
                blockDimZ: 1,
                sharedMemBytes: 0,
                hStream: null_mut(),
                attrs: attributes.as_mut_ptr(),
                numAttrs: 2,
            };
            let mut args = [argument(memory)];
            sys::cuLaunchKernelEx(&config, rank, args.as_mut_ptr(), null_mut())
        };
        ok(launch(8, 4, &mut memory));
        assert_eq!(read(memory, 8), [0, 1, 2, 3, 0, 1, 2, 3]);
        assert_eq!(launch(9, 4, &mut memory), sys::CUresult::CUDA_ERROR_INVALID_VALUE);
        assert_eq!(launch(16, 16, &mut memory), sys::CUresult::CUDA_ERROR_INVALID_CLUSTER_SIZE);
        let large = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
        ok(sys::cuFuncSetAttribute(rank, large, 1));
        ok(launch(16, 16, &mut memory));
        assert_eq!(read(memory, 16), std::array::from_fn::<u32, 16, _>(|n| n as u32));
    }
}

/// A number in a list of `extra`.
fn mark(number: usize) -> *mut c_void {
    std::ptr::without_provenance_mut(number)
}

#[test]
fn arguments_come_in_a_buffer_too() {
    if !under("arguments_come_in_a_buffer_too", &[("VGPU_MODEL", "a100")]) {
        return;
    }
    start();
    let axpy = function(load(), "axpy");
    let (x, y) = (alloc(4), alloc(4));
    write(x, &[2.0_f32.to_bits()]);
    write(y, &[1.0_f32.to_bits()]);
    let mut buffer = Vec::new();
    buffer.extend(y.to_le_bytes());
    buffer.extend(x.to_le_bytes());
    buffer.extend(4.0_f32.to_le_bytes());
    buffer.extend(1_u32.to_le_bytes());
    let mut size = buffer.len();
    let mut extra = [mark(1), buffer.as_mut_ptr().cast(), mark(2), (&raw mut size).cast(), null_mut()];
    // SAFETY: the list ends with null, and the buffer is as long as told.
    unsafe {
        let launched = |extra: &mut [*mut c_void]| {
            sys::cuLaunchKernel(axpy, 1, 1, 1, 1, 1, 1, 0, null_mut(), null_mut(), extra.as_mut_ptr())
        };
        ok(launched(&mut extra));
        assert_eq!(read(y, 1), [9.0_f32.to_bits()]);
        *extra[3].cast::<usize>() = 20;
        assert_eq!(launched(&mut extra), sys::CUresult::CUDA_ERROR_INVALID_VALUE);
    }
}

#[test]
fn launches_that_do_nothing() {
    if !under("launches_that_do_nothing", &[("VGPU_MODEL", "h200"), ("VGPU_NULL_LAUNCH", "1")]) {
        return;
    }
    start();
    let memory = alloc(4);
    write(memory, &[5]);
    ok(launch_pointer(function(load(), "stray"), 1, memory, null_mut()));
    assert_eq!(read(memory, 1), [5]);
}
