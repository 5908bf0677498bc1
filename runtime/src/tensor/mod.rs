//! Tensors in device memory.

mod transfer;
pub mod view;

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, Range};

use tegula_ir::types::ScalarType;
use tegula_lang::elem::Element;
use tegula_lang::host::{PointerArg, PointerTo, TensorArg, TensorArgMut, TensorObject};

use crate::backend::Owner;
use crate::device::Device;
use crate::element::HostElement;
use crate::error::{Error, Result};
use view::{Axes, View, axes, check_rank, reach};

/// A strided tensor in a device's memory, of rank 0 to 5. Cloning gives another handle to the same memory; the memory
/// lives until the last handle, and the work that uses it, are gone.
#[derive(Clone)]
pub struct Tensor<T> {
    any: AnyTensor,
    _elem: PhantomData<T>,
}

/// A tensor without its element type.
#[derive(Clone)]
pub(crate) struct AnyTensor {
    pub(crate) device: Device,
    pub(crate) view: View,
}

impl AnyTensor {
    /// The tensor behind an argument, if it is one of this crate.
    pub(crate) fn of(t: &dyn TensorObject) -> Option<&Self> {
        t.as_any().downcast_ref()
    }
}

impl Deref for AnyTensor {
    type Target = View;

    fn deref(&self) -> &View {
        &self.view
    }
}

impl<T: HostElement> Tensor<T> {
    pub(crate) fn new(device: &Device, extents: &[usize]) -> Result<Self> {
        check_rank(extents.len())?;
        let too_large = || Error::OutOfMemory { device: device.name().into(), asked: usize::MAX, free: None };
        let bytes = extents.iter().try_fold(size_of::<T>(), |n, &e| n.checked_mul(e)).ok_or_else(too_large)?;
        let memory = device.backend().allocate(bytes)?;
        Ok(Self::of(device, View::row_major(memory, T::TYPE, 0, axes(extents)?)?))
    }

    fn of(device: &Device, view: View) -> Self {
        Self { any: AnyTensor { device: device.clone(), view }, _elem: PhantomData }
    }

    /// Another view of the same memory.
    fn with(&self, offset: usize, extents: Axes, strides: Axes) -> Result<Self> {
        Ok(Self::of(self.device(), self.any.with(offset, extents, strides)?))
    }

    /// A tensor over memory of the device that something else owns, without a copy: element zero is at `address`,
    /// strides are in elements. `owner` is dropped when the tensor, and the work that uses it, are gone.
    ///
    /// # Safety
    /// All elements lie in memory of the device, aligned for `T`, that can be read and written until `owner` is
    /// dropped, and others use it meanwhile only in the order of a stream that waits for this device's work.
    ///
    /// # Errors
    /// If the rank is more than 5, the numbers of extents and strides differ, a stride is negative, or `address` is not
    /// aligned.
    pub unsafe fn from_raw(
        device: &Device,
        address: u64,
        extents: &[usize],
        strides: &[usize],
        owner: impl Any + Send + Sync,
    ) -> Result<Self> {
        // SAFETY: as the caller promises.
        unsafe { Self::over(device, address, extents, strides, Some(Box::new(owner))) }
    }

    /// A tensor as [`Tensor::from_raw`] gives, over memory that the caller keeps: dropping the tensor waits for nothing.
    ///
    /// # Safety
    /// As there, until the tensor is dropped and the work that uses it is done.
    ///
    /// # Errors
    /// As there.
    pub unsafe fn from_raw_unmanaged(
        device: &Device,
        address: u64,
        extents: &[usize],
        strides: &[usize],
    ) -> Result<Self> {
        // SAFETY: as the caller promises.
        unsafe { Self::over(device, address, extents, strides, None) }
    }

    /// # Safety
    /// As [`Backend::borrow`](crate::backend::Backend::borrow) says of the memory where the elements lie.
    unsafe fn over(
        device: &Device,
        address: u64,
        extents: &[usize],
        strides: &[usize],
        owner: Option<Owner>,
    ) -> Result<Self> {
        if !address.is_multiple_of(size_of::<T>() as u64) {
            return Err(Error::Tensor(format!("address {address:#x} is not aligned for elements of {}", T::TYPE)));
        }
        let (extents, strides) = (axes(extents)?, axes(strides)?);
        let too_large =
            || Error::Tensor(format!("extents {extents:?} and strides {strides:?} reach beyond all memory"));
        let elements = match reach(&extents, &strides) {
            _ if extents.contains(&0) => 0,
            Some((_, after)) => usize::try_from(after).ok().and_then(|n| n.checked_add(1)).ok_or_else(too_large)?,
            None => return Err(too_large()),
        };
        let len = elements.checked_mul(size_of::<T>()).ok_or_else(too_large)?;
        // SAFETY: as the caller promises.
        let memory = unsafe { device.backend().borrow(address, len, owner) }?;
        Ok(Self::of(device, View::new(memory, T::TYPE, 0, extents, strides)?))
    }

    pub(crate) fn any(&self) -> &AnyTensor {
        &self.any
    }

    /// The device it lives on.
    pub fn device(&self) -> &Device {
        &self.any.device
    }

    /// Address of element zero, in the device's address space.
    pub fn address(&self) -> u64 {
        self.any.address()
    }

