//! Time as the processor spent it in this process, where the system tells it, so that other work on the host does not count; otherwise the
//! clock's.

use std::time::{Duration, Instant};

/// A point in time: the clock, and what the threads of this process have run so far.
#[derive(Clone, Copy)]
pub struct Moment(Instant, Option<Duration>);

impl Moment {
    /// This moment.
    pub fn now() -> Self {
        let threads = std::fs::read_dir("/proc/self/task").ok().map(|threads| {
            let times = threads.flatten().filter_map(|thread| {
                let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
                text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
            });
            times.sum()
        });
        Self(Instant::now(), threads)
    }

    /// What was spent since.
    pub fn elapsed(self) -> Duration {
        let now = Self::now();
        match (self.1, now.1) {
            (Some(before), Some(after)) if after > before => after - before,
            _ => now.0 - self.0,
        }
    }
}
