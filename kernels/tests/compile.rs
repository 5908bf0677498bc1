//! Every kernel of the library in every element type, and every kernel of the examples, compiled for each GPU target.
//! PTX goes through NVIDIA's assembler where it is there, and must give no warning; the metadata
//! of code objects is read back by `llvm-readelf` where it is there.

use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Failed, Trial};
use tegula::ir::Function;
use tegula::lang::kernel::{BuildOptions, KernelInfo};
use tegula::runtime::compiler::{Compilation, Target};
use tegula_codegen::target::Architecture;
use tegula_codegen_nvptx::ptxas;
use tegula_kernels::cases::CASES;

// The examples' kernels are those of the programs themselves. Their `main` is run by their own tests.
#[path = "../../examples/dlpack.rs"]
#[allow(dead_code)]
mod dlpack;
#[path = "../../examples/embedded/src/kernels.rs"]
#[allow(dead_code)]
mod embedded;
#[path = "../../examples/tutorial_1_vector_add.rs"]
#[allow(dead_code)]
mod tutorial_1;
#[path = "../../examples/tutorial_2_fused_softmax.rs"]
#[allow(dead_code)]
mod tutorial_2;
#[path = "../../examples/tutorial_3_matmul.rs"]
#[allow(dead_code)]
mod tutorial_3;
#[path = "../../examples/tutorial_4_dropout.rs"]
#[allow(dead_code)]
mod tutorial_4;
#[path = "../../examples/tutorial_5_layernorm.rs"]
#[allow(dead_code)]
mod tutorial_5;
#[path = "../../examples/tutorial_6_attention.rs"]
#[allow(dead_code)]
mod tutorial_6;

/// Every kernel in every element type.
const TARGETS: &[&str] = &["sm_80", "sm_90a", "gfx942"];
/// Every kernel in one element type.
const FURTHER_TARGETS: &[&str] = &["sm_86", "sm_89", "gfx90a", "gfx950", "gfx1100", "gfx1201"];
const READELF: &str = "/usr/lib/llvm-22/bin/llvm-readelf";

fn main() {
    let assembler = ptxas::find();
    if assembler.is_none() {
        println!("SKIPPED: ptxas is missing, so PTX is only compiled, not assembled; run scripts/fetch-ptxas");
    }
    if !Path::new(READELF).is_file() {
        println!("SKIPPED: {READELF} is missing, so the metadata of code objects is not read back");
    }
    let mut trials = Vec::new();
    let mut add = |name: String, first: bool, build: Box<dyn Fn() -> Result<Function, String> + Send + Sync>| {
        let build = std::sync::Arc::new(build);
        for target in TARGETS.iter().chain(if first { FURTHER_TARGETS } else { &[] }) {
            let (build, assembler) = (build.clone(), assembler.clone());
            trials.push(Trial::test(format!("{target}::{name}"), move || {
                check(build()?, target, assembler).map_err(Failed::from)
            }));
        }
    };
    for case in CASES {
        for (i, &elem) in case.elems.iter().enumerate() {
            add(
                format!("{}::{elem}", case.name()),
                i == 0,
                Box::new(move || {
                    let mut options = BuildOptions::default();
                    for (name, size) in (case.dims)(&case.default_sizes()) {
                        options = options.dim(name, size as u32);
                    }
                    (case.build)(&options, elem).map_err(|e| e.to_string())
                }),
            );
        }
    }
    for info in example_kernels() {
        for (i, instance) in (info.instances)().into_iter().enumerate() {
            let types: Vec<_> = instance.types.iter().map(|t| t.name()).collect();
            let name = format!("{}::{}::{}", info.module.rsplit("::").next().unwrap_or(""), info.name, types.join("_"));
            add(name, i == 0, Box::new(move || (instance.build)(&BuildOptions::default()).map_err(|e| e.to_string())));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn example_kernels() -> Vec<&'static KernelInfo> {
    tegula::kernel_list![
        tutorial_1::add,
        tutorial_2::softmax,
        tutorial_3::matmul,
        tutorial_3::matmul_relu,
        tutorial_4::dropout,
        tutorial_5::layernorm,
        tutorial_5::layernorm_backward,
        tutorial_6::attention,
        dlpack::hypotenuse,
        embedded::saxpy,
        embedded::softmax,
    ]
    .to_vec()
}

fn check(function: Function, target: &str, assembler: Option<PathBuf>) -> Result<(), String> {
    let name = function.name.clone();
    let t = Target::by_name(target).map_err(|e| e.to_string())?;
    let code = Compilation::new(function, t).code(false).map_err(|e| e.to_string())?;
    match &code.object {
        None => {
            let Some(assembler) = assembler else { return Ok(()) };
            let assembled = ptxas::assemble(&assembler, &code.assembly, target).map_err(|e| e.to_string())?;
            if !assembled.warnings.is_empty() {
                return Err(assembled.warnings.join("\n"));
            }
        }
        Some(object) if Path::new(READELF).is_file() => {
            let file = tempfile::NamedTempFile::new().map_err(|e| e.to_string())?;
            std::fs::write(file.path(), object).map_err(|e| e.to_string())?;
            let output = std::process::Command::new(READELF).arg("--notes").arg(file.path()).output();
            let notes = String::from_utf8_lossy(&output.map_err(|e| e.to_string())?.stdout).into_owned();
            let info = code.info.as_ref().ok_or("GPU code has launch information")?;
            for expected in [
                format!(".group_segment_fixed_size: {}", info.static_shared),
                format!(".max_flat_workgroup_size: {}", info.threads),
                format!(".wavefront_size: {}", Architecture::by_name(target).map_err(|e| e.to_string())?.warp_size),
                format!("{name}.kd"),
            ] {
                if !notes.contains(&expected) {
                    return Err(format!("the metadata lacks `{expected}`:\n{notes}"));
                }
            }
        }
        Some(_) => {}
    }
    Ok(())
}
