//! Folders and files of others, which hold code that would be run.
#![cfg(unix)]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tegula_runtime::cache::DiskCache;
use tegula_runtime::cache::folder::NoCache;

use crate::children::{CHILD, ROLE, finish, run};
use crate::{SIZE, warnings};

/// As user `nobody` where this is root, for whom no folder is read-only.
#[test]
fn a_read_only_folder_is_read() {
    use std::os::unix::fs::{PermissionsExt, chown};
    use std::os::unix::process::CommandExt;

    const NOBODY: u32 = 65534;
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(run("one", folder.path(), |_| {}), [1, 0]);
    let root = rustix::process::geteuid().is_root();
    let mut all = vec![folder.path().to_owned()];
    let mut next = 0;
    while let Some(path) = all.get(next).cloned() {
        next += 1;
        if path.is_dir() {
            all.extend(fs::read_dir(&path).expect("it can be read").map(|e| e.expect("a file").path()));
        }
    }
    for path in all.iter().rev() {
        fs::set_permissions(path, fs::Permissions::from_mode(if path.is_dir() { 0o500 } else { 0o400 })).expect("ours");
        if root {
            chown(path, Some(NOBODY), Some(NOBODY)).expect("root may");
        }
    }
    // The program must be where nobody can run it. Another process copies it: a file that this one has open for writing may
    // be open in the children that other tests fork as well, and cannot be run as long.
    let copy = std::env::temp_dir().join(format!("tegula-cache-test-{}", std::process::id()));
    let copied = Command::new("cp").arg(std::env::current_exe().expect("a path")).arg(&copy).status();
    assert!(copied.expect("cp is there").success());
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).expect("ours");
    let as_nobody = |role| {
        let mut command = Command::new(&copy);
        command.args(["--exact", CHILD, "--nocapture"]).env(ROLE, role).env("TEGULA_CACHE_DIR", folder.path());
        if root {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the child starts")
    };
    let results = std::panic::catch_unwind(|| {
        // The first kernel is there; the other two are compiled and not kept.
        assert_eq!(finish(as_nobody("three")), [2, 1]);
        assert_eq!(finish(as_nobody("three")), [2, 1]);
    });
    for path in &all {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).expect("it can be made writable");
    }
    fs::remove_file(&copy).expect("it is ours");
    results.expect("the program runs");
}

#[test]
fn what_others_can_write_is_never_trusted() {
    use std::os::unix::fs::{PermissionsExt, chown};

    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(run("one", folder.path(), |_| {}), [1, 0]);
    let open = || DiskCache::open(folder.path(), SIZE).map(drop);
    open().expect("it is ours");

    // A folder of everybody's: the program runs, without the cache.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).expect("ours");
    let Err(NoCache::Untrusted { why, .. }) = open() else { panic!("it is trusted") };
    assert!(why.contains("everybody"), "{why}");
    assert_eq!(run("one", folder.path(), |_| {}), [1, 0]);
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).expect("ours");

    // A file of everybody's.
    let cache = DiskCache::open(folder.path(), SIZE).expect("it is ours");
    let listed = cache.list().expect("it can be read");
    let file: PathBuf = listed[0].path.clone();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).expect("ours");
    let (found, log) = warnings(|| cache.get(&listed[0].key.expect("a key")));
    assert_eq!(found, None);
    assert!(log.contains("everybody"), "{log}");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("ours");

    // Another owner's: only root can give files away; anybody else looks at root's.
    if rustix::process::geteuid().is_root() {
        chown(&file, Some(65534), None).expect("root may");
        assert!(cache.get(&listed[0].key.expect("a key")).is_none());
        chown(&file, Some(0), None).expect("root may");
        assert!(cache.get(&listed[0].key.expect("a key")).is_some());
        chown(cache.entries_folder(), Some(65534), None).expect("root may");
        assert!(matches!(open(), Err(NoCache::Untrusted { .. })));
        chown(cache.entries_folder(), Some(0), None).expect("root may");
        chown(folder.path(), Some(65534), None).expect("root may");
        let Err(NoCache::Untrusted { why, .. }) = open() else { panic!("it is trusted") };
        assert!(why.contains("belongs to user 65534"), "{why}");
        assert_eq!(run("one", folder.path(), |_| {}), [1, 0]);
    } else {
        assert!(matches!(DiskCache::open("/usr", SIZE), Err(NoCache::Untrusted { .. })));
    }
}
