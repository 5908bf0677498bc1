//! Programs in C, written and generated, compiled by Clang to PTX at several levels of optimisation: they must compute what the same
//! programs do on the host. Skipped, with a message, where there is no Clang with the NVPTX target.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use tegula_vgpu::launch::{Argument, Launch};
use tegula_vgpu::memory::{Fill, GlobalMemory};
use tegula_vgpu::ptx::Module;

const PROGRAMS: &str = include_str!("ptx/programs.c");

fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// A Clang that has the NVPTX target.
fn clang() -> Option<String> {
    let named = std::env::var("CLANG").ok();
    let candidates = named.into_iter().chain(["clang-22", "/usr/lib/llvm-22/bin/clang", "clang"].map(str::to_owned));
    candidates
        .into_iter()
        .find(|clang| run(Command::new(clang).arg("--print-targets")).is_ok_and(|targets| targets.contains("nvptx64")))
}

/// Writes random programs without undefined behaviour: unsigned arithmetic, loops, branches, switches and arrays.
struct Generator {
    state: u64,
    text: String,
    depth: usize,
}

impl Generator {
    fn below(&mut self, bound: u64) -> u64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % bound
    }

    fn variable(&mut self) -> String {
        let letters = ["a", "b", "c", "d", "x", "y", "z"];
        letters[self.below(7) as usize].to_owned()
    }

    /// An expression of 32-bit (`a` to `d`) and 64-bit (`x` to `z`) variables.
    fn expression(&mut self, depth: usize) -> String {
        if depth == 0 {
            return match self.below(4) {
                0 => format!("{}u", self.below(1 << 31)),
                1 => "m[t % 8]".to_owned(),
                _ => self.variable(),
            };
        }
        let (left, right) = (self.expression(depth - 1), self.expression(depth - 1));
        match self.below(16) {
            0 => format!("({left} + {right})"),
            1 => format!("({left} - {right})"),
            2 => format!("({left} * {right})"),
            3 => format!("({left} / ({right} | 1))"),
            4 => format!("({left} % ({right} | 1))"),
            5 => format!("({left} & {right})"),
            6 => format!("({left} | {right})"),
            7 => format!("({left} ^ {right})"),
            8 => format!("((u64){left} << ({right} & 63))"),
            9 => format!("((u32){left} >> ({right} & 31))"),
            10 => format!("(u64)((long){left} >> ({right} & 63))"),
            11 => format!("(u32)({left} < {right})"),
            12 => format!("({left} == {right} ? {left} : {right})"),
            13 => format!("(u64)(signed char){left}"),
            14 => format!("(u64)(short)({left} + {right})"),
            _ => format!("(((int){left} < (int){right}) ? {right} : ~{left})"),
        }
    }

    fn statement(&mut self) {
        let indent = "  ".repeat(self.depth + 1);
        let kind = if self.depth < 3 { self.below(8) } else { self.below(4) };
        match kind {
            0..=2 => {
                let (to, value) = (self.variable(), self.expression(2));
                let _ = writeln!(self.text, "{indent}{to} = {value};");
            }
            3 => {
                let (index, value) = (self.expression(1), self.expression(1));
                let _ = writeln!(self.text, "{indent}m[({index}) % 8] = {value};");
            }
            4 | 5 => {
                let condition = self.expression(1);
                let _ = writeln!(self.text, "{indent}if (({condition}) % 3 == 1) {{");
                self.block();
                let _ = writeln!(self.text, "{indent}}} else {{");
                self.block();
                let _ = writeln!(self.text, "{indent}}}");
            }
            6 => {
                let (name, bound) = (format!("i{}", self.depth), self.expression(1));
                let _ = writeln!(self.text, "{indent}for (u32 {name} = 0; {name} < ({bound}) % 6; {name}++) {{");
                self.block();
                let _ = writeln!(self.text, "{indent}  if ((a ^ {name}) % 7 == 3) break;\n{indent}}}");
            }
            _ => {
                let value = self.expression(1);
                let _ = writeln!(self.text, "{indent}switch (({value}) % 6) {{");
                for case in 0..5 {
                    let _ = writeln!(self.text, "{indent}case {case}:");
                    self.block();
                    if self.below(3) > 0 {
                        let _ = writeln!(self.text, "{indent}  break;");
                    }
                }
                let _ = writeln!(self.text, "{indent}}}");
            }
        }
    }

    fn block(&mut self) {
        self.depth += 1;
        for _ in 0..=self.below(2) {
            self.statement();
        }
        self.depth -= 1;
    }

    fn program(seed: u64) -> String {
        let mut generator = Self { state: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15), text: String::new(), depth: 0 };
        let _ = writeln!(
            generator.text,
            "KERNEL void generated{seed}(u64 *out) {{\n  u32 t = tid(), a = t, b = t * 77, c = 5, d = ~t;\n  u64 x = t, y = (u64)t << 40, z = 1, m[8] = {{1, 2, 3, t, 5, 6, 7, 8}};"
        );
        for _ in 0..8 {
            generator.statement();
        }
        generator.text + "  out[t] = a ^ ((u64)b << 32) ^ c ^ d ^ x ^ y ^ z ^ m[0] ^ m[t % 8] ^ m[5];\n}\n"
    }
}

