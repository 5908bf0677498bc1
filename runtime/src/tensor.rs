//! Tensors in device memory.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use tegula_ir::exec::row_major_strides;
use tegula_ir::types::ScalarType;
use tegula_lang::elem::Element;
use tegula_lang::host::{PointerArg, PointerTo, TensorArg, TensorArgMut, TensorObject};

use crate::backend::{Arg, Memory};
use crate::device::Device;
use crate::element::{HostElement, bytes_of, from_bytes};
use crate::error::{Error, Result};

/// A strided tensor in a device's memory, of rank 0 to 5. Cloning gives another handle to the same memory; the memory
/// lives until the last handle, and the work that uses it, are gone.
#[derive(Clone)]
pub struct Tensor<T> {
    device: Device,
    memory: Arc<dyn Memory>,
    /// Element index of element zero in the block.
    offset: usize,
    extents: Vec<i64>,
    strides: Vec<i64>,
    _elem: PhantomData<T>,
}

impl<T: HostElement> Tensor<T> {
    pub(crate) fn new(device: &Device, extents: &[usize]) -> Result<Self> {
        if extents.len() > tegula_ir::types::MAX_RANK {
            return Err(Error::Tensor(format!("tensors have at most 5 axes, found {extents:?}")));
        }
        let bytes = extents
            .iter()
            .try_fold(size_of::<T>(), |n, &e| n.checked_mul(e))
            .ok_or_else(|| Error::OutOfMemory { device: device.name().into(), asked: usize::MAX })?;
        let extents: Vec<i64> = extents.iter().map(|&e| e as i64).collect();
        let strides = row_major_strides(&extents);
        let memory = device.backend().allocate(bytes)?;
        Ok(Self { device: device.clone(), memory, offset: 0, extents, strides, _elem: PhantomData })
    }

    /// The device it lives on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Extents in elements.
    pub fn extents(&self) -> Vec<usize> {
        self.extents.iter().map(|&e| e as usize).collect()
    }

    /// Strides in elements.
    pub fn strides(&self) -> &[i64] {
        &self.strides
    }

    /// Number of elements.
    pub fn count(&self) -> usize {
        self.extents.iter().product::<i64>() as usize
    }

    /// Whether the elements lie in memory one after another in row-major order.
    pub fn is_contiguous(&self) -> bool {
        let mut expected = 1;
        self.extents.iter().zip(&self.strides).rev().all(|(&e, &s)| {
            let ok = e == 1 || s == expected;
            expected *= e;
            ok
        })
    }

