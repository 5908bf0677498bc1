//! The commands.

use std::path::Path;

use super::file::{Command, TestFile};
use super::run::Run;
use crate::diag::Diagnostic;
use crate::exec::Executor;
use crate::function::Module;
use crate::pass::{PassManager, Registry};
use crate::text::{LocStyle, PrintOptions, parse_module, print_module};
use crate::verify::verify_module;

/// Checks files.
pub struct Runner {
    /// The passes that can be named.
    pub registry: Registry,
    /// Those that run kernels; the first is the one that expected values come from.
    pub executors: Vec<Box<dyn Executor + Send + Sync>>,
}

impl Runner {
    /// Checks a file.
    ///
    /// # Errors
    /// With what differs from the expectation, or what is malformed.
    pub fn check(&self, path: &Path) -> Result<(), String> {
        let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
        let file = TestFile::parse(&text)?;
        let name = file_name(path);
        for command in &file.commands {
            self.command(&file, command, &name).map_err(|e| format!("test {}:\n{e}", command.heading()))?;
        }
        Ok(())
    }

    /// Writes anew what a file expects. Gives whether it changed.
    ///
    /// # Errors
    /// If it is malformed, or cannot be written.
    pub fn bless(&self, path: &Path) -> Result<bool, String> {
        let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
        let mut file = TestFile::parse(&text)?;
        let name = file_name(path);
        file.outputs.clear();
        for command in &file.commands.clone() {
            match command {
                Command::Parse | Command::Verify | Command::Pass(_) => {
                    let output = self.output(&file, command, &name)?;
                    if !output.is_empty() {
                        file.outputs.insert(command.heading(), output);
                    }
                }
                Command::Run(_) => {
                    let module = parse(&file.source, &name)?;
                    let executor = self.executors.first().ok_or("no executor")?;
                    for text in &mut file.runs {
                        let run = Run::new(text, &module)?;
                        text.expected = run.describe(&run.execute(executor.as_ref()));
                    }
                }
                Command::Compile(_) => {}
            }
        }
        let blessed = file.text();
        if blessed == text {
            return Ok(false);
        }
        std::fs::write(path, blessed).map_err(|e| e.to_string())?;
        Ok(true)
    }

    fn command(&self, file: &TestFile, command: &Command, name: &str) -> Result<(), String> {
        match command {
            Command::Parse | Command::Verify | Command::Pass(_) => {
                let found = self.output(file, command, name)?;
                let expected = file.outputs.get(&command.heading()).map_or("", String::as_str);
                if found == expected { Ok(()) } else { Err(difference(expected, &found)) }
            }
            Command::Run(executors) => self.runs(file, executors, name),
            // Compiled by the tests of the code generators.
            Command::Compile(_) => verify_module(&parse(&file.source, name)?).map_err(|e| diagnostics(&e)),
        }
    }

    /// What a command gives, as it stands in the file; nothing where all is as the source says.
    fn output(&self, file: &TestFile, command: &Command, name: &str) -> Result<String, String> {
        let mut module = match parse_module(&file.source, name) {
            Ok(module) => module,
            Err(e) => return Ok(diagnostics(&[e.diagnostic()])),
        };
        match command {
            Command::Parse => {
                let text = module.to_string();
                round_trips(&module)?;
                let code: Vec<&str> = file.source.lines().filter(|line| !line.starts_with(';')).collect();
                Ok(if code.join("\n").trim() == text.trim() { String::new() } else { text.trim_end().to_owned() })
            }
            Command::Verify => Ok(diagnostics(&verify_module(&module).err().unwrap_or_default())),
            Command::Pass(list) => {
                let copy = module.clone();
                let output = self.passes(list, &mut module)?;
                let again = self.passes(list, &mut copy.clone())?;
                if output == again {
                    Ok(output)
                } else {
                    Err(format!("two runs differ\n{}", difference(&output, &again)))
                }
            }
            Command::Run(_) | Command::Compile(_) => Ok(String::new()),
        }
    }

    fn passes(&self, list: &str, module: &mut Module) -> Result<String, String> {
        let mut output = String::new();
        for function in &mut module.functions {
            let pipeline = self.registry.pipeline(list).map_err(|e| e.to_string())?;
            let mut manager = PassManager::new(pipeline);
            manager.verify = true;
            match manager.run(function) {
                Ok(report) => output += &diagnostics(&report.remarks),
                // A pass may refuse its input, but not leave it invalid.
                Err(crate::pass::PassError::Failed { diagnostic, .. }) => return Ok(diagnostics(&[*diagnostic])),
                Err(e) => return Err(e.to_string()),
            }
        }
        if !output.is_empty() {
            output.push('\n');
        }
        round_trips(module)?;
        Ok(output + module.to_string().trim_end())
    }

    fn runs(&self, file: &TestFile, executors: &[String], name: &str) -> Result<(), String> {
        let module = parse(&file.source, name)?;
        verify_module(&module).map_err(|e| diagnostics(&e))?;
        if file.runs.is_empty() {
            return Err("there is no `; run`".into());
        }
        for text in &file.runs {
            let run = Run::new(text, &module)?;
            for (i, executor) in self.executors.iter().enumerate() {
                if executors.is_empty() || executors.contains(&executor.name()) {
                    let outcome = run.execute(executor.as_ref());
                    run.compare(&outcome, &text.expected, i == 0)
                        .map_err(|e| format!("on {}, run at line {}: {e}", executor.name(), text.line))?;
                }
            }
        }
        Ok(())
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn parse(source: &str, name: &str) -> Result<Module, String> {
    parse_module(source, name).map_err(|e| e.to_string())
}

/// Whether a module comes back from its text, with every style of locations.
fn round_trips(module: &Module) -> Result<(), String> {
    for locs in [LocStyle::None, LocStyle::Inline, LocStyle::Table] {
        let options = PrintOptions { locs };
        let text = print_module(module, &options);
        let again =
            parse_module(&text, "printed").map_err(|e| format!("the printed text does not parse: {e}\n{text}"))?;
        let printed = print_module(&again, &options);
        if printed != text {
            return Err(format!("the printed text does not round-trip\n{}", difference(&text, &printed)));
        }
    }
    Ok(())
}

/// Diagnostics one a line, by line and column, notes indented below.
fn diagnostics(all: &[Diagnostic]) -> String {
    let mut lines = Vec::new();
    for d in all {
        // The name of the file says nothing in the file itself, and may change.
        let place = |loc: &Option<crate::loc::SourceLoc>| {
            loc.as_ref().map_or_else(String::new, |l| format!("{}:{}: ", l.line, l.column))
        };
        let unplaced = Diagnostic { loc: None, ..d.clone() };
        lines.push(format!("{}{unplaced}", place(&d.loc)));
        lines.extend(d.notes.iter().map(|(loc, note)| format!("  note: {}{note}", place(loc))));
    }
    lines.join("\n")
}

/// Two texts that differ, from the first line that does.
fn difference(expected: &str, found: &str) -> String {
    let same = expected.lines().zip(found.lines()).take_while(|(a, b)| a == b).count();
    let rest = |text: &str| -> String {
        let lines: Vec<&str> = text.lines().skip(same).collect();
        if lines.is_empty() { "  (nothing)".to_owned() } else { format!("  {}", lines.join("\n  ")) }
    };
    format!("from line {} on, expected\n{}\nfound\n{}", same + 1, rest(expected), rest(found))
}
