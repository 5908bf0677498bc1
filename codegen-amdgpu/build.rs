//! Builds the shim over LLD's static libraries, if they are installed (Debian: `liblld-22-dev`). Without them the
//! crate runs a linker as a child process, so their absence is not an error.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    println!("cargo:rustc-check-cfg=cfg(tegula_lld)");
    println!("cargo:rerun-if-changed=src/lld_shim.cpp");
    println!("cargo:rerun-if-env-changed=LLVM_SYS_221_PREFIX");

    let prefix = PathBuf::from(env::var_os("LLVM_SYS_221_PREFIX").unwrap_or_else(|| "/usr/lib/llvm-22".into()));
    let (include, lib) = (prefix.join("include"), prefix.join("lib"));
    let present = fs::exists(include.join("lld/Common/Driver.h")).unwrap_or(false)
        && fs::exists(lib.join("liblldELF.a")).unwrap_or(false);
    if !present {
        println!("cargo:warning=no LLD libraries in {}; code objects are linked by a child process", prefix.display());
        return;
    }
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .file("src/lld_shim.cpp")
        // As a system folder, so that warnings in LLVM's headers stay LLVM's.
        .flag("-isystem")
        .flag(include.display().to_string())
        .flag("-fno-exceptions")
        .flag("-fno-rtti")
        .compile("tegula_lld_shim");
    println!("cargo:rustc-link-search=native={}", lib.display());
    println!("cargo:rustc-link-lib=static=lldELF");
    println!("cargo:rustc-link-lib=static=lldCommon");
    println!("cargo:rustc-link-lib=dylib=LLVM-22");
    // LLD compresses sections with these. libLLVM needs them at run time, so they are there even where the packages
    // with the unversioned names are not.
    println!("cargo:rustc-link-lib=dylib:+verbatim=libz.so.1");
    println!("cargo:rustc-link-lib=dylib:+verbatim=libzstd.so.1");
    println!("cargo:rustc-cfg=tegula_lld");
}
