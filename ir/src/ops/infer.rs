//! Typing rules: the result types of each op from its operands, or what is wrong with it.
//!
//! Messages speak in shapes and element types, name the operand that is wrong and, where there is one, the way
//! out. Terminators and nested blocks are checked by the verifier, which sees the blocks around them.

use smallvec::{SmallVec, smallvec};

use super::{Address, AtomicOp, BinaryOp, Fact, OpKind, ReduceKind, ScanKind, UnaryOp, Values};
use crate::function::{Block, Function, Value};
use crate::types::{Elem, MAX_RANK, ScalarType, Shape, Type};

/// Types of an op's results.
pub type ResultTypes = SmallVec<[Type; 2]>;

/// What is wrong with an op: a message, and a way out where there is one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpError {
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
}

impl OpError {
    /// An error without a way out.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None }
    }

    /// Adds a way out.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl std::fmt::Display for OpError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for OpError {}

type Result<T> = std::result::Result<T, OpError>;

macro_rules! fail {
    ($($arg:tt)*) => { return Err(OpError::new(format!($($arg)*))) };
}

/// The types of the op's results, without layouts except for `convert_layout`.
pub fn result_types(f: &Function, kind: &OpKind) -> Result<ResultTypes> {
    let one = |ty: Type| -> Result<ResultTypes> { Ok(smallvec![ty]) };
    let none = || -> Result<ResultTypes> { Ok(SmallVec::new()) };
    match kind {
        OpKind::Constant { value, ty } => {
            check_shape(shape_of(ty)?)?;
            match ty.elem_scalar() {
                Some(t) if value.in_range(t) => one(ty.without_layout()),
                Some(t) if value.fits(t) => fail!("constant {value:?} is out of the range of {t}"),
                Some(t) => fail!("constant {value:?} does not fit element type {t}"),
                None => fail!("a constant must be a number or truth value"),
            }
        }
        OpKind::Arange { shape, elem, axis, .. } => {
            check_shape(shape)?;
            check_axis(*axis, shape.len())?;
            if !elem.is_int() {
                fail!("arange makes integers, not {elem}");
            }
            one(Type::shaped(shape.iter().copied(), *elem))
        }
        OpKind::Splat { x, shape } => {
            check_shape(shape)?;
            if shape.is_empty() {
                fail!("splat needs at least one axis");
            }
            one(Type::shaped(shape.iter().copied(), scalar_elem(f, *x, "splat's operand")?))
        }
        OpKind::Broadcast { x, shape } => {
            check_shape(shape)?;
            let (from, elem) = shaped(f, *x)?;
            if from.len() != shape.len() || from.iter().zip(shape).any(|(&a, &b)| a != b && a != 1) {
                return Err(OpError::new(format!("cannot broadcast {} to {}", dims(from), dims(shape)))
                    .help("only axes of extent 1 are repeated; insert missing axes with expand"));
            }
            one(Type::shaped(shape.iter().copied(), elem))
        }
        OpKind::Reshape { x, shape } => {
            check_shape(shape)?;
            let (from, elem) = shaped(f, *x)?;
            if count(from) != count(shape) {
                fail!(
                    "cannot reshape {} ({} elements) to {} ({} elements)",
                    dims(from),
                    count(from),
                    dims(shape),
                    count(shape)
                );
            }
            one(Type::shaped(shape.iter().copied(), elem))
        }
        OpKind::Permute { x, perm } => {
            let (from, elem) = shaped(f, *x)?;
            let mut sorted = perm.clone();
            sorted.sort_unstable();
            if !sorted.iter().copied().eq(0..from.len() as u8) {
                fail!("{perm:?} is not an order of the {} axes of {}", from.len(), dims(from));
            }
            one(Type::shaped(perm.iter().map(|&p| from[p as usize]), elem))
        }
        OpKind::Flip { x, axis } => {
            let (from, elem) = shaped(f, *x)?;
            check_axis(*axis, from.len())?;
            one(Type::shaped(from.iter().copied(), elem))
        }
        OpKind::Cat { parts, axis } => {
            let Some(&first) = parts.first() else { fail!("cat needs at least one tile") };
            let (from, elem) = shaped(f, first)?;
            check_axis(*axis, from.len())?;
            let mut shape: Shape = from.into();
            shape[*axis as usize] = 0;
            for &part in parts {
                let (s, e) = shaped(f, part)?;
                let same =
                    s.len() == from.len() && e == elem && (0..s.len()).all(|i| i == *axis as usize || s[i] == from[i]);
                if !same {
                    fail!("cannot concatenate {} and {} on axis {axis}", f.ty(first), f.ty(part));
                }
                shape[*axis as usize] = match shape[*axis as usize].checked_add(s[*axis as usize]) {
                    Some(n) => n,
                    None => fail!("the concatenated tile is too large"),
                };
            }
            check_shape(&shape)?;
            one(Type::shaped(shape, elem))
        }
        OpKind::Join { a, b } => {
            same_type(f, *a, *b, "join")?;
            let (from, elem) = shaped(f, *a)?;
            let shape: Shape = from.iter().copied().chain([2]).collect();
            check_shape(&shape)?;
            one(Type::shaped(shape, elem))
        }
        OpKind::Split { x } => {
            let (from, elem) = shaped(f, *x)?;
            match from.split_last() {
                Some((2, rest)) => {
                    let half = Type::shaped(rest.iter().copied(), elem);
                    Ok(smallvec![half.clone(), half])
                }
                _ => fail!("split needs a last axis of extent 2, found {}", f.ty(*x)),
            }
        }
        OpKind::ExtractSlice { x, offsets, shape } => {
            check_shape(shape)?;
            let (from, elem) = shaped(f, *x)?;
            check_slice(from, offsets, shape)?;
            one(Type::shaped(shape.iter().copied(), elem))
        }
        OpKind::InsertSlice { x, into, offsets } => {
            let (part, e) = shaped(f, *x)?;
            let (whole, elem) = shaped(f, *into)?;
            if e != elem {
                fail!("cannot insert {} into {}: the element types differ", f.ty(*x), f.ty(*into));
            }
            check_slice(whole, offsets, part)?;
            one(Type::shaped(whole.iter().copied(), elem))
        }
        OpKind::GatherAxis { x, index, axis } => {
            let (from, elem) = shaped(f, *x)?;
            let (idx, ie) = shaped(f, *index)?;
            check_axis(*axis, from.len())?;
            if !ie.scalar().is_some_and(ScalarType::is_int) {
                fail!("gather indices must be integers, found {}", f.ty(*index));
            }
            if idx.len() != from.len() || (0..idx.len()).any(|i| i != *axis as usize && idx[i] != from[i]) {
                fail!(
                    "gather along axis {axis} of {} needs indices that agree with it on the other axes, found {}",
                    f.ty(*x),
                    f.ty(*index)
                );
            }
            one(Type::shaped(idx.iter().copied(), elem))
        }
        OpKind::Unary { op, x, .. } => unary(f, *op, *x),
        OpKind::Binary { op, a, b } => binary(f, *op, *a, *b),
        OpKind::Compare { op, a, b } => {
            same_type(f, *a, *b, op.name())?;
            numeric_no_fp8(f, *a, op.name(), true)?;
            one(with_elem(f, *a, ScalarType::Bool)?)
        }
        OpKind::Select { cond, a, b } => {
            same_type(f, *a, *b, "select")?;
            check_mask(f, Some(*cond), shaped(f, *a)?.0, "condition")?;
            one(f.ty(*a).without_layout())
        }
        OpKind::Fma { a, b, c } => {
            same_type(f, *a, *b, "fma")?;
            same_type(f, *a, *c, "fma")?;
            numeric_no_fp8(f, *a, "fma", false)?;
            one(f.ty(*a).without_layout())
        }
        OpKind::Cast { x, to, .. } => {
            number(f, *x, "cast")?;
            one(with_elem(f, *x, *to)?)
        }
        OpKind::Bitcast { x, to } => {
            let (_, elem) = shaped(f, *x)?;
            let from_bits = match elem {
                Elem::Scalar(t) => t.bits(),
                Elem::Ptr(_) => 64,
            };
            if from_bits != to.bits() || (matches!(elem, Elem::Ptr(_)) && !to.is_int()) {
                fail!("cannot reinterpret the bits of {elem} as {to}");
            }
            one(with_elem(f, *x, *to)?)
        }
        OpKind::Reduce { kind, x, axes } => {
            let (from, _) = shaped(f, *x)?;
            let t = number(f, *x, "reduce")?;
            if axes.is_empty() || !axes.windows(2).all(|w| w[0] < w[1]) {
                fail!("reduced axes must be ascending, and at least one");
            }
            for &a in axes {
                check_axis(a, from.len())?;
            }
            check_reduce_elem(*kind, t)?;
            one(Type::shaped((0..from.len()).filter(|&i| !axes.contains(&(i as u8))).map(|i| from[i]), t))
        }
        OpKind::ArgReduce { x, axis, .. } => {
            let (from, _) = shaped(f, *x)?;
            let t = numeric_no_fp8(f, *x, "arg_reduce", false)?;
            check_axis(*axis, from.len())?;
            let rest: Shape = without_axis(from, *axis);
            Ok(smallvec![Type::shaped(rest.iter().copied(), t), Type::shaped(rest, ScalarType::I32)])
        }
        OpKind::ReduceWith { inputs, axis, body } => {
            let shape = check_combine(f, inputs, *axis, *body, "reduce_with")?;
            let rest = without_axis(&shape, *axis);
            inputs.iter().map(|&v| Ok(Type::shaped(rest.iter().copied(), shaped(f, v)?.1))).collect()
        }
        OpKind::Scan { kind, x, axis, .. } => {
            let (from, _) = shaped(f, *x)?;
            check_axis(*axis, from.len())?;
            let t = numeric_no_fp8(f, *x, "scan", false)?;
            debug_assert!(ScanKind::ALL.contains(kind));
            one(Type::shaped(from.iter().copied(), t))
        }
        OpKind::ScanWith { inputs, axis, body, .. } => {
            check_combine(f, inputs, *axis, *body, "scan_with")?;
            Ok(inputs.iter().map(|&v| f.ty(v).without_layout()).collect())
        }
        OpKind::Dot { a, b, acc, precision } => dot(f, *a, *b, *acc, *precision),
        OpKind::ProgramId { axis } | OpKind::NumPrograms { axis } => {
            if *axis > 2 {
                fail!("a grid has 3 axes; there is no axis {axis}");
            }
            one(Type::INDEX)
        }
        OpKind::ViewExtent { view, axis } | OpKind::ViewStride { view, axis } => {
            let (_, rank) = view_of(f, *view)?;
            check_axis(*axis, rank)?;
            one(Type::INDEX)
        }
        OpKind::ViewBase { view } => one(Type::Scalar(Elem::Ptr(view_of(f, *view)?.0))),
        OpKind::MakeView { base, extents, strides } => {
            let Elem::Ptr(elem) = scalar_elem(f, *base, "base")? else { fail!("base must be a pointer") };
            if extents.len() != strides.len() || extents.len() > MAX_RANK {
                fail!("a view has as many strides as extents, and at most {MAX_RANK}");
            }
            for &v in extents.iter().chain(strides) {
                expect_index(f, v, "extents and strides")?;
            }
            one(Type::View { elem, rank: extents.len() as u8 })
        }
        OpKind::PtrAdd { ptr, offset } => {
            let (ps, pe) = shaped(f, *ptr)?;
            let (os, oe) = shaped(f, *offset)?;
            if pe.pointee().is_none() || !oe.scalar().is_some_and(ScalarType::is_int) {
                fail!("ptr_add takes a pointer and an integer, found {} and {}", f.ty(*ptr), f.ty(*offset));
            }
            let shape = match (ps.is_empty(), os.is_empty()) {
                (_, true) => ps,
                (true, false) => os,
                _ if ps == os => ps,
                _ => fail!("ptr_add's shapes differ: {} and {}", f.ty(*ptr), f.ty(*offset)),
            };
            one(Type::shaped(shape.iter().copied(), pe))
        }
        OpKind::Load { addr, mask, pad, .. } => {
            let (shape, elem) = address(f, addr)?;
            check_mask(f, *mask, &shape, "mask")?;
            if let Some(p) = pad
                && *f.ty(*p) != Type::scalar(elem)
            {
                fail!("the padding must be a scalar {elem}, found {}", f.ty(*p));
            }
            one(Type::shaped(shape, elem))
        }
        OpKind::Store { addr, value, mask, .. } => {
            let (shape, elem) = address(f, addr)?;
            expect_value(f, *value, &shape, elem, "stored value")?;
            check_mask(f, *mask, &shape, "mask")?;
            none()
        }
        OpKind::AtomicRmw { op, addr, value, mask, .. } => {
            let (shape, elem) = address(f, addr)?;
            expect_value(f, *value, &shape, elem, "operand")?;
            check_mask(f, *mask, &shape, "mask")?;
            let ok = match op {
                AtomicOp::Add => (elem.is_float() && !elem.is_fp8()) || elem.bits() >= 32,
                AtomicOp::Min | AtomicOp::Max => {
                    (elem.is_float() && !elem.is_fp8()) || (elem.is_int() && elem.bits() >= 32)
                }
                AtomicOp::And | AtomicOp::Or | AtomicOp::Xor => elem.is_int() && elem.bits() >= 32,
                AtomicOp::Xchg => elem.bits() >= 32,
            };
            if !ok {
                return Err(OpError::new(format!("atomic {op} is not defined on {elem}"))
                    .help("use a 32- or 64-bit integer, or a float for add, min and max"));
            }
            one(Type::shaped(shape, elem))
        }
        OpKind::AtomicCas { addr, compare, value, mask, .. } => {
            let (shape, elem) = address(f, addr)?;
            expect_value(f, *compare, &shape, elem, "expected value")?;
            expect_value(f, *value, &shape, elem, "new value")?;
            check_mask(f, *mask, &shape, "mask")?;
            if elem.bits() < 32 {
                return Err(
                    OpError::new(format!("atomic_cas is not defined on {elem}")).help("use a type of 32 or 64 bits")
                );
            }
            one(Type::shaped(shape, elem))
        }
        OpKind::For { lower, upper, step, init, .. } => {
            for &v in &[*lower, *upper, *step] {
                if !matches!(f.ty(v), Type::Scalar(Elem::Scalar(t)) if t.is_int()) {
                    fail!("loop bounds must be scalar integers, found {}", f.ty(v));
                }
                if f.ty(v) != f.ty(*lower) {
                    fail!("loop bounds differ in type: {} and {}", f.ty(*lower), f.ty(v));
                }
            }
            Ok(init.iter().map(|&v| f.ty(v).clone()).collect())
        }
        OpKind::While { cond, .. } => match f.terminator(*cond).map(|t| f.kind(t)) {
            Some(OpKind::Condition { values, .. }) => Ok(values.iter().map(|&v| f.ty(v).clone()).collect()),
            _ => fail!("the condition block of a while must end in `condition`"),
        },
        OpKind::If { cond, then_block, .. } => {
            if *f.ty(*cond) != Type::BOOL {
                return Err(OpError::new(format!("the condition of an if must be a scalar i1, found {}", f.ty(*cond)))
                    .help("for a choice per element use select"));
            }
            match f.terminator(*then_block).map(|t| f.kind(t)) {
                Some(OpKind::Yield { values }) => Ok(values.iter().map(|&v| f.ty(v).clone()).collect()),
                _ => fail!("the blocks of an if must end in `yield`"),
            }
        }
        OpKind::Yield { .. } | OpKind::Return | OpKind::Barrier => none(),
        OpKind::Condition { cond, .. } => {
            if *f.ty(*cond) != Type::BOOL {
                fail!("the condition of a while must be a scalar i1, found {}", f.ty(*cond));
            }
            none()
        }
        OpKind::Assume { x, fact } => {
            let (shape, elem) = shaped(f, *x)?;
            let int = elem.scalar().is_none_or(ScalarType::is_int);
            match fact {
                _ if !int => fail!("only integers and pointers can be assumed about, found {}", f.ty(*x)),
                Fact::Divisible(0) => fail!("nothing is divisible by 0"),
                Fact::Bounded { min, max } if min > max => fail!("no value lies in {min}..={max}"),
                Fact::Contiguous { axis, n } => {
                    check_axis(*axis, shape.len())?;
                    if *n == 0 {
                        fail!("a contiguous run has at least one element");
                    }
                }
                _ => {}
            }
            one(f.ty(*x).without_layout())
        }
        OpKind::Print { args, .. } => {
            for &v in args {
                number(f, v, "print")?;
            }
            none()
        }
        OpKind::Assert { cond, .. } => {
            if shaped(f, *cond)?.1 != Elem::Scalar(ScalarType::Bool) {
                fail!("assert takes i1, found {}", f.ty(*cond));
            }
            none()
        }
        OpKind::ConvertLayout { x, layout } => match f.ty(*x) {
            ty @ Type::Tile(_) => one(ty.with_layout(layout.clone())),
            ty => fail!("only tiles have layouts, found {ty}"),
        },
    }
}

