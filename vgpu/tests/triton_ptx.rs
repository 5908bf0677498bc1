//! Acceptance of the PTX machine: kernels compiled by Triton give the right results in strict mode, and the sanitizer is silent.

mod support;

use support::{Arg, Artifact, Problem, manifest, problems};
use tegula_vgpu::launch::{Argument, Launch};
use tegula_vgpu::memory::{Fill, GlobalMemory};
use tegula_vgpu::ptx::{Element, Module, Swizzle, TensorMap};

fn buffer(memory: &GlobalMemory, arg: &Arg, outputs: &mut Vec<(u64, usize)>) -> u64 {
    match arg {
        Arg::Input(name, bytes) => {
            let address = memory.allocate(*name, bytes.len() as u64, Fill::Poison).expect("memory");
            memory.write(address, bytes).expect("in bounds");
            address
        }
        Arg::Output(name, bytes) => {
            let address = memory.allocate(*name, *bytes as u64, Fill::Poison).expect("memory");
            outputs.push((address, *bytes));
            address
        }
        _ => unreachable!("not a buffer"),
    }
}

fn run(text: &str, artifact: &Artifact, problem: &Problem, seed: u64) -> Result<(), String> {
    let memory = GlobalMemory::default();
    let module = Module::load(text, Some(&artifact.file), &memory).map_err(|e| e.to_string())?;
    let mut launch = Launch::new(&artifact.entry)
        .grid(problem.grid)
        .block([artifact.block_threads, 1, 1])
        .dynamic_shared(artifact.dynamic_shared_bytes)
        .seed(seed);
    let mut outputs = Vec::new();
    let mapped: Vec<u64> = problem.buffers.iter().map(|arg| buffer(&memory, arg, &mut outputs)).collect();
    for arg in &problem.args {
        launch.args.push(match arg {
            Arg::Input(..) | Arg::Output(..) => Argument::pointer(buffer(&memory, arg, &mut outputs)),
            Arg::I32(value) => Argument::i32(*value),
            Arg::I64(value) => Argument::i64(*value),
            Arg::F32(value) => Argument::f32(*value),
            Arg::Map { buffer, rows, columns, box_columns, box_rows } => {
                let mut map = TensorMap::tiled(
                    mapped[*buffer],
                    Element::F16,
                    &[*columns, *rows],
                    &[columns * 2],
                    &[*box_columns, *box_rows],
                );
                map.swizzle = Swizzle::B128;
                Argument::bytes(map.encode().map_err(|e| e.to_string())?)
            }
        });
    }
    // Global and profile scratch.
    launch.args.extend([Argument::pointer(0), Argument::pointer(0)]);
    let outcome = module.launch(&memory, &launch).map_err(|e| e.to_string())?;
    if let Some(finding) = outcome.findings.first() {
        return Err(format!("{} findings, the first: {finding}", outcome.findings.len()));
    }
    let read = |&(address, bytes): &(u64, usize)| {
        let mut out = vec![0; bytes];
        memory.read(address, &mut out).expect("in bounds");
        out
    };
    (problem.check)(&outputs.iter().map(read).collect::<Vec<_>>())
}

fn accept(target: &str) {
    let Some((folder, artifacts)) = manifest() else {
        return;
    };
    let mut failures = Vec::new();
    let filter = std::env::var("TEGULA_KERNEL").unwrap_or_default();
    for artifact in artifacts.iter().filter(|a| a.target == target && a.kernel.contains(&filter)) {
        let text = std::fs::read_to_string(folder.join(&artifact.file)).expect("the PTX file");
        let problems = problems(artifact);
        assert!(!problems.is_empty(), "no problems for {}", artifact.kernel);
        for (number, problem) in problems.iter().enumerate() {
            let start = std::time::Instant::now();
            let result = run(&text, artifact, problem, number as u64 + 1);
            let time = start.elapsed();
            println!(
                "{} {} {}: {time:.2?} {}",
                artifact.target,
                artifact.kernel,
                problem.name,
                if result.is_ok() { "ok" } else { "FAILED" }
            );
            if let Err(message) = result {
                failures.push(format!("{} {}: {message}", artifact.kernel, problem.name));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn sm_80() {
    accept("sm_80");
}

#[test]
fn sm_90() {
    accept("sm_90");
}
