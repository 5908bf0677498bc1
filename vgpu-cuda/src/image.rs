//! What a module can be loaded from: PTX text, and the images that this library's linker makes.
//!
//! A linked image looks like what the real linker makes from outside: an ELF file for CUDA's machine. Inside is the PTX, since
//! that is what the virtual GPU runs. Fat binaries are read as far as they hold PTX that is not compressed.

use crate::status::{CUresult, Outcome};
use std::ffi::c_void;
use tegula_vgpu_driver::error::Error;

/// The section that holds the PTX.
const SECTION: &str = ".vgpu.ptx";
/// The machine number of CUDA in ELF.
const EM_CUDA: u16 = 190;
const ELF_HEADER: usize = 64;
const SECTION_HEADER: usize = 64;
/// The first bytes of a fat binary, and of the structure that host code has around one.
const FATBIN_MAGIC: u32 = 0xBA55_ED50;
const WRAPPER_MAGIC: u32 = 0x466243B1;
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

    fn bytes(self, offset: usize, count: usize) -> &'static [u8] {
        // SAFETY: C promises a whole image, and what asks for the bytes has read from the image that they are part of it. They are not
        // kept beyond the call.
        unsafe { std::slice::from_raw_parts(self.0.cast::<u8>().wrapping_add(offset), count) }
    }

    fn u16(self, at: usize) -> u16 {
        self.bytes(at, 2).try_into().map_or(0, u16::from_le_bytes)
    }

    fn u32(self, at: usize) -> u32 {
        self.bytes(at, 4).try_into().map_or(0, u32::from_le_bytes)
    }

    fn u64(self, at: usize) -> u64 {
        self.bytes(at, 8).try_into().map_or(0, u64::from_le_bytes)
    }

    /// The PTX in the image.
    pub fn ptx(self) -> Outcome<String> {
        if self.0.is_null() {
            return Err(CUresult::ERROR_INVALID_VALUE.into());
        }
        // A text of fewer than four bytes ends before the fourth.
        let start: Vec<u8> = (0..4).map(|at| self.bytes(at, 1)[0]).take_while(|&byte| byte != 0).collect();
        if start == *b"\x7fELF" {
            return self.linked();
        }
        if let Ok(magic) = <[u8; 4]>::try_from(start.as_slice()) {
            match u32::from_le_bytes(magic) {
                FATBIN_MAGIC => return self.fatbin(),
                WRAPPER_MAGIC => return Self(self.u64(8) as *const c_void).fatbin(),
                _ => {}
            }
        }
        // SAFETY: C promises text that ends with zero.
        let text = unsafe { std::ffi::CStr::from_ptr(self.0.cast()) };
        text_of(text.to_bytes())
    }

    fn linked(self) -> Outcome<String> {
        let machine_code =
            || Error::NoBinary("the image is machine code, which virtual GPUs do not run; load PTX instead".to_owned());
        let (table, count) = (self.u64(40) as usize, usize::from(self.u16(60)));
        if self.u16(18) != EM_CUDA || usize::from(self.u16(58)) != SECTION_HEADER || table > LARGEST {
            return Err(Error::InvalidImage("an ELF file for another machine".to_owned()).into());
        }
        let header = |index: usize| table + index * SECTION_HEADER;
        let names = usize::from(self.u16(62));
        if names >= count {
            return Err(machine_code().into());
        }
        let names = self.u64(header(names) + 24) as usize;
        let is_ours = |&index: &usize| {
            let name = names + self.u32(header(index)) as usize;
            name < LARGEST
                && SECTION.bytes().chain([0]).enumerate().all(|(at, byte)| self.bytes(name + at, 1)[0] == byte)
        };
        let section = (0..count).find(is_ours).ok_or_else(machine_code)?;
        let (offset, size) = (self.u64(header(section) + 24) as usize, self.u64(header(section) + 32) as usize);
        if offset.saturating_add(size) > LARGEST {
            return Err(Error::InvalidImage("the image has an impossible size".to_owned()).into());
        }
        text_of(self.bytes(offset, size))
    }

    fn fatbin(self) -> Outcome<String> {
        let (header, size) = (usize::from(self.u16(6)), self.u64(8) as usize);
        if self.u32(0) != FATBIN_MAGIC || size > LARGEST {
            return Err(Error::InvalidImage("not a fat binary".to_owned()).into());
        }
        let (mut at, end) = (header, header + size);
        let mut compressed = false;
        while at + 64 <= end {
            let (kind, entry, length) = (self.u16(at), self.u32(at + 4) as usize, self.u64(at + 8) as usize);
            let flags = self.u64(at + 40);
            // Kind 1 is PTX, 2 is machine code; two of the flags tell of compression.
            if kind == 1 {
                if flags & 0xA000 == 0 && at + entry + length <= end {
                    let bytes = self.bytes(at + entry, length);
                    let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
                    return text_of(text);
                }
                compressed = true;
            }
            if entry == 0 {
                break;
            }
            at = at.saturating_add(entry).saturating_add(length);
        }
        let what = if compressed { "PTX only in compressed form" } else { "no PTX" };
        Err(Error::NoBinary(format!("the fat binary has {what}; virtual GPUs run plain PTX (nvcc -no-compress)"))
            .into())
    }
}

