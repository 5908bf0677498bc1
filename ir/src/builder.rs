//! Builds a function op by op, checking each op's typing rules as it is added.

use smallvec::SmallVec;

use crate::diag::Diagnostic;
use crate::function::{Block, Function, Op, Value};
use crate::literal::Literal;
use crate::loc::{Loc, SourceLoc};
use crate::ops::{BinaryOp, CmpOp, OpKind, Values, infer};
use crate::types::{ScalarType, Type};

/// Appends ops at the end of a current block.
///
/// Nested blocks are made first and filled by [`Builder::in_block`]; the op that owns them is added last:
///
/// ```
/// use tegula_ir::{builder::Builder, function::Function, ops::{BinaryOp, LoopHints, OpKind}, types::{ScalarType, Type}};
///
/// let mut b = Builder::new(Function::new("count"));
/// let (zero, ten, one) = (b.index(0), b.index(10), b.index(1));
/// let body = b.func.make_block([Type::INDEX, Type::INDEX]);
/// let (iv, sum) = (b.func.block(body).args[0], b.func.block(body).args[1]);
/// b.in_block(body, |b| {
///     let next = b.value(OpKind::Binary { op: BinaryOp::Add, a: sum, b: iv })?;
///     b.op(OpKind::Yield { values: [next].into_iter().collect() })
/// })?;
/// let init = [zero].into_iter().collect();
/// b.op(OpKind::For { lower: zero, upper: ten, step: one, init, body, hints: LoopHints::default() })?;
/// b.op(OpKind::Return)?;
/// # Ok::<(), tegula_ir::diag::Diagnostic>(())
/// ```
#[derive(Debug)]
pub struct Builder {
    /// The function being built.
    pub func: Function,
    block: Block,
    loc: Loc,
}

impl Builder {
    /// Starts at the end of the function's body.
    pub fn new(func: Function) -> Self {
        let (block, loc) = (func.body, func.loc);
        Self { func, block, loc }
    }

    /// The block ops are appended to.
    pub fn block(&self) -> Block {
        self.block
    }

    /// Appends to another block from now on; gives the one before.
    pub fn switch_to(&mut self, block: Block) -> Block {
        std::mem::replace(&mut self.block, block)
    }

    /// Runs `f` with `block` as the current block.
    pub fn in_block<R>(&mut self, block: Block, f: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.switch_to(block);
        let result = f(self);
        self.block = before;
        result
    }

    /// The location that new ops get.
    pub fn set_loc(&mut self, loc: SourceLoc) {
        self.loc = self.func.locs.intern(loc);
    }

    /// The location that new ops get, already in the function's table.
    pub fn set_loc_id(&mut self, loc: Loc) {
        self.loc = loc;
    }

    /// The current location.
    pub fn loc(&self) -> Loc {
        self.loc
    }

    /// Adds an op.
    ///
    /// # Errors
    /// If the operands or attributes break the op's typing rules; nothing is added then.
    pub fn op(&mut self, kind: OpKind) -> Result<Op, Diagnostic> {
        match infer::result_types(&self.func, &kind) {
            Ok(types) => Ok(self.func.append_op(self.block, kind, types, self.loc)),
            Err(e) => {
                let mut diag = Diagnostic::error(e.message).at(self.func.locs.get(self.loc));
                diag.help.extend(e.help);
                Err(diag)
            }
        }
    }

    /// Adds an op and gives its results.
    ///
    /// # Errors
    /// As [`Builder::op`].
    pub fn values(&mut self, kind: OpKind) -> Result<SmallVec<[Value; 2]>, Diagnostic> {
        self.op(kind).map(|op| self.func.op(op).results.clone())
    }

    /// Adds an op that has one result and gives it.
    ///
    /// # Errors
    /// As [`Builder::op`], and if the op has not one result.
    pub fn value(&mut self, kind: OpKind) -> Result<Value, Diagnostic> {
        let op = self.op(kind)?;
        match self.func.op(op).results[..] {
            [v] => Ok(v),
            ref rs => Err(Diagnostic::error(format!(
                "{} has {} results where one is needed",
                self.func.kind(op).mnemonic(),
                rs.len()
            ))
            .at(self.func.locs.get(self.loc))),
        }
    }

    /// A scalar constant.
    ///
    /// # Errors
    /// If the literal does not fit the type.
    pub fn constant(&mut self, t: ScalarType, value: Literal) -> Result<Value, Diagnostic> {
        self.value(OpKind::Constant { value, ty: Type::scalar(t) })
    }

    /// An `i64` constant.
    pub fn index(&mut self, value: i64) -> Value {
        let kind = OpKind::Constant { value: Literal::Int(value), ty: Type::INDEX };
        let op = self.func.append_op(self.block, kind, [Type::INDEX], self.loc);
        self.func.result(op)
    }

    /// A two-operand op.
    ///
    /// # Errors
    /// As [`Builder::op`].
    pub fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Result<Value, Diagnostic> {
        self.value(OpKind::Binary { op, a, b })
    }

    /// A comparison.
    ///
    /// # Errors
    /// As [`Builder::op`].
    pub fn compare(&mut self, op: CmpOp, a: Value, b: Value) -> Result<Value, Diagnostic> {
        self.value(OpKind::Compare { op, a, b })
    }

    /// Ends the current block with `yield`.
    ///
    /// # Errors
    /// As [`Builder::op`].
    pub fn yield_values(&mut self, values: impl IntoIterator<Item = Value>) -> Result<Op, Diagnostic> {
        let values: Values = values.into_iter().collect();
        self.op(OpKind::Yield { values })
    }

    /// The finished function.
    pub fn finish(self) -> Function {
        self.func
    }
}
