//! A model of [`users`](self::users) under loom, which runs threads in all orders: no block is freed before the
//! default stream has waited for all work that uses it, and no stream uses a block before it has waited for the default
//! stream to make it.

use std::collections::HashMap;
use std::sync::Mutex;

use loom::sync::Arc;
use loom::thread;

use super::driver::Handle;

/// The same code with loom's locks and atomics.
mod sync {
    pub use std::sync::PoisonError;

    pub use loom::sync::atomic::{AtomicU64, Ordering};
    pub use loom::sync::{Mutex, MutexGuard};
}

mod driver {
    pub use crate::backend::gpu::driver::Handle;
}

#[path = "users.rs"]
#[allow(clippy::duplicate_mod, reason = "it has other locks here")]
#[allow(dead_code, reason = "captures are not modelled")]
mod users;

use users::{Streams, Users};

const MAIN: usize = 0;

/// What each stream has waited for: the number of pieces of work, by stream. A call of the driver is one step.
#[derive(Default)]
struct Driver(Mutex<HashMap<usize, Timeline>>);

#[derive(Clone, Default)]
struct Timeline {
    work: usize,
    seen: HashMap<usize, usize>,
}

impl Driver {
    fn follow(&self, stream: usize, from: usize) {
        let mut streams = self.0.lock().expect("no panic");
        let Timeline { work, seen } = streams.entry(from).or_default().clone();
        let into = streams.entry(stream).or_default();
        for (other, n) in seen.into_iter().chain([(from, work)]) {
            let known = into.seen.entry(other).or_default();
            *known = n.max(*known);
        }
    }

    /// Gives work, and tells which one it is.
    fn work(&self, stream: usize) -> usize {
        let mut streams = self.0.lock().expect("no panic");
        let own = streams.entry(stream).or_default();
        own.work += 1;
        own.work
    }

    fn has_seen(&self, stream: usize, (other, n): (usize, usize)) -> bool {
        let streams = self.0.lock().expect("no panic");
        stream == other || streams.get(&stream).is_some_and(|own| own.seen.get(&other).is_some_and(|seen| *seen >= n))
    }
}

#[derive(Default)]
struct Device {
    driver: Driver,
    streams: Streams,
}

struct Stream {
    device: Arc<Device>,
    handle: usize,
    bit: u32,
}

impl Stream {
    fn new(device: &Arc<Device>, handle: usize) -> Self {
        let bit = device.streams.add(Handle(handle));
        device.driver.follow(handle, MAIN);
        Self { device: device.clone(), handle, bit }
    }

    fn launch(&self, block: &Block) {
        if block.users.add(self.bit) {
            self.device.driver.follow(self.handle, MAIN);
        }
        assert!(self.device.driver.has_seen(self.handle, (MAIN, block.made)), "used before it was there");
        let work = self.device.driver.work(self.handle);
        block.work.lock().expect("no panic").push((self.handle, work));
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let driver = &self.device.driver;
        self.device.streams.remove(Handle(self.handle), self.bit, || driver.follow(MAIN, self.handle));
    }
}

struct Block {
    device: Arc<Device>,
    made: usize,
    users: Users,
    /// What uses it: the streams and their work.
    work: Mutex<Vec<(usize, usize)>>,
}

impl Block {
    fn new(device: &Arc<Device>) -> Arc<Self> {
        let made = device.driver.work(MAIN);
        Arc::new(Self { device: device.clone(), made, users: Users::default(), work: Mutex::default() })
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let device = &self.device;
        let followed: Result<(), ()> = device.streams.each(self.users.bits(), |stream| {
            device.driver.follow(MAIN, stream.0);
            Ok(())
        });
        followed.expect("the model's driver does not fail");
        for work in self.work.get_mut().expect("no panic") {
            assert!(device.driver.has_seen(MAIN, *work), "freed while in use");
        }
        device.driver.work(MAIN);
    }
}

/// Runs threads in every order in which none is interrupted more than three times.
fn in_every_order(f: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(f);
}

#[test]
fn blocks_outlive_the_work_of_streams_that_are_dropped() {
    in_every_order(|| {
        let device = Arc::new(Device::default());
        let block = Block::new(&device);
        let threads: Vec<_> = (1..=2)
            .map(|handle| {
                let (device, block) = (device.clone(), block.clone());
                thread::spawn(move || {
                    let stream = Stream::new(&device, handle);
                    stream.launch(&block);
                    if handle == 1 {
                        drop(stream);
                        drop(block);
                    } else {
                        drop(block);
                        drop(stream);
                    }
                })
            })
            .collect();
        drop(block);
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    });
}

/// A stream gets the bit of an earlier one, whose blocks it has never used.
#[test]
fn streams_wait_for_blocks_that_an_earlier_stream_of_their_bit_used() {
    in_every_order(|| {
        let device = Arc::new(Device::default());
        let block = Block::new(&device);
        let other = {
            let (device, block) = (device.clone(), block.clone());
            thread::spawn(move || Stream::new(&device, 1).launch(&block))
        };
        Stream::new(&device, 2).launch(&block);
        other.join().expect("no panic");
        let late = Block::new(&device);
        let third = Stream::new(&device, 3);
        third.launch(&block);
        third.launch(&late);
        drop((block, late));
    });
}

/// More streams than bits.
#[test]
fn streams_that_share_a_bit_wait_at_every_use() {
    in_every_order(|| {
        let device = Arc::new(Device::default());
        let streams: Vec<_> = (1..=65).map(|handle| Stream::new(&device, handle)).collect();
        let block = Block::new(&device);
        for stream in &streams {
            stream.launch(&block);
        }
        drop(block);
        drop(streams);
    });
}
