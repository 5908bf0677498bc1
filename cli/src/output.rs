//! Standard output. `print!` and `println!` as the commands use them: a reader that has gone (`tegula kernels | head`) is no
//! error, where those of the standard library panic. Whatever else keeps text from being written (a full disk) is remembered,
//! and the command fails at its end.

use std::io::{ErrorKind, Result, Write};
use std::sync::Mutex;

macro_rules! print {
    ($($text:tt)*) => { $crate::output::write(format_args!($($text)*)) };
}

macro_rules! println {
    ($($text:tt)*) => {{
        print!($($text)*);
        $crate::output::write(format_args!("\n"));
    }};
}

/// The first error of this process.
static FAILED: Mutex<Option<String>> = Mutex::new(None);

/// Writes text.
pub(crate) fn write(text: std::fmt::Arguments<'_>) {
    remember(std::io::stdout().write_fmt(text));
}

/// Writes bytes, which may be no text.
pub(crate) fn write_bytes(bytes: &[u8]) {
    remember(std::io::stdout().write_all(bytes));
}

/// Writes out what is still buffered, and gives what went wrong since the process began.
pub(crate) fn finish() -> std::result::Result<(), String> {
    remember(std::io::stdout().flush());
    let failed = FAILED.lock().unwrap_or_else(|e| e.into_inner()).take();
    failed.map_or(Ok(()), |e| Err(format!("cannot write to standard output: {e}")))
}

fn remember(result: Result<()>) {
    if let Err(e) = result
        && e.kind() != ErrorKind::BrokenPipe
    {
        FAILED.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(e.to_string());
    }
}
