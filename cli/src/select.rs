//! From names on the command line to a built kernel.

use tegula::ir::{Function, ScalarType};
use tegula::lang::kernel::{BuildOptions, KernelInfo};
#[cfg(feature = "compiler")]
use tegula::runtime::compiler::Target;

use crate::Library;
use crate::args::KernelArgs;
use crate::case::build_error;
use crate::error::{CliError, Result};

/// A kernel and what was chosen of it.
#[derive(Debug)]
pub struct Selection {
    /// The kernel.
    pub info: &'static KernelInfo,
    /// What was chosen.
    pub options: BuildOptions,
}

impl Selection {
    /// Finds the kernel and checks each choice.
    ///
    /// # Errors
    /// One line with the nearest valid choice.
    pub fn new(library: &Library, args: &KernelArgs) -> Result<Self> {
        let info = library.kernel(&args.kernel)?;
        let mut options = BuildOptions { num_warps: args.warps, num_stages: args.stages, ..BuildOptions::default() };
        if let Some(dtype) = &args.dtype {
            let ty = scalar_type(dtype)?;
            let first = info
                .types
                .first()
                .ok_or_else(|| CliError::Usage(format!("kernel `{}` has no element-type parameter", info.name)))?;
            options = options.ty(*first, ty);
            if !(info.instances)().iter().any(|i| i.types.first() == Some(&ty)) {
                let types = (info.instances)();
                let names = types.iter().filter_map(|i| i.types.first()).map(|t| t.name());
                return Err(CliError::unknown(&format!("instance of `{}` for", info.name), dtype, names));
            }
        }
        for dim in &args.dims {
            let (name, size) = assignment(dim, "--dim", "BM=128")?;
            if !info.dims.iter().any(|d| d.name == name) {
                let what = format!("dim of `{}` called", info.name);
                return Err(CliError::unknown(&what, name, info.dims.iter().map(|d| d.name)));
            }
            let size = u32::try_from(size).ok().filter(|&s| s > 0);
            let size = size.ok_or_else(|| CliError::Usage(format!("--dim {dim}: a size is at least 1")))?;
            options = options.dim(name, size);
        }
        if let Some(warps) = args.warps
            && !(warps.is_power_of_two() && warps <= 32)
        {
            return Err(CliError::Usage(format!("--warps {warps}: the number of warps is 1, 2, 4, 8, 16 or 32")));
        }
        if args.stages == Some(0) {
            return Err(CliError::Usage("--stages 0: the least is 1, which means no pipelining".into()));
        }
        Ok(Self { info, options })
    }

    /// Chooses build-time parameters, each `NAME=VALUE`.
    ///
    /// # Errors
    /// One line with the nearest valid choice.
    pub fn set(mut self, assignments: &[String]) -> Result<Self> {
        for text in assignments {
            let (name, value) = text.split_once('=').ok_or_else(|| {
                CliError::Usage(format!("--set {text}: expected a name and a value, as in --set causal=true"))
            })?;
            if !self.info.comptime.iter().any(|c| c.name == name) {
                let what = format!("build-time parameter of `{}` called", self.info.name);
                return Err(CliError::unknown(&what, name, self.info.comptime.iter().map(|c| c.name)));
            }
            self.options = self.options.comptime(name, value);
        }
        Ok(self)
    }

    /// Builds the kernel.
    ///
    /// # Errors
    /// The problems, rendered with their source lines.
    pub fn build(&self) -> Result<Function> {
        self.info.build(&self.options).map_err(|e| build_error(&e))
    }
}

/// The target of this name.
///
/// # Errors
/// With the nearest name.
#[cfg(feature = "compiler")]
pub fn target(name: &str) -> Result<Target> {
    Target::by_name(name).map_err(|_| CliError::unknown("target", name, Target::names()))
}

/// The element type of this name.
///
/// # Errors
/// With the nearest name.
pub fn scalar_type(name: &str) -> Result<ScalarType> {
    ScalarType::from_name(name)
        .ok_or_else(|| CliError::unknown("element type", name, ScalarType::ALL.iter().map(|t| t.name())))
}

/// `NAME=NUMBER`.
///
/// # Errors
/// If the text is not of that form.
pub fn assignment<'a>(text: &'a str, flag: &str, example: &str) -> Result<(&'a str, i64)> {
    let bad = || CliError::Usage(format!("{flag} {text}: expected a name and a number, as in {flag} {example}"));
    let (name, number) = text.split_once('=').ok_or_else(bad)?;
    Ok((name, number.parse().map_err(|_| bad())?))
}
