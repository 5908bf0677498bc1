//! NumPy's `.npy` files, as far as dense arrays of numbers go. Types that NumPy lacks (bf16, fp8) travel as `u16` and `u8`.

use crate::error::{Error, Result};
use std::path::Path;

/// An array: its element type as NumPy writes it (`<f4`), its shape, and its bytes in row-major order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// NumPy's type string.
    pub descr: String,
    /// Extents, outermost first.
    pub shape: Vec<u64>,
    /// Elements, little-endian, row-major.
    pub bytes: Vec<u8>,
}

const MAGIC: &[u8] = b"\x93NUMPY";

/// The part of a Python dictionary's text behind a key.
fn value<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = header.split_once(&format!("'{key}'"))?;
    Some(rest.trim_start().strip_prefix(':')?.trim_start())
}

impl Array {
    /// Bytes of an element.
    pub fn element_bytes(&self) -> Option<usize> {
        self.descr.get(2..)?.parse().ok()
    }

    /// Reads an array from the bytes of a file.
    pub fn parse(bytes: &[u8]) -> std::result::Result<Self, String> {
        if !bytes.starts_with(MAGIC) || bytes.len() < 12 {
            return Err("not a .npy file".into());
        }
        let (length, start) = match bytes[6] {
            1 => (usize::from(u16::from_le_bytes([bytes[8], bytes[9]])), 10),
            2 | 3 => (u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]) as usize, 12),
            version => return Err(format!("version {version} of the format")),
        };
        let header = bytes.get(start..start + length).ok_or("the header is cut off")?;
        let header = std::str::from_utf8(header).map_err(|_| "the header is not text")?;
        let descr = value(header, "descr").and_then(|v| v.strip_prefix('\'')?.split_once('\'')).map(|(descr, _)| descr);
        let descr = descr.ok_or("no simple element type in the header")?;
        if descr.starts_with('>') {
            return Err(format!("the element type {descr} is big-endian"));
        }
        if !value(header, "fortran_order").is_some_and(|v| v.starts_with("False")) {
            return Err("the array is in column-major order".into());
        }
        let shape = value(header, "shape").and_then(|v| v.strip_prefix('(')?.split_once(')')).map(|(shape, _)| shape);
        let shape = shape.ok_or("no shape in the header")?;
        let extents = shape.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::parse);
        let shape = extents.collect::<std::result::Result<Vec<u64>, _>>().map_err(|_| "a shape that is not numbers")?;
        let array = Self { descr: descr.to_owned(), shape, bytes: bytes[start + length..].to_vec() };
        let element = array.element_bytes().ok_or("an element type without a size")? as u64;
        let count = array.shape.iter().try_fold(1_u64, |product, &extent| product.checked_mul(extent));
        match count.and_then(|count| count.checked_mul(element)) {
            Some(expected) if expected == array.bytes.len() as u64 => Ok(array),
            _ => Err("the file's size does not fit its shape".into()),
        }
    }

    /// The bytes of a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let shape: Vec<_> = self.shape.iter().map(u64::to_string).collect();
        let comma = if shape.len() == 1 { "," } else { "" };
        let mut header =
            format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{comma}), }}", self.descr, shape.join(", "));
        // The data starts at a multiple of 64.
        let padding = 63 - (10 + header.len()) % 64;
        header.push_str(&" ".repeat(padding));
        header.push('\n');
        let mut bytes = MAGIC.to_vec();
        bytes.extend([1, 0]);
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(&self.bytes);
        bytes
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|e| Error::BadLaunch(format!("{}: {e}", path.display())))?;
        Self::parse(&bytes).map_err(|message| Error::BadLaunch(format!("{}: {message}", path.display())))
    }

    /// Writes a file.
    pub fn write(&self, path: &Path) -> Result<()> {
        std::fs::write(path, self.to_bytes()).map_err(|e| Error::BadLaunch(format!("{}: {e}", path.display())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_survive() {
        for shape in [vec![], vec![3], vec![2, 3]] {
            let count = shape.iter().product::<u64>();
            let array = Array { descr: "<f2".into(), shape, bytes: (0..count * 2).map(|b| b as u8).collect() };
            let bytes = array.to_bytes();
            assert_eq!((bytes.len() - array.bytes.len()) % 64, 0);
            assert_eq!(Array::parse(&bytes), Ok(array));
        }
    }

    #[test]
    fn broken_files_are_errors() {
        let good = Array { descr: "<i4".into(), shape: vec![2], bytes: vec![0; 8] }.to_bytes();
        for cut in 0..good.len() {
            assert!(Array::parse(&good[..cut]).is_err());
        }
    }
}
