//! The devices of this machine, by name.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::backend::Backend;
use crate::backend::cpu::CpuBackend;
use crate::backend::executor::ExecutorBackend;
use crate::device::Device;
use crate::error::Result;
use crate::executors;

/// Opens a device by name. The same name gives the same device, with its compiled kernels.
pub fn open(name: &str) -> Result<Device> {
    static OPEN: OnceLock<Mutex<HashMap<String, Device>>> = OnceLock::new();
    let mut devices = OPEN.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(device) = devices.get(name) {
        return Ok(device.clone());
    }
    let backend: Box<dyn Backend> = match name {
        "cpu" => Box::new(CpuBackend::new(executors::cpu_threads())),
        // The interpreter and the virtual GPUs; any other name is an error that lists them all.
        _ => Box::new(ExecutorBackend::new(name, description(name), executors::by_name(name)?)),
    };
    let device = Device::new(backend);
    devices.insert(name.to_owned(), device.clone());
    Ok(device)
}

fn description(name: &str) -> &'static str {
    if name.starts_with("vgpu:") { "a virtual GPU, with the sanitizer on" } else { "the reference interpreter" }
}

/// The fastest device.
pub fn best() -> Result<Device> {
    open("cpu")
}

/// Every device of this machine, fastest first. Virtual GPUs are not among them: there is one for each architecture.
pub fn all() -> Vec<Device> {
    ["cpu", "interp"].into_iter().filter_map(|name| open(name).ok()).collect()
}
