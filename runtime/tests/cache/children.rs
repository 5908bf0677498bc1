//! Processes that launch kernels over a cache: this test program once more.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tegula_runtime::cache::key::llvm_version;
use tegula_runtime::{Config, Device, Launch, Result, WarmUp};

use crate::kernels::{half, thrice, twice};

/// What a child does: see [`child`].
pub const ROLE: &str = "TEGULA_CACHE_TEST_ROLE";
/// The device that it launches on; the CPU without it.
pub const DEVICE: &str = "TEGULA_CACHE_TEST_DEVICE";
/// Set where a child must do without LLVM.
#[cfg(target_os = "linux")]
pub const WITHOUT_LLVM: &str = "TEGULA_CACHE_TEST_WITHOUT_LLVM";

/// The test that a child runs.
pub const CHILD: &str = "children::child";

/// A child that plays a role with this cache.
pub fn spawn(role: &str, folder: &Path, prepare: impl FnOnce(&mut Command)) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.args(["--exact", CHILD, "--nocapture", "--test-threads=1"]);
    command.env(ROLE, role).env("TEGULA_CACHE_DIR", folder).env_remove("TEGULA_CACHE");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    prepare(&mut command);
    command.spawn().expect("the child starts")
}

/// Waits for a child that must end well; gives the numbers that it printed, and what it warned of.
pub fn outcome(child: Child) -> ([usize; 2], String) {
    let output = child.wait_with_output().expect("the child ends");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{out}{err}", output.status);
    let line = out.lines().find_map(|l| l.split_once("origins ")).expect("the child prints origins").1;
    let numbers: Vec<usize> = line.split_whitespace().map(|n| n.parse().expect("a number")).collect();
    (numbers.try_into().expect("two numbers"), err.into_owned())
}

/// Waits for a child that must end well; gives the numbers that it printed.
pub fn finish(child: Child) -> [usize; 2] {
    outcome(child).0
}

/// Compiled by the process, and taken from disk.
pub fn run(role: &str, folder: &Path, prepare: impl FnOnce(&mut Command)) -> [usize; 2] {
    finish(spawn(role, folder, prepare))
}

/// Has a child launch on the stand-in of a driver, as this model.
#[cfg(target_os = "linux")]
pub fn on_stand_in(command: &mut Command, device: &str, model: &str) {
    let libraries = tegula_vgpu_driver::testing::library_dir().expect("the stand-ins are dev-dependencies");
    command.env(DEVICE, device).env("VGPU_MODEL", model).env("LD_LIBRARY_PATH", libraries);
}

/// Not a test but what the children do.
#[test]
fn child() {
    let Ok(role) = std::env::var(ROLE) else { return };
    tracing_subscriber::fmt().with_max_level(tracing::Level::WARN).with_writer(std::io::stderr).with_ansi(false).init();
    // All that is asked of LLVM, and no work.
    llvm_version();
    #[cfg(target_os = "linux")]
    let _forbidden = std::env::var_os(WITHOUT_LLVM).map(|_| without_llvm::Forbidden::new());
    let device = std::env::var(DEVICE).unwrap_or_else(|_| "cpu".into());
    let device = || Device::open(&device).expect("the test has seen to it");
    let device = match role.as_str() {
        "one" => launch(device(), 1),
        "three" => launch(device(), 3),
        "gated" => {
            // All start at once, when the parent closes the pipe.
            println!("ready");
            std::io::stdin().read_line(&mut String::new()).expect("the pipe can be read");
            launch(device(), 3)
        }
        "small-files" => {
            limit_file_size(2000);
            launch(device(), 1)
        }
        // On drivers that only pretend to launch.
        "warm-up" => {
            let device = device();
            twice::Kernel::<(), ()>::new(()).warm_up(&device, [Config::new()]).expect("the kernel compiles");
            Ok(device)
        }
        other => panic!("no role {other}"),
    };
    let origins = device.expect("the kernels run").kernel_origins();
    println!("origins {} {}", origins.compiled, origins.disk);
    std::io::stdout().flush().expect("the parent reads it");
}

/// Launches so many kernels.
fn launch(device: Device, count: usize) -> Result<Device> {
    let values: Vec<f32> = (0..100).map(|i| i as f32).collect();
    let x = device.tensor(&values, [100])?;
    let mut out = device.empty::<f32>([100])?;
    for (i, factor) in [2.0, 3.0, 0.5].into_iter().enumerate().take(count) {
        match i {
            0 => twice(&x, &mut out).launch()?,
            1 => thrice(&x, &mut out).launch()?,
            _ => half(&x, &mut out).launch()?,
        }
        assert_eq!(out.to_vec()?, values.iter().map(|v| v * factor).collect::<Vec<f32>>());
    }
    Ok(device)
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

#[cfg(target_os = "linux")]
mod without_llvm {
    //! Taking LLVM away from a process that has it loaded.

    /// While this lives, a call of any function of LLVM ends the process: the memory that its code is in cannot be read.
    pub struct Forbidden(Vec<(usize, usize)>);

    impl Forbidden {
        pub fn new() -> Self {
            let maps = std::fs::read_to_string("/proc/self/maps").expect("Linux tells of its mappings");
            let mut code = Vec::new();
            for line in maps.lines().filter(|l| l.contains("libLLVM") && l.contains("r-xp")) {
                let (range, _) = line.split_once(' ').expect("a range comes first");
                let (from, to) = range.split_once('-').expect("it has two ends");
                let [from, to] = [from, to].map(|n| usize::from_str_radix(n, 16).expect("an address"));
                code.push((from, to - from));
            }
            assert!(!code.is_empty(), "LLVM is no library of its own here");
            let forbidden = Self(code);
            forbidden.protect(libc::PROT_NONE);
            forbidden
        }

        fn protect(&self, protection: i32) {
            for &(address, len) in &self.0 {
                // SAFETY: the range is a mapping of a library's code, which nothing runs at the moment; whoever runs it later is
                // to be stopped.
                assert_eq!(unsafe { libc::mprotect(address as *mut libc::c_void, len, protection) }, 0);
            }
        }
    }

    impl Drop for Forbidden {
        /// The library has things to do at the end of the process.
        fn drop(&mut self) {
            self.protect(libc::PROT_READ | libc::PROT_EXEC);
        }
    }
}