fn unary(f: &Function, op: UnaryOp, x: Value) -> Result<ResultTypes> {
    let t = number(f, x, op.name())?;
    let ok = match op {
        UnaryOp::Neg | UnaryOp::Abs => (t.is_float() && !t.is_fp8()) || t.is_signed_int(),
        UnaryOp::Not => t.is_int() || t == ScalarType::Bool,
        UnaryOp::Popcount | UnaryOp::Clz | UnaryOp::Ctz | UnaryOp::BitReverse => t.is_int(),
        _ => t.is_float() && !t.is_fp8(),
    };
    if !ok {
        let error = OpError::new(format!("{op} is not defined on {t}"));
        return Err(if t.is_fp8() { error.help("cast to f32 first") } else { error });
    }
    let elem = if op.is_predicate() { ScalarType::Bool } else { t };
    Ok(smallvec![with_elem(f, x, elem)?])
}

fn binary(f: &Function, op: BinaryOp, a: Value, b: Value) -> Result<ResultTypes> {
    same_type(f, a, b, op.name())?;
    let t = number(f, a, op.name())?;
    let ok = match op {
        BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Mul
        | BinaryOp::Div
        | BinaryOp::Rem
        | BinaryOp::FloorDiv
        | BinaryOp::FloorRem
        | BinaryOp::Min
        | BinaryOp::Max => t != ScalarType::Bool && !t.is_fp8(),
        BinaryOp::MulHi | BinaryOp::Shl | BinaryOp::Shr => t.is_int(),
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => t.is_int() || t == ScalarType::Bool,
        BinaryOp::MinNan | BinaryOp::MaxNan | BinaryOp::Pow | BinaryOp::Atan2 | BinaryOp::CopySign => {
            t.is_float() && !t.is_fp8()
        }
    };
    if !ok {
        let error = OpError::new(format!("{op} is not defined on {t}"));
        return Err(if t.is_fp8() { error.help("cast to f32 first") } else { error });
    }
    Ok(smallvec![f.ty(a).without_layout()])
}

