//! The `#[kernel]` and `#[device]` attributes: they rewrite Rust syntax into staging calls and know no target.
//!
//! | module | subject |
//! |---|---|
//! | `kernel` | what a `#[kernel]` function expands to |
//! | `device` | `#[device]` helpers |
//! | `dims` | symbolic dims among generic parameters |
//! | `staged` | `#[derive(Staged)]` |
//! | `rewrite` | control flow, comparisons and literals in a body |
//! | `tuning` | what the tuner may choose from |
//! | `path` | where generated code finds the language |

mod device;
mod dims;
mod kernel;
mod path;
mod rewrite;
mod staged;
mod tuning;

use proc_macro::TokenStream;

/// Makes a kernel of a function written in terms of tiles.
///
/// `#[kernel] pub fn name<T: Float, B: Dim>(x: &Tensor<T, 1>, out: &mut Tiles<T, (B,)>) { … }` defines
///
/// - a function `name::<T>(x, out)` for the host, which gives a call to launch,
/// - a module `name` with the struct `Dims` of the sizes of its symbolic dims, and the type `Kernel`.
///
/// Parameters are `&Tensor<T, R>`, `&mut Tiles<T, S>`, `&mut Tensor<T, R>`, `Scalar<T>`, `Pointer<T>`, and
/// `#[comptime] x: X` for values known when the kernel is built, of any type that is `Clone + Hash + Send +
/// Sync + 'static`; `#[comptime(default = …)]` gives one for tools that build the kernel by name.
/// `#[do_not_specialize]` before a parameter keeps its properties (alignment, divisibility) from compiling the kernel
/// again: for arguments that change with every launch, such as a seed.
///
/// Options: `defaults(BM = 128, BN = 64)` for the sizes of dims, `dtypes(T = [f16, f32])` for the element types
/// that tools list, `warps = 8`, `stages = 3`, `tune(BM = [64, 128], warps = [4, 8], when(BM * BN <= 16384))` for what
/// the tuner may choose from or `tune = NAME` for a constant made by [`tuning!`], `crate = path` where the language is not at `::tegula`.
#[proc_macro_attribute]
pub fn kernel(options: TokenStream, item: TokenStream) -> TokenStream {
    kernel::expand(options.into(), item.into()).into()
}

/// Marks a helper function of kernels that itself contains control flow, comparisons or literals to rewrite as
/// in a kernel. Helpers without them need no mark.
#[proc_macro_attribute]
pub fn device(options: TokenStream, item: TokenStream) -> TokenStream {
    device::expand(options.into(), item.into()).into()
}

/// What the tuner may choose from, under a name that kernels share:
/// `const TILES: Tuning = tuning!(BM = [64, 128], BN = [64, 128], warps = [4, 8], when(BM * BN <= 16384));` for
/// `#[kernel(tune = TILES)]`. `crate = path,` stands in front where the language is not at `::tegula`.
#[proc_macro]
pub fn tuning(input: TokenStream) -> TokenStream {
    tuning::expand(input.into()).into()
}

/// Lets loops and branches of a kernel carry a struct made of tiles and scalars.
#[proc_macro_derive(Staged, attributes(staged))]
pub fn staged(item: TokenStream) -> TokenStream {
    staged::expand(item.into()).into()
}
