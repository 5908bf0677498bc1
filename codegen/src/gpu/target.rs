//! What the lowering asks of a GPU family: coordinates, barriers, lane exchange, kernel attributes, debugging.

use inkwell::values::FunctionValue;
use tegula_ir::ops::Scope;
use tegula_ir::types::ScalarType;

use crate::elementwise::NativeOps;
use crate::emit::{Emitter, Val};
use crate::session::LineTableKind;
use crate::target::Architecture;

/// One GPU architecture as the lowering uses it: its capability table and the intrinsics of its family.
pub trait GpuTarget: NativeOps {
    /// The capability table.
    fn architecture(&self) -> &'static Architecture;

    /// Which form of line information the family's tools take.
    fn line_table(&self) -> LineTableKind;

    /// Makes `function` a kernel of `threads` threads: calling convention and attributes.
    fn declare_kernel<'c>(&self, e: &Emitter<'c, '_>, function: FunctionValue<'c>, threads: u32);

    /// Called where the kernel's code begins, before anything that touches memory.
    fn begin_kernel(&self, e: &Emitter<'_, '_>) {
        let _ = e;
    }

    /// This thread's number in its program, as `i32`.
    fn thread_id<'c>(&self, e: &Emitter<'c, '_>) -> Val<'c>;

    /// This program's coordinate on a grid axis, as `i32`.
    fn program_id<'c>(&self, e: &Emitter<'c, '_>, axis: u8) -> Val<'c>;

    /// Number of programs on a grid axis, as `i32`.
    fn num_programs<'c>(&self, e: &Emitter<'c, '_>, axis: u8) -> Val<'c>;

    /// Waits for all threads of the program and orders their accesses to shared and global memory.
    fn barrier(&self, e: &Emitter<'_, '_>);

    /// Orders accesses to shared memory inside one warp, whose lanes all come here.
    fn warp_barrier(&self, e: &Emitter<'_, '_>);

    /// The `i32` that the lane whose number differs by `mask` has.
    fn shuffle_xor<'c>(&self, e: &Emitter<'c, '_>, value: Val<'c>, mask: u32) -> Val<'c>;

    /// The `i32` that lane `lane` (an `i32` below the warp's size) has.
    fn shuffle_index<'c>(&self, e: &Emitter<'c, '_>, value: Val<'c>, lane: Val<'c>) -> Val<'c>;

    /// LLVM's name of a synchronisation scope for global memory.
    fn sync_scope(&self, scope: Scope) -> &'static str;

    /// Marks an atomic instruction with what the family needs to know to select its native form.
    fn annotate_atomic<'c>(&self, e: &Emitter<'c, '_>, atomic: Val<'c>) {
        let _ = (e, atomic);
    }

    /// Stops the kernel with an error. `message` and `location` are reported where the family can.
    fn fail(&self, e: &Emitter<'_, '_>, message: &str, location: &str);

    /// Prints one piece of text as a whole: `format` in C's manner, and its arguments (`i64`, `f64`, or what
    /// [`truth_text`](Self::truth_text) gives for `%s`). Called by one thread.
    fn print<'c>(&self, e: &Emitter<'c, '_>, format: &str, args: &[Val<'c>]);

    /// The argument by which `%s` prints `true` or `false`.
    fn truth_text<'c>(&self, e: &Emitter<'c, '_>, truth: Val<'c>) -> Val<'c>;

    /// Whether an atomic on floats of this type is an instruction with the language's meaning.
    fn has_float_atomic(&self, op: tegula_ir::ops::AtomicOp, ty: ScalarType) -> bool {
        use crate::target::{AtomicOp, Element};
        let element = match ty {
            ScalarType::F16 => Element::F16,
            ScalarType::BF16 => Element::BF16,
            ScalarType::F32 => Element::F32,
            ScalarType::F64 => Element::F64,
            _ => return false,
        };
        // Minimum and maximum pass NaN over and order zeros in the language; the instructions that exist do not
        // promise that.
        op == tegula_ir::ops::AtomicOp::Add && self.architecture().has_atomic(AtomicOp::Add, element)
    }

    /// Called when the function is complete, with its value, to add what depends on what it uses.
    fn finish_kernel<'c>(&self, e: &Emitter<'c, '_>, function: FunctionValue<'c>) {
        let _ = (e, function);
    }
}
