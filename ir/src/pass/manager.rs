//! Running a pipeline.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{Changed, PassContext, Pipeline};
use crate::diag::Diagnostic;
use crate::function::Function;
use crate::text::{LocStyle, PrintOptions, print_function};
use crate::verify::verify;

/// Why a pipeline did not end well.
#[derive(Debug, thiserror::Error)]
pub enum PassError {
    /// A pass refused the function.
    #[error("{diagnostic}")]
    Failed {
        /// The pass.
        pass: String,
        /// What is wrong.
        diagnostic: Box<Diagnostic>,
        /// Where the reproduction file was written.
        reproducer: Option<PathBuf>,
    },
    /// The function was invalid before the first pass, or a pass left it invalid.
    #[error("{}: {}", after.as_ref().map_or("before the first pass".into(), |p| format!("after pass {p}")), diagnostics[0])]
    Invalid {
        /// The pass that left it so; `None` before the first.
        after: Option<String>,
        /// What is wrong, at least one problem.
        diagnostics: Vec<Diagnostic>,
        /// Where the reproduction file was written.
        reproducer: Option<PathBuf>,
    },
    /// A dump or a reproduction file could not be written.
    #[error("cannot write {}: {error}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

impl PassError {
    /// The first problem as a diagnostic.
    pub fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::Failed { diagnostic, reproducer, .. } => note_reproducer((**diagnostic).clone(), reproducer),
            Self::Invalid { after, diagnostics, reproducer } => {
                let diagnostic = diagnostics[0].clone();
                let diagnostic = match after {
                    Some(pass) => diagnostic.note(format!("pass {pass} left the function invalid: a compiler bug")),
                    None => diagnostic,
                };
                note_reproducer(diagnostic, reproducer)
            }
            Self::Io { .. } => Diagnostic::error(self.to_string()),
        }
    }
}

fn note_reproducer(diagnostic: Diagnostic, reproducer: &Option<PathBuf>) -> Diagnostic {
    match reproducer {
        Some(path) => diagnostic.note(format!("reproduce with `tegula opt {}`", path.display())),
        None => diagnostic,
    }
}

/// What is written while passes run.
#[derive(Clone, Default, Debug)]
pub struct DumpOptions {
    /// The function goes to `<folder>/<kernel>/NN-<pass>.tile` after each pass, and before the first.
    pub folder: Option<PathBuf>,
    /// The function is printed after each pass of these names; `*` stands for all.
    pub print_after: Vec<String>,
    /// A reproduction file goes here when a pass fails, leaves the function invalid, or panics.
    pub reproducers: Option<PathBuf>,
}

/// One pass of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct PassRun {
    /// The pass, with its options.
    pub pass: String,
    /// Time in the pass itself.
    pub time: Duration,
    /// What the pass said.
    pub changed: Changed,
    /// Its statistics.
    pub counters: Vec<(&'static str, u64)>,
}

/// What happened in a run.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct PassReport {
    /// The passes in order.
    pub passes: Vec<PassRun>,
    /// Warnings and remarks of all passes.
    pub remarks: Vec<Diagnostic>,
}

impl PassReport {
    /// Whether any pass changed the function.
    pub fn changed(&self) -> Changed {
        self.passes.iter().fold(Changed::No, |c, p| c.or(p.changed))
    }

    /// A table of times and statistics, one pass a line.
    pub fn table(&self) -> String {
        let total: Duration = self.passes.iter().map(|p| p.time).sum();
        let width = self.passes.iter().map(|p| p.pass.len()).max().unwrap_or(0).max("total".len());
        let mut table = String::new();
        for run in &self.passes {
            let share = 100.0 * run.time.as_secs_f64() / total.as_secs_f64().max(f64::MIN_POSITIVE);
            let _ = write!(table, "{:width$}  {:>9.3} ms  {share:>5.1} %", run.pass, run.time.as_secs_f64() * 1e3);
            for (what, n) in &run.counters {
                let _ = write!(table, "  {n} {what}");
            }
            table.push('\n');
        }
        let _ = writeln!(table, "{:width$}  {:>9.3} ms", "total", total.as_secs_f64() * 1e3);
        table
    }
}

/// Runs pipelines.
pub struct PassManager {
    /// The passes.
    pub pipeline: Pipeline,
    /// Whether the function is verified after each pass. On in debug builds. Before the first it always is: passes and code
    /// generators take valid functions, and one that is made through the builder may not be.
    pub verify: bool,
    /// What is written while passes run.
    pub dump: DumpOptions,
    /// Where `print_after` prints to; standard error by default.
    pub output: Box<dyn Write + Send>,
}