fn dot(f: &Function, a: Value, b: Value, acc: Value, precision: super::DotPrecision) -> Result<ResultTypes> {
    let ((sa, _), (sb, _), (sc, _)) = (shaped(f, a)?, shaped(f, b)?, shaped(f, acc)?);
    let (ta, tb, tc) = (number(f, a, "dot")?, number(f, b, "dot")?, number(f, acc, "dot")?);
    let r = sa.len();
    let agree = r >= 2
        && sb.len() == r
        && sc.len() == r
        && sa[..r - 2] == sb[..r - 2]
        && sa[..r - 2] == sc[..r - 2]
        && sa[r - 1] == sb[r - 2]
        && sc[r - 2] == sa[r - 2]
        && sc[r - 1] == sb[r - 1];
    if !agree {
        return Err(OpError::new(format!(
            "dot needs [.., M, K] · [.., K, N] + [.., M, N], found {} · {} + {}",
            dims(sa),
            dims(sb),
            dims(sc)
        )));
    }
    let inputs = ta == tb || (ta.is_fp8() && tb.is_fp8()) || (ta.is_int() && tb.is_int() && ta.bits() == tb.bits());
    let accumulates = if ta.is_float() {
        tc == ta.accumulator() || tc == ScalarType::F32 && ta != ScalarType::F64 || tc == ta && !ta.is_fp8()
    } else {
        ta.is_int() && ta.bits() <= 8 && tc == ScalarType::I32
    };
    if !inputs || !accumulates {
        return Err(OpError::new(format!("dot of {ta} and {tb} into {tc} is not defined"))
            .help("inputs have one type; f16, bf16 and fp8 accumulate in f32, 4- and 8-bit integers in i32"));
    }
    if precision != super::DotPrecision::Ieee && ta != ScalarType::F32 {
        return Err(OpError::new(format!("precision {precision} applies to f32 inputs, found {ta}")));
    }
    Ok(smallvec![f.ty(acc).without_layout()])
}

