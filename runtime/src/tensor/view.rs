//! A tensor in a block of memory, without its device and element type: what a kernel takes.
//!
//! What a launch asks of a tensor (its address, what it spans, what can be promised of it) is found out when the view is
//! made, and lies beside each other: a launch has no time for it.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;
use tegula_ir::exec::{MAX_EXTENT, row_major_strides};
use tegula_ir::types::{MAX_RANK, ScalarType};

use crate::backend::Memory;
use crate::error::{Error, Result};
use crate::launch::specialize::Class;

/// Extents or strides.
pub type Axes = SmallVec<[i64; MAX_RANK]>;

/// A strided tensor in a block of memory. Its elements lie in the block.
#[derive(Clone)]
pub struct View {
    address: u64,
    /// Addresses from the first to behind the last byte of the elements.
    span: Range<u64>,
    class: Class,
    elem: ScalarType,
    /// Whether several elements are the same memory.
    repeats: bool,
    memory: Arc<dyn Memory>,
    extents: Axes,
    strides: Axes,
    offset: usize,
}

impl View {
    /// Element zero is `offset` elements into the block; strides are in elements.
    ///
    /// # Errors
    /// If the rank is more than 5, the numbers of extents and strides differ, an extent or the number of elements is too
    /// large, or an element does not lie in the block.
    pub fn new(memory: Arc<dyn Memory>, elem: ScalarType, offset: usize, extents: Axes, strides: Axes) -> Result<Self> {
        check_axes(&extents, &strides)?;
        let outside = || {
            let message = format!("elements of extents {extents:?} and strides {strides:?} from element {offset} on");
            Error::Tensor(format!("{message} do not lie in a block of {} bytes", memory.len()))
        };
        let size = i64::from(elem.memory_bytes().unwrap_or(1));
        let (before, after) = reach(&extents, &strides).ok_or_else(outside)?;
        let address = memory.address() + offset as u64 * size as u64;
        let span = if extents.contains(&0) {
            address..address
        } else {
            // The first byte, and the one behind the last, in the block.
            let first = (offset as i64).checked_add(before).and_then(|at| at.checked_mul(size));
            let end = (offset as i64).checked_add(after).and_then(|at| at.checked_add(1)?.checked_mul(size));
            match (first, end) {
                (Some(first @ 0..), Some(end)) if end as u64 <= memory.len() as u64 => {
                    memory.address() + first as u64..memory.address() + end as u64
                }
                _ => return Err(outside()),
            }
        };
        let fits_32 = before == 0 && after.saturating_mul(size) < 1 << 31;
        let class = Class::of_view(elem, address, &extents, &strides, fits_32);
        let repeats = extents.iter().zip(&strides).any(|(&e, &s)| e > 1 && s == 0);
        Ok(Self { address, span, class, elem, repeats, memory, extents, strides, offset })
    }

    /// A view of elements that lie one after another in row-major order.
    ///
    /// # Errors
    /// As [`View::new`].
    pub fn row_major(memory: Arc<dyn Memory>, elem: ScalarType, offset: usize, extents: Axes) -> Result<Self> {
        let strides = row_major_strides(&extents).into();
        Self::new(memory, elem, offset, extents, strides)
    }

    /// Another view of the same block.
    ///
    /// # Errors
    /// As [`View::new`].
    pub fn with(&self, offset: usize, extents: Axes, strides: Axes) -> Result<Self> {
        Self::new(self.memory.clone(), self.elem, offset, extents, strides)
    }

    /// The block.
    pub fn memory(&self) -> &Arc<dyn Memory> {
        &self.memory
    }

    /// Element type.
    pub fn elem(&self) -> ScalarType {
        self.elem
    }

    /// Bytes of an element.
    pub fn size(&self) -> usize {
        self.elem.memory_bytes().unwrap_or(1) as usize
    }

    /// Element index of element zero in the block.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Address of element zero, in the device's address space.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Extents in elements.
    pub fn extents(&self) -> &[i64] {
        &self.extents
    }

