//! Runs: arguments, execution, comparison.

use super::super::value::{elements, gaps, literal_text, literals_text, parse_arg, parse_literals};
use super::file::RunText;
use crate::exec::{ExecError, Executor, HostArg, grid_of};
use crate::function::{Function, Module, Param, ParamKind, ViewAccess};
use crate::literal::Literal;
use crate::text::{Cursor, ParseError, Token};

/// A run, understood.
pub(super) struct Run<'a> {
    pub(super) function: &'a Function,
    pub(super) grid: [u32; 3],
    pub(super) args: Vec<HostArg>,
    /// The difference allowed, relative to the value or to 1.
    pub(super) tolerance: f64,
}

/// What came of a run: lines as they stand in the file, or the error.
pub(super) type Outcome = Result<(Vec<HostArg>, String), ExecError>;

impl<'a> Run<'a> {
    /// Understands the heading and the arguments of a run.
    pub(super) fn new(text: &RunText, module: &'a Module) -> Result<Self, String> {
        let heading = Heading::parse(&text.heading).map_err(|e| format!("line {}: {}", text.line, e.kind))?;
        let function = match &heading.kernel {
            Some(name) => module.function(name).ok_or_else(|| format!("line {}: no kernel @{name}", text.line))?,
            None => module.functions.first().ok_or("the file has no kernel to run")?,
        };
        let mut args: Vec<Option<HostArg>> = vec![None; function.params.len()];
        for (line, arg) in &text.args {
            let error = |message: String| format!("line {line}: {message}");
            let mut parse = || -> Result<(), Box<ParseError>> {
                let mut c = Cursor::new(arg, "")?;
                let index = param(&mut c, function)?;
                c.expect('=')?;
                args[index] = Some(parse_arg(&mut c, &function.params[index])?);
                end(&c)
            };
            parse().map_err(|e| error(format!("{} (column {})", e.kind, e.loc.column)))?;
        }
        let missing = args.iter().position(Option::is_none);
        if let Some(i) = missing {
            return Err(format!("line {}: no argument for parameter {}", text.line, function.params[i].name));
        }
        let args: Vec<HostArg> = args.into_iter().flatten().collect();
        let grid = match heading.grid {
            Some(grid) => grid,
            None => grid_of(function, &args).map_err(|e| format!("line {}: {e}", text.line))?.unwrap_or([1; 3]),
        };
        Ok(Self { function, grid, args, tolerance: heading.tolerance })
    }

    pub(super) fn execute(&self, executor: &dyn Executor) -> Outcome {
        let mut args = self.args.clone();
        let printed = executor.run(self.function, self.grid, &mut args)?;
        Ok((args, printed))
    }

    /// The lines that a run's expectation consists of.
    pub(super) fn describe(&self, outcome: &Outcome) -> Vec<String> {
        let (args, printed) = match outcome {
            Ok(done) => done,
            Err(e) => return vec![format!("error: {}", e.to_string().replace('\n', " "))],
        };
        let mut lines = Vec::new();
        for (i, p) in self.function.params.iter().enumerate() {
            if let (HostArg::Tensor(t) | HostArg::Ptr(t), true) = (&args[i], self.is_output(i, args)) {
                lines.push(format!("%{} -> {}", p.name, literals_text(t.elem, &elements(t))));
            }
        }
        lines.extend(printed.lines().map(|line| format!("prints: {line}").trim_end().to_owned()));
        lines
    }

    /// Whether an argument is shown after the run: a tensor that can be written, or memory that was.
    fn is_output(&self, index: usize, after: &[HostArg]) -> bool {
        match self.function.params[index].kind {
            ParamKind::View { access, .. } => access != ViewAccess::Read,
            ParamKind::Ptr { .. } => after[index] != self.args[index],
            ParamKind::Scalar { .. } => false,
        }
    }

    /// Compares the outcome on an executor with what the file expects. Executors word errors in their own way: the
    /// message is held only where `exact` asks for it.
    pub(super) fn compare(&self, outcome: &Outcome, expected: &[String], exact: bool) -> Result<(), String> {
        let expects_error = expected.iter().find_map(|line| line.strip_prefix("error: "));
        let (args, printed) = match (outcome, expects_error) {
            (Ok(done), None) => done,
            (Ok(_), Some(e)) => return Err(format!("expected the error `{e}`, but it ran")),
            (Err(e), None) => return Err(e.to_string()),
            (Err(e), Some(expected)) => {
                let e = e.to_string().replace('\n', " ");
                if exact && e != expected {
                    return Err(format!("expected the error\n  {expected}\nfound\n  {e}"));
                }
                return Ok(());
            }
        };
        let mut unseen: Vec<usize> = (0..args.len()).filter(|&i| self.is_output(i, args)).collect();
        for line in expected.iter().filter(|line| line.contains("->")) {
            let index = self.compare_tensor(line, args)?;
            unseen.retain(|&i| i != index);
        }
        if let Some(&i) = unseen.first() {
            return Err(format!("nothing is expected of %{}, which is written", self.function.params[i].name));
        }
        let expected_lines = expected.iter().filter_map(|line| line.strip_prefix("prints:")).map(str::trim);
        if !printed.lines().map(str::trim).eq(expected_lines) {
            return Err(format!("it printed\n{printed}"));
        }
        for (i, p) in self.function.params.iter().enumerate() {
            if let (HostArg::Tensor(before), HostArg::Tensor(after)) = (&self.args[i], &args[i])
                && gaps(before) != gaps(after)
            {
                return Err(format!("memory outside the elements of %{} changed", p.name));
            }
        }
        Ok(())
    }

