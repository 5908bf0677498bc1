//! Modules, functions, blocks and values: the containers of Tile IR.
//!
//! Everything of one function lives in arenas addressed by small typed indices. Control flow is structured:
//! an op owns its nested blocks, a block is a list of ops whose last is a terminator, and there are no
//! branches between blocks. A value is visible after its definition in its block and in the blocks nested
//! there.

use cranelift_entity::{PrimaryMap, entity_impl};
use smallvec::SmallVec;

use crate::loc::{Loc, LocTable};
use crate::ops::OpKind;
use crate::types::{ScalarType, Shape, Type};

/// How deep blocks may be nested, the kernel's body included: passes and code generators walk them by recursion.
pub const MAX_NESTING: usize = 64;

/// A value: a function or block argument, or a result of an op.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(u32);
entity_impl!(Value, "v");

/// An op in a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Op(u32);
entity_impl!(Op, "op");

/// A block: arguments and a list of ops.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Block(u32);
entity_impl!(Block, "block");

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueDef {
    /// Parameter number of the function.
    Param(u32),
    /// Argument number of a nested block.
    Arg(Block, u32),
    /// Result number of an op.
    Result(Op, u32),
}

/// A value's record.
#[derive(Clone, PartialEq, Debug)]
pub struct ValueData {
    /// Its type.
    pub ty: Type,
    /// Where it comes from.
    pub def: ValueDef,
    /// A name for printing, such as the variable's in the user's source; need not be unique.
    pub name: Option<String>,
}

/// An op's record.
#[derive(Clone, PartialEq, Debug)]
pub struct OpData {
    /// What it does.
    pub kind: OpKind,
    /// Its results.
    pub results: SmallVec<[Value; 2]>,
    /// Where in the source it comes from.
    pub loc: Loc,
}

/// A block's record.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct BlockData {
    /// Arguments.
    pub args: SmallVec<[Value; 4]>,
    /// Ops in order; the last is a terminator once the block is finished.
    pub ops: Vec<Op>,
}

/// How a kernel uses a tensor parameter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ViewAccess {
    /// Only read.
    Read,
    /// Only written, each program its own tile.
    Write,
    /// Read and written.
    ReadWrite,
}

/// What is known of a tensor argument before launch. Each field is a promise that the launcher keeps; the
/// default promises nothing but natural alignment.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct ViewSpec {
    /// The base address is a multiple of this many bytes (0: of the element's size).
    pub align: u32,
    /// The last axis has stride 1.
    pub unit_inner: bool,
    /// Each extent is a multiple of this (missing or 0: 1).
    pub extent_divisor: SmallVec<[u32; 5]>,
    /// Each stride is a multiple of this, in elements (missing or 0: 1).
    pub stride_divisor: SmallVec<[u32; 5]>,
    /// Offsets are not negative and fit in 31 bits, in elements and in bytes: no axis of more than one element has a
    /// negative stride.
    pub fits_32: bool,
    /// The memory overlaps no other argument's that is written.
    pub no_alias: bool,
}

/// What a kernel parameter is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ParamKind {
    /// A tensor view.
    View {
        /// Element type.
        elem: ScalarType,
        /// Number of axes.
        rank: u8,
        /// How it is used.
        access: ViewAccess,
        /// What is known of it.
        spec: ViewSpec,
    },
    /// A number, with a divisor it is known to have (1 if nothing is known).
    Scalar {
        /// Its type.
        elem: ScalarType,
        /// The value is a multiple of this.
        divisor: u32,
    },
    /// A raw pointer with a byte alignment (0: natural).
    Ptr {
        /// Element type.
        elem: ScalarType,
        /// The address is a multiple of this many bytes.
        align: u32,
    },
}

impl ParamKind {
    /// Type of the parameter's value.
    pub fn ty(&self) -> Type {
        match self {
            Self::View { elem, rank, .. } => Type::View { elem: *elem, rank: *rank },
            Self::Scalar { elem, .. } => Type::scalar(*elem),
            Self::Ptr { elem, .. } => Type::Scalar(crate::types::Elem::Ptr(*elem)),
        }
    }
}

