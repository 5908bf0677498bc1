//! The types of a kernel's parameters.

use tegula_ir::function::{ParamKind, ViewAccess};
use tegula_ir::types::Shape as Extents;

use super::build::ArgSpec;
use crate::context::{self, Handle};
use crate::elem::{Element, Ptr};
use crate::shape::Shape;
use crate::tile::{Scalar, Tile};
use crate::view::tensor::{Tensor, ViewParts};
use crate::view::tiles::Tiles;

/// Declares the parameters of the kernel being built, in order.
#[derive(Debug)]
pub struct Params<'a> {
    specs: &'a [ArgSpec],
    next: usize,
    outputs: Vec<(u32, Extents)>,
}

impl<'a> Params<'a> {
    pub(crate) fn new(specs: &'a [ArgSpec]) -> Self {
        Self { specs, next: 0, outputs: Vec::new() }
    }

    pub(crate) fn into_outputs(self) -> Vec<(u32, Extents)> {
        self.outputs
    }

    /// The parameter of type `P`, which the kernel takes by value: a scalar or pointer.
    pub fn value<P: ValueParam>(&mut self, name: &str) -> P {
        let spec = self.spec();
        P::declare(self, name, &spec)
    }

    /// The parameter of type `&P`.
    pub fn shared<P: SharedParam>(&mut self, name: &str) -> P {
        let spec = self.spec();
        P::declare(self, name, &spec)
    }

    /// The parameter of type `&mut P`.
    pub fn mutable<P: MutParam>(&mut self, name: &str) -> P {
        let spec = self.spec();
        P::declare(self, name, &spec)
    }

    fn spec(&mut self) -> ArgSpec {
        self.next += 1;
        self.specs.get(self.next - 1).cloned().unwrap_or_default()
    }

    fn add(&mut self, name: &str, kind: ParamKind) -> Handle {
        context::with(|b| {
            let value = b.builder.func.add_param(name, kind);
            b.handle(value)
        })
        .unwrap_or(Handle::POISON)
    }

    fn view<T: Element>(&mut self, name: &str, rank: usize, access: ViewAccess, spec: &ArgSpec) -> Handle {
        let spec = spec.view.clone();
        self.add(name, ParamKind::View { elem: T::TYPE, rank: rank as u8, access, spec })
    }
}

/// Types of parameters that a kernel takes by value.
#[diagnostic::on_unimplemented(
    message = "a kernel cannot take a parameter of type `{Self}`",
    label = "not a type of kernel parameters",
    note = "kernels take `&Tensor<T, R>`, `&mut Tiles<T, S>`, `&mut Tensor<T, R>`, `Scalar<T>` and `Pointer<T>`; a value known at build time is marked `#[comptime]`"
)]
pub trait ValueParam: Sized {
    #[doc(hidden)]
    fn declare(params: &mut Params<'_>, name: &str, spec: &ArgSpec) -> Self;
}

/// Types of parameters that a kernel takes by shared reference.
#[diagnostic::on_unimplemented(
    message = "a kernel cannot take a parameter of type `&{Self}`",
    label = "not a type of kernel parameters",
    note = "by `&` kernels take tensors that are read, `&Tensor<T, R>`; outputs are `&mut Tiles<T, S>` or `&mut Tensor<T, R>`, and scalars are taken by value"
)]
pub trait SharedParam: Sized {
    #[doc(hidden)]
    fn declare(params: &mut Params<'_>, name: &str, spec: &ArgSpec) -> Self;
}

/// Types of parameters that a kernel takes by mutable reference.
#[diagnostic::on_unimplemented(
    message = "a kernel cannot take a parameter of type `&mut {Self}`",
    label = "not a type of kernel parameters",
    note = "by `&mut` kernels take outputs: `&mut Tiles<T, S>`, of which each program writes one tile, or `&mut Tensor<T, R>`, written at explicit places"
)]
pub trait MutParam: Sized {
    #[doc(hidden)]
    fn declare(params: &mut Params<'_>, name: &str, spec: &ArgSpec) -> Self;
}

impl<T: Element> ValueParam for Scalar<T> {
    fn declare(params: &mut Params<'_>, name: &str, spec: &ArgSpec) -> Self {
        Tile::new(params.add(name, ParamKind::Scalar { elem: T::TYPE, divisor: spec.divisor.max(1) }))
    }
}

impl<T: Element> ValueParam for Scalar<Ptr<T>> {
    fn declare(params: &mut Params<'_>, name: &str, spec: &ArgSpec) -> Self {
        Tile::new(params.add(name, ParamKind::Ptr { elem: T::TYPE, align: spec.align }))
    }
}

impl<T: Element, const R: usize> SharedParam for Tensor<T, R> {
    fn declare(params: &mut Params<'_>, name: &str, spec: &ArgSpec) -> Self {
        Tensor::new(ViewParts::new(params.view::<T>(name, R, ViewAccess::Read, spec), R))
    }
}

impl<T: Element, const R: usize> MutParam for Tensor<T, R> {
    fn declare(params: &mut Params<'_>, name: &str, spec: &ArgSpec) -> Self {
        Tensor::new(ViewParts::new(params.view::<T>(name, R, ViewAccess::ReadWrite, spec), R))
    }
}

impl<T: Element, S: Shape> MutParam for Tiles<T, S> {
    fn declare(params: &mut Params<'_>, name: &str, spec: &ArgSpec) -> Self {
        params.outputs.push((params.next as u32 - 1, S::extents()));
        Tiles::new(params.view::<T>(name, S::RANK, ViewAccess::ReadWrite, spec))
    }
}