    /// Extents in elements.
    pub fn extents(&self) -> Vec<usize> {
        self.any.extents().iter().map(|&e| e as usize).collect()
    }

    /// Strides in elements.
    pub fn strides(&self) -> &[i64] {
        self.any.strides()
    }

    /// Number of elements.
    pub fn count(&self) -> usize {
        self.any.count()
    }

    /// Whether the elements lie in memory one after another in row-major order.
    pub fn is_contiguous(&self) -> bool {
        self.any.is_contiguous()
    }

    /// The same elements with the axes in another order: axis `i` is axis `order[i]` of this tensor. No copy.
    ///
    /// # Errors
    /// If `order` is not an order of the axes.
    pub fn permute(&self, order: &[usize]) -> Result<Self> {
        let (extents, strides) = (self.any.extents(), self.any.strides());
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..extents.len()) {
            return Err(Error::Tensor(format!("{order:?} is not an order of the axes of {extents:?}")));
        }
        let pick = |axes: &[i64]| order.iter().map(|&i| axes[i]).collect();
        self.with(self.any.offset(), pick(extents), pick(strides))
    }

    /// The transpose of a matrix: the last two axes exchanged. No copy.
    ///
    /// # Errors
    /// If there are fewer than two axes.
    pub fn t(&self) -> Result<Self> {
        let rank = self.any.extents().len();
        if rank < 2 {
            return Err(Error::Tensor(format!("a tensor of extents {:?} has no transpose", self.any.extents())));
        }
        let mut order: Vec<usize> = (0..rank).collect();
        order.swap(rank - 2, rank - 1);
        self.permute(&order)
    }

    /// Part of an axis. No copy.
    ///
    /// # Errors
    /// If there is no such axis, or the range does not lie within it.
    pub fn slice(&self, axis: usize, range: Range<usize>) -> Result<Self> {
        let (mut extents, strides) = (Axes::from(self.any.extents()), Axes::from(self.any.strides()));
        match extents.get_mut(axis) {
            Some(e) if range.start <= range.end && range.end as u64 <= *e as u64 => {
                *e = (range.end - range.start) as i64;
                // An empty part has no first element, which could lie outside of the block.
                let steps = if range.is_empty() { 0 } else { range.start as i64 * strides[axis] };
                self.with((self.any.offset() as i64 + steps) as usize, extents, strides)
            }
            _ => Err(Error::Tensor(format!("{range:?} of axis {axis} does not lie in extents {extents:?}"))),
        }
    }

    /// The elements with this index on an axis, which is left out. No copy.
    ///
    /// # Errors
    /// If there is no such axis, or the index does not lie within it.
    pub fn select(&self, axis: usize, index: usize) -> Result<Self> {
        let t = self.slice(axis, index..index.saturating_add(1))?;
        let (mut extents, mut strides) = (Axes::from(t.any.extents()), Axes::from(t.any.strides()));
        if extents.remove(axis) == 0 {
            return Err(Error::Tensor(format!(
                "there is no element {index} on axis {axis} of {:?}",
                self.any.extents()
            )));
        }
        strides.remove(axis);
        t.with(t.any.offset(), extents, strides)
    }

    /// The same elements under other extents. No copy.
    ///
    /// # Errors
    /// If the number of elements differs, or the tensor is not contiguous.
    pub fn reshape(&self, extents: &[usize]) -> Result<Self> {
        let count = extents.iter().try_fold(1usize, |n, &e| n.checked_mul(e));
        // Where an extent is 0, the others may be anything that an extent can be.
        let count = if extents.contains(&0) { Some(0) } else { count };
        if count != Some(self.count()) || !self.is_contiguous() {
            let message = format!("cannot view extents {:?} as {extents:?} without a copy", self.any.extents());
            return Err(Error::Tensor(message));
        }
        let view = View::row_major(self.any.memory().clone(), T::TYPE, self.any.offset(), axes(extents)?)?;
        Ok(Self::of(self.device(), view))
    }
}

impl<T: HostElement> fmt::Debug for Tensor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor<{}>{:?} on {}", T::TYPE, self.any.extents(), self.device().name())
    }
}

impl<T: HostElement> TensorObject for Tensor<T> {
    fn elem(&self) -> ScalarType {
        T::TYPE
    }

    fn extents(&self) -> &[i64] {
        self.any.extents()
    }

    fn strides(&self) -> &[i64] {
        self.any.strides()
    }

    fn as_any(&self) -> &dyn Any {
        &self.any
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        &mut self.any
    }
}

impl<'a, T: HostElement, const R: usize> TensorArg<'a, T, R> for &'a Tensor<T> {
    fn tensor_arg(self) -> &'a dyn TensorObject {
        self
    }
}

impl<'a, T: HostElement, const R: usize> TensorArgMut<'a, T, R> for &'a mut Tensor<T> {
    fn tensor_arg_mut(self) -> &'a mut dyn TensorObject {
        self
    }
}

impl<'a, T: HostElement + Element> PointerTo<'a, T> for &'a mut Tensor<T> {
    unsafe fn pointer_arg(self) -> PointerArg<'a> {
        PointerArg::Tensor(self)
    }
}
