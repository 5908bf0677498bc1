//! Ops without nested blocks.

use smallvec::SmallVec;

use super::super::error::{ParseError, ParseErrorKind};
use super::super::lex::{Pos, Token};
use super::super::nearest;
use super::{PResult, Parser};
use crate::function::Value;
use crate::ops::{
    Access, Address, ArgReduceKind, AtomicOp, AxisSet, BinaryOp, CacheHint, CmpOp, DotPrecision, Fact, OpKind,
    Ordering, ReduceKind, Rounding, ScanKind, Scope, UnaryOp, Values,
};
use crate::types::{Elem, ScalarType, Shape, Type};

/// The written types of an op's results and their place, if they are written.
pub(super) type Types = Option<(SmallVec<[Type; 2]>, Pos)>;

/// An op that is read up to its location.
pub(super) type Parsed = (OpKind, Types);

/// Names of ops other than the elementwise ones, for suggestions.
const MNEMONICS: [&str; 46] = [
    "arange",
    "arg_reduce",
    "assert",
    "assume",
    "atomic_cas",
    "atomic_rmw",
    "barrier",
    "bitcast",
    "broadcast",
    "cast",
    "cat",
    "cmp",
    "condition",
    "constant",
    "convert_layout",
    "dot",
    "extract_slice",
    "flip",
    "fma",
    "for",
    "gather_axis",
    "if",
    "insert_slice",
    "join",
    "load",
    "make_view",
    "num_programs",
    "permute",
    "print",
    "program_id",
    "ptr_add",
    "reduce",
    "reduce_with",
    "reshape",
    "return",
    "scan",
    "scan_with",
    "select",
    "splat",
    "split",
    "store",
    "view_base",
    "view_extent",
    "view_stride",
    "while",
    "yield",
];

/// The names of all ops.
pub fn mnemonics() -> impl Iterator<Item = &'static str> {
    let unary = UnaryOp::ALL.iter().map(|op| op.name());
    MNEMONICS.into_iter().chain(unary).chain(BinaryOp::ALL.iter().map(|op| op.name()))
}

/// What a memory op addresses, before the extents of a box are known.
enum Place {
    Box { view: Value, offsets: SmallVec<[Value; 5]>, extents: Option<Shape> },
    Gather { view: Value, indices: SmallVec<[Value; 5]> },
    Ptr { ptr: Value },
}

/// The named parts of a memory op.
#[derive(Default)]
struct MemoryParts {
    mask: Option<Value>,
    pad: Option<Value>,
    in_bounds: AxisSet,
}

impl Parser<'_, '_> {
    /// The op of this name, which is taken.
    pub(super) fn simple_op(&mut self, mnemonic: &str, pos: Pos) -> PResult<Parsed> {
        if let Some(op) = UnaryOp::from_name(mnemonic) {
            let x = self.value()?;
            let mut fast = false;
            self.cursor.attributes(&["fast"], |_, _| {
                fast = true;
                Ok(())
            })?;
            return self.with_types(OpKind::Unary { op, x, fast });
        }
        if let Some(op) = BinaryOp::from_name(mnemonic) {
            let (a, b) = self.two()?;
            return self.with_types(OpKind::Binary { op, a, b });
        }
        match mnemonic {
            "constant" | "arange" | "splat" => self.creation(mnemonic),
            "broadcast" | "reshape" | "permute" | "flip" | "cat" | "join" | "split" | "extract_slice"
            | "insert_slice" | "gather_axis" => self.shape_op(mnemonic),
            "cmp" | "select" | "fma" | "cast" | "bitcast" | "dot" => self.arithmetic(mnemonic),
            "reduce" | "arg_reduce" | "scan" => self.reduction(mnemonic),
            "program_id" | "num_programs" | "view_extent" | "view_stride" | "view_base" | "make_view" | "ptr_add" => {
                self.view_op(mnemonic)
            }
            "load" | "store" | "atomic_rmw" | "atomic_cas" => self.memory_op(mnemonic),
            "yield" | "condition" | "return" | "barrier" | "assume" | "print" | "assert" | "convert_layout" => {
                self.other(mnemonic, pos)
            }
            _ => {
                let error = self.error(ParseErrorKind::UnknownOp(mnemonic.to_owned()), pos);
                Err(match nearest(mnemonic, mnemonics()) {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error,
                })
            }
        }
    }

