//! Source lines in compiled kernels: they are those of the Rust kernel, and the code is the same without them.

use std::collections::BTreeSet;

use tegula::ir::Function;
use tegula::ir::types::ScalarType;
use tegula::lang::kernel::BuildOptions;
use tegula_codegen::gpu::Options;
use tegula_kernels::cases::CASES;
use tegula_vgpu::gcn;

const SOURCE: &str = include_str!("../src/matmul.rs");
const FILE: &str = "kernels/src/matmul.rs";

const WITHOUT: Options = Options { line_table: false, keep_llvm: false, keep_assembly: false };

/// The number of the first line that holds this text.
fn line_of(text: &str) -> u32 {
    let at = SOURCE.lines().position(|line| line.contains(text)).unwrap_or_else(|| panic!("no line has {text}"));
    at as u32 + 1
}

/// Where `matmul` does its work: in its own body, and in the device function that it calls.
fn lines_of_matmul() -> [u32; 2] {
    [line_of("acc = dot("), line_of("c.store(product::<T, BM, BN, BK>(a, b, i, j).cast());")]
}

fn matmul() -> Function {
    let case = CASES.iter().find(|case| case.name() == "matmul").expect("the library has a matmul");
    let mut options = BuildOptions::default();
    for (name, size) in (case.dims)(&case.default_sizes()) {
        options = options.dim(name, size as u32);
    }
    (case.build)(&options, ScalarType::F16).unwrap_or_else(|e| panic!("{e}"))
}

fn code_object(options: &Options) -> gcn::Module {
    let compiled = tegula_codegen_amdgpu::compile(&matmul(), "gfx942", options).unwrap_or_else(|e| panic!("{e}"));
    gcn::Module::load(&compiled.code_object).unwrap_or_else(|e| panic!("{e}"))
}

fn ptx(options: &Options) -> String {
    tegula_codegen_nvptx::compile(&matmul(), "sm_90a", options).unwrap_or_else(|e| panic!("{e}")).ptx
}

#[test]
fn a_code_object_has_a_table_of_rust_lines() {
    let module = code_object(&Options::default());
    let table = &module.object().lines;
    let lines: BTreeSet<u32> = table.iter().filter(|row| row.file.ends_with(FILE)).map(|row| row.line).collect();
    for line in lines_of_matmul() {
        assert!(lines.contains(&line), "line {line} is not among {lines:?}");
    }
    // No instruction is said to come from beyond the end of the file, and every address is in the code.
    let last = SOURCE.lines().count() as u32;
    assert!(lines.iter().all(|&line| line <= last), "{lines:?}");
    let code = &module.object().code;
    assert!(table.iter().all(|row| code.iter().any(|range| (range.start..=range.end).contains(&row.address))));
}

#[test]
fn machine_code_is_the_same_without_lines() {
    let [with, without] = [Options::default(), WITHOUT].map(|options| {
        let module = code_object(&options);
        let object = module.object();
        let code: Vec<u8> = object
            .code
            .iter()
            .flat_map(|range| &object.image[range.start as usize..range.end as usize])
            .copied()
            .collect();
        (code, object.lines.len())
    });
    assert!(with.0 == without.0, "the code differs");
    assert!(with.1 > 0 && without.1 == 0, "{} rows with lines, {} without", with.1, without.1);
}

#[test]
fn ptx_has_directives_of_rust_lines_and_is_the_same_without() {
    let (with, without) = (ptx(&Options::default()), ptx(&WITHOUT));
    let file = with
        .lines()
        .find_map(|line| line.trim().strip_prefix(".file\t")?.split_once(' ').filter(|(_, name)| name.contains(FILE)))
        .map(|(number, _)| number)
        .expect("a .file directive names the file");
    for line in lines_of_matmul() {
        assert!(with.contains(&format!(".loc\t{file} {line} ")), "no .loc of line {line}");
    }
    assert!(!without.contains(".loc"));
    assert_eq!(instructions(&with), instructions(&without));
}

/// The text but for lines: directives, the labels they need, and sections of debug information.
fn instructions(ptx: &str) -> Vec<&str> {
    let mut in_section = false;
    ptx.lines()
        .filter(|line| {
            let text = line.trim();
            in_section |= text.starts_with(".section");
            let skip = in_section
                || text.is_empty()
                || text.starts_with("//")
                || [".loc", ".file", "$L__tmp", "$L__func_begin", "$L__func_end"].iter().any(|s| text.starts_with(s));
            in_section &= text != "}";
            !skip
        })
        .collect()
}
