//! Writes a kernel in the interchange form.

use std::fmt::Write;

use smallvec::SmallVec;
use tegula_ir::function::{Block, Function, Grid, Op, ParamKind, Value, ViewAccess};
use tegula_ir::loc::Loc;
use tegula_ir::ops::{Address, OpKind};

use crate::Error;
use crate::attr::Attr;
use crate::codec::{encode, op_name, type_text, upstream};

/// The most inputs or carried values that a `tegula` op with operands of different types can have.
pub const MAX_MIXED: usize = 8;

/// The kernel as an MLIR module with one `func.func`. Names of values are not carried; everything else is.
///
/// # Errors
/// [`Error::Unsupported`] for laid-out IR, and for ops with more than [`MAX_MIXED`] inputs of different types.
pub fn export(f: &Function) -> Result<String, Error> {
    let mut e = Exporter { f, text: String::new(), indent: 2 };
    let params = f.params.iter().map(|p| Ok(format!("%{}: {}", p.value, type_text(&p.kind.ty())?)));
    let params = params.collect::<Result<Vec<_>, Error>>()?.join(", ");
    e.block(f.body, "func.func")?;
    let attrs =
        function_attrs(f).iter().map(|(n, a)| format!("tegula.{n} = {a}")).collect::<Vec<_>>().join(",\n      ");
    Ok(format!(
        "module {{\n  func.func @{}({params}) attributes {{\n      {attrs}\n  }} {{\n{}  }}{}\n}}\n",
        Attr::str(&f.name),
        e.text,
        e.loc(f.loc)
    ))
}

/// What `func.func` has no place for: parameters, grid, sizes and options.
fn function_attrs(f: &Function) -> Vec<(&'static str, Attr)> {
    let param = |kind: &ParamKind| -> Attr {
        match kind {
            ParamKind::View { access, spec, .. } => Attr::List(vec![
                Attr::str(match access {
                    ViewAccess::Read => "read",
                    ViewAccess::Write => "write",
                    ViewAccess::ReadWrite => "read_write",
                }),
                Attr::Int(spec.align.into()),
                Attr::flag(spec.unit_inner),
                Attr::ints(&spec.extent_divisor),
                Attr::ints(&spec.stride_divisor),
                Attr::flag(spec.fits_32),
                Attr::flag(spec.no_alias),
            ]),
            ParamKind::Scalar { divisor, .. } => Attr::List(vec![Attr::Int((*divisor).into())]),
            ParamKind::Ptr { align, .. } => Attr::List(vec![Attr::Int((*align).into())]),
        }
    };
    let mut attrs = vec![
        ("param_names", Attr::List(f.params.iter().map(|p| Attr::str(&p.name)).collect())),
        ("params", Attr::List(f.params.iter().map(|p| param(&p.kind)).collect())),
        (
            "dims",
            Attr::List(f.dims.iter().map(|(n, v)| Attr::List(vec![Attr::str(n), Attr::Int(*v as i64)])).collect()),
        ),
        ("num_warps", Attr::Int(f.num_warps.into())),
        ("num_stages", Attr::Int(f.num_stages.into())),
    ];
    if let Grid::Tiles { outputs } = &f.grid {
        let outputs = outputs.iter().map(|(p, tile)| Attr::List(vec![Attr::Int((*p).into()), Attr::ints(tile)]));
        attrs.push(("grid", Attr::List(outputs.collect())));
    }
    attrs
}

struct Exporter<'f> {
    f: &'f Function,
    text: String,
    indent: usize,
}

