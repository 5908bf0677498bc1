//! Running a pass list on a text: what `tegula opt` does.

use std::path::PathBuf;

use crate::diag::Diagnostic;
use crate::function::Module;
use crate::pass::{DumpOptions, PassError, PassListError, PassManager, PassReport, Registry};
use crate::text::{LocStyle, ParseError, PrintOptions, parse_module, print_module};
use crate::verify::verify_module;

/// What to do.
#[derive(Clone, Default, Debug)]
pub struct OptOptions {
    /// The pass list. Without it the one in the text's header is taken (`; passes: a,b`, as reproduction files
    /// have), and where there is none either, the text is only parsed, verified and printed.
    pub passes: Option<String>,
    /// How locations are printed.
    pub locs: LocStyle,
    /// Names of passes after which the function is printed to standard error; `*` for all.
    pub print_after: Vec<String>,
    /// Folder for the function after each pass.
    pub dump: Option<PathBuf>,
    /// Folder for reproduction files of failures.
    pub reproducers: Option<PathBuf>,
}

/// What came of it.
#[derive(Debug)]
pub struct OptOutput {
    /// The module after the passes.
    pub module: Module,
    /// Its text.
    pub text: String,
    /// The pass list that was run.
    pub passes: String,
    /// What happened, for each kernel in order.
    pub reports: Vec<(String, PassReport)>,
}

/// Why nothing came of it.
#[derive(Debug, thiserror::Error)]
pub enum OptError {
    /// The text is malformed.
    #[error("{0}")]
    Parse(Box<ParseError>),
    /// The pass list is malformed, or names what does not exist.
    #[error("{0}")]
    Passes(PassListError),
    /// The text holds an invalid function. At least one problem.
    #[error("{}", .0[0])]
    Invalid(Vec<Diagnostic>),
    /// A pass failed.
    #[error("{0}")]
    Pass(PassError),
}

impl OptError {
    /// The problems, to be rendered. The place of an error in the pass list is in its message.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        match self {
            Self::Parse(e) => vec![e.diagnostic()],
            Self::Passes(e) => vec![Diagnostic::error(e.to_string())],
            Self::Invalid(all) => all.clone(),
            Self::Pass(e) => vec![e.diagnostic()],
        }
    }
}

/// Parses a text, runs a pass list on each of its kernels, verifying before and after each pass, and prints them.
/// `file` names the text in errors.
///
/// # Errors
/// If the text, the pass list or a function is not valid, or a pass fails.
pub fn opt(text: &str, file: &str, registry: &Registry, options: &OptOptions) -> Result<OptOutput, OptError> {
    let mut module = parse_module(text, file).map_err(OptError::Parse)?;
    let passes = options.passes.clone().or_else(|| header_passes(text)).unwrap_or_default();
    verify_module(&module).map_err(OptError::Invalid)?;
    let mut reports = Vec::new();
    let mut manager = PassManager::new(registry.pipeline(&passes).map_err(OptError::Passes)?);
    manager.verify = true;
    manager.dump = DumpOptions {
        folder: options.dump.clone(),
        print_after: options.print_after.clone(),
        reproducers: options.reproducers.clone(),
    };
    for function in &mut module.functions {
        let report = manager.run(function).map_err(OptError::Pass)?;
        reports.push((function.name.clone(), report));
    }
    let text = print_module(&module, &PrintOptions { locs: options.locs });
    Ok(OptOutput { module, text, passes: manager.pipeline.to_string(), reports })
}

/// The pass list in the comments before the first kernel.
fn header_passes(text: &str) -> Option<String> {
    let header = text.lines().map(str::trim_start).take_while(|line| !line.starts_with("kernel"));
    let mut lists = header.filter_map(|line| line.strip_prefix("; passes:"));
    lists.next().map(|list| list.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str, passes: Option<&str>) -> Result<OptOutput, OptError> {
        let options = OptOptions { passes: passes.map(str::to_owned), ..OptOptions::default() };
        opt(text, "t.tile", &Registry::builtin(), &options)
    }

    #[test]
    fn without_passes_the_text_is_normalised() {
        let out = run("kernel @a(){return} kernel @b(%x:i32){%y=add %x,%x return}", None).unwrap();
        assert_eq!(
            out.text,
            "kernel @a() {\n  return\n}\n\nkernel @b(%x: i32) {\n  %y = add %x, %x : i32\n  return\n}\n"
        );
        assert_eq!((out.passes.as_str(), out.reports.len()), ("", 2));
    }

    #[test]
    fn errors_of_each_stage() {
        assert!(matches!(run("kernel", None), Err(OptError::Parse(_))));
        assert!(matches!(run("kernel @a() { }", None), Err(OptError::Invalid(_))));
        let e = run("kernel @a() { return }", Some("no_such_pass")).unwrap_err();
        assert_eq!(e.to_string(), "there is no pass `no_such_pass`");
        assert_eq!(e.diagnostics()[0].to_string(), "error: there is no pass `no_such_pass`");
    }

    #[test]
    fn the_header_names_the_passes() {
        let e = run("; error: x\n; passes: no_such_pass\nkernel @a() { return }", None).unwrap_err();
        assert!(matches!(e, OptError::Passes(_)));
        assert!(run("; passes: no_such_pass\nkernel @a() { return }", Some("")).is_ok());
    }

    #[test]
    fn a_failure_is_reproduced_from_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let options = |passes: Option<&str>| OptOptions {
            passes: passes.map(str::to_owned),
            reproducers: Some(folder.path().to_owned()),
            ..OptOptions::default()
        };
        let text = "kernel @k(%x: view<1d, f32> read_write) {\n  %z = constant 0 : i64\n  %t = load %x[%z] : tile<4xf32>\n  \
                    store %t, %x[%z]\n  return\n}\n";
        let run = |text: &str, passes| opt(text, "t.tile", &Registry::builtin(), &options(passes));
        let error = run(text, Some("canonicalize,assign-layouts{lanes=48},dce")).unwrap_err();
        let file = folder.path().join("k-assign-layouts.tile");
        let note = format!("reproduce with `tegula opt {}`", file.display());
        assert!(error.diagnostics()[0].notes.iter().any(|(_, n)| *n == note), "{error}");
        let again = run(&std::fs::read_to_string(file).unwrap(), None).unwrap_err();
        assert_eq!(again.to_string(), error.to_string());
    }
}
