//! Modules loaded on a device, and their kernels: PTX, compiled when it is loaded, and AMD code objects.

use crate::device::Device;
use crate::error::{Error, Result};
use crate::model::Architecture;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use tegula_vgpu::error::Error as VgpuError;
use tegula_vgpu::gcn::metadata::ArgumentKind;
use tegula_vgpu::memory::Cursor;
use tegula_vgpu::{gcn, ptx};

/// A loaded module.
pub struct Module {
    pub(crate) code: Code,
    device: Arc<Device>,
}

/// What a module was loaded from.
pub(crate) enum Code {
    Ptx(Box<ptx::Module>),
    Gcn(Box<gcn::Module>),
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Module({})", self.kernel_names().join(", "))
    }
}

/// What a kernel needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// Its name.
    pub name: String,
    /// Offset and size of each parameter that the caller gives.
    pub params: Vec<(u32, u32)>,
    /// Static shared memory in bytes.
    pub shared: u32,
    /// Local memory of a thread in bytes.
    pub local: u32,
    /// Registers of a thread. For PTX an estimate: what the kernel declares, within what an assembler can give it.
    pub registers: u32,
    /// The most threads of a block.
    pub max_threads: u32,
    /// The extent that blocks must have.
    pub required_block: Option<[u32; 3]>,
    /// The extent that clusters must have.
    pub required_cluster: Option<[u32; 3]>,
}

/// A kernel of a module.
#[derive(Debug)]
pub struct Kernel {
    pub(crate) module: Arc<Module>,
    /// What it needs.
    pub info: Info,
    /// The most dynamic shared memory that a launch may ask for.
    pub dynamic_limit: AtomicU32,
    /// Whether clusters may be larger than every device has them.
    pub large_clusters: AtomicBool,
    /// The share of shared memory that the program prefers, in percent; told back only.
    pub carveout: AtomicU32,
}

/// What an assembler would say of an error in PTX.
fn ptx_log(error: &VgpuError) -> String {
    let line = match error {
        VgpuError::Parse { location, message } => match (location.line, location.column) {
            (Some(line), Some(column)) => {
                format!("ptxas application ptx input, line {line}, column {column}; error   : {message}")
            }
            _ => format!("ptxas application ptx input; error   : {message}"),
        },
        VgpuError::Unsupported { instruction, location, reason } => format!(
            "ptxas application ptx input, line {}, column {}; error   : the virtual GPU does not support `{instruction}`: {reason}",
            location.line.unwrap_or(0),
            location.column.unwrap_or(0),
        ),
        other => format!("ptxas application ptx input; error   : {other}"),
    };
    format!("{line}\nptxas fatal   : Ptx assembly aborted due to errors\n")
}

impl Module {
    /// Loads PTX: parses it, places its variables, and decodes every kernel, so that no launch fails on its code.
    pub fn load_ptx(device: &Arc<Device>, text: &str) -> Result<Self> {
        let memory = &device.memory;
        let compile = |error: VgpuError| match error {
            VgpuError::Memory(_) => Error::OutOfMemory { asked: 0, free: memory.capacity() - memory.used() },
            // An instruction that is not there, and one that only the virtual GPU does not have: the log tells.
            error => Error::InvalidPtx(ptx_log(&error)),
        };
        let module = ptx::Module::load(text, None, memory).map_err(compile)?;
        let target = module.target().split(',').next().unwrap_or_default().trim().to_owned();
        let kernels: Vec<_> = module.kernels().map(str::to_owned).collect();
        // From here on dropping it frees the variables.
        let loaded = Self { code: Code::Ptx(Box::new(module)), device: Arc::clone(device) };
        if !device.model.runs_ptx(&target) {
            return Err(Error::NoBinary(format!(
                "the PTX is for {target}, the device is an {} ({})",
                device.model.name, device.model.target
            )));
        }
        if let Code::Ptx(module) = &loaded.code {
            for kernel in &kernels {
                module.prepare(kernel).map_err(compile)?;
            }
        }
        Ok(loaded)
    }

