//! The attributes of `tegula` ops: how each operation's fields, other than its operands and nested blocks, are
//! written as MLIR attributes and read back. Operands stand in the order of `OpKind::for_each_operand`.

use tegula_ir::function::{Block, Value};
use tegula_ir::literal::Literal;
use tegula_ir::ops::*;
use tegula_ir::types::{ScalarType, Type};

use crate::Error;
use crate::attr::Attr;
use crate::types;

/// Attributes by name.
pub type Attrs = Vec<(&'static str, Attr)>;

type Result<T> = std::result::Result<T, Error>;

/// The attributes of an op, in a fixed order.
///
/// # Errors
/// If the op has no interchange form (laid-out IR).
pub fn encode(kind: &OpKind) -> Result<Attrs> {
    let axis = |a: &u8| ("axis", Attr::Int((*a).into()));
    let dims = |name, s: &[u32]| (name, Attr::ints(s));
    let bytes = |name, s: &[u8]| (name, Attr::ints(s));
    let word = |name, s: &str| (name, Attr::str(s));
    let flag = |name, v: bool| (name, Attr::flag(v));
    Ok(match kind {
        OpKind::Constant { value, .. } => vec![("value", literal(*value))],
        OpKind::Arange { axis: a, start, .. } => vec![axis(a), ("start", Attr::Int(*start))],
        OpKind::Splat { .. } | OpKind::Broadcast { .. } | OpKind::Reshape { .. } => vec![],
        OpKind::Permute { perm, .. } => vec![bytes("perm", perm)],
        OpKind::Flip { axis: a, .. } | OpKind::Cat { axis: a, .. } | OpKind::GatherAxis { axis: a, .. } => {
            vec![axis(a)]
        }
        OpKind::Join { .. } | OpKind::Split { .. } => vec![],
        OpKind::ExtractSlice { offsets, .. } | OpKind::InsertSlice { offsets, .. } => vec![dims("offsets", offsets)],
        OpKind::Unary { op, fast, .. } => vec![word("op", op.name()), flag("fast", *fast)],
        OpKind::Binary { op, .. } => vec![word("op", op.name())],
        OpKind::Compare { op, .. } => vec![word("op", op.name())],
        OpKind::Select { .. } | OpKind::Fma { .. } | OpKind::Bitcast { .. } => vec![],
        OpKind::Cast { rounding, saturate, .. } => vec![word("rounding", rounding.name()), flag("saturate", *saturate)],
        OpKind::Reduce { kind, axes, .. } => vec![word("kind", kind.name()), bytes("axes", axes)],
        OpKind::ArgReduce { kind, axis: a, .. } => vec![word("kind", kind.name()), axis(a)],
        OpKind::ReduceWith { axis: a, .. } => vec![axis(a)],
        OpKind::Scan { kind, axis: a, reverse, .. } => {
            vec![word("kind", kind.name()), axis(a), flag("reverse", *reverse)]
        }
        OpKind::ScanWith { axis: a, reverse, .. } => vec![axis(a), flag("reverse", *reverse)],
        OpKind::Dot { precision, .. } => vec![word("precision", precision.name())],
        OpKind::ProgramId { axis: a } | OpKind::NumPrograms { axis: a } => vec![axis(a)],
        OpKind::ViewExtent { axis: a, .. } | OpKind::ViewStride { axis: a, .. } => vec![axis(a)],
        OpKind::ViewBase { .. } | OpKind::MakeView { .. } | OpKind::PtrAdd { .. } => vec![],
        OpKind::Load { addr, mask, pad, access } => {
            let mut attrs = address(addr);
            attrs.push(flag("mask", mask.is_some()));
            attrs.push(flag("pad", pad.is_some()));
            attrs.push(word("cache", access.cache.name()));
            attrs.push(flag("volatile", access.volatile));
            attrs
        }
        OpKind::Store { addr, mask, access, .. } => {
            let mut attrs = address(addr);
            attrs.push(flag("mask", mask.is_some()));
            attrs.push(word("cache", access.cache.name()));
            attrs.push(flag("volatile", access.volatile));
            attrs
        }
        OpKind::AtomicRmw { op, addr, mask, ordering, scope, .. } => {
            let mut attrs = address(addr);
            attrs.push(word("op", op.name()));
            attrs.push(flag("mask", mask.is_some()));
            attrs.push(word("ordering", ordering.name()));
            attrs.push(word("scope", scope.name()));
            attrs
        }
        OpKind::AtomicCas { addr, mask, ordering, scope, .. } => {
            let mut attrs = address(addr);
            attrs.push(flag("mask", mask.is_some()));
            attrs.push(word("ordering", ordering.name()));
            attrs.push(word("scope", scope.name()));
            attrs
        }
        OpKind::For { hints, .. } => vec![
            ("stages", Attr::Int(hints.stages.map_or(-1, i64::from))),
            ("unroll", Attr::Int(hints.unroll.map_or(-1, i64::from))),
            flag("warp_specialize", hints.warp_specialize),
            flag("flatten", hints.flatten),
        ],
        OpKind::While { .. } | OpKind::If { .. } => vec![],
        OpKind::Yield { .. } | OpKind::Condition { .. } | OpKind::Return | OpKind::Barrier => vec![],
        OpKind::Assume { fact, .. } => match *fact {
            Fact::Divisible(n) => vec![word("fact", "divisible"), ("args", Attr::Ints(vec![n as i64]))],
            Fact::Bounded { min, max } => vec![word("fact", "bounded"), ("args", Attr::Ints(vec![min, max]))],
            Fact::Contiguous { axis, n } => {
                vec![word("fact", "contiguous"), ("args", Attr::Ints(vec![axis.into(), n.into()]))]
            }
        },
        OpKind::Print { message, .. } | OpKind::Assert { message, .. } => vec![word("message", message)],
        OpKind::ConvertLayout { .. } => return Err(Error::Unsupported("layouts".into())),
    })
}

fn address(addr: &Address) -> Attrs {
    match addr {
        Address::Tile { shape, in_bounds, .. } => vec![
            ("address", Attr::str("tile")),
            ("shape", Attr::ints(shape)),
            ("in_bounds", Attr::Int(in_bounds.0.into())),
        ],
        Address::Gather { indices, in_bounds, .. } => vec![
            ("address", Attr::str("gather")),
            ("indices", Attr::Int(indices.len() as i64)),
            ("in_bounds", Attr::Int(in_bounds.0.into())),
        ],
        Address::Ptr { .. } => vec![("address", Attr::str("ptr"))],
    }
}

/// A literal: integers and truth values as they are, floats by the bits of their `f64`.
pub fn literal(v: Literal) -> Attr {
    match v {
        Literal::Bool(b) => Attr::flag(b),
        Literal::Int(i) => Attr::Int(i),
        Literal::Float(x) => Attr::Int(x.to_bits() as i64),
    }
}

/// What an op is read back from.
pub struct Parts<'a> {
    /// Name behind `tegula.`.
    pub name: &'a str,
    /// Attribute by name.
    pub attr: &'a dyn Fn(&str) -> Result<Attr>,
    /// Operands in order.
    pub operands: &'a [Value],
    /// Types of the results.
    pub results: &'a [Type],
    /// Nested blocks.
    pub blocks: &'a [Block],
}

