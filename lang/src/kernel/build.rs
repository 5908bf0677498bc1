//! Building a kernel: from options to a function of Tile IR.

use smallvec::SmallVec;
use tegula_ir::Function;
use tegula_ir::diag::Diagnostic;
use tegula_ir::function::{Grid, ViewSpec};
use tegula_ir::loc::SourceLoc;
use tegula_ir::ops::OpKind;

use super::info::KernelInfo;
use super::param::Params;
use super::target::Target;
use crate::context;
use crate::elem::ScalarType;

/// What is chosen when a kernel is built. The default builds with the kernel's own defaults and promises
/// nothing of the arguments.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct BuildOptions {
    /// Sizes of dims by name; the others keep their defaults.
    pub dims: Vec<(String, u32)>,
    /// Element types by the name of the type parameter. Only [`KernelInfo::build`] reads them.
    pub types: Vec<(String, ScalarType)>,
    /// Build-time parameters as text, by name. Only [`KernelInfo::build`] reads them.
    pub comptime: Vec<(String, String)>,
    /// Warps per program on GPUs.
    pub num_warps: Option<u32>,
    /// Pipeline stages of loops on GPUs.
    pub num_stages: Option<u32>,
    /// What the kernel is built for, which its source may ask.
    pub target: Target,
    /// What is known of each argument, in the order of the parameters; may be shorter.
    pub specs: Vec<ArgSpec>,
}

impl BuildOptions {
    /// Chooses the size of a dim.
    #[must_use]
    pub fn dim(mut self, name: impl Into<String>, size: u32) -> Self {
        self.dims.push((name.into(), size));
        self
    }

    /// Chooses the value of a build-time parameter, whose type reads it from text.
    #[must_use]
    pub fn comptime(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.comptime.push((name.into(), value.into()));
        self
    }

    /// Says what the kernel is built for, by the name of the target.
    #[must_use]
    pub fn target(mut self, name: &str) -> Self {
        self.target = Target::of_name(name);
        self
    }

    /// Chooses an element type.
    #[must_use]
    pub fn ty(mut self, name: impl Into<String>, ty: ScalarType) -> Self {
        self.types.push((name.into(), ty));
        self
    }
}

/// What is known of an argument before launch: each is a promise that the launcher keeps.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct ArgSpec {
    /// Of a tensor.
    pub view: ViewSpec,
    /// A scalar is a multiple of this (0: unknown).
    pub divisor: u32,
    /// A pointer's address is a multiple of this many bytes (0: of the element's size).
    pub align: u32,
}

/// Why a kernel could not be built.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("kernel {kernel} cannot be built{}", first(.diagnostics))]
pub struct BuildError {
    /// Name of the kernel.
    pub kernel: String,
    /// What is wrong; at least one.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether an option is wrong, such as a dim or a value that does not exist, rather than the kernel.
    pub is_option: bool,
}

fn first(diagnostics: &[Diagnostic]) -> String {
    let mut text = diagnostics.first().map(|d| format!(": {d}")).unwrap_or_default();
    if diagnostics.len() > 1 {
        text += &format!(" (and {} more)", diagnostics.len() - 1);
    }
    text
}

impl BuildError {
    /// A wrong option, at the kernel's own line.
    pub fn message(info: &KernelInfo, message: impl Into<String>, help: impl Into<String>) -> Self {
        let diagnostic = Diagnostic::error(message).at(&location(info)).help(help);
        Self { kernel: info.name.into(), diagnostics: vec![diagnostic], is_option: true }
    }

    /// The option that is wrong, if one is.
    pub fn wrong_option(&self) -> Option<&Diagnostic> {
        self.diagnostics.first().filter(|_| self.is_option)
    }
}

fn location(info: &KernelInfo) -> SourceLoc {
    SourceLoc { file: info.file.into(), line: info.line, column: info.column }
}

/// Builds the function of a kernel: declares its parameters and runs its body, both in `body`.
///
/// # Errors
/// If an option does not fit the kernel, or what the body reports.
pub fn build(
    info: &KernelInfo,
    options: &BuildOptions,
    body: impl FnOnce(&mut Params<'_>),
) -> Result<Function, BuildError> {
    let mut sizes = SmallVec::<[u32; 8]>::new();
    for dim in info.dims {
        sizes.push(dim.default);
    }
    for (name, size) in &options.dims {
        let Some(i) = info.dims.iter().position(|d| d.name == name) else {
            let names: Vec<_> = info.dims.iter().map(|d| d.name).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(BuildError::message(
                info,
                format!("the kernel has no dim {name}"),
                format!("its dims are: {names}"),
            ));
        };
        if *size == 0 {
            return Err(BuildError::message(info, format!("dim {name} is 0"), "a dim is at least 1"));
        }
        sizes[i] = *size;
    }
    let mut function = Function::new(info.name);
    function.loc = function.locs.intern(location(info));
    function.dims = info.dims.iter().zip(&sizes).map(|(d, &s)| (d.name.to_owned(), u64::from(s))).collect();
    if let Some(warps) = options.num_warps.or(info.num_warps) {
        if !(warps.is_power_of_two() && warps <= 32) {
            return Err(BuildError::message(
                info,
                format!("a program cannot have {warps} warps"),
                "the number of warps is 1, 2, 4, 8, 16 or 32",
            ));
        }
        function.num_warps = warps;
    }
    if let Some(stages) = options.num_stages.or(info.num_stages) {
        if stages == 0 {
            return Err(BuildError::message(info, "a loop cannot have 0 pipeline stages", "1 is no pipeline"));
        }
        function.num_stages = stages;
    }
    let mut outputs = Vec::new();
    let (mut function, diagnostics) = context::build(function, sizes, options.target, || {
        let mut params = Params::new(&options.specs);
        body(&mut params);
        outputs = params.into_outputs();
        context::with(|b| {
            b.builder.set_loc(location(info));
            b.builder.op(OpKind::Return)
        });
    });
    if !outputs.is_empty() {
        function.grid = Grid::Tiles { outputs };
    }
    // What no single operation shows, such as effects in the function of a reduction.
    let diagnostics = match diagnostics.is_empty() {
        true => tegula_ir::verify::verify(&function).err().unwrap_or_default(),
        false => diagnostics,
    };
    if diagnostics.is_empty() {
        return Ok(function);
    }
    // A mistake in a helper or in an unrolled loop is met more than once.
    let mut distinct: Vec<Diagnostic> = Vec::new();
    for d in diagnostics {
        if !distinct.contains(&d) {
            distinct.push(d);
        }
    }
    let mut diagnostics = distinct;
    // Sizes make extents in messages readable.
    if !function.dims.is_empty() {
        let dims: Vec<String> = function.dims.iter().map(|(n, s)| format!("{n} = {s}")).collect();
        let note = format!("built with {}", dims.join(", "));
        if let Some(last) = diagnostics.last_mut() {
            *last = last.clone().note(note);
        }
    }
    Err(BuildError { kernel: info.name.into(), diagnostics, is_option: false })
}
