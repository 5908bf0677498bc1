//! The opaque pointers that C programs hold: keys of tables, never addresses, so that a stale one is an error and not a crash.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};

/// Objects of one type by handle.
pub struct Table<T> {
    next: AtomicUsize,
    entries: RwLock<BTreeMap<usize, Arc<T>>>,
}

impl<T> std::fmt::Debug for Table<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Table(next {:#x})", self.next.load(Relaxed))
    }
}

impl<T> Table<T> {
    /// An empty table. `kind` keeps the handles of tables apart: a handle of one is none of another.
    pub const fn new(kind: u16) -> Self {
        // Far from null, from the small numbers that stand for special streams, and from the heap.
        let first = (kind as usize + 1) << 32 | 0x10;
        Self { next: AtomicUsize::new(first), entries: RwLock::new(BTreeMap::new()) }
    }

    /// Adds an object. Handles are never given out twice.
    pub fn insert(&self, object: Arc<T>) -> usize {
        let handle = self.next.fetch_add(16, Relaxed);
        self.entries.write().unwrap_or_else(PoisonError::into_inner).insert(handle, object);
        handle
    }

    /// The object of a handle.
    pub fn get(&self, handle: usize) -> Option<Arc<T>> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner).get(&handle).map(Arc::clone)
    }

    /// Takes an object out.
    pub fn remove(&self, handle: usize) -> Option<Arc<T>> {
        self.entries.write().unwrap_or_else(PoisonError::into_inner).remove(&handle)
    }

    /// Takes out all objects that a predicate does not want kept.
    pub fn retain(&self, mut keep: impl FnMut(&T) -> bool) {
        // Dropped after the lock is given back: an object may take others with it.
        let mut gone = Vec::new();
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|_, object| {
            let kept = keep(object);
            if !kept {
                gone.push(Arc::clone(object));
            }
            kept
        });
        drop(entries);
    }

    /// All objects.
    pub fn all(&self) -> Vec<Arc<T>> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner).values().map(Arc::clone).collect()
    }

    /// The handle of an object, found by its address.
    pub fn find(&self, object: &Arc<T>) -> Option<usize> {
        self.find_by(|other| std::ptr::eq(other, Arc::as_ptr(object)))
    }

    /// The handle of the first object that a predicate holds for.
    pub fn find_by(&self, is: impl Fn(&T) -> bool) -> Option<usize> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        entries.iter().find(|(_, object)| is(object)).map(|(&handle, _)| handle)
    }
}
