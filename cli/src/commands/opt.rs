//! `tegula opt`: passes on a file of Tile IR.

use std::io::Read;

use tegula::ir::opt::{OptOptions, opt};
use tegula::ir::pass::Registry;
use tegula::ir::text::LocStyle;

use crate::args::OptArgs;
use crate::error::{CliError, Result};

/// Runs the passes and prints the module.
pub fn run(args: &OptArgs) -> Result<()> {
    let file = args.file.display().to_string();
    let mut text = String::new();
    let read = if file == "-" {
        std::io::stdin().read_to_string(&mut text).map(drop)
    } else {
        std::fs::read_to_string(&args.file).map(|t| text = t)
    };
    read.map_err(|e| CliError::Usage(format!("cannot read {file}: {e}")))?;
    let options = OptOptions {
        passes: args.passes.clone(),
        locs: if args.locations { LocStyle::Inline } else { LocStyle::None },
        print_after: args.print_after.clone(),
        dump: args.dump.clone(),
        reproducers: args.reproducer.clone(),
    };
    let output = opt(&text, &file, &Registry::builtin(), &options).map_err(|e| {
        let rendered: Vec<_> = e.diagnostics().iter().map(|d| d.render()).collect();
        CliError::Failed(rendered.join("\n"))
    })?;
    print!("{}", output.text);
    if args.timings {
        for (kernel, report) in &output.reports {
            eprint!("{kernel}\n{}", report.table());
        }
    }
    Ok(())
}