fn text_of(bytes: &[u8]) -> Outcome<String> {
    let text = std::str::from_utf8(bytes);
    let text = text.map_err(|_| Error::InvalidImage("neither PTX nor a linked image".to_owned()))?;
    Ok(text.trim_end_matches('\0').to_owned())
}

/// An image with PTX in it; `target` is the number of the architecture, such as 90.
pub fn link(ptx: &str, target: u32) -> Vec<u8> {
    let names = format!("\0{SECTION}\0.shstrtab\0");
    let text = ELF_HEADER;
    let strings = (text + ptx.len()).next_multiple_of(8);
    let table = (strings + names.len()).next_multiple_of(8);
    let mut image = vec![0; ELF_HEADER];
    image[..9].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 0x33, 7]);
    let mut put = |at: usize, bytes: &[u8]| image[at..at + bytes.len()].copy_from_slice(bytes);
    put(16, &2_u16.to_le_bytes());
    put(18, &EM_CUDA.to_le_bytes());
    put(20, &1_u32.to_le_bytes());
    put(40, &(table as u64).to_le_bytes());
    put(48, &target.to_le_bytes());
    put(52, &(ELF_HEADER as u16).to_le_bytes());
    put(58, &(SECTION_HEADER as u16).to_le_bytes());
    put(60, &3_u16.to_le_bytes());
    put(62, &2_u16.to_le_bytes());
    image.extend_from_slice(ptx.as_bytes());
    image.resize(strings, 0);
    image.extend_from_slice(names.as_bytes());
    image.resize(table + SECTION_HEADER, 0);
    for (name, kind, offset, size) in [(1, 1, text, ptx.len()), (2 + SECTION.len(), 3, strings, names.len())] {
        let mut header = [0; SECTION_HEADER];
        header[0..4].copy_from_slice(&(name as u32).to_le_bytes());
        header[4..8].copy_from_slice(&(kind as u32).to_le_bytes());
        header[24..32].copy_from_slice(&(offset as u64).to_le_bytes());
        header[32..40].copy_from_slice(&(size as u64).to_le_bytes());
        header[48..56].copy_from_slice(&1_u64.to_le_bytes());
        image.extend_from_slice(&header);
    }
    image
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::Failure;

    #[test]
    fn ptx_survives_linking() {
        let text = ".version 8.0\n.target sm_80\n";
        let image = link(text, 80);
        assert_eq!(Image::at(image.as_ptr().cast()).ptx().ok().as_deref(), Some(text));
        // Another section name: what a real linker makes.
        let mut other = image.clone();
        let at = other.windows(SECTION.len()).position(|bytes| bytes == SECTION.as_bytes()).unwrap();
        other[at + 1] = b'x';
        let failure = Image::at(other.as_ptr().cast()).ptx().unwrap_err();
        assert_eq!(crate::status::code(&failure), CUresult::ERROR_NO_BINARY_FOR_GPU);
    }

    #[test]
    fn ptx_is_taken_from_plain_text_and_fat_binaries() {
        let text = b".version 8.0\n\0";
        assert_eq!(Image::at(text.as_ptr().cast()).ptx().ok().as_deref(), Some(".version 8.0\n"));
        let fatbin = |flags: u64| {
            let mut bytes = vec![0; 16 + 64];
            bytes[0..4].copy_from_slice(&FATBIN_MAGIC.to_le_bytes());
            bytes[6..8].copy_from_slice(&16_u16.to_le_bytes());
            bytes[8..16].copy_from_slice(&(64 + text.len() as u64).to_le_bytes());
            bytes[16..18].copy_from_slice(&1_u16.to_le_bytes());
            bytes[20..24].copy_from_slice(&64_u32.to_le_bytes());
            bytes[24..32].copy_from_slice(&(text.len() as u64).to_le_bytes());
            bytes[56..64].copy_from_slice(&flags.to_le_bytes());
            bytes.extend_from_slice(text);
            bytes
        };
        let plain = fatbin(0);
        assert_eq!(Image::at(plain.as_ptr().cast()).ptx().ok().as_deref(), Some(".version 8.0\n"));
        let compressed = fatbin(0x2000);
        assert!(matches!(Image::at(compressed.as_ptr().cast()).ptx(), Err(Failure::Error(Error::NoBinary(_)))));
    }
}
