//! Lowers a kernel to upstream MLIR dialects (func, scf, arith, math, tensor, linalg, memref): a second lowering,
//! written apart from Tegula's own, whose results the tests compare with the interpreter's.
//!
//! Tiles become tensors. An index-to-element op such as `permute` becomes a `tensor.generate` that extracts from
//! its operand; elementwise arithmetic stays on tensors; reductions become `linalg.reduce` and products
//! `linalg.matmul`, `linalg.batch_matmul` or `linalg.generic`. Memory is a strided memref per view, read and written
//! element by element behind the bounds check. One call of the function is one program.

use std::collections::HashMap;
use std::fmt::Write;

use tegula_ir::function::{Block, Function, Op, ParamKind, Value};
use tegula_ir::literal::Literal;
use tegula_ir::numeric::format::FloatFormat;
use tegula_ir::ops::{Address, BinaryOp, CmpOp, DotPrecision, OpKind, ReduceKind, Rounding, UnaryOp};
use tegula_ir::types::{ScalarType, Type};

use crate::Error;
use crate::types::{signless, tensor};

/// Name of the function that runs one program.
pub const ENTRY: &str = "program";

/// The kernel as an MLIR module with one function, [`ENTRY`]. It takes the program's three coordinates and the three
/// grid extents as `i64`, then the parameters: a view is a strided memref, `i1` elements are bytes.
///
/// # Errors
/// [`Error::Unsupported`] names the first op or type that this lowering does not cover.
pub fn lower(f: &Function) -> Result<String> {
    let mut e = Emitter { f, text: String::new(), next: 0, indent: 2, aliases: HashMap::new() };
    let mut params: Vec<String> = (0..3).map(|i| format!("%pid{i}: i64")).collect();
    params.extend((0..3).map(|i| format!("%grid{i}: i64")));
    for p in &f.params {
        params.push(match &p.kind {
            ParamKind::View { elem, rank, .. } => format!("{}: {}", format_args!("%{}", p.value), memref(*elem, *rank)),
            ParamKind::Scalar { elem, .. } => format!("{}: {}", format_args!("%{}", p.value), number(*elem)?),
            ParamKind::Ptr { .. } => return Err(Error::unsupported("pointer parameters")),
        });
    }
    e.block(f.body)?;
    Ok(format!(
        "module {{\n  func.func @{ENTRY}({}) attributes {{llvm.emit_c_interface}} {{\n{}    return\n  }}\n}}\n",
        params.join(", "),
        e.text
    ))
}

/// The pass pipeline from the lowered module to the LLVM dialect.
pub const PIPELINE: &str = "builtin.module(\
    convert-elementwise-to-linalg,\
    one-shot-bufferize{bufferize-function-boundaries=1 allow-return-allocs-from-loops=1},\
    func.func(convert-linalg-to-loops),\
    expand-strided-metadata,lower-affine,convert-scf-to-cf,\
    convert-math-to-llvm,convert-math-to-libm,arith-expand,convert-arith-to-llvm,finalize-memref-to-llvm,\
    convert-func-to-llvm,convert-cf-to-llvm,reconcile-unrealized-casts)";

struct Emitter<'f> {
    f: &'f Function,
    text: String,
    next: u32,
    indent: usize,
    /// Values that are another MLIR value, rather than one of their own.
    aliases: HashMap<Value, String>,
}

type Result<T> = std::result::Result<T, Error>;

fn memref(elem: ScalarType, rank: u8) -> String {
    let elem = if elem == ScalarType::Bool { "i8" } else { signless(elem) };
    let unknown = |n: u8| vec!["?"; n.into()].join(", ");
    let extents = "?x".repeat(rank.into());
    format!("memref<{extents}{elem}, strided<[{}], offset: ?>>", unknown(rank))
}

/// The executable form of a number format; fp8 has no arithmetic and no conversions upstream.
fn number(t: ScalarType) -> Result<&'static str> {
    if t.is_fp8() { Err(Error::unsupported(format!("elements of {t}"))) } else { Ok(signless(t)) }
}

fn literal(v: Literal, t: ScalarType) -> String {
    match v {
        Literal::Bool(b) => b.to_string(),
        Literal::Int(i) => i.to_string(),
        Literal::Float(x) => float_bits(x, t),
    }
}

