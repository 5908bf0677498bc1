//! Copies and fills as both interfaces have them: what waits, what does not, and when pageable memory is read.

use crate::context::Context;
use crate::copy::{Copy, Fill, Place};
use crate::error::Result;
use crate::host;
use crate::op::Op;
use crate::stream::Stream;
use std::sync::Arc;

fn is_pageable(place: &Place) -> bool {
    matches!(place, Place::Host(address) if host::find(*address as u64).is_none())
}

impl Stream {
    /// Copies, and returns when that is done.
    pub fn copy(self: &Arc<Self>, context: &Arc<Context>, copy: Copy) -> Result<()> {
        copy.check(&context.devices)?;
        self.run_now(context, Op::Copy(copy))
    }

    /// Copies when the stream comes to it. As the drivers do it, pageable memory is read before this returns, and written before this
    /// returns; only page-locked memory is accessed later.
    ///
    /// # Safety
    /// The source, where it is in the host's memory, is readable in its whole extent.
    pub unsafe fn copy_async(self: &Arc<Self>, context: &Arc<Context>, copy: Copy) -> Result<()> {
        copy.check(&context.devices)?;
        if self.capture().is_some() {
            // A graph reads and writes when it runs.
            return self.submit(context, Op::Copy(copy)).map(drop);
        }
        let waits = is_pageable(&copy.to.place);
        // SAFETY: the caller promises it.
        let copy = if is_pageable(&copy.from.place) && !waits { unsafe { copy.staged()? } } else { copy };
        if waits { self.run_now(context, Op::Copy(copy)) } else { self.submit(context, Op::Copy(copy)).map(drop) }
    }

    /// Fills when the stream comes to it.
    pub fn fill_async(self: &Arc<Self>, context: &Arc<Context>, fill: Fill) -> Result<()> {
        fill.check(&context.devices)?;
        self.submit(context, Op::Fill(fill)).map(drop)
    }

    /// Gives device memory back when the stream comes to it. Memory that a graph allocated in the same capture stays the graph's.
    pub fn free_async(self: &Arc<Self>, context: &Arc<Context>, address: u64) -> Result<()> {
        context.check()?;
        if let Some(capture) = self.capture()
            && capture.graph().owns(address)
        {
            return self.submit(context, Op::GraphFree(address)).map(drop);
        }
        if !context.owns(address) {
            return Err(crate::error::Error::value(format!("{address:#x} is not the start of an allocation")));
        }
        self.submit(context, Op::Free(address)).map(drop)
    }

    /// Allocates device memory for use behind what the stream has to do. Recorded into a graph, it is the graph's.
    pub fn allocate_async(self: &Arc<Self>, context: &Arc<Context>, size: u64) -> Result<u64> {
        let capture = self.capture();
        let address = context.allocate("stream-ordered allocation", size)?;
        if let Some(capture) = capture {
            context.disown(address);
            capture.graph().own(&context.device, address);
            self.submit(context, Op::GraphAlloc(address))?;
        }
        Ok(address)
    }
}