/// Shape and element type that an address covers.
pub fn address(f: &Function, addr: &Address) -> Result<(Shape, ScalarType)> {
    match addr {
        Address::Tile { view, offsets, shape, .. } => {
            let (elem, rank) = view_of(f, *view)?;
            check_shape(shape)?;
            if offsets.len() != rank || shape.len() != rank {
                fail!(
                    "a tile of a {rank}-dimensional view needs {rank} offsets and extents, found {} and {}",
                    offsets.len(),
                    shape.len()
                );
            }
            for &v in offsets {
                expect_index(f, v, "tile offsets")?;
            }
            in_memory(elem)?;
            Ok((shape.clone(), elem))
        }
        Address::Gather { view, indices, .. } => {
            let (elem, rank) = view_of(f, *view)?;
            if indices.len() != rank {
                fail!("a {rank}-dimensional view needs {rank} indices, found {}", indices.len());
            }
            let mut shape: Option<&[u32]> = None;
            for &v in indices {
                let (s, e) = shaped(f, v)?;
                if !e.scalar().is_some_and(ScalarType::is_int) {
                    fail!("indices must be integers, found {}", f.ty(v));
                }
                if *shape.get_or_insert(s) != s {
                    fail!("indices differ in shape: {} and {}", dims(shape.unwrap_or(&[])), dims(s));
                }
            }
            in_memory(elem)?;
            Ok((shape.unwrap_or(&[]).into(), elem))
        }
        Address::Ptr { ptr } => {
            let (shape, elem) = shaped(f, *ptr)?;
            let Some(elem) = elem.pointee() else { fail!("expected a pointer, found {}", f.ty(*ptr)) };
            in_memory(elem)?;
            Ok((shape.into(), elem))
        }
    }
}

