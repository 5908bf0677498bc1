//! The program on its grid, barriers, promises to the compiler, prints and asserts.

use tegula_ir::ops::{Fact, OpKind};

use crate::context::{self, Handle};
use crate::elem::{AnyElem, Element};
use crate::shape::Shape;
use crate::tile::{Scalar, Tile};

/// This program's coordinate on a grid axis, 0 to 2. In a kernel with a `Tiles` output use its `index()`.
#[track_caller]
pub fn program_id(axis: u8) -> Scalar<i64> {
    Tile::new(context::emit([], |[]| OpKind::ProgramId { axis }))
}

/// The number of programs on a grid axis, 0 to 2.
#[track_caller]
pub fn num_programs(axis: u8) -> Scalar<i64> {
    Tile::new(context::emit([], |[]| OpKind::NumPrograms { axis }))
}

/// Waits until all threads of the program have come here, and orders their memory accesses.
#[track_caller]
pub fn barrier() {
    context::emit_all(&[], |_| OpKind::Barrier);
}

impl<T: AnyElem, S: Shape> Tile<T, S> {
    #[track_caller]
    fn assume(self, fact: Fact) -> Self {
        Tile::new(context::emit([self.handle()], |[x]| OpKind::Assume { x, fact }))
    }

    /// The same value, promised to be a multiple of `divisor` (for pointers: their byte address). Breaking the
    /// promise is undefined behaviour of the kernel.
    ///
    /// # Safety
    /// Every element is a multiple of `divisor`.
    #[track_caller]
    pub unsafe fn assume_divisible(self, divisor: u64) -> Self {
        self.assume(Fact::Divisible(divisor))
    }

    /// The same value, promised to lie in `min..=max`.
    ///
    /// # Safety
    /// Every element lies there.
    #[track_caller]
    pub unsafe fn assume_bounded(self, min: i64, max: i64) -> Self {
        self.assume(Fact::Bounded { min, max })
    }

    /// The same value, promised to count up by one in runs of `n` elements along `axis`.
    ///
    /// # Safety
    /// It does.
    #[track_caller]
    pub unsafe fn assume_contiguous(self, axis: u8, n: u32) -> Self {
        self.assume(Fact::Contiguous { axis, n })
    }
}

/// Something that can be printed from a kernel: tiles and scalars of numbers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be printed from a kernel",
    label = "only tiles and scalars can",
    note = "put build-time values into the message with `format!`"
)]
pub trait Printable {
    #[doc(hidden)]
    fn print_handle(&self) -> Handle;
}

impl<T: Element, S: Shape> Printable for Tile<T, S> {
    fn print_handle(&self) -> Handle {
        self.handle()
    }
}

/// Prints lines that begin with the program, and after every 24 values a new one; [`device_print!`](crate::device_print) is the
/// usual form.
#[track_caller]
pub fn print(message: impl Into<String>, args: &[&dyn Printable]) {
    let message = message.into();
    let handles: Vec<Handle> = args.iter().map(|a| a.print_handle()).collect();
    context::emit_all(&handles, |v| OpKind::Print { message, args: v.iter().copied().collect() });
}

/// Stops the kernel with an error that names this source line where any element of `cond` is false.
#[track_caller]
pub fn device_assert<S: Shape>(cond: Tile<bool, S>, message: impl Into<String>) {
    let message = message.into();
    context::emit([cond.handle()], |[cond]| OpKind::Assert { cond, message });
}

/// An error of the build if the condition, known at build time, does not hold: for relations between dims that
/// types cannot state.
#[track_caller]
pub fn static_assert(cond: bool, message: impl Into<String>) {
    if !cond {
        context::report(message, "this condition is checked when the kernel is built");
    }
}

/// Prints a line per program: the message, then each tile or scalar.
///
/// `device_print!("sum", x, y)`
#[macro_export]
macro_rules! device_print {
    ($message:expr $(, $arg:expr)* $(,)?) => {
        $crate::ops::program::print($message, &[$(&$arg),*])
    };
}
