//! What surrounds every function of the interface.
//!
//! A function is written inside [`driver_api!`] with the parameters that C passes. Pointers that C passes have types of this module,
//! which check for null; that they point to what the interface says otherwise is the promise of every caller in C, and
//! nobody else can make them.

use crate::status::{CUresult, Failure, Outcome};
use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs the body of a function: failures become codes, and no panic reaches C.
pub(crate) fn guard(name: &str, body: impl FnOnce() -> Outcome) -> CUresult {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => CUresult::SUCCESS,
        Ok(Err(failure)) => {
            tegula_vgpu_driver::report::log(name, &failure);
            failure.code()
        }
        Err(_) => CUresult::ERROR_UNKNOWN,
    }
}

/// A name and the address of its function.
pub(crate) type Symbol = (&'static str, *const c_void);

/// Defines functions of the interface, and `symbols()` with all of them. What follows `as` are versions of the same function
/// with the same parameters.
macro_rules! driver_api {
    ($($(#[$meta:meta])* fn $name:ident $args:tt $(as $alias:ident)* $body:block)*) => {
        $(
            driver_api!(@function $(#[$meta])* $name $args $body);
            $(driver_api!(@alias $name $alias $args);)*
        )*

        /// The functions of this module by name.
        pub(crate) fn symbols() -> Vec<$crate::entry::Symbol> {
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
        /// As the CUDA driver API says of this function: pointers are null, or point to what it names.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> $crate::status::CUresult {
            $crate::entry::guard(stringify!($name), move || $body)
        }
    };
    (@alias $name:ident $alias:ident ($($arg:ident: $ty:ty),* $(,)?)) => {
        #[doc = concat!("A version of `", stringify!($name), "` with the same parameters.")]
        ///
        /// # Safety
        /// As there.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $alias($($arg: $ty),*) -> $crate::status::CUresult {
            // SAFETY: the same parameters and the same promise.
            unsafe { $name($($arg),*) }
        }
    };
}
pub(crate) use driver_api;

fn null() -> Failure {
    CUresult::ERROR_INVALID_VALUE.into()
}

/// Where C wants a result.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Where C wants a result whose type follows from another argument.
    pub(crate) fn at(pointer: *mut c_void) -> Self {
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
        unsafe { CStr::from_ptr(self.0) }.to_str().map_err(|_| null())
    }
}

/// Room that C has for text.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Buffer(*mut c_char);

impl Buffer {
    /// A buffer given as an untyped pointer.
    pub(crate) fn untyped(pointer: *mut c_void) -> Self {
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