fn in_memory(t: ScalarType) -> Result<()> {
    if t.memory_bytes().is_none() {
        return Err(OpError::new(format!("{t} has no form in memory")).help("load packed values as u8 and unpack them"));
    }
    Ok(())
}

fn check_reduce_elem(kind: ReduceKind, t: ScalarType) -> Result<()> {
    let ok = match kind {
        ReduceKind::Sum | ReduceKind::Prod | ReduceKind::Min | ReduceKind::Max => t != ScalarType::Bool && !t.is_fp8(),
        ReduceKind::MinNan | ReduceKind::MaxNan => t.is_float() && !t.is_fp8(),
        ReduceKind::And | ReduceKind::Or | ReduceKind::Xor => !t.is_float(),
    };
    if ok {
        return Ok(());
    }
    let error = OpError::new(format!("reduce {kind} is not defined on {t}"));
    Err(match t {
        ScalarType::Bool => error.help("cast to i32 to count, or reduce with any or all"),
        t if t.is_fp8() => error.help("cast to f32 first"),
        _ => error,
    })
}

fn check_combine(f: &Function, inputs: &Values, axis: u8, body: Block, what: &str) -> Result<Shape> {
    let Some(&first) = inputs.first() else { fail!("{what} needs at least one tile") };
    let (shape, _) = shaped(f, first)?;
    check_axis(axis, shape.len())?;
    let mut elems: SmallVec<[Type; 8]> = SmallVec::new();
    for &v in inputs {
        let (s, e) = shaped(f, v)?;
        if s != shape {
            fail!("{what}'s tiles differ in shape: {} and {}", dims(shape), dims(s));
        }
        elems.push(Type::Scalar(e));
    }
    let n = elems.len();
    let args = &f.block(body).args;
    if args.len() != 2 * n || args.iter().enumerate().any(|(i, &v)| *f.ty(v) != elems[i % n]) {
        fail!("{what}'s block takes {n} left and {n} right scalars of the tiles' element types");
    }
    match f.terminator(body).map(|t| f.kind(t)) {
        Some(OpKind::Yield { values })
            if values.len() == n && values.iter().zip(&elems).all(|(&v, t)| f.ty(v) == t) =>
        {
            Ok(shape.into())
        }
        _ => fail!("{what}'s block must yield {n} scalars of the tiles' element types"),
    }
}

