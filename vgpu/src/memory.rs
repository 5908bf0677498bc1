//! The device's global memory: named allocations with red zones between them, bounds, and initialisation shadow.
//!
//! Addresses are never given out twice, so that a use after free is known for what it is. A launch takes a
//! [`Snapshot`] of the allocations and finds its way in it without locks; the bytes themselves are shared with every other
//! snapshot, and accessed as relaxed atomics, since programs on other threads may access them at the same time.

use crate::error::{Error, Result};
use std::alloc::Layout;
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, RwLock};

/// Where the first allocation goes: well away from null, and from what fits in 32 bits.
const FIRST_ADDRESS: u64 = 0x7_0000_0000;
/// Every allocation's alignment, as the drivers promise it.
pub const ALLOCATION_ALIGN: u64 = 512;
/// Unmapped bytes kept between two allocations, at least.
const RED_ZONE: u64 = 64 << 10;
/// Addresses below this are null pointers with an offset.
const NULL_PAGE: u64 = 64 << 10;
/// An address farther than this from every allocation has nothing to do with the nearest one.
const NEAR: u64 = 1 << 20;
/// Freed allocations that are remembered; of those freed before, only that nothing is there is known. A program that allocates again and
/// again must not slow down its launches.
const REMEMBERED: usize = 4096;
/// What poisoned bytes look like: NaN in every float format of one to eight bytes, and an unlikely index.
pub const POISON: u8 = 0xFF;

/// What an allocation holds at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// [`POISON`], and reads before a write are findings.
    Poison,
    /// Zeroes, which count as written.
    Zero,
}

/// The bytes of an allocation. They are only ever accessed through atomics.
struct Bytes {
    start: NonNull<u8>,
    layout: Layout,
    /// Whether they are given back on drop: those of the host's own memory are not.
    owned: bool,
}

// SAFETY: the bytes live as long as the value, and are accessed only through atomic operations.
unsafe impl Send for Bytes {}
// SAFETY: as above.
unsafe impl Sync for Bytes {}

impl Bytes {
    fn new(size: usize, value: u8) -> Option<Self> {
        // Rounded up so that a byte access can be done within its aligned 8-byte word.
        let layout = Layout::from_size_align(size.checked_next_multiple_of(16)?.max(16), 64).ok()?;
        // SAFETY: the layout's size is at least 16.
        let start = unsafe { if value == 0 { std::alloc::alloc_zeroed(layout) } else { std::alloc::alloc(layout) } };
        let start = NonNull::new(start)?;
        if value != 0 {
            // SAFETY: freshly allocated with this size, and not shared yet.
            unsafe { start.as_ptr().write_bytes(value, layout.size()) };
        }
        Some(Self { start, layout, owned: true })
    }

    /// Sets bytes to 1, as the shadow of written bytes has them.
    fn mark(&self, offset: usize, len: usize) {
        let mut at = offset;
        let end = offset + len;
        while at < end {
            if at.is_multiple_of(8) && end - at >= 8 {
                self.store64(at, 0x0101_0101_0101_0101);
                at += 8;
            } else {
                self.store8(at, 1);
                at += 1;
            }
        }
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        if self.owned {
            // SAFETY: allocated with this layout in `new`.
            unsafe { std::alloc::dealloc(self.start.as_ptr(), self.layout) };
        }
    }
}

macro_rules! accessors {
    ($load:ident, $store:ident, $atomic:ty, $int:ty) => {
        #[inline]
        fn $load(&self, offset: usize) -> $int {
            assert!(offset + size_of::<$int>() <= self.layout.size() && offset % size_of::<$int>() == 0);
            // SAFETY: in bounds and aligned (the start is 64-aligned); all accesses to the bytes are atomic.
            unsafe { <$atomic>::from_ptr(self.start.as_ptr().add(offset).cast()) }.load(Relaxed)
        }
        #[inline]
        fn $store(&self, offset: usize, value: $int) {
            assert!(offset + size_of::<$int>() <= self.layout.size() && offset % size_of::<$int>() == 0);
            // SAFETY: as in the load.
            unsafe { <$atomic>::from_ptr(self.start.as_ptr().add(offset).cast()) }.store(value, Relaxed);
        }
    };
}

