//! The program of this package, built without the compiler: it names no LLVM library, and runs on embedded kernels.

use std::path::Path;
use std::process::Command;

fn output(command: &str, args: &[&Path]) -> String {
    let output = Command::new(command).args(args).output().unwrap_or_else(|e| panic!("{command}: {e}"));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command}: {out}{err}");
    out.into_owned()
}

#[test]
fn the_program_runs_without_llvm() {
    let program = Path::new(env!("CARGO_BIN_EXE_tegula-example-embedded"));
    let libraries = output("ldd", &[program]);
    assert!(libraries.contains("libc.so"), "{libraries}");
    assert!(!libraries.contains("LLVM"), "{libraries}");
    let text = output(program.to_str().expect("text"), &[]);
    assert!(text.contains("embedded 3, compiled 0"), "{text}");
    assert!(text.contains("is not embedded for cpu"), "{text}");
    assert!(text.contains("feature `compiler`"), "{text}");
}
