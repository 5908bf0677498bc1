//! Copies between tensors and the host, and between devices. All of them wait for the work that uses the tensor.

use super::{AnyTensor, Tensor};
use crate::device::Device;
use crate::element::{HostElement, bytes_of, from_bytes};
use crate::error::{Error, Result};

impl AnyTensor {
    /// Calls with the byte offset of each element in the block, in row-major order.
    fn for_each_element(&self, mut f: impl FnMut(usize)) {
        let mut index = [0i64; tegula_ir::types::MAX_RANK];
        for _ in 0..self.count() {
            let at: i64 = index.iter().zip(self.strides()).map(|(i, s)| i * s).sum();
            f((self.offset() as i64 + at) as usize * self.size());
            for (axis, &extent) in self.extents().iter().enumerate().rev() {
                index[axis] += 1;
                if index[axis] < extent {
                    break;
                }
                index[axis] = 0;
            }
        }
    }

    /// The elements' bytes in row-major order.
    fn gather(&self) -> Result<Vec<u8>> {
        let queue = self.device.backend().default_queue();
        let (span, size) = (self.bytes(), self.size());
        let mut block = vec![0; span.len()];
        if !span.is_empty() {
            queue.read(self.memory(), span.start, &mut block)?;
        }
        if self.is_contiguous() {
            return Ok(block);
        }
        let mut bytes = Vec::with_capacity(self.count() * size);
        self.for_each_element(|at| bytes.extend_from_slice(&block[at - span.start..][..size]));
        Ok(bytes)
    }

    /// Copies bytes in row-major order to the elements.
    fn scatter(&self, bytes: &[u8]) -> Result<()> {
        let queue = self.device.backend().default_queue();
        let (span, size) = (self.bytes(), self.size());
        if span.is_empty() {
            return Ok(());
        }
        if self.is_contiguous() {
            return queue.write(self.memory(), span.start, bytes);
        }
        // What lies between the elements stays as it is.
        let mut block = vec![0; span.len()];
        queue.read(self.memory(), span.start, &mut block)?;
        let mut values = bytes.chunks_exact(size);
        self.for_each_element(|at| {
            if let Some(value) = values.next() {
                block[at - span.start..][..size].copy_from_slice(value);
            }
        });
        queue.write(self.memory(), span.start, &block)
    }
}

impl<T: HostElement> Tensor<T> {
    /// Copies the elements to the host in row-major order, after the work that uses the tensor.
    ///
    /// # Errors
    /// If the device failed, or bytes of a `bool` tensor are neither 0 nor 1.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let bad = || Error::Tensor("the tensor holds bytes that are not values of its element type".into());
        from_bytes(&self.any().gather()?).ok_or_else(bad)
    }

    /// Copies host values, in row-major order, into the tensor, after the work that uses the tensor.
    ///
    /// # Errors
    /// If their number is not that of the elements, or the device failed.
    pub fn copy_from(&self, values: &[T]) -> Result<()> {
        if values.len() != self.count() {
            let message = format!("{} values do not fill a tensor of extents {:?}", values.len(), self.any().extents());
            return Err(Error::Tensor(message));
        }
        self.any().scatter(bytes_of(values))
    }

    /// Copies another tensor of the same extents into this one, from any device.
    ///
    /// # Errors
    /// If the extents differ, or a device failed.
    pub fn copy_from_tensor(&mut self, from: &Tensor<T>) -> Result<()> {
        let (a, b) = (from.any(), self.any());
        if a.extents() != b.extents() {
            return Err(Error::Tensor(format!("cannot copy extents {:?} to {:?}", a.extents(), b.extents())));
        }
        if a.is_contiguous() && b.is_contiguous() {
            let (s, t) = (a.bytes(), b.bytes());
            if s.is_empty() {
                return Ok(());
            }
            if a.device.same(&b.device) {
                let queue = a.device.backend().default_queue();
                return queue.copy((a.memory(), s.start), (b.memory(), t.start), s.len());
            }
            if b.device.backend().copy_from_peer((a.memory(), s.start), (b.memory(), t.start), s.len())? {
                return Ok(());
            }
        }
        b.scatter(&a.gather()?)
    }

    /// A copy on a device, which may be this tensor's own.
    ///
    /// # Errors
    /// If memory is out, or a device failed.
    pub fn to_device(&self, device: &Device) -> Result<Tensor<T>> {
        let mut copy = Tensor::new(device, &self.extents())?;
        copy.copy_from_tensor(self)?;
        Ok(copy)
    }

    /// The tensor itself if its elements lie in memory in row-major order, otherwise a copy where they do.
    ///
    /// # Errors
    /// If memory is out, or the device failed.
    pub fn contiguous(&self) -> Result<Tensor<T>> {
        if self.is_contiguous() { Ok(self.clone()) } else { self.to_device(self.device()) }
    }

    /// Sets every byte of the elements to zero.
    pub(crate) fn fill_zero(&self) -> Result<()> {
        let span = self.any().dense_bytes()?;
        if span.is_empty() {
            return Ok(());
        }
        self.device().backend().default_queue().fill(self.any().memory(), span.start, span.len(), 0)
    }
}