impl Bytes {
    accessors!(load8, store8, AtomicU8, u8);
    accessors!(load16, store16, AtomicU16, u16);
    accessors!(load32, store32, AtomicU32, u32);
    accessors!(load64, store64, AtomicU64, u64);

    /// The aligned 8-byte word at `offset`, for read-modify-write.
    fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset + 8 <= self.layout.size() && offset.is_multiple_of(8));
        // SAFETY: in bounds and aligned; all accesses to the bytes are atomic.
        unsafe { AtomicU64::from_ptr(self.start.as_ptr().add(offset).cast()) }
    }

    #[inline]
    fn read(&self, offset: usize, out: &mut [u8]) {
        match out.len() {
            4 if offset.is_multiple_of(4) => out.copy_from_slice(&self.load32(offset).to_ne_bytes()),
            2 if offset.is_multiple_of(2) => out.copy_from_slice(&self.load16(offset).to_ne_bytes()),
            _ => self.read_slow(offset, out),
        }
    }

    fn read_slow(&self, offset: usize, out: &mut [u8]) {
        let mut at = 0;
        while at < out.len() {
            if (offset + at).is_multiple_of(8) && out.len() - at >= 8 {
                out[at..at + 8].copy_from_slice(&self.load64(offset + at).to_ne_bytes());
                at += 8;
            } else {
                out[at] = self.load8(offset + at);
                at += 1;
            }
        }
    }

    #[inline]
    fn write(&self, offset: usize, data: &[u8]) {
        match data.len() {
            4 if offset.is_multiple_of(4) => {
                self.store32(offset, u32::from_ne_bytes([data[0], data[1], data[2], data[3]]))
            }
            2 if offset.is_multiple_of(2) => self.store16(offset, u16::from_ne_bytes([data[0], data[1]])),
            _ => self.write_slow(offset, data),
        }
    }

    fn write_slow(&self, offset: usize, data: &[u8]) {
        let mut at = 0;
        while at < data.len() {
            if (offset + at).is_multiple_of(8) && data.len() - at >= 8 {
                let mut word = [0; 8];
                word.copy_from_slice(&data[at..at + 8]);
                self.store64(offset + at, u64::from_ne_bytes(word));
                at += 8;
            } else {
                self.store8(offset + at, data[at]);
                at += 1;
            }
        }
    }
}

/// One allocation of global memory.
pub struct Allocation {
    name: String,
    base: u64,
    size: u64,
    bytes: Bytes,
    /// One byte per byte: non-zero where it was written. Absent where everything counts as written.
    written: Option<Bytes>,
    freed: AtomicBool,
}

impl std::fmt::Debug for Allocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Allocation({} at {:#x}, {} bytes)", self.name, self.base, self.size)
    }
}

impl Allocation {
    /// Zeroed memory whose device address is its host address, as page-locked memory has it. It is the device's once it is
    /// [mapped](GlobalMemory::map). `None` where the host has not so much.
    pub fn host(name: impl Into<String>, size: usize) -> Option<Arc<Self>> {
        let bytes = Bytes::new(size, 0)?;
        let base = bytes.start.as_ptr() as u64;
        Some(Arc::new(Self {
            name: name.into(),
            base,
            size: size as u64,
            bytes,
            written: None,
            freed: AtomicBool::new(false),
        }))
    }