const GENERATED: u64 = 12;

/// What the host computes: name, bytes of an element, and the output.
fn on_the_host(clang: &str, source: &Path, folder: &Path) -> Vec<(String, usize, Vec<u8>)> {
    let program = folder.join("programs");
    let flags = ["-O1", "-w", "-ffp-contract=off", "-lm", "-o"];
    run(Command::new(clang).arg(source).args(flags).arg(&program)).unwrap_or_else(|error| panic!("{error}"));
    let text = run(&mut Command::new(&program)).expect("it runs");
    text.lines()
        .map(|line| {
            let [name, width, hex] = line.splitn(3, ' ').collect::<Vec<_>>().try_into().expect("three words");
            let bytes = (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).expect("hex"));
            (name.to_owned(), width.parse().expect("a width"), bytes.collect())
        })
        .collect()
}

#[test]
fn compiled_programs_agree_with_the_host() {
    let Some(clang) = clang() else {
        eprintln!("skipped: no Clang with the NVPTX target; set CLANG");
        return;
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ptx_compiled");
    std::fs::create_dir_all(&folder).expect("a folder");
    let generated: String = (1..=GENERATED).map(Generator::program).collect();
    let runs: String = (1..=GENERATED).map(|seed| format!("RUN(generated{seed}, 8) ")).collect();
    let text = PROGRAMS.replace("GENERATED_PROGRAMS", &generated).replace("GENERATED_RUNS", &runs);
    let source = folder.join("programs.c");
    std::fs::write(&source, text).expect("the source");
    let expected = on_the_host(&clang, &source, &folder);
    assert_eq!(expected.len(), 14 + GENERATED as usize);
    let mut failures = Vec::new();
    for (level, cpu) in [("-O0", "sm_90"), ("-O1", "sm_80"), ("-O2", "sm_90"), ("-O3", "sm_90a")] {
        let ptx = folder.join(format!("programs{level}.ptx"));
        let flags =
            ["--target=nvptx64-nvidia-cuda", "-Xclang", "-target-feature", "-Xclang", "+ptx86", "-g", "-w", "-S"];
        let mut command = Command::new(&clang);
        command.arg(&source).args(flags).args([level, "-ffp-contract=off", &format!("-march={cpu}"), "-o"]).arg(&ptx);
        run(&mut command).unwrap_or_else(|error| panic!("{error}"));
        let text = std::fs::read_to_string(&ptx).expect("PTX");
        let memory = GlobalMemory::default();
        let module = Module::load(&text, Some("programs.ptx"), &memory).unwrap_or_else(|error| panic!("{error}"));
        for (name, width, wanted) in &expected {
            let out = memory.allocate("out", 64 * *width as u64, Fill::Zero).expect("memory");
            let launch = Launch { instruction_limit: 5_000_000, ..Launch::new(name).arg(Argument::pointer(out)) };
            match module.launch(&memory, &launch) {
                Err(error) => failures.push(format!("{name} {level}: {error}")),
                Ok(outcome) => {
                    failures.extend(outcome.findings.iter().map(|finding| format!("{name} {level}: {finding}")));
                    let mut got = vec![0; wanted.len()];
                    memory.read(out, &mut got).expect("in bounds");
                    if got != *wanted {
                        let at = got.iter().zip(wanted).position(|(a, b)| a != b).unwrap_or(0) / width;
                        failures.push(format!("{name} {level}: element {at} differs"));
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