/// A float constant by its bits, which is exact for every value.
fn float_bits(x: f64, t: ScalarType) -> String {
    let bits = FloatFormat::of(t).encode(x, Rounding::NearestEven, false);
    format!("0x{bits:0width$X}", width = t.bits() as usize / 4)
}

impl Emitter<'_> {
    fn line(&mut self, text: impl AsRef<str>) {
        let _ = writeln!(self.text, "{:width$}{}", "", text.as_ref(), width = self.indent * 2);
    }

    fn name(&self, v: Value) -> String {
        self.aliases.get(&v).cloned().unwrap_or_else(|| format!("%{v}"))
    }

    fn names(&self, values: &[Value]) -> String {
        values.iter().map(|&v| self.name(v)).collect::<Vec<_>>().join(", ")
    }

    fn types(&self, values: &[Value]) -> Result<String> {
        Ok(values.iter().map(|&v| self.ty(v)).collect::<Result<Vec<_>>>()?.join(", "))
    }

    fn fresh(&mut self) -> String {
        self.next += 1;
        format!("%t{}", self.next)
    }

    /// Emits `%fresh = text` and gives the name.
    fn def(&mut self, text: impl AsRef<str>) -> String {
        let v = self.fresh();
        self.line(format!("{v} = {}", text.as_ref()));
        v
    }

    fn nested(&mut self, f: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.indent += 1;
        let result = f(self);
        self.indent -= 1;
        result
    }

    fn ty(&self, v: Value) -> Result<String> {
        let ty = self.f.ty(v);
        let elem = ty.elem_scalar().ok_or_else(|| Error::unsupported(format!("values of type {ty}")))?;
        Ok(tensor(ty.shape().unwrap_or(&[]), number(elem)?))
    }

    fn shape(&self, v: Value) -> Vec<u32> {
        self.f.ty(v).shape().unwrap_or(&[]).to_vec()
    }

    fn elem(&self, v: Value) -> Result<ScalarType> {
        self.f.ty(v).elem_scalar().ok_or_else(|| Error::unsupported(format!("values of type {}", self.f.ty(v))))
    }

    fn index(&mut self, v: i64) -> String {
        self.def(format!("arith.constant {v} : index"))
    }

    fn block(&mut self, block: Block) -> Result<()> {
        for op in self.f.block(block).ops.clone() {
            self.op(op)?;
        }
        Ok(())
    }

    /// A tensor whose element at an index the closure computes from index values.
    fn generate(
        &mut self,
        result: Value,
        shape: &[u32],
        elem: &str,
        at: impl FnOnce(&mut Self, &[String]) -> Result<String>,
    ) -> Result<()> {
        let indices: Vec<String> = shape.iter().map(|_| self.fresh()).collect();
        if shape.is_empty() {
            let v = at(self, &[])?;
            self.aliases.insert(result, v);
            return Ok(());
        }
        let result = format!("%{result}");
        self.line(format!("{result} = tensor.generate {{"));
        self.nested(|e| {
            let args: Vec<String> = indices.iter().map(|i| format!("{i}: index")).collect();
            e.line(format!("^bb0({}):", args.join(", ")));
            let v = at(e, &indices)?;
            e.line(format!("tensor.yield {v} : {elem}"));
            Ok(())
        })?;
        self.line(format!("}} : {}", tensor(shape, elem)));
        Ok(())
    }

    fn extract(&mut self, x: Value, at: &[String]) -> Result<String> {
        let ty = self.ty(x)?;
        if self.shape(x).is_empty() {
            return Ok(self.name(x));
        }
        Ok(self.def(format!("tensor.extract {}[{}] : {ty}", self.name(x), at.join(", "))))
    }

    fn op(&mut self, op: Op) -> Result<()> {
        let kind = self.f.kind(op).clone();
        let results = self.f.op(op).results.clone();
        // Ops without results never use these two.
        let result =
            results.first().copied().unwrap_or_else(|| self.f.params.first().map_or(Value::from_u32(0), |p| p.value));
        let r = format!("%{result}");
        match &kind {
            OpKind::Constant { value, ty } => {
                let elem = ty.elem_scalar().ok_or_else(|| Error::unsupported("constants of this type"))?;
                let shape = ty.shape().unwrap_or(&[]);
                let v = literal(*value, elem);
                let v = if shape.is_empty() { v } else { format!("dense<{v}>") };
                let ty = tensor(shape, number(elem)?);
                let typed = if ty == "i1" { String::new() } else { format!(" : {ty}") };
                self.line(format!("{r} = arith.constant {v}{typed}"));
            }
            OpKind::Arange { shape, elem, axis, start } => {
                let (elem, axis, start) = (number(*elem)?, usize::from(*axis), *start);
                self.generate(result, shape, elem, |e, at| {
                    let s = e.index(start);
                    let i = e.def(format!("arith.addi {}, {s} : index", at[axis]));
                    Ok(e.def(format!("arith.index_cast {i} : index to {elem}")))
                })?;
            }
            OpKind::Splat { x, .. } => {
                let ty = self.ty(result)?;
                self.line(format!("{r} = tensor.splat {} : {ty}", self.name(*x)));
            }
            OpKind::Broadcast { x, shape } => {
                let (x, from, elem) = (*x, self.shape(*x), number(self.elem(*x)?)?);
                self.generate(result, shape, elem, |e, at| {
                    let zero = e.index(0);
                    let at: Vec<_> =
                        at.iter().zip(&from).map(|(i, &d)| if d == 1 { zero.clone() } else { i.clone() }).collect();
                    e.extract(x, &at)
                })?;
            }
            OpKind::Reshape { x, shape } => {
                let (x, from, elem) = (*x, self.shape(*x), number(self.elem(*x)?)?);
                self.generate(result, shape, elem, |e, at| {
                    let mut linear = e.index(0);
                    for (i, &d) in at.iter().zip(shape) {
                        let d = e.index(d.into());
                        let scaled = e.def(format!("arith.muli {linear}, {d} : index"));
                        linear = e.def(format!("arith.addi {scaled}, {i} : index"));
                    }
                    let mut index = vec![String::new(); from.len()];
                    for (slot, &d) in index.iter_mut().zip(&from).rev() {
                        let d = e.index(d.into());
                        *slot = e.def(format!("arith.remui {linear}, {d} : index"));
                        linear = e.def(format!("arith.divui {linear}, {d} : index"));
                    }
                    e.extract(x, &index)
                })?;
            }
            OpKind::Permute { x, perm } => {
                let (x, elem) = (*x, number(self.elem(*x)?)?);
                let shape = self.shape(result);
                self.generate(result, &shape, elem, |e, at| {
                    let mut index = vec![String::new(); at.len()];
                    for (i, &p) in perm.iter().enumerate() {
                        index[usize::from(p)] = at[i].clone();
                    }
                    e.extract(x, &index)
                })?;
            }
            OpKind::Flip { x, axis } => {
                let (x, shape, elem, axis) = (*x, self.shape(*x), number(self.elem(*x)?)?, usize::from(*axis));
                self.generate(result, &shape, elem, |e, at| {
                    let last = e.index(i64::from(shape[axis]) - 1);
                    let mut index = at.to_vec();
                    index[axis] = e.def(format!("arith.subi {last}, {} : index", at[axis]));
                    e.extract(x, &index)
                })?;
            }
            OpKind::ExtractSlice { x, offsets, shape } => {
                let (x, elem) = (*x, number(self.elem(*x)?)?);
                self.generate(result, shape, elem, |e, at| {
                    let mut index = Vec::new();
                    for (i, &o) in at.iter().zip(offsets) {
                        let o = e.index(o.into());
                        index.push(e.def(format!("arith.addi {i}, {o} : index")));
                    }
                    e.extract(x, &index)
                })?;
            }
            OpKind::Unary { op, x, .. } => self.unary(&r, *op, *x)?,
            OpKind::Binary { op, a, b } => self.binary(&r, *op, *a, *b)?,
            OpKind::Compare { op, a, b } => {
                let (t, ty) = (self.elem(*a)?, self.ty(*a)?);
                let predicate = compare(*op, t);
                let op = if t.is_float() { "cmpf" } else { "cmpi" };
                self.line(format!("{r} = arith.{op} {predicate}, {}, {} : {ty}", self.name(*a), self.name(*b)));
            }
            OpKind::Select { cond, a, b } => {
                let ty = self.ty(*a)?;
                let prefix = if self.shape(*cond).is_empty() && !self.shape(*a).is_empty() {
                    // Spell out the tile condition: elementwise conversion wants equal shapes.
                    let c = tensor(&self.shape(*a), "i1");
                    let splat = self.def(format!("tensor.splat {} : {c}", self.name(*cond)));
                    format!("{r} = arith.select {splat}, {}, {} : {c}, {ty}", self.name(*a), self.name(*b))
                } else if self.shape(*a).is_empty() {
                    format!("{r} = arith.select {}, {}, {} : {ty}", self.name(*cond), self.name(*a), self.name(*b))
                } else {
                    let c = self.ty(*cond)?;
                    format!("{r} = arith.select {}, {}, {} : {c}, {ty}", self.name(*cond), self.name(*a), self.name(*b))
                };
                self.line(prefix);
            }
            OpKind::Fma { a, b, c } => {
                let ty = self.ty(*a)?;
                if self.elem(*a)?.is_float() {
                    self.line(format!("{r} = math.fma {}, {}, {} : {ty}", self.name(*a), self.name(*b), self.name(*c)));
                } else {
                    let p = self.def(format!("arith.muli {}, {} : {ty}", self.name(*a), self.name(*b)));
                    self.line(format!("{r} = arith.addi {p}, {} : {ty}", self.name(*c)));
                }
            }
            OpKind::Cast { x, to, rounding, saturate } => {
                if *rounding != Rounding::NearestEven || *saturate {
                    return Err(Error::unsupported("casts with a rounding mode or saturation"));
                }
                self.cast(result, *x, *to)?;
            }
            OpKind::Reduce { kind, x, axes } => self.reduce(result, *kind, *x, axes)?,
            OpKind::Dot { a, b, acc, precision } => {
                if *precision != DotPrecision::Ieee {
                    return Err(Error::unsupported(format!("dot with precision {precision}")));
                }
                self.dot(&r, *a, *b, *acc)?;
            }
            OpKind::ProgramId { axis } => {
                self.aliases.insert(result, format!("%pid{axis}"));
            }
            OpKind::NumPrograms { axis } => {
                self.aliases.insert(result, format!("%grid{axis}"));
            }
            OpKind::ViewExtent { view, axis } => {
                let ty = self.view_type(*view)?;
                let axis = self.index((*axis).into());
                let d = self.def(format!("memref.dim {}, {axis} : {ty}", self.name(*view)));
                self.line(format!("{r} = arith.index_cast {d} : index to i64"));
            }
            OpKind::Load { addr: Address::Tile { view, offsets, shape, .. }, mask, pad, .. } => {
                let Type::View { elem, .. } = *self.f.ty(*view) else { return Err(Error::unsupported("this load")) };
                self.generate(result, shape, number(elem)?, |e, at| {
                    let mask = mask.map(|m| e.extract(m, at)).transpose()?;
                    let at = e.element_index(offsets, at);
                    e.load(*view, elem, &at, mask, *pad)
                })?;
            }
            OpKind::Store { addr: Address::Tile { view, offsets, shape, .. }, value, mask, .. } => {
                let Type::View { elem, .. } = *self.f.ty(*view) else { return Err(Error::unsupported("this store")) };
                self.store(*view, elem, offsets, shape, *value, *mask)?;
            }
            OpKind::For { lower, upper, step, init, body, .. } => {
                let t = self.elem(*lower)?;
                if !t.is_signed_int() {
                    return Err(Error::unsupported("loops over unsigned integers"));
                }
                let args = self.f.block(*body).args.clone();
                let carried = args[1..].iter().zip(init).map(|(a, i)| format!("{} = {}", self.name(*a), self.name(*i)));
                let carried = carried.collect::<Vec<_>>().join(", ");
                let types = self.types(init)?;
                let mut head = String::new();
                if !results.is_empty() {
                    head = format!("{} = ", self.names(&results));
                }
                head += &format!(
                    "scf.for {} = {} to {} step {}",
                    self.name(args[0]),
                    self.name(*lower),
                    self.name(*upper),
                    self.name(*step)
                );
                if !results.is_empty() {
                    head += &format!(" iter_args({carried}) -> ({types})");
                }
                self.line(format!("{head} : {} {{", number(t)?));
                self.nested(|e| e.block(*body))?;
                self.line("}");
            }
            OpKind::If { cond, then_block, else_block } => {
                let mut head = String::new();
                if !results.is_empty() {
                    head = format!("{} = ", self.names(&results));
                }
                head += &format!("scf.if {}", self.name(*cond));
                if !results.is_empty() {
                    head += &format!(" -> ({})", self.types(&results)?);
                }
                self.line(head + " {");
                self.nested(|e| e.block(*then_block))?;
                self.line("} else {");
                self.nested(|e| e.block(*else_block))?;
                self.line("}");
            }
            OpKind::Yield { values } => {
                if !values.is_empty() {
                    self.line(format!("scf.yield {} : {}", self.names(values), self.types(values)?));
                }
            }
            OpKind::Return | OpKind::Barrier => {}
            other => return Err(Error::unsupported(other.mnemonic())),
        }
        Ok(())
    }

    /// `offsets + at`, as indices.
    fn element_index(&mut self, offsets: &[Value], at: &[String]) -> Vec<String> {
        let mut index = Vec::new();
        for (&o, i) in offsets.iter().zip(at) {
            let o = self.def(format!("arith.index_cast {} : i64 to index", self.name(o)));
            index.push(self.def(format!("arith.addi {o}, {i} : index")));
        }
        index
    }

    fn view_type(&self, view: Value) -> Result<String> {
        match self.f.ty(view) {
            Type::View { elem, rank } if !elem.is_fp8() => Ok(memref(*elem, *rank)),
            ty => Err(Error::unsupported(format!("views of type {ty}"))),
        }
    }

    /// Whether an element lies within a view and its mask, as `i1`.
    fn in_bounds(&mut self, view: Value, at: &[String], mask: Option<String>) -> Result<String> {
        let ty = self.view_type(view)?;
        let mut ok = mask.unwrap_or_else(|| self.def("arith.constant true"));
        for (axis, i) in at.iter().enumerate() {
            let axis = self.index(axis as i64);
            let extent = self.def(format!("memref.dim {}, {axis} : {ty}", self.name(view)));
            // Unsigned: a negative index is beyond every extent.
            let inside = self.def(format!("arith.cmpi ult, {i}, {extent} : index"));
            ok = self.def(format!("arith.andi {ok}, {inside} : i1"));
        }
        Ok(ok)
    }

    fn load(
        &mut self,
        view: Value,
        elem: ScalarType,
        at: &[String],
        mask: Option<String>,
        pad: Option<Value>,
    ) -> Result<String> {
        let (ty, scalar) = (self.view_type(view)?, number(elem)?);
        let ok = self.in_bounds(view, at, mask)?;
        let pad = match pad {
            Some(p) => self.name(p),
            None => {
                let zero = literal(Literal::zero(elem), elem);
                let typed = if scalar == "i1" { String::new() } else { format!(" : {scalar}") };
                self.def(format!("arith.constant {zero}{typed}"))
            }
        };
        let v = self.fresh();
        self.line(format!("{v} = scf.if {ok} -> ({scalar}) {{"));
        self.nested(|e| {
            let mut x = e.def(format!("memref.load {}[{}] : {ty}", e.name(view), at.join(", ")));
            if elem == ScalarType::Bool {
                let zero = e.def("arith.constant 0 : i8");
                x = e.def(format!("arith.cmpi ne, {x}, {zero} : i8"));
            }
            e.line(format!("scf.yield {x} : {scalar}"));
            Ok(())
        })?;
        self.line("} else {");
        self.nested(|e| {
            e.line(format!("scf.yield {pad} : {scalar}"));
            Ok(())
        })?;
        self.line("}");
        Ok(v)
    }

    fn store(
        &mut self,
        view: Value,
        elem: ScalarType,
        offsets: &[Value],
        shape: &[u32],
        value: Value,
        mask: Option<Value>,
    ) -> Result<()> {
        let ty = self.view_type(view)?;
        let (zero, one) = (self.index(0), self.index(1));
        let mut at = Vec::new();
        for &d in shape {
            let (i, d) = (self.fresh(), self.index(d.into()));
            self.line(format!("scf.for {i} = {zero} to {d} step {one} {{"));
            self.indent += 1;
            at.push(i);
        }
        let mask = mask.map(|m| self.extract(m, &at)).transpose()?;
        let mut x = self.extract(value, &at)?;
        let index = self.element_index(offsets, &at);
        let ok = self.in_bounds(view, &index, mask)?;
        self.line(format!("scf.if {ok} {{"));
        self.nested(|e| {
            if elem == ScalarType::Bool {
                x = e.def(format!("arith.extui {x} : i1 to i8"));
            }
            e.line(format!("memref.store {x}, {}[{}] : {ty}", e.name(view), index.join(", ")));
            Ok(())
        })?;
        self.line("}");
        for _ in shape {
            self.indent -= 1;
            self.line("}");
        }
        Ok(())
    }

    fn unary(&mut self, r: &str, op: UnaryOp, x: Value) -> Result<()> {
        let (t, ty, x) = (self.elem(x)?, self.ty(x)?, self.name(x));
        let float = t.is_float();
        let op = match op {
            UnaryOp::Neg if float => "arith.negf",
            UnaryOp::Abs if float => "math.absf",
            UnaryOp::Abs => "math.absi",
            UnaryOp::Popcount => "math.ctpop",
            UnaryOp::Clz => "math.ctlz",
            UnaryOp::Ctz => "math.cttz",
            UnaryOp::Exp => "math.exp",
            UnaryOp::Exp2 => "math.exp2",
            UnaryOp::Expm1 => "math.expm1",
            UnaryOp::Log => "math.log",
            UnaryOp::Log2 => "math.log2",
            UnaryOp::Log10 => "math.log10",
            UnaryOp::Log1p => "math.log1p",
            UnaryOp::Sqrt => "math.sqrt",
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
            UnaryOp::IsNan => {
                self.line(format!("{r} = arith.cmpf uno, {x}, {x} : {ty}"));
                return Ok(());
            }
            UnaryOp::Neg => {
                let zero = self.splat(&ty, "0");
                self.line(format!("{r} = arith.subi {zero}, {x} : {ty}"));
                return Ok(());
            }
            UnaryOp::Not => {
                let ones = self.splat(&ty, if t == ScalarType::Bool { "true" } else { "-1" });
                self.line(format!("{r} = arith.xori {x}, {ones} : {ty}"));
                return Ok(());
            }
            UnaryOp::Recip => {
                let one = self.splat(&ty, "1.0");
                self.line(format!("{r} = arith.divf {one}, {x} : {ty}"));
                return Ok(());
            }
            other => return Err(Error::unsupported(other.name())),
        };
        self.line(format!("{r} = {op} {x} : {ty}"));
        Ok(())
    }

    /// A constant of a scalar or tensor type with every element the same.
    fn splat(&mut self, ty: &str, v: &str) -> String {
        let v = if ty.starts_with("tensor") { format!("dense<{v}>") } else { v.into() };
        if ty == "i1" {
            self.def(format!("arith.constant {v}"))
        } else {
            self.def(format!("arith.constant {v} : {ty}"))
        }
    }

    fn binary(&mut self, r: &str, op: BinaryOp, a: Value, b: Value) -> Result<()> {
        let (t, ty) = (self.elem(a)?, self.ty(a)?);
        let op = match (op, t.is_float(), t.is_signed_int()) {
            (BinaryOp::Add, true, _) => "arith.addf",
            (BinaryOp::Sub, true, _) => "arith.subf",
            (BinaryOp::Mul, true, _) => "arith.mulf",
            (BinaryOp::Div, true, _) => "arith.divf",
            (BinaryOp::Rem, true, _) => "arith.remf",
            (BinaryOp::Min, true, _) => "arith.minnumf",
            (BinaryOp::Max, true, _) => "arith.maxnumf",
            (BinaryOp::MinNan, ..) => "arith.minimumf",
            (BinaryOp::MaxNan, ..) => "arith.maximumf",
            (BinaryOp::Pow, ..) => "math.powf",
            (BinaryOp::Atan2, ..) => "math.atan2",
            (BinaryOp::CopySign, ..) => "math.copysign",
            (BinaryOp::Add, ..) => "arith.addi",
            (BinaryOp::Sub, ..) => "arith.subi",
            (BinaryOp::Mul, ..) => "arith.muli",
            (BinaryOp::Min, _, true) => "arith.minsi",
            (BinaryOp::Min, ..) => "arith.minui",
            (BinaryOp::Max, _, true) => "arith.maxsi",
            (BinaryOp::Max, ..) => "arith.maxui",
            (BinaryOp::And, ..) => "arith.andi",
            (BinaryOp::Or, ..) => "arith.ori",
            (BinaryOp::Xor, ..) => "arith.xori",
            // Division by zero and shifts by the width are poison in arith, and defined here.
            (other, ..) => return Err(Error::unsupported(format!("{} on {t}", other.name()))),
        };
        self.line(format!("{r} = {op} {}, {} : {ty}", self.name(a), self.name(b)));
        Ok(())
    }

    fn cast(&mut self, result: Value, x: Value, to: ScalarType) -> Result<()> {
        let from = self.elem(x)?;
        let (a, b) = (self.ty(x)?, tensor(&self.shape(x), number(to)?));
        let x = self.name(x);
        let r = format!("%{result}");
        let op = match (from, to) {
            _ if a == b => {
                self.aliases.insert(result, x);
                return Ok(());
            }
            (_, ScalarType::Bool) => {
                let zero = self.splat(&a, if from.is_float() { "0.0" } else { "0" });
                let (op, ne) = if from.is_float() { ("cmpf", "une") } else { ("cmpi", "ne") };
                self.line(format!("{r} = arith.{op} {ne}, {x}, {zero} : {a}"));
                return Ok(());
            }
            (f, t) if f.is_float() && t.is_float() => {
                if f.bits() == t.bits() || (f == ScalarType::F64 && t.bits() == 16) {
                    // f16 and bf16 convert through f32; the others would round twice.
                    if f.bits() != 16 {
                        return Err(Error::unsupported(format!("casts from {f} to {t}")));
                    }
                    let wide = a.replace(number(f)?, "f32");
                    let w = self.def(format!("arith.extf {x} : {a} to {wide}"));
                    self.line(format!("{r} = arith.truncf {w} : {wide} to {b}"));
                    return Ok(());
                }
                if f.bits() < t.bits() { "arith.extf" } else { "arith.truncf" }
            }
            // Rust's saturating conversion has no counterpart in arith.
            (f, t) if f.is_float() => return Err(Error::unsupported(format!("casts from {f} to {t}"))),
            (f, t) if t.is_float() => {
                if f.is_signed_int() {
                    "arith.sitofp"
                } else {
                    "arith.uitofp"
                }
            }
            (f, t) if f.bits() > t.bits() => "arith.trunci",
            (f, _) => {
                if f.is_signed_int() {
                    "arith.extsi"
                } else {
                    "arith.extui"
                }
            }
        };
        self.line(format!("{r} = {op} {x} : {a} to {b}"));
        Ok(())
    }

    /// Widens 8- and 16-bit floats, as sums of them are accumulated in `f32`.
    fn widened(&mut self, x: Value, to: ScalarType) -> Result<(String, String)> {
        let (from, a) = (self.elem(x)?, self.ty(x)?);
        let b = tensor(&self.shape(x), number(to)?);
        if a == b {
            return Ok((self.name(x), a));
        }
        let op = match (from.is_float(), from.is_signed_int()) {
            (true, _) => "extf",
            (_, true) => "extsi",
            _ => "extui",
        };
        Ok((self.def(format!("arith.{op} {} : {a} to {b}", self.name(x))), b))
    }

    fn reduce(&mut self, result: Value, kind: ReduceKind, x: Value, axes: &[u8]) -> Result<()> {
        let t = self.elem(x)?;
        let acc = t.accumulator();
        let shape = self.shape(x);
        let rest: Vec<u32> = (0..shape.len()).filter(|i| !axes.contains(&(*i as u8))).map(|i| shape[i]).collect();
        let (float, signed) = (t.is_float(), t.is_signed_int());
        let (op, identity) = match kind {
            ReduceKind::Sum => (if float { "addf" } else { "addi" }, literal(Literal::zero(acc), acc)),
            ReduceKind::Prod => (if float { "mulf" } else { "muli" }, literal(Literal::small(acc, 1), acc)),
            ReduceKind::Min if float => ("minnumf", float_bits(f64::NAN, acc)),
            ReduceKind::Max if float => ("maxnumf", float_bits(f64::NAN, acc)),
            ReduceKind::MinNan => ("minimumf", float_bits(f64::INFINITY, acc)),
            ReduceKind::MaxNan => ("maximumf", float_bits(f64::NEG_INFINITY, acc)),
            ReduceKind::Min if signed => ("minsi", ((1i128 << (t.bits() - 1)) - 1).to_string()),
            ReduceKind::Max if signed => ("maxsi", (-(1i128 << (t.bits() - 1))).to_string()),
            ReduceKind::Min => ("minui", "-1".into()),
            ReduceKind::Max => ("maxui", "0".into()),
            ReduceKind::And => ("andi", if t == ScalarType::Bool { "true" } else { "-1" }.into()),
            ReduceKind::Or => ("ori", if t == ScalarType::Bool { "false" } else { "0" }.into()),
            ReduceKind::Xor => ("xori", if t == ScalarType::Bool { "false" } else { "0" }.into()),
        };
        let (x, from) = self.widened(x, acc)?;
        let elem = number(acc)?;
        // A scalar result is a rank-0 tensor until the end.
        let whole = if rest.is_empty() { format!("tensor<{elem}>") } else { tensor(&rest, elem) };
        let init = self.def(format!("arith.constant dense<{identity}> : {whole}"));
        let axes = axes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let mut v = self.def(format!(
            "linalg.reduce {{ arith.{op} }} ins({x} : {from}) outs({init} : {whole}) dimensions = [{axes}]"
        ));
        let mut ty = whole.clone();
        if rest.is_empty() {
            v = self.def(format!("tensor.extract {v}[] : {whole}"));
            ty = elem.into();
        }
        if acc != t {
            let narrow = tensor(&rest, number(t)?);
            v = self.def(format!("arith.truncf {v} : {ty} to {narrow}"));
        }
        self.aliases.insert(result, v);
        Ok(())
    }

    fn dot(&mut self, r: &str, a: Value, b: Value, acc: Value) -> Result<()> {
        let t = self.elem(acc)?;
        if t.bits() == 16 {
            return Err(Error::unsupported(format!("dot that accumulates in {t}")));
        }
        let rank = self.shape(a).len();
        let ((x, xt), (y, yt)) = (self.widened(a, t)?, self.widened(b, t)?);
        let (c, ct) = (self.name(acc), self.ty(acc)?);
        match rank {
            2 | 3 => {
                let op = if rank == 2 { "matmul" } else { "batch_matmul" };
                self.line(format!("{r} = linalg.{op} ins({x}, {y} : {xt}, {yt}) outs({c} : {ct}) -> {ct}"));
            }
            _ => {
                let batch: Vec<String> = (0..rank - 2).map(|i| format!("b{i}")).collect();
                let with =
                    |tail: [&str; 2]| batch.iter().map(String::as_str).chain(tail).collect::<Vec<_>>().join(", ");
                let dims = batch.iter().map(String::as_str).chain(["m", "n", "k"]).collect::<Vec<_>>().join(", ");
                let map = |tail| format!("affine_map<({dims}) -> ({})>", with(tail));
                let parallel = "\"parallel\", ".repeat(rank);
                let (mul, add) = if t.is_float() { ("mulf", "addf") } else { ("muli", "addi") };
                let elem = number(t)?;
                self.line(format!(
                    "{r} = linalg.generic {{indexing_maps = [{}, {}, {}], iterator_types = [{parallel}\"reduction\"]}} \
                     ins({x}, {y} : {xt}, {yt}) outs({c} : {ct}) {{",
                    map(["m", "k"]),
                    map(["k", "n"]),
                    map(["m", "n"])
                ));
                self.nested(|e| {
                    e.line(format!("^bb0(%x: {elem}, %y: {elem}, %z: {elem}):"));
                    let p = e.def(format!("arith.{mul} %x, %y : {elem}"));
                    let s = e.def(format!("arith.{add} %z, {p} : {elem}"));
                    e.line(format!("linalg.yield {s} : {elem}"));
                    Ok(())
                })?;
                self.line(format!("}} -> {ct}"));
            }
        }
        Ok(())
    }
}

fn compare(op: CmpOp, t: ScalarType) -> &'static str {
    match (op, t.is_float(), t.is_signed_int()) {
        (CmpOp::Eq, true, _) => "oeq",
        (CmpOp::Ne, true, _) => "une",
        (CmpOp::Lt, true, _) => "olt",
        (CmpOp::Le, true, _) => "ole",
        (CmpOp::Gt, true, _) => "ogt",
        (CmpOp::Ge, true, _) => "oge",
        (CmpOp::Eq, ..) => "eq",
        (CmpOp::Ne, ..) => "ne",
        (CmpOp::Lt, _, true) => "slt",
        (CmpOp::Le, _, true) => "sle",
        (CmpOp::Gt, _, true) => "sgt",
        (CmpOp::Ge, _, true) => "sge",
        (CmpOp::Lt, ..) => "ult",
        (CmpOp::Le, ..) => "ule",
        (CmpOp::Gt, ..) => "ugt",
        (CmpOp::Ge, ..) => "uge",
    }
}