    fn creation(&mut self, mnemonic: &str) -> PResult<Parsed> {
        match mnemonic {
            "constant" => {
                let pos = self.cursor.pos();
                let raw = self.cursor.raw_literal()?;
                let (ty, types) = self.one_type("constant")?;
                let Some(scalar) = ty.elem_scalar() else {
                    let kind = ParseErrorKind::Expected {
                        expected: "a type of numbers or truth values".into(),
                        found: ty.to_string(),
                    };
                    return Err(self.types_error(kind, &types, pos));
                };
                let value = raw.of_type(scalar).map_err(|m| self.error(ParseErrorKind::Number(m), pos))?;
                Ok((OpKind::Constant { value, ty: ty.without_layout() }, types))
            }
            "arange" => {
                let axis = self.axis()?;
                let start = if self.cursor.eat_word("from")? { self.cursor.integer("a start")? } else { 0 };
                let (ty, types) = self.one_type("arange")?;
                let (shape, elem) = self.tile_of(&ty, &types)?;
                let Elem::Scalar(elem) = elem else {
                    let kind = ParseErrorKind::Expected { expected: "integers".into(), found: ty.to_string() };
                    return Err(self.types_error(kind, &types, self.cursor.pos()));
                };
                Ok((OpKind::Arange { shape, elem, axis, start }, types))
            }
            _ => {
                let x = self.value()?;
                let (ty, types) = self.one_type("splat")?;
                let (shape, _) = self.tile_of(&ty, &types)?;
                Ok((OpKind::Splat { x, shape }, types))
            }
        }
    }

    fn shape_op(&mut self, mnemonic: &str) -> PResult<Parsed> {
        match mnemonic {
            "broadcast" | "reshape" => {
                let x = self.value()?;
                let (ty, types) = self.one_type("broadcast and reshape")?;
                let shape = self.shape_of(&ty, &types)?;
                let kind =
                    if mnemonic == "reshape" { OpKind::Reshape { x, shape } } else { OpKind::Broadcast { x, shape } };
                Ok((kind, types))
            }
            "permute" => {
                let x = self.value()?;
                let perm = self.cursor.integers("an axis")?;
                self.with_types(OpKind::Permute { x, perm })
            }
            "flip" => {
                let x = self.value()?;
                let axis = self.axis()?;
                self.with_types(OpKind::Flip { x, axis })
            }
            "cat" => {
                let parts = self.values()?;
                let axis = self.axis()?;
                self.with_types(OpKind::Cat { parts, axis })
            }
            "join" => {
                let (a, b) = self.two()?;
                self.with_types(OpKind::Join { a, b })
            }
            "split" => {
                let x = self.value()?;
                self.with_types(OpKind::Split { x })
            }
            "extract_slice" => {
                let x = self.value()?;
                let offsets = self.cursor.integers("an offset")?;
                let (ty, types) = self.one_type("extract_slice")?;
                let shape = self.shape_of(&ty, &types)?;
                Ok((OpKind::ExtractSlice { x, offsets, shape }, types))
            }
            "insert_slice" => {
                let x = self.value()?;
                self.cursor.expect_word("into")?;
                let into = self.value()?;
                let offsets = self.cursor.integers("an offset")?;
                self.with_types(OpKind::InsertSlice { x, into, offsets })
            }
            _ => {
                let (x, index) = self.two()?;
                let axis = self.axis()?;
                self.with_types(OpKind::GatherAxis { x, index, axis })
            }
        }
    }

    fn arithmetic(&mut self, mnemonic: &str) -> PResult<Parsed> {
        match mnemonic {
            "cmp" => {
                let op = self.cursor.one_of("a comparison", CmpOp::ALL, CmpOp::name)?;
                let (a, b) = self.two()?;
                self.with_types(OpKind::Compare { op, a, b })
            }
            "select" => {
                let (cond, a, b) = self.three()?;
                self.with_types(OpKind::Select { cond, a, b })
            }
            "fma" => {
                let (a, b, c) = self.three()?;
                self.with_types(OpKind::Fma { a, b, c })
            }
            "dot" => {
                let (a, b, acc) = self.three()?;
                let mut precision = DotPrecision::Ieee;
                self.cursor.attributes(&["precision"], |c, _| {
                    c.expect('=')?;
                    precision = c.one_of("a precision", DotPrecision::ALL, DotPrecision::name)?;
                    Ok(())
                })?;
                self.with_types(OpKind::Dot { a, b, acc, precision })
            }
            "cast" => {
                let x = self.value()?;
                let (mut rounding, mut saturate) = (Rounding::NearestEven, false);
                self.cursor.attributes(&["rounding", "saturate"], |c, name| {
                    if name == "saturate" {
                        saturate = true;
                    } else {
                        c.expect('=')?;
                        rounding = c.one_of("a rounding", Rounding::ALL, Rounding::name)?;
                    }
                    Ok(())
                })?;
                let (to, types) = self.scalar_target("cast")?;
                Ok((OpKind::Cast { x, to, rounding, saturate }, types))
            }
            _ => {
                let x = self.value()?;
                let (to, types) = self.scalar_target("bitcast")?;
                Ok((OpKind::Bitcast { x, to }, types))
            }
        }
    }