fn check_slice(whole: &[u32], offsets: &[u32], part: &[u32]) -> Result<()> {
    let fits = whole.len() == offsets.len()
        && whole.len() == part.len()
        && (0..whole.len()).all(|i| u64::from(offsets[i]) + u64::from(part[i]) <= u64::from(whole[i]));
    if !fits {
        fail!("a slice of {} at {} does not lie within {}", dims(part), dims(offsets), dims(whole));
    }
    Ok(())
}

fn without_axis(shape: &[u32], axis: u8) -> Shape {
    (0..shape.len()).filter(|&i| i != axis as usize).map(|i| shape[i]).collect()
}

fn with_elem(f: &Function, v: Value, elem: ScalarType) -> Result<Type> {
    let (shape, _) = shaped(f, v)?;
    Ok(Type::shaped(shape.iter().copied(), elem))
}

fn shape_of(ty: &Type) -> Result<&[u32]> {
    ty.shape().ok_or_else(|| OpError::new(format!("expected a scalar or tile, found {ty}")))
}

fn shaped(f: &Function, v: Value) -> Result<(&[u32], Elem)> {
    match f.ty(v) {
        Type::Scalar(e) => Ok((&[], *e)),
        Type::Tile(t) => Ok((&t.shape, t.elem)),
        ty @ Type::View { .. } => fail!("expected a scalar or tile, found {ty}"),
    }
}