impl Parts<'_> {
    fn operand(&self, i: usize) -> Result<Value> {
        self.operands.get(i).copied().ok_or_else(|| self.bad(format!("operand {i}")))
    }

    fn block(&self, i: usize) -> Result<Block> {
        self.blocks.get(i).copied().ok_or_else(|| self.bad(format!("block {i}")))
    }

    fn bad(&self, what: impl std::fmt::Display) -> Error {
        Error::Import(format!("tegula.{}: missing or wrong {what}", self.name))
    }

    fn int<T: TryFrom<i64>>(&self, name: &str) -> Result<T> {
        match (self.attr)(name)? {
            Attr::Int(v) => T::try_from(v).map_err(|_| self.bad(name)),
            _ => Err(self.bad(name)),
        }
    }

    fn flag(&self, name: &str) -> Result<bool> {
        Ok(self.int::<i64>(name)? != 0)
    }

    fn str(&self, name: &str) -> Result<String> {
        match (self.attr)(name)? {
            Attr::Str(s) => Ok(s),
            _ => Err(self.bad(name)),
        }
    }

    fn word<T>(&self, name: &str, parse: impl Fn(&str) -> Option<T>) -> Result<T> {
        parse(&self.str(name)?).ok_or_else(|| self.bad(name))
    }

    fn ints<T: TryFrom<i64>, C: FromIterator<T>>(&self, name: &str) -> Result<C> {
        match (self.attr)(name)? {
            Attr::Ints(v) => v.into_iter().map(|x| T::try_from(x).map_err(|_| self.bad(name))).collect(),
            _ => Err(self.bad(name)),
        }
    }

    fn result(&self) -> Result<&Type> {
        self.results.first().ok_or_else(|| self.bad("result"))
    }

    fn shape(&self) -> Result<tegula_ir::Shape> {
        Ok(self.result()?.shape().ok_or_else(|| self.bad("result"))?.into())
    }

    fn elem(&self) -> Result<ScalarType> {
        self.result()?.elem_scalar().ok_or_else(|| self.bad("result"))
    }

    /// The address, and the number of operands it takes.
    fn address(&self) -> Result<(Address, usize)> {
        let in_bounds = || self.int("in_bounds").map(AxisSet);
        match self.str("address")?.as_str() {
            "tile" => {
                let shape: tegula_ir::Shape = self.ints("shape")?;
                let n = shape.len() + 1;
                let offsets = self.operands.get(1..n).ok_or_else(|| self.bad("offsets"))?.into();
                Ok((Address::Tile { view: self.operand(0)?, offsets, shape, in_bounds: in_bounds()? }, n))
            }
            "gather" => {
                let n = self.int::<usize>("indices")? + 1;
                let indices = self.operands.get(1..n).ok_or_else(|| self.bad("indices"))?.into();
                Ok((Address::Gather { view: self.operand(0)?, indices, in_bounds: in_bounds()? }, n))
            }
            "ptr" => Ok((Address::Ptr { ptr: self.operand(0)? }, 1)),
            _ => Err(self.bad("address")),
        }
    }

    /// The operand at `*i` if the flag says that there is one; moves on then.
    fn optional(&self, flag: &str, i: &mut usize) -> Result<Option<Value>> {
        if !self.flag(flag)? {
            return Ok(None);
        }
        *i += 1;
        self.operand(*i - 1).map(Some)
    }

    fn access(&self) -> Result<Access> {
        Ok(Access { cache: self.word("cache", CacheHint::from_name)?, volatile: self.flag("volatile")? })
    }

    fn literal(&self, t: ScalarType) -> Result<Literal> {
        let v: i64 = self.int("value")?;
        Ok(match t {
            ScalarType::Bool => Literal::Bool(v != 0),
            t if t.is_float() => Literal::Float(f64::from_bits(v as u64)),
            _ => Literal::Int(v),
        })
    }
}

