//! A problem for a kernel that comes without one: tensors of the extents given on the command line, filled at random, and the
//! reference interpreter in place of a reference.

use tegula::ir::exec::{Executor, HostArg};
use tegula::ir::function::{Param, ParamKind, ViewAccess};
use tegula::ir::interp::Interpreter;
use tegula::ir::literal::Literal;
use tegula::ir::{Function, ScalarType, function};

use crate::error::{CliError, Result};
use crate::problem::{Expected, Grid, Problem, Random, decode, output, tolerance};

/// Integers in tensors are at least 0 and below this, so that they can be indices of small tensors.
const INTEGERS: i64 = 8;

/// The arguments of a kernel, as given: `x=64x100` for tensors, `scale=0.5` for numbers.
#[derive(Debug)]
pub struct Arguments<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Arguments<'a> {
    /// From the command line, for this kernel.
    ///
    /// # Errors
    /// If one is not of that form, or names no parameter, or a parameter has none.
    pub fn new(f: &Function, given: &'a [String]) -> Result<Self> {
        let mut arguments = Vec::new();
        for text in given {
            let (name, value) = text.split_once('=').ok_or_else(|| {
                CliError::Usage(format!("--arg {text}: expected a name and extents or a number, as in --arg x=64x100"))
            })?;
            if !f.params.iter().any(|p| p.name == name) {
                let what = format!("parameter of `{}` called", f.name);
                return Err(CliError::unknown(&what, name, f.params.iter().map(|p| p.name.as_str())));
            }
            arguments.push((name, value));
        }
        if f.params.iter().all(|p| arguments.iter().any(|(n, _)| *n == p.name)) {
            return Ok(Self(arguments));
        }
        let wanted: Vec<String> = f.params.iter().map(|p| format!("--arg {}={}", p.name, form(&p.kind))).collect();
        Err(CliError::Usage(format!("`{}` has no problem of its own: choose one with {}", f.name, wanted.join(" "))))
    }

    fn of(&self, p: &Param) -> &'a str {
        self.0.iter().rev().find(|(name, _)| *name == p.name).map_or("", |(_, value)| value)
    }

    /// Elements of all tensors, and the largest size of one in bytes.
    ///
    /// # Errors
    /// If extents do not fit a parameter.
    pub fn count_elements(&self, f: &Function) -> Result<(f64, u32)> {
        let (mut elements, mut size) = (0.0, 1);
        for p in &f.params {
            if let ParamKind::View { elem, .. } | ParamKind::Ptr { elem, .. } = p.kind {
                elements += extents(p, self.of(p))?.iter().map(|&e| e as f64).product::<f64>();
                size = size.max(elem.memory_bytes().unwrap_or(1));
            }
        }
        Ok((elements, size))
    }

    /// The problem; what is expected is computed by the interpreter, where it is asked for.
    ///
    /// # Errors
    /// If an argument does not fit its parameter, the grid is needed and missing, or the interpreter finds a mistake.
    pub fn problem(&self, f: &Function, grid: &[u32], seed: u64, reference: bool) -> Result<Problem> {
        let mut random = Random::new(seed);
        let args = f.params.iter().map(|p| argument(p, self.of(p), &mut random)).collect::<Result<Vec<_>>>()?;
        let grid = explicit_grid(f, grid)?;
        let mut problem = Problem { args, grid, expected: Vec::new(), flops: 0.0, bytes: 0.0 };
        if reference {
            problem.expected = self.expected(f, &problem)?;
        }
        Ok(problem)
    }

    fn expected(&self, f: &Function, problem: &Problem) -> Result<Vec<Expected>> {
        let mut outputs = problem.args.clone();
        problem
            .grid(f)
            .and_then(|grid| Interpreter::new().run(f, grid, &mut outputs))
            .map_err(|e| CliError::Failed(format!("on the interpreter: {e}")))?;
        let terms = outputs.iter().filter_map(tensor).map(|t| t.count() as i64).max().unwrap_or(1);
        let written = f.params.iter().zip(&outputs).enumerate().filter(|(_, (p, _))| is_written(&p.kind));
        Ok(written
            .filter_map(|(arg, (_, output))| {
                let t = tensor(output)?;
                Some(Expected { arg, values: decode(t), tolerance: tolerance(t.elem, terms) })
            })
            .collect())
    }
}

