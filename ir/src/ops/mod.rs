//! The operations of Tile IR: a closed enum, so that a pass is a `match` the compiler checks for completeness.
//!
//! [`OpKind`] holds the operands and attributes of one op; the family modules hold the enums its attributes
//! are made of, with their meaning. [`infer`] gives each op's result types from its operands, and is the only
//! place where an op's typing rules stand: the builder uses it to make values, the verifier to check them.

pub mod arith;
pub mod control;
pub mod infer;
pub mod memory;
pub mod reduce;

use smallvec::SmallVec;

pub use arith::{BinaryOp, CmpOp, DotPrecision, Rounding, UnaryOp};
pub use control::{Fact, LoopHints};
pub use memory::{Access, Address, AtomicOp, AxisSet, CacheHint, Ordering, Scope};
pub use reduce::{ArgReduceKind, ReduceKind, ScanKind};

use crate::function::{Block, Value};
use crate::literal::Literal;
use crate::types::{LayoutRef, ScalarType, Shape, Type};

/// A short list of values.
pub type Values = SmallVec<[Value; 4]>;

/// One operation without its results: what it does, its operands, attributes and nested blocks.
///
/// "Tile or scalar" operands of one op have the same shape unless the op says otherwise: broadcasting is
/// explicit in the IR.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum OpKind {
    // --- creation ---
    /// A scalar, or a tile with every element equal to `value`. `ty` is a scalar or tile of numbers.
    Constant {
        /// The value; its family fits the element type of `ty`.
        value: Literal,
        /// Type of the result.
        ty: Type,
    },
    /// A tile of integers counting along `axis`: element `[.., i, ..]` is `start + i`, wrapping.
    Arange {
        /// Extents of the result.
        shape: Shape,
        /// Integer element type.
        elem: ScalarType,
        /// The axis counted along.
        axis: u8,
        /// Value at index 0.
        start: i64,
    },
    /// A tile with every element equal to the scalar `x`.
    Splat {
        /// The scalar.
        x: Value,
        /// Extents of the result; not empty.
        shape: Shape,
    },

    // --- shape ---
    /// Repeats axes of extent 1 to the extents of `shape` (same rank).
    Broadcast {
        /// The tile.
        x: Value,
        /// Extents of the result.
        shape: Shape,
    },
    /// The same elements in row-major order under other extents (also inserts and removes axes of extent 1).
    /// From and to a scalar where one side has a single element.
    Reshape {
        /// The tile or scalar.
        x: Value,
        /// Extents of the result; empty for a scalar.
        shape: Shape,
    },
    /// Reorders axes: axis `i` of the result is axis `perm[i]` of `x`.
    Permute {
        /// The tile.
        x: Value,
        /// A permutation of the axes.
        perm: SmallVec<[u8; 5]>,
    },
    /// Reverses the order along an axis.
    Flip {
        /// The tile.
        x: Value,
        /// The axis reversed.
        axis: u8,
    },
    /// Concatenates tiles that agree in all other extents.
    Cat {
        /// One or more tiles.
        parts: Values,
        /// The axis they follow one another on.
        axis: u8,
    },
    /// Pairs two equal-typed tiles (or scalars) along a new last axis of extent 2.
    Join {
        /// Becomes index 0.
        a: Value,
        /// Becomes index 1.
        b: Value,
    },
    /// The inverse of [`OpKind::Join`]: two results from a tile whose last extent is 2.
    Split {
        /// The tile.
        x: Value,
    },
    /// The sub-tile that starts at static `offsets`.
    ExtractSlice {
        /// The tile.
        x: Value,
        /// First index on each axis.
        offsets: Shape,
        /// Extents of the result.
        shape: Shape,
    },
    /// `into` with the elements from static `offsets` on replaced by `x`.
    InsertSlice {
        /// The sub-tile.
        x: Value,
        /// The tile it goes into.
        into: Value,
        /// First index on each axis.
        offsets: Shape,
    },
    /// Picks along an axis: `r[.., i, ..] = x[.., index[.., i, ..], ..]`. `index` has the rank of `x` and its
    /// extents but for `axis`. Indices are clamped into the axis.
    GatherAxis {
        /// The tile.
        x: Value,
        /// Integer tile.
        index: Value,
        /// The axis picked along.
        axis: u8,
    },

    // --- arithmetic (elementwise, tile or scalar) ---
    /// One-operand arithmetic and math.
    Unary {
        /// The function.
        op: UnaryOp,
        /// Operand.
        x: Value,
        /// Whether a faster variant with a looser (stated) error bound may be used.
        fast: bool,
    },
    /// Two-operand arithmetic; both operands and the result have one type.
    Binary {
        /// The function.
        op: BinaryOp,
        /// Left operand.
        a: Value,
        /// Right operand.
        b: Value,
    },
    /// Comparison; the result has `i1` elements. Float comparisons with a NaN are false, but for `Ne`.
    Compare {
        /// The predicate.
        op: CmpOp,
        /// Left operand.
        a: Value,
        /// Right operand.
        b: Value,
    },
    /// `if cond { a } else { b }` element by element. `cond` may be a scalar `i1` for tiles `a` and `b`.
    Select {
        /// `i1`.
        cond: Value,
        /// Taken where true.
        a: Value,
        /// Taken where false.
        b: Value,
    },
    /// `a * b + c` with one rounding (floats), or wrapping (integers).
    Fma {
        /// Factor.
        a: Value,
        /// Factor.
        b: Value,
        /// Addend.
        c: Value,
    },
    /// Conversion of the element type by value. To integers as Rust's `as`: from a float truncating and
    /// saturating with NaN to zero, from an integer wrapping unless `saturate`. To floats with `rounding`;
    /// `saturate` gives the largest finite value of the same sign where the format would overflow, and for an
    /// infinite operand, also where `to` is the operand's own type; NaN stays NaN. `Bool` converts from "not zero",
    /// and to 0 or 1.
    Cast {
        /// Operand.
        x: Value,
        /// Element type of the result.
        to: ScalarType,
        /// Rounding where the result is a float.
        rounding: Rounding,
        /// Whether overflow and infinities give the nearest finite value.
        saturate: bool,
    },
    /// The same bits under an element type of the same width. Pointers convert from and to `i64` and `u64`.
    Bitcast {
        /// Operand.
        x: Value,
        /// Element type of the result.
        to: ScalarType,
    },

    // --- reductions and scans ---
    /// Reduces over axes, which vanish from the result. The order of float additions is not specified but
    /// fixed for a given program; 8- and 16-bit floats accumulate in `f32` and round once.
    Reduce {
        /// The function.
        kind: ReduceKind,
        /// The tile.
        x: Value,
        /// Axes reduced, ascending, at least one.
        axes: SmallVec<[u8; 5]>,
    },
    /// Extreme value and its index along an axis: results `(value, index as i32)`. Equal values (also 0.0 and
    /// -0.0) resolve to the lowest index; NaN is passed over; all NaN gives NaN and index 0.
    ArgReduce {
        /// Least or greatest.
        kind: ArgReduceKind,
        /// The tile.
        x: Value,
        /// The axis reduced.
        axis: u8,
    },
    /// Reduces several equal-shaped tiles together with an associative function given as a block on scalars:
    /// its arguments are n left values then n right values (left holds lower indices), it yields n values.
    ReduceWith {
        /// One or more tiles of one shape.
        inputs: Values,
        /// The axis reduced.
        axis: u8,
        /// The function, ending in [`OpKind::Yield`].
        body: Block,
    },
    /// Inclusive prefix sum, product, maximum or minimum along an axis.
    Scan {
        /// The function.
        kind: ScanKind,
        /// The tile.
        x: Value,
        /// The axis scanned.
        axis: u8,
        /// From the last index to the first.
        reverse: bool,
    },
    /// Inclusive scan of several equal-shaped tiles with an associative function, as
    /// [`OpKind::ReduceWith`]. The left values are those already passed in scan order: with `reverse` they
    /// hold the higher indices.
    ScanWith {
        /// One or more tiles of one shape.
        inputs: Values,
        /// The axis scanned.
        axis: u8,
        /// From the last index to the first.
        reverse: bool,
        /// The function, ending in [`OpKind::Yield`].
        body: Block,
    },

    // --- matrix ---
    /// `acc + a · b`: `a` is `[batch.., M, K]`, `b` is `[batch.., K, N]`, `acc` and the result
    /// `[batch.., M, N]`. The element type of `acc` is the accumulation type.
    Dot {
        /// Left matrix.
        a: Value,
        /// Right matrix.
        b: Value,
        /// What is added to.
        acc: Value,
        /// How `f32` inputs are multiplied.
        precision: DotPrecision,
    },

    // --- program and views ---
    /// This program's coordinate on a grid axis (0 to 2), as `i64`.
    ProgramId {
        /// Grid axis.
        axis: u8,
    },
    /// Number of programs on a grid axis (0 to 2), as `i64`.
    NumPrograms {
        /// Grid axis.
        axis: u8,
    },
    /// A view's extent on an axis, in elements, as `i64`.
    ViewExtent {
        /// The view.
        view: Value,
        /// Axis of the view.
        axis: u8,
    },
    /// A view's stride on an axis, in elements, as `i64`.
    ViewStride {
        /// The view.
        view: Value,
        /// Axis of the view.
        axis: u8,
    },
    /// A view's base pointer.
    ViewBase {
        /// The view.
        view: Value,
    },
    /// A view from its parts: a pointer, `i64` extents and as many `i64` strides.
    MakeView {
        /// Pointer to element zero.
        base: Value,
        /// Extents in elements.
        extents: SmallVec<[Value; 5]>,
        /// Strides in elements.
        strides: SmallVec<[Value; 5]>,
    },

    // --- memory ---
    /// Pointer arithmetic: `ptr + offset` elements (`offset` an integer). Either may be a tile if the other is a
    /// tile of the same shape or a scalar.
    PtrAdd {
        /// Pointer or tile of pointers.
        ptr: Value,
        /// Integer or tile of integers, in elements.
        offset: Value,
    },
    /// Reads memory. Where an element is out of bounds or masked off it is `pad` (zero if absent) and memory is
    /// not touched.
    Load {
        /// What is read.
        addr: Address,
        /// `i1`, scalar or of the result's shape.
        mask: Option<Value>,
        /// Scalar of the element type.
        pad: Option<Value>,
        /// How memory is accessed.
        access: Access,
    },
    /// Writes memory, except where out of bounds or masked off.
    Store {
        /// What is written.
        addr: Address,
        /// The value, of the address's shape and element type.
        value: Value,
        /// `i1`, scalar or of the value's shape.
        mask: Option<Value>,
        /// How memory is accessed.
        access: Access,
    },
    /// Atomic read-modify-write, element by element in no particular order; gives the old values (zero where
    /// out of bounds or masked off).
    AtomicRmw {
        /// The function.
        op: AtomicOp,
        /// What is updated.
        addr: Address,
        /// Operand, of the address's shape and element type.
        value: Value,
        /// `i1`, scalar or of the value's shape.
        mask: Option<Value>,
        /// Memory ordering.
        ordering: Ordering,
        /// Whom the ordering is for.
        scope: Scope,
    },
    /// Atomic compare and exchange, element by element; compares bits; gives the old values.
    AtomicCas {
        /// What is updated.
        addr: Address,
        /// Value expected.
        compare: Value,
        /// Value stored where the expected one is found.
        value: Value,
        /// `i1`, scalar or of the value's shape.
        mask: Option<Value>,
        /// Memory ordering.
        ordering: Ordering,
        /// Whom the ordering is for.
        scope: Scope,
    },

    // --- control ---
    /// `for iv in (lower..upper).step_by(step)` with carried values. `body` takes `iv` and the carried values
    /// and yields the next ones; the results are the last ones. `step` must be positive.
    For {
        /// First value, a scalar integer.
        lower: Value,
        /// End, excluded; same type.
        upper: Value,
        /// Step; same type.
        step: Value,
        /// Initial carried values.
        init: Values,
        /// The body, ending in [`OpKind::Yield`].
        body: Block,
        /// What the author or tuner asks of the loop.
        hints: LoopHints,
    },
    /// `while`: `cond` takes the carried values and ends in [`OpKind::Condition`]; `body` takes the values the
    /// condition passes on and yields the next carried values; the results are the values passed on when the
    /// condition is false.
    While {
        /// Initial carried values.
        init: Values,
        /// The condition.
        cond: Block,
        /// The body, ending in [`OpKind::Yield`].
        body: Block,
    },
    /// Runs one of two blocks (without arguments); each yields the results.
    If {
        /// Scalar `i1`.
        cond: Value,
        /// Run where true.
        then_block: Block,
        /// Run where false.
        else_block: Block,
    },
    /// Ends a nested block with its values.
    Yield {
        /// The values.
        values: Values,
    },
    /// Ends the condition block of a [`OpKind::While`].
    Condition {
        /// Scalar `i1`: whether to go on.
        cond: Value,
        /// Values for the body, or the results.
        values: Values,
    },
    /// Ends the function.
    Return,

    // --- synchronisation, facts, debugging ---
    /// Waits until all threads of the program have come here, and orders their memory accesses.
    Barrier,
    /// `x`, with a promise of the author about it; breaking it is undefined.
    Assume {
        /// An integer or pointer, scalar or tile.
        x: Value,
        /// What is promised.
        fact: Fact,
    },
    /// Prints a line per program: the message, then each scalar, or the elements of each tile.
    Print {
        /// Text before the values.
        message: String,
        /// Scalars or tiles of numbers.
        args: Values,
    },
    /// Stops the kernel with an error where any element of `cond` is false. The op's location is part of it.
    Assert {
        /// `i1`, scalar or tile.
        cond: Value,
        /// Text of the error.
        message: String,
    },

    // --- after layout assignment ---
    /// The same tile under another layout.
    ConvertLayout {
        /// The tile.
        x: Value,
        /// Layout of the result.
        layout: LayoutRef,
    },
}