/// Reads an op back.
///
/// # Errors
/// [`Error::Import`] where a part is missing or wrong.
pub fn decode(p: &Parts<'_>) -> Result<OpKind> {
    let x = || p.operand(0);
    Ok(match p.name {
        "constant" => OpKind::Constant { value: p.literal(p.elem()?)?, ty: p.result()?.clone() },
        "arange" => OpKind::Arange { shape: p.shape()?, elem: p.elem()?, axis: p.int("axis")?, start: p.int("start")? },
        "splat" => OpKind::Splat { x: x()?, shape: p.shape()? },
        "broadcast" => OpKind::Broadcast { x: x()?, shape: p.shape()? },
        "reshape" => OpKind::Reshape { x: x()?, shape: p.shape()? },
        "permute" => OpKind::Permute { x: x()?, perm: p.ints("perm")? },
        "flip" => OpKind::Flip { x: x()?, axis: p.int("axis")? },
        "cat" => OpKind::Cat { parts: p.operands.into(), axis: p.int("axis")? },
        "join" => OpKind::Join { a: x()?, b: p.operand(1)? },
        "split" => OpKind::Split { x: x()? },
        "extract_slice" => OpKind::ExtractSlice { x: x()?, offsets: p.ints("offsets")?, shape: p.shape()? },
        "insert_slice" => OpKind::InsertSlice { x: x()?, into: p.operand(1)?, offsets: p.ints("offsets")? },
        "gather_axis" => OpKind::GatherAxis { x: x()?, index: p.operand(1)?, axis: p.int("axis")? },
        "unary" => OpKind::Unary { op: p.word("op", UnaryOp::from_name)?, x: x()?, fast: p.flag("fast")? },
        "binary" => OpKind::Binary { op: p.word("op", BinaryOp::from_name)?, a: x()?, b: p.operand(1)? },
        "cmp" => OpKind::Compare { op: p.word("op", CmpOp::from_name)?, a: x()?, b: p.operand(1)? },
        "select" => OpKind::Select { cond: x()?, a: p.operand(1)?, b: p.operand(2)? },
        "fma" => OpKind::Fma { a: x()?, b: p.operand(1)?, c: p.operand(2)? },
        "cast" => OpKind::Cast {
            x: x()?,
            to: p.elem()?,
            rounding: p.word("rounding", Rounding::from_name)?,
            saturate: p.flag("saturate")?,
        },
        "bitcast" => OpKind::Bitcast { x: x()?, to: p.elem()? },
        "reduce" => OpKind::Reduce { kind: p.word("kind", ReduceKind::from_name)?, x: x()?, axes: p.ints("axes")? },
        "arg_reduce" => {
            OpKind::ArgReduce { kind: p.word("kind", ArgReduceKind::from_name)?, x: x()?, axis: p.int("axis")? }
        }
        "reduce_with" => OpKind::ReduceWith { inputs: p.operands.into(), axis: p.int("axis")?, body: p.block(0)? },
        "scan" => OpKind::Scan {
            kind: p.word("kind", ScanKind::from_name)?,
            x: x()?,
            axis: p.int("axis")?,
            reverse: p.flag("reverse")?,
        },
        "scan_with" => OpKind::ScanWith {
            inputs: p.operands.into(),
            axis: p.int("axis")?,
            reverse: p.flag("reverse")?,
            body: p.block(0)?,
        },
        "dot" => OpKind::Dot {
            a: x()?,
            b: p.operand(1)?,
            acc: p.operand(2)?,
            precision: p.word("precision", DotPrecision::from_name)?,
        },
        "program_id" => OpKind::ProgramId { axis: p.int("axis")? },
        "num_programs" => OpKind::NumPrograms { axis: p.int("axis")? },
        "view_extent" => OpKind::ViewExtent { view: x()?, axis: p.int("axis")? },
        "view_stride" => OpKind::ViewStride { view: x()?, axis: p.int("axis")? },
        "view_base" => OpKind::ViewBase { view: x()? },
        "make_view" => {
            let rank = p.operands.len() / 2;
            let (extents, strides) = p.operands[1..].split_at(rank);
            OpKind::MakeView { base: x()?, extents: extents.into(), strides: strides.into() }
        }
        "ptr_add" => OpKind::PtrAdd { ptr: x()?, offset: p.operand(1)? },
        "load" => {
            let (addr, mut i) = p.address()?;
            let mask = p.optional("mask", &mut i)?;
            let pad = p.optional("pad", &mut i)?;
            OpKind::Load { addr, mask, pad, access: p.access()? }
        }
        "store" => {
            let (addr, mut i) = p.address()?;
            let value = p.operand(i)?;
            i += 1;
            OpKind::Store { addr, value, mask: p.optional("mask", &mut i)?, access: p.access()? }
        }
        "atomic_rmw" => {
            let (addr, mut i) = p.address()?;
            let value = p.operand(i)?;
            i += 1;
            OpKind::AtomicRmw {
                op: p.word("op", AtomicOp::from_name)?,
                addr,
                value,
                mask: p.optional("mask", &mut i)?,
                ordering: p.word("ordering", Ordering::from_name)?,
                scope: p.word("scope", Scope::from_name)?,
            }
        }
        "atomic_cas" => {
            let (addr, mut i) = p.address()?;
            let (compare, value) = (p.operand(i)?, p.operand(i + 1)?);
            i += 2;
            OpKind::AtomicCas {
                addr,
                compare,
                value,
                mask: p.optional("mask", &mut i)?,
                ordering: p.word("ordering", Ordering::from_name)?,
                scope: p.word("scope", Scope::from_name)?,
            }
        }
        "for" => {
            let hint = |name| p.int::<i64>(name).map(|v| (v >= 0).then_some(v));
            OpKind::For {
                lower: x()?,
                upper: p.operand(1)?,
                step: p.operand(2)?,
                init: p.operands[3..].into(),
                body: p.block(0)?,
                hints: LoopHints {
                    stages: hint("stages")?.map(|v| v as u8),
                    unroll: hint("unroll")?.map(|v| v as u32),
                    warp_specialize: p.flag("warp_specialize")?,
                    flatten: p.flag("flatten")?,
                },
            }
        }
        "while" => OpKind::While { init: p.operands.into(), cond: p.block(0)?, body: p.block(1)? },
        "if" => OpKind::If { cond: x()?, then_block: p.block(0)?, else_block: p.block(1)? },
        "yield" => OpKind::Yield { values: p.operands.into() },
        "condition" => OpKind::Condition { cond: x()?, values: p.operands[1..].into() },
        "return" => OpKind::Return,
        "barrier" => OpKind::Barrier,
        "assume" => {
            let args: Vec<i64> = p.ints("args")?;
            let fact = match (p.str("fact")?.as_str(), &args[..]) {
                ("divisible", &[n]) => Fact::Divisible(n as u64),
                ("bounded", &[min, max]) => Fact::Bounded { min, max },
                ("contiguous", &[axis, n]) => Fact::Contiguous { axis: axis as u8, n: n as u32 },
                _ => return Err(p.bad("fact")),
            };
            OpKind::Assume { x: x()?, fact }
        }
        "print" => OpKind::Print { message: p.str("message")?, args: p.operands.into() },
        "assert" => OpKind::Assert { cond: x()?, message: p.str("message")? },
        other => return Err(Error::Import(format!("unknown op tegula.{other}"))),
    })
}

