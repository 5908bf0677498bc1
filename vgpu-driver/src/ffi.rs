//! What surrounds every function of a C interface.
//!
//! A function is written inside [`c_interface!`](crate::c_interface) with the parameters that C passes. Pointers that C passes have types of
//! this module, which check for null; that they point to what the interface says otherwise is the promise of every caller in C, and
//! nobody else can make them.

use crate::code::Kernel;
use crate::error::Error;
use crate::launch::{arguments_from_buffer, arguments_from_pointers};
use crate::op::HostFunction;
use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tegula_vgpu::launch::Argument;

/// Why a function failed: a code of its interface, or an error with more to say.
#[derive(Debug)]
pub enum Failure {
    /// A code.
    Code(u32),
    /// An error.
    Error(Error),
}

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

/// What the functions' bodies give back.
pub type Outcome<T = ()> = Result<T, Failure>;

/// Runs the body of a function; `None` where it panicked: no panic reaches C.
pub fn guard(body: impl FnOnce() -> Outcome) -> Option<Outcome> {
    catch_unwind(AssertUnwindSafe(body)).ok()
}

/// A name and the address of its function.
pub type Symbol = (&'static str, *const c_void);

/// Defines functions of a C interface, and `symbols()` with all of them. What follows `as` are versions of the same function with the
/// same parameters. The calling crate has a module `entry` with the type of results, `Status`, and with `guard`, which takes the name of a
/// function and its body.
#[allow(clippy::crate_in_macro_def, reason = "status and guard are the calling crate's")]
#[macro_export]
macro_rules! c_interface {
    ($($(#[$meta:meta])* fn $name:ident $args:tt $(as $alias:ident)* $body:block)*) => {
        $(
            $crate::c_interface!(@function $(#[$meta])* $name $args $body);
            $($crate::c_interface!(@alias $name $alias $args);)*
        )*

        /// The functions of this module by name.
        pub(crate) fn symbols() -> Vec<$crate::ffi::Symbol> {
            vec![$(
                (stringify!($name), $name as *const std::ffi::c_void),
                $((stringify!($alias), $alias as *const std::ffi::c_void),)*
            )*]
        }
    };
    (@function $(#[$meta:meta])* $name:ident ($($arg:ident: $ty:ty),* $(,)?) $body:block) => {
        $(#[$meta])*
        ///
        /// # Safety
        /// As the interface says of this function: pointers are null, or point to what it names.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> crate::entry::Status {
            crate::entry::guard(stringify!($name), move || $body)
        }
    };
    (@alias $name:ident $alias:ident ($($arg:ident: $ty:ty),* $(,)?)) => {
        #[doc = concat!("A version of `", stringify!($name), "` with the same parameters.")]
        ///
        /// # Safety
        /// As there.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $alias($($arg: $ty),*) -> crate::entry::Status {
            // SAFETY: the same parameters and the same promise.
            unsafe { $name($($arg),*) }
        }
    };
}

/// Defines functions of a C interface that are refused, each group with the reason, and `symbols()` with all of them. They take no
/// parameters: by the calling conventions of the hosts that this runs on, the caller puts its arguments away itself.
#[allow(clippy::crate_in_macro_def, reason = "status and guard are the calling crate's")]
#[macro_export]
macro_rules! c_refused {
    ($($reason:literal: $($name:ident)*;)*) => {
        $($(
            #[doc = concat!("Refused: ", $reason, ".")]
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() -> crate::entry::Status {
                crate::entry::guard(stringify!($name), || Err($crate::error::Error::Unsupported($reason.to_owned()).into()))
            }
        )*)*

        /// The functions of this module by name.
        pub(crate) fn symbols() -> Vec<$crate::ffi::Symbol> {
            vec![$($((stringify!($name), $name as *const std::ffi::c_void)),*),*]
        }
    };
}

fn null() -> Failure {
    Error::value("a null pointer").into()
}

/// Where C wants a result.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Where C wants a result whose type follows from another argument.
    pub fn at(pointer: *mut c_void) -> Self {
        Self(pointer.cast())
    }

    /// Writes the result; fails if the pointer is null.
    pub fn set(self, value: T) -> Outcome {
        if self.0.is_null() {
            return Err(null());
        }
        self.set_if_wanted(value);
        Ok(())
    }

    /// Writes the result unless the pointer is null.
    pub fn set_if_wanted(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: C promises that it points to a writable `T`.
            unsafe { self.0.write_unaligned(value) };
        }
    }

    /// Fails if the pointer is null: before anything is made that would be lost.
    pub fn check(self) -> Outcome {
        if self.0.is_null() { Err(null()) } else { Ok(()) }
    }

    /// Whether the pointer is null.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The pointer.
    pub fn pointer(self) -> *mut T {
        self.0
    }

    /// The place of an element of a row.
    pub fn element(self, index: usize) -> Self {
        if self.0.is_null() { self } else { Self(self.0.wrapping_add(index)) }
    }

    /// What C has put there.
    pub fn get(self) -> Outcome<T>
    where
        T: Copy,
    {
        In(self.0.cast_const()).get()
    }

    /// Writes as many results as C says there is room for.
    pub fn set_all(self, values: impl IntoIterator<Item = T>) -> Outcome {
        for (index, value) in values.into_iter().enumerate() {
            Self(self.0).element(index).set(value)?;
        }
        Ok(())
    }
}

/// What C gives by pointer.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct In<T>(*const T);

impl<T: Copy> In<T> {
    /// The value; fails if the pointer is null.
    pub fn get(self) -> Outcome<T> {
        if self.0.is_null() {
            return Err(null());
        }
        // SAFETY: C promises that it points to a `T`.
        Ok(unsafe { self.0.read_unaligned() })
    }

    /// Whether the pointer is null.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// `count` values in a row; none need no pointer.
    pub fn values(self, count: usize) -> Outcome<Vec<T>> {
        (0..count).map(|index| Self(self.0.wrapping_add(if self.0.is_null() { 0 } else { index })).get()).collect()
    }
}

/// Text that C gives.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Text(*const c_char);

impl Text {
    /// The text; fails if the pointer is null or the text is not UTF-8.
    pub fn get(&self) -> Outcome<&str> {
        if self.0.is_null() {
            return Err(null());
        }
        // SAFETY: C promises text that ends with zero and stays during the call.
        unsafe { CStr::from_ptr(self.0) }.to_str().map_err(|_| Error::value("text that is not UTF-8").into())
    }
}

/// Room that C has for text.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Buffer(*mut c_char);

impl Buffer {
    /// A buffer given as an untyped pointer.
    pub fn untyped(pointer: *mut c_void) -> Self {
        Self(pointer.cast())
    }

    /// Writes as much of a text as there is room for, and a zero behind it. Returns how much was written, the zero among it.
    pub fn write(self, room: usize, text: &str) -> Outcome<usize> {
        if self.0.is_null() || room == 0 {
            return Err(null());
        }
        let length = text.len().min(room - 1);
        // SAFETY: C promises `room` writable bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), self.0.cast(), length);
            self.0.add(length).write(0);
        }
        Ok(length + 1)
    }
}

/// A pointer of the program's, on its way to another thread: what it points to is the program's business.
#[derive(Clone, Copy, Debug)]
pub struct UserData(pub *mut c_void);

// SAFETY: the pointer is only handed back to the program's own functions, which the interface calls on other threads.
unsafe impl Send for UserData {}
// SAFETY: as above.
unsafe impl Sync for UserData {}

impl UserData {
    /// The pointer. Closures that call this hold the whole value, not the bare pointer.
    pub fn pointer(self) -> *mut c_void {
        self.0
    }
}

/// `CUhostFn` and `hipHostFn_t`.
pub type HostFn = Option<unsafe extern "C" fn(*mut c_void)>;

/// A function of the host as an operation. It is not called in a lost context.
pub fn host_function(function: HostFn, data: *mut c_void) -> Outcome<HostFunction> {
    let function = function.ok_or_else(null)?;
    let data = UserData(data);
    Ok(Arc::new(move |fault| {
        if fault.is_none() {
            // SAFETY: C gave the function to be called with this pointer, from any thread.
            unsafe { function(data.pointer()) };
        }
    }))
}

/// The arguments of a launch, which C gives by a pointer to each (`params`) or all in one buffer (`extra`: pairs of a number and a pointer
/// up to `end`).
///
/// # Safety
/// The list that is not null is as the interface says.
pub unsafe fn arguments(
    kernel: &Kernel,
    params: *const *const c_void,
    extra: *const *const c_void,
    end: usize,
) -> Outcome<Vec<Argument>> {
    const BUFFER: usize = 1;
    const SIZE: usize = 2;
    if extra.is_null() {
        // SAFETY: C promises pointers to all parameters.
        return Ok(unsafe { arguments_from_pointers(kernel, params) }?);
    }
    if !params.is_null() {
        return Err(Error::value("arguments both by pointers and in a buffer").into());
    }
    let (mut buffer, mut size) = (std::ptr::null::<u8>(), None);
    let mut at = extra;
    loop {
        // SAFETY: C promises that the list ends with `end`.
        match unsafe { *at } as usize {
            number if number == end => break,
            // SAFETY: as above; a pointer follows.
            BUFFER => buffer = unsafe { *at.add(1) }.cast(),
            // SAFETY: as above; a pointer to the size follows.
            SIZE => size = Some(unsafe { *(*at.add(1)).cast::<usize>() }),
            number => return Err(Error::value(format!("an extra of number {number}")).into()),
        }
        // SAFETY: as above.
        at = unsafe { at.add(2) };
    }
    let size = size.filter(|_| !buffer.is_null()).ok_or_else(null)?;
    // SAFETY: C promises a buffer of this size.
    Ok(arguments_from_buffer(kernel, unsafe { std::slice::from_raw_parts(buffer, size) })?)
}