/// Applies `$f` to each operand of `$kind` in order. The same match serves `&OpKind` (where `$f` takes
/// `&Value`) and `&mut OpKind` (where it takes `&mut Value`).
macro_rules! visit_operands {
    ($kind:expr, $f:expr) => {
        match $kind {
            OpKind::Constant { .. }
            | OpKind::Arange { .. }
            | OpKind::ProgramId { .. }
            | OpKind::NumPrograms { .. }
            | OpKind::Return
            | OpKind::Barrier => {}
            OpKind::Splat { x, .. }
            | OpKind::Broadcast { x, .. }
            | OpKind::Reshape { x, .. }
            | OpKind::Permute { x, .. }
            | OpKind::Flip { x, .. }
            | OpKind::Split { x }
            | OpKind::ExtractSlice { x, .. }
            | OpKind::Unary { x, .. }
            | OpKind::Cast { x, .. }
            | OpKind::Bitcast { x, .. }
            | OpKind::Reduce { x, .. }
            | OpKind::ArgReduce { x, .. }
            | OpKind::Scan { x, .. }
            | OpKind::Assume { x, .. }
            | OpKind::ConvertLayout { x, .. } => $f(x),
            OpKind::Cat { parts, .. } => {
                for v in parts {
                    $f(v);
                }
            }
            OpKind::Join { a, b } | OpKind::Binary { a, b, .. } | OpKind::Compare { a, b, .. } => {
                $f(a);
                $f(b);
            }
            OpKind::InsertSlice { x, into, .. } => {
                $f(x);
                $f(into);
            }
            OpKind::GatherAxis { x, index, .. } => {
                $f(x);
                $f(index);
            }
            OpKind::Select { cond, a, b } => {
                $f(cond);
                $f(a);
                $f(b);
            }
            OpKind::Fma { a, b, c } => {
                $f(a);
                $f(b);
                $f(c);
            }
            OpKind::Dot { a, b, acc, .. } => {
                $f(a);
                $f(b);
                $f(acc);
            }
            OpKind::ReduceWith { inputs, .. } | OpKind::ScanWith { inputs, .. } => {
                for v in inputs {
                    $f(v);
                }
            }
            OpKind::ViewExtent { view, .. } | OpKind::ViewStride { view, .. } | OpKind::ViewBase { view } => {
                $f(view);
            }
            OpKind::MakeView { base, extents, strides } => {
                $f(base);
                for v in extents {
                    $f(v);
                }
                for v in strides {
                    $f(v);
                }
            }
            OpKind::PtrAdd { ptr, offset } => {
                $f(ptr);
                $f(offset);
            }
            OpKind::Load { addr, mask, pad, .. } => {
                visit_operands!(@addr addr, $f);
                if let Some(v) = mask {
                    $f(v);
                }
                if let Some(v) = pad {
                    $f(v);
                }
            }
            OpKind::Store { addr, value, mask, .. } | OpKind::AtomicRmw { addr, value, mask, .. } => {
                visit_operands!(@addr addr, $f);
                $f(value);
                if let Some(v) = mask {
                    $f(v);
                }
            }
            OpKind::AtomicCas { addr, compare, value, mask, .. } => {
                visit_operands!(@addr addr, $f);
                $f(compare);
                $f(value);
                if let Some(v) = mask {
                    $f(v);
                }
            }
            OpKind::For { lower, upper, step, init, .. } => {
                $f(lower);
                $f(upper);
                $f(step);
                for v in init {
                    $f(v);
                }
            }
            OpKind::While { init, .. } => {
                for v in init {
                    $f(v);
                }
            }
            OpKind::If { cond, .. } => $f(cond),
            OpKind::Yield { values } => {
                for v in values {
                    $f(v);
                }
            }
            OpKind::Condition { cond, values } => {
                $f(cond);
                for v in values {
                    $f(v);
                }
            }
            OpKind::Print { args, .. } => {
                for v in args {
                    $f(v);
                }
            }
            OpKind::Assert { cond, .. } => $f(cond),
        }
    };
    (@addr $addr:expr, $f:expr) => {
        match $addr {
            Address::Tile { view, offsets, .. } => {
                $f(view);
                for v in offsets {
                    $f(v);
                }
            }
            Address::Gather { view, indices, .. } => {
                $f(view);
                for v in indices {
                    $f(v);
                }
            }
            Address::Ptr { ptr } => $f(ptr),
        }
    };
}