    fn reduction(&mut self, mnemonic: &str) -> PResult<Parsed> {
        match mnemonic {
            "reduce" => {
                let kind = self.cursor.one_of("a reduction", ReduceKind::ALL, ReduceKind::name)?;
                let x = self.value()?;
                self.cursor.expect_word("axes")?;
                let axes = self.cursor.integers("an axis")?;
                self.with_types(OpKind::Reduce { kind, x, axes })
            }
            "arg_reduce" => {
                let kind = self.cursor.one_of("`min` or `max`", ArgReduceKind::ALL, ArgReduceKind::name)?;
                let x = self.value()?;
                let axis = self.axis()?;
                self.with_types(OpKind::ArgReduce { kind, x, axis })
            }
            _ => {
                let kind = self.cursor.one_of("a scan", ScanKind::ALL, ScanKind::name)?;
                let x = self.value()?;
                let axis = self.axis()?;
                let reverse = self.cursor.eat_word("reverse")?;
                self.with_types(OpKind::Scan { kind, x, axis, reverse })
            }
        }
    }

    fn view_op(&mut self, mnemonic: &str) -> PResult<Parsed> {
        let kind = match mnemonic {
            "program_id" => OpKind::ProgramId { axis: self.cursor.integer("a grid axis")? },
            "num_programs" => OpKind::NumPrograms { axis: self.cursor.integer("a grid axis")? },
            "view_extent" => OpKind::ViewExtent { view: self.value()?, axis: self.axis()? },
            "view_stride" => OpKind::ViewStride { view: self.value()?, axis: self.axis()? },
            "view_base" => OpKind::ViewBase { view: self.value()? },
            "make_view" => {
                let base = self.value()?;
                self.cursor.expect_word("extents")?;
                let extents = self.value_list()?;
                self.cursor.expect_word("strides")?;
                OpKind::MakeView { base, extents, strides: self.value_list()? }
            }
            _ => {
                let (ptr, offset) = self.two()?;
                OpKind::PtrAdd { ptr, offset }
            }
        };
        self.with_types(kind)
    }

    fn memory_op(&mut self, mnemonic: &str) -> PResult<Parsed> {
        match mnemonic {
            "load" => {
                let place = self.place()?;
                let parts = self.memory_parts(true)?;
                let access = self.access()?;
                let types = self.written_types()?;
                let shape = match (&place, &types) {
                    (Place::Box { extents: None, .. }, Some((types, _))) => types.first().and_then(Type::shape),
                    (Place::Box { offsets, extents: None, .. }, None) if !offsets.is_empty() => {
                        let help = "write the type that is read, such as `: tile<4xf32>`; it gives the box's extents";
                        return Err(self.cursor.expected("`:`").help(help));
                    }
                    _ => None,
                };
                let shape: Shape = shape.unwrap_or_default().into();
                let addr = place.address(shape, parts.in_bounds);
                Ok((OpKind::Load { addr, mask: parts.mask, pad: parts.pad, access }, types))
            }
            "store" => {
                let (value, place) = self.value_and_place()?;
                let parts = self.memory_parts(false)?;
                let access = self.access()?;
                let addr = place.address(self.value_shape(value), parts.in_bounds);
                Ok((OpKind::Store { addr, value, mask: parts.mask, access }, None))
            }
            "atomic_rmw" => {
                let op = self.cursor.one_of("an atomic function", AtomicOp::ALL, AtomicOp::name)?;
                let (value, place) = self.value_and_place()?;
                let parts = self.memory_parts(false)?;
                let (ordering, scope) = self.ordering()?;
                let addr = place.address(self.value_shape(value), parts.in_bounds);
                self.with_types(OpKind::AtomicRmw { op, addr, value, mask: parts.mask, ordering, scope })
            }
            _ => {
                let compare = self.value()?;
                self.cursor.expect(',')?;
                let (value, place) = self.value_and_place()?;
                let parts = self.memory_parts(false)?;
                let (ordering, scope) = self.ordering()?;
                let addr = place.address(self.value_shape(value), parts.in_bounds);
                self.with_types(OpKind::AtomicCas { addr, compare, value, mask: parts.mask, ordering, scope })
            }
        }
    }

