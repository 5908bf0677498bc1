//! Acceptance of the PTX machine: kernels compiled by Triton give the right results in strict mode, and the sanitizer is silent.

#[path = "support/ptx.rs"]
mod launches;
mod support;

use support::{Artifact, Problem, manifest, problems};
use tegula_vgpu::memory::GlobalMemory;
use tegula_vgpu::ptx::Module;

fn run(text: &str, artifact: &Artifact, problem: &Problem, seed: u64) -> Result<(), String> {
    let memory = GlobalMemory::default();
    let module = Module::load(text, Some(&artifact.file), &memory).map_err(|e| e.to_string())?;
    let (launch, outputs) = launches::prepare(&memory, artifact, problem);
    let launch = launch.seed(seed);
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
