//! Tensors in device memory.

mod transfer;

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use tegula_ir::exec::row_major_strides;
use tegula_ir::types::ScalarType;
use tegula_lang::elem::Element;
use tegula_lang::host::{PointerArg, PointerTo, TensorArg, TensorArgMut, TensorObject};

use crate::backend::{Arg, Axes, Memory, Owner};
use crate::device::Device;
use crate::element::HostElement;
use crate::error::{Error, Result};

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
    pub(crate) memory: Arc<dyn Memory>,
    pub(crate) elem: ScalarType,
    /// Element index of element zero in the block.
    pub(crate) offset: usize,
    pub(crate) extents: Axes,
    pub(crate) strides: Axes,
}

impl AnyTensor {
    /// The tensor behind an argument, if it is one of this crate.
    pub(crate) fn of(t: &dyn TensorObject) -> Option<&Self> {
        t.as_any().downcast_ref()
    }

    /// The tensor as an argument of a launch.
    pub(crate) fn arg(&self) -> Arg<'_> {
        Arg::View {
            memory: &self.memory,
            offset: self.offset * self.size(),
            elem: self.elem,
            extents: &self.extents,
            strides: &self.strides,
        }
    }

    /// Bytes of an element.
    pub(crate) fn size(&self) -> usize {
        self.elem.memory_bytes().unwrap_or(1) as usize
    }

    pub(crate) fn count(&self) -> usize {
        self.extents.iter().product::<i64>() as usize
    }

    pub(crate) fn is_contiguous(&self) -> bool {
        let mut expected = 1;
        self.extents.iter().zip(&self.strides).rev().all(|(&e, &s)| {
            let ok = e == 1 || s == expected;
            expected *= e;
            ok
        }) || self.extents.contains(&0)
    }

    /// Distance in elements from element zero to the one that lies furthest before it, and behind it.
    pub(crate) fn reach(&self) -> (i64, i64) {
        reach(&self.extents, &self.strides)
    }
}

/// Distance in elements from element zero to the one that lies furthest before it, and behind it.
pub(crate) fn reach(extents: &[i64], strides: &[i64]) -> (i64, i64) {
    let mut reach = (0i64, 0i64);
    for (&e, &s) in extents.iter().zip(strides) {
        let end = (e - 1).max(0).saturating_mul(s);
        if end < 0 {
            reach.0 = reach.0.saturating_add(end);
        } else {
            reach.1 = reach.1.saturating_add(end);
        }
    }
    reach
}

impl<T: HostElement> Tensor<T> {
    pub(crate) fn new(device: &Device, extents: &[usize]) -> Result<Self> {
        check_rank(extents.len())?;
        let too_large = || Error::OutOfMemory { device: device.name().into(), asked: usize::MAX, free: None };
        let bytes = extents.iter().try_fold(size_of::<T>(), |n, &e| n.checked_mul(e)).ok_or_else(too_large)?;
        let extents: Axes = extents.iter().map(|&e| e as i64).collect();
        let strides = row_major_strides(&extents).into();
        let memory = device.backend().allocate(bytes)?;
        let any = AnyTensor { device: device.clone(), memory, elem: T::TYPE, offset: 0, extents, strides };
        Ok(Self { any, _elem: PhantomData })
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
        check_rank(extents.len())?;
        if extents.len() != strides.len() {
            return Err(Error::Tensor(format!("extents {extents:?} and strides {strides:?} differ in number")));
        }
        if !address.is_multiple_of(size_of::<T>() as u64) {
            return Err(Error::Tensor(format!("address {address:#x} is not aligned for elements of {}", T::TYPE)));
        }
        let large = |n: &usize| i64::try_from(*n).ok().filter(|n| *n <= tegula_ir::exec::MAX_EXTENT);
        let axes = |values: &[usize]| -> Result<Axes> {
            let all: Option<Axes> = values.iter().map(large).collect();
            all.ok_or_else(|| Error::Tensor(format!("{values:?} are more than 2^48")))
        };
        let (extents, strides) = (axes(extents)?, axes(strides)?);
        let len = if extents.contains(&0) { 0 } else { (reach(&extents, &strides).1 + 1) as usize * size_of::<T>() };
        // SAFETY: as the caller promises.
        let memory = unsafe { device.backend().borrow(address, len, owner) }?;
        let any = AnyTensor { device: device.clone(), memory, elem: T::TYPE, offset: 0, extents, strides };
        Ok(Self { any, _elem: PhantomData })
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
        self.any.memory.address() + (self.any.offset * size_of::<T>()) as u64
    }

