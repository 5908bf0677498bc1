//! Gives the compiler's fingerprint to the crate: code that another compiler made must never be taken from the kernel
//! cache, also not while the compiler is being worked on and its version stays.

use std::fs;
use std::path::{Path, PathBuf};

/// Crates whose sources decide what code comes of Tile IR. In a published crate they are not beside this one; there the
/// version stands for them, as releases depend on one another by exact version.
const COMPILER: &[&str] = &["ir", "artifact", "codegen", "codegen-cpu", "codegen-nvptx", "codegen-amdgpu", "runtime"];

fn main() {
    let workspace = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("..");
    let mut hasher = blake3::Hasher::new();
    for name in COMPILER {
        let folder = workspace.join(name).join("src");
        if folder.is_dir() {
            println!("cargo:rerun-if-changed={}", folder.display());
            hash(&folder, &mut hasher);
        }
    }
    println!("cargo:rerun-if-changed=build.rs");
    let version = std::env::var("CARGO_PKG_VERSION").expect("cargo sets it");
    println!("cargo:rustc-env=TEGULA_COMPILER={version}+{}", &hasher.finalize().to_hex()[..16]);
}

/// Hashes names and contents of all files, in the order of their names.
fn hash(folder: &Path, hasher: &mut blake3::Hasher) {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|e| e.expect("the folder can be read").path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            hash(&path, hasher);
        } else {
            let text = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            hasher.update(&(name.len() as u64).to_le_bytes()).update(name.as_bytes());
            hasher.update(&(text.len() as u64).to_le_bytes()).update(&text);
        }
    }
}
