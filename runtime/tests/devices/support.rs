//! Running a test on several devices.

use std::path::Path;
use std::process::Output;

use tegula_runtime::{Device, Result};
use tegula_vgpu_driver::testing;

/// Makes a test of each function for each device: `f(&Device) -> Result<()>`. Those on stand-ins run in processes of
/// their own.
macro_rules! on_devices {
    ($($function:ident),* $(,)?) => {
        on_devices!(@in_process on_cpu "cpu" $($function)*);
        on_devices!(@in_process on_interpreter "interp" $($function)*);
        on_devices!(@stand_in on_cuda "cuda:0" "h200" $($function)*);
        on_devices!(@stand_in on_hip "hip:0" "mi300x" $($function)*);
    };
    (@in_process $module:ident $device:literal $($function:ident)*) => {
        mod $module {
            use super::*;
            $(
                #[test]
                fn $function() -> Result<()> {
                    super::$function(&Device::open($device)?)
                }
            )*
        }
    };
    (@stand_in $module:ident $device:literal $model:literal $($function:ident)*) => {
        mod $module {
            use super::*;
            $(
                #[test]
                fn $function() -> Result<()> {
                    let path = concat!(module_path!(), "::", stringify!($function));
                    if $crate::support::under(path, &[("VGPU_MODEL", $model)]) {
                        super::$function(&Device::open($device)?)?;
                    }
                    Ok(())
                }
            )*
        }
    };
}
pub(crate) use on_devices;

/// Makes a test of each function on each stand-in, in processes of their own that have these variables set.
macro_rules! on_stand_ins {
    ($module:ident [$($variable:literal = $value:literal),*] $($function:ident),* $(,)?) => {
        mod $module {
            use super::*;
            on_stand_ins!(@device on_cuda "cuda:0" "h200" [$(($variable, $value)),*] $($function)*);
            on_stand_ins!(@device on_hip "hip:0" "mi300x" [$(($variable, $value)),*] $($function)*);
        }
    };
    (@device $module:ident $device:literal $model:literal $variables:tt $($function:ident)*) => {
        mod $module {
            use super::*;
            $(on_stand_ins!(@test $device $model $variables $function);)*
        }
    };
    (@test $device:literal $model:literal [$($variable:expr),*] $function:ident) => {
        #[test]
        fn $function() -> Result<()> {
            let path = concat!(module_path!(), "::", stringify!($function));
            if $crate::support::under(path, &[("VGPU_MODEL", $model), $($variable),*]) {
                super::super::$function(&Device::open($device)?)?;
            }
            Ok(())
        }
    };
}
pub(crate) use on_stand_ins;

/// Runs the calling test again under a stand-in: see [`testing::under`]. `path` is the test's, with the crate's name.
/// Kernels of a test are compiled in it, whatever earlier runs left on disk.
pub fn under(path: &str, variables: &[(&str, &str)]) -> bool {
    let variables: Vec<_> = variables.iter().copied().chain([("TEGULA_CACHE", "off")]).collect();
    testing::under(without_crate(path), &variables)
}

fn without_crate(path: &str) -> &str {
    path.split_once("::").map_or(path, |(_, rest)| rest)
}

/// Whether this is a process that a test started.
pub fn is_child() -> bool {
    std::env::var_os("VGPU_TESTING").is_some()
}

/// Runs the calling test again, with libraries of `folder` first (the stand-ins if none is given), and gives what it
/// printed.
pub fn output_of(path: &str, folder: Option<&Path>, variables: &[(&str, &str)]) -> Output {
    let exe = std::env::current_exe().expect("the test has a path");
    let mut command = testing::command(&exe, variables).expect("the stand-ins are dev-dependencies of the test");
    if let Some(folder) = folder {
        command.env("LD_LIBRARY_PATH", folder);
    }
    command.env("TEGULA_CACHE", "off");
    command.args(["--exact", without_crate(path), "--nocapture", "--test-threads=1"]);
    command.output().expect("the test starts again")
}

/// Both outputs of a process as text.
pub fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The test's own path, with the crate's name.
macro_rules! test_path {
    ($function:literal) => {
        concat!(module_path!(), "::", $function)
    };
}
pub(crate) use test_path;

/// A device's stream with nothing to wait for, and tensors of 0, 1, 2 … on it.
pub fn numbers(device: &Device, n: usize) -> Result<tegula_runtime::Tensor<f32>> {
    device.tensor(&(0..n).map(|i| i as f32).collect::<Vec<_>>(), [n])
}
