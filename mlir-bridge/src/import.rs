//! Reads a kernel back from the interchange form.

use std::collections::HashMap;

use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, OperationRef};
use melior::ir::{BlockRef, Location, RegionLike, Value as MlirValue, ValueLike};
use tegula_ir::function::{Block, Function, Grid, ParamKind, Value, ViewAccess, ViewSpec};
use tegula_ir::loc::SourceLoc;
use tegula_ir::ops::OpKind;
use tegula_ir::types::{Elem, Type};

use crate::Error;
use crate::attr::Attr;
use crate::codec::{Parts, decode, from_upstream};
use crate::session::Session;
use crate::types;

type Result<T> = std::result::Result<T, Error>;

/// Parses MLIR text that [`crate::export::export`] wrote, and gives the kernel in it.
///
/// # Errors
/// [`Error::Mlir`] if MLIR refuses the text; [`Error::Import`] if it holds something else than one kernel in the
/// interchange form.
pub fn import(session: &Session, text: &str) -> Result<Function> {
    let module = session.parse(text)?;
    let func = module.body().first_operation().ok_or_else(|| bad("an empty module"))?;
    if func.name().as_string_ref().as_str() != Ok("func.func") {
        return Err(bad("the module's first op is not func.func"));
    }
    let Attr::Str(name) = attr(&func, "sym_name")? else { return Err(bad("sym_name")) };
    let mut i = Importer { f: Function::new(name), values: HashMap::new() };
    i.f.loc = i.loc(func.location())?;
    i.function(&func)?;
    Ok(i.f)
}

fn bad(what: impl Into<String>) -> Error {
    Error::Import(what.into())
}

fn attr<'c: 'a, 'a>(op: &impl OperationLike<'c, 'a>, name: &str) -> Result<Attr> {
    let a = op.attribute(name).map_err(|_| bad(format!("missing attribute {name}")))?;
    Attr::parse(&a.to_string())
}

fn type_of<'c: 'a, 'a>(v: &impl ValueLike<'c>) -> Result<Type> {
    let text = v.r#type().to_string();
    types::parse(&text).ok_or_else(|| bad(format!("type {text}")))
}

fn key<'c>(v: &impl ValueLike<'c>) -> usize {
    v.to_raw().ptr as usize
}

struct Importer {
    f: Function,
    values: HashMap<usize, Value>,
}

impl Importer {
    fn loc(&mut self, loc: Location<'_>) -> Result<tegula_ir::loc::Loc> {
        if !loc.is_file_line_col_range() {
            return Ok(tegula_ir::loc::Loc::UNKNOWN);
        }
        let file = loc.file_line_col_range_filename();
        let file = file.as_string_ref().as_str().map_err(|_| bad("a file name that is not UTF-8"))?;
        let (line, column) = (loc.file_line_col_range_start_line(), loc.file_line_col_range_start_column());
        Ok(self.f.locs.intern(SourceLoc { file: file.into(), line: line as u32, column: column as u32 }))
    }