    /// The host's own memory, to be [mapped](GlobalMemory::map).
    ///
    /// # Safety
    /// The whole 16-byte words that `size` bytes from `start` lie in are readable and writable as long as the allocation, or a
    /// snapshot with it, exists.
    pub unsafe fn borrowed(name: impl Into<String>, start: NonNull<u8>, size: usize) -> Option<Arc<Self>> {
        // The device reaches whole words: the allocation begins and ends with them.
        let address = start.as_ptr() as usize;
        let (first, end) = (address & !15, address.checked_add(size)?.checked_next_multiple_of(16)?);
        let layout = Layout::from_size_align(end - first, 16).ok()?;
        let start = NonNull::new(start.as_ptr().wrapping_sub(address - first))?;
        Some(Arc::new(Self {
            name: name.into(),
            base: first as u64,
            size: (end - first) as u64,
            bytes: Bytes { start, layout, owned: false },
            written: None,
            freed: AtomicBool::new(false),
        }))
    }

    /// Copies bytes to another allocation, or within this one; what nobody wrote stays unwritten. Both ranges must be in bounds.
    pub fn copy_to(&self, offset: usize, target: &Self, at: usize, len: usize) {
        let mut buffer = vec![0; len.min(64 << 10)];
        let mut done = 0;
        while done < len {
            let piece = &mut buffer[..(len - done).min(64 << 10)];
            self.bytes.read(offset + done, piece);
            target.bytes.write(at + done, piece);
            match (&self.written, &target.written) {
                (Some(from), Some(to)) => {
                    from.read(offset + done, piece);
                    to.write(at + done, piece);
                }
                (None, Some(to)) => to.mark(at + done, piece.len()),
                (_, None) => {}
            }
            done += piece.len();
        }
    }

    /// Its name, for people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its first address.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether it was freed.
    pub fn is_freed(&self) -> bool {
        self.freed.load(Relaxed)
    }

    /// Reads bytes at an offset. The range must be in bounds, as [`Snapshot::locate`] checks it.
    #[inline]
    pub fn read(&self, offset: usize, out: &mut [u8]) {
        self.bytes.read(offset, out);
    }

    /// Writes bytes at an offset, and marks them as written. The range must be in bounds.
    #[inline]
    pub fn write(&self, offset: usize, data: &[u8]) {
        self.bytes.write(offset, data);
        if let Some(written) = &self.written {
            match data.len() {
                4 if offset.is_multiple_of(4) => written.store32(offset, u32::MAX),
                len => written.mark(offset, len),
            }
        }
    }

    /// Reads an aligned 32-bit word.
    #[inline]
    pub fn read_u32(&self, offset: usize) -> u32 {
        self.bytes.load32(offset)
    }

    /// The offset of the first byte of the range that nobody wrote.
    #[inline]
    pub fn first_unwritten(&self, offset: usize, len: usize) -> Option<usize> {
        let written = self.written.as_ref()?;
        (offset..offset + len).find(|&at| written.load8(at) == 0)
    }

    /// Atomically replaces `N` aligned bytes (1, 2, 4 or 8) by `update` of their old value, and returns the old value. Sequentially
    /// consistent. `update` may be called more than once; `None` leaves the value as it is.
    pub fn fetch_update(&self, offset: usize, bytes: usize, mut update: impl FnMut(u64) -> Option<u64>) -> u64 {
        assert!(matches!(bytes, 1 | 2 | 4 | 8) && offset.is_multiple_of(bytes), "aligned 1, 2, 4 or 8 bytes");
        let shift = (offset % 8) * 8;
        let mask = if bytes == 8 { u64::MAX } else { (1 << (bytes * 8)) - 1 };
        let word = self.bytes.word(offset & !7);
        let mut current = word.load(Relaxed);
        loop {
            let old = (current >> shift) & mask;
            let Some(new) = update(old) else { return old };
            let next = (current & !(mask << shift)) | ((new & mask) << shift);
            let order = std::sync::atomic::Ordering::SeqCst;
            match word.compare_exchange_weak(current, next, order, order) {
                Ok(_) => {
                    if let Some(written) = &self.written {
                        (offset..offset + bytes).for_each(|at| written.store8(at, 1));
                    }
                    return old;
                }
                Err(seen) => current = seen,
            }
        }
    }
}