    /// Strides in elements.
    pub fn strides(&self) -> &[i64] {
        &self.strides
    }

    /// Number of elements.
    pub fn count(&self) -> usize {
        self.extents.iter().product::<i64>() as usize
    }

    /// Addresses from the first to behind the last byte of the elements; empty where there are none.
    pub fn span(&self) -> &Range<u64> {
        &self.span
    }

    /// What can be promised of it to the compiler, while nothing else uses its memory.
    pub fn class(&self) -> Class {
        self.class
    }

    /// Whether several elements are the same memory.
    pub fn repeats(&self) -> bool {
        self.repeats
    }

    /// Whether the elements lie in memory one after another in row-major order.
    pub fn is_contiguous(&self) -> bool {
        if self.extents.contains(&0) {
            return true;
        }
        let mut expected = 1;
        self.extents.iter().zip(&self.strides).rev().all(|(&e, &s)| {
            let ok = e == 1 || s == expected;
            expected *= e;
            ok
        })
    }

    /// The bytes of the block from the first to behind the last element.
    pub fn bytes(&self) -> Range<usize> {
        let base = self.memory.address();
        (self.span.start - base) as usize..(self.span.end - base) as usize
    }

    /// The block's bytes that hold the elements, where these lie without gaps in row-major order.
    ///
    /// # Errors
    /// If they do not.
    pub fn dense_bytes(&self) -> Result<Range<usize>> {
        if self.is_contiguous() {
            return Ok(self.bytes());
        }
        let message = format!("a tensor of extents {:?} and strides {:?} has gaps", self.extents, self.strides);
        Err(Error::Tensor(format!("{message}; take `.contiguous()` of it first")))
    }
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "View of {} {:?} at {:#x}, strides {:?}", self.elem, self.extents, self.address, self.strides)
    }
}

/// Checks what can be said of extents and strides without a block.
fn check_axes(extents: &[i64], strides: &[i64]) -> Result<()> {
    check_rank(extents.len())?;
    if extents.len() != strides.len() {
        return Err(Error::Tensor(format!("extents {extents:?} and strides {strides:?} differ in number")));
    }
    if extents.iter().any(|e| !(0..=MAX_EXTENT).contains(e)) {
        return Err(Error::Tensor(format!("extents {extents:?} are not all between 0 and 2^48")));
    }
    // Also where one of them is 0: what multiplies them need not look out for it.
    let count = extents.iter().filter(|e| **e > 0).try_fold(1i64, |n, &e| n.checked_mul(e));
    count.map(drop).ok_or_else(|| Error::Tensor(format!("extents {extents:?} have more than 2^63 elements")))
}

/// Checks the number of axes.
///
/// # Errors
/// If there are more than 5.
pub fn check_rank(rank: usize) -> Result<()> {
    if rank > MAX_RANK {
        return Err(Error::Tensor(format!("tensors have at most {MAX_RANK} axes, found {rank}")));
    }
    Ok(())
}

/// Extents as they come from users.
///
/// # Errors
/// If there are more than 5, or one is more than 2^48.
pub fn axes(values: &[usize]) -> Result<Axes> {
    check_rank(values.len())?;
    let one = |n: &usize| i64::try_from(*n).ok().filter(|n| *n <= MAX_EXTENT);
    let all: Option<Axes> = values.iter().map(one).collect();
    all.ok_or_else(|| Error::Tensor(format!("{values:?} are not all between 0 and 2^48")))
}

/// Distance in elements from element zero to the one that lies furthest before it, and behind it; `None` where that is no
/// number of 64 bits.
pub fn reach(extents: &[i64], strides: &[i64]) -> Option<(i64, i64)> {
    let mut reach = (0i64, 0i64);
    for (&e, &s) in extents.iter().zip(strides) {
        let end = (e - 1).max(0).checked_mul(s)?;
        let side = if end < 0 { &mut reach.0 } else { &mut reach.1 };
        *side = side.checked_add(end)?;
    }
    Some(reach)
}