    fn function<'c: 'a, 'a>(&mut self, func: &OperationRef<'c, 'a>) -> Result<()> {
        let (names, params) = (list(attr(func, "tegula.param_names")?)?, list(attr(func, "tegula.params")?)?);
        let body = func.region(0).ok().and_then(|r| r.first_block()).ok_or_else(|| bad("a function without a body"))?;
        if names.len() != body.argument_count() || params.len() != names.len() {
            return Err(bad("parameter attributes do not fit the arguments"));
        }
        for (n, (name, param)) in names.into_iter().zip(params).enumerate() {
            let arg = body.argument(n).map_err(|e| bad(e.to_string()))?;
            let Attr::Str(name) = name else { return Err(bad("tegula.param_names")) };
            let kind = param_kind(&type_of(&arg)?, list(param)?)?;
            let v = self.f.add_param(name, kind);
            self.values.insert(key(&arg), v);
        }
        for dim in list(attr(func, "tegula.dims")?)? {
            match list(dim)?.as_slice() {
                [Attr::Str(n), Attr::Int(v)] => self.f.dims.push((n.clone(), *v as u64)),
                _ => return Err(bad("tegula.dims")),
            }
        }
        self.f.num_warps = int(&attr(func, "tegula.num_warps")?)?;
        self.f.num_stages = int(&attr(func, "tegula.num_stages")?)?;
        if func.has_attribute("tegula.grid") {
            let mut outputs = Vec::new();
            for output in list(attr(func, "tegula.grid")?)? {
                match list(output)?.as_slice() {
                    [p, Attr::Ints(tile)] => outputs.push((int(p)?, tile.iter().map(|&d| d as u32).collect())),
                    _ => return Err(bad("tegula.grid")),
                }
            }
            self.f.grid = Grid::Tiles { outputs };
        }
        let block = self.f.body;
        self.ops(&body, block)
    }

    fn ops<'c: 'a, 'a>(&mut self, from: &BlockRef<'c, 'a>, to: Block) -> Result<()> {
        let mut next = from.first_operation();
        while let Some(op) = next {
            self.op(&op, to)?;
            next = op.next_in_block();
        }
        Ok(())
    }

    fn op<'c: 'a, 'a>(&mut self, op: &OperationRef<'c, 'a>, to: Block) -> Result<()> {
        let name = op.name();
        let name = name.as_string_ref().as_str().map_err(|_| bad("an op name that is not UTF-8"))?.to_owned();
        let (short, function) = match name.strip_prefix("tegula.") {
            Some(short) => (short, None),
            None => from_upstream(&name).ok_or_else(|| bad(format!("op {name}")))?,
        };
        let own = name.starts_with("tegula.");
        let operands = op.operands().map(|v| self.value(&v)).collect::<Result<Vec<_>>>()?;
        let mut blocks = Vec::new();
        for region in op.regions() {
            let from = region.first_block().ok_or_else(|| bad(format!("an empty region in {name}")))?;
            let block = self.f.make_block([]);
            for i in 0..from.argument_count() {
                let arg = from.argument(i).map_err(|e| bad(e.to_string()))?;
                let ty = type_of(&arg)?;
                let v = self.f.add_block_arg(block, ty);
                self.values.insert(key(&arg), v);
            }
            self.ops(&from, block)?;
            blocks.push(block);
        }
        let results = op.results().map(|r| type_of(&r)).collect::<Result<Vec<_>>>()?;
        let get = |n: &str| match (own, n, function) {
            (false, "op", Some(function)) => Ok(Attr::str(function)),
            (false, "fast", _) => Ok(Attr::flag(false)),
            (false, ..) => attr(op, &format!("tegula.{n}")),
            (true, ..) => attr(op, n),
        };
        let kind: OpKind =
            decode(&Parts { name: short, attr: &get, operands: &operands, results: &results, blocks: &blocks })?;
        let loc = self.loc(op.location())?;
        let new = self.f.append_op(to, kind, results, loc);
        let defined = self.f.op(new).results.clone();
        for (r, v) in op.results().zip(defined) {
            self.values.insert(key(&r), v);
        }
        Ok(())
    }

    fn value(&self, v: &MlirValue<'_, '_>) -> Result<Value> {
        self.values.get(&key(v)).copied().ok_or_else(|| bad("a value that is not defined before its use"))
    }
}

fn list(a: Attr) -> Result<Vec<Attr>> {
    match a {
        Attr::List(v) => Ok(v),
        // MLIR prints an empty list as an empty array of either form.
        Attr::Ints(v) if v.is_empty() => Ok(Vec::new()),
        other => Err(bad(format!("expected a list, found {other}"))),
    }
}

fn int<T: TryFrom<i64>>(a: &Attr) -> Result<T> {
    match a {
        Attr::Int(v) => T::try_from(*v).map_err(|_| bad(format!("{v} is out of range"))),
        other => Err(bad(format!("expected an integer, found {other}"))),
    }
}

fn param_kind(ty: &Type, fields: Vec<Attr>) -> Result<ParamKind> {
    let divisors = |v: &[i64]| v.iter().map(|&d| d as u32).collect();
    match (ty, fields.as_slice()) {
        (
            Type::View { elem, rank },
            [Attr::Str(access), align, unit_inner, Attr::Ints(extents), Attr::Ints(strides), fits_32, no_alias],
        ) => Ok(ParamKind::View {
            elem: *elem,
            rank: *rank,
            access: match access.as_str() {
                "read" => ViewAccess::Read,
                "write" => ViewAccess::Write,
                "read_write" => ViewAccess::ReadWrite,
                other => return Err(bad(format!("access {other}"))),
            },
            spec: ViewSpec {
                align: int(align)?,
                unit_inner: int::<i64>(unit_inner)? != 0,
                extent_divisor: divisors(extents),
                stride_divisor: divisors(strides),
                fits_32: int::<i64>(fits_32)? != 0,
                no_alias: int::<i64>(no_alias)? != 0,
            },
        }),
        (Type::Scalar(Elem::Scalar(elem)), [divisor]) => Ok(ParamKind::Scalar { elem: *elem, divisor: int(divisor)? }),
        (Type::Scalar(Elem::Ptr(elem)), [align]) => Ok(ParamKind::Ptr { elem: *elem, align: int(align)? }),
        _ => Err(bad("parameter attributes do not fit the argument's type")),
    }
}