/// Why an access did not hit memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Miss {
    /// The nearest allocation's name, where one is near.
    pub allocation: Option<String>,
    /// The address relative to its start; the address itself where none is near.
    pub offset: i64,
    /// Its size.
    pub size: u64,
    /// Whether that allocation was hit, but had been freed.
    pub freed: bool,
}

impl Miss {
    /// What is wrong with an access of `bytes` bytes, for people.
    pub fn message(&self, bytes: usize) -> String {
        let Self { allocation, offset, size, freed } = self;
        match allocation {
            Some(name) if *freed => format!("`{name}` was freed"),
            Some(name) if *offset < 0 => format!("{} bytes before `{name}`", offset.unsigned_abs()),
            Some(name) => format!("{bytes} bytes at offset {offset} of `{name}`, which has {size} bytes"),
            None if *offset == 0 => "a null pointer".to_owned(),
            None if (*offset as u64) < NULL_PAGE => "a null pointer with an offset".to_owned(),
            None => "no memory is allocated near this address".to_owned(),
        }
    }
}

/// Remembers the allocation last hit. One per warp (or per instruction) makes [`Snapshot::locate`] cheap.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cursor(usize);

/// The allocations as they were when a launch began. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// By ascending address, freed ones among them.
    allocations: Arc<Vec<Arc<Allocation>>>,
}

impl Snapshot {
    /// The allocations, by ascending address.
    pub fn allocations(&self) -> &[Arc<Allocation>] {
        &self.allocations
    }

    /// The index of the allocation, and the offset in it, that holds `len` bytes from `address`.
    #[inline]
    pub fn locate(&self, cursor: &mut Cursor, address: u64, len: usize) -> std::result::Result<(usize, usize), Miss> {
        if let Some(allocation) = self.allocations.get(cursor.0) {
            let offset = address.wrapping_sub(allocation.base);
            if offset < allocation.size && allocation.size - offset >= len as u64 && !allocation.is_freed() {
                return Ok((cursor.0, offset as usize));
            }
        }
        self.locate_slow(cursor, address, len)
    }

    #[cold]
    fn locate_slow(&self, cursor: &mut Cursor, address: u64, len: usize) -> std::result::Result<(usize, usize), Miss> {
        let after = self.allocations.partition_point(|allocation| allocation.base <= address);
        // The one that starts at or before the address, or else the first: a miss is told relative to the nearer one.
        let before = after.checked_sub(1).map(|index| (index, &self.allocations[index]));
        if let Some((index, allocation)) = before {
            let offset = address - allocation.base;
            if offset < allocation.size && allocation.size - offset >= len as u64 && !allocation.is_freed() {
                cursor.0 = index;
                return Ok((index, offset as usize));
            }
        }
        let next = self.allocations.get(after);
        let behind = before.map(|(_, a)| (address.saturating_sub(a.base + a.size), a));
        let ahead = next.map(|b| (b.base - address, b));
        let nearest = behind.into_iter().chain(ahead).min_by_key(|&(distance, _)| distance);
        Err(match nearest.filter(|&(distance, _)| distance <= NEAR).map(|(_, allocation)| allocation) {
            None => Miss { allocation: None, offset: address as i64, size: 0, freed: false },
            Some(a) => Miss {
                allocation: Some(a.name.clone()),
                offset: address.wrapping_sub(a.base) as i64,
                size: a.size,
                freed: a.is_freed() && address >= a.base && address - a.base < a.size,
            },
        })
    }

    /// The allocation with an index that [`locate`](Self::locate) gave.
    #[inline]
    pub fn allocation(&self, index: usize) -> &Allocation {
        &self.allocations[index]
    }
}

/// The global memory of a device.
#[derive(Debug)]
pub struct GlobalMemory {
    state: RwLock<State>,
    capacity: u64,
}

