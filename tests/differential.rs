//! Generated programs, run on the interpreter and on another executor, must give the same results within the
//! difference that their ops allow. The others are the CPU and the virtual GPUs, whose sanitizer must find nothing.
//!
//! Programs run in child processes: one that aborts or hangs is a finding, not the end of the test. A failure is
//! shrunk and written as a filetest into `target/differential/`. The programs are those of the seeds from 0 on:
//!
//! | variable | meaning |
//! |---|---|
//! | `TEGULA_DIFFERENTIAL=20000` | this many programs (2000 on the CPU and up to 200 on a GPU without it); `unlimited` until a failure or an interrupt |
//! | `TEGULA_DIFFERENTIAL_SEED=7` | the first seed |

use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use tegula_ir::exec::Executor;
use tegula_ir::interp::Interpreter;
use tegula_ir::testing::generate::{Config, Program, decisions, shrink};
use tegula_runtime::executors;

/// Names the executor that a child process runs.
const CHILD: &str = "TEGULA_DIFFERENTIAL_CHILD";
/// What programs run on, and how many.
const EXECUTORS: [(&str, u64); 4] = [("cpu", 2000), ("vgpu:sm_80", 200), ("vgpu:gfx942", 200), ("vgpu:gfx1201", 100)];
/// A program that takes longer than this hangs.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Programs tried while a failure is shrunk.
const SHRINK_TRIES: usize = 1500;
/// Failures after which the test ends.
const MAX_FAILURES: usize = 5;

fn main() {
    if let Some(name) = std::env::var_os(CHILD) {
        return child(&name.to_string_lossy());
    }
    let trials = EXECUTORS.map(|(name, count)| {
        Trial::test(format!("interp_and_{}", name.trim_start_matches("vgpu:")), move || differential(name, count))
    });
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit();
}

// --- child ---

/// Runs programs: reads a list of decisions a line, answers with `ok` or what is wrong in one line.
fn child(name: &str) {
    let executor = executors::by_name(name).unwrap_or_else(|e| panic!("{e}"));
    for line in std::io::stdin().lines() {
        let Ok(line) = line else { return };
        let list: Vec<u32> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let answer = match run(&list, executor.as_ref()) {
            Ok(()) => "ok".to_owned(),
            Err(e) => e.replace('\n', "\\n"),
        };
        println!("{answer}");
    }
}

fn run(list: &[u32], executor: &dyn Executor) -> Result<(), String> {
    let program = Program::new(list, &Config::default());
    let mut wanted = program.args.clone();
    let interp = Interpreter::new();
    interp.run(&program.function, program.grid, &mut wanted).map_err(|e| format!("interp: {e}"))?;
    let mut found = program.args.clone();
    executor.run(&program.function, program.grid, &mut found).map_err(|e| format!("{}: {e}", executor.name()))?;
    program.compare(&wanted, &found)
}

// --- parent ---

/// A child process, started again when it has died.
struct Worker {
    name: &'static str,
    process: Option<(Child, ChildStdin, Receiver<String>)>,
    /// What the child writes to standard error.
    log: std::fs::File,
}

impl Worker {
    fn new(name: &'static str) -> std::io::Result<Self> {
        let dir = folder();
        std::fs::create_dir_all(&dir)?;
        let path = dir.join(format!("child-{}-{:?}.log", std::process::id(), std::thread::current().id()));
        let log = std::fs::File::options().create(true).truncate(true).read(true).write(true).open(&path)?;
        // The file lives as long as it is open.
        std::fs::remove_file(path)?;
        Ok(Self { name, process: None, log })
    }

    fn start(&mut self) -> std::io::Result<()> {
        let mut child = Command::new(std::env::current_exe()?)
            .env(CHILD, self.name)
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(self.log.try_clone()?)
            .spawn()?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else { return Ok(()) };
        let (send, receive) = channel();
        // Ends with the child, whose output it reads.
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        self.process = Some((child, stdin, receive));
        Ok(())
    }

