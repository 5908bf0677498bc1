//! What a module can be loaded from: a code object, or a bundle of several, of which the one for the device is taken.

use crate::status::{Outcome, hipError_t};
use std::ffi::c_void;
use tegula_vgpu_driver::error::Error;

const ELF_MAGIC: &[u8] = b"\x7fELF";
const BUNDLE_MAGIC: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
/// The first bytes of what host code has around a bundle.
const WRAPPER_MAGIC: u32 = 0x4850_4946;
/// More is not believed: the size of an image is only known from the image.
const LARGEST: usize = 1 << 30;

/// An image that C gives, without its size.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Image(*const c_void);

impl Image {
    /// An image that lies at an address.
    pub fn at(pointer: *const c_void) -> Self {
        Self(pointer)
    }

    fn bytes(&self, offset: usize, count: usize) -> &[u8] {
        // SAFETY: C promises a whole image, and what asks for the bytes has read from the image that they are part of it.
        unsafe { std::slice::from_raw_parts(self.0.cast::<u8>().wrapping_add(offset), count) }
    }

    fn starts_with(&self, magic: &[u8]) -> bool {
        // Byte by byte: what does not begin so may be shorter.
        magic.iter().enumerate().all(|(at, byte)| self.bytes(at, 1)[0] == *byte)
    }

    fn number(&self, at: usize, count: usize) -> usize {
        self.bytes(at, count).iter().rev().fold(0, |number, &byte| number << 8 | usize::from(byte))
    }

    /// The code object for a target such as `gfx942:sramecc+:xnack-`.
    pub fn code_object(&self, target: &str) -> Outcome<Vec<u8>> {
        if self.0.is_null() {
            return Err(hipError_t::INVALID_VALUE.into());
        }
        if self.starts_with(ELF_MAGIC) {
            return Ok(self.bytes(0, self.elf_size()?).to_vec());
        }
        if self.starts_with(BUNDLE_MAGIC) {
            return self.bundled(target);
        }
        if self.starts_with(&WRAPPER_MAGIC.to_le_bytes()) {
            return Self(self.number(8, 8) as *const c_void).code_object(target);
        }
        Err(Error::InvalidImage("neither a code object nor a bundle of them".to_owned()).into())
    }

    /// The size of an ELF file: its last section or table ends it.
    fn elf_size(&self) -> Outcome<usize> {
        let (programs, sections) = (self.number(32, 8), self.number(40, 8));
        let (program, program_count) = (self.number(54, 2), self.number(56, 2));
        let (section, section_count) = (self.number(58, 2), self.number(60, 2));
        let tables = [programs + program * program_count, sections + section * section_count];
        let mut end = tables.into_iter().max().unwrap_or(0);
        let too_large = || Error::InvalidImage("the code object has an impossible size".to_owned());
        if end > LARGEST {
            return Err(too_large().into());
        }
        for index in 0..program_count {
            let header = programs + index * program;
            end = end.max(self.number(header + 8, 8).saturating_add(self.number(header + 32, 8)));
        }
        for index in 0..section_count {
            let header = sections + index * section;
            // Sections without bytes in the file have a type of their own.
            if self.number(header + 4, 4) != 8 {
                end = end.max(self.number(header + 24, 8).saturating_add(self.number(header + 32, 8)));
            }
        }
        if end > LARGEST { Err(too_large().into()) } else { Ok(end) }
    }

    fn bundled(&self, target: &str) -> Outcome<Vec<u8>> {
        let mut at = BUNDLE_MAGIC.len();
        let count = self.number(at, 8);
        at += 8;
        let mut targets = Vec::new();
        for _ in 0..count.min(1024) {
            let (offset, size, length) = (self.number(at, 8), self.number(at + 8, 8), self.number(at + 16, 8));
            if offset.saturating_add(size) > LARGEST || length > 4096 {
                return Err(Error::InvalidImage("the bundle has an impossible size".to_owned()).into());
            }
            let id = String::from_utf8_lossy(self.bytes(at + 24, length)).into_owned();
            at += 24 + length;
            if let Some((_, own)) = id.split_once("--").filter(|(host, _)| host.starts_with("hip")) {
                if runs(own, target) && size > 0 {
                    return Ok(self.bytes(offset, size).to_vec());
                }
                targets.push(own.to_owned());
            }
        }
        Err(Error::NoBinary(format!("the bundle has code for {}, the device is {target}", targets.join(", "))).into())
    }
}

/// Whether code for a target runs on a device: the same processor, and features that are named on both sides agree.
fn runs(code: &str, device: &str) -> bool {
    let (mut code, mut device) = (code.split(':'), device.split(':'));
    if code.next() != device.next() {
        return false;
    }
    let features: Vec<_> = device.collect();
    code.all(|feature| features.contains(&feature))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_gives_the_code_of_the_device() {
        let mut bundle = BUNDLE_MAGIC.to_vec();
        let entries = [
            ("host-x86_64-unknown-linux--", 0),
            ("hipv4-amdgcn-amd-amdhsa--gfx90a", 3),
            ("hipv4-amdgcn-amd-amdhsa--gfx942:xnack-", 4),
        ];
        bundle.extend(3_u64.to_le_bytes());
        for (id, size) in entries {
            bundle.extend(512_u64.to_le_bytes());
            bundle.extend((size as u64).to_le_bytes());
            bundle.extend((id.len() as u64).to_le_bytes());
            bundle.extend(id.bytes());
        }
        bundle.resize(512, 0);
        bundle.extend(*b"code");
        let image = Image::at(bundle.as_ptr().cast());
        assert_eq!(image.code_object("gfx942:sramecc+:xnack-").ok().as_deref(), Some(&b"code"[..]));
        assert!(matches!(image.code_object("gfx1100"), Err(crate::status::Failure::Error(Error::NoBinary(_)))));
        assert!(!runs("gfx942:xnack+", "gfx942:sramecc+:xnack-"));
    }
}