/// A kernel parameter.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Param {
    /// Name in the source.
    pub name: String,
    /// What it is.
    pub kind: ParamKind,
    /// Its value in the body.
    pub value: Value,
}

/// How many programs a launch has.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub enum Grid {
    /// The caller gives it.
    #[default]
    Explicit,
    /// One program per tile of an output, counted on grid axis 0 in row-major order of the tile coordinates:
    /// the product over axes of `ceil(extent / tile)`. All outputs that are partitioned agree.
    Tiles {
        /// Index of a partitioned parameter, and the extents of its tile.
        outputs: Vec<(u32, Shape)>,
    },
}

/// A kernel.
#[derive(Clone, Debug)]
pub struct Function {
    /// Name: an identifier, unique in its module.
    pub name: String,
    /// Parameters in order.
    pub params: Vec<Param>,
    /// How the grid follows from the arguments.
    pub grid: Grid,
    /// Sizes of the kernel's symbolic dims and other build-time parameters, for people to read.
    pub dims: Vec<(String, u64)>,
    /// Warps per program on GPUs.
    pub num_warps: u32,
    /// Default pipeline stages of its loops on GPUs.
    pub num_stages: u32,
    /// The outermost block, ending in [`OpKind::Return`].
    pub body: Block,
    /// Where the kernel stands in the source.
    pub loc: Loc,
    /// Source positions.
    pub locs: LocTable,
    values: PrimaryMap<Value, ValueData>,
    ops: PrimaryMap<Op, OpData>,
    blocks: PrimaryMap<Block, BlockData>,
}

impl Function {
    /// Warps per program where nothing else is asked for.
    pub const DEFAULT_NUM_WARPS: u32 = 4;
    /// Pipeline stages where nothing else is asked for.
    pub const DEFAULT_NUM_STAGES: u32 = 1;

    /// A function with an empty body.
    pub fn new(name: impl Into<String>) -> Self {
        let mut blocks = PrimaryMap::new();
        let body = blocks.push(BlockData::default());
        Self {
            name: name.into(),
            params: Vec::new(),
            grid: Grid::Explicit,
            dims: Vec::new(),
            num_warps: Self::DEFAULT_NUM_WARPS,
            num_stages: Self::DEFAULT_NUM_STAGES,
            body,
            loc: Loc::UNKNOWN,
            locs: LocTable::default(),
            values: PrimaryMap::new(),
            ops: PrimaryMap::new(),
            blocks,
        }
    }

    /// Adds a parameter and gives its value.
    pub fn add_param(&mut self, name: impl Into<String>, kind: ParamKind) -> Value {
        let name = name.into();
        let index = self.params.len() as u32;
        let value =
            self.values.push(ValueData { ty: kind.ty(), def: ValueDef::Param(index), name: Some(name.clone()) });
        self.params.push(Param { name, kind, value });
        value
    }

    /// Makes an empty block with arguments of these types.
    pub fn make_block(&mut self, arg_types: impl IntoIterator<Item = Type>) -> Block {
        let block = self.blocks.push(BlockData::default());
        for ty in arg_types {
            self.add_block_arg(block, ty);
        }
        block
    }

    /// Adds an argument to a block.
    pub fn add_block_arg(&mut self, block: Block, ty: Type) -> Value {
        let index = self.blocks[block].args.len() as u32;
        let value = self.values.push(ValueData { ty, def: ValueDef::Arg(block, index), name: None });
        self.blocks[block].args.push(value);
        value
    }

    /// Makes an op that stands in no block yet, with results of these types. Nothing is checked: see
    /// [`crate::builder::Builder`] for the checked way.
    pub fn make_op(&mut self, kind: OpKind, result_types: impl IntoIterator<Item = Type>, loc: Loc) -> Op {
        let op = self.ops.push(OpData { kind, results: SmallVec::new(), loc });
        for (i, ty) in result_types.into_iter().enumerate() {
            let v = self.values.push(ValueData { ty, def: ValueDef::Result(op, i as u32), name: None });
            self.ops[op].results.push(v);
        }
        op
    }

