//! How tests find the stand-ins, and run a part of themselves in a process that uses them.
//!
//! Cargo builds the libraries beside a test when the test's package has `tegula-vgpu-cuda` or `tegula-vgpu-hip` among its
//! dev-dependencies; `cargo build -p tegula-vgpu-cuda` builds them for other programs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// The files that each library is looked for as.
const NAMES: [(&str, &[&str]); 2] = [
    ("libcuda.so", &["libcuda.so", "libcuda.so.1"]),
    ("libamdhip64.so", &["libamdhip64.so", "libamdhip64.so.6", "libamdhip64.so.7"]),
];

/// Set in processes that [`under`] and [`command`] start.
const MARK: &str = "VGPU_TESTING";

/// A folder with the stand-ins under the names that programs load them by. `None` where they were not built.
///
/// # Panics
/// If the folder cannot be written.
pub fn library_dir() -> Option<PathBuf> {
    // Once a process: tests of one process run side by side.
    static FOLDER: LazyLock<Option<PathBuf>> = LazyLock::new(link_libraries);
    FOLDER.clone()
}

fn link_libraries() -> Option<PathBuf> {
    let exe = std::env::current_exe().ok()?;
    let deps = exe.parent()?;
    // A test lies in `deps`, a program or an example above it.
    let folders = [deps.to_owned(), deps.join("deps"), deps.parent()?.join("deps"), deps.parent()?.to_owned()];
    let newest = |library: &str| {
        let found = folders.iter().map(|folder| folder.join(library)).filter(|path| path.is_file());
        found.max_by_key(|path| path.metadata().and_then(|data| data.modified()).ok())
    };
    let libraries: Vec<_> = NAMES.iter().filter_map(|(file, names)| Some((newest(file)?, *names))).collect();
    if libraries.is_empty() {
        return None;
    }
    let folder = deps.join("vgpu-libraries");
    std::fs::create_dir_all(&folder).unwrap_or_else(|e| panic!("{} cannot be made: {e}", folder.display()));
    for (library, names) in libraries {
        for name in names {
            let path = folder.join(name);
            link(&library, &path).unwrap_or_else(|e| panic!("{} cannot be made: {e}", path.display()));
        }
    }
    Some(folder)
}

/// Makes a symbolic link, or leaves one that is right. Other processes do the same at the same time.
fn link(library: &Path, link: &Path) -> std::io::Result<()> {
    if std::fs::read_link(link).is_ok_and(|target| target == library) {
        return Ok(());
    }
    let own = link.with_extension(std::process::id().to_string());
    // A process of the same number may have left it.
    let _ = std::fs::remove_file(&own);
    std::os::unix::fs::symlink(library, &own)?;
    std::fs::rename(&own, link)
}

/// A command that loads the stand-ins first, with the given variables. `None` where they were not built.
pub fn command(program: &Path, variables: &[(&str, &str)]) -> Option<Command> {
    let mut path = library_dir()?.into_os_string();
    if let Some(rest) = std::env::var_os("LD_LIBRARY_PATH") {
        path.push(":");
        path.push(rest);
    }
    let mut command = Command::new(program);
    // The loader of a Rust test may already know the folder of the libraries by the path that cargo sets.
    command.env("LD_LIBRARY_PATH", path).env(MARK, "1").envs(variables.iter().copied());
    Some(command)
}

/// Runs the calling test once more, in a process of its own that loads the stand-ins and has the given variables set. It returns
/// `true` in that process: there the body of the test is to be run. In the process that started it, it returns `false` once the
/// other one has succeeded.
///
/// ```no_run
/// #[test]
/// fn launches() {
///     if tegula_vgpu_driver::testing::under("launches", &[("VGPU_MODEL", "h200")]) {
///         // cuInit, hipInit...
///     }
/// }
/// ```
///
/// # Panics
/// If the stand-ins were not built, or the other process failed or did not end within ten minutes.
pub fn under(test: &str, variables: &[(&str, &str)]) -> bool {
    if std::env::var_os(MARK).is_some() {
        return true;
    }
    let exe = std::env::current_exe().expect("the test has a path");
    let mut command = command(&exe, variables).expect("the stand-ins are dev-dependencies of the test");
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    let (output, status) = finish(command, Duration::from_secs(600));
    assert!(status, "`{test}` failed under the stand-ins:\n{output}");
    assert!(output.contains("1 passed"), "no test `{test}`:\n{output}");
    false
}

/// Runs a command to its end or its deadline, and returns what it printed.
fn finish(mut command: Command, deadline: Duration) -> (String, bool) {
    let log = std::env::temp_dir().join(format!("vgpu-test-{}-{:?}", std::process::id(), std::thread::current().id()));
    let file = std::fs::File::create(&log).expect("a temporary file");
    let copy = file.try_clone().expect("a temporary file");
    let mut child = command.stdin(Stdio::null()).stdout(file).stderr(copy).spawn().expect("the test starts again");
    let started = Instant::now();
    let success = loop {
        match child.try_wait().expect("the test's process") {
            Some(status) => break status.success(),
            None if started.elapsed() > deadline => {
                // It may have ended just now.
                let _ = child.kill();
                break false;
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let output = String::from_utf8_lossy(&std::fs::read(&log).unwrap_or_default()).into_owned();
    // The temporary folder is cleaned by others as well.
    let _ = std::fs::remove_file(&log);
    (output, success)
}