    /// Runs a program; what is wrong with it, if anything.
    fn run(&mut self, list: &[u32]) -> Option<String> {
        if self.process.is_none() {
            self.start().unwrap_or_else(|e| panic!("cannot start a child process: {e}"));
        }
        let (_, stdin, answers) = self.process.as_mut()?;
        let words: Vec<String> = list.iter().map(u32::to_string).collect();
        // Where the child is dead already, its answer does not come.
        let _ = writeln!(stdin, "{}", words.join(" ")).and_then(|()| stdin.flush());
        match answers.recv_timeout(TIMEOUT) {
            Ok(answer) if answer == "ok" => None,
            Ok(answer) => Some(answer.replace("\\n", "\n")),
            Err(RecvTimeoutError::Timeout) => {
                self.stop();
                Some(format!("no end after {} seconds", TIMEOUT.as_secs()))
            }
            Err(RecvTimeoutError::Disconnected) => {
                let status = self.stop();
                Some(format!("the process ended with {status}\n{}", self.log_tail()))
            }
        }
    }

    fn stop(&mut self) -> String {
        let Some((mut child, _, _)) = self.process.take() else { return "nothing".to_owned() };
        // It may be dead, which is what is asked for.
        let _ = child.kill();
        child.wait().map_or_else(|e| e.to_string(), |status| status.to_string())
    }

    /// The end of what the child wrote to standard error.
    fn log_tail(&mut self) -> String {
        let mut text = Vec::new();
        let read = self.log.seek(SeekFrom::Start(0)).and_then(|_| self.log.read_to_end(&mut text));
        // What follows belongs to the next child.
        let cleared = self.log.set_len(0).and_then(|()| self.log.seek(SeekFrom::Start(0)));
        if let Err(e) = read.and(cleared) {
            return e.to_string();
        }
        let text = String::from_utf8_lossy(&text).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(12)..].join("\n")
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop();
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("../differential")
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn differential(name: &'static str, programs: u64) -> Result<(), Failed> {
    let first = number("TEGULA_DIFFERENTIAL_SEED").unwrap_or(0);
    let unlimited = std::env::var("TEGULA_DIFFERENTIAL").is_ok_and(|v| v == "unlimited");
    let count = if unlimited { u64::MAX - first } else { number("TEGULA_DIFFERENTIAL").unwrap_or(programs) };
    let (next, failures) = (AtomicU64::new(0), Mutex::new(Vec::<String>::new()));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                let mut worker = Worker::new(name).unwrap_or_else(|e| panic!("{}: {e}", folder().display()));
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count || lock(&failures).len() >= MAX_FAILURES {
                        return;
                    }
                    let list = decisions(first + index);
                    if let Some(error) = worker.run(&list) {
                        let report = report(&mut worker, first + index, &list, &error);
                        lock(&failures).push(report);
                    }
                }
            });
        }
    });
    let failures = lock(&failures);
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n\n").into()) }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Shrinks a failure and writes it as a filetest.
fn report(worker: &mut Worker, seed: u64, list: &[u32], error: &str) -> String {
    // What fails in another way while it shrinks is as good a finding, but not one of the generator instead.
    let generator = |e: &str| e.starts_with("interp: ");
    let small = shrink(list, SHRINK_TRIES, |list| worker.run(list).is_some_and(|e| generator(&e) == generator(error)));
    let message = worker.run(&small).unwrap_or_else(|| error.to_owned());
    let program = Program::new(&small, &Config::default());
    let mut wanted = program.args.clone();
    let expected = Interpreter::new().run(&program.function, program.grid, &mut wanted).is_ok().then_some(&wanted[..]);
    let comment = format!("Seed {seed}, decisions {small:?}\n{message}");
    let path = folder().join(format!("{}-{seed}.tile", worker.name.trim_start_matches("vgpu:")));
    let written = std::fs::write(&path, program.filetest(&comment, expected));
    let file = written.map_or_else(|e| e.to_string(), |()| path.display().to_string());
    format!("seed {seed}: {message}\n{}\n{file}", program.function)
}