#[derive(Debug)]
struct State {
    snapshot: Snapshot,
    next: u64,
    used: u64,
    /// Addresses of freed allocations in the snapshot, the oldest first.
    freed: VecDeque<u64>,
}

impl Default for GlobalMemory {
    fn default() -> Self {
        Self::new(64 << 30)
    }
}

impl GlobalMemory {
    /// An empty memory that gives out at most `capacity` bytes at a time.
    pub fn new(capacity: u64) -> Self {
        Self::at(capacity, FIRST_ADDRESS)
    }

    /// The same, with the first address given: memories that see each other's allocations have to be apart.
    pub fn at(capacity: u64, first: u64) -> Self {
        Self {
            state: RwLock::new(State { snapshot: Snapshot::default(), next: first, used: 0, freed: VecDeque::new() }),
            capacity,
        }
    }

    /// Lets the device reach memory of the host or of another device, at that memory's own address. It does not count as used.
    pub fn map(&self, allocation: Arc<Allocation>) -> Result<()> {
        let mut state = self.state.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        match state.snapshot.allocations.binary_search_by_key(&allocation.base, |a| a.base) {
            Ok(_) => Err(Error::Memory(format!("`{}` is mapped twice", allocation.name))),
            Err(index) => {
                Arc::make_mut(&mut state.snapshot.allocations).insert(index, allocation);
                Ok(())
            }
        }
    }

    /// Takes back what [`map`](Self::map) did.
    pub fn unmap(&self, address: u64) -> Result<Arc<Allocation>> {
        let mut state = self.state.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        match state.snapshot.allocations.binary_search_by_key(&address, |a| a.base) {
            Ok(index) => Ok(Arc::make_mut(&mut state.snapshot.allocations).remove(index)),
            Err(_) => Err(Error::Memory(format!("nothing is mapped at {address:#x}"))),
        }
    }

    /// Allocates `size` bytes and returns their address, a multiple of [`ALLOCATION_ALIGN`].
    pub fn allocate(&self, name: impl Into<String>, size: u64, fill: Fill) -> Result<u64> {
        let name = name.into();
        let too_much = || Error::Memory(format!("out of memory: `{name}` needs {size} bytes"));
        let length = usize::try_from(size).map_err(|_| too_much())?;
        let mut state = self.state.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        if state.used.saturating_add(size) > self.capacity {
            return Err(too_much());
        }
        let (bytes, written) = match fill {
            Fill::Zero => (Bytes::new(length, 0), None),
            Fill::Poison => (Bytes::new(length, POISON), Some(Bytes::new(length, 0).ok_or_else(too_much)?)),
        };
        let bytes = bytes.ok_or_else(too_much)?;
        let base = state.next;
        // A red zone as wide as the allocation (up to a limit) catches strides gone wrong as well as an index that is off by one.
        let red_zone = size.clamp(RED_ZONE, 1 << 30);
        state.next = (base + size + red_zone).next_multiple_of(ALLOCATION_ALIGN);
        state.used += size;
        let allocation = Allocation { name, base, size, bytes, written, freed: AtomicBool::new(false) };
        let allocations = Arc::make_mut(&mut state.snapshot.allocations);
        // Own addresses only grow; those mapped from elsewhere may lie behind.
        let index = allocations.partition_point(|a| a.base < base);
        allocations.insert(index, Arc::new(allocation));
        Ok(base)
    }