impl Exporter<'_> {
    fn loc(&self, loc: Loc) -> String {
        let l = self.f.locs.get(loc);
        if l.line == 0 {
            " loc(unknown)".into()
        } else {
            format!(" loc({}:{}:{})", Attr::str(&l.file), l.line, l.column)
        }
    }

    fn values(&self, values: &[Value]) -> String {
        values.iter().map(|v| format!("%{v}")).collect::<Vec<_>>().join(", ")
    }

    fn types(&self, values: &[Value]) -> Result<String, Error> {
        Ok(values.iter().map(|&v| type_text(self.f.ty(v))).collect::<Result<Vec<_>, _>>()?.join(", "))
    }

    fn block(&mut self, block: Block, parent: &str) -> Result<(), Error> {
        let f = self.f;
        f.block(block).ops.iter().try_for_each(|&op| self.op(op, parent))
    }

    fn op(&mut self, op: Op, parent: &str) -> Result<(), Error> {
        let f = self.f;
        let data = f.op(op);
        let kind = &data.kind;
        let operands = kind.operands();
        let name = match kind {
            OpKind::Yield { .. } if parent.starts_with("scf.") => "scf.yield".to_string(),
            OpKind::Yield { .. } => "gpu.yield".into(),
            _ => match upstream(kind, operands.first().and_then(|&v| f.ty(v).elem_scalar())) {
                Some(name) => name.into(),
                None => format!("tegula.{}", op_name(kind)),
            },
        };
        let own = name.starts_with("tegula.");
        let mut attrs: Vec<String> = Vec::new();
        for (n, a) in encode(kind)? {
            match (own, n) {
                (true, _) => attrs.push(format!("{n} = {a}")),
                // Told by the upstream op's name.
                (false, "op" | "fast") => {}
                (false, _) => attrs.push(format!("tegula.{n} = {a}")),
            }
        }
        if own {
            let segments = |counts: &[i32]| {
                format!("array<i32: {}>", counts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
            };
            if let Some(counts) = operand_segments(kind)? {
                attrs.push(format!("operandSegmentSizes = {}", segments(&counts)));
            }
            if matches!(kind, OpKind::ReduceWith { .. } | OpKind::ScanWith { .. } | OpKind::For { .. }) {
                attrs.push(format!("resultSegmentSizes = {}", segments(&optional(data.results.len(), MAX_MIXED)?)));
            }
        }

        let _ = write!(self.text, "{:width$}", "", width = self.indent * 2);
        if !data.results.is_empty() {
            let _ = write!(self.text, "{} = ", self.values(&data.results));
        }
        let _ = write!(self.text, "\"{name}\"({})", self.values(&operands));
        let blocks = kind.blocks();
        if !blocks.is_empty() {
            self.text += " (";
            for (i, &block) in blocks.iter().enumerate() {
                self.text += if i > 0 { ", {\n" } else { "{\n" };
                let args = &f.block(block).args;
                let args = args.iter().map(|&v| Ok(format!("%{v}: {}", type_text(f.ty(v))?)));
                let args = args.collect::<Result<Vec<_>, Error>>()?.join(", ");
                let _ = writeln!(self.text, "{:width$}^bb0({args}):", "", width = self.indent * 2);
                self.indent += 1;
                self.block(block, &name)?;
                self.indent -= 1;
                let _ = write!(self.text, "{:width$}}}", "", width = self.indent * 2);
            }
            self.text += ")";
        }
        if !attrs.is_empty() {
            let _ = write!(self.text, " {{{}}}", attrs.join(", "));
        }
        let (ins, outs) = (self.types(&operands)?, self.types(&data.results)?);
        let _ = writeln!(self.text, " : ({ins}) -> ({outs}){}", self.loc(data.loc));
        Ok(())
    }
}

/// `n` present of `max` optional operands.
fn optional(n: usize, max: usize) -> Result<SmallVec<[i32; 16]>, Error> {
    if n > max {
        return Err(Error::Unsupported(format!("ops with more than {max} inputs or carried values")));
    }
    Ok((0..max).map(|i| i32::from(i < n)).collect())
}

/// The operand groups of the ops whose operands may differ in type, as the dialect declares them.
fn operand_segments(kind: &OpKind) -> Result<Option<SmallVec<[i32; 16]>>, Error> {
    let address = |addr: &Address| {
        let n = match addr {
            Address::Tile { offsets, .. } => offsets.len(),
            Address::Gather { indices, .. } => indices.len(),
            Address::Ptr { .. } => 0,
        };
        let mut counts: SmallVec<[i32; 16]> = SmallVec::from_slice(&[1]);
        counts.extend((0..tegula_ir::types::MAX_RANK).map(|i| i32::from(i < n)));
        counts
    };
    Ok(Some(match kind {
        OpKind::Cat { parts, .. } => optional(parts.len(), MAX_MIXED)?,
        OpKind::ReduceWith { inputs, .. } | OpKind::ScanWith { inputs, .. } => optional(inputs.len(), MAX_MIXED)?,
        OpKind::Print { args, .. } => optional(args.len(), MAX_MIXED)?,
        OpKind::For { init, .. } => {
            let mut counts = SmallVec::from_slice(&[1, 1, 1]);
            counts.extend(optional(init.len(), MAX_MIXED)?);
            counts
        }
        OpKind::Load { addr, mask, pad, .. } => {
            let mut counts = address(addr);
            counts.extend([mask.is_some().into(), pad.is_some().into()]);
            counts
        }
        OpKind::Store { addr, mask, .. } | OpKind::AtomicRmw { addr, mask, .. } => {
            let mut counts = address(addr);
            counts.extend([1, mask.is_some().into()]);
            counts
        }
        OpKind::AtomicCas { addr, mask, .. } => {
            let mut counts = address(addr);
            counts.extend([1, 1, mask.is_some().into()]);
            counts
        }
        _ => return Ok(None),
    }))
}
