//! Files that are damaged, foreign, or of other compilers.

use std::fs;

use tegula_ir::text::parse_function;
use tegula_runtime::backend::CodeTarget;
use tegula_runtime::cache::{CacheKey, DiskCache};

use crate::{SIZE, entry, key, key_by, warnings};

#[test]
fn damage_is_a_miss_with_a_warning_and_mends_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = DiskCache::open(folder.path(), SIZE).expect("it opens");
    let (key, entry) = (key("k"), entry("k", 5000));
    let path = cache.path(&key);
    cache.put(&key, &entry);
    let good = fs::read(&path).expect("it was written");
    let miss = |bytes: &[u8], what: &str| {
        fs::write(&path, bytes).expect("it can be written");
        let (found, log) = warnings(|| cache.get(&key));
        assert_eq!(found, None, "{what}");
        assert!(log.contains("WARN") && log.contains(path.to_str().expect("text")), "{what}: {log}");
    };
    // All bytes of the header and metadata, then every 61st.
    for i in (0..400).chain((400..good.len()).step_by(61)) {
        let mut bytes = good.clone();
        bytes[i] ^= 1 << (i % 8);
        miss(&bytes, &format!("byte {i}"));
    }
    for n in [0, 1, 7, 87, 88, 100, good.len() / 2, good.len() - 1] {
        miss(&good[..n], &format!("cut to {n}"));
    }
    miss(&[&good[..], b"x"].concat(), "longer");
    miss(b"\x7fELF and so on", "foreign");
    // The entry of another kernel under this name.
    let other = key_by("other", "test");
    cache.put(&other, &entry);
    miss(&fs::read(cache.path(&other)).expect("it was written"), "another kernel");
    assert!(cache.list().expect("it can be read").iter().any(|l| l.path == path && l.entry.is_err()));

    let (result, log) = warnings(|| cache.get_or_make(&key, || Ok::<_, ()>(entry.clone())));
    assert_eq!(result.expect("it is made").0, entry.artifact);
    assert!(log.contains("WARN"));
    let (found, log) = warnings(|| cache.get(&key));
    assert_eq!((found, log.as_str()), (Some(entry.artifact.clone()), ""));

    // Things that are no files.
    fs::remove_file(&path).expect("it is there");
    fs::create_dir(&path).expect("a folder");
    let (found, log) = warnings(|| cache.get(&key));
    assert_eq!(found, None);
    assert!(log.contains("not a regular file"), "{log}");
    fs::remove_dir(&path).expect("it is empty");
    #[cfg(unix)]
    {
        let elsewhere = folder.path().join("elsewhere");
        fs::write(&elsewhere, &good).expect("it can be written");
        std::os::unix::fs::symlink(&elsewhere, &path).expect("a link");
        let (found, log) = warnings(|| cache.get(&key));
        assert_eq!(found, None, "links are not followed");
        assert!(log.contains("WARN"), "{log}");
    }
}

#[test]
fn entries_of_other_compilers_are_never_used() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = DiskCache::open(folder.path(), SIZE).expect("it opens");
    cache.put(&key_by("k", "0.0.9"), &entry("k", 10));
    assert_eq!(cache.get(&key_by("k", "0.1.0")), None);
    // Under the name of a current one, its own key gives it away.
    fs::rename(cache.path(&key_by("k", "0.0.9")), cache.path(&key_by("k", "0.1.0"))).expect("it is there");
    assert_eq!(cache.get(&key_by("k", "0.1.0")), None);
    assert!(!cache.list().expect("it can be read")[0].is_current());
    // The same compiler over another LLVM.
    let f = parse_function("kernel @k() {\n  return\n}", "k.tile").expect("valid text");
    let target = CodeTarget { name: "sm_80".into(), details: String::new() };
    let of = |llvm: &str| CacheKey::with_compiler(&f, &target, "0.1.0", llvm);
    assert_eq!(of("22.1.8"), key_by("k", "0.1.0"));
    assert_eq!(cache.get(&of("22.1.9")), None);
    cache.put(&key_by("k", "0.0.9"), &entry("k", 10));
    assert_eq!(cache.prune_stale().expect("it can be read").files, 2);
}
