//! Memory for tiles: one aligned block a thread, kept from launch to launch.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::RefCell;

/// Bytes of a cache line, and of the widest vector register.
const ALIGN: usize = 64;

/// Room before the first buffer, which a vector access may touch.
const FRONT: usize = 256;

struct Block {
    ptr: *mut u8,
    layout: Layout,
}

impl Block {
    fn new(bytes: usize) -> Self {
        // The size is a sum of tile sizes of one kernel, far below what a layout can describe.
        let layout = Layout::from_size_align(bytes, ALIGN).expect("the arena has a size that memory can have");
        // SAFETY: the layout has a size above zero.
        let ptr = unsafe { alloc(layout) };
        if ptr.is_null() {
            handle_alloc_error(layout);
        }
        Self { ptr, layout }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout and freed once.
        unsafe { dealloc(self.ptr, self.layout) }
    }
}

thread_local! {
    static ARENA: RefCell<Option<Block>> = const { RefCell::new(None) };
}

/// Runs `work` with an arena of at least `bytes` that nobody else uses meanwhile.
pub(crate) fn with_arena<R>(bytes: u64, work: impl FnOnce(*mut u8) -> R) -> R {
    let needed = FRONT + bytes as usize + FRONT;
    // Taken out for the time of use: work that comes back here on the same thread gets a block of its own.
    let kept = ARENA.with(|a| a.borrow_mut().take()).filter(|b| b.layout.size() >= needed);
    let block = kept.unwrap_or_else(|| Block::new(needed.next_multiple_of(4096)));
    // SAFETY: the block is at least `FRONT` bytes long.
    let result = work(unsafe { block.ptr.add(FRONT) });
    ARENA.with(|a| {
        let mut slot = a.borrow_mut();
        if slot.as_ref().is_none_or(|b| b.layout.size() < block.layout.size()) {
            *slot = Some(block);
        }
    });
    result
}
