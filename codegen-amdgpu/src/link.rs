//! Linking of an object into a code object (a shared ELF object that the driver loads).
//!
//! With LLD's libraries in the build the linker runs in this process, which takes a few milliseconds. Without them,
//! or after LLD has said that it cannot run again, `ld.lld` or `rust-lld` runs as a child process.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tegula_codegen::CodegenError;

/// Links one relocatable object into a code object.
///
/// # Errors
/// [`CodegenError::Link`] with the linker's messages, [`CodegenError::Io`] if the temporary folder fails.
pub fn link(kernel: &str, object: &[u8]) -> Result<Vec<u8>, CodegenError> {
    let folder = tempfile::tempdir().map_err(|e| io_error(&std::env::temp_dir(), e))?;
    let (input, output) = (folder.path().join("kernel.o"), folder.path().join("kernel.hsaco"));
    fs::write(&input, object).map_err(|e| io_error(&input, e))?;
    let arguments: Vec<String> = vec![
        "-shared".into(),
        "--no-undefined".into(),
        // One kernel: a second thread costs more than it gives.
        "--threads=1".into(),
        "-o".into(),
        output.display().to_string(),
        input.display().to_string(),
    ];
    run_linker(&arguments).map_err(|message| CodegenError::Link { kernel: kernel.to_owned(), message })?;
    fs::read(&output).map_err(|e| io_error(&output, e))
}

fn io_error(path: &Path, source: std::io::Error) -> CodegenError {
    CodegenError::Io { path: path.to_owned(), source }
}

fn run_linker(arguments: &[String]) -> Result<(), String> {
    #[cfg(tegula_lld)]
    if let Some(result) = in_process::run(arguments) {
        return result;
    }
    run_child(arguments)
}

/// Runs the first linker that can be found as a child process.
fn run_child(arguments: &[String]) -> Result<(), String> {
    let mut tried = Vec::new();
    for (program, flavor) in linkers() {
        let mut command = Command::new(&program);
        if flavor {
            command.args(["-flavor", "gnu"]);
        }
        match command.args(arguments).output() {
            Ok(output) if output.status.success() => return Ok(()),
            Ok(output) => return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
            Err(_) => tried.push(program.display().to_string()),
        }
    }
    Err(format!("no linker found (tried {}); install `lld-22` or set TEGULA_LLD", tried.join(", ")))
}

/// Linkers to try, each with whether it needs `-flavor gnu`.
fn linkers() -> Vec<(PathBuf, bool)> {
    let mut all: Vec<(PathBuf, bool)> = Vec::new();
    if let Some(path) = std::env::var_os("TEGULA_LLD") {
        all.push((path.into(), false));
    }
    all.push(("/usr/lib/llvm-22/bin/ld.lld".into(), false));
    all.push(("ld.lld-22".into(), false));
    all.push(("ld.lld".into(), false));
    all.push(("rust-lld".into(), true));
    if let Ok(output) = Command::new("rustc").args(["--print", "target-libdir"]).output() {
        let libdir = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        all.push((libdir.with_file_name("bin").join("rust-lld"), true));
    }
    all
}

#[cfg(tegula_lld)]
mod in_process {
    use std::ffi::{CStr, CString, c_char, c_int};
    use std::sync::Mutex;

    unsafe extern "C" {
        fn tegula_lld_link(
            arguments: *const *const c_char,
            count: usize,
            messages: *mut *mut c_char,
            usable: *mut c_int,
        ) -> c_int;
        fn tegula_lld_free(messages: *mut c_char);
    }

    /// Whether LLD may be called. It keeps global state, so one call at a time.
    static USABLE: Mutex<bool> = Mutex::new(true);

    /// Links in this process; `None` if LLD cannot be used any more.
    pub(super) fn run(arguments: &[String]) -> Option<Result<(), String>> {
        let arguments: Vec<CString> = match arguments.iter().map(|a| CString::new(a.as_str())).collect() {
            Ok(arguments) => arguments,
            Err(_) => return Some(Err("a path contains a NUL byte".to_owned())),
        };
        let pointers: Vec<*const c_char> = arguments.iter().map(|a| a.as_ptr()).collect();
        let mut usable = USABLE.lock().unwrap_or_else(|e| e.into_inner());
        if !*usable {
            return None;
        }
        let (mut messages, mut again) = (std::ptr::null_mut(), 0);
        // SAFETY: the pointers are to NUL-terminated strings that outlive the call, the lock keeps LLD's global state
        // to one caller, and the returned string is freed once.
        let (code, text) = unsafe {
            let code = tegula_lld_link(pointers.as_ptr(), pointers.len(), &mut messages, &mut again);
            let text = CStr::from_ptr(messages).to_string_lossy().trim().to_owned();
            tegula_lld_free(messages);
            (code, text)
        };
        *usable = again != 0;
        Some(if code == 0 { Ok(()) } else { Err(text) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_object_is_an_error_value() {
        for _ in 0..2 {
            let error = link("broken", b"this is not an object").unwrap_err();
            assert!(matches!(error, CodegenError::Link { .. }), "{error}");
            assert!(error.to_string().contains("kernel.o"), "{error}");
        }
    }

    #[test]
    fn the_child_process_reports_errors_too() {
        let error = run_child(&["-shared".into(), "/nonexistent/kernel.o".into()]).unwrap_err();
        assert!(error.contains("kernel.o"), "{error}");
    }
}
