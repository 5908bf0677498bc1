//! Kernels compiled for a real GPU and run on a virtual one: the PTX text or the machine code itself, with a sanitizer.

use tegula_artifact::{Artifact, Entry, Format};
use tegula_codegen::gpu;
use tegula_codegen::gpu::Component;
use tegula_codegen::target::{Architecture, Family};
use tegula_ir::Function;
use tegula_ir::diag::Diagnostic;
use tegula_ir::exec::{ExecError, Executor, HostArg, check_args};
use tegula_ir::numeric::eval;
use tegula_ir::ops::OpKind;
use tegula_vgpu::launch::{Argument, Launch, Outcome};
use tegula_vgpu::memory::{Fill, GlobalMemory};
use tegula_vgpu::{gcn, ptx};

use crate::backend::CodeTarget;
use crate::backend::executor::CodeExecutor;
use crate::compiler::gpu_artifact;
use crate::error::Error;

/// A virtual GPU as an executor.
#[derive(Clone, Debug)]
pub struct VirtualGpu {
    architecture: &'static Architecture,
    sanitize: bool,
}

impl VirtualGpu {
    /// The virtual GPU of this architecture, such as `sm_90a` or `gfx942`, with the sanitizer on; `None` where there is no
    /// machine for its code.
    pub fn new(architecture: &str) -> Option<Self> {
        let architecture = Architecture::by_name(architecture).ok()?;
        let has_machine = match architecture.family {
            Family::Nvidia => true,
            Family::Amd => gcn::Arch::from_name(architecture.name).is_some(),
        };
        has_machine.then_some(Self { architecture, sanitize: true })
    }

    /// Turns the sanitizer off, for speed.
    #[must_use]
    pub fn without_sanitizer(mut self) -> Self {
        self.sanitize = false;
        self
    }

    /// The architecture.
    pub fn architecture(&self) -> &'static Architecture {
        self.architecture
    }
}

impl CodeExecutor for VirtualGpu {
    fn code_target(&self) -> CodeTarget {
        CodeTarget::gpu(self.architecture)
    }

    fn compile(&self, function: &Function) -> crate::error::Result<Artifact> {
        gpu_artifact(function, self.architecture)
    }

    fn run_code(
        &self,
        function: &Function,
        artifact: &Artifact,
        grid: [u32; 3],
        args: &mut [HostArg],
    ) -> Result<String, ExecError> {
        check_args(function, args)?;
        let Entry::Gpu(info) = &artifact.entry else {
            return Err(ExecError::Compile("the code is not for a GPU".into()));
        };
        let memory = GlobalMemory::default();
        let fault = |e: tegula_vgpu::error::Error| {
            ExecError::Kernel(Diagnostic::error(e.to_string()).at(function.locs.get(function.loc)))
        };

        // Every tensor is an allocation of its own, so that the sanitizer tells them apart.
        let mut bases = Vec::with_capacity(args.len());
        for (arg, param) in args.iter().zip(&function.params) {
            bases.push(match arg {
                HostArg::Tensor(t) | HostArg::Ptr(t) => {
                    // Real allocations are of whole words as well: atomics on 16 bits work on the word around them.
                    let size = (t.data.len() as u64).next_multiple_of(4).max(4);
                    let address = memory.allocate(&param.name, size, Fill::Zero).map_err(fault)?;
                    copy_in(&memory, address, &t.data).map_err(fault)?;
                    address
                }
                HostArg::Scalar(_) => 0,
            });
        }
        let mut launch =
            Launch::new(&info.name).grid(grid).block([info.threads, 1, 1]).dynamic_shared(info.dynamic_shared);
        if !self.sanitize {
            launch = launch.fast();
        }
        for param in &info.params {
            let index = param.param as usize;
            launch = launch.arg(argument(function, &args[index], bases[index], index, param));
        }
        let (result, outcome) = if grid.contains(&0) {
            (Ok(()), Outcome::default())
        } else {
            match artifact.format {
                Format::CodeObject => {
                    let module = gcn::Module::load(&artifact.code).map_err(fault)?;
                    module.launch_on(&launch, &memory, None)
                }
                _ => {
                    let text = String::from_utf8_lossy(&artifact.code);
                    let module = ptx::Module::load(&text, None, &memory).map_err(fault)?;
                    module.launch_on(&memory, &launch, &ptx::Model::for_target(module.target()), None)
                }
            }
        };
        if let Err(error) = result {
            return Err(failed_assertion(function, &error, &outcome).unwrap_or_else(|| fault(error)));
        }
        if let Some(finding) = outcome.findings.first() {
            return Err(ExecError::Kernel(Diagnostic::error(finding.to_string()).at(function.locs.get(function.loc))));
        }
        for (arg, base) in args.iter_mut().zip(bases) {
            if let HostArg::Tensor(t) | HostArg::Ptr(t) = arg {
                copy_out(&memory, base, &mut t.data).map_err(fault)?;
            }
        }
        Ok(by_program(&outcome.printed))
    }
}

