//! Compiling for a GPU that is not there: what is compiled is kept, to be carried to where it is.
//!
//! A program that launches kernels is run on the device of an [`Offline`] up to its warm-ups: tensors can be made, kernels
//! are compiled for the classes of arguments that they would be launched with, nothing is launched. On the machine with the
//! GPU, [`crate::embedded::register`] makes the archive known, and the program needs no compiler.

use std::sync::{Arc, Mutex, PoisonError};

use tegula_artifact::Artifact;
use tegula_artifact::archive::Archived;
use tegula_artifact::promise::{family, promises};
use tegula_codegen::target::Architecture;
use tegula_ir::Function;

use crate::backend::host_device::{HostDevice, host_device};
use crate::backend::{Arg, Backend, CodeTarget, Executable, LaunchConfig, Queue};
use crate::compiler::{Target, gpu_artifact};
use crate::device::Device;
use crate::error::{Error, Result};

type Kernels = Arc<Mutex<Vec<Archived>>>;

/// A device that only compiles, and what was compiled for it.
pub struct Offline {
    device: Device,
    kernels: Kernels,
}

impl Offline {
    /// A device of this architecture, such as `sm_90a` or `gfx942`.
    ///
    /// # Errors
    /// [`Error::UnknownTarget`] with the nearest name.
    pub fn new(architecture: &str) -> Result<Self> {
        let Target::Gpu(architecture) = Target::by_name(architecture)? else {
            let help = "code for the CPU is embedded by a build script".into();
            return Err(Error::UnknownTarget { name: architecture.into(), help });
        };
        let kernels = Kernels::default();
        let backend = OfflineBackend {
            host: HostDevice::new(&format!("offline:{}", architecture.name)),
            architecture,
            kernels: kernels.clone(),
        };
        Ok(Self { device: Device::new(Box::new(backend)), kernels })
    }

    /// The device. Launches on it are errors.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// What was compiled so far, each kernel once, in an order that does not depend on threads.
    pub fn kernels(&self) -> Vec<Archived> {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner).clone();
        kernels.sort_by_cached_key(|k| (k.family.clone(), format!("{:?}", k.promises)));
        kernels.dedup();
        kernels
    }
}

struct OfflineBackend {
    host: HostDevice,
    architecture: &'static Architecture,
    kernels: Kernels,
}

impl Backend for OfflineBackend {
    host_device!();

    fn description(&self) -> String {
        format!("compiles for {}, without a device", self.architecture.description)
    }

    fn target(&self) -> &str {
        self.architecture.name
    }

    fn code_target(&self) -> Option<CodeTarget> {
        Some(CodeTarget::gpu(self.architecture))
    }

    fn compile(&self, function: &Function) -> Result<Artifact> {
        gpu_artifact(function, self.architecture)
    }

    fn load(&self, function: &Function, artifact: Option<&Artifact>) -> Result<Arc<dyn Executable>> {
        let artifact = artifact.expect("there is a code target").clone();
        let kernel = Archived { family: family(function), promises: promises(function), level: None, artifact };
        self.kernels.lock().unwrap_or_else(PoisonError::into_inner).push(kernel);
        Ok(Arc::new(NotHere { device: self.host.name().to_owned(), kernel: function.name.clone() }))
    }
}

/// A kernel that was compiled for elsewhere.
struct NotHere {
    device: String,
    kernel: String,
}

impl Executable for NotHere {
    fn launch(&self, _: &dyn Queue, _: &LaunchConfig, _: &[Arg<'_>]) -> Result<()> {
        let limit = format!("`{}` only compiles", self.device);
        Err(Error::InvalidLaunch { kernel: self.kernel.clone(), limit })
    }
}
