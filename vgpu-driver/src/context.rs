//! Contexts: a program's streams, memory and state on a device. A kernel that faults loses its context.

use crate::capture::Capture;
use crate::device::Device;
use crate::error::{Error, Fault, Result};
use crate::lock;
use crate::stream::Stream;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::thread::ThreadId;

/// A context.
#[derive(Debug)]
pub struct Context {
    /// The device.
    pub device: Arc<Device>,
    /// All devices: copies reach their memory.
    pub devices: Arc<[Arc<Device>]>,
    fault: OnceLock<Fault>,
    destroyed: AtomicBool,
    /// Fixes the order in which work comes to the legacy stream and to those that wait for it.
    pub(crate) order: Mutex<()>,
    streams: Mutex<Vec<Weak<Stream>>>,
    legacy: Arc<Stream>,
    per_thread: Mutex<HashMap<ThreadId, Arc<Stream>>>,
    allocations: Mutex<HashSet<u64>>,
    captures: Mutex<Vec<Weak<Capture>>>,
}

impl Context {
    /// A context of a device.
    pub fn new(device: Arc<Device>, devices: Arc<[Arc<Device>]>) -> Arc<Self> {
        Arc::new(Self {
            device,
            devices,
            fault: OnceLock::new(),
            destroyed: AtomicBool::new(false),
            order: Mutex::default(),
            streams: Mutex::default(),
            legacy: Stream::new(true, 0),
            per_thread: Mutex::default(),
            allocations: Mutex::default(),
            captures: Mutex::default(),
        })
    }

    /// What lost the context.
    pub fn fault(&self) -> Option<Fault> {
        self.fault.get().copied()
    }

    /// The context is lost. The first cause is the one that is told.
    pub(crate) fn lose(&self, fault: Fault) {
        let _ = self.fault.set(fault);
    }

    /// Fails if the context was destroyed or lost.
    pub fn check(&self) -> Result<()> {
        if self.destroyed.load(Ordering::Acquire) {
            return Err(Error::InvalidContext);
        }
        self.fault().map_or(Ok(()), |fault| Err(fault.into()))
    }

    /// A new stream. One that is `blocking` waits for the legacy stream, and is waited for by it.
    pub fn create_stream(&self, blocking: bool, priority: i32) -> Arc<Stream> {
        let stream = Stream::new(blocking, priority);
        let mut streams = lock(&self.streams);
        streams.retain(|stream| stream.strong_count() > 0);
        streams.push(Arc::downgrade(&stream));
        stream
    }

    /// The legacy default stream.
    pub fn legacy_stream(&self) -> &Arc<Stream> {
        &self.legacy
    }

    /// The default stream of the calling thread.
    pub fn thread_stream(&self) -> Arc<Stream> {
        let mut streams = lock(&self.per_thread);
        let stream = streams.entry(std::thread::current().id()).or_insert_with(|| self.create_stream(true, 0));
        Arc::clone(stream)
    }

    /// All streams, destroyed ones with work to do among them; the legacy one last.
    pub(crate) fn streams(&self) -> Vec<Arc<Stream>> {
        let mut streams: Vec<_> = lock(&self.streams).iter().filter_map(Weak::upgrade).collect();
        streams.push(Arc::clone(&self.legacy));
        streams
    }

    /// Waits for all work, and tells whether it lost the context.
    pub fn synchronize(&self) -> Result<()> {
        self.forbid_in_capture()?;
        self.drain();
        self.check()
    }

    fn drain(&self) {
        for stream in self.streams() {
            stream.last().wait();
        }
    }

    /// Allocates device memory.
    pub fn allocate(&self, name: &str, size: u64) -> Result<u64> {
        self.check()?;
        if size == 0 {
            return Err(Error::value("an allocation of no bytes"));
        }
        let address = self.device.allocate(name, size)?;
        lock(&self.allocations).insert(address);
        Ok(address)
    }

    /// Frees device memory once all work that was asked for is done.
    pub fn free(&self, address: u64) -> Result<()> {
        self.check()?;
        if !self.owns(address) {
            return Err(Error::value(format!("{address:#x} is not the start of an allocation")));
        }
        self.synchronize()?;
        self.release(address)
    }

    /// Whether an allocation of this context starts at an address.
    pub fn owns(&self, address: u64) -> bool {
        lock(&self.allocations).contains(&address)
    }

    /// Frees device memory now.
    pub(crate) fn release(&self, address: u64) -> Result<()> {
        if !lock(&self.allocations).remove(&address) {
            return Err(Error::value(format!("{address:#x} is not the start of an allocation")));
        }
        self.device.free(address)
    }

    /// Lets memory outlive the context's list of it: something else frees it.
    pub(crate) fn disown(&self, address: u64) {
        lock(&self.allocations).remove(&address);
    }

    /// Waits for all work, and gives back all memory. Streams that are used later find the context gone.
    pub fn destroy(&self) {
        if self.destroyed.swap(true, Ordering::AcqRel) {
            return;
        }
        for capture in self.captures() {
            capture.invalidate();
        }
        for stream in self.streams() {
            stream.close();
        }
        self.drain();
        lock(&self.per_thread).clear();
        for address in std::mem::take(&mut *lock(&self.allocations)) {
            // It is in the list because it is allocated.
            let _ = self.device.free(address);
        }
    }

    pub(crate) fn add_capture(&self, capture: &Arc<Capture>) {
        let mut captures = lock(&self.captures);
        captures.retain(|capture| capture.strong_count() > 0);
        captures.push(Arc::downgrade(capture));
    }

    pub(crate) fn captures(&self) -> Vec<Arc<Capture>> {
        let captures = lock(&self.captures);
        captures.iter().filter_map(Weak::upgrade).filter(|capture| capture.is_active()).collect()
    }

    /// Fails, and spoils the captures concerned, where the calling thread must not make calls that wait or allocate.
    pub fn forbid_in_capture(&self) -> Result<()> {
        let captures = lock(&self.captures);
        if captures.is_empty() {
            return Ok(());
        }
        let active: Vec<_> = captures.iter().filter_map(Weak::upgrade).collect();
        drop(captures);
        crate::capture::forbid(&active)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        self.destroy();
    }
}