/// The op's name behind `tegula.`; all functions of one arity share an op.
pub fn op_name(kind: &OpKind) -> &'static str {
    match kind {
        OpKind::Unary { .. } => "unary",
        OpKind::Binary { .. } => "binary",
        other => other.mnemonic(),
    }
}

/// The upstream op with exactly this meaning, where there is one. `t` is the element type of the first operand. All
/// attributes of such an op are those of [`encode`], kept as discardable `tegula.` attributes where upstream has none.
pub fn upstream(kind: &OpKind, t: Option<ScalarType>) -> Option<&'static str> {
    let float = t.is_some_and(|t| t.is_float());
    let signless = t.is_some_and(|t| t.is_signed_int() || t == ScalarType::Bool);
    Some(match kind {
        OpKind::Unary { op, fast: false, .. } if float => upstream_math(*op)?,
        OpKind::Binary { op, .. } => match op {
            BinaryOp::Add if float => "arith.addf",
            BinaryOp::Sub if float => "arith.subf",
            BinaryOp::Mul if float => "arith.mulf",
            BinaryOp::Div if float => "arith.divf",
            BinaryOp::MinNan => "arith.minimumf",
            BinaryOp::MaxNan => "arith.maximumf",
            BinaryOp::Atan2 => "math.atan2",
            BinaryOp::CopySign => "math.copysign",
            BinaryOp::Add if signless => "arith.addi",
            BinaryOp::Sub if signless => "arith.subi",
            BinaryOp::Mul if signless => "arith.muli",
            BinaryOp::And if signless => "arith.andi",
            BinaryOp::Or if signless => "arith.ori",
            BinaryOp::Xor if signless => "arith.xori",
            _ => return None,
        },
        OpKind::Fma { .. } if float => "math.fma",
        OpKind::For { .. } if signless => "scf.for",
        OpKind::While { .. } => "scf.while",
        OpKind::If { .. } => "scf.if",
        OpKind::Condition { .. } => "scf.condition",
        OpKind::Return => "func.return",
        _ => return None,
    })
}