fn tensor(arg: &HostArg) -> Option<&tegula::ir::exec::HostTensor> {
    match arg {
        HostArg::Tensor(t) | HostArg::Ptr(t) => Some(t),
        HostArg::Scalar(_) => None,
    }
}

fn is_written(kind: &ParamKind) -> bool {
    !matches!(kind, ParamKind::View { access: ViewAccess::Read, .. } | ParamKind::Scalar { .. })
}

/// What stands for an argument in messages.
fn form(kind: &ParamKind) -> String {
    match kind {
        ParamKind::View { rank, .. } => vec!["64"; (*rank).into()].join("x"),
        ParamKind::Ptr { .. } => "64".into(),
        ParamKind::Scalar { .. } => "1".into(),
    }
}

/// `64x100`; a tensor without axes has no extents.
fn extents(p: &Param, text: &str) -> Result<Vec<i64>> {
    let wrong =
        || CliError::Usage(format!("--arg {0}={text}: expected extents, as in --arg {0}={1}", p.name, form(&p.kind)));
    let parts = text.split('x').filter(|t| !t.is_empty());
    let extents: Vec<i64> =
        parts.map(|t| t.parse().ok().filter(|&e: &i64| e >= 0).ok_or_else(wrong)).collect::<Result<_>>()?;
    let rank = if let ParamKind::View { rank, .. } = p.kind { rank.into() } else { 1 };
    if extents.len() == rank { Ok(extents) } else { Err(wrong()) }
}

fn argument(p: &Param, text: &str, random: &mut Random) -> Result<HostArg> {
    let mut filled = |elem: ScalarType, extents: &[i64]| match elem {
        ScalarType::Bool => random.indices(elem, extents, 2),
        t if t.is_float() => random.tensor(elem, extents, 1.0),
        _ => random.indices(elem, extents, INTEGERS),
    };
    Ok(match &p.kind {
        ParamKind::View { elem, access: ViewAccess::Write, .. } => HostArg::Tensor(output(*elem, &extents(p, text)?)),
        ParamKind::View { elem, .. } => HostArg::Tensor(filled(*elem, &extents(p, text)?)),
        ParamKind::Ptr { elem, .. } => HostArg::Ptr(filled(*elem, &extents(p, text)?)),
        ParamKind::Scalar { elem, .. } => HostArg::Scalar(
            number(*elem, text)
                .ok_or_else(|| CliError::Usage(format!("--arg {0}={text}: {0} is a number of type {elem}", p.name)))?,
        ),
    })
}

/// A number of this type. Those of 64 bits without a sign are held as the signed ones of the same bits.
fn number(elem: ScalarType, text: &str) -> Option<Literal> {
    let bits = elem.bits();
    match elem {
        ScalarType::Bool => text.parse().ok().map(Literal::Bool),
        t if t.is_float() => text.parse().ok().map(Literal::Float),
        t if t.is_signed_int() => {
            let v: i64 = text.parse().ok()?;
            let max = i64::MAX >> (64 - bits);
            (-max - 1..=max).contains(&v).then_some(Literal::Int(v))
        }
        _ => {
            let v: u64 = text.parse().ok()?;
            (v <= u64::MAX >> (64 - bits)).then_some(Literal::Int(v.cast_signed()))
        }
    }
}

/// The grid where the outputs do not give it.
fn explicit_grid(f: &Function, given: &[u32]) -> Result<Option<Grid>> {
    let axis = |i: usize| vec![(given.get(i).map_or(1, |&n| i64::from(n)), None)];
    match (&f.grid, given) {
        (function::Grid::Tiles { .. }, []) => Ok(None),
        (function::Grid::Tiles { .. }, _) => {
            Err(CliError::Usage(format!("--grid: the grid of `{}` follows from its outputs; leave it out", f.name)))
        }
        (function::Grid::Explicit, [_, ..]) if given.len() <= 3 => Ok(Some(Grid([axis(0), axis(1), axis(2)]))),
        (function::Grid::Explicit, _) => {
            Err(CliError::Usage(format!("the outputs of `{}` give no grid; pass --grid X, X,Y or X,Y,Z", f.name)))
        }
    }
}
