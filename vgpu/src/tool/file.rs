//! A file of code of either kind: PTX text or an AMD code object.

use crate::error::{Error, Result};
use crate::launch::{Launch, Outcome};
use crate::memory::GlobalMemory;
use crate::trace::Tracer;
use crate::{gcn, ptx};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// A loaded file of code.
pub enum CodeFile {
    /// PTX text.
    Ptx(Box<ptx::Module>),
    /// An AMD code object.
    Gcn(Box<gcn::Module>),
}

/// What is known of a kernel.
#[derive(Clone, Debug, Serialize)]
pub struct EntryInfo {
    /// Its name.
    pub name: String,
    /// Parameters: name, offset and size in bytes.
    pub params: Vec<(String, u32, u32)>,
    /// Registers, as the file tells them.
    pub registers: String,
    /// Shared memory (LDS) in bytes, without the dynamic part.
    pub shared: u32,
    /// Local memory (scratch) of a thread in bytes.
    pub local: u32,
    /// Instructions used, how often, and whether the machine executes them.
    pub instructions: Vec<(String, u32, bool)>,
    /// The families that they belong to, how many instructions of each there are, and whether all are executed.
    pub families: Vec<(String, u32, bool)>,
    /// What is not supported, with its place.
    pub unsupported: Vec<String>,
}

impl CodeFile {
    /// Loads a file by what is in it.
    pub fn load(path: &Path, memory: &GlobalMemory) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|e| Error::BadLaunch(format!("{}: {e}", path.display())))?;
        if bytes.starts_with(b"\x7FELF") {
            return Ok(Self::Gcn(Box::new(gcn::Module::load(&bytes)?)));
        }
        let text = String::from_utf8(bytes)
            .map_err(|_| Error::BadLaunch(format!("{} is neither PTX nor a code object", path.display())))?;
        let file = path.display().to_string();
        Ok(Self::Ptx(Box::new(ptx::Module::load(&text, Some(&file), memory)?)))
    }

    /// The target it was compiled for.
    pub fn target(&self) -> String {
        match self {
            Self::Ptx(module) => module.target().to_owned(),
            Self::Gcn(module) => module.arch().name().to_owned(),
        }
    }

    /// Whether it can run as a target: of the same family, and for PTX one at least as new.
    pub fn check_target(&self, target: &str) -> Result<()> {
        let own = self.target();
        let fits = match self {
            Self::Ptx(_) => {
                let number =
                    |t: &str| t.trim_start_matches("sm_").trim_end_matches(char::is_alphabetic).parse::<u32>().ok();
                match (number(target), number(&own)) {
                    (Some(wanted), Some(own)) => target.starts_with("sm_") && wanted >= own,
                    _ => false,
                }
            }
            Self::Gcn(_) => target.split(':').next() == Some(own.as_str()),
        };
        if fits { Ok(()) } else { Err(Error::BadLaunch(format!("the file is for {own}, not for {target}"))) }
    }

    /// Runs a kernel as a target. When it fails, the outcome tells what was found and printed before.
    pub fn launch(
        &self,
        memory: &GlobalMemory,
        launch: &Launch,
        target: Option<&str>,
        trace: Option<&Tracer<'_>>,
    ) -> (Result<()>, Outcome) {
        match self {
            Self::Ptx(module) => {
                let model = ptx::Model::for_target(target.unwrap_or(module.target()));
                module.launch_on(memory, launch, &model, trace)
            }
            Self::Gcn(module) => module.launch_on(launch, memory, trace),
        }
    }

    /// What is known of its kernels.
    pub fn info(&self) -> Result<Vec<EntryInfo>> {
        match self {
            Self::Ptx(module) => {
                let names: Vec<String> = module.kernels().map(str::to_owned).collect();
                names.iter().map(|name| ptx_info(module, name)).collect()
            }
            Self::Gcn(module) => Ok(module.kernels().map(gcn_info).collect()),
        }
    }
}

/// Instructions summed up by family.
fn families(instructions: &[(String, u32, bool)], family: impl Fn(&str) -> String) -> Vec<(String, u32, bool)> {
    let mut all: BTreeMap<String, (u32, bool)> = BTreeMap::new();
    for (name, count, supported) in instructions {
        let entry = all.entry(family(name)).or_insert((0, true));
        entry.0 += count;
        entry.1 &= supported;
    }
    all.into_iter().map(|(name, (count, supported))| (name, count, supported)).collect()
}

fn ptx_info(module: &ptx::Module, name: &str) -> Result<EntryInfo> {
    let info = module.survey(name)?;
    let limit = info.max_registers.map_or(String::new(), |limit| format!(", at most {limit} (.maxnreg)"));
    Ok(EntryInfo {
        name: info.name.clone(),
        params: info.params.iter().map(|p| (p.name.clone(), p.offset, p.size)).collect(),
        registers: format!("{} virtual{limit}", info.registers),
        shared: info.shared,
        local: info.local,
        families: families(&info.instructions, |name| name.split('.').next().unwrap_or(name).to_owned()),
        instructions: info.instructions.clone(),
        unsupported: info.unsupported.iter().map(Error::to_string).collect(),
    })
}

fn gcn_info(kernel: gcn::Kernel<'_>) -> EntryInfo {
    let info = kernel.info();
    let descriptor = kernel.descriptor();
    let instructions: Vec<_> =
        kernel.mnemonics().into_iter().map(|(name, count, ok)| (name.to_owned(), count as u32, ok)).collect();
    let name = |name: &Option<String>, kind: &str| name.clone().unwrap_or_else(|| kind.to_owned());
    EntryInfo {
        name: info.name.clone(),
        params: info.args.iter().map(|arg| (name(&arg.name, &arg.value_kind), arg.offset, arg.size)).collect(),
        registers: format!(
            "{} SGPRs, {} VGPRs ({} of them AGPRs); waves of {}",
            info.sgprs,
            info.vgprs,
            info.agprs,
            if descriptor.wave32 { 32 } else { 64 }
        ),
        shared: info.lds_bytes.max(descriptor.group_segment_bytes),
        local: info.scratch_bytes.max(descriptor.private_segment_bytes),
        families: families(&instructions, |name| gcn::isa::family(name).to_owned()),
        instructions,
        unsupported: kernel.unsupported().iter().map(Error::to_string).collect(),
    }
}
