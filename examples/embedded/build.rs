//! Compiles the program's kernels.

// The same file is a module of the program.
#[path = "src/kernels.rs"]
mod kernels;

use tegula::lang::kernel::BuildOptions;

fn main() {
    println!("cargo::rerun-if-changed=src/kernels.rs");
    tegula_build::Embed::new()
        .targets(["cpu:x86-64", "cpu:x86-64-v3", "sm_80", "sm_90a", "gfx942"])
        .kernels(tegula::kernel_list![kernels::saxpy])
        .kernel(tegula::kernel_list![kernels::softmax][0], [BuildOptions::default().dim("N", 256)])
        .run();
}
