//! Global memory: allocations, addresses, and which elements a memory op touches.
//!
//! An address is an `i64` whose upper 24 bits number the allocation (from 1) and whose lower 40 bits are a
//! signed byte offset into it, so pointer arithmetic, also out of an allocation and back, is integer addition.
//! Every access looks its allocation up and is refused where it does not lie inside.

use std::ops::Range;

use smallvec::SmallVec;

use super::buf::{Buf, ViewVal};
use super::shape::count;
use crate::literal::Literal;
use crate::numeric::{eval, int};
use crate::ops::AxisSet;
use crate::types::ScalarType;

const OFFSET_BITS: u32 = 40;

/// The allocations of a launch, one per tensor or pointer argument.
#[derive(Default, Debug)]
pub struct Memory {
    allocations: Vec<Vec<u8>>,
}

/// Address of each element of a memory op, or `None` where it is out of bounds or masked off.
pub type Addresses = Vec<Option<i64>>;

impl Memory {
    /// Takes over a block of bytes and gives the address of its first byte.
    pub fn adopt(&mut self, data: Vec<u8>) -> i64 {
        self.allocations.push(data);
        (self.allocations.len() as i64) << OFFSET_BITS
    }

    /// Gives back the blocks in the order they were adopted.
    pub fn release(self) -> Vec<Vec<u8>> {
        self.allocations
    }

    /// The allocation and bytes of an access, or what is wrong with it.
    fn locate(&self, address: i64, bytes: usize) -> Result<(usize, Range<usize>), String> {
        let half = 1i64 << (OFFSET_BITS - 1);
        let number = address.wrapping_add(half) >> OFFSET_BITS;
        let offset = address.wrapping_sub(number << OFFSET_BITS);
        let Some(data) = usize::try_from(number - 1).ok().and_then(|n| self.allocations.get(n)) else {
            return Err(format!("address {address:#x} belongs to no argument"));
        };
        let end = offset + bytes as i64;
        if offset < 0 || end > data.len() as i64 {
            return Err(format!("bytes {offset}..{end} lie outside the argument's allocation of {} bytes", data.len()));
        }
        if offset % bytes as i64 != 0 {
            return Err(format!("byte offset {offset} is not a multiple of the element's {bytes} bytes"));
        }
        Ok((number as usize - 1, offset as usize..end as usize))
    }

    /// Reads an element.
    pub fn read(&self, t: ScalarType, address: i64) -> Result<Literal, String> {
        let (n, range) = self.locate(address, element_bytes(t))?;
        let mut bytes = [0; 8];
        bytes[..range.len()].copy_from_slice(&self.allocations[n][range]);
        let bits = u64::from_le_bytes(bytes);
        // A byte that is neither 0 nor 1 is still true.
        Ok(eval::from_bits(t, if t == ScalarType::Bool { u64::from(bits != 0) } else { bits }))
    }

    /// Writes an element.
    pub fn write(&mut self, t: ScalarType, address: i64, value: Literal) -> Result<(), String> {
        let (n, range) = self.locate(address, element_bytes(t))?;
        let bytes = eval::to_bits(t, value).to_le_bytes();
        let len = range.len();
        self.allocations[n][range].copy_from_slice(&bytes[..len]);
        Ok(())
    }

    /// Reads each element; `pad` where there is no address.
    pub fn load(&self, t: ScalarType, addresses: &Addresses, pad: Literal) -> Result<Buf, String> {
        let mut out = Buf::splat(pad, 0).empty_like(addresses.len());
        for address in addresses {
            out.push(match address {
                Some(a) => self.read(t, *a)?,
                None => pad,
            });
        }
        Ok(out)
    }

    /// Writes each element that has an address.
    pub fn store(&mut self, t: ScalarType, addresses: &Addresses, value: &Buf) -> Result<(), String> {
        for (i, address) in addresses.iter().enumerate() {
            if let Some(a) = address {
                self.write(t, *a, value.get(i))?;
            }
        }
        Ok(())
    }
}

/// Bytes of an element in memory.
pub fn element_bytes(t: ScalarType) -> usize {
    t.memory_bytes().expect("a type with a form in memory") as usize
}

