//! Devices, memory, launches and the kernel cache.

pub mod virtual_gpu;
