//! The kernel cache on disk, from outside: many processes, killed writers, damage, full and forbidden folders, clocks.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use tegula_artifact::gpu::KernelInfo;
use tegula_artifact::{Artifact, Entry, Format};
use tegula_ir::text::parse_function;
use tegula_runtime::backend::CodeTarget;
use tegula_runtime::cache::entry::{CacheEntry, Metadata};
use tegula_runtime::cache::folder::NoCache;
use tegula_runtime::cache::{CacheKey, DiskCache};
use tegula_runtime::{Device, Launch};

mod kernels {
    // The macro's paths are the facade's; this crate stands below it.
    pub use tegula_lang::prelude::*;
    pub use tegula_macros::kernel;

    macro_rules! scaled {
        ($($name:ident $factor:literal)*) => {
            $(#[kernel(crate = tegula_lang, defaults(B = 64))]
            pub fn $name<B: Dim>(x: &Tensor<f32, 1>, out: &mut Tiles<f32, (B,)>) {
                let i = out.index();
                out.store(x.tile::<(B,)>(i).load() * $factor);
            })*
        };
    }

    scaled! { twice 2.0 thrice 3.0 half 0.5 }
}

const SIZE: u64 = 1 << 30;

/// A key for tests.
fn key(name: &str) -> CacheKey {
    key_by(name, "test")
}

/// The key of one and the same kernel under another compiler.
fn key_by(name: &str, compiler: &str) -> CacheKey {
    let f = parse_function(&format!("kernel @{name}() {{\n  return\n}}"), "k.tile").expect("valid text");
    let target = CodeTarget { name: "sm_80".into(), details: String::new() };
    CacheKey::with_compiler(&f, &target, compiler, "22.1.8")
}

/// An entry with code of this many bytes.
fn entry(kernel: &str, bytes: usize) -> CacheEntry {
    let info = KernelInfo {
        name: kernel.into(),
        threads: 128,
        num_warps: 4,
        params: Vec::new(),
        params_size: 0,
        static_shared: 0,
        dynamic_shared: 0,
    };
    CacheEntry {
        metadata: Metadata {
            dims: Vec::new(),
            details: String::new(),
            compiler: "test".into(),
            llvm: "22.1.8".into(),
            created: 0,
            seconds: 0.0,
        },
        artifact: Artifact {
            kernel: kernel.into(),
            target: "sm_80".into(),
            format: Format::Ptx,
            entry: Entry::Gpu(info),
            code: (0..bytes).map(|i| (i * 7) as u8).collect(),
        },
    }
}

/// What `work` logs as warnings.
fn warnings<R>(work: impl FnOnce() -> R) -> (R, String) {
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);
    impl Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("nobody panics").write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::WARN)
        .with_writer(move || writer.clone())
        .with_ansi(false)
        .finish();
    let result = tracing::subscriber::with_default(subscriber, work);
    let text = String::from_utf8(log.0.lock().expect("nobody panics").clone()).expect("text");
    (result, text)
}

/// The role of a child process, which is this test program once more.
const ROLE: &str = "TEGULA_CACHE_TEST_ROLE";

/// A child that plays a role with this cache. It runs the test [`child`].
fn spawn(role: &str, folder: &Path, prepare: impl FnOnce(&mut Command)) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.args(["--exact", "child", "--nocapture", "--test-threads=1"]);
    command.env(ROLE, role).env("TEGULA_CACHE_DIR", folder).env_remove("TEGULA_CACHE");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    prepare(&mut command);
    command.spawn().expect("the child starts")
}

/// Waits for a child that must end well; gives the numbers that it printed.
fn finish(child: Child) -> [usize; 2] {
    let output = child.wait_with_output().expect("the child ends");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    let line = out.lines().find_map(|l| l.split_once("origins ")).expect("the child prints origins").1;
    let numbers: Vec<usize> = line.split_whitespace().map(|n| n.parse().expect("a number")).collect();
    numbers.try_into().expect("two numbers")
}

/// Compiled by the process, and taken from disk.
fn run(role: &str, folder: &Path, prepare: impl FnOnce(&mut Command)) -> [usize; 2] {
    finish(spawn(role, folder, prepare))
}

/// Not a test but what the children do.
#[test]
fn child() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let count = match role.as_str() {
        "one" | "virtual" => 1,
        "three" => 3,
        "gated" => {
            // All start at once, when the parent closes the pipe.
            println!("ready");
            std::io::stdin().read_line(&mut String::new()).expect("the pipe can be read");
            3
        }
        "small-files" => {
            limit_file_size(2000);
            1
        }
        other => panic!("no role {other}"),
    };
    let device = Device::open(if role == "virtual" { "vgpu:sm_80" } else { "cpu" }).expect("both are in this process");
    let values: Vec<f32> = (0..100).map(|i| i as f32).collect();
    let x = device.tensor(&values, [100]).expect("memory");
    let mut out = device.empty::<f32>([100]).expect("memory");
    for (i, factor) in [2.0, 3.0, 0.5].into_iter().enumerate().take(count) {
        match i {
            0 => kernels::twice(&x, &mut out).launch(),
            1 => kernels::thrice(&x, &mut out).launch(),
            _ => kernels::half(&x, &mut out).launch(),
        }
        .expect("the kernel runs");
        assert_eq!(out.to_vec().expect("the copy works"), values.iter().map(|v| v * factor).collect::<Vec<f32>>());
    }
    let origins = device.kernel_origins();
    println!("origins {} {}", origins.compiled, origins.disk);
}

/// No file may grow beyond this, as on a full disk; a write beyond it fails.
fn limit_file_size(bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: plain calls on valid arguments; the signal that would end the process is ignored.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &limit), 0);
    }
}

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
fn virtual_gpus_take_their_code_from_the_cache() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(run("virtual", folder.path(), |_| {}), [1, 0]);
    assert_eq!(run("virtual", folder.path(), |_| {}), [0, 1]);
    let listed = DiskCache::open(folder.path(), SIZE).expect("it opens").list().expect("it can be read");
    let entry = listed[0].entry.as_ref().expect("an entry");
    assert_eq!((listed.len(), &*entry.artifact.target, entry.artifact.format), (1, "sm_80", Format::Ptx));
}

/// Whatever a kernel of the library is compiled to for the CPU, taking it up again needs no linker, and so no LLVM.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[test]
fn every_kernel_of_the_library_is_linked_without_llvm() {
    use tegula_artifact::cpu::link::link;
    use tegula_codegen_cpu::CpuCompiler;
    use tegula_lang::kernel::BuildOptions;

    let mut linked = 0;
    for info in tegula_kernels::library() {
        for instance in (info.instances)() {
            let types = info.types.iter().zip(&instance.types);
            let options = types.fold(BuildOptions::default(), |o, (name, ty)| o.ty(*name, *ty));
            let function = info.build(&options).expect("the library's kernels are right");
            let compiled = CpuCompiler::default().object(&function).expect("they compile for this processor");
            let code = link(&compiled.object, &compiled.info.symbol);
            assert!(code.is_ok(), "{} {:?}: {}", info.name, instance.types, code.expect_err("just seen"));
            linked += 1;
        }
    }
    assert!(linked >= tegula_kernels::library().len());
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

/// As user `nobody` where this is root, for whom no folder is read-only.
#[cfg(unix)]
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
        command.args(["--exact", "child", "--nocapture"]).env(ROLE, role).env("TEGULA_CACHE_DIR", folder.path());
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

#[cfg(unix)]
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