impl PassManager {
    /// A manager that verifies after each pass in debug builds and writes nothing.
    pub fn new(pipeline: Pipeline) -> Self {
        Self { pipeline, verify: cfg!(debug_assertions), dump: DumpOptions::default(), output: Box::new(io::stderr()) }
    }

    /// Runs all passes in order.
    ///
    /// # Errors
    /// At the first pass that fails or leaves the function invalid, or if a file cannot be written.
    ///
    /// # Panics
    /// If a pass does: that is a bug in the pass. The reproduction file is written first, where one is asked for.
    pub fn run(&mut self, function: &mut Function) -> Result<PassReport, PassError> {
        let mut report = PassReport::default();
        self.dump_to_folder(function, 0, "input")?;
        self.check(function, None)?;
        for index in 0..self.pipeline.stages.len() {
            let stage = &self.pipeline.stages[index];
            let (name, text) = (stage.pass.name(), stage.text.clone());
            // Kept only where a reproduction file may be asked of it: most compilations should not pay for the copy.
            let before = self.dump.reproducers.is_some().then(|| function.clone());
            let mut cx = PassContext::new();
            let start = Instant::now();
            let result = catch_unwind(AssertUnwindSafe(|| stage.pass.run(function, &mut cx)));
            let time = start.elapsed();
            let changed = match result {
                Ok(Ok(changed)) => changed,
                Ok(Err(diagnostic)) => {
                    let reproducer = self.reproduce(before.as_ref(), index, &diagnostic.to_string())?;
                    return Err(PassError::Failed { pass: text, diagnostic: diagnostic.into(), reproducer });
                }
                Err(panic) => {
                    self.reproduce(before.as_ref(), index, "the pass panicked")?;
                    resume_unwind(panic);
                }
            };
            report.remarks.append(&mut cx.remarks);
            report.passes.push(PassRun { pass: text.clone(), time, changed, counters: cx.counters().collect() });
            self.dump_to_folder(function, index + 1, name)?;
            if self.dump.print_after.iter().any(|p| p == name || p == "*") {
                let text = format!("; after {text}\n{}\n", print_function(function, &PrintOptions::default()));
                // A closed standard error must not end a compilation.
                let _ = self.output.write_all(text.as_bytes());
            }
            if self.verify {
                self.check(function, Some((index, before.as_ref())))?;
            }
        }
        Ok(report)
    }

    fn check(&self, function: &Function, after: Option<(usize, Option<&Function>)>) -> Result<(), PassError> {
        let Err(diagnostics) = verify(function) else { return Ok(()) };
        let (after, reproducer) = match after {
            Some((index, before)) => {
                let text = self.pipeline.stages[index].text.clone();
                (Some(text), self.reproduce(before, index, &diagnostics[0].to_string())?)
            }
            None => (None, None),
        };
        Err(PassError::Invalid { after, diagnostics, reproducer })
    }

    fn dump_to_folder(&self, function: &Function, number: usize, name: &str) -> Result<(), PassError> {
        let Some(folder) = &self.dump.folder else { return Ok(()) };
        let path = folder.join(file_name(&function.name)).join(format!("{number:02}-{name}.tile"));
        let options = PrintOptions { locs: LocStyle::Table };
        write_file(&path, &print_function(function, &options))
    }

    /// Writes the function as it was before pass `index`, with the pass list that is left.
    fn reproduce(&self, before: Option<&Function>, index: usize, why: &str) -> Result<Option<PathBuf>, PassError> {
        let (Some(folder), Some(function)) = (&self.dump.reproducers, before) else { return Ok(None) };
        let left: Vec<&str> = self.pipeline.stages[index..].iter().map(|s| s.text.as_str()).collect();
        let why = why.lines().next().unwrap_or_default();
        let options = PrintOptions { locs: LocStyle::Table };
        let text = format!("; error: {why}\n; passes: {}\n\n{}", left.join(","), print_function(function, &options));
        let stage = self.pipeline.stages[index].pass.name();
        let path = folder.join(format!("{}-{stage}.tile", file_name(&function.name)));
        write_file(&path, &text)?;
        Ok(Some(path))
    }
}

fn write_file(path: &Path, text: &str) -> Result<(), PassError> {
    let io = |error| PassError::Io { path: path.to_owned(), error };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(io)?;
    }
    std::fs::write(path, text).map_err(io)
}