    /// Frees the allocation that starts at `address`.
    pub fn free(&self, address: u64) -> Result<()> {
        let mut state = self.state.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        let index = state.snapshot.allocations.binary_search_by_key(&address, |a| a.base);
        let index = index.map_err(|_| Error::Memory(format!("{address:#x} is not the start of an allocation")))?;
        let old = &state.snapshot.allocations[index];
        if old.freed.swap(true, Relaxed) {
            return Err(Error::Memory(format!("`{}` at {address:#x} is freed twice", old.name)));
        }
        // The tombstone keeps name and range; running launches keep the bytes through their snapshots.
        let size = old.size;
        let bytes = Bytes::new(0, 0).ok_or_else(|| Error::Memory("out of memory".into()))?;
        let tombstone = Allocation {
            name: old.name.clone(),
            base: address,
            size,
            bytes,
            written: None,
            freed: AtomicBool::new(true),
        };
        let state = &mut *state;
        let allocations = Arc::make_mut(&mut state.snapshot.allocations);
        allocations[index] = Arc::new(tombstone);
        state.used -= size;
        state.freed.push_back(address);
        if state.freed.len() > REMEMBERED
            && let Some(oldest) = state.freed.pop_front()
            && let Ok(index) = allocations.binary_search_by_key(&oldest, |a| a.base)
        {
            allocations.remove(index);
        }
        Ok(())
    }

    /// The allocations as they are now.
    pub fn snapshot(&self) -> Snapshot {
        self.state.read().unwrap_or_else(std::sync::PoisonError::into_inner).snapshot.clone()
    }

    /// Bytes in use.
    pub fn used(&self) -> u64 {
        self.state.read().unwrap_or_else(std::sync::PoisonError::into_inner).used
    }

    /// Bytes that can be in use at a time.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Copies from the host.
    pub fn write(&self, address: u64, data: &[u8]) -> Result<()> {
        self.host_access(address, data.len(), |allocation, offset| allocation.write(offset, data))
    }

    /// Copies to the host.
    pub fn read(&self, address: u64, out: &mut [u8]) -> Result<()> {
        self.host_access(address, out.len(), |allocation, offset| allocation.read(offset, out))
    }

