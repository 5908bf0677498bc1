//! Many processes over one cache, and writers that are killed.

use std::fs::{self, File};
use std::process::Child;
use std::time::{Duration, SystemTime};

use tegula_artifact::Format;
use tegula_runtime::cache::entry::CacheEntry;
use tegula_runtime::cache::{CacheKey, DiskCache};

use crate::children::{finish, run, spawn};
use crate::{SIZE, entry, key};

#[test]
fn a_second_process_compiles_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(run("three", folder.path(), |_| {}), [3, 0]);
    assert_eq!(run("three", folder.path(), |_| {}), [0, 3]);
    // Off is off.
    assert_eq!(run("one", folder.path(), |c| _ = c.env("TEGULA_CACHE", "off")), [1, 0]);
    let cache = DiskCache::open(folder.path(), SIZE).expect("it opens");
    let listed = cache.list().expect("it can be read");
    assert_eq!(listed.len(), 3);
    for l in &listed {
        assert!(l.is_current(), "{l:?}");
        let entry = l.entry.as_ref().expect("an entry");
        assert_eq!((&*entry.artifact.target, entry.artifact.format), ("cpu", Format::Object));
        assert_eq!(entry.metadata.dims, [("B".to_owned(), 64)]);
    }
}

#[test]
fn sixty_four_processes_at_once_compile_each_kernel_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut children: Vec<Child> = (0..64).map(|_| spawn("gated", folder.path(), |_| {})).collect();
    for child in &mut children {
        use std::io::BufRead;
        let mut out = std::io::BufReader::new(child.stdout.as_mut().expect("a pipe"));
        let mut line = String::new();
        while !line.contains("ready") {
            line.clear();
            assert_ne!(out.read_line(&mut line).expect("the pipe can be read"), 0, "the child ended");
        }
    }
    children.iter_mut().for_each(|c| drop(c.stdin.take()));
    let origins: Vec<[usize; 2]> = children.into_iter().map(finish).collect();
    assert_eq!(origins.iter().map(|o| o[0]).sum::<usize>(), 3, "{origins:?}");
    assert!(origins.iter().all(|o| o[0] + o[1] == 3), "{origins:?}");
}

/// A writer that is killed leaves whole entries, or files that are not taken for entries.
#[cfg(unix)]
#[test]
fn killed_writers_leave_a_cache_that_verifies() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = DiskCache::open(folder.path(), SIZE).expect("it opens");
    // Entries of 100 kB are written in many steps of the file system.
    let entries: Vec<(CacheKey, CacheEntry)> = (0..4)
        .map(|i| {
            let name = format!("k{i}");
            (key(&name), entry(&name, 100_000 + i))
        })
        .collect();
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    for _ in 0..300 {
        // SAFETY: the child only writes files until it is killed; if it hangs in a lock that another thread of the
        // parent held, it is killed as well.
        let child = unsafe { libc::fork() };
        assert!(child >= 0, "no more processes");
        if child == 0 {
            loop {
                for (key, entry) in &entries {
                    cache.put(key, entry);
                }
            }
        }
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        std::thread::sleep(Duration::from_micros(random % 4000));
        // SAFETY: the child is this process's own and has not been waited for.
        unsafe {
            assert_eq!(libc::kill(child, libc::SIGKILL), 0);
            assert_eq!(libc::waitpid(child, std::ptr::null_mut(), 0), child);
        }
    }
    let listed = cache.list().expect("it can be read");
    assert_eq!(listed.len(), entries.len());
    assert!(listed.iter().all(|l| l.entry.is_ok()), "{listed:?}");
    for (key, entry) in &entries {
        assert_eq!(cache.get(key).as_ref(), Some(&entry.artifact));
    }
    // Some were killed while they wrote; what they left goes once it is old.
    let unfinished = cache.usage().expect("it can be read").unfinished;
    assert!(unfinished > 0, "no writer was killed while it wrote");
    assert_eq!(cache.prune(SIZE).expect("it can be read").files, 0);
    for file in fs::read_dir(cache.entries_folder()).expect("it can be read") {
        let path = file.expect("a file").path();
        if path.is_file() {
            let day_ago = SystemTime::now() - Duration::from_secs(86400);
            File::options().write(true).open(&path).and_then(|f| f.set_modified(day_ago)).expect("it is ours");
        }
    }
    assert_eq!(cache.prune(SIZE).expect("it can be read").files, unfinished);
    assert_eq!(cache.usage().expect("it can be read").unfinished, 0);
    assert_eq!(cache.list().expect("it can be read").len(), entries.len());
}
