//! The print buffer of a launch, and the text that kernels leave in it.
//!
//! The convention is the one that ROCm keeps for code with `amdhsa.printf` metadata. The hidden argument
//! `hidden_printf_buffer` is the buffer's address. Its first two words are the bytes used so far, which kernels add to
//! atomically, and the bytes that there are behind them. A record is the number of a format, one word, and the
//! arguments, whose sizes the metadata tells; it is written only where it fits whole.

use crate::error::{Error, Location, Result};
use crate::memory::GlobalMemory;
use crate::printf::{Arguments, format};
use std::collections::HashMap;

/// Bytes for the records of one launch, as many as ROCm's buffer has.
const CAPACITY: u32 = 1 << 20;

/// Bytes before the first record.
const HEADER: usize = 8;

/// One format of the metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrintFormat {
    /// Bytes of each argument in a record.
    sizes: Vec<usize>,
    /// The format string.
    text: String,
}

/// Reads an entry of `amdhsa.printf`: `number:count:size:...:size:text`, with escapes in the text.
pub(super) fn parse(entry: &str) -> Result<(u32, PrintFormat)> {
    let bad = || Error::Parse {
        location: Location::default(),
        message: format!("`{entry}` in `amdhsa.printf` is not a number, sizes of arguments and a format"),
    };
    let mut rest = entry;
    let mut number = || -> Option<usize> {
        let (number, after) = rest.split_once(':')?;
        rest = after;
        number.parse().ok()
    };
    let id = number().and_then(|id| u32::try_from(id).ok()).ok_or_else(bad)?;
    let count = number().filter(|&count| count <= 256).ok_or_else(bad)?;
    let sizes = (0..count).map(|_| number().filter(|&size| size <= 1 << 16)).collect::<Option<_>>().ok_or_else(bad)?;
    Ok((id, PrintFormat { sizes, text: unescape(rest) }))
}

/// Resolves the escapes that LLVM writes (`AMDGPUPrintfRuntimeBinding`) and ROCm's runtime knows. Any other backslash stands for
/// itself.
fn unescape(text: &str) -> String {
    const ESCAPES: [(&str, char); 7] =
        [("a", '\x07'), ("b", '\x08'), ("f", '\x0c'), ("n", '\n'), ("r", '\r'), ("v", '\x0b'), ("72", ':')];
    let mut parts = text.split('\\');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match ESCAPES.iter().find_map(|&(name, c)| Some((c, part.strip_prefix(name)?))) {
            Some((c, rest)) => {
                out.push(c);
                out.push_str(rest);
            }
            None => {
                out.push('\\');
                out.push_str(part);
            }
        }
    }
    out
}

/// An empty buffer.
pub(super) fn empty() -> Vec<u8> {
    let mut bytes = vec![0; HEADER + CAPACITY as usize];
    bytes[4..HEADER].copy_from_slice(&CAPACITY.to_le_bytes());
    bytes
}

/// The text of all records in a buffer, in their order.
pub(super) fn read(formats: &HashMap<u32, PrintFormat>, memory: &GlobalMemory, address: u64) -> Result<String> {
    let mut bytes = vec![0; HEADER + CAPACITY as usize];
    memory.read(address, &mut bytes)?;
    let used = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]).min(CAPACITY);
    let mut records = &bytes[HEADER..HEADER + used as usize];
    let mut out = String::new();
    // The first record that is not whole is the one that did not fit any more.
    while let Some((&id, rest)) = records.split_first_chunk::<4>() {
        let Some(PrintFormat { sizes, text }) = formats.get(&u32::from_le_bytes(id)) else { break };
        let Some((arguments, rest)) = rest.split_at_checked(sizes.iter().sum()) else { break };
        out.push_str(&format(text, &mut Record { sizes, arguments }));
        records = rest;
    }
    Ok(out)
}

/// The arguments of a record that have not been read.
struct Record<'a> {
    sizes: &'a [usize],
    arguments: &'a [u8],
}

impl<'a> Record<'a> {
    fn next(&mut self) -> &'a [u8] {
        let Some((&size, sizes)) = self.sizes.split_first() else { return &[] };
        let (bytes, rest) = self.arguments.split_at(size);
        (self.sizes, self.arguments) = (sizes, rest);
        bytes
    }
}

impl Arguments for Record<'_> {
    fn number(&mut self, _bytes: u64) -> u64 {
        let bytes = self.next();
        let mut word = [0; 8];
        let size = bytes.len().min(8);
        word[..size].copy_from_slice(&bytes[..size]);
        u64::from_le_bytes(word)
    }

    fn text(&mut self) -> String {
        let bytes = self.next().split(|&byte| byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Fill;

    #[test]
    fn records_up_to_the_one_that_did_not_fit() {
        let (id, print) = parse("7:2:8:4:x\\72 %lld\\n%d\\n").unwrap();
        assert_eq!((id, print.text.as_str()), (7, "x: %lld\n%d\n"));
        let formats = HashMap::from([(id, print)]);
        let memory = GlobalMemory::default();
        let mut bytes = empty();
        let mut record = 7_u32.to_le_bytes().to_vec();
        record.extend((-5_i64).to_le_bytes());
        record.extend(9_u32.to_le_bytes());
        let whole = CAPACITY as usize / record.len();
        for at in 0..whole {
            bytes[HEADER + at * record.len()..][..record.len()].copy_from_slice(&record);
        }
        // Kernels count on where records do not fit.
        bytes[..4].copy_from_slice(&(CAPACITY + 100).to_le_bytes());
        let address = memory.allocate("prints", bytes.len() as u64, Fill::Zero).unwrap();
        memory.write(address, &bytes).unwrap();
        assert_eq!(read(&formats, &memory, address).unwrap(), "x: -5\n9\n".repeat(whole));
    }

    #[test]
    fn escapes_are_those_of_llvm() {
        assert_eq!(unescape(r"a\725\a\b\f\r\v\n"), "a:5\x07\x08\x0c\r\x0b\n");
        assert_eq!(unescape(r"C\dir\\n\072\"), "C\\dir\\\n\\072\\");
    }

    #[test]
    fn entries_that_are_no_formats_are_refused() {
        for entry in ["", "1", "1:2:8", "x:0:a", "1:1:y:a"] {
            assert!(parse(entry).is_err(), "{entry}");
        }
    }
}