    /// Loads an AMD code object.
    pub fn load_code_object(device: &Arc<Device>, bytes: &[u8]) -> Result<Self> {
        let module = gcn::Module::load(bytes).map_err(|error| Error::InvalidImage(error.to_string()))?;
        if device.model.architecture != Architecture::Amd(module.arch()) {
            return Err(Error::NoBinary(format!(
                "the code object is for {}, the device is an {} ({})",
                module.arch(),
                device.model.name,
                device.model.target
            )));
        }
        for kernel in module.kernels() {
            if let Some(error) = kernel.unsupported().first() {
                return Err(Error::Unsupported(format!("`{}`: {error}", kernel.name())));
            }
        }
        Ok(Self { code: Code::Gcn(Box::new(module)), device: Arc::clone(device) })
    }

    /// The device.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// The kernels' names.
    pub fn kernel_names(&self) -> Vec<String> {
        match &self.code {
            Code::Ptx(module) => module.kernels().map(str::to_owned).collect(),
            Code::Gcn(module) => module.kernels().map(|kernel| kernel.name().to_owned()).collect(),
        }
    }

    /// The version of the PTX, as ten times major and minor.
    pub fn ptx_version(&self) -> u32 {
        match &self.code {
            Code::Ptx(module) => module.version().0 * 10 + module.version().1,
            Code::Gcn(_) => 0,
        }
    }

    /// A kernel by name.
    pub fn kernel(self: &Arc<Self>, name: &str) -> Result<Kernel> {
        let names = self.kernel_names();
        if !names.iter().any(|own| own == name) {
            return Err(Error::NotFound(format!("no kernel `{name}`; the module has {}", names.join(", "))));
        }
        let info = self.info(name)?;
        let model = self.device.model;
        let limit = model.shared_per_block.saturating_sub(info.shared);
        Ok(Kernel {
            module: Arc::clone(self),
            info,
            dynamic_limit: AtomicU32::new(limit),
            large_clusters: AtomicBool::new(false),
            carveout: AtomicU32::new(u32::MAX),
        })
    }

    fn info(&self, name: &str) -> Result<Info> {
        match &self.code {
            Code::Ptx(module) => {
                let info = module.prepare(name).map_err(|error| Error::InvalidPtx(ptx_log(&error)))?;
                let bound = |extent: [u32; 3]| extent.iter().product();
                let max_threads: u32 = info.required_block.or(info.max_block).map_or(1024, bound);
                // An assembler spills before a block of the largest size would not fit.
                let most = (65536 / max_threads.clamp(1, 1024)).min(255);
                let registers = info.registers.clamp(16, info.max_registers.unwrap_or(most).clamp(16, 255));
                Ok(Info {
                    name: info.name,
                    params: info.params.iter().map(|param| (param.offset, param.size)).collect(),
                    shared: info.shared,
                    local: info.local,
                    registers,
                    max_threads: max_threads.min(1024),
                    required_block: info.required_block,
                    required_cluster: info.required_cluster,
                })
            }
            Code::Gcn(module) => {
                let kernel = module.kernel(name).map_err(|error| Error::NotFound(error.to_string()))?;
                let info = kernel.info();
                let explicit = info.args.iter().filter(|arg| arg.kind == ArgumentKind::Explicit);
                Ok(Info {
                    name: info.name.clone(),
                    params: explicit.map(|arg| (arg.offset, arg.size)).collect(),
                    shared: info.lds_bytes.max(kernel.descriptor().group_segment_bytes),
                    local: info.scratch_bytes,
                    registers: info.vgprs,
                    max_threads: if info.max_workgroup == 0 { 1024 } else { info.max_workgroup.min(1024) },
                    required_block: None,
                    required_cluster: None,
                })
            }
        }
    }

