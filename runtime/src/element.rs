//! Host values as bytes.

use tegula_ir::types::ScalarType;
use tegula_lang::elem::{Element, F8E4M3, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, bf16, f16};

/// An element type that tensors can hold: its host representation is its form in device memory.
///
/// # Safety
/// The type has the size of [`Element::TYPE`] in memory, no padding, and its bytes are the element's bytes.
pub unsafe trait HostElement: Element {
    /// Whether these bytes, `size_of::<Self>()` of them, are a value of the type.
    fn valid(bytes: &[u8]) -> bool {
        let _ = bytes;
        true
    }
}

macro_rules! host_elements {
    ($($ty:ty),* $(,)?) => {$(
        // SAFETY: a primitive, or a transparent wrapper of one, of the element's width.
        unsafe impl HostElement for $ty {}
    )*};
}

host_elements!(i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, F8E4M3, F8E5M2, F8E4M3Fnuz, F8E5M2Fnuz);

// SAFETY: one byte, zero or one.
unsafe impl HostElement for bool {
    fn valid(bytes: &[u8]) -> bool {
        matches!(bytes, [0 | 1])
    }
}

/// The bytes of a slice.
pub fn bytes_of<T: HostElement>(values: &[T]) -> &[u8] {
    // SAFETY: a `HostElement` has no padding, and any initialised memory is valid as bytes.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// The values that bytes stand for, or `None` where some are not values of the type.
pub fn from_bytes<T: HostElement>(bytes: &[u8]) -> Option<Vec<T>> {
    let size = size_of::<T>();
    debug_assert_eq!(Some(size), T::TYPE.memory_bytes().map(|b| b as usize), "{}", T::TYPE);
    if T::TYPE == ScalarType::Bool && !bytes.chunks_exact(size).all(T::valid) {
        return None;
    }
    // SAFETY: the chunk has the size of `T`, and every bit pattern that passed the check above is a value of it.
    Some(bytes.chunks_exact(size).map(|c| unsafe { c.as_ptr().cast::<T>().read_unaligned() }).collect())
}
