//! Devices over an [`Executor`]: the interpreter, and the virtual GPUs. Each launch copies the blocks it uses into
//! host tensors and back, which is simple, and fast enough for what is not fast itself.

use std::sync::Arc;

use tegula_artifact::Artifact;
use tegula_ir::Function;
use tegula_ir::exec::{ExecError, Executor, HostArg, HostTensor};
use tegula_ir::function::ParamKind;
use tegula_ir::numeric::eval;
use tegula_ir::types::ScalarType;

use super::host_memory::HostMemory;
use super::{Arg, Backend, Executable, Memory};
use crate::error::{Error, Result};

/// A device that runs kernels through an executor.
pub struct ExecutorBackend {
    name: String,
    description: String,
    executor: Arc<dyn Executor + Send + Sync>,
}

impl ExecutorBackend {
    /// A device of this name.
    pub fn new(name: &str, description: &str, executor: Arc<dyn Executor + Send + Sync>) -> Self {
        Self { name: name.into(), description: description.into(), executor }
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
        Ok(Arc::new(HostMemory::new(&self.name, bytes)?))
    }

    fn load(&self, function: &Function, _: Option<&Artifact>) -> Result<Arc<dyn Executable>> {
        Ok(Arc::new(ExecutorKernel {
            device: self.name.clone(),
            function: function.clone(),
            executor: self.executor.clone(),
        }))
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }
}

struct ExecutorKernel {
    device: String,
    function: Function,
    executor: Arc<dyn Executor + Send + Sync>,
}

impl Executable for ExecutorKernel {
    fn launch(&self, grid: [u32; 3], args: &[Arg]) -> Result<()> {
        let kernel = &self.function.name;
        let mut host = Vec::with_capacity(args.len());
        let mut before = Vec::with_capacity(args.len());
        for (param, arg) in self.function.params.iter().zip(args) {
            host.push(match (arg, &param.kind) {
                (Arg::Scalar(bits), ParamKind::Scalar { elem, .. }) => HostArg::Scalar(eval::from_bits(*elem, *bits)),
                (Arg::View { memory, offset, elem, extents, strides }, _) => HostArg::Tensor(HostTensor {
                    extents: extents.clone(),
                    strides: strides.clone(),
                    ..whole_block(&**memory, *offset, *elem)?
                }),
                (Arg::Ptr { memory, offset }, ParamKind::Ptr { elem, .. }) => {
                    HostArg::Ptr(whole_block(&**memory, *offset, *elem)?)
                }
                _ => {
                    let message = format!("argument `{}` is of another kind than its parameter", param.name);
                    return Err(Error::Argument { kernel: kernel.clone(), message });
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
}

impl ExecutorKernel {
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
    memory.read(0, &mut data)?;
    let size = elem.memory_bytes().unwrap_or(1) as usize;
    let offset = offset / size;
    let count = (data.len() / size - offset) as i64;
    Ok(HostTensor { elem, data, offset, extents: vec![count], strides: vec![1] })
}
