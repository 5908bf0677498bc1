//! The processor of this machine as a device. A launch runs to its end before it returns.

use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;
use tegula_artifact::cpu::processor::fingerprint;
use tegula_artifact::cpu::{CpuArg, CpuInfo, CpuKernel, LaunchError};
use tegula_artifact::{Artifact, Entry};
use tegula_ir::Function;
use tegula_ir::numeric::eval;

use super::host_device::{HostDevice, check_options, host_device};
use super::host_queue::{HostQueue, OwnedArg};
use super::{Arg, Backend, CodeTarget, Executable, LaunchConfig, Queue};
use crate::embedded;
use crate::error::{Error, Result};
use crate::tensor::view::View;

/// The CPU device.
pub struct CpuBackend {
    threads: usize,
    host: HostDevice,
}

impl CpuBackend {
    /// A device that runs programs on this many threads.
    pub fn new(threads: usize) -> Self {
        Self { threads, host: HostDevice::new("cpu") }
    }
}

/// The processor's model where the system tells it, else its architecture. Tuning records go by it.
fn processor() -> String {
    let told = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = told.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    model.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned())
}

impl Backend for CpuBackend {
    host_device!();

    fn description(&self) -> String {
        format!("{}, {} threads", processor(), self.threads)
    }

    fn target(&self) -> &str {
        "cpu"
    }

    fn code_target(&self) -> Option<CodeTarget> {
        // Code for this very processor: its features decide which instructions there are.
        static HOST: OnceLock<String> = OnceLock::new();
        let details = HOST.get_or_init(|| fingerprint().unwrap_or_else(as_llvm_says));
        Some(CodeTarget { name: "cpu".into(), details: details.clone() })
    }

    #[cfg(feature = "compiler")]
    fn compile(&self, function: &Function) -> Result<Artifact> {
        let compiled = tegula_codegen_cpu::CpuCompiler::default()
            .object(function)
            .map_err(|e| compile_error(function, e.to_string()))?;
        Ok(Artifact {
            kernel: function.name.clone(),
            target: "cpu".into(),
            format: tegula_artifact::Format::Object,
            entry: Entry::Cpu(compiled.info),
            code: compiled.object,
        })
    }

    fn load(&self, function: &Function, artifact: Option<&Artifact>) -> Result<Arc<dyn Executable>> {
        let Some(Artifact { entry: Entry::Cpu(info), code, .. }) = artifact else {
            return Err(compile_error(function, "the code is not for the CPU".into()));
        };
        let kernel = match embedded::cpu_entry(&info.symbol) {
            // SAFETY: the build script's compiler made the code of this symbol from this Tile IR, together with `info`;
            // it is part of the program.
            Some(entry) if code.is_empty() => unsafe { CpuKernel::new(function, info.clone(), entry, Box::new(())) },
            _ => link(function, info, code)?,
        };
        Ok(Arc::new(CpuExecutable(Arc::new(Loaded { kernel, threads: self.threads }))))
    }
}

/// The processor where only LLVM knows it. Programs without the compiler make no code that it could matter for.
fn as_llvm_says() -> String {
    #[cfg(feature = "compiler")]
    {
        let host = tegula_codegen::session::MachineSpec::host();
        format!("{} {} {}", host.triple, host.cpu, host.features)
    }
    #[cfg(not(feature = "compiler"))]
    String::new()
}

/// Links an object into this process.
#[cfg(feature = "compiler")]
fn link(function: &Function, info: &CpuInfo, object: &[u8]) -> Result<CpuKernel> {
    tegula_codegen_cpu::load(function, info.clone(), object).map_err(|e| compile_error(function, e.to_string()))
}

#[cfg(not(feature = "compiler"))]
fn link(function: &Function, _: &CpuInfo, _: &[u8]) -> Result<CpuKernel> {
    Err(compile_error(function, "its code is not linked into this program".into()))
}

/// Threads that a machine runs at a time.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

fn compile_error(function: &Function, message: String) -> Error {
    Error::Compile { kernel: function.name.clone(), target: "cpu".into(), message }
}

/// A kernel, shared with the graphs that hold it.
struct CpuExecutable(Arc<Loaded>);

struct Loaded {
    kernel: CpuKernel,
    threads: usize,
}

impl Executable for CpuExecutable {
    fn launch(&self, queue: &dyn Queue, config: &LaunchConfig, args: &[Arg<'_>]) -> Result<()> {
        check_options("cpu", self.0.kernel.name(), config)?;
        let grid = config.grid;
        let noted = HostQueue::of(queue)?.note(|| {
            let (loaded, args) = (self.0.clone(), args.iter().map(OwnedArg::new).collect::<Vec<_>>());
            Box::new(move || loaded.run(grid, &args.iter().map(OwnedArg::borrow).collect::<Vec<_>>()))
        });
        if noted { Ok(()) } else { self.0.run(grid, args) }
    }
}

impl Loaded {
    fn run(&self, grid: [u32; 3], args: &[Arg<'_>]) -> Result<()> {
        let base = |view: &View| view.address() as usize as *mut u8;
        let raw: SmallVec<[CpuArg<'_>; 24]> = args
            .iter()
            .map(|arg| match *arg {
                Arg::View(view) => CpuArg::View { base: base(view), extents: view.extents(), strides: view.strides() },
                Arg::Ptr(view) => CpuArg::Ptr(base(view)),
                Arg::Scalar(elem, bits) => CpuArg::Scalar(eval::from_bits(elem, bits)),
                Arg::Address(_, address) => CpuArg::Ptr(address as usize as *mut u8),
            })
            .collect();
        // SAFETY: views come from tensors, whose extents and strides lie within their block; the caller holds the
        // blocks. The properties in the views' specs were read off these very arguments. Launches on one tensor from
        // several threads are a race that safe callers can have, as with any device: it gives wrong numbers, and stays
        // within the blocks. The caller of an unsafe kernel vouches for addresses.
        let printed = unsafe { self.kernel.launch(grid, &raw, self.threads) };
        print!("{}", printed.map_err(|e| self.error(e))?);
        Ok(())
    }

    fn error(&self, e: LaunchError) -> Error {
        let kernel = self.kernel.name().to_owned();
        match e {
            LaunchError::Arguments(message) => Error::Argument { kernel, message },
            LaunchError::Kernel(d) => Error::KernelFault { kernel, device: "cpu".into(), message: d.render() },
        }
    }
}