    fn host_access(&self, address: u64, len: usize, access: impl FnOnce(&Allocation, usize)) -> Result<()> {
        let snapshot = self.snapshot();
        match snapshot.locate(&mut Cursor::default(), address, len) {
            Ok((index, offset)) => {
                access(snapshot.allocation(index), offset);
                Ok(())
            }
            Err(miss) => Err(Error::Memory(format!(
                "the host accesses {len} bytes at {address:#x}, which is {}",
                match (miss.allocation, miss.freed) {
                    (Some(name), true) => format!("in the freed `{name}`"),
                    (Some(name), false) => format!("at offset {} of `{name}` ({} bytes)", miss.offset, miss.size),
                    (None, _) => "in no allocation".to_owned(),
                }
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocations_are_apart_and_bounded() -> Result<()> {
        let memory = GlobalMemory::default();
        let a = memory.allocate("a", 10, Fill::Zero)?;
        let b = memory.allocate("b", 100, Fill::Poison)?;
        assert!(b - a >= 10 + RED_ZONE);
        let snapshot = memory.snapshot();
        let mut cursor = Cursor::default();
        assert_eq!(snapshot.locate(&mut cursor, a + 6, 4), Ok((0, 6)));
        let miss = snapshot.locate(&mut cursor, a + 7, 4).unwrap_err();
        assert_eq!((miss.allocation.as_deref(), miss.offset), (Some("a"), 7));
        let miss = snapshot.locate(&mut cursor, b - 4, 4).unwrap_err();
        assert_eq!((miss.allocation.as_deref(), miss.offset), (Some("b"), -4));
        assert_eq!(snapshot.locate(&mut cursor, b + 96, 4), Ok((1, 96)));
        Ok(())
    }

    #[test]
    fn a_miss_names_an_allocation_only_if_it_is_near() -> Result<()> {
        let memory = GlobalMemory::default();
        let a = memory.allocate("a", 10, Fill::Zero)?;
        let snapshot = memory.snapshot();
        let message = |address| snapshot.locate(&mut Cursor::default(), address, 4).unwrap_err().message(4);
        assert_eq!(message(a + 8), "4 bytes at offset 8 of `a`, which has 10 bytes");
        assert_eq!(message(a + NEAR), "4 bytes at offset 1048576 of `a`, which has 10 bytes");
        assert_eq!(message(a - 4), "4 bytes before `a`");
        for far in [a + 11 + NEAR, a - 1 - NEAR, u64::MAX] {
            assert_eq!(message(far), "no memory is allocated near this address");
        }
        assert_eq!(message(0), "a null pointer");
        assert_eq!(message(24), "a null pointer with an offset");
        Ok(())
    }

    #[test]
    fn freed_memory_is_known() -> Result<()> {
        let memory = GlobalMemory::new(1000);
        let a = memory.allocate("a", 1000, Fill::Zero)?;
        assert!(memory.allocate("b", 1, Fill::Zero).is_err());
        let before = memory.snapshot();
        memory.free(a)?;
        for snapshot in [before, memory.snapshot()] {
            assert!(snapshot.locate(&mut Cursor::default(), a, 4).unwrap_err().freed);
        }
        assert!(memory.free(a).is_err());
        assert!(memory.allocate("b", 1000, Fill::Zero)? > a);
        Ok(())
    }

    #[test]
    fn the_freed_are_forgotten_in_time() -> Result<()> {
        let memory = GlobalMemory::default();
        let first = memory.allocate("first", 8, Fill::Zero)?;
        memory.free(first)?;
        for _ in 0..REMEMBERED {
            memory.free(memory.allocate("next", 8, Fill::Zero)?)?;
        }
        let snapshot = memory.snapshot();
        assert_eq!(snapshot.allocations().len(), REMEMBERED);
        assert!(!snapshot.locate(&mut Cursor::default(), first, 4).unwrap_err().freed);
        Ok(())
    }

    #[test]
    fn memory_of_the_host_is_mapped() -> Result<()> {
        let memory = GlobalMemory::default();
        let own = memory.allocate("own", 64, Fill::Poison)?;
        let host = Allocation::host("host", 100).expect("memory");
        memory.map(Arc::clone(&host))?;
        assert!(memory.map(Arc::clone(&host)).is_err());
        memory.write(host.base() + 8, &[1, 2, 3])?;
        // SAFETY: within the allocation, which nobody else accesses now.
        assert_eq!(unsafe { *(host.base() as *const u8).add(9) }, 2);
        let later = memory.allocate("later", 64, Fill::Zero)?;
        let snapshot = memory.snapshot();
        assert!(snapshot.allocations().is_sorted_by_key(|a| a.base()));
        let (from, offset) = snapshot.locate(&mut Cursor::default(), host.base() + 8, 3).expect("mapped");
        let (to, _) = snapshot.locate(&mut Cursor::default(), own, 64).expect("allocated");
        snapshot.allocation(from).copy_to(offset, snapshot.allocation(to), 1, 2);
        assert_eq!(snapshot.allocation(to).first_unwritten(1, 3), Some(3));
        memory.unmap(host.base())?;
        assert!(memory.read(host.base(), &mut [0]).is_err());
        memory.read(later, &mut [0])
    }

    #[test]
    fn poison_is_tracked_by_byte() -> Result<()> {
        let memory = GlobalMemory::default();
        let a = memory.allocate("a", 16, Fill::Poison)?;
        memory.write(a + 3, &[1, 2, 3])?;
        let snapshot = memory.snapshot();
        let allocation = snapshot.allocation(0);
        assert_eq!(allocation.first_unwritten(3, 3), None);
        assert_eq!(allocation.first_unwritten(3, 4), Some(6));
        assert_eq!(allocation.fetch_update(6, 2, |old| Some(old + 2)), 0xFFFF);
        assert_eq!(allocation.first_unwritten(3, 5), None);
        let mut out = [0; 5];
        memory.read(a + 3, &mut out)?;
        assert_eq!(out, [1, 2, 3, 1, 0]);
        Ok(())
    }
}
