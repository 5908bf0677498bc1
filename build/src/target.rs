//! Targets by name, and compiling for one.

use tegula_artifact::archive::Archived;
use tegula_artifact::cpu::CpuLevel;
use tegula_artifact::promise::{family, promises};
use tegula_artifact::{Artifact, Entry, Format};
use tegula_codegen::gpu::Options;
use tegula_codegen::target::{Architecture, Family, MachineSpec};
use tegula_codegen_cpu::{CpuCompiler, CpuOptions};
use tegula_ir::Function;

use crate::error::Error;

/// What code is compiled for.
#[derive(Clone, Debug)]
pub enum Target {
    /// Processors of a level, for a target triple.
    Cpu {
        /// What the code counts on.
        level: CpuLevel,
        /// The triple.
        triple: String,
    },
    /// A GPU architecture.
    Gpu(&'static Architecture),
}

impl Target {
    /// The target of this name: a GPU architecture, `cpu` for what most processors of `triple`'s architecture have
    /// (x86-64-v3), or `cpu:` and a level such as `x86-64-v4`.
    ///
    /// # Errors
    /// If there is none.
    pub fn by_name(name: &str, triple: &str) -> Result<Self, Error> {
        let unknown = |help: String| Error::UnknownTarget { name: name.into(), help };
        if name == "cpu" || name.starts_with("cpu:") {
            let architecture = triple.split('-').next().unwrap_or_default();
            let levels = || {
                let here = CpuLevel::ALL.into_iter().filter(|l| l.architecture() == architecture);
                let names: Vec<String> = here.map(|l| format!("cpu:{}", l.name())).collect();
                unknown(format!("for {architecture} there are: {}", names.join(", ")))
            };
            let level = match name.strip_prefix("cpu:") {
                Some(level) => CpuLevel::by_name(level).filter(|l| l.architecture() == architecture),
                None => CpuLevel::usual(architecture),
            };
            return Ok(Self::Cpu { level: level.ok_or_else(levels)?, triple: triple.into() });
        }
        let gpu = Architecture::by_name(name).map_err(|e| {
            unknown(match e.nearest {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    let names: Vec<_> = Architecture::all().map(|a| a.name).collect();
                    format!("there are: cpu, {}", names.join(", "))
                }
            })
        })?;
        Ok(Self::Gpu(gpu))
    }

    /// The target's name.
    pub fn name(&self) -> String {
        match self {
            Self::Cpu { level, .. } => format!("cpu:{}", level.name()),
            Self::Gpu(a) => a.name.into(),
        }
    }

    /// Compiles a function. Code for the CPU is an object whose symbol is unique to this kernel, target and what is
    /// promised of the arguments.
    ///
    /// # Errors
    /// If the kernel does not compile.
    pub fn compile(&self, function: &Function) -> Result<Archived, Error> {
        let failed = |message: String| Error::Compile { kernel: function.name.clone(), target: self.name(), message };
        let kernel = function.name.clone();
        let (family, promises) = (family(function), promises(function));
        Ok(match self {
            Self::Cpu { level, triple } => {
                let parts = format!("{family} {promises:?} {}", level.name());
                let hash = blake3::hash(parts.as_bytes()).to_hex();
                let mut renamed = function.clone();
                renamed.name = format!("tegula_{}_{}", function.name, &hash[..16]);
                let machine = MachineSpec {
                    triple: triple.clone(),
                    cpu: level.llvm_cpu().into(),
                    features: level.llvm_features().into(),
                    position_independent: true,
                };
                let options = CpuOptions { machine: Some(machine), ..CpuOptions::default() };
                let compiled = CpuCompiler::new(options).object(&renamed).map_err(|e| failed(e.to_string()))?;
                let entry = Entry::Cpu(compiled.info);
                let artifact =
                    Artifact { kernel, target: "cpu".into(), format: Format::Object, entry, code: compiled.object };
                Archived { family, promises, level: Some(*level), artifact }
            }
            Self::Gpu(a) => {
                let options = Options::default();
                let (format, code, info) = match a.family {
                    Family::Nvidia => {
                        let c = tegula_codegen_nvptx::compile(function, a.name, &options)
                            .map_err(|e| failed(e.to_string()))?;
                        (Format::Ptx, c.ptx.into_bytes(), c.info)
                    }
                    Family::Amd => {
                        let c = tegula_codegen_amdgpu::compile(function, a.name, &options)
                            .map_err(|e| failed(e.to_string()))?;
                        (Format::CodeObject, c.code_object, c.info)
                    }
                };
                let artifact = Artifact { kernel, target: a.name.into(), format, entry: Entry::Gpu(info), code };
                Archived { family, promises, level: None, artifact }
            }
        })
    }
}
