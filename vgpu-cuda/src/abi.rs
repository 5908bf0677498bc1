//! The C types of the driver API that this library takes and gives. Enumerations are plain integers: C may pass any.

use std::ffi::{c_int, c_uint, c_void};

pub use tegula_vgpu_driver::abi::{
    Handle, HostNodeParams, LaunchAttribute, LaunchConfig, Memcpy2D, Memcpy2DSide, Uuid,
};
pub use tegula_vgpu_driver::ffi::HostFn;

/// `CUdevice`.
pub type Device = c_int;
/// `CUdeviceptr`.
pub type DevicePtr = u64;
/// `CUstreamCallback`.
pub type StreamCallback = Option<unsafe extern "C" fn(Handle, crate::status::CUresult, *mut c_void)>;
/// `CUoccupancyB2DSize`.
pub type BlockToShared = Option<unsafe extern "C" fn(c_int) -> usize>;

/// `CUdevprop`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "fields are named as in the interface")]
pub struct DeviceProperties {
    pub max_threads_per_block: c_int,
    pub max_threads_dim: [c_int; 3],
    pub max_grid_size: [c_int; 3],
    pub shared_mem_per_block: c_int,
    pub total_constant_memory: c_int,
    pub simd_width: c_int,
    pub mem_pitch: c_int,
    pub regs_per_block: c_int,
    pub clock_rate: c_int,
    pub texture_align: c_int,
}

/// One side of a copy in three dimensions: half of `CUDA_MEMCPY3D` or `CUDA_MEMCPY3D_PEER`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "fields are named as in the interface")]
pub struct Memcpy3DSide {
    pub x_in_bytes: usize,
    pub y: usize,
    pub z: usize,
    pub lod: usize,
    pub memory_type: c_uint,
    pub host: usize,
    pub device: DevicePtr,
    pub array: Handle,
    /// Reserved, or the context of a copy between peers.
    pub context: Handle,
    pub pitch: usize,
    pub height: usize,
}

/// `CUDA_MEMCPY3D`, and `CUDA_MEMCPY3D_PEER`, which has contexts where the other has reserved fields.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "fields are named as in the interface")]
pub struct Memcpy3D {
    pub src: Memcpy3DSide,
    pub dst: Memcpy3DSide,
    pub width_in_bytes: usize,
    pub height: usize,
    pub depth: usize,
}

/// `CUmemLocation`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MemLocation {
    /// What kind of place: 1 is a device.
    pub kind: c_uint,
    /// Which one.
    pub id: c_int,
}

/// `CUmemPoolProps`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "fields are named as in the interface")]
pub struct MemPoolProps {
    pub alloc_type: c_uint,
    pub handle_types: c_uint,
    pub location: MemLocation,
    pub win32_security_attributes: *mut c_void,
    pub max_size: usize,
    pub usage: u16,
    pub reserved: [u8; 54],
}

/// `CUmemAccessDesc`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "fields are named as in the interface")]
pub struct MemAccessDesc {
    pub location: MemLocation,
    pub flags: c_uint,
}

/// `CUDA_KERNEL_NODE_PARAMS` (version 2; version 1 ends before `kern`).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "fields are named as in the interface")]
pub struct KernelNodeParams {
    pub func: Handle,
    pub grid: [c_uint; 3],
    pub block: [c_uint; 3],
    pub shared_mem_bytes: c_uint,
    pub kernel_params: *const *const c_void,
    pub extra: *const *const c_void,
    pub kern: Handle,
    pub ctx: Handle,
}

/// `CUDA_MEMSET_NODE_PARAMS`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "fields are named as in the interface")]
pub struct MemsetNodeParams {
    pub dst: DevicePtr,
    pub pitch: usize,
    pub value: c_uint,
    pub element_size: c_uint,
    pub width: usize,
    pub height: usize,
}

/// `CUDA_GRAPH_INSTANTIATE_PARAMS`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "fields are named as in the interface")]
pub struct GraphInstantiateParams {
    pub flags: u64,
    pub upload_stream: Handle,
    pub err_node_out: Handle,
    pub result_out: c_uint,
}

/// `CUgraphExecUpdateResultInfo`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "fields are named as in the interface")]
pub struct GraphExecUpdateResultInfo {
    pub result: c_uint,
    pub error_node: Handle,
    pub error_from_node: Handle,
}