/// A kernel's name made fit to be a file's.
fn file_name(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() || "_-.".contains(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::function::Op;
    use crate::ops::{BinaryOp, OpKind};
    use crate::pass::{OptionInfo, Pass, PassInfo, Registry};
    use crate::text::parse_function;

    const TEXT: &str = "kernel @k(%x: i32) {\n  %y = add %x, %x : i32\n  return\n}\n";

    /// Turns additions into multiplications, or does what `mode` says.
    struct Mul {
        mode: String,
    }

    impl Pass for Mul {
        fn name(&self) -> &'static str {
            "mul"
        }

        fn run(&self, f: &mut Function, cx: &mut PassContext) -> Result<Changed, Diagnostic> {
            let add: Op = f.ops_in_order()[0];
            match self.mode.as_str() {
                "refuse" => return Err(Diagnostic::error("no").at(f.locs.get(f.op(add).loc))),
                "break" => f.op_mut(add).results.clear(),
                "panic" => panic!("oops"),
                _ => {}
            }
            if let OpKind::Binary { op, .. } = &mut f.op_mut(add).kind {
                *op = BinaryOp::Mul;
                cx.count("ops changed", 1);
            }
            cx.remarks.push(Diagnostic::error("remark"));
            Ok(Changed::Yes)
        }
    }

    fn manager(list: &str) -> PassManager {
        let mut registry = Registry::empty();
        registry.register(PassInfo {
            name: "mul",
            summary: "",
            options: &[OptionInfo { name: "mode", help: "" }],
            make: |o| Ok(Box::new(Mul { mode: o.get("mode", String::new())? })),
        });
        PassManager::new(registry.pipeline(list).unwrap())
    }

    /// Collects what is printed.
    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn reports_dumps_and_prints() {
        let folder = tempfile::tempdir().unwrap();
        let sink = Sink::default();
        let mut manager = manager("mul,mul");
        manager.dump.folder = Some(folder.path().to_owned());
        manager.dump.print_after = vec!["mul".to_owned()];
        manager.output = Box::new(sink.clone());
        let mut f = parse_function(TEXT, "t").unwrap();
        let report = manager.run(&mut f).unwrap();
        assert_eq!(report.changed(), Changed::Yes);
        assert_eq!(report.passes[0].counters, [("ops changed", 1)]);
        assert_eq!(report.remarks.len(), 2);
        let table = report.table();
        assert!(table.lines().count() == 3 && table.contains("1 ops changed") && table.contains("total"), "{table}");
        let read = |name: &str| std::fs::read_to_string(folder.path().join("k").join(name)).unwrap();
        assert!(read("00-input.tile").contains("add %x, %x : i32 loc(#loc1)"));
        assert!(read("01-mul.tile").contains("mul %x, %x"));
        assert!(read("02-mul.tile").contains("mul %x, %x"));
        let printed = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
        assert_eq!(printed.matches("; after mul\nkernel @k(%x: i32) {\n  %y = mul %x, %x : i32\n").count(), 2);
    }

    #[test]
    fn failures_leave_an_exact_reproduction() {
        for (mode, error) in [
            ("refuse", "t:2:8: error: no"),
            ("break", "after pass mul{mode=break}: t:2:8: error: mul gives 1 values, but 0 results are recorded"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let mut manager = manager(&format!("mul,mul{{mode={mode}}},mul"));
            manager.verify = true;
            manager.dump.reproducers = Some(folder.path().to_owned());
            let e = manager.run(&mut parse_function(TEXT, "t").unwrap()).unwrap_err();
            assert_eq!(e.to_string(), error);
            let path = folder.path().join("k-mul.tile");
            let note = format!("reproduce with `tegula opt {}`", path.display());
            assert!(e.diagnostic().notes.iter().any(|(_, n)| *n == note), "{:?}", e.diagnostic());
            let text = std::fs::read_to_string(path).unwrap();
            assert!(text.contains(&format!("; passes: mul{{mode={mode}}},mul\n")), "{text}");
            let f = parse_function(&text, "r").unwrap();
            assert_eq!(f.to_string(), TEXT.replace("add", "mul"));
        }
    }

    #[test]
    fn a_panic_leaves_a_reproduction_too() {
        let folder = tempfile::tempdir().unwrap();
        let mut manager = manager("mul{mode=panic}");
        manager.dump.reproducers = Some(folder.path().to_owned());
        let mut f = parse_function(TEXT, "t").unwrap();
        let panic = catch_unwind(AssertUnwindSafe(|| manager.run(&mut f))).unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"oops"));
        let text = std::fs::read_to_string(folder.path().join("k-mul.tile")).unwrap();
        assert!(text.starts_with("; error: the pass panicked\n; passes: mul{mode=panic}\n"), "{text}");
    }

    #[test]
    fn invalid_input_is_refused() {
        let mut f = parse_function(TEXT, "t").unwrap();
        let body = f.body;
        f.block_mut(body).ops.pop();
        let mut manager = manager("mul");
        manager.verify = false;
        let e = manager.run(&mut f).unwrap_err();
        assert_eq!(e.to_string(), "before the first pass: t:2:8: error: this block must end in return");
    }
}