fn scalar_elem(f: &Function, v: Value, what: &str) -> Result<Elem> {
    match f.ty(v) {
        Type::Scalar(e) => Ok(*e),
        ty => fail!("{what} must be a scalar, found {ty}"),
    }
}

fn view_of(f: &Function, v: Value) -> Result<(ScalarType, usize)> {
    match f.ty(v) {
        Type::View { elem, rank } => Ok((*elem, *rank as usize)),
        ty => fail!("expected a tensor view, found {ty}"),
    }
}

fn number(f: &Function, v: Value, what: &str) -> Result<ScalarType> {
    match shaped(f, v)?.1 {
        Elem::Scalar(t) => Ok(t),
        Elem::Ptr(_) => fail!("{what} is not defined on pointers"),
    }
}

fn numeric_no_fp8(f: &Function, v: Value, what: &str, bool_ok: bool) -> Result<ScalarType> {
    let t = number(f, v, what)?;
    if t.is_fp8() {
        return Err(OpError::new(format!("{what} is not defined on {t}")).help("cast to f32 first"));
    }
    if t == ScalarType::Bool && !bool_ok {
        fail!("{what} is not defined on i1");
    }
    Ok(t)
}

fn same_type(f: &Function, a: Value, b: Value, what: &str) -> Result<()> {
    let (ta, tb) = (f.ty(a).without_layout(), f.ty(b).without_layout());
    if ta != tb {
        fail!("{what}'s operands differ in type: {ta} and {tb}");
    }
    Ok(())
}

