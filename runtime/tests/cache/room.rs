//! The bound of the size, full disks, clocks.

use std::fs::{self, File};
use std::process::Command;
use std::time::{Duration, SystemTime};

use tegula_runtime::cache::{CacheKey, DiskCache};

use crate::children::run;
use crate::{SIZE, entry, key};

#[test]
fn the_size_is_bounded_and_the_least_recently_used_go_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = DiskCache::open(folder.path(), 100_000).expect("it opens");
    let keys: Vec<CacheKey> = (0..30).map(|i| key(&format!("k{i}"))).collect();
    let now = SystemTime::now();
    for (i, key) in keys.iter().enumerate() {
        cache.put(key, &entry("k", 10_000));
        // Written a day ago, the first first; the third was used since.
        if let Ok(file) = File::options().write(true).open(cache.path(key)) {
            file.set_modified(now - Duration::from_secs(86400 - i as u64)).expect("it is ours");
        }
        assert!(i < 2 || cache.get(&keys[2]).is_some(), "after {i}");
        assert!(cache.usage().expect("it can be read").bytes <= 100_000);
    }
    assert!(cache.get(&keys[0]).is_none());
    assert!(cache.get(&keys[29]).is_some());
    assert!(cache.usage().expect("it can be read").entries >= 7);
    // An entry that would push out everything else is not kept.
    let before = cache.usage().expect("it can be read");
    cache.put(&key("large"), &entry("large", 200_000));
    assert_eq!(cache.usage().expect("it can be read"), before);
    assert_eq!(cache.clear().expect("it can be read").files, before.entries);
    assert_eq!(cache.usage().expect("it can be read").entries, 0);
}

#[test]
fn a_clock_that_goes_backwards_harms_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = DiskCache::open(folder.path(), SIZE).expect("it opens");
    let (old, future) = (key("old"), key("future"));
    let now = SystemTime::now();
    for (key, time) in [(old, now - Duration::from_secs(86400)), (future, now + Duration::from_secs(10 * 86400))] {
        cache.put(&key, &entry("k", 1000));
        File::options().write(true).open(cache.path(&key)).and_then(|f| f.set_modified(time)).expect("it is ours");
    }
    // The one from the future counts as just used, so the old one goes.
    let one = fs::metadata(cache.path(&old)).expect("it is there").len();
    assert_eq!(cache.prune(one).expect("it can be read").files, 1);
    assert!(cache.get(&old).is_none());
    // A use sets its time right.
    assert!(cache.get(&future).is_some());
    let time = fs::metadata(cache.path(&future)).and_then(|m| m.modified()).expect("it is there");
    assert!(time < now + Duration::from_secs(3600), "{time:?}");
}

#[test]
fn with_a_full_disk_the_program_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(run("small-files", folder.path(), |_| {}), [1, 0]);
    let usage = DiskCache::open(folder.path(), SIZE).expect("it opens").usage().expect("it can be read");
    assert_eq!((usage.entries, usage.unfinished), (0, 0), "nothing half-written is left");
    // The same, with a file system that has no room, where one may be mounted.
    let full = tempfile::tempdir().expect("a folder");
    let mount = |args: &[&str]| Command::new(args[0]).args(&args[1..]).arg(full.path()).output();
    let mounted = mount(&["mount", "-t", "tmpfs", "-o", "size=8k,mode=700", "tmpfs"]);
    if mounted.is_ok_and(|o| o.status.success()) {
        let origins = std::panic::catch_unwind(|| run("one", full.path(), |_| {}));
        mount(&["umount"]).expect("what was mounted can be unmounted");
        assert_eq!(origins.expect("the program runs"), [1, 0]);
    }
}
