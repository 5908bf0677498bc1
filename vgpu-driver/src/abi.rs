//! The C types that both interfaces have alike, and what they ask for.

use crate::copy::{Copy, Place, Side};
use crate::error::Error;
use crate::ffi::{HostFn, In, Outcome};
use crate::launch::Config;
use std::ffi::{c_char, c_uint, c_void};

/// A handle: a key, never an address.
pub type Handle = usize;

/// `CUuuid`, `hipUUID`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Uuid {
    /// The bytes.
    pub bytes: [u8; 16],
}

/// `CUlaunchAttribute`, `hipLaunchAttribute`; the value is a union of 64 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LaunchAttribute {
    /// Which.
    pub id: c_uint,
    /// Nothing.
    pub pad: [c_char; 4],
    /// The value, in its first bytes; aligned as the widest member of the union.
    pub value: LaunchAttributeValue,
}

/// `CUlaunchAttributeValue`, `hipLaunchAttributeValue` by its words.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
pub struct LaunchAttributeValue(pub [c_uint; 16]);

/// `CUlaunchConfig`, `HIP_LAUNCH_CONFIG`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "fields are named as in the interface")]
pub struct LaunchConfig {
    pub grid: [c_uint; 3],
    pub block: [c_uint; 3],
    pub shared_mem_bytes: c_uint,
    pub stream: Handle,
    pub attrs: In<LaunchAttribute>,
    pub num_attrs: c_uint,
}

impl LaunchConfig {
    /// What it asks for, with its attributes. `other` is shown what is not common to both interfaces, number and words, and tells whether
    /// there is such an attribute.
    pub fn read(&self, mut other: impl FnMut(c_uint, &[c_uint; 16]) -> bool) -> Outcome<Config> {
        const COOPERATIVE: c_uint = 2;
        const CLUSTER_DIMENSION: c_uint = 4;
        let mut asked = Config::new(self.grid, self.block, self.shared_mem_bytes);
        for attribute in self.attrs.values(self.num_attrs as usize)? {
            let words = attribute.value.0;
            match attribute.id {
                COOPERATIVE => asked.cooperative = words[0] != 0,
                CLUSTER_DIMENSION => asked.cluster = Some([words[0], words[1], words[2]]),
                id if other(id, &words) => {}
                id => return Err(Error::value(format!("a launch attribute of number {id}")).into()),
            }
        }
        Ok(asked)
    }
}

/// One side of a copy in two dimensions: half of `CUDA_MEMCPY2D` or `hip_Memcpy2D`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "fields are named as in the interface")]
pub struct Memcpy2DSide {
    pub x_in_bytes: usize,
    pub y: usize,
    pub memory_type: c_uint,
    pub host: usize,
    pub device: u64,
    pub array: Handle,
    pub pitch: usize,
}

/// `CUDA_MEMCPY2D`, `hip_Memcpy2D`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "fields are named as in the interface")]
pub struct Memcpy2D {
    pub src: Memcpy2DSide,
    pub dst: Memcpy2DSide,
    pub width_in_bytes: usize,
    pub height: usize,
}

/// Bytes to the first one of a box.
pub fn offset(x: usize, y: usize, z: usize, pitch: usize, slice: usize) -> Outcome<usize> {
    let rows = y.checked_mul(pitch);
    let slices = z.checked_mul(slice);
    let sum = rows.and_then(|rows| slices?.checked_add(rows)?.checked_add(x));
    sum.ok_or_else(|| Error::value("an offset that is larger than an address space").into())
}

impl Memcpy2D {
    /// The copy that it describes. `place` gives the place of a side by its kind, and its addresses on the host and on a device.
    pub fn copy(&self, place: impl Fn(c_uint, usize, u64) -> Outcome<Place>) -> Outcome<Copy> {
        let side = |side: &Memcpy2DSide| -> Outcome<Side> {
            let pitch = if side.pitch == 0 { self.width_in_bytes } else { side.pitch };
            let first = offset(side.x_in_bytes, side.y, 0, pitch, 0)?;
            Ok(Side { place: place(side.memory_type, side.host, side.device)?.offset(first), pitch, slice: 0 })
        };
        let (from, to) = (side(&self.src)?, side(&self.dst)?);
        Ok(Copy { from, to, width: self.width_in_bytes, height: self.height, depth: 1 })
    }
}

/// `CUDA_HOST_NODE_PARAMS`, `hipHostNodeParams`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "fields are named as in the interface")]
pub struct HostNodeParams {
    pub func: HostFn,
    pub user_data: *mut c_void,
}
