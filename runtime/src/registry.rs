//! The devices of this machine, by name.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::backend::Backend;
use crate::backend::cpu::{self, CpuBackend};
use crate::backend::executor::ExecutorBackend;
use crate::backend::gpu;
use crate::device::Device;
use crate::error::{Error, Result};
#[cfg(feature = "compiler")]
use crate::virtual_gpu::VirtualGpu;

/// Opens a device by name. The same name gives the same device, with its compiled kernels.
pub fn open(name: &str) -> Result<Device> {
    static OPEN: OnceLock<Mutex<HashMap<String, Device>>> = OnceLock::new();
    let mut devices = OPEN.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(device) = devices.get(name) {
        return Ok(device.clone());
    }
    let backend: Box<dyn Backend> = match (name, name.split_once(':')) {
        ("cpu", _) => Box::new(CpuBackend::new(cpu::threads())),
        (kind @ ("cuda" | "hip"), None) => return Err(no_number(name, kind)),
        (_, Some((kind @ ("cuda" | "hip"), number))) => {
            // One form only: a device has one name.
            let ordinal = number.parse().ok().filter(|ordinal: &u32| ordinal.to_string() == number);
            gpu::open(kind, ordinal.ok_or_else(|| no_number(name, kind))?)?
        }
        // The interpreter and the virtual GPUs; any other name is an error that lists them all.
        _ => Box::new(in_process(name)?),
    };
    let device = Device::new(backend);
    devices.insert(name.to_owned(), device.clone());
    Ok(device)
}

/// A name that says what kind of GPU, and not which.
fn no_number(name: &str, kind: &str) -> Error {
    let help = format!("a device of this kind is `{kind}:` and its number, such as `{kind}:0`");
    Error::UnknownDevice { name: name.into(), help }
}

/// The interpreter or a virtual GPU, in this process.
#[cfg(feature = "compiler")]
fn in_process(name: &str) -> Result<ExecutorBackend> {
    let gpu = name.strip_prefix("vgpu:").and_then(VirtualGpu::new);
    Ok(match gpu {
        Some(gpu) => ExecutorBackend::with_code(name, "a virtual GPU, with the sanitizer on", Arc::new(gpu)),
        None => ExecutorBackend::new(name, INTERPRETER, crate::executors::by_name(name)?),
    })
}

/// Without the compiler, of all executors only the interpreter is there.
#[cfg(not(feature = "compiler"))]
fn in_process(name: &str) -> Result<ExecutorBackend> {
    if name == "interp" {
        return Ok(ExecutorBackend::new(name, INTERPRETER, Arc::new(tegula_ir::interp::Interpreter::default())));
    }
    let help = "there are: cpu, interp, cuda:N, hip:N; virtual GPUs need the feature `compiler`".into();
    Err(Error::UnknownDevice { name: name.into(), help })
}

const INTERPRETER: &str = "the reference interpreter";

/// The fastest device: the first GPU that can be used, or the CPU.
pub fn best() -> Result<Device> {
    let gpu = gpu_names().find_map(|name| open(&name).ok());
    gpu.map_or_else(|| open("cpu"), Ok)
}

/// Every device of this machine, fastest first. Virtual GPUs are not among them: there is one for each architecture.
pub fn all() -> Vec<Device> {
    gpu_names().chain(["cpu".into(), "interp".into()]).filter_map(|name| open(&name).ok()).collect()
}

fn gpu_names() -> impl Iterator<Item = String> {
    ["cuda", "hip"].into_iter().flat_map(gpu::names)
}
