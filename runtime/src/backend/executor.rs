//! Devices over an [`Executor`]: the interpreter, and the virtual GPUs. Each launch copies the blocks it uses into
//! host tensors and back, which is simple, and fast enough for what is not fast itself.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tegula_artifact::Artifact;
use tegula_ir::Function;
use tegula_ir::exec::{ExecError, Executor, HostArg, HostTensor};
use tegula_ir::numeric::eval;
use tegula_ir::types::ScalarType;

use super::host_memory::{HostMemory, InUse};
use super::host_queue::{HostEvent, HostQueue, OwnedArg};
use super::{
    Arg, Backend, EventObject, Executable, HostBlock, LaunchConfig, Location, Memory, MemoryInfo, Owner, Queue,
};
use crate::error::{Error, Result};

/// A device that runs kernels through an executor.
pub struct ExecutorBackend {
    name: String,
    description: String,
    executor: Arc<dyn Executor + Send + Sync>,
    queue: Arc<dyn Queue>,
    in_use: InUse,
}

impl ExecutorBackend {
    /// A device of this name.
    pub fn new(name: &str, description: &str, executor: Arc<dyn Executor + Send + Sync>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            executor,
            queue: Arc::new(HostQueue::default()),
            in_use: InUse::default(),
        }
    }
}

impl Backend for ExecutorBackend {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> String {
        self.description.clone()
    }

    fn target(&self) -> &str {
        &self.name
    }

    fn allocate(&self, bytes: usize) -> Result<Arc<dyn Memory>> {
        Ok(Arc::new(HostMemory::new(&self.name, bytes, &self.in_use)?))
    }

    unsafe fn borrow(&self, address: u64, len: usize, owner: Option<Owner>) -> Result<Arc<dyn Memory>> {
        // SAFETY: as the caller promises.
        Ok(Arc::new(unsafe { HostMemory::borrowed(address, len, owner) }))
    }

    fn allocate_host(&self, bytes: usize) -> Result<Box<dyn HostBlock>> {
        Ok(Box::new(HostMemory::new(&self.name, bytes, &self.in_use)?))
    }

    fn memory_info(&self) -> Result<MemoryInfo> {
        let in_use = self.in_use.load(Ordering::Relaxed);
        Ok(MemoryInfo { reserved: in_use, in_use, ..MemoryInfo::default() })
    }

    fn trim(&self, _keep: usize) -> Result<()> {
        Ok(())
    }

    fn load(&self, function: &Function, _: Option<&Artifact>) -> Result<Arc<dyn Executable>> {
        Ok(Arc::new(ExecutorKernel(Arc::new(Loaded {
            device: self.name.clone(),
            function: function.clone(),
            executor: self.executor.clone(),
        }))))
    }

    fn default_queue(&self) -> &Arc<dyn Queue> {
        &self.queue
    }

    fn create_queue(&self) -> Result<Arc<dyn Queue>> {
        Ok(Arc::new(HostQueue::default()))
    }

    fn create_event(&self) -> Result<Arc<dyn EventObject>> {
        Ok(Arc::new(HostEvent::default()))
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }

    fn location(&self) -> Location {
        Location::Host
    }
}

/// A kernel, shared with the graphs that hold it.
struct ExecutorKernel(Arc<Loaded>);

struct Loaded {
    device: String,
    function: Function,
    executor: Arc<dyn Executor + Send + Sync>,
}

impl Executable for ExecutorKernel {
    fn launch(&self, queue: &dyn Queue, config: &LaunchConfig, args: &[Arg<'_>]) -> Result<()> {
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
                Arg::View { memory, offset, elem, extents, strides } => HostArg::Tensor(HostTensor {
                    extents: extents.to_vec(),
                    strides: strides.to_vec(),
                    ..whole_block(&**memory, offset, elem)?
                }),
                Arg::Ptr { memory, offset, elem } => HostArg::Ptr(whole_block(&**memory, offset, elem)?),
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
        let printed = self.executor.run(&self.function, grid, &mut host).map_err(|e| self.error(e))?;
        print!("{printed}");
        // Only what changed goes back: several arguments may lie in one block.
        for ((arg, host), before) in args.iter().zip(&host).zip(&before) {
            let (Arg::View { memory, .. } | Arg::Ptr { memory, .. }, HostArg::Tensor(t) | HostArg::Ptr(t)) =
                (arg, host)
            else {
                continue;
            };
            if t.data == *before {
                continue;
            }
            let memory = HostMemory::of(&***memory);
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

/// The whole block as a one-dimensional tensor whose element zero is at a byte offset.
fn whole_block(memory: &dyn Memory, offset: usize, elem: ScalarType) -> Result<HostTensor> {
    let mut data = vec![0; memory.len()];
    HostMemory::of(memory).read(0, &mut data)?;
    let size = elem.memory_bytes().unwrap_or(1) as usize;
    let offset = offset / size;
    let count = (data.len() / size - offset) as i64;
    Ok(HostTensor { elem, data, offset, extents: vec![count], strides: vec![1] })
}
