//! What a kernel author sees: tiles, tensors, dims and operations; each call appends to Tile IR.
//!
//! | module | subject |
//! |---|---|
//! | [`elem`] | element types |
//! | [`shape`] | shapes as types, broadcasting, axes |
//! | [`tile`], [`literal`] | the values of a kernel, and numbers among them |
//! | [`ops`] | operations on tiles |
//! | [`view`] | tensors in memory |
//! | [`refused`] | what Rust would refuse without naming a way out |
//! | [`control`] | what loops and branches become |
//! | [`kernel`] | kernels as values: information, building, calls |
//! | [`host`] | arguments of calls |
//! | [`context`] | the kernel being built |

pub mod context;
pub mod control;
pub mod elem;
pub mod host;
pub mod kernel;
pub mod literal;
pub mod ops;
pub mod refused;
pub mod shape;
pub mod tile;
pub mod view;

/// Everything a kernel needs: `use tegula::prelude::*`.
pub mod prelude {
    pub use crate::control::range::{device_range, unrolled};
    pub use crate::device_print;
    pub use crate::elem::{
        AnyFloat, Bits, DotInto, Element, F8E4M3, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, Float, I4, Int, Num, ScalarType,
        Signed, U4, bf16, f16,
    };
    pub use crate::kernel::Kernel;
    pub use crate::kernel::info::Tuning;
    pub use crate::kernel::target::{Target, target};
    pub use crate::ops::compare::select;
    pub use crate::ops::create::{arange, arange_along, arange_from, full, ones, scalar, zeros};
    pub use crate::ops::dot::{dot, dot_batched, dot_mixed, dot_with};
    pub use crate::ops::program::{barrier, device_assert, num_programs, program_id, static_assert};
    pub use crate::ops::random::{philox, rand, rand4, randint, randint4, randn};
    pub use crate::ops::reduce::reduce_with;
    pub use crate::ops::scan::{scan_with, scan_with_reverse};
    pub use crate::ops::{CacheHint, DotPrecision, Ordering as MemoryOrdering, Rounding, Scope as MemoryScope};
    pub use crate::shape::Shape;
    pub use crate::shape::axes::Axis;
    pub use crate::shape::broadcast::BroadcastTo;
    pub use crate::shape::dim::{Const, Dim, Div, Half, Mul, New, Plus, Twice};
    pub use crate::tile::{Pointer, Scalar, Tile};
    pub use crate::view::tensor::Tensor;
    pub use crate::view::tiles::Tiles;
}

/// What code made by the macros refers to. Not for use by hand: it changes without notice.
#[doc(hidden)]
pub mod __private {
    pub use crate::context::{Handle, dim_size};
    pub use crate::control::branch::{Branches, Condition, If, IfValue};
    pub use crate::control::carry::{Carries, Changing, Maybe, MaybeHashed, MaybeStaged, NotStaged, Staged, Watches};
    pub use crate::control::flag::Flag;
    pub use crate::control::host::{AsOperand, CastOfHost, Matched};
    pub use crate::control::loops::{Loop, While, WhileTest, always, forever, while_loop};
    pub use crate::control::range::{IntoLoop, MakeRange, range_inclusive};
    pub use crate::elem::{Element, F8E4M3, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, ScalarType, bf16, f16};
    pub use crate::host::{Arg, PointerTo, TensorArg, TensorArgMut};
    pub use crate::kernel::build::{BuildError, BuildOptions, build};
    pub use crate::kernel::call::{Call, DimSizes, HasDims, Sizes};
    pub use crate::kernel::comptime::{Comptime, HasDefault, HasNoDefault, Parses, ParsesNot, Probe, choose};
    pub use crate::kernel::info::{
        ComptimeInfo, DEFAULT_DIM, DimInfo, Instance, KernelInfo, ParamInfo, Tuning, TuningAxis,
    };
    pub use crate::kernel::param::Params;
    pub use crate::kernel::{Kernel, Listed};
    pub use crate::literal::{FloatLit, IntLit};
    pub use crate::ops::compare::{Logic, StagedEq, StagedGe, StagedGt, StagedLe, StagedLt, StagedNe};
    pub use crate::shape::dim::Dim;
    pub use tegula_ir as ir;
}
