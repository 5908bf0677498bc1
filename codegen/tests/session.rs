//! The LLVM session: errors are values, every target emits, line tables have the form that their target needs.

use inkwell::AddressSpace;
use inkwell::memory_buffer::MemoryBuffer;
use tegula_codegen::CodegenError;
use tegula_codegen::session::{Artifact, LineTable, LineTableKind, Machine, Phase, Session, SourceLocation, Timings};
use tegula_codegen::target::Architecture;

fn machine(name: &str) -> Machine {
    Machine::new(Architecture::by_name(name).unwrap().machine_spec()).unwrap()
}

/// Optimises and emits LLVM assembly text for `machine`.
fn compile(text: &str, machine: &Machine, artifact: Artifact) -> Result<Vec<u8>, CodegenError> {
    let session = Session::new();
    let mut timings = Timings::default();
    let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "test.ll");
    let module = session.context().create_module_from_ir(buffer).expect("test IR parses");
    module.set_name("test");
    machine.prepare(&module);
    session.verify(&module, &mut timings)?;
    session.optimize(&module, machine, "default<O3>", &mut timings)?;
    let bytes = session.emit(&module, machine, artifact, &mut timings)?;
    let phases: Vec<Phase> = timings.phases().iter().map(|(phase, _)| *phase).collect();
    assert_eq!(phases, [Phase::Verify, Phase::Optimize, Phase::Emit]);
    Ok(bytes)
}

const ADD_ONE: &str = "
define void @add_one(ptr addrspace(1) %p) {
  %x = load float, ptr addrspace(1) %p
  %y = fadd float %x, 1.0
  store float %y, ptr addrspace(1) %p
  ret void
}
";

#[test]
fn every_architecture_emits_assembly() {
    for arch in Architecture::all() {
        let text = compile(ADD_ONE, &machine(arch.name), Artifact::Assembly).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("add_one"), "{}: {text}", arch.name);
    }
}

#[test]
fn the_host_emits_an_elf_object() {
    let host = Machine::host().unwrap();
    let text = ADD_ONE.replace(" addrspace(1)", "");
    let object = compile(&text, &host, Artifact::Object).unwrap();
    assert_eq!(&object[..4], b"\x7fELF");
}

#[test]
fn bad_inline_assembly_is_an_error_value() {
    let text = r#"
define void @bad() {
  call void asm sideeffect "v_no_such_instruction v0, v1", ""()
  ret void
}
"#;
    let error = compile(text, &machine("gfx942"), Artifact::Object).unwrap_err();
    let CodegenError::Llvm { phase: Phase::Emit, diagnostics, .. } = &error else { panic!("{error}") };
    assert!(diagnostics[0].message.contains("invalid instruction"), "{error}");
}

#[test]
fn too_much_local_memory_is_an_error_value() {
    let text = "
@lds = internal addrspace(3) global [70000 x i32] poison
define amdgpu_kernel void @big(i32 %i) {
  %p = getelementptr i32, ptr addrspace(3) @lds, i32 %i
  store volatile i32 1, ptr addrspace(3) %p
  ret void
}
";
    let error = compile(text, &machine("gfx942"), Artifact::Object).unwrap_err();
    assert!(error.to_string().contains("local memory"), "{error}");
}

#[test]
fn a_wrong_pipeline_is_an_error_value() {
    let session = Session::new();
    let machine = Machine::host().unwrap();
    let module = session.module("empty", &machine);
    let error = session.optimize(&module, &machine, "no-such-pass", &mut Timings::default()).unwrap_err();
    assert!(error.to_string().contains("no-such-pass"), "{error}");
}

#[test]
fn invalid_ir_is_an_error_value() {
    let session = Session::new();
    let machine = Machine::host().unwrap();
    let module = session.module("invalid", &machine);
    let ty = session.context().void_type().fn_type(&[], false);
    let function = module.add_function("f", ty, None);
    session.context().append_basic_block(function, "entry");
    let error = session.verify(&module, &mut Timings::default()).unwrap_err();
    assert!(matches!(error, CodegenError::InvalidModule { .. }), "{error}");
}

/// PTX with a line table must not become a `debug` target, because `ptxas` then optimises less.
#[test]
fn ptx_lines_are_directives_alone() {
    let session = Session::new();
    let context = session.context();
    let machine = machine("sm_90a");
    let module = session.module("lines", &machine);
    let pointer = context.ptr_type(AddressSpace::from(1));
    let function = module.add_function("lines", context.void_type().fn_type(&[pointer.into()], false), None);
    let builder = context.create_builder();
    builder.position_at_end(context.append_basic_block(function, "entry"));
    let at = |file, line| SourceLocation { file, line, column: 5 };
    let mut table = LineTable::new(context, &module, function, at("src/kernel.rs", 40), LineTableKind::DirectivesOnly);
    table.set_location(&builder, at("src/kernel.rs", 42));
    let p = function.get_nth_param(0).unwrap().into_pointer_value();
    builder.build_store(p, context.i32_type().const_int(7, false)).unwrap();
    table.set_location(&builder, at("src/helper.rs", 3));
    builder.build_return(None).unwrap();
    table.finish();

    let mut timings = Timings::default();
    session.verify(&module, &mut timings).unwrap();
    let ptx = session.emit(&module, &machine, Artifact::Assembly, &mut timings).unwrap();
    let ptx = String::from_utf8(ptx).unwrap();
    assert!(ptx.contains(".target sm_90a\n"), "{ptx}");
    assert!(ptx.contains("src/kernel.rs\"") && ptx.contains("src/helper.rs\""), "{ptx}");
    assert!(ptx.contains("\t.loc\t1 42 5"), "{ptx}");
    assert!(!ptx.contains(".debug_line") && !ptx.contains(".debug_info"), "{ptx}");
}
