//! `tegula export`: a kernel's code with a header and a launcher for hosts in C.

use serde::Serialize;
use tegula::lang::kernel::BuildOptions;
use tegula_build::{Class, Target, export};

use crate::Library;
use crate::args::ExportArgs;
use crate::error::{CliError, Result};
use crate::select::Selection;
use crate::table::byte_size;

/// What was written. `--json` prints this.
#[derive(Serialize)]
struct Report {
    kernel: &'static str,
    /// The name of the functions in C, before `_cpu`, `_cuda` and `_hip`.
    name: String,
    targets: Vec<String>,
    class: &'static str,
    files: Vec<Written>,
}

#[derive(Serialize)]
struct Written {
    path: String,
    bytes: usize,
}

/// Exports.
pub fn run(library: &Library, args: &ExportArgs) -> Result<()> {
    let failed = |e: tegula_build::Error| match e {
        e @ tegula_build::Error::UnknownTarget { .. } => CliError::Usage(e.to_string()),
        e => CliError::Failed(e.to_string()),
    };
    let class = Class::by_name(&args.class)
        .ok_or_else(|| CliError::unknown("class of arguments", &args.class, Class::ALL.map(Class::name)))?;
    let triple = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let targets: Vec<Target> = args
        .targets
        .iter()
        .map(|name| Target::by_name(name, &triple))
        .collect::<std::result::Result<_, _>>()
        .map_err(failed)?;

    let mut selection = Selection::new(library, &args.kernel)?.set(&args.comptime)?;
    let plain = selection.build()?;
    selection.options = BuildOptions { specs: class.specs(&plain), ..selection.options };
    let function = selection.build()?;
    let name = args.name.clone().unwrap_or_else(|| match selection.options.types.first() {
        Some((_, ty)) => format!("{}_{}", selection.info.name, ty.name()),
        None => selection.info.name.to_owned(),
    });

    let files = export::export(&name, &function, &targets).map_err(failed)?;
    let paths = export::write(&args.output, &files).map_err(failed)?;
    let written: Vec<Written> = paths
        .iter()
        .zip(&files)
        .map(|(path, file)| Written { path: path.display().to_string(), bytes: file.bytes.len() })
        .collect();
    if args.json {
        let report = Report {
            kernel: selection.info.name,
            name,
            targets: targets.iter().map(Target::name).collect(),
            class: class.name(),
            files: written,
        };
        println!("{}", serde_json::to_string_pretty(&report).expect("the report is plain data"));
    } else {
        for file in &written {
            println!("{}  {}", file.path, byte_size(file.bytes));
        }
    }
    Ok(())
}