    /// Makes an op and puts it at the end of a block.
    pub fn append_op(
        &mut self,
        block: Block,
        kind: OpKind,
        result_types: impl IntoIterator<Item = Type>,
        loc: Loc,
    ) -> Op {
        let op = self.make_op(kind, result_types, loc);
        self.blocks[block].ops.push(op);
        op
    }

    /// An op's record.
    pub fn op(&self, op: Op) -> &OpData {
        &self.ops[op]
    }

    /// An op's record, to change.
    pub fn op_mut(&mut self, op: Op) -> &mut OpData {
        &mut self.ops[op]
    }

    /// What an op does.
    pub fn kind(&self, op: Op) -> &OpKind {
        &self.ops[op].kind
    }

    /// The only result of an op.
    ///
    /// # Panics
    /// If the op has no results or several; the caller matched its kind.
    pub fn result(&self, op: Op) -> Value {
        let results = &self.ops[op].results;
        assert_eq!(results.len(), 1, "{} has {} results", self.ops[op].kind.mnemonic(), results.len());
        results[0]
    }

    /// A block's record.
    pub fn block(&self, block: Block) -> &BlockData {
        &self.blocks[block]
    }

    /// A block's record, to change.
    pub fn block_mut(&mut self, block: Block) -> &mut BlockData {
        &mut self.blocks[block]
    }

    /// The last op of a block, if it is a terminator.
    pub fn terminator(&self, block: Block) -> Option<Op> {
        self.blocks[block].ops.last().copied().filter(|&op| self.ops[op].kind.is_terminator())
    }

    /// A value's record.
    pub fn value(&self, value: Value) -> &ValueData {
        &self.values[value]
    }

    /// A value's record, to change.
    pub fn value_mut(&mut self, value: Value) -> &mut ValueData {
        &mut self.values[value]
    }

    /// A value's type.
    pub fn ty(&self, value: Value) -> &Type {
        &self.values[value].ty
    }

    /// The op that defines a value, if one does.
    pub fn def_op(&self, value: Value) -> Option<Op> {
        match self.values[value].def {
            ValueDef::Result(op, _) => Some(op),
            _ => None,
        }
    }

    /// The kind of the op that defines a value, if one does.
    pub fn def_kind(&self, value: Value) -> Option<&OpKind> {
        self.def_op(value).map(|op| &self.ops[op].kind)
    }

    /// Number of values ever made; value indices are below it.
    pub fn num_values(&self) -> usize {
        self.values.len()
    }

    /// Number of ops ever made; op indices are below it. Not all need still stand in a block.
    pub fn num_ops(&self) -> usize {
        self.ops.len()
    }

    /// Number of blocks ever made; block indices are below it.
    pub fn num_blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Calls `f` with each op of the body and its block, outer ops before those nested in them, in program
    /// order.
    pub fn walk(&self, mut f: impl FnMut(Block, Op)) {
        self.walk_block(self.body, &mut f);
    }

    /// As [`Function::walk`], from a block on.
    pub fn walk_block(&self, block: Block, f: &mut impl FnMut(Block, Op)) {
        for &op in &self.blocks[block].ops {
            f(block, op);
            for nested in self.ops[op].kind.blocks() {
                self.walk_block(nested, f);
            }
        }
    }

    /// All ops of the body in the order of [`Function::walk`].
    pub fn ops_in_order(&self) -> Vec<Op> {
        let mut ops = Vec::new();
        self.walk(|_, op| ops.push(op));
        ops
    }

    /// Replaces operands throughout the body: every use of a key becomes the mapped value.
    pub fn replace_uses(&mut self, map: impl Fn(Value) -> Value) {
        for op in self.ops_in_order() {
            self.ops[op].kind.for_each_operand_mut(|v| *v = map(*v));
        }
    }
}

/// Kernels that are compiled together.
#[derive(Clone, Default, Debug)]
pub struct Module {
    /// The kernels, with distinct names.
    pub functions: Vec<Function>,
}

impl Module {
    /// The kernel of this name.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|f| f.name == name)
    }
}

impl From<Function> for Module {
    fn from(f: Function) -> Self {
        Self { functions: vec![f] }
    }
}