/// Whether element `i` is switched on.
fn on(mask: Option<&Buf>, i: usize) -> bool {
    mask.is_none_or(|m| {
        let m = m.bools();
        if m.len() == 1 { m[0] } else { m[i] }
    })
}

/// Address of an element of a view. Wraps, as the address arithmetic of the targets does; where the result is
/// wrong, it lies in no allocation.
fn element_address(view: &ViewVal, index: &[i64], bytes: i64) -> i64 {
    let offset = index.iter().zip(&view.strides).fold(0i64, |sum, (&i, &s)| sum.wrapping_add(i.wrapping_mul(s)));
    view.base.wrapping_add(offset.wrapping_mul(bytes))
}

/// Addresses of a box of a view.
///
/// # Errors
/// If an axis said to be in bounds is not: an earlier pass, or a promise of the launcher, was wrong.
pub fn tile_addresses(
    view: &ViewVal,
    t: ScalarType,
    offsets: &[i64],
    shape: &[u32],
    in_bounds: AxisSet,
    mask: Option<&Buf>,
) -> Result<Addresses, String> {
    for axis in 0..shape.len() {
        let end = offsets[axis].checked_add(shape[axis].into());
        let inside = offsets[axis] >= 0 && end.is_some_and(|e| e <= view.extents[axis]);
        if in_bounds.contains(axis) && !inside {
            return Err(format!(
                "axis {axis} is marked as in bounds, but elements {}..{} leave the view's extent of {}",
                offsets[axis],
                i128::from(offsets[axis]) + i128::from(shape[axis]),
                view.extents[axis]
            ));
        }
    }
    let bytes = element_bytes(t) as i64;
    let mut out = Vec::with_capacity(count(shape));
    let mut index: SmallVec<[u32; 5]> = SmallVec::from_elem(0, shape.len());
    let mut at: SmallVec<[i64; 5]> = offsets.into();
    let valid = |at: &[i64]| at.iter().zip(&view.extents).all(|(&i, &e)| i >= 0 && i < e);
    for i in 0..count(shape) {
        // Overflow of an offset near the end of i64 wraps to a negative index: out of bounds, as it should be.
        let address = (valid(&at) && on(mask, i)).then(|| element_address(view, &at, bytes));
        out.push(address);
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            at[axis] = at[axis].wrapping_add(1);
            if index[axis] < shape[axis] {
                break;
            }
            index[axis] = 0;
            at[axis] = offsets[axis];
        }
    }
    Ok(out)
}

/// Addresses of elements picked by index tiles, each with its integer type.
///
/// # Errors
/// As [`tile_addresses`], for an element that is not masked off.
pub fn gather_addresses(
    view: &ViewVal,
    t: ScalarType,
    indices: &[(ScalarType, &Buf)],
    in_bounds: AxisSet,
    mask: Option<&Buf>,
) -> Result<Addresses, String> {
    let bytes = element_bytes(t) as i64;
    let n = indices.first().map_or(1, |(_, b)| b.len());
    let mut out = Vec::with_capacity(n);
    for i in 0..n {
        if !on(mask, i) {
            out.push(None);
            continue;
        }
        let mut valid = true;
        for (axis, (ty, index)) in indices.iter().enumerate() {
            let at = int::value(*ty, index.ints()[i]);
            let inside = at >= 0 && at < view.extents[axis].into();
            if in_bounds.contains(axis) && !inside {
                return Err(format!(
                    "axis {axis} is marked as in bounds, but index {at} is not within the view's extent of {}",
                    view.extents[axis]
                ));
            }
            valid &= inside;
        }
        let index: SmallVec<[i64; 5]> = indices.iter().map(|(_, b)| b.ints()[i]).collect();
        out.push(valid.then(|| element_address(view, &index, bytes)));
    }
    Ok(out)
}

/// Addresses of a tile of pointers.
pub fn pointer_addresses(ptr: &Buf, mask: Option<&Buf>) -> Addresses {
    ptr.ints().iter().enumerate().map(|(i, &p)| on(mask, i).then_some(p)).collect()
}