    /// Address and size of a global variable.
    pub fn global(&self, name: &str) -> Result<(u64, u64)> {
        let missing = || Error::NotFound(format!("no global variable `{name}`"));
        match &self.code {
            Code::Ptx(module) => {
                let address = module.variable(name).ok_or_else(missing)?;
                let snapshot = self.device.memory.snapshot();
                let (index, _) = snapshot.locate(&mut Cursor::default(), address, 0).map_err(|_| missing())?;
                Ok((address, snapshot.allocation(index).size()))
            }
            Code::Gcn(module) => module.global(name, &self.device.memory).map_err(|_| missing()),
        }
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // The variables were allocated by loading, and nobody else frees them.
        let _ = match &self.code {
            Code::Ptx(module) => module.unload(&self.device.memory),
            Code::Gcn(module) => module.unload(&self.device.memory),
        };
    }
}

impl Kernel {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.info.name
    }

    /// The module that it is of.
    pub fn module(&self) -> &Arc<Module> {
        &self.module
    }

    /// Sets the most dynamic shared memory that a launch may ask for.
    pub fn set_dynamic_limit(&self, bytes: u32) -> Result<()> {
        let most = self.module.device.model.shared_per_block_optin;
        if u64::from(bytes) + u64::from(self.info.shared) > u64::from(most) {
            let own = self.info.shared;
            return Err(Error::value(format!(
                "{bytes} bytes of dynamic shared memory on top of {own}; there are {most}"
            )));
        }
        self.dynamic_limit.store(bytes, Relaxed);
        Ok(())
    }

    /// The blocks that fill the device, and the block size that does so best. `shared` tells the dynamic shared memory for a block size;
    /// `limit` bounds the size unless it is 0.
    pub fn best_block(&self, shared: impl Fn(u32) -> usize, limit: u32) -> (u32, u32) {
        let model = self.module.device.model;
        let mut threads = if limit > 0 { self.info.max_threads.min(limit) } else { self.info.max_threads };
        let mut best = (0, 0, 0);
        while threads > 0 {
            let blocks = self.resident_blocks(threads, u32::try_from(shared(threads)).unwrap_or(u32::MAX));
            if blocks * threads > best.0 {
                best = (blocks * threads, blocks, threads);
            }
            // Whole warps below the limit.
            threads = (threads - 1) / model.warp * model.warp;
        }
        (best.1 * model.multiprocessors, best.2)
    }

    /// How many blocks a multiprocessor holds at a time.
    pub fn resident_blocks(&self, threads: u32, dynamic_shared: u32) -> u32 {
        let model = self.module.device.model;
        if threads == 0 || threads > self.info.max_threads {
            return 0;
        }
        let warps = threads.div_ceil(model.warp);
        let by_threads = model.threads_per_multiprocessor / (warps * model.warp);
        // Registers are given out to warps by 256 (NVIDIA) or to lanes by 8 (AMD): both are multiples of 8 a thread.
        let registers = self.info.registers.max(1).next_multiple_of(8) * model.warp * warps;
        let by_registers = model.registers_per_multiprocessor * registers_scale(model) / registers;
        // NVIDIA's driver keeps 1 KiB of each block's shared memory for itself.
        let reserved = if model.is_nvidia() { 1024 } else { 0 };
        let shared = self.info.shared.saturating_add(dynamic_shared);
        let by_shared = match shared {
            0 => u32::MAX,
            shared if shared > model.shared_per_block_optin => 0,
            shared => model.shared_per_multiprocessor / (shared + reserved).next_multiple_of(128),
        };
        by_threads.min(by_registers).min(by_shared).min(model.blocks_per_multiprocessor)
    }
}

/// The register files of AMD's units are counted in lanes of 64, and CDNA's hold accumulation registers as well.
fn registers_scale(model: &crate::model::Model) -> u32 {
    if model.is_nvidia() { 1 } else { 2 }
}
