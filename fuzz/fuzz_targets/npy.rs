//! Arrays of `vgpu run`: no bytes lead to a panic, and an array is read as it was written.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tegula_vgpu::tool::npy::Array;

fuzz_target!(|bytes: &[u8]| {
    let Ok(array) = Array::parse(bytes) else { return };
    assert_eq!(Array::parse(&array.to_bytes()).as_ref(), Ok(&array));
});
