//! The host side of a call: which values can be arguments, and running on host data.
//!
//! Device tensors implement [`TensorArg`] and [`TensorArgMut`] in the runtime; here they are implemented for
//! tensors in host memory, which the interpreter and other executors run on.

use std::any::Any;
use std::fmt::Debug;

use tegula_ir::exec::{ExecError, Executor, HostArg, HostTensor, grid_of};
use tegula_ir::literal::Literal;

use crate::elem::{Element, ScalarType};
use crate::kernel::{BuildError, Call, Kernel};

/// A tensor that can be an argument, without its type.
pub trait TensorObject: Debug {
    /// Element type.
    fn elem(&self) -> ScalarType;
    /// Extents in elements.
    fn extents(&self) -> &[i64];
    /// Strides in elements.
    fn strides(&self) -> &[i64];
    /// The tensor, for the device that knows its type.
    fn as_any(&self) -> &dyn Any;
    /// The tensor, for the device that knows its type.
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

/// An argument of a call.
#[derive(Debug)]
pub enum Arg<'a> {
    /// A tensor that is read.
    Read(&'a dyn TensorObject),
    /// A tensor that is written.
    Write(&'a mut dyn TensorObject),
    /// A number.
    Scalar(ScalarType, Literal),
    /// A pointer to memory of the device, which the caller vouches for.
    Pointer(ScalarType, PointerArg<'a>),
}

/// A pointer argument.
#[derive(Debug)]
pub enum PointerArg<'a> {
    /// An address on the device.
    Address(u64),
    /// The memory of a tensor.
    Tensor(&'a mut dyn TensorObject),
}

/// Tensors with elements of `T` that a kernel can read as a tensor of rank `R`. The rank is checked at launch
/// where the type does not have it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tensor of `{T}` that a kernel can read",
    label = "a reference to a tensor of `{T}` is needed here",
    note = "kernels are called by the host, with tensors of a device: pass `&tensor`; the kernel's element type follows from its arguments or is given as in `kernel::<f16>(..)`"
)]
pub trait TensorArg<'a, T: Element, const R: usize> {
    /// The argument.
    fn tensor_arg(self) -> &'a dyn TensorObject;
}

/// Tensors with elements of `T` that a kernel can write as a tensor of rank `R`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tensor of `{T}` that a kernel can write",
    label = "a mutable reference to a tensor of `{T}` is needed here",
    note = "kernels are called by the host, with tensors of a device: pass `&mut tensor`; the kernel's element type follows from its arguments or is given as in `kernel::<f16>(..)`"
)]
pub trait TensorArgMut<'a, T: Element, const R: usize> {
    /// The argument.
    fn tensor_arg_mut(self) -> &'a mut dyn TensorObject;
}

/// Pointers to elements of `T` on the device.
pub trait PointerTo<'a, T: Element> {
    /// The argument.
    ///
    /// # Safety
    /// The kernel's use of the pointer is within the memory behind it.
    unsafe fn pointer_arg(self) -> PointerArg<'a>;
}

/// An address on the device as a pointer argument.
#[derive(Clone, Copy, Debug)]
pub struct DeviceAddress(pub u64);

impl<'a, T: Element> PointerTo<'a, T> for DeviceAddress {
    unsafe fn pointer_arg(self) -> PointerArg<'a> {
        PointerArg::Address(self.0)
    }
}

impl TensorObject for HostTensor {
    fn elem(&self) -> ScalarType {
        self.elem
    }

    fn extents(&self) -> &[i64] {
        &self.extents
    }

    fn strides(&self) -> &[i64] {
        &self.strides
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

impl<'a, T: Element, const R: usize> TensorArg<'a, T, R> for &'a HostTensor {
    fn tensor_arg(self) -> &'a dyn TensorObject {
        self
    }
}

impl<'a, T: Element, const R: usize> TensorArgMut<'a, T, R> for &'a mut HostTensor {
    fn tensor_arg_mut(self) -> &'a mut dyn TensorObject {
        self
    }
}

impl<'a, T: Element> PointerTo<'a, T> for &'a mut HostTensor {
    unsafe fn pointer_arg(self) -> PointerArg<'a> {
        PointerArg::Tensor(self)
    }
}

/// Why a call on host data did not end well.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum RunError {
    /// The kernel could not be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The executor could not run it.
    #[error(transparent)]
    Exec(#[from] ExecError),
}

impl<K: Kernel> Call<'_, K> {
    /// Runs the call on tensors in host memory; outputs are changed in place. Gives what the kernel printed.
    ///
    /// # Errors
    /// If the kernel cannot be built, an argument is not in host memory or does not fit, or the run fails.
    pub fn run_on(self, executor: &dyn Executor) -> Result<String, RunError> {
        let function = self.kernel.build(&self.build_options().into_owned().target(&executor.name()))?;
        let name = self.kernel.info().name;
        let not_host = || ExecError::BadArguments(format!("an argument of {name} is not in host memory"));
        let mut args = Vec::new();
        for arg in &self.args {
            let host = |t: &dyn TensorObject| t.as_any().downcast_ref::<HostTensor>().cloned().ok_or_else(not_host);
            args.push(match arg {
                Arg::Read(t) => HostArg::Tensor(host(*t)?),
                Arg::Write(t) => HostArg::Tensor(host(&**t)?),
                Arg::Scalar(_, value) => HostArg::Scalar(*value),
                Arg::Pointer(_, PointerArg::Tensor(t)) => HostArg::Ptr(host(&**t)?),
                Arg::Pointer(_, PointerArg::Address(_)) => return Err(not_host().into()),
            });
        }
        let grid = match (grid_of(&function, &args)?, self.grid) {
            (Some(grid), None) | (None, Some(grid)) => grid,
            (Some(_), Some(_)) => {
                return Err(ExecError::BadArguments(format!("{name} has its grid from its outputs; give none")).into());
            }
            (None, None) => {
                return Err(
                    ExecError::BadArguments(format!("{name} needs a grid: give it with `.grid([n, 1, 1])`")).into()
                );
            }
        };
        let printed = executor.run(&function, grid, &mut args)?;
        for (arg, done) in self.args.into_iter().zip(args) {
            if let (Arg::Write(t) | Arg::Pointer(_, PointerArg::Tensor(t)), HostArg::Tensor(done) | HostArg::Ptr(done)) =
                (arg, done)
                && let Some(t) = t.as_any_mut().downcast_mut::<HostTensor>()
            {
                *t = done;
            }
        }
        Ok(printed)
    }
}