fn upstream_math(op: UnaryOp) -> Option<&'static str> {
    Some(match op {
        UnaryOp::Neg => "arith.negf",
        UnaryOp::Abs => "math.absf",
        UnaryOp::Exp => "math.exp",
        UnaryOp::Exp2 => "math.exp2",
        UnaryOp::Expm1 => "math.expm1",
        UnaryOp::Log => "math.log",
        UnaryOp::Log2 => "math.log2",
        UnaryOp::Log10 => "math.log10",
        UnaryOp::Log1p => "math.log1p",
        UnaryOp::Sqrt => "math.sqrt",
        UnaryOp::Rsqrt => "math.rsqrt",
        UnaryOp::Cbrt => "math.cbrt",
        UnaryOp::Sin => "math.sin",
        UnaryOp::Cos => "math.cos",
        UnaryOp::Tan => "math.tan",
        UnaryOp::Asin => "math.asin",
        UnaryOp::Acos => "math.acos",
        UnaryOp::Atan => "math.atan",
        UnaryOp::Sinh => "math.sinh",
        UnaryOp::Cosh => "math.cosh",
        UnaryOp::Tanh => "math.tanh",
        UnaryOp::Erf => "math.erf",
        UnaryOp::Floor => "math.floor",
        UnaryOp::Ceil => "math.ceil",
        UnaryOp::RoundEven => "math.roundeven",
        UnaryOp::Round => "math.round",
        UnaryOp::Trunc => "math.trunc",
        _ => return None,
    })
}

