//! The scratch area in shared memory, and the barriers around its uses.
//!
//! Every use is inside one op: threads write, all wait, threads read. So all uses share the same bytes, and the area is
//! as large as the largest. Before the next use writes, all threads must have finished reading: a barrier is needed
//! unless one has passed since. [`SharedMemory`] keeps account of that along the structured control flow.

use inkwell::module::Linkage;
use inkwell::values::{BasicValue, GlobalValue};

use super::lowering::{Lowering, Result};
use crate::emit::{Emitter, SHARED, Val};
use crate::error::CodegenError;

/// The area is aligned for the widest access.
const ALIGN: u32 = 16;

/// The scratch area of a kernel under construction.
pub(super) struct SharedMemory<'c> {
    /// Stands for the area until its size is known.
    placeholder: GlobalValue<'c>,
    bytes: u64,
    /// Whether some thread may still be reading what the last use wrote.
    being_read: bool,
}

impl<'c> SharedMemory<'c> {
    pub(super) fn new(e: &Emitter<'c, '_>) -> Self {
        let ty = e.context.i8_type().array_type(0);
        let placeholder = e.module.add_global(ty, Some(inkwell::AddressSpace::from(SHARED)), "scratch.placeholder");
        SharedMemory { placeholder, bytes: 0, being_read: false }
    }

    /// Whether some thread may still be reading, to be saved and joined around branches.
    pub(super) fn being_read(&self) -> bool {
        self.being_read
    }

    /// Says that some thread may still be reading, as at the head of a loop or where branches meet.
    pub(super) fn set_being_read(&mut self, being_read: bool) {
        self.being_read = being_read;
    }
}

impl<'c> Lowering<'_, 'c, '_> {
    /// Starts a use of `bytes` bytes of scratch: gives the address at which threads may write from now on.
    pub(super) fn scratch(&mut self, bytes: u64) -> Val<'c> {
        if self.shared.being_read {
            self.barrier();
        }
        self.shared.bytes = self.shared.bytes.max(bytes);
        self.shared.placeholder.as_pointer_value().into()
    }

    /// Between writing and reading of a use.
    pub(super) fn scratch_written(&mut self) {
        self.barrier();
        self.shared.being_read = true;
    }

    /// A barrier of all threads of the program. Orders scratch and global memory.
    pub(super) fn barrier(&mut self) {
        self.target.barrier(&self.e);
        self.shared.being_read = false;
        self.hazards.clear();
    }

    /// Gives the area its size. Gives the bytes that the code declares and those that the launcher must ask for.
    ///
    /// # Errors
    /// If the target has less shared memory.
    pub(super) fn finish_shared_memory(&mut self) -> Result<(u32, u32)> {
        let arch = self.target.architecture();
        let bytes = self.shared.bytes.next_multiple_of(ALIGN.into());
        if bytes > arch.max_shared_bytes.into() {
            return Err(CodegenError::SharedMemory {
                kernel: self.f.name.clone(),
                needed: bytes,
                limit: arch.max_shared_bytes.into(),
                num_warps: self.f.num_warps,
                target: arch.name.to_owned(),
            });
        }
        let placeholder = self.shared.placeholder;
        if bytes == 0 {
            // SAFETY: without a use nothing refers to it.
            unsafe { placeholder.delete() };
            return Ok((0, 0));
        }
        let bytes = bytes as u32;
        let space = inkwell::AddressSpace::from(SHARED);
        let i8 = self.e.context.i8_type();
        let dynamic = bytes > arch.max_static_shared_bytes;
        // Memory asked for at launch has an unknown size: an external array of no elements.
        let ty = i8.array_type(if dynamic { 0 } else { bytes });
        let area = self.e.module.add_global(ty, Some(space), "scratch");
        area.set_alignment(ALIGN);
        if dynamic {
            area.set_linkage(Linkage::External);
        } else {
            area.set_linkage(Linkage::Internal);
            area.set_initializer(&ty.get_poison().as_basic_value_enum());
        }
        placeholder.as_pointer_value().replace_all_uses_with(area.as_pointer_value());
        // SAFETY: its uses have just been replaced.
        unsafe { placeholder.delete() };
        Ok(if dynamic { (0, bytes) } else { (bytes, 0) })
    }
}
