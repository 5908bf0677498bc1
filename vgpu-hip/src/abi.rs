//! The C types of HIP that this library takes and gives. Enumerations are plain integers: C may pass any.

use std::ffi::{c_int, c_uint, c_void};

pub use tegula_vgpu_driver::abi::{Handle, HostNodeParams, LaunchAttribute, LaunchConfig, Memcpy2D, Uuid};
pub use tegula_vgpu_driver::ffi::HostFn;

/// `hipDevice_t`.
pub type Device = c_int;
/// `hipStreamCallback_t`.
pub type StreamCallback = Option<unsafe extern "C" fn(Handle, crate::status::hipError_t, *mut c_void)>;

/// `hipDeviceProp_t` as of HIP 6 (`hipDeviceProp_tR0600`).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "fields are named as in the interface")]
pub struct DeviceProperties {
    pub name: [u8; 256],
    pub uuid: Uuid,
    pub luid: [u8; 8],
    pub luid_device_node_mask: c_uint,
    pub total_global_mem: usize,
    pub shared_mem_per_block: usize,
    pub regs_per_block: c_int,
    pub warp_size: c_int,
    pub mem_pitch: usize,
    pub max_threads_per_block: c_int,
    pub max_threads_dim: [c_int; 3],
    pub max_grid_size: [c_int; 3],
    pub clock_rate: c_int,
    pub total_const_mem: usize,
    pub major: c_int,
    pub minor: c_int,
    pub texture_alignment: usize,
    pub texture_pitch_alignment: usize,
    pub device_overlap: c_int,
    pub multi_processor_count: c_int,
    pub kernel_exec_timeout_enabled: c_int,
    pub integrated: c_int,
    pub can_map_host_memory: c_int,
    pub compute_mode: c_int,
    /// The limits of textures and surfaces, of which there are none.
    pub textures_and_surfaces: [c_int; 40],
    pub surface_alignment: usize,
    pub concurrent_kernels: c_int,
    pub ecc_enabled: c_int,
    pub pci_bus_id: c_int,
    pub pci_device_id: c_int,
    pub pci_domain_id: c_int,
    pub tcc_driver: c_int,
    pub async_engine_count: c_int,
    pub unified_addressing: c_int,
    pub memory_clock_rate: c_int,
    pub memory_bus_width: c_int,
    pub l2_cache_size: c_int,
    pub persisting_l2_cache_max_size: c_int,
    pub max_threads_per_multi_processor: c_int,
    pub stream_priorities_supported: c_int,
    pub global_l1_cache_supported: c_int,
    pub local_l1_cache_supported: c_int,
    pub shared_mem_per_multiprocessor: usize,
    pub regs_per_multiprocessor: c_int,
    pub managed_memory: c_int,
    pub is_multi_gpu_board: c_int,
    pub multi_gpu_board_group_id: c_int,
    pub host_native_atomic_supported: c_int,
    pub single_to_double_precision_perf_ratio: c_int,
    pub pageable_memory_access: c_int,
    pub concurrent_managed_access: c_int,
    pub compute_preemption_supported: c_int,
    pub can_use_host_pointer_for_registered_mem: c_int,
    pub cooperative_launch: c_int,
    pub cooperative_multi_device_launch: c_int,
    pub shared_mem_per_block_optin: usize,
    pub pageable_memory_access_uses_host_page_tables: c_int,
    pub direct_managed_mem_access_from_host: c_int,
    pub max_blocks_per_multi_processor: c_int,
    pub access_policy_max_window_size: c_int,
    pub reserved_shared_mem_per_block: usize,
    pub host_register_supported: c_int,
    pub sparse_hip_array_supported: c_int,
    pub host_register_read_only_supported: c_int,
    pub timeline_semaphore_interop_supported: c_int,
    pub memory_pools_supported: c_int,
    pub gpu_direct_rdma_supported: c_int,
    pub gpu_direct_rdma_flush_writes_options: c_uint,
    pub gpu_direct_rdma_writes_ordering: c_int,
    pub memory_pool_supported_handle_types: c_uint,
    pub deferred_mapping_hip_array_supported: c_int,
    pub ipc_event_supported: c_int,
    pub cluster_launch: c_int,
    pub unified_function_pointers: c_int,
    pub reserved: [c_int; 63],
    pub hip_reserved: [c_int; 32],
    pub gcn_arch_name: [u8; 256],
    pub max_shared_memory_per_multi_processor: usize,
    pub clock_instruction_rate: c_int,
    /// `hipDeviceArch_t`: one bit a feature.
    pub arch: c_uint,
    pub hdp_mem_flush_cntl: *mut c_uint,
    pub hdp_reg_flush_cntl: *mut c_uint,
    pub cooperative_multi_device_unmatched_func: c_int,
    pub cooperative_multi_device_unmatched_grid_dim: c_int,
    pub cooperative_multi_device_unmatched_block_dim: c_int,
    pub cooperative_multi_device_unmatched_shared_mem: c_int,
    pub is_large_bar: c_int,
    pub asic_revision: c_int,
}

/// `hipFuncAttributes`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "fields are named as in the interface")]
pub struct FuncAttributes {
    pub binary_version: c_int,
    pub cache_mode_ca: c_int,
    pub const_size_bytes: usize,
    pub local_size_bytes: usize,
    pub max_dynamic_shared_size_bytes: c_int,
    pub max_threads_per_block: c_int,
    pub num_regs: c_int,
    pub preferred_shmem_carveout: c_int,
    pub ptx_version: c_int,
    pub shared_size_bytes: usize,
}

/// `hipPointerAttribute_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "fields are named as in the interface")]
pub struct PointerAttributes {
    pub kind: c_uint,
    pub device: c_int,
    pub device_pointer: usize,
    pub host_pointer: usize,
    pub is_managed: c_int,
    pub allocation_flags: c_uint,
}

/// `hipKernelNodeParams`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "fields are named as in the interface")]
pub struct KernelNodeParams {
    pub block: [c_uint; 3],
    pub extra: *const *const c_void,
    pub func: Handle,
    pub grid: [c_uint; 3],
    pub kernel_params: *const *const c_void,
    pub shared_mem_bytes: c_uint,
}

/// `hipMemsetParams`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "fields are named as in the interface")]
pub struct MemsetParams {
    pub dst: u64,
    pub element_size: c_uint,
    pub height: usize,
    pub pitch: usize,
    pub value: c_uint,
    pub width: usize,
}
