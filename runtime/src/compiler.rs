//! From a kernel's Tile IR to code, for any target, without a device.

use tegula_artifact::{Artifact, Entry, Format};
use tegula_codegen::gpu::{Options, pass_list, prepare};
use tegula_codegen::target::{Architecture, Family};
use tegula_codegen_cpu as cpu;
use tegula_ir::Function;
use tegula_ir::pass::{PassManager, Registry};
use tegula_ir::text::{PrintOptions, nearest, print_function};

use crate::error::{Error, Result};

/// What kernels are compiled for.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// This machine's processor.
    Cpu,
    /// A GPU architecture.
    Gpu(&'static Architecture),
}

impl Target {
    /// The target of this name: `cpu`, or an architecture such as `sm_90a` or `gfx942`.
    ///
    /// # Errors
    /// [`Error::UnknownTarget`] with the nearest name.
    pub fn by_name(name: &str) -> Result<Self> {
        if name == "cpu" {
            return Ok(Self::Cpu);
        }
        match Architecture::all().find(|a| a.name == name) {
            Some(a) => Ok(Self::Gpu(a)),
            None => {
                let names = Self::names();
                let help = match nearest(name, names.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("there are: {}", names.join(", ")),
                };
                Err(Error::UnknownTarget { name: name.into(), help })
            }
        }
    }

    /// The names of all targets.
    pub fn names() -> Vec<&'static str> {
        std::iter::once("cpu").chain(Architecture::all().map(|a| a.name)).collect()
    }

    /// The target's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Gpu(a) => a.name,
        }
    }

    /// Whether this is a GPU.
    pub fn is_gpu(self) -> bool {
        matches!(self, Self::Gpu(_))
    }

    /// Whether this is an NVIDIA GPU.
    pub fn is_nvidia(self) -> bool {
        matches!(self, Self::Gpu(a) if a.family == Family::Nvidia)
    }
}

/// Machine code and what is known of it.
#[derive(Clone, Debug)]
pub struct Code {
    /// PTX, or assembly for people.
    pub assembly: String,
    /// A code object (AMD) or native object (CPU); PTX has none.
    pub object: Option<Vec<u8>>,
    /// LLVM IR after optimisation, where it was asked for.
    pub llvm: Option<String>,
    /// What a launcher must know (GPUs).
    pub info: Option<tegula_codegen::gpu::KernelInfo>,
    /// Threads per program (GPUs).
    pub threads: Option<u32>,
    /// Shared memory per program in bytes (GPUs).
    pub shared_bytes: Option<u32>,
}

/// Compiles a kernel for a GPU to what a driver takes: PTX or a code object.
///
/// # Errors
/// [`Error::Compile`].
pub fn gpu_artifact(function: &Function, architecture: &'static Architecture) -> Result<Artifact> {
    let code = Compilation::new(function.clone(), Target::Gpu(architecture)).code(false)?;
    let Some(info) = code.info else { unreachable!("code for a GPU has information on its kernel") };
    let (format, code) = match code.object {
        Some(object) => (Format::CodeObject, object),
        None => (Format::Ptx, code.assembly.into_bytes()),
    };
    let (kernel, target) = (function.name.clone(), architecture.name.into());
    Ok(Artifact { kernel, target, format, entry: Entry::Gpu(info), code })
}

/// A kernel on its way to a target. Each stage is computed from the kernel's source IR.
#[derive(Clone, Debug)]
pub struct Compilation {
    function: Function,
    target: Target,
}

impl Compilation {
    /// A kernel for a target.
    pub fn new(function: Function, target: Target) -> Self {
        Self { function, target }
    }

    /// Names and sizes of the kernel's dims.
    pub fn dims(&self) -> Vec<(String, u64)> {
        self.function.dims.clone()
    }

    /// Tile IR as the kernel's source gives it.
    pub fn tile(&self) -> String {
        print_function(&self.function, &PrintOptions::default())
    }

    /// Tile IR after the target-independent passes.
    ///
    /// # Errors
    /// If a pass refuses the kernel.
    pub fn tile_optimized(&self) -> Result<String> {
        let list = match self.target {
            Target::Cpu => cpu::pass_list(),
            // Up to the pass that only GPUs have.
            Target::Gpu(a) => {
                let list = pass_list(a);
                list.split(",assign-layouts").next().unwrap_or_default().to_owned()
            }
        };
        Ok(print_function(&self.after(&list)?, &PrintOptions::default()))
    }

    /// Tile IR with layouts.
    ///
    /// # Errors
    /// If a pass refuses the kernel, or the target is no GPU.
    pub fn tile_laid_out(&self) -> Result<String> {
        match self.target {
            Target::Cpu => Err(self.error("the CPU has no layouts".into())),
            Target::Gpu(a) => Ok(print_function(&self.laid_out(a)?, &PrintOptions::default())),
        }
    }

    /// Machine code.
    ///
    /// # Errors
    /// If the kernel does not compile for the target.
    pub fn code(&self, keep_llvm: bool) -> Result<Code> {
        match self.target {
            Target::Cpu => self.cpu_code(keep_llvm),
            Target::Gpu(a) => self.gpu_code(a, keep_llvm),
        }
    }

    fn cpu_code(&self, keep_llvm: bool) -> Result<Code> {
        let compiler = cpu::CpuCompiler::new(cpu::CpuOptions::default());
        let emit = |what| compiler.emit(&self.function, what).map_err(|e| self.error(e.to_string()));
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(Code {
            assembly: text(emit(cpu::Emit::Assembly)?),
            object: Some(emit(cpu::Emit::Object)?),
            llvm: if keep_llvm { Some(text(emit(cpu::Emit::OptimizedLlvmIr)?)) } else { None },
            info: None,
            threads: None,
            shared_bytes: None,
        })
    }

    fn gpu_code(&self, a: &'static Architecture, keep_llvm: bool) -> Result<Code> {
        let f = self.laid_out(a)?;
        let failed = |e: tegula_codegen::CodegenError| self.error(e.to_string());
        let (assembly, object, llvm, info) = match a.family {
            Family::Nvidia => {
                let options = Options { keep_llvm, ..Options::default() };
                let c = tegula_codegen_nvptx::compile(&f, a.name, &options).map_err(failed)?;
                (c.ptx, None, c.llvm.map(|l| l.optimized), c.info)
            }
            Family::Amd => {
                let options = Options { keep_llvm, keep_assembly: true, ..Options::default() };
                let c = tegula_codegen_amdgpu::compile(&f, a.name, &options).map_err(failed)?;
                (c.assembly.unwrap_or_default(), Some(c.code_object), c.llvm.map(|l| l.optimized), c.info)
            }
        };
        let shared = info.static_shared + info.dynamic_shared;
        let threads = Some(info.threads);
        Ok(Code { assembly, object, llvm, threads, shared_bytes: Some(shared), info: Some(info) })
    }

    fn laid_out(&self, a: &Architecture) -> Result<Function> {
        let mut f = self.function.clone();
        prepare(&mut f, a).map_err(|e| self.error(e.to_string()))?;
        Ok(f)
    }

    /// The function after a pass list.
    fn after(&self, list: &str) -> Result<Function> {
        let pipeline = Registry::builtin().pipeline(list).map_err(|e| self.error(e.to_string()))?;
        let mut f = self.function.clone();
        PassManager::new(pipeline).run(&mut f).map_err(|e| self.error(e.diagnostic().render()))?;
        Ok(f)
    }

    fn error(&self, message: String) -> Error {
        Error::Compile { kernel: self.function.name.clone(), target: self.target.name().into(), message }
    }
}
