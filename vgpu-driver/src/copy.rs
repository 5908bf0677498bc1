//! Copies and fills: boxes of up to three dimensions in host and device memory.

use crate::device::Device;
use crate::error::{Error, Fault, Result};
use std::sync::Arc;
use tegula_vgpu::memory::{Cursor, Snapshot};

/// Where one side of a copy lies.
#[derive(Clone, Debug)]
pub enum Place {
    /// In the host's memory, by address.
    Host(usize),
    /// In a device's memory, or in host memory that devices reach.
    Device(u64),
    /// In bytes that were taken from pageable memory when the call was made. Only a source can be there.
    Staged(Arc<[u8]>),
}

impl Place {
    /// The place of a unified address: whether it is a device's is seen from the number.
    pub fn unified(address: u64) -> Self {
        match Device::index_of(address) {
            Some(_) => Self::Device(address),
            None => Self::Host(address as usize),
        }
    }

    /// The same place, some bytes on.
    #[must_use]
    pub fn offset(self, bytes: usize) -> Self {
        match self {
            Self::Host(address) => Self::Host(address.wrapping_add(bytes)),
            Self::Device(address) => Self::Device(address.wrapping_add(bytes as u64)),
            Self::Staged(_) => self,
        }
    }
}

/// One side of a copy.
#[derive(Clone, Debug)]
pub struct Side {
    /// Where it begins.
    pub place: Place,
    /// Bytes from a row to the next.
    pub pitch: usize,
    /// Bytes from a slice to the next.
    pub slice: usize,
}

/// A copy of a box.
#[derive(Clone, Debug)]
pub struct Copy {
    /// What is read.
    pub from: Side,
    /// What is written.
    pub to: Side,
    /// Bytes of a row.
    pub width: usize,
    /// Rows of a slice.
    pub height: usize,
    /// Slices.
    pub depth: usize,
}

/// A range of a device's memory, found.
struct Located {
    snapshot: Snapshot,
    index: usize,
    offset: usize,
}

fn locate(devices: &[Arc<Device>], address: u64, len: usize) -> Result<Located> {
    // Memory of the host is mapped in every device's.
    let device = Device::index_of(address).unwrap_or(0);
    let device = devices.get(device).ok_or_else(|| Error::value(format!("{address:#x} is no address of a device")))?;
    let snapshot = device.memory.snapshot();
    match snapshot.locate(&mut Cursor::default(), address, len) {
        Ok((index, offset)) => Ok(Located { snapshot, index, offset }),
        Err(miss) => Err(Error::value(match (miss.allocation, miss.freed) {
            (Some(name), true) => format!("{len} bytes at {address:#x} are in the freed `{name}`"),
            (Some(name), false) => format!(
                "{len} bytes at {address:#x} are not in one allocation; the nearest, `{name}`, has {} bytes, and this is offset {}",
                miss.size, miss.offset
            ),
            (None, _) => format!("{address:#x} is in no allocation"),
        })),
    }
}

impl Copy {
    /// A copy of bytes in a row.
    pub fn linear(to: Place, from: Place, bytes: usize) -> Self {
        let side = |place| Side { place, pitch: bytes, slice: bytes };
        Self { from: side(from), to: side(to), width: bytes, height: 1, depth: 1 }
    }

    fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }

    /// Bytes from the first one of a side to behind its last one.
    fn extent(&self, side: &Side) -> Result<usize> {
        let too_large = || Error::value("the box of the copy is larger than an address space");
        let rows = side.pitch.checked_mul(self.height - 1);
        let slices = side.slice.checked_mul(self.depth - 1);
        rows.and_then(|rows| slices?.checked_add(rows)?.checked_add(self.width)).ok_or_else(too_large)
    }

    /// Checks that both sides exist: drivers refuse a copy from or to nowhere when it is asked for.
    pub fn check(&self, devices: &[Arc<Device>]) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        for side in [&self.from, &self.to] {
            if self.height > 1 && side.pitch < self.width || self.depth > 1 && side.slice < side.pitch {
                return Err(Error::value("the rows or the slices of the copy overlap"));
            }
            let extent = self.extent(side)?;
            match &side.place {
                Place::Host(0) => return Err(Error::value("a null pointer")),
                Place::Host(_) | Place::Staged(_) => {}
                Place::Device(address) => drop(locate(devices, *address, extent)?),
            }
        }
        Ok(())
    }

    /// The bytes of a pageable source as they are now.
    ///
    /// # Safety
    /// The source is readable in its whole extent.
    pub unsafe fn staged(mut self) -> Result<Self> {
        if let Place::Host(address) = self.from.place
            && !self.is_empty()
        {
            let extent = self.extent(&self.from)?;
            // SAFETY: the caller promises it.
            let bytes = unsafe { std::slice::from_raw_parts(address as *const u8, extent) };
            self.from.place = Place::Staged(bytes.into());
        }
        Ok(self)
    }

    /// Does the copy.
    pub(crate) fn execute(&self, devices: &[Arc<Device>]) -> Result<(), Fault> {
        if self.is_empty() {
            return Ok(());
        }
        let place = |side: &Side| -> Result<Option<Located>, Fault> {
            let extent = self.extent(side).map_err(|_| Fault::IllegalAddress)?;
            match side.place {
                // Checked when the copy was asked for; freed since.
                Place::Device(address) => locate(devices, address, extent).map(Some).map_err(|_| Fault::IllegalAddress),
                _ => Ok(None),
            }
        };
        let (from, to) = (place(&self.from)?, place(&self.to)?);
        // Without gaps on both sides it is one row.
        let dense = |side: &Side| (self.height == 1 || side.pitch == self.width) && self.depth == 1;
        let (width, height) = if dense(&self.from) && dense(&self.to) {
            (self.width * self.height, 1)
        } else {
            (self.width, self.height)
        };
        for slice in 0..self.depth {
            for row in 0..height {
                let read = slice * self.from.slice + row * self.from.pitch;
                let write = slice * self.to.slice + row * self.to.pitch;
                self.row(from.as_ref(), to.as_ref(), read, write, width);
            }
        }
        Ok(())
    }

    fn row(&self, from: Option<&Located>, to: Option<&Located>, read: usize, write: usize, width: usize) {
        match (from, &self.from.place, to, &self.to.place) {
            (Some(from), _, Some(to), _) => {
                let target = to.snapshot.allocation(to.index);
                from.snapshot.allocation(from.index).copy_to(from.offset + read, target, to.offset + write, width);
            }
            (Some(from), _, None, Place::Host(address)) => {
                // SAFETY: the program gave this address to be written, and promised by the interface that the bytes are there until the
                // copy is done.
                let target = unsafe { std::slice::from_raw_parts_mut((address + write) as *mut u8, width) };
                from.snapshot.allocation(from.index).read(from.offset + read, target);
            }
            (None, Place::Host(address), Some(to), _) => {
                // SAFETY: as above, to be read.
                let source = unsafe { std::slice::from_raw_parts((address + read) as *const u8, width) };
                to.snapshot.allocation(to.index).write(to.offset + write, source);
            }
            (None, Place::Staged(bytes), Some(to), _) => {
                to.snapshot.allocation(to.index).write(to.offset + write, &bytes[read..read + width]);
            }
            (None, Place::Host(source), None, Place::Host(target)) => {
                // SAFETY: as above; the ranges may overlap.
                unsafe { std::ptr::copy((source + read) as *const u8, (target + write) as *mut u8, width) };
            }
            (None, Place::Staged(bytes), None, Place::Host(target)) => {
                let source = &bytes[read..read + width];
                // SAFETY: as above; the staged bytes are apart.
                unsafe { std::ptr::copy_nonoverlapping(source.as_ptr(), (target + write) as *mut u8, width) };
            }
            // Staged bytes are never a target, and device places are located.
            _ => {}
        }
    }
}

/// Equal elements for rows of memory.
#[derive(Clone, Debug)]
pub struct Fill {
    /// Where it begins.
    pub address: u64,
    /// Bytes from a row to the next.
    pub pitch: usize,
    /// The element.
    pub value: u32,
    /// Its bytes: 1, 2 or 4.
    pub element: usize,
    /// Elements of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

impl Fill {
    /// A fill of elements in a row.
    pub fn linear(address: u64, value: u32, element: usize, count: usize) -> Self {
        Self { address, pitch: count.saturating_mul(element), value, element, width: count, height: 1 }
    }

    fn extent(&self) -> Option<usize> {
        self.pitch.checked_mul(self.height - 1)?.checked_add(self.width.checked_mul(self.element)?)
    }

    /// Checks that the memory is there.
    pub fn check(&self, devices: &[Arc<Device>]) -> Result<()> {
        if self.width == 0 || self.height == 0 {
            return Ok(());
        }
        if !matches!(self.element, 1 | 2 | 4) {
            return Err(Error::value(format!("elements of {} bytes; there are 1, 2 and 4", self.element)));
        }
        let align = self.element as u64;
        if !self.address.is_multiple_of(align) || self.height > 1 && !(self.pitch as u64).is_multiple_of(align) {
            return Err(Error::value(format!("{:#x} is not aligned for elements of {align} bytes", self.address)));
        }
        let extent = self.extent().ok_or_else(|| Error::value("a fill larger than an address space"))?;
        locate(devices, self.address, extent).map(drop)
    }

    /// Does the fill.
    pub(crate) fn execute(&self, devices: &[Arc<Device>]) -> Result<(), Fault> {
        if self.width == 0 || self.height == 0 {
            return Ok(());
        }
        let extent = self.extent().ok_or(Fault::IllegalAddress)?;
        let located = locate(devices, self.address, extent).map_err(|_| Fault::IllegalAddress)?;
        let allocation = located.snapshot.allocation(located.index);
        let bytes = self.width * self.element;
        let pattern: Vec<u8> =
            self.value.to_le_bytes()[..self.element].iter().copied().cycle().take(bytes.min(64 << 10)).collect();
        for row in 0..self.height {
            let mut done = 0;
            while done < bytes {
                let piece = pattern.len().min(bytes - done);
                allocation.write(located.offset + row * self.pitch + done, &pattern[..piece]);
                done += piece;
            }
        }
        Ok(())
    }
}
