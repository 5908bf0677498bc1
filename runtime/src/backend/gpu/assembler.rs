//! From PTX to machine code: by the driver's linker, or by `ptxas` where a CUDA toolkit is found.
//!
//! The driver's linker comes first: it is there wherever a driver is, and fits it. `ptxas` is asked where the driver has no
//! linker or refuses the text, as one does that is older than the text; and before the driver where `TEGULA_PTXAS` names it.
//! Its code counts once the driver has loaded it, since a toolkit may be newer than the driver, and the stand-ins of drivers
//! run no machine code. Whatever goes wrong with it, the driver is asked; it also takes text that nobody assembled.

use std::ffi::CStr;
use std::path::PathBuf;

use tegula_artifact::ptxas::{self, Choice};

use super::device::Gpu;
use super::kernel::GpuKernel;
use crate::error::Result;

/// What makes machine code of PTX.
#[derive(Clone, Debug, Default)]
pub(super) struct Assembler {
    ptxas: Option<Ptxas>,
}

/// A `ptxas`.
#[derive(Clone, Debug)]
struct Ptxas {
    path: PathBuf,
    identity: String,
    /// Whether the user named it.
    chosen: bool,
}

impl Assembler {
    /// The one that the environment chooses: `TEGULA_PTXAS`, else the `ptxas` of a toolkit that is installed.
    pub(super) fn from_environment() -> Self {
        let (path, chosen) = match ptxas::chosen(ptxas::VARIABLE) {
            Choice::Program(path) => (Some(path), true),
            Choice::Off => (None, true),
            Choice::None => (ptxas::installed("ptxas"), false),
        };
        let ptxas = path.and_then(|path| match ptxas::identity(&path) {
            Ok(identity) => Some(Ptxas { path, identity, chosen }),
            Err(e) => {
                tracing::warn!("{}={}: {e}; going on without ptxas", ptxas::VARIABLE, path.display());
                None
            }
        });
        Self { ptxas }
    }

    /// What tells it apart from others, beside the driver.
    pub(super) fn identity(&self) -> String {
        match &self.ptxas {
            Some(p) if p.chosen => format!("{} before it", p.identity),
            Some(p) => format!("{} behind it", p.identity),
            None => "no ptxas".into(),
        }
    }

    /// Machine code for a device from PTX that was made for `made_for`; `None` where the driver has to do it when it loads the
    /// text.
    ///
    /// # Errors
    /// [`crate::Error::Compile`] if the driver refuses the text, and there is no other way.
    pub(super) fn assemble(&self, gpu: &Gpu, kernel: &str, made_for: &str, ptx: &CStr) -> Result<Option<Vec<u8>>> {
        let by_ptxas = |chosen: bool| {
            let ptxas = self.ptxas.as_ref().filter(|p| p.chosen == chosen)?;
            ptxas.assemble(gpu, kernel, made_for, ptx)
        };
        if let Some(code) = by_ptxas(true) {
            return Ok(Some(code));
        }
        let linked = gpu.driver.assemble(ptx);
        if let Ok(Some(_)) = linked {
            return linked.map_err(|e| GpuKernel::load_error(gpu, kernel, e));
        }
        match by_ptxas(false) {
            Some(code) => Ok(Some(code)),
            None => linked.map_err(|e| GpuKernel::load_error(gpu, kernel, e)),
        }
    }
}

impl Ptxas {
    fn assemble(&self, gpu: &Gpu, kernel: &str, made_for: &str, ptx: &CStr) -> Option<Vec<u8>> {
        // Code of a kind such as sm_90a is for that kind; other PTX becomes code of the device's own architecture.
        let only_there = made_for.ends_with(|c: char| c.is_ascii_alphabetic());
        let architecture = if only_there { made_for } else { &gpu.properties.architecture };
        let made = ptxas::assemble(&self.path, &ptx.to_string_lossy(), architecture).map_err(|e| e.to_string());
        let taken = made.and_then(|made| match gpu.driver.load(&made.cubin) {
            Ok(module) => {
                // SAFETY: it was loaded just now, and is not used.
                let unloaded = unsafe { gpu.driver.unload(module) };
                unloaded.map(|()| made.cubin).map_err(|e| e.to_string())
            }
            Err(e) => Err(format!("the driver does not take its code: {e}")),
        });
        let why = match taken {
            Ok(code) => return Some(code),
            Err(why) => why,
        };
        let path = self.path.display();
        if self.chosen {
            tracing::warn!("kernel `{kernel}` is not assembled by {path}, but by the driver: {why}");
        } else {
            tracing::debug!("kernel `{kernel}` is not assembled by {path}: {why}");
        }
        None
    }
}