    fn other(&mut self, mnemonic: &str, pos: Pos) -> PResult<Parsed> {
        let kind = match mnemonic {
            "yield" => {
                // A value on the next line is the result of an op: the block goes on, as the verifier will say.
                let values = if matches!(self.cursor.token(), Token::Value(_)) && self.cursor.pos().line == pos.line {
                    self.values()?
                } else {
                    Values::new()
                };
                OpKind::Yield { values }
            }
            "condition" => {
                let cond = self.value()?;
                let mut values = Values::new();
                if self.cursor.eat('(')? {
                    values = self.values()?;
                    self.cursor.expect(')')?;
                }
                OpKind::Condition { cond, values }
            }
            "return" => OpKind::Return,
            "barrier" => OpKind::Barrier,
            "assume" => {
                let x = self.value()?;
                let fact = self.fact()?;
                return self.with_types(OpKind::Assume { x, fact });
            }
            "print" => {
                let message = self.cursor.string("the message in quotes")?;
                let args = if self.cursor.eat(',')? { self.values()? } else { Values::new() };
                OpKind::Print { message, args }
            }
            "assert" => {
                let cond = self.value()?;
                self.cursor.expect(',')?;
                OpKind::Assert { cond, message: self.cursor.string("the message in quotes")? }
            }
            _ => {
                let x = self.value()?;
                let (ty, types) = self.one_type("convert_layout")?;
                let Some(layout) = ty.layout().cloned() else {
                    let kind = ParseErrorKind::Expected {
                        expected: "a tile type with a layout".into(),
                        found: ty.to_string(),
                    };
                    return Err(self.types_error(kind, &types, self.cursor.pos()));
                };
                return Ok((OpKind::ConvertLayout { x, layout }, types));
            }
        };
        Ok((kind, None))
    }

    // --- parts ---

    /// `axis 1`.
    pub(super) fn axis(&mut self) -> PResult<u8> {
        self.cursor.expect_word("axis")?;
        self.cursor.integer("an axis")
    }

    fn two(&mut self) -> PResult<(Value, Value)> {
        let a = self.value()?;
        self.cursor.expect(',')?;
        Ok((a, self.value()?))
    }

    fn three(&mut self) -> PResult<(Value, Value, Value)> {
        let (a, b) = self.two()?;
        self.cursor.expect(',')?;
        Ok((a, b, self.value()?))
    }

    /// `: types`, if they stand here.
    fn written_types(&mut self) -> PResult<Types> {
        if !self.cursor.eat(':')? {
            return Ok(None);
        }
        let pos = self.cursor.pos();
        Ok(Some((self.types()?, pos)))
    }

    fn with_types(&mut self, kind: OpKind) -> PResult<Parsed> {
        Ok((kind, self.written_types()?))
    }

    /// The one written type of an op that needs it.
    fn one_type(&mut self, op: &str) -> PResult<(Type, Types)> {
        let Some((types, pos)) = self.written_types()? else {
            return Err(self.cursor.expected(&format!("`:` and the type of the result, which {op} needs")));
        };
        match &types[..] {
            [ty] => Ok((ty.clone(), Some((types, pos)))),
            _ => {
                let found = format!("{} types", types.len());
                Err(self.error(ParseErrorKind::Expected { expected: "one type".into(), found }, pos))
            }
        }
    }

    /// An error at the written types.
    fn types_error(&self, kind: ParseErrorKind, types: &Types, otherwise: Pos) -> Box<ParseError> {
        self.error(kind, types.as_ref().map_or(otherwise, |(_, pos)| *pos))
    }

    fn tile_of(&self, ty: &Type, types: &Types) -> PResult<(Shape, Elem)> {
        match ty {
            Type::Tile(t) => Ok((t.shape.clone(), t.elem)),
            _ => {
                let kind = ParseErrorKind::Expected { expected: "a tile type".into(), found: ty.to_string() };
                Err(self.types_error(kind, types, self.cursor.pos()))
            }
        }
    }

    fn shape_of(&self, ty: &Type, types: &Types) -> PResult<Shape> {
        ty.shape().map(Into::into).ok_or_else(|| {
            let kind = ParseErrorKind::Expected { expected: "a tile or scalar type".into(), found: ty.to_string() };
            self.types_error(kind, types, self.cursor.pos())
        })
    }

    /// The written type as the target of a conversion.
    fn scalar_target(&mut self, op: &str) -> PResult<(ScalarType, Types)> {
        let (ty, types) = self.one_type(op)?;
        match ty.elem_scalar() {
            Some(to) => Ok((to, types)),
            None => {
                let kind = ParseErrorKind::Expected { expected: "a type of numbers".into(), found: ty.to_string() };
                Err(self.types_error(kind, &types, self.cursor.pos()))
            }
        }
    }