    /// Compares one `%y -> values` line; gives the index of the parameter.
    fn compare_tensor(&self, line: &str, args: &[HostArg]) -> Result<usize, String> {
        let parse = || -> Result<(usize, Vec<Literal>), Box<ParseError>> {
            let mut c = Cursor::new(line, "")?;
            let index = param(&mut c, self.function)?;
            if *c.token() != Token::Arrow {
                return Err(c.expected("`->`"));
            }
            c.bump()?;
            let elem = match self.function.params[index].kind {
                ParamKind::View { elem, .. } | ParamKind::Ptr { elem, .. } | ParamKind::Scalar { elem, .. } => elem,
            };
            let values = parse_literals(&mut c, elem)?;
            end(&c)?;
            Ok((index, values))
        };
        let (index, wanted) = parse().map_err(|e| format!("{line}: {}", e.kind))?;
        let name = &self.function.params[index].name;
        let (HostArg::Tensor(t) | HostArg::Ptr(t)) = &args[index] else {
            return Err(format!("%{name} is not a tensor"));
        };
        let found = elements(t);
        if found.len() != wanted.len() {
            return Err(format!("%{name} has {} elements, {} are expected", found.len(), wanted.len()));
        }
        let differs = |(&w, &f): (&Literal, &Literal)| !self.agrees(w, f);
        if let Some(i) = wanted.iter().zip(&found).position(differs) {
            return Err(format!(
                "%{name} differs at element {i}: expected {}, found {}\nall: {}",
                literal_text(t.elem, wanted[i]),
                literal_text(t.elem, found[i]),
                literals_text(t.elem, &found)
            ));
        }
        Ok(index)
    }

    fn agrees(&self, wanted: Literal, found: Literal) -> bool {
        match (wanted, found) {
            (Literal::Float(w), Literal::Float(f)) if w.is_nan() || f.is_nan() => w.is_nan() && f.is_nan(),
            (Literal::Float(w), Literal::Float(f)) if w.is_finite() && f.is_finite() && self.tolerance > 0.0 => {
                (w - f).abs() <= self.tolerance * w.abs().max(1.0)
            }
            _ => wanted == found,
        }
    }
}

/// What stands behind `run`.
#[derive(Default)]
struct Heading {
    grid: Option<[u32; 3]>,
    kernel: Option<String>,
    tolerance: f64,
}

impl Heading {
    fn parse(text: &str) -> Result<Self, Box<ParseError>> {
        let mut c = Cursor::new(text, "")?;
        let mut heading = Self::default();
        while *c.token() != Token::End {
            match c.one_of("part of a run's heading", &["grid", "kernel", "tol"], |s| s)? {
                "grid" => {
                    let grid: Vec<u32> = c.integers("the number of programs")?;
                    let at = |i: usize| grid.get(i).copied().unwrap_or(1);
                    heading.grid = Some([at(0), at(1), at(2)]);
                }
                "kernel" => match c.bump()? {
                    Token::Symbol(name) => heading.kernel = Some(name),
                    _ => return Err(c.expected("a kernel's name")),
                },
                _ => match super::super::value::parse_literal(&mut c, crate::types::ScalarType::F64)? {
                    Literal::Float(v) => heading.tolerance = v,
                    _ => return Err(c.expected("a number")),
                },
            }
        }
        Ok(heading)
    }
}

/// The parameter whose name stands here.
fn param(c: &mut Cursor, function: &Function) -> Result<usize, Box<ParseError>> {
    let found = match c.token() {
        Token::Value(name) => function.params.iter().position(|p: &Param| name.name.as_deref() == Some(&p.name)),
        _ => None,
    };
    let index = found.ok_or_else(|| c.expected("the name of a parameter"))?;
    c.bump()?;
    Ok(index)
}

fn end(c: &Cursor) -> Result<(), Box<ParseError>> {
    if *c.token() == Token::End { Ok(()) } else { Err(c.expected("the end of the line")) }
}
