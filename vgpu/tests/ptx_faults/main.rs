//! Seeded faults: small programs with one mistake each, and the finding that it must give. Each stands with its twin without the
//! mistake, which must be silent.

mod accesses;
mod asynchrony;
#[path = "../support/choice.rs"]
mod choice;
mod clusters;
mod divergence;
mod harness;
mod matrix;
mod races;
mod reports;

use harness::{Fault, run};

fn all() -> Vec<Fault> {
    [
        accesses::bounds(),
        accesses::alignment(),
        accesses::initialisation(),
        races::faults(),
        asynchrony::copies(),
        asynchrony::bulk_copies(),
        asynchrony::memory_barriers(),
        matrix::faults(),
        clusters::faults(),
        divergence::faults(),
    ]
    .concat()
}

#[test]
fn every_seeded_fault_is_found_and_its_twin_is_silent() {
    let faults = all();
    println!("{} faults", faults.len());
    assert!(faults.len() >= 60);
    let mut failures = Vec::new();
    for fault in &faults {
        for seed in 1..=3 {
            let name = fault.name;
            let (result, outcome) = run(fault, true, seed);
            if !outcome.findings.iter().any(|finding| finding.kind == fault.kind) {
                let kinds: Vec<_> = outcome.findings.iter().map(|finding| finding.kind).collect();
                failures.push(format!("{name} (seed {seed}): {kinds:?} instead of {:?}; {result:?}", fault.kind));
            }
            let (result, outcome) = run(fault, false, seed);
            if let Some(finding) = outcome.findings.first() {
                failures.push(format!("the twin of {name} (seed {seed}): {finding}"));
            }
            if let Err(error) = result {
                failures.push(format!("the twin of {name} (seed {seed}): {error}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
