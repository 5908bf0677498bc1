//! Memory of the host that devices reach at the same address: page-locked, registered and managed memory.

use crate::error::{Error, Result};
use crate::lock;
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};
use tegula_vgpu::memory::{Allocation, GlobalMemory};

/// How memory came to be shared with devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Allocated page-locked.
    Pinned,
    /// The program's own, page-locked later.
    Registered,
    /// Managed: it counts as device memory as well as the host's.
    Managed,
}

/// A range of the host's memory that devices reach.
#[derive(Clone, Debug)]
pub struct Range {
    /// Its first address.
    pub start: u64,
    /// Its length in bytes.
    pub size: u64,
    /// How it came to be.
    pub kind: Kind,
    allocation: Arc<Allocation>,
}

#[derive(Default)]
struct State {
    ranges: BTreeMap<u64, Range>,
    memories: Vec<Arc<GlobalMemory>>,
}

static STATE: Mutex<State> = Mutex::new(State { ranges: BTreeMap::new(), memories: Vec::new() });

/// Lets a device's memory reach all ranges, those to come as well.
pub(crate) fn attach(memory: &Arc<GlobalMemory>) {
    let mut state = lock(&STATE);
    for range in state.ranges.values() {
        // A new memory holds nothing that the range could collide with.
        let _ = memory.map(Arc::clone(&range.allocation));
    }
    state.memories.push(Arc::clone(memory));
}

fn add(start: u64, size: u64, kind: Kind, allocation: Arc<Allocation>) -> Result<()> {
    let mut state = lock(&STATE);
    let end = allocation.base() + allocation.size();
    let before = state.ranges.range(..end).next_back();
    if before.is_some_and(|(_, range)| range.allocation.base() + range.allocation.size() > allocation.base()) {
        return Err(Error::AlreadyRegistered);
    }
    for memory in &state.memories {
        memory.map(Arc::clone(&allocation)).map_err(|_| Error::AlreadyRegistered)?;
    }
    state.ranges.insert(start, Range { start, size, kind, allocation });
    Ok(())
}

/// Allocates page-locked or managed memory, zeroed.
pub fn allocate(size: u64, kind: Kind) -> Result<u64> {
    let name = if kind == Kind::Managed { "managed memory" } else { "page-locked memory" };
    let length = usize::try_from(size).ok();
    let allocation = length.and_then(|size| Allocation::host(name, size));
    let allocation = allocation.ok_or(Error::OutOfMemory { asked: size, free: 0 })?;
    let start = allocation.base();
    add(start, size, kind, allocation)?;
    Ok(start)
}

/// Page-locks memory of the program.
///
/// # Safety
/// The memory stays readable and writable until it is [removed](remove) and no kernel runs that began before.
pub unsafe fn register(start: NonNull<u8>, size: usize) -> Result<()> {
    // SAFETY: what the caller promises of the range holds for the 16-byte words around it: pages are larger.
    let allocation = unsafe { Allocation::borrowed("registered memory", start, size) };
    let allocation = allocation.ok_or_else(|| Error::value("the range is too large"))?;
    add(start.as_ptr() as u64, size as u64, Kind::Registered, allocation)
}

/// Takes a range away from the devices. Allocated memory is given back when the last kernel that began before is done.
pub fn remove(start: u64, is: impl Fn(Kind) -> bool) -> Result<()> {
    let mut state = lock(&STATE);
    if !state.ranges.get(&start).is_some_and(|range| is(range.kind)) {
        return Err(Error::NotRegistered);
    }
    if let Some(range) = state.ranges.remove(&start) {
        for memory in &state.memories {
            // Every memory got it when it was added, or when the memory was attached.
            let _ = memory.unmap(range.allocation.base());
        }
    }
    Ok(())
}

/// The range that an address lies in.
pub fn find(address: u64) -> Option<Range> {
    let state = lock(&STATE);
    let (_, range) = state.ranges.range(..=address).next_back()?;
    (address - range.start < range.size.max(1)).then(|| range.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_reach_every_memory_and_leave_it() -> Result<()> {
        let before = Arc::new(GlobalMemory::at(1 << 20, 0x7_0000_0000));
        attach(&before);
        let pinned = allocate(100, Kind::Pinned)?;
        let after = Arc::new(GlobalMemory::at(1 << 20, 0x8_0000_0000));
        attach(&after);
        for memory in [&before, &after] {
            memory.write(pinned + 96, &[7; 4]).expect("mapped");
        }
        assert_eq!(find(pinned + 99).map(|range| range.kind), Some(Kind::Pinned));
        assert!(find(pinned + 100).is_none());
        assert_eq!(remove(pinned, |kind| kind == Kind::Managed), Err(Error::NotRegistered));
        remove(pinned, |kind| kind == Kind::Pinned)?;
        assert!(before.write(pinned, &[1]).is_err() && after.write(pinned, &[1]).is_err());

        let mut own = vec![0_u8; 100];
        let start = NonNull::new(own.as_mut_ptr()).expect("not null");
        // SAFETY: `own` outlives the registration.
        unsafe {
            register(start, 100)?;
            assert_eq!(register(start, 10), Err(Error::AlreadyRegistered));
        }
        after.write(own.as_ptr() as u64 + 3, &[9]).expect("mapped");
        remove(own.as_ptr() as u64, |kind| kind == Kind::Registered)?;
        assert_eq!(own[3], 9);
        Ok(())
    }
}