    /// Extents in elements.
    pub fn extents(&self) -> Vec<usize> {
        self.any.extents.iter().map(|&e| e as usize).collect()
    }

    /// Strides in elements.
    pub fn strides(&self) -> &[i64] {
        &self.any.strides
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
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..self.any.extents.len()) {
            return Err(Error::Tensor(format!("{order:?} is not an order of the axes of {:?}", self.any.extents)));
        }
        let mut t = self.clone();
        t.any.extents = order.iter().map(|&i| self.any.extents[i]).collect();
        t.any.strides = order.iter().map(|&i| self.any.strides[i]).collect();
        Ok(t)
    }

    /// The transpose of a matrix: the last two axes exchanged. No copy.
    ///
    /// # Errors
    /// If there are fewer than two axes.
    pub fn t(&self) -> Result<Self> {
        let rank = self.any.extents.len();
        if rank < 2 {
            return Err(Error::Tensor(format!("a tensor of extents {:?} has no transpose", self.any.extents)));
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
        match self.any.extents.get(axis) {
            Some(&e) if range.start <= range.end && range.end as i64 <= e => {
                let mut t = self.clone();
                t.any.extents[axis] = (range.end - range.start) as i64;
                // An empty part has no first element, which could lie outside of the block.
                if !range.is_empty() {
                    t.any.offset = (t.any.offset as i64 + range.start as i64 * t.any.strides[axis]) as usize;
                }
                Ok(t)
            }
            _ => Err(Error::Tensor(format!("{range:?} of axis {axis} does not lie in extents {:?}", self.any.extents))),
        }
    }

    /// The elements with this index on an axis, which is left out. No copy.
    ///
    /// # Errors
    /// If there is no such axis, or the index does not lie within it.
    pub fn select(&self, axis: usize, index: usize) -> Result<Self> {
        let mut t = self.slice(axis, index..index + 1)?;
        t.any.extents.remove(axis);
        t.any.strides.remove(axis);
        Ok(t)
    }

    /// The same elements under other extents. No copy.
    ///
    /// # Errors
    /// If the number of elements differs, or the tensor is not contiguous.
    pub fn reshape(&self, extents: &[usize]) -> Result<Self> {
        check_rank(extents.len())?;
        if extents.iter().product::<usize>() != self.count() || !self.is_contiguous() {
            let message = format!("cannot view extents {:?} as {extents:?} without a copy", self.any.extents);
            return Err(Error::Tensor(message));
        }
        let mut t = self.clone();
        t.any.extents = extents.iter().map(|&e| e as i64).collect();
        t.any.strides = row_major_strides(&t.any.extents).into();
        Ok(t)
    }
}

fn check_rank(rank: usize) -> Result<()> {
    if rank > tegula_ir::types::MAX_RANK {
        return Err(Error::Tensor(format!("tensors have at most 5 axes, found {rank}")));
    }
    Ok(())
}

impl<T: HostElement> fmt::Debug for Tensor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor<{}>{:?} on {}", T::TYPE, self.any.extents, self.device().name())
    }
}

impl<T: HostElement> TensorObject for Tensor<T> {
    fn elem(&self) -> ScalarType {
        T::TYPE
    }

    fn extents(&self) -> &[i64] {
        &self.any.extents
    }

    fn strides(&self) -> &[i64] {
        &self.any.strides
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
