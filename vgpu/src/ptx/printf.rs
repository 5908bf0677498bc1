//! `vprintf`: the format string and the packed arguments that the driver's convention passes.

use super::decode::Space;
use super::exec::Cx;
use super::exec::launch::lock;
use super::isa::memory::bytes_at;
use crate::printf::{Arguments, format};

/// Longer strings are cut off: the end may be missing.
const MAX_STRING: usize = 64 << 10;

/// A zero-terminated string at a generic address.
pub(crate) fn string(cx: &mut Cx, address: u64, lane: usize) -> String {
    let mut bytes = Vec::new();
    while bytes.len() < MAX_STRING {
        match bytes_at::<1>(cx, Space::Generic, address.wrapping_add(bytes.len() as u64), lane) {
            None | Some([0]) => break,
            Some([byte]) => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Prints what a lane asks for; returns how many arguments it took.
pub(crate) fn print(cx: &mut Cx, text: u64, arguments: u64, lane: usize) -> u32 {
    let text = string(cx, text, lane);
    let mut packed = Packed { cx, lane, arguments, offset: 0, taken: 0 };
    let line = format(&text, &mut packed);
    let taken = packed.taken;
    lock(&cx.l.printed).push_str(&line);
    taken
}

/// Arguments one after another, each aligned to its size.
struct Packed<'a, 'b> {
    cx: &'a mut Cx<'b>,
    lane: usize,
    arguments: u64,
    offset: u64,
    taken: u32,
}

impl Arguments for Packed<'_, '_> {
    fn number(&mut self, size: u64) -> u64 {
        self.offset = self.offset.next_multiple_of(size);
        let at = self.arguments.wrapping_add(self.offset);
        self.offset += size;
        self.taken += 1;
        if size == 4 {
            bytes_at::<4>(self.cx, Space::Generic, at, self.lane).map_or(0, |bytes| u32::from_le_bytes(bytes).into())
        } else {
            bytes_at::<8>(self.cx, Space::Generic, at, self.lane).map_or(0, u64::from_le_bytes)
        }
    }

    fn text(&mut self) -> String {
        let address = self.number(8);
        string(self.cx, address, self.lane)
    }
}