    /// The extents of a value; none for a view, which the typing rules refuse.
    fn value_shape(&self, value: Value) -> Shape {
        self.f.ty(value).shape().unwrap_or_default().into()
    }

    fn value_and_place(&mut self) -> PResult<(Value, Place)> {
        let value = self.value()?;
        self.cursor.expect(',')?;
        Ok((value, self.place()?))
    }

    /// `%view[%i, %j]`, `%view gather [%i, %j]` or `%ptr`.
    fn place(&mut self) -> PResult<Place> {
        let base = self.value()?;
        if self.cursor.at('[') {
            let offsets = self.value_list()?;
            let extents =
                if self.cursor.eat_word("extents")? { Some(self.cursor.integers("an extent")?) } else { None };
            return Ok(Place::Box { view: base, offsets, extents });
        }
        if self.cursor.eat_word("gather")? {
            return Ok(Place::Gather { view: base, indices: self.value_list()? });
        }
        if let Type::View { .. } = self.f.ty(base) {
            return Err(self.cursor.expected("`[` and offsets, or `gather`"));
        }
        Ok(Place::Ptr { ptr: base })
    }

    /// `mask %m pad %p in_bounds [0, 1]`, each if it stands here, in any order.
    fn memory_parts(&mut self, pad_allowed: bool) -> PResult<MemoryParts> {
        let mut parts = MemoryParts::default();
        loop {
            if parts.mask.is_none() && self.cursor.eat_word("mask")? {
                parts.mask = Some(self.value()?);
            } else if pad_allowed && parts.pad.is_none() && self.cursor.eat_word("pad")? {
                parts.pad = Some(self.value()?);
            } else if parts.in_bounds == AxisSet::NONE && self.cursor.at_word("in_bounds") {
                let pos = self.cursor.pos();
                self.cursor.bump()?;
                let axes: Vec<u8> = self.cursor.integers("an axis")?;
                for axis in axes {
                    if axis > 7 {
                        return Err(self.error(ParseErrorKind::Number(format!("there is no axis {axis}")), pos));
                    }
                    parts.in_bounds = parts.in_bounds.with(axis.into());
                }
            } else {
                return Ok(parts);
            }
        }
    }

    fn access(&mut self) -> PResult<Access> {
        let mut access = Access::default();
        self.cursor.attributes(&["cache", "volatile"], |c, name| {
            if name == "volatile" {
                access.volatile = true;
            } else {
                c.expect('=')?;
                access.cache = c.one_of("a cache policy", CacheHint::ALL, CacheHint::name)?;
            }
            Ok(())
        })?;
        Ok(access)
    }

    fn ordering(&mut self) -> PResult<(Ordering, Scope)> {
        let (mut ordering, mut scope) = (Ordering::Relaxed, Scope::Device);
        self.cursor.attributes(&["ordering", "scope"], |c, name| {
            c.expect('=')?;
            if name == "ordering" {
                ordering = c.one_of("a memory ordering", Ordering::ALL, Ordering::name)?;
            } else {
                scope = c.one_of("a scope", Scope::ALL, Scope::name)?;
            }
            Ok(())
        })?;
        Ok((ordering, scope))
    }

    /// `divisible 16`, `bounded 0 to 63` or `contiguous axis 0 length 8`.
    fn fact(&mut self) -> PResult<Fact> {
        let facts = ["divisible", "bounded", "contiguous"];
        Ok(match self.cursor.one_of("a fact", &facts, |f| f)? {
            "divisible" => Fact::Divisible(self.cursor.integer("a divisor")?),
            "bounded" => {
                let min = self.cursor.integer("the least value")?;
                self.cursor.expect_word("to")?;
                Fact::Bounded { min, max: self.cursor.integer("the greatest value")? }
            }
            _ => {
                let axis = self.axis()?;
                self.cursor.expect_word("length")?;
                Fact::Contiguous { axis, n: self.cursor.integer("the length of the runs")? }
            }
        })
    }
}

impl Place {
    /// The address; a box that gives no extents has those of the value beside it.
    fn address(self, shape: Shape, in_bounds: AxisSet) -> Address {
        match self {
            Place::Box { view, offsets, extents } => {
                Address::Tile { view, offsets, shape: extents.unwrap_or(shape), in_bounds }
            }
            Place::Gather { view, indices } => Address::Gather { view, indices, in_bounds },
            Place::Ptr { ptr } => Address::Ptr { ptr },
        }
    }
}
