//! What is taken from the cache, and that LLVM has no part in it.

use std::path::Path;
use std::process::Command;

use tegula_artifact::Format;
use tegula_runtime::cache::DiskCache;

use crate::SIZE;
use crate::children::{DEVICE, run};
#[cfg(target_os = "linux")]
use crate::children::{WITHOUT_LLVM, on_stand_in, spawn};

/// A second process takes from disk what the first compiled; on Linux, with LLVM's code taken away, so that the process would
/// end at any call of it. `format` is that of what is kept.
fn hits_need_no_llvm(prepare: impl Fn(&mut Command), formats: &[(Format, usize)]) {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(run("three", folder.path(), &prepare), [3, 0]);
    let hit = |folder: &Path| {
        run("three", folder, |c| {
            prepare(c);
            #[cfg(target_os = "linux")]
            c.env(WITHOUT_LLVM, "1");
        })
    };
    assert_eq!(hit(folder.path()), [0, 3]);
    let listed = DiskCache::open(folder.path(), SIZE).expect("it opens").list().expect("it can be read");
    for (format, count) in formats {
        let of = listed.iter().filter(|l| l.entry.as_ref().is_ok_and(|e| e.artifact.format == *format));
        assert_eq!(of.count(), *count, "{format:?}");
    }
    assert_eq!(listed.len(), formats.iter().map(|(_, count)| count).sum::<usize>());
}

/// To take LLVM away does stop a process that needs it.
#[cfg(target_os = "linux")]
#[test]
fn nothing_is_compiled_without_llvm() {
    use std::os::unix::process::ExitStatusExt;

    let folder = tempfile::tempdir().expect("a folder");
    let child = spawn("one", folder.path(), |c| _ = c.env(WITHOUT_LLVM, "1"));
    let output = child.wait_with_output().expect("the child ends");
    assert_eq!(output.status.signal(), Some(libc::SIGSEGV), "{}", output.status);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn on_the_cpu() {
    hits_need_no_llvm(|_| {}, &[(Format::Object, 3)]);
}

#[test]
fn on_virtual_gpus() {
    hits_need_no_llvm(|c| _ = c.env(DEVICE, "vgpu:sm_80"), &[(Format::Ptx, 3)]);
    hits_need_no_llvm(|c| _ = c.env(DEVICE, "vgpu:gfx942"), &[(Format::CodeObject, 3)]);
}

/// Both are kept: what the compiler made, and the machine code that the driver made of that.
#[cfg(target_os = "linux")]
#[test]
fn on_cuda() {
    let off = |c: &mut Command| {
        on_stand_in(c, "cuda:0", "h200");
        c.env("TEGULA_PTXAS", "off");
    };
    hits_need_no_llvm(off, &[(Format::Ptx, 3), (Format::Cubin, 3)]);
}

#[cfg(target_os = "linux")]
#[test]
fn on_hip() {
    hits_need_no_llvm(|c| on_stand_in(c, "hip:0", "mi300x"), &[(Format::CodeObject, 3)]);
}

/// Whatever a kernel of the library is compiled to for the CPU, taking it up again needs no linker, and so no LLVM.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[test]
fn every_kernel_of_the_library_is_linked_without_llvm() {
    use tegula_artifact::cpu::link::link;
    use tegula_codegen_cpu::CpuCompiler;
    use tegula_lang::kernel::BuildOptions;

    let mut linked = 0;
    for info in tegula_kernels::library() {
        for instance in (info.instances)() {
            let types = info.types.iter().zip(&instance.types);
            let options = types.fold(BuildOptions::default(), |o, (name, ty)| o.ty(*name, *ty));
            let function = info.build(&options).expect("the library's kernels are right");
            let compiled = CpuCompiler::default().object(&function).expect("they compile for this processor");
            let code = link(&compiled.object, &compiled.info.symbol);
            assert!(code.is_ok(), "{} {:?}: {}", info.name, instance.types, code.expect_err("just seen"));
            linked += 1;
        }
    }
    assert!(linked >= tegula_kernels::library().len());
}
