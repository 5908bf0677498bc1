//! Kernels that are compiled before they are launched.

use tegula_runtime::{Config, Device, Launch, WarmUp};

mod kernels {
    pub use tegula_lang::prelude::*;
    pub use tegula_macros::kernel;

    #[kernel(crate = tegula_lang, defaults(R = 1, N = 64))]
    pub fn scale<R: Dim, N: Dim>(x: &Tensor<f32, 2>, out: &mut Tiles<f32, (R, N)>) {
        let [i, j] = out.index();
        out.store(x.tile::<(R, N)>([i, j]).load() * 3.0);
    }

    #[kernel(crate = tegula_lang)]
    pub fn which<N: Dim>(out: &mut Tiles<i32, (N,)>) {
        out.store(full(match target() {
            Target::Cpu => 1,
            Target::Interpreter => 2,
            Target::Nvidia(sm) => sm as i32,
            Target::Amd(0x950) => 950,
            _ => 0,
        }));
    }
}

use kernels::{scale, which};

#[test]
fn a_kernel_is_built_for_its_device() {
    // Others of these tests use and count on other devices in this process.
    for (name, want, counts) in
        [("cpu", 1, false), ("interp", 2, true), ("vgpu:sm_90a", 90, true), ("vgpu:gfx950", 950, true)]
    {
        let device = Device::open(name).expect("it is in this process");
        which::Kernel::<(), ()>::new(()).warm_up(&device, [Config::new()]).expect("it compiles");
        let made = || {
            let origins = device.kernel_origins();
            origins.compiled + origins.disk
        };
        let before = made();
        let mut out = device.empty::<i32>([32]).expect("memory");
        which(&mut out).launch().expect("it runs");
        assert_eq!(out.to_vec().expect("the copy works"), [want; 32], "{name}");
        assert!(!counts || made() == before, "what was warmed up on {name} is launched");
    }
}

#[test]
fn what_was_warmed_up_is_not_compiled_again_and_failures_are_collected() {
    let device = Device::open("vgpu:sm_80").expect("it is in this process");
    let dims = |r, n| Config::new().dims(scale::Dims { r, n });
    let kernel = scale::Kernel::<(), ()>::new(());
    let made = || {
        let origins = device.kernel_origins();
        origins.compiled + origins.disk
    };
    let error =
        kernel.warm_up(&device, [dims(2, 64), dims(1, 0), Config::new(), dims(0, 0)]).expect_err("0 is no size");
    assert_eq!(error.failures.len(), 2);
    let text = error.to_string();
    assert!(text.contains("2 configurations") && text.contains("dims [1, 0]") && text.contains("scale"), "{text}");
    assert_eq!(made(), 2);

    let x = device.tensor(&[1.0f32; 32 * 64], [32, 64]).expect("memory");
    let mut out = device.empty::<f32>([32, 64]).expect("memory");
    scale(&x, &mut out).launch().expect("it runs");
    scale(&x, &mut out).dims(scale::Dims { r: 2, n: 64 }).launch().expect("it runs");
    assert_eq!(out.to_vec().expect("the copy works"), [3.0; 32 * 64]);
    assert_eq!(made(), 2, "both launches found their kernels");
    kernel.warm_up(&device, [dims(2, 64)]).expect("it is there");
    assert_eq!(made(), 2);
}

/// Two configurations are compiled at the same time: each waits for the other to have begun.
#[test]
fn configurations_are_compiled_in_parallel() {
    use std::any::TypeId;
    use std::sync::{Arc, Condvar, Mutex};
    use std::time::Duration;

    use tegula_lang::kernel::{BuildError, BuildOptions, Kernel, KernelInfo};

    struct Meeting {
        kernel: scale::Kernel<(), ()>,
        arrived: Arc<(Mutex<usize>, Condvar)>,
    }

    impl Kernel for Meeting {
        fn info(&self) -> &'static KernelInfo {
            self.kernel.info()
        }

        fn key(&self) -> (TypeId, u64) {
            (TypeId::of::<Self>(), 0)
        }

        fn build(&self, options: &BuildOptions) -> Result<tegula_ir::Function, BuildError> {
            let (count, changed) = &*self.arrived;
            let mut count = count.lock().expect("nobody panics here");
            *count += 1;
            changed.notify_all();
            let (_count, waited) =
                changed.wait_timeout_while(count, Duration::from_secs(300), |n| *n < 2).expect("nobody panics here");
            assert!(!waited.timed_out(), "the other one never began");
            self.kernel.build(options)
        }
    }

    // Not the device of the other test, which counts what it compiles.
    let device = Device::open("vgpu:gfx942").expect("it is in the process");
    let meeting = Meeting { kernel: scale::Kernel::new(()), arrived: Arc::default() };
    let configs = [128, 256].map(|n| Config::new().dims(scale::Dims { r: 1, n }));
    let threads = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("two threads");
    threads.install(|| meeting.warm_up(&device, configs)).expect("both compile");
}

/// On a terminal the progress is shown: this test runs itself once more in a process whose standard error is one.
#[cfg(target_os = "linux")]
#[test]
fn progress_is_shown_on_a_terminal() {
    use std::process::Command;

    const CHILD: &str = "TEGULA_WARM_UP_ON_A_TERMINAL";
    if std::env::var_os(CHILD).is_some() {
        let device = Device::open("cpu").expect("there is a CPU");
        let configs = [32, 64, 128].map(|n| Config::new().dims(scale::Dims { r: 4, n }));
        return scale::Kernel::<(), ()>::new(()).warm_up(&device, configs).expect("all compile");
    }
    let exe = std::env::current_exe().expect("this program has a path");
    let run = format!("{} --exact progress_is_shown_on_a_terminal --nocapture", exe.display());
    let output = Command::new("script")
        .args(["--quiet", "--return", "--command", &run, "/dev/null"])
        .env(CHILD, "1")
        .env("TERM", "xterm")
        .env("TEGULA_CACHE", "off")
        .output();
    let Ok(output) = output else { return println!("no program `script`: there is no terminal to show it on") };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("scale") && text.contains("/3"), "{text}");
}
