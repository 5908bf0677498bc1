//! Compiling what a session launches, for machines with a GPU and without the compiler.

use std::path::Path;

use tegula::runtime::compiler::Target;
use tegula::runtime::offline::Offline;
use tegula_artifact::archive;

use super::{cache, check, launch, time};
use crate::Library;
use crate::args::{Section, SessionArgs};
use crate::error::{CliError, Result};
use crate::table::byte_size;

/// Compiles for every target, and writes the archive that `--kernels` takes.
pub fn run(library: &Library, args: &SessionArgs, file: &Path) -> Result<()> {
    let mut archived = Vec::new();
    let mut problems = Vec::new();
    for target in targets(&args.targets)? {
        let offline = Offline::new(target).map_err(|e| CliError::Usage(e.to_string()))?;
        let device = offline.device();
        let mut note = |section: &str, result: tegula::Result<()>| {
            problems.extend(result.err().map(|e| format!("{section} for {target}: {e}")));
        };
        if args.wants(Section::Launch) {
            note("launch", launch::compile(device));
        }
        if args.wants(Section::Cache) {
            note("cache", cache::compile(library, device, &args.filter));
        }
        if args.wants(Section::Time) {
            note("time", time::compile(device, args));
        }
        if args.wants(Section::Check) {
            problems
                .extend(check::compile(library, device, args).into_iter().map(|p| format!("check for {target}: {p}")));
        }
        let kernels = offline.kernels();
        eprintln!("{target}: {} kernels", kernels.len());
        archived.extend(kernels);
    }
    let bytes = archive::to_bytes(&archived);
    std::fs::write(file, &bytes).map_err(|e| CliError::Failed(format!("{}: {e}", file.display())))?;
    println!("{}  {} kernels, {}", file.display(), archived.len(), byte_size(bytes.len()));
    match problems.is_empty() {
        true => Ok(()),
        false => Err(CliError::Failed(format!("some kernels are missing:\n{}", problems.join("\n")))),
    }
}

/// The architectures of these names; all, where none is named.
fn targets(names: &[String]) -> Result<Vec<&'static str>> {
    let all: Vec<&'static str> = Target::names().into_iter().filter(|n| *n != "cpu").collect();
    if names.is_empty() {
        return Ok(all);
    }
    let find = |name: &String| match all.iter().find(|n| *n == name) {
        Some(found) => Ok(*found),
        None => Err(CliError::unknown("GPU architecture", name, all.iter().copied())),
    };
    names.iter().map(find).collect()
}