impl Executor for VirtualGpu {
    fn name(&self) -> String {
        format!("vgpu:{}", self.architecture.name)
    }

    fn run(&self, function: &Function, grid: [u32; 3], args: &mut [HostArg]) -> Result<String, ExecError> {
        let artifact = self.compile(function).map_err(|e| match e {
            Error::Compile { message, .. } => ExecError::Compile(message),
            e => ExecError::Compile(e.to_string()),
        })?;
        self.run_code(function, &artifact, grid, args)
    }
}

/// The unit in which tensors are copied.
const CHUNK: usize = 64 << 10;

/// Writes data to memory that holds zeros. What is zero already is not written, so that the pages of a huge tensor that
/// nobody touches take no room.
fn copy_in(memory: &GlobalMemory, address: u64, data: &[u8]) -> Result<(), tegula_vgpu::error::Error> {
    for (i, chunk) in data.chunks(CHUNK).enumerate() {
        if chunk != &[0; CHUNK][..chunk.len()] {
            memory.write(address + (i * CHUNK) as u64, chunk)?;
        }
    }
    Ok(())
}

/// Reads memory back into data, again without touching what is the same.
fn copy_out(memory: &GlobalMemory, address: u64, data: &mut [u8]) -> Result<(), tegula_vgpu::error::Error> {
    let mut read = [0; CHUNK];
    for (i, chunk) in data.chunks_mut(CHUNK).enumerate() {
        let read = &mut read[..chunk.len()];
        memory.read(address + (i * CHUNK) as u64, read)?;
        if *chunk != *read {
            chunk.copy_from_slice(read);
        }
    }
    Ok(())
}

/// The error of an assertion that failed, if that is why the kernel stopped.
fn failed_assertion(function: &Function, error: &tegula_vgpu::error::Error, outcome: &Outcome) -> Option<ExecError> {
    let tegula_vgpu::error::Error::Trap { program: [x, y, z], .. } = error else { return None };
    let op = gpu::failed_assertion(function, &outcome.printed)?;
    let OpKind::Assert { message, .. } = function.kind(op) else { return None };
    let at = function.locs.get(function.op(op).loc);
    let diagnostic = Diagnostic::error(format!("assertion failed: {message}")).at(at);
    Some(ExecError::Kernel(diagnostic.note(format!("in program ({x}, {y}, {z})"))))
}

/// Printed text with the lines of programs in the order of their numbers, as programs run in any order.
fn by_program(printed: &str) -> String {
    let mut lines: Vec<([u32; 3], String)> = Vec::new();
    for line in printed.split_inclusive('\n') {
        match (program_of(line), lines.last_mut()) {
            (Some(program), _) => lines.push((program, line.to_owned())),
            // A message may have several lines.
            (None, Some((_, text))) => text.push_str(line),
            (None, None) => lines.push(([0; 3], line.to_owned())),
        }
    }
    lines.sort_by_key(|&([x, y, z], _)| [z, y, x]);
    lines.into_iter().map(|(_, text)| text).collect()
}

/// The program that printed a line: `program (x, y, z): ...`.
fn program_of(line: &str) -> Option<[u32; 3]> {
    let (numbers, _) = line.strip_prefix("program (")?.split_once("): ")?;
    let numbers: Vec<u32> = numbers.split(", ").map(str::parse).collect::<Result<_, _>>().ok()?;
    numbers.try_into().ok()
}

/// One argument of the launch.
fn argument(function: &Function, arg: &HostArg, base: u64, index: usize, param: &gpu::KernelParam) -> Argument {
    match (arg, param.component) {
        (HostArg::Tensor(t) | HostArg::Ptr(t), Component::Base | Component::Value) => {
            let bytes = t.elem.memory_bytes().expect("a tensor's elements are in memory") as u64;
            Argument::pointer(base + t.offset as u64 * bytes)
        }
        (HostArg::Tensor(t) | HostArg::Ptr(t), Component::Extent(axis)) => Argument::i64(t.extents[usize::from(axis)]),
        (HostArg::Tensor(t) | HostArg::Ptr(t), Component::Stride(axis)) => Argument::i64(t.strides[usize::from(axis)]),
        (HostArg::Scalar(value), _) => {
            let elem = function.params[index].kind.ty().elem_scalar().expect("a scalar parameter is a number");
            let bits = eval::to_bits(elem, *value).to_le_bytes();
            Argument::bytes(&bits[..param.size as usize])
        }
    }
}
