//! A caller and its helpers: the threads that share the programs of a launch.
//!
//! Helpers are tasks of rayon's pool. A launch may take less time than a sleeping thread needs to wake up, or find the
//! pool busy with other work, so the caller does not wait for helpers that have not begun when nothing is left to do:
//! it shuts the gate, and those that come later go away.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Runs `work` on this thread and on up to `helpers` threads of rayon's pool. Returns when no thread runs it any more.
pub fn share(helpers: usize, work: &(dyn Fn() + Sync)) {
    if helpers == 0 {
        return work();
    }
    let gate = Arc::new(Gate::default());
    {
        let shut = ShutOnDrop(&gate);
        // SAFETY: the gate lets a helper in only while it is open, and `shut` closes it and waits for those inside
        // before this function is left, also when `work` panics. So the reference is used only while it is valid.
        let work: &'static (dyn Fn() + Sync) = unsafe { std::mem::transmute(work) };
        for _ in 0..helpers {
            let gate = Arc::clone(&gate);
            rayon::spawn(move || gate.pass(work));
        }
        work();
        drop(shut);
    }
    let panicked = gate.lock().panicked.take();
    if let Some(payload) = panicked {
        resume_unwind(payload);
    }
}

/// Where helpers enter.
#[derive(Default)]
struct Gate {
    state: Mutex<State>,
    left: Condvar,
}

#[derive(Default)]
struct State {
    shut: bool,
    inside: usize,
    /// What a helper panicked with.
    panicked: Option<Box<dyn Any + Send>>,
}

impl Gate {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does the work if the gate is open.
    fn pass(&self, work: &(dyn Fn() + Sync)) {
        {
            let mut state = self.lock();
            if state.shut {
                return;
            }
            state.inside += 1;
        }
        let outcome = catch_unwind(AssertUnwindSafe(work));
        let mut state = self.lock();
        state.inside -= 1;
        if let Err(payload) = outcome {
            state.panicked = Some(payload);
        }
        self.left.notify_one();
    }
}

/// Shuts the gate and waits for those inside.
struct ShutOnDrop<'a>(&'a Gate);

impl Drop for ShutOnDrop<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.shut = true;
        while state.inside > 0 {
            state = self.0.left.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn all_is_done_once_whoever_comes() {
        for helpers in [0, 1, 7] {
            let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
            share(helpers, &|| {
                while next.fetch_add(1, Ordering::Relaxed) < 1000 {
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
            assert_eq!(done.load(Ordering::Relaxed), 1000);
        }
    }

    #[test]
    fn helpers_that_cannot_begin_are_not_waited_for() {
        // All threads of the pool wait for this one, which therefore cannot wait for them.
        let (release, released) = (Mutex::new(false), Condvar::new());
        rayon::in_place_scope(|scope| {
            for _ in 0..rayon::current_num_threads() {
                scope.spawn(|_| {
                    let mut go = release.lock().unwrap();
                    while !*go {
                        go = released.wait(go).unwrap();
                    }
                });
            }
            share(4, &|| {});
            *release.lock().unwrap() = true;
            released.notify_all();
        });
    }

    #[test]
    fn a_panic_comes_out_after_all_have_left() {
        let inside = AtomicUsize::new(0);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            share(3, &|| {
                inside.fetch_add(1, Ordering::SeqCst);
                std::thread::sleep(std::time::Duration::from_millis(5));
                inside.fetch_sub(1, Ordering::SeqCst);
                panic!("on purpose");
            });
        }));
        assert!(outcome.is_err());
        assert_eq!(inside.load(Ordering::SeqCst), 0);
    }
}