/// The `tegula` name behind an upstream op: the inverse of [`upstream`] up to the `op` attribute.
pub fn from_upstream(name: &str) -> Option<(&'static str, Option<&'static str>)> {
    if let Some(op) = UnaryOp::ALL.iter().find(|op| upstream_math(**op) == Some(name)) {
        return Some(("unary", Some(op.name())));
    }
    let binary = |op: BinaryOp| Some(("binary", Some(op.name())));
    match name {
        "arith.addf" | "arith.addi" => binary(BinaryOp::Add),
        "arith.subf" | "arith.subi" => binary(BinaryOp::Sub),
        "arith.mulf" | "arith.muli" => binary(BinaryOp::Mul),
        "arith.divf" => binary(BinaryOp::Div),
        "arith.minimumf" => binary(BinaryOp::MinNan),
        "arith.maximumf" => binary(BinaryOp::MaxNan),
        "math.atan2" => binary(BinaryOp::Atan2),
        "math.copysign" => binary(BinaryOp::CopySign),
        "arith.andi" => binary(BinaryOp::And),
        "arith.ori" => binary(BinaryOp::Or),
        "arith.xori" => binary(BinaryOp::Xor),
        "math.fma" => Some(("fma", None)),
        "scf.for" => Some(("for", None)),
        "scf.while" => Some(("while", None)),
        "scf.if" => Some(("if", None)),
        "scf.condition" => Some(("condition", None)),
        "scf.yield" | "gpu.yield" => Some(("yield", None)),
        "func.return" => Some(("return", None)),
        _ => None,
    }
}

/// The text of a type in the interchange form.
pub fn type_text(ty: &Type) -> Result<String> {
    if ty.layout().is_some() { Err(Error::Unsupported("layouts".into())) } else { Ok(types::ty(ty)) }
}
