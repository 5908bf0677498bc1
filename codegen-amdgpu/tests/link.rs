//! From LLVM IR to a code object, read back by `llvm-readelf`.

use std::process::Command;

use inkwell::memory_buffer::MemoryBuffer;
use tegula_codegen::session::{Artifact, Machine, Session, Timings};
use tegula_codegen::target::Architecture;
use tegula_codegen_amdgpu::Options;
use tegula_ir::text::parse_function;

const KERNEL: &str = "
define amdgpu_kernel void @store_seven(ptr addrspace(1) %p) #0 {
  store i32 7, ptr addrspace(1) %p
  ret void
}
attributes #0 = { \"amdgpu-flat-work-group-size\"=\"256,256\" }
";

#[test]
fn a_code_object_links_and_its_metadata_reads_back() {
    let machine = Machine::new(Architecture::by_name("gfx942").unwrap().machine_spec()).unwrap();
    let session = Session::new();
    let mut timings = Timings::default();
    let buffer = MemoryBuffer::create_from_memory_range_copy(KERNEL.as_bytes(), "store_seven.ll");
    let module = session.context().create_module_from_ir(buffer).unwrap();
    machine.prepare(&module);
    session.optimize(&module, &machine, "default<O3>", &mut timings).unwrap();
    let object = session.emit(&module, &machine, Artifact::Object, &mut timings).unwrap();
    let code_object = tegula_codegen_amdgpu::link("store_seven", &object).unwrap();
    assert_eq!(&code_object[..4], b"\x7fELF");
    // Shared object, machine EM_AMDGPU.
    assert_eq!(code_object[16..20], [3, 0, 224, 0]);

    let readelf = "/usr/lib/llvm-22/bin/llvm-readelf";
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &code_object).unwrap();
    match Command::new(readelf).arg("--notes").arg(file.path()).output() {
        Ok(output) => {
            let notes = String::from_utf8_lossy(&output.stdout);
            assert!(notes.contains(".max_flat_workgroup_size: 256"), "{notes}");
            assert!(notes.contains(".wavefront_size: 64"), "{notes}");
        }
        Err(error) => eprintln!("SKIPPED: {readelf} cannot be run: {error}"),
    }
}

/// A wave has 64 threads: 32 of them are more than a program may have.
#[test]
fn too_many_warps_are_refused() {
    let function = parse_function("kernel @k() num_warps(32) {\n  return\n}", "kernel.tile").unwrap();
    let error = tegula_codegen_amdgpu::compile(&function, "gfx942", &Options::default()).unwrap_err().to_string();
    assert!(error.contains("num_warps = 32") && error.contains(".. 16 warps of 64 threads"), "{error}");
}
