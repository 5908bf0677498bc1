//! Linear layouts: which thread's register holds which element of a tile, as linear maps over F2.
//!
//! A [`LinearLayout`] maps hardware coordinates (register, lane, warp, block) to the coordinates of a tile, bit by bit.
//! Blocked distributions, matrix fragments, shared memory and its swizzles, transposes, reductions and broadcasts are all
//! maps of this kind, and everything the compiler asks of them is linear algebra: how wide an access may be, who holds
//! duplicates, whether a conversion needs shuffles or shared memory, which swizzle has no bank conflicts. After "Linear
//! Layouts: Robust Code Generation of Efficient Tensor Computation Using F2" (arXiv 2505.23819).
//!
//! | file | subject |
//! |---|---|
//! | `matrix` | matrices and subspaces over F2 |
//! | `space` | named dimensions and spaces |
//! | `linear` | the layout and its algebra: composition, product, division, inverse, kernel |
//! | `text` | printing and parsing |
//! | `shape` | what operations on shapes do to a layout |
//! | `blocked`, `fragment`, `shared` | constructors: blocked, matrix fragments, shared memory |
//! | `access` | vector accesses |
//! | `rules`, `moves` | layouts of the operands and results of each op; ops that move elements |
//! | `convert` | planning of conversions |
//!
//! # Layouts
//!
//! What a code generator meets in IR that the pass [`assign_layouts`](crate::passes::assign_layouts) has laid out:
//!
//! * Every tile has a layout over registers, lanes and warps, the same numbers of lanes and warps throughout, which
//!   covers the tile's padded extents. A thread holds `layout.in_size(Dim::Register)` values of it.
//! * [`rules`] says for each op which layouts its operands and results have; [`rules::check`] verifies it.
//! * Elements may be held by several threads (a layout's [free bits](LinearLayout::free_bits)). Such copies are equal,
//!   but for padding. An op with a side effect on each element (`store`, `atomic_rmw`) acts only where the free bits of
//!   the register, lane and warp are 0; the results of atomics are then wanted by the other holders too.
//! * [`register_moves`] turns ops that move elements into renamings of registers where that is possible;
//!   [`Conversion::plan`] plans a `convert_layout`.
//! * [`LinearLayout::vector_access`] gives the vector accesses of a load or store, for the widths that
//!   [`AxisInfo::access`](crate::analysis::axis_info::AxisInfo::access) found safe.
//! * The result of a full reduction and every other scalar is wanted in all threads.
//!
//! # Padding
//! Layouts are over extents padded to powers of two. Which of the padded elements exist is not the layout's business:
//! memory accesses are masked by the logical extents, and values beyond them are unspecified.

mod access;
mod blocked;
mod convert;
pub mod fragment;
mod linear;
pub mod matrix;
mod moves;
pub mod rules;
mod shape;
mod shared;
mod space;
mod text;

pub use access::VectorAccess;
pub use blocked::Blocked;
pub use convert::{Conversion, ConversionOptions, LaneMap, MemoryPlan, ShufflePlan, ShuffleRound, register_sources};
pub use linear::{LayoutError, LinearLayout};
pub use moves::{Source, register_moves};
pub use shape::reshape_is_linear;
pub use shared::{SharedMemory, shared_linear, shared_nvidia_swizzle, shared_swizzled};
pub use space::{Dim, Space, extent_bits};
pub use text::ParseLayoutError;
