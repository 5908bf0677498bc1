//! Lets the linker find MLIR's C interface, which Debian ships as static archives only.
//!
//! `mlir-sys` asks for a shared `libMLIR-C`. This writes a linker script of that name that takes what is needed
//! from the archives and everything else from the shared `libMLIR` and `libLLVM`, so that a test binary has
//! megabytes instead of hundreds of them.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-env-changed=MLIR_SYS_220_PREFIX");
    let prefix = env::var("MLIR_SYS_220_PREFIX").unwrap_or_else(|_| "/usr/lib/llvm-22".into());
    let lib = Path::new(&prefix).join("lib");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));

    let mut archives: Vec<String> = fs::read_dir(&lib)
        .unwrap_or_else(|e| panic!("{}: {e}; install libmlir-22-dev or set MLIR_SYS_220_PREFIX", lib.display()))
        .filter_map(|entry| entry.ok()?.path().into_os_string().into_string().ok())
        .filter(|path| path.contains("/libMLIRCAPI") && path.ends_with(".a"))
        .collect();
    archives.sort();
    let script = format!("GROUP({} AS_NEEDED(-lMLIR -lMLIRExecutionEngineShared -lLLVM-22))\n", archives.join(" "));
    fs::write(out.join("libMLIR-C.so"), script).expect("OUT_DIR is writable");

    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-search=native={}", lib.display());
    println!("cargo:rustc-link-arg=-Wl,-rpath,{}", lib.display());
}