fn expect_index(f: &Function, v: Value, what: &str) -> Result<()> {
    if *f.ty(v) != Type::INDEX {
        fail!("{what} must be scalar i64, found {}", f.ty(v));
    }
    Ok(())
}

fn expect_value(f: &Function, v: Value, shape: &[u32], elem: ScalarType, what: &str) -> Result<()> {
    let want = Type::shaped(shape.iter().copied(), elem);
    if f.ty(v).without_layout() != want {
        fail!("the {what} must be {want}, found {}", f.ty(v));
    }
    Ok(())
}

fn check_mask(f: &Function, mask: Option<Value>, shape: &[u32], what: &str) -> Result<()> {
    let Some(mask) = mask else { return Ok(()) };
    let (s, e) = shaped(f, mask)?;
    if e != Elem::Scalar(ScalarType::Bool) || !(s.is_empty() || s == shape) {
        fail!("the {what} must be i1, scalar or of shape {}, found {}", dims(shape), f.ty(mask));
    }
    Ok(())
}

fn check_axis(axis: u8, rank: usize) -> Result<()> {
    if usize::from(axis) >= rank {
        fail!("there is no axis {axis} in a value of rank {rank}");
    }
    Ok(())
}

/// The largest tile: beyond this compilation would take minutes on any target.
pub const MAX_TILE_ELEMENTS: u64 = 1 << 20;

/// Checks what holds of every type: the rank and extents of tiles, the rank of views.
pub fn check_type(ty: &Type) -> Result<()> {
    match ty {
        Type::Scalar(_) => Ok(()),
        Type::Tile(t) if t.shape.is_empty() => fail!("a tile has at least one axis"),
        Type::Tile(t) => check_shape(&t.shape),
        Type::View { rank, .. } if usize::from(*rank) > MAX_RANK => {
            fail!("a view has at most {MAX_RANK} axes, found {rank}")
        }
        Type::View { .. } => Ok(()),
    }
}

fn check_shape(shape: &[u32]) -> Result<()> {
    if shape.len() > MAX_RANK {
        fail!("a tile has at most {MAX_RANK} axes, found {}", shape.len());
    }
    if shape.contains(&0) {
        fail!("tile {} has an empty axis", dims(shape));
    }
    let n = shape.iter().try_fold(1u64, |n, &d| n.checked_mul(u64::from(d))).unwrap_or(u64::MAX);
    if n > MAX_TILE_ELEMENTS {
        return Err(OpError::new(format!("tile {} has {n} elements; the limit is {MAX_TILE_ELEMENTS}", dims(shape)))
            .help("use a smaller tile and a loop over it"));
    }
    Ok(())
}

fn count(shape: &[u32]) -> u64 {
    shape.iter().map(|&d| u64::from(d)).product()
}

/// Extents for people: `[64, 32]`.
pub fn dims(shape: &[u32]) -> String {
    format!("{shape:?}")
}
