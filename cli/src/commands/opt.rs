//! `tegula opt`: passes on a file of Tile IR.

use std::io::Read;
use std::path::Path;

use serde::Serialize;
use tegula::ir::opt::{OptError, OptOptions, OptOutput, opt};
use tegula::ir::pass::{PassListError, PassReport, Registry};
use tegula::ir::text::LocStyle;

use crate::args::OptArgs;
use crate::error::{CliError, Result};
use crate::table::Columns;

/// What came of the passes. `--json` prints this.
#[derive(Serialize)]
struct Report<'a> {
    /// The pass list that was run.
    passes: &'a str,
    kernels: Vec<Kernel<'a>>,
    /// The module after the passes.
    text: &'a str,
}

#[derive(Serialize)]
struct Kernel<'a> {
    kernel: &'a str,
    passes: Vec<Run<'a>>,
}

#[derive(Serialize)]
struct Run<'a> {
    pass: &'a str,
    changed: bool,
    seconds: f64,
}

/// A pass that can be named. `--list --json` prints an array of these.
#[derive(Serialize)]
struct Pass {
    pass: &'static str,
    summary: &'static str,
    options: Vec<PassOption>,
}

#[derive(Serialize)]
struct PassOption {
    name: &'static str,
    help: &'static str,
}

/// Runs the passes and prints the module.
pub fn run(args: &OptArgs) -> Result<()> {
    let registry = Registry::builtin();
    match &args.file {
        Some(file) => run_on(&registry, file, args),
        None => {
            list(&registry, args.json);
            Ok(())
        }
    }
}

fn list(registry: &Registry, json: bool) {
    let passes: Vec<Pass> = registry
        .iter()
        .map(|p| Pass {
            pass: p.name,
            summary: p.summary,
            options: p.options.iter().map(|o| PassOption { name: o.name, help: o.help }).collect(),
        })
        .collect();
    if json {
        println!("{}", serde_json::to_string_pretty(&passes).expect("the list is plain data"));
        return;
    }
    let mut table = Columns::new(&["pass", "what it does"]);
    for p in &passes {
        table.row([p.pass.into(), p.summary.into()]);
        for o in &p.options {
            table.row([format!("  {}", o.name), o.help.into()]);
        }
    }
    print!("{table}");
}

fn run_on(registry: &Registry, path: &Path, args: &OptArgs) -> Result<()> {
    // What the command line asks for comes before what the file holds.
    if let Some(passes) = &args.passes {
        registry.pipeline(passes).map_err(|e| wrong_passes(registry, e))?;
    }
    for name in args.print_after.iter().filter(|name| *name != "*") {
        if registry.get(name).is_none() {
            return Err(unknown_pass(registry, name));
        }
    }
    let file = path.display().to_string();
    let mut text = String::new();
    let read = if file == "-" {
        std::io::stdin().read_to_string(&mut text).map(drop)
    } else {
        std::fs::read_to_string(path).map(|t| text = t)
    };
    read.map_err(|e| CliError::Usage(format!("cannot read {file}: {e}")))?;
    let options = OptOptions {
        passes: args.passes.clone(),
        locs: if args.locations { LocStyle::Inline } else { LocStyle::None },
        print_after: args.print_after.clone(),
        dump: args.dump.clone(),
        reproducers: args.reproducer.clone(),
    };
    let output = opt(&text, &file, registry, &options).map_err(|e| match e {
        OptError::Passes(e) => wrong_passes(registry, e),
        e => CliError::Failed(e.diagnostics().iter().map(|d| d.render()).collect::<Vec<_>>().join("\n")),
    })?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&report(&output)).expect("the report is plain data"));
    } else {
        print!("{}", output.text);
    }
    if args.timings {
        for (kernel, report) in &output.reports {
            eprint!("{kernel}\n{}", report.table());
        }
    }
    Ok(())
}

fn report(output: &OptOutput) -> Report<'_> {
    let kernels = output.reports.iter().map(|(kernel, report)| Kernel { kernel, passes: runs(report) }).collect();
    Report { passes: &output.passes, kernels, text: &output.text }
}

fn runs(report: &PassReport) -> Vec<Run<'_>> {
    let passes = report.passes.iter();
    passes.map(|p| Run { pass: &p.pass, changed: p.changed.any(), seconds: p.time.as_secs_f64() }).collect()
}

fn unknown_pass(registry: &Registry, name: &str) -> CliError {
    CliError::unknown("pass", name, registry.iter().map(|p| p.name))
}

fn wrong_passes(registry: &Registry, error: PassListError) -> CliError {
    match error {
        PassListError::UnknownPass { name, .. } => unknown_pass(registry, &name),
        e => CliError::Usage(e.to_string()),
    }
}
