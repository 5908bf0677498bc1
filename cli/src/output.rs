//! `print!` and `println!` as the commands use them: a reader that has gone (`tegula kernels | head`) is no error, where those of
//! the standard library panic.

macro_rules! print {
    ($($text:tt)*) => { $crate::output::write(format_args!($($text)*)) };
}

macro_rules! println {
    ($($text:tt)*) => {{
        print!($($text)*);
        $crate::output::write(format_args!("\n"));
    }};
}

/// Writes to standard output.
pub(crate) fn write(text: std::fmt::Arguments<'_>) {
    use std::io::Write;
    // What cannot be written has no reader, or nowhere to be reported: the command's work and its exit status stand.
    let _ = std::io::stdout().write_fmt(text);
}