    /// Copies the elements to the host in row-major order, after the work given to the device before.
    ///
    /// # Errors
    /// If the device failed, or bytes of a `bool` tensor are neither 0 nor 1.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let size = size_of::<T>();
        let bad = || Error::Tensor("the tensor holds bytes that are not values of its element type".into());
        if self.is_contiguous() {
            let mut bytes = vec![0; self.count() * size];
            self.memory.read(self.offset * size, &mut bytes)?;
            return from_bytes(&bytes).ok_or_else(bad);
        }
        let mut block = vec![0; self.memory.len()];
        self.memory.read(0, &mut block)?;
        let mut bytes = Vec::with_capacity(self.count() * size);
        self.for_each_element(|at| bytes.extend_from_slice(&block[at * size..][..size]));
        from_bytes(&bytes).ok_or_else(bad)
    }

    /// Copies host values, in row-major order, into the tensor.
    ///
    /// # Errors
    /// If their number is not that of the elements, the tensor is not contiguous, or the device failed.
    pub fn copy_from(&self, values: &[T]) -> Result<()> {
        if values.len() != self.count() {
            let message = format!("{} values do not fill a tensor of extents {:?}", values.len(), self.extents);
            return Err(Error::Tensor(message));
        }
        if !self.is_contiguous() {
            return Err(Error::Tensor("only a contiguous tensor can be copied to; copy to the whole one".into()));
        }
        self.memory.write(self.offset * size_of::<T>(), bytes_of(values))
    }

    /// The same elements with the axes in another order: axis `i` is axis `order[i]` of this tensor. No copy.
    ///
    /// # Errors
    /// If `order` is not an order of the axes.
    pub fn permute(&self, order: &[usize]) -> Result<Self> {
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..self.extents.len()) {
            return Err(Error::Tensor(format!("{order:?} is not an order of the axes of {:?}", self.extents)));
        }
        let mut t = self.clone();
        t.extents = order.iter().map(|&i| self.extents[i]).collect();
        t.strides = order.iter().map(|&i| self.strides[i]).collect();
        Ok(t)
    }

    /// The transpose of a matrix: the last two axes exchanged. No copy.
    ///
    /// # Errors
    /// If there are fewer than two axes.
    pub fn t(&self) -> Result<Self> {
        let rank = self.extents.len();
        if rank < 2 {
            return Err(Error::Tensor(format!("a tensor of extents {:?} has no transpose", self.extents)));
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
        match self.extents.get(axis) {
            Some(&e) if range.start <= range.end && range.end as i64 <= e => {
                let mut t = self.clone();
                t.offset = (t.offset as i64 + range.start as i64 * t.strides[axis]) as usize;
                t.extents[axis] = (range.end - range.start) as i64;
                Ok(t)
            }
            _ => Err(Error::Tensor(format!("{range:?} of axis {axis} does not lie in extents {:?}", self.extents))),
        }
    }

    /// The same elements under other extents. No copy.
    ///
    /// # Errors
    /// If the number of elements differs, or the tensor is not contiguous.
    pub fn reshape(&self, extents: &[usize]) -> Result<Self> {
        if extents.iter().product::<usize>() != self.count() || !self.is_contiguous() {
            let message = format!("cannot view extents {:?} as {extents:?} without a copy", self.extents);
            return Err(Error::Tensor(message));
        }
        let mut t = self.clone();
        t.extents = extents.iter().map(|&e| e as i64).collect();
        t.strides = row_major_strides(&t.extents);
        Ok(t)
    }

    /// Sets every byte of the elements' block to zero.
    pub(crate) fn fill_zero(&self) -> Result<()> {
        self.memory.write(0, &vec![0; self.memory.len()])
    }

    fn for_each_element(&self, mut f: impl FnMut(usize)) {
        let mut index = vec![0; self.extents.len()];
        for _ in 0..self.count() {
            let at: i64 = index.iter().zip(&self.strides).map(|(&i, &s): (&i64, &i64)| i * s).sum();
            f((self.offset as i64 + at) as usize);
            for axis in (0..index.len()).rev() {
                index[axis] += 1;
                if index[axis] < self.extents[axis] {
                    break;
                }
                index[axis] = 0;
            }
        }
    }
}

impl<T: HostElement> fmt::Debug for Tensor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor<{}>{:?} on {}", T::TYPE, self.extents, self.device.name())
    }
}

/// A tensor as an argument of a launch, without its element type.
pub(crate) struct AnyTensor {
    pub(crate) device: Device,
    pub(crate) arg: Arg,
}

impl AnyTensor {
    /// The tensor behind an argument, if it is one of this crate.
    pub(crate) fn of(t: &dyn TensorObject) -> Option<Self> {
        macro_rules! find {
            ($($ty:ty)*) => {
                $(if let Some(t) = t.as_any().downcast_ref::<Tensor<$ty>>() {
                    return Some(Self { device: t.device.clone(), arg: t.arg() });
                })*
            };
        }
        crate::element::for_each_host_element!(find);
        None
    }
}

impl<T: HostElement> Tensor<T> {
    fn arg(&self) -> Arg {
        Arg::View {
            memory: self.memory.clone(),
            offset: self.offset * size_of::<T>(),
            elem: T::TYPE,
            extents: self.extents.clone(),
            strides: self.strides.clone(),
        }
    }
}

impl<T: HostElement> TensorObject for Tensor<T> {
    fn elem(&self) -> ScalarType {
        T::TYPE
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
