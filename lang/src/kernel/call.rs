//! A kernel with its arguments, ready to launch.

use std::borrow::Cow;

use smallvec::SmallVec;

use super::{BuildError, BuildOptions, Kernel};
use crate::host::Arg;

/// The arguments of a call. Up to this many need no allocation: launches are on a program's fast path.
pub type Args<'a> = SmallVec<[Arg<'a>; 24]>;

/// Sizes of a kernel's dims, in order of declaration.
pub type Sizes = SmallVec<[u32; 8]>;

/// A kernel with its arguments: what calling a `#[kernel]` function gives. Choose sizes and options, then
/// launch it on the device that holds the arguments.
#[derive(Debug)]
#[must_use = "a call does nothing until it is launched"]
pub struct Call<'a, K> {
    /// The kernel.
    pub kernel: K,
    /// Arguments in the order of [`super::KernelInfo::params`].
    pub args: Args<'a>,
    /// Sizes of all dims, in the order of [`super::KernelInfo::dims`]; empty for those in `options`, or the defaults.
    pub sizes: Sizes,
    /// Sizes and options; the arguments' properties are filled in by the launcher.
    pub options: BuildOptions,
    /// Number of programs on each axis, for kernels whose outputs do not give it.
    pub grid: Option<[u32; 3]>,
}

/// A kernel's `Dims` struct: the sizes of its symbolic dims.
pub trait DimSizes: Copy {
    /// Size of each dim, in order of declaration.
    fn sizes(&self) -> Sizes;
}

/// Kernels whose dims are chosen with the struct `D`.
#[diagnostic::on_unimplemented(
    message = "`{D}` are not the dims of this kernel",
    label = "the dims of another kernel",
    note = "a kernel `matmul` has its dims in `matmul::Dims`"
)]
pub trait HasDims<D> {}

impl<'a, K: Kernel> Call<'a, K> {
    /// A call with default options.
    pub fn new<const N: usize>(kernel: K, args: [Arg<'a>; N]) -> Self {
        Self {
            kernel,
            args: args.into_iter().collect(),
            sizes: Sizes::new(),
            options: BuildOptions::default(),
            grid: None,
        }
    }

    /// Chooses the sizes of the kernel's dims.
    pub fn dims<D: DimSizes>(mut self, dims: D) -> Self
    where
        K: HasDims<D>,
    {
        self.sizes = dims.sizes();
        self
    }

    /// Chooses the number of warps per program on GPUs.
    pub fn warps(mut self, warps: u32) -> Self {
        self.options.num_warps = Some(warps);
        self
    }

    /// Chooses the number of pipeline stages of loops on GPUs.
    pub fn stages(mut self, stages: u32) -> Self {
        self.options.num_stages = Some(stages);
        self
    }

    /// Gives the number of programs on each axis. Kernels with a `Tiles` output have their grid from it.
    pub fn grid(mut self, grid: [u32; 3]) -> Self {
        self.grid = Some(grid);
        self
    }

    /// The options to build with: those chosen, and the sizes by name.
    pub fn build_options(&self) -> Cow<'_, BuildOptions> {
        if self.sizes.is_empty() {
            return Cow::Borrowed(&self.options);
        }
        let mut options = self.options.clone();
        options.dims.extend(self.kernel.info().dims.iter().zip(&self.sizes).map(|(d, &s)| (d.name.to_owned(), s)));
        Cow::Owned(options)
    }

    /// Builds the kernel's Tile IR with the options chosen.
    ///
    /// # Errors
    /// As [`Kernel::build`].
    pub fn build(&self) -> Result<tegula_ir::Function, BuildError> {
        self.kernel.build(&self.build_options())
    }
}
