//! What is known of a kernel without building it.

use tegula_ir::Function;

use super::build::{BuildError, BuildOptions};
use crate::elem::ScalarType;

/// What is known of a kernel without building it, and how to build it from names.
#[derive(Clone, Copy, Debug)]
pub struct KernelInfo {
    /// Name of the function.
    pub name: &'static str,
    /// Module it stands in.
    pub module: &'static str,
    /// Its documentation comment.
    pub doc: &'static str,
    /// Source file, as the compiler gave it.
    pub file: &'static str,
    /// Line of the function's name.
    pub line: u32,
    /// Column of the function's name.
    pub column: u32,
    /// Parameters in order, without those of build time.
    pub params: &'static [ParamInfo],
    /// Parameters of build time (`#[comptime]`).
    pub comptime: &'static [ComptimeInfo],
    /// Symbolic dims, in order of declaration.
    pub dims: &'static [DimInfo],
    /// Names of the element-type parameters, in order of declaration.
    pub types: &'static [&'static str],
    /// Warps per program that the author asks for, if any.
    pub num_warps: Option<u32>,
    /// Pipeline stages that the author asks for, if any.
    pub num_stages: Option<u32>,
    /// What the tuner may choose from; empty if nothing.
    pub tuning: Tuning,
    /// The combinations of element types the kernel can be built for, each in the order of `types`.
    pub instances: fn() -> Vec<Instance>,
}

impl KernelInfo {
    /// Builds the kernel for the element types in `options`, or for the first combination if none are given;
    /// likewise build-time parameters, whose defaults are those stated, else those of their types.
    ///
    /// # Errors
    /// If there is no such combination, or as [`super::Kernel::build`].
    pub fn build(&self, options: &BuildOptions) -> Result<Function, BuildError> {
        (self.instance(options)?.build)(options)
    }

    /// The combination of element types that `options` ask for.
    ///
    /// # Errors
    /// If there is none; the message names those there are.
    pub fn instance(&self, options: &BuildOptions) -> Result<Instance, BuildError> {
        let instances = (self.instances)();
        for (name, _) in &options.comptime {
            if !self.comptime.iter().any(|c| c.name == name) {
                let names: Vec<_> = self.comptime.iter().map(|c| c.name).collect();
                return Err(BuildError::message(
                    self,
                    format!("the kernel has no build-time parameter {name}"),
                    format!("it has: {}", if names.is_empty() { "none".into() } else { names.join(", ") }),
                ));
            }
        }
        for (name, _) in &options.types {
            if !self.types.contains(&name.as_str()) {
                return Err(BuildError::message(
                    self,
                    format!("the kernel has no element-type parameter {name}"),
                    format!("it has: {}", if self.types.is_empty() { "none".into() } else { self.types.join(", ") }),
                ));
            }
        }
        let fits = |instance: &Instance| {
            self.types
                .iter()
                .zip(&instance.types)
                .all(|(name, ty)| options.types.iter().find(|(n, _)| n == name).is_none_or(|(_, wanted)| wanted == ty))
        };
        instances.iter().find(|i| fits(i)).cloned().ok_or_else(|| {
            let asked: Vec<String> = options.types.iter().map(|(n, t)| format!("{n} = {t}")).collect();
            let there: Vec<String> =
                instances.iter().map(|i| i.types.iter().map(|t| t.name()).collect::<Vec<_>>().join(" ")).collect();
            BuildError::message(
                self,
                format!("the kernel cannot be built for {}", asked.join(", ")),
                format!("possible for {}: {}", self.types.join(" "), there.join(", ")),
            )
        })
    }
}

/// A combination of element types of a kernel.
#[derive(Clone, Debug)]
pub struct Instance {
    /// The types, in the order of [`KernelInfo::types`].
    pub types: Vec<ScalarType>,
    /// Builds the kernel for them.
    pub build: fn(&BuildOptions) -> Result<Function, BuildError>,
}

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct ParamInfo {
    /// Name in the source.
    pub name: &'static str,
    /// Type as written in the source, such as `& Tensor < T , 2 >` without the spaces.
    pub ty: &'static str,
    /// Whether the kernel is compiled again for properties of the argument; `#[do_not_specialize]` turns it off.
    pub specialize: bool,
}

/// A build-time parameter of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct ComptimeInfo {
    /// Name in the source.
    pub name: &'static str,
    /// Type as written in the source.
    pub ty: &'static str,
    /// The default as written in the source, if there is one.
    pub default: Option<&'static str>,
}

/// A symbolic dim of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct DimInfo {
    /// Name in the source.
    pub name: &'static str,
    /// Size if none is chosen.
    pub default: u32,
}

/// What the tuner may choose from: `tune(…)` at the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// The values of each axis.
    pub axes: &'static [TuningAxis],
    /// Whether a combination, one value for each axis, meets the conditions stated.
    pub fits: fn(&[u32]) -> bool,
}

impl Tuning {
    /// The same. A kernel whose dims lack one of its axes does not compile.
    #[must_use]
    pub const fn of_kernel(self, dims: &[&str]) -> Self {
        let mut axis = 0;
        while axis < self.axes.len() {
            let name = self.axes[axis].name;
            let mut known = is_same(name, "warps") || is_same(name, "stages");
            let mut dim = 0;
            while dim < dims.len() {
                known |= is_same(name, dims[dim]);
                dim += 1;
            }
            assert!(known, "the space given by `tune = ...` chooses something that is not a dim of this kernel");
            axis += 1;
        }
        self
    }
}

/// Equality of texts, in a constant.
const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

/// An axis of a [`Tuning`].
#[derive(Clone, Copy, Debug)]
pub struct TuningAxis {
    /// A dim of the kernel, `warps` or `stages`.
    pub name: &'static str,
    /// What it may be.
    pub values: &'static [u32],
}

/// The size of a dim whose kernel gives no default.
pub const DEFAULT_DIM: u32 = 32;