impl OpKind {
    /// The op's name in the text format.
    pub const fn mnemonic(&self) -> &'static str {
        match self {
            Self::Constant { .. } => "constant",
            Self::Arange { .. } => "arange",
            Self::Splat { .. } => "splat",
            Self::Broadcast { .. } => "broadcast",
            Self::Reshape { .. } => "reshape",
            Self::Permute { .. } => "permute",
            Self::Flip { .. } => "flip",
            Self::Cat { .. } => "cat",
            Self::Join { .. } => "join",
            Self::Split { .. } => "split",
            Self::ExtractSlice { .. } => "extract_slice",
            Self::InsertSlice { .. } => "insert_slice",
            Self::GatherAxis { .. } => "gather_axis",
            Self::Unary { op, .. } => op.name(),
            Self::Binary { op, .. } => op.name(),
            Self::Compare { .. } => "cmp",
            Self::Select { .. } => "select",
            Self::Fma { .. } => "fma",
            Self::Cast { .. } => "cast",
            Self::Bitcast { .. } => "bitcast",
            Self::Reduce { .. } => "reduce",
            Self::ArgReduce { .. } => "arg_reduce",
            Self::ReduceWith { .. } => "reduce_with",
            Self::Scan { .. } => "scan",
            Self::ScanWith { .. } => "scan_with",
            Self::Dot { .. } => "dot",
            Self::ProgramId { .. } => "program_id",
            Self::NumPrograms { .. } => "num_programs",
            Self::ViewExtent { .. } => "view_extent",
            Self::ViewStride { .. } => "view_stride",
            Self::ViewBase { .. } => "view_base",
            Self::MakeView { .. } => "make_view",
            Self::PtrAdd { .. } => "ptr_add",
            Self::Load { .. } => "load",
            Self::Store { .. } => "store",
            Self::AtomicRmw { .. } => "atomic_rmw",
            Self::AtomicCas { .. } => "atomic_cas",
            Self::For { .. } => "for",
            Self::While { .. } => "while",
            Self::If { .. } => "if",
            Self::Yield { .. } => "yield",
            Self::Condition { .. } => "condition",
            Self::Return => "return",
            Self::Barrier => "barrier",
            Self::Assume { .. } => "assume",
            Self::Print { .. } => "print",
            Self::Assert { .. } => "assert",
            Self::ConvertLayout { .. } => "convert_layout",
        }
    }

    /// Calls `f` with each operand in order (operands of nested ops are not included).
    pub fn for_each_operand(&self, mut f: impl FnMut(Value)) {
        let mut g = |v: &Value| f(*v);
        visit_operands!(self, g);
    }

    /// Calls `f` with a place for each operand in order, to replace it.
    pub fn for_each_operand_mut(&mut self, mut f: impl FnMut(&mut Value)) {
        visit_operands!(self, f);
    }

    /// The operands in order.
    pub fn operands(&self) -> Values {
        let mut values = Values::new();
        self.for_each_operand(|v| values.push(v));
        values
    }

    /// Whether each element of the result depends on the same elements of the operands alone.
    pub fn is_elementwise(&self) -> bool {
        matches!(
            self,
            Self::Unary { .. }
                | Self::Binary { .. }
                | Self::Compare { .. }
                | Self::Select { .. }
                | Self::Fma { .. }
                | Self::Cast { .. }
                | Self::Bitcast { .. }
                | Self::PtrAdd { .. }
        )
    }

    /// The nested blocks in order.
    pub fn blocks(&self) -> SmallVec<[Block; 2]> {
        match self {
            Self::ReduceWith { body, .. } | Self::ScanWith { body, .. } | Self::For { body, .. } => {
                smallvec::smallvec![*body]
            }
            Self::While { cond, body, .. } => smallvec::smallvec![*cond, *body],
            Self::If { then_block, else_block, .. } => smallvec::smallvec![*then_block, *else_block],
            _ => SmallVec::new(),
        }
    }

    /// Calls `f` with a place for each nested block in order, to replace it.
    pub fn for_each_block_mut(&mut self, mut f: impl FnMut(&mut Block)) {
        match self {
            Self::ReduceWith { body, .. } | Self::ScanWith { body, .. } | Self::For { body, .. } => f(body),
            Self::While { cond, body, .. } => {
                f(cond);
                f(body);
            }
            Self::If { then_block, else_block, .. } => {
                f(then_block);
                f(else_block);
            }
            _ => {}
        }
    }

    /// What a memory op accesses.
    pub const fn address(&self) -> Option<&Address> {
        match self {
            Self::Load { addr, .. }
            | Self::Store { addr, .. }
            | Self::AtomicRmw { addr, .. }
            | Self::AtomicCas { addr, .. } => Some(addr),
            _ => None,
        }
    }

    /// What a memory op accesses, to change.
    pub const fn address_mut(&mut self) -> Option<&mut Address> {
        match self {
            Self::Load { addr, .. }
            | Self::Store { addr, .. }
            | Self::AtomicRmw { addr, .. }
            | Self::AtomicCas { addr, .. } => Some(addr),
            _ => None,
        }
    }

    /// Whether the op ends its block.
    pub const fn is_terminator(&self) -> bool {
        matches!(self, Self::Yield { .. } | Self::Condition { .. } | Self::Return)
    }

    /// Whether the op's own effect (not that of its nested ops) is more than its results: such an op is kept
    /// although its results are unused, and is not moved across others that touch memory.
    pub const fn has_side_effects(&self) -> bool {
        match self {
            Self::Load { access, .. } => access.volatile,
            _ => matches!(
                self,
                Self::Store { .. }
                    | Self::AtomicRmw { .. }
                    | Self::AtomicCas { .. }
                    | Self::Barrier
                    | Self::Print { .. }
                    | Self::Assert { .. }
                    | Self::Yield { .. }
                    | Self::Condition { .. }
                    | Self::Return
            ),
        }
    }

    /// Whether the op reads memory.
    pub const fn reads_memory(&self) -> bool {
        matches!(self, Self::Load { .. } | Self::AtomicRmw { .. } | Self::AtomicCas { .. })
    }
}
