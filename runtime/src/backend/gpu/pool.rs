//! The description of a memory pool, which CUDA and HIP lay out alike.

/// `CUmemPoolProps` and `hipMemPoolProps`.
#[repr(C)]
pub struct PoolProps {
    allocation: u32,
    handles: u32,
    location: u32,
    id: i32,
    security: usize,
    max_size: usize,
    reserved: [u8; 56],
}

impl PoolProps {
    /// A pool of pinned memory on a device, of any size.
    pub fn on_device(ordinal: u32) -> Self {
        Self { allocation: 1, handles: 0, location: 1, id: ordinal as i32, security: 0, max_size: 0, reserved: [0; 56] }
    }
}

/// The attribute for how many bytes a pool keeps (`u64`).
pub const RELEASE_THRESHOLD: u32 = 4;
/// The attribute for bytes taken from the system (`u64`).
pub const RESERVED: u32 = 5;
/// The attribute for bytes in use (`u64`).
pub const USED: u32 = 7;
