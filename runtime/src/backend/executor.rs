//! Devices over an [`Executor`]: the interpreter, and the virtual GPUs. Each launch copies the blocks it uses into
//! host tensors and back, which is simple, and fast enough for what is not fast itself.

use std::sync::Arc;

use tegula_artifact::Artifact;
use tegula_ir::Function;
use tegula_ir::exec::{ExecError, Executor, HostArg, HostTensor};
use tegula_ir::numeric::eval;

use super::host_device::{HostDevice, check_options, host_device};
use super::host_memory::HostMemory;
use super::host_queue::{HostQueue, OwnedArg};
use super::{Arg, Backend, CodeTarget, Executable, LaunchConfig, Memory, Queue};
use crate::error::{Error, Result};
use crate::tensor::view::View;

/// An executor that runs compiled code, which can be kept.
pub trait CodeExecutor: Executor + Send + Sync {
    /// What code is made for.
    fn code_target(&self) -> CodeTarget;

    /// Compiles a kernel.
    ///
    /// # Errors
    /// [`Error::Compile`].
    fn compile(&self, function: &Function) -> Result<Artifact>;

    /// As [`Executor::run`], of what [`CodeExecutor::compile`] gave for this function.
    ///
    /// # Errors
    /// As [`Executor::run`].
    fn run_code(
        &self,
        function: &Function,
        artifact: &Artifact,
        grid: [u32; 3],
        args: &mut [HostArg],
    ) -> std::result::Result<String, ExecError>;
}

/// What runs kernels.
enum Runner {
    Ir(Arc<dyn Executor + Send + Sync>),
    Code(Arc<dyn CodeExecutor>),
}

/// A device that runs kernels through an executor.
pub struct ExecutorBackend {
    host: HostDevice,
    description: String,
    runner: Runner,
}

impl ExecutorBackend {
    /// A device of this name that runs Tile IR.
    pub fn new(name: &str, description: &str, executor: Arc<dyn Executor + Send + Sync>) -> Self {
        Self::of(name, description, Runner::Ir(executor))
    }

    /// A device of this name that runs compiled code.
    pub fn with_code(name: &str, description: &str, executor: Arc<dyn CodeExecutor>) -> Self {
        Self::of(name, description, Runner::Code(executor))
    }

    fn of(name: &str, description: &str, runner: Runner) -> Self {
        Self { host: HostDevice::new(name), description: description.into(), runner }
    }
}

impl Backend for ExecutorBackend {
    host_device!();

    fn description(&self) -> String {
        self.description.clone()
    }

    fn target(&self) -> &str {
        self.host.name()
    }

    fn code_target(&self) -> Option<CodeTarget> {
        match &self.runner {
            Runner::Ir(_) => None,
            Runner::Code(executor) => Some(executor.code_target()),
        }
    }

    fn compile(&self, function: &Function) -> Result<Artifact> {
        match &self.runner {
            Runner::Ir(_) => unreachable!("Tile IR is not compiled: there is no code target"),
            Runner::Code(executor) => executor.compile(function),
        }
    }

    fn load(&self, function: &Function, artifact: Option<&Artifact>) -> Result<Arc<dyn Executable>> {
        let kernel = match (&self.runner, artifact) {
            (Runner::Code(executor), Some(artifact)) => Runnable::Code(executor.clone(), artifact.clone()),
            (Runner::Code(_), None) => unreachable!("there is a code target"),
            (Runner::Ir(executor), _) => Runnable::Ir(executor.clone()),
        };
        let (device, function) = (self.host.name().to_owned(), function.clone());
        Ok(Arc::new(ExecutorKernel(Arc::new(Loaded { device, function, kernel }))))
    }
}

/// A kernel, shared with the graphs that hold it.
struct ExecutorKernel(Arc<Loaded>);

struct Loaded {
    device: String,
    function: Function,
    kernel: Runnable,
}

/// What runs a kernel, with its code where it is compiled.
enum Runnable {
    Ir(Arc<dyn Executor + Send + Sync>),
    Code(Arc<dyn CodeExecutor>, Artifact),
}

impl Executable for ExecutorKernel {
    fn launch(&self, queue: &dyn Queue, config: &LaunchConfig, args: &[Arg<'_>]) -> Result<()> {
        check_options(&self.0.device, &self.0.function.name, config)?;
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
        let mut host = Vec::with_capacity(args.len());
        let mut before = Vec::with_capacity(args.len());
        for (param, arg) in self.function.params.iter().zip(args) {
            host.push(match *arg {
                Arg::Scalar(elem, bits) => HostArg::Scalar(eval::from_bits(elem, bits)),
                Arg::View(view) => HostArg::Tensor(HostTensor {
                    extents: view.extents().to_vec(),
                    strides: view.strides().to_vec(),
                    ..whole_block(view)?
                }),
                Arg::Ptr(view) => HostArg::Ptr(whole_block(view)?),
                Arg::Address(..) => {
                    let message = format!(
                        "argument `{}` is an address, which `{}` cannot follow; pass the tensor it points into",
                        param.name, self.device
                    );
                    return Err(Error::Argument { kernel: self.function.name.clone(), message });
                }
            });
        }
        before.extend(host.iter().map(|a| match a {
            HostArg::Tensor(t) | HostArg::Ptr(t) => t.data.clone(),
            HostArg::Scalar(_) => Vec::new(),
        }));
        let printed = match &self.kernel {
            Runnable::Ir(executor) => executor.run(&self.function, grid, &mut host),
            Runnable::Code(executor, artifact) => executor.run_code(&self.function, artifact, grid, &mut host),
        };
        let printed = printed.map_err(|e| self.error(e))?;
        print!("{printed}");
        // Only what changed goes back: several arguments may lie in one block.
        for ((arg, host), before) in args.iter().zip(&host).zip(&before) {
            let (Some(memory), HostArg::Tensor(t) | HostArg::Ptr(t)) = (arg.memory(), host) else { continue };
            if t.data == *before {
                continue;
            }
            let memory = HostMemory::of(&**memory);
            let mut block = vec![0; memory.len()];
            memory.read(0, &mut block)?;
            for ((now, new), old) in block.iter_mut().zip(&t.data).zip(before) {
                if new != old {
                    *now = *new;
                }
            }
            memory.write(0, &block)?;
        }
        Ok(())
    }

    fn error(&self, e: ExecError) -> Error {
        let (kernel, device) = (self.function.name.clone(), self.device.clone());
        match e {
            ExecError::BadArguments(message) => Error::Argument { kernel, message },
            ExecError::Compile(message) => Error::Compile { kernel, target: device, message },
            ExecError::Kernel(d) => Error::KernelFault { kernel, device, message: d.render() },
        }
    }
}

/// A view's whole block as a one-dimensional tensor whose element zero is the view's.
fn whole_block(view: &View) -> Result<HostTensor> {
    let memory = &**view.memory();
    let mut data = vec![0; memory.len()];
    HostMemory::of(memory).read(0, &mut data)?;
    let count = (data.len() / view.size()).saturating_sub(view.offset()) as i64;
    Ok(HostTensor { elem: view.elem(), data, offset: view.offset(), extents: vec![count], strides: vec![1] })
}
