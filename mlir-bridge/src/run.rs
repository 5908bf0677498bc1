//! Runs a kernel through MLIR: lowering, upstream passes, LLVM, and a call for each program.

use melior::ExecutionEngine;
use melior::pass::PassManager;
use melior::utility::parse_pass_pipeline;
use tegula_ir::exec::{ExecError, Executor, HostArg, HostTensor, check_args};
use tegula_ir::function::{Function, ParamKind};
use tegula_ir::numeric;

use crate::Error;
use crate::lower::{ENTRY, PIPELINE, lower};
use crate::session::Session;

/// The executor over MLIR.
pub struct MlirExecutor {
    session: Session,
}

impl MlirExecutor {
    /// With a context of its own.
    ///
    /// # Errors
    /// As [`Session::new`].
    pub fn new() -> Result<Self, Error> {
        Ok(Self { session: Session::new()? })
    }

    /// The engine with the compiled kernel.
    fn compile(&self, f: &Function) -> Result<ExecutionEngine, Error> {
        let mut module = self.session.parse(&lower(f)?)?;
        let passes = PassManager::new(self.session.context());
        parse_pass_pipeline(passes.as_operation_pass_manager(), PIPELINE).map_err(|e| Error::Mlir(e.to_string()))?;
        passes.run(&mut module).map_err(|_| self.session.error("a pass failed"))?;
        Ok(ExecutionEngine::new(&module, 2, &[], false, false))
    }
}

impl Executor for MlirExecutor {
    fn name(&self) -> String {
        "mlir".into()
    }

    fn run(&self, f: &Function, grid: [u32; 3], args: &mut [HostArg]) -> Result<String, ExecError> {
        check_args(f, args)?;
        let engine = self.compile(f).map_err(|e| ExecError::Compile(e.to_string()))?;
        let mut slots: Vec<Slot> = f.params.iter().zip(args.iter_mut()).map(|(p, a)| Slot::new(&p.kind, a)).collect();
        for z in 0..grid[2] {
            for y in 0..grid[1] {
                for x in 0..grid[0] {
                    let mut ids = [x, y, z, grid[0], grid[1], grid[2]].map(i64::from);
                    let mut packed: Vec<*mut ()> = ids.iter_mut().map(|v| std::ptr::from_mut(v).cast()).collect();
                    packed.extend(slots.iter_mut().map(Slot::address));
                    // SAFETY: the packed interface takes the address of each argument of the function: the six
                    // integers and, for each parameter, a scalar's storage or a pointer to a memref descriptor.
                    // All live until the call returns; the lowering checks each access against the extents.
                    unsafe { engine.invoke_packed(ENTRY, &mut packed) }
                        .map_err(|e| ExecError::Compile(e.to_string()))?;
                }
            }
        }
        Ok(String::new())
    }
}

/// The storage of one argument.
enum Slot {
    /// A number, in its own width from the first byte on.
    Scalar(u64),
    /// A memref descriptor (two pointers, offset, extents, strides) and the pointer to it that is passed.
    View { descriptor: Vec<i64>, pointer: *mut i64 },
}

impl Slot {
    fn new(kind: &ParamKind, arg: &mut HostArg) -> Self {
        match (kind, arg) {
            (ParamKind::Scalar { elem, .. }, HostArg::Scalar(v)) => Self::Scalar(numeric::eval::to_bits(*elem, *v)),
            (_, HostArg::Tensor(t) | HostArg::Ptr(t)) => {
                let HostTensor { data, offset, extents, strides, .. } = t;
                let base = data.as_mut_ptr() as i64;
                let descriptor =
                    [base, base, *offset as i64].iter().chain(&*extents).chain(&*strides).copied().collect();
                Self::View { descriptor, pointer: std::ptr::null_mut() }
            }
            (_, HostArg::Scalar(_)) => unreachable!("the arguments were checked"),
        }
    }

    fn address(&mut self) -> *mut () {
        match self {
            Self::Scalar(bits) => std::ptr::from_mut(bits).cast(),
            Self::View { descriptor, pointer } => {
                *pointer = descriptor.as_mut_ptr();
                std::ptr::from_mut(pointer).cast()
            }
        }
    }
}
