//! Prints and asserts.

use tegula_ir::function::{Function, Op, Value};
use tegula_ir::interp::{VALUES_PER_LINE, significant_digits};
use tegula_ir::ops::OpKind;
use tegula_ir::types::{Elem, ScalarType};

use super::lowering::{Lowering, Result};
use crate::elementwise::{Conversion, convert};
use crate::emit::Val;

impl<'c> Lowering<'_, 'c, '_> {
    /// Stops the kernel where a condition does not hold in an element of the tile.
    pub(super) fn assert(&mut self, cond: Value, message: &str) -> Result<()> {
        let location = self.location();
        let registers = self.registers(cond);
        let holds = match self.tile(cond)? {
            None => registers[0],
            Some((tile, layout)) => {
                let spread = self.spread(&layout);
                let e = &self.e;
                (0..spread.registers()).fold(e.bool(true), |all, r| {
                    let holds = registers[r as usize];
                    let holds = match self.in_tile(&spread, r, &tile.shape) {
                        None => holds,
                        Some(valid) => e.or(holds, e.not(valid)),
                    };
                    e.and(all, holds)
                })
            }
        };
        let fails = self.e.not(holds);
        self.only_if(Some(fails), |this| this.target.fail(&this.e, message, &location));
        Ok(())
    }

    /// Prints what the interpreter prints. One thread does; the elements of tiles reach it through shared memory. A line is
    /// one record of the driver's, so that the lines of programs that run at once do not mix.
    pub(super) fn print(&mut self, message: &str, args: &[Value]) -> Result<()> {
        let first = self.first_thread();
        let program = [0, 1, 2].map(|axis| self.e.zext_or_trunc(self.target.program_id(&self.e, axis), 64));
        let mut line = Line::of(program);
        line.format += &message.replace('%', "%%");
        line.begun = true;
        for &arg in args {
            let ty = self.number(arg);
            let Some((tile, layout)) = self.tile(arg)? else {
                let value = self.scalar(arg);
                self.separate(&mut line, "", first);
                self.add_value(&mut line, value, ty);
                continue;
            };
            let shape = tile.shape.to_vec();
            let (count, elem) = (tile.count(), Elem::Scalar(ty));
            let registers = self.registers(arg);
            let area = self.exchange_area(count, elem);
            self.exchange_store(area, &registers, &layout, &shape, elem, |this, at| this.row_major(at, &shape));
            self.scratch_written();
            self.separate(&mut line, "", first);
            line.format += "[";
            let count = u32::try_from(count).expect("the verifier limits tiles to 2^20 elements");
            let add = |this: &mut Self, line: &mut Line<'c>, at: Val<'c>| {
                let value = this.load_indexed(area, at, elem);
                this.add_value(line, value, ty);
            };
            let here = count.min(PER_LINE - line.values);
            for i in 0..here {
                if i > 0 {
                    self.separate(&mut line, ",", first);
                }
                let at = self.e.i32(i.into());
                add(self, &mut line, at);
            }
            // Lines in the middle of a long tile are printed in a loop.
            let middle = (count - here).saturating_sub(1) / PER_LINE;
            if middle > 0 {
                line.format += ",";
                self.end_line(&mut line, first);
                let mut printed = Ok(Vec::new());
                self.only_if(Some(first), |this| {
                    printed = this.repeat(middle, Vec::new(), |this, number, _| {
                        let start =
                            this.e.add(this.e.mul(number, this.e.i32(PER_LINE.into())), this.e.i32(here.into()));
                        let mut line = Line::of(program);
                        for i in 0..PER_LINE {
                            line.format += if i == 0 { "" } else { ", " };
                            let at = this.e.add(start, this.e.i32(i.into()));
                            add(this, &mut line, at);
                        }
                        line.format += ",\n";
                        this.target.print(&this.e, &line.format, &line.args);
                        Ok(Vec::new())
                    });
                });
                printed?;
            }
            for i in here + middle * PER_LINE..count {
                if line.begun {
                    self.separate(&mut line, ",", first);
                }
                let at = self.e.i32(i.into());
                add(self, &mut line, at);
            }
            line.format += "]";
        }
        self.end_line(&mut line, first);
        Ok(())
    }

    /// Makes room for a value: on the line, or on a new one where it is full.
    fn separate(&mut self, line: &mut Line<'c>, separator: &str, first: Val<'c>) {
        line.format += separator;
        if line.values == PER_LINE {
            self.end_line(line, first);
        } else {
            line.format += " ";
        }
    }

    /// Prints the line, and begins another one.
    fn end_line(&mut self, line: &mut Line<'c>, first: Val<'c>) {
        line.format += "\n";
        let ended = std::mem::replace(line, Line::of(line.program));
        self.only_if(Some(first), |this| this.target.print(&this.e, &ended.format, &ended.args));
    }

    fn add_value(&self, line: &mut Line<'c>, value: Val<'c>, ty: ScalarType) {
        let (format, value) = self.printable(value, ty);
        line.format += &format;
        line.args.push(value);
        line.values += 1;
        line.begun = true;
    }

    /// The conversion that prints a value, and the value widened for it.
    fn printable(&self, value: Val<'c>, ty: ScalarType) -> (String, Val<'c>) {
        let e = &self.e;
        if ty == ScalarType::Bool {
            ("%s".to_owned(), self.target.truth_text(e, value))
        } else if ty.is_float() {
            let conversion = Conversion::nearest(ty, ScalarType::F64);
            (format!("%.{}g", significant_digits(ty)), convert::convert(e, self.target, conversion, value))
        } else if ty.is_signed_int() {
            ("%lld".to_owned(), e.sext_or_trunc(value, 64))
        } else {
            ("%llu".to_owned(), e.zext_or_trunc(value, 64))
        }
    }
}

/// What a kernel prints when an assertion fails, on targets whose drivers have no form of their own.
pub fn assertion_text(message: &str, location: &str) -> String {
    format!("{location}: assertion failed: {message}\n")
}

/// The assertion of `function` that failed, by what the kernel printed before it stopped: as [`assertion_text`] has it, or
/// as CUDA's driver does.
pub fn failed_assertion(function: &Function, printed: &str) -> Option<Op> {
    let mut found = None;
    function.walk(|_, op| {
        let OpKind::Assert { message, .. } = function.kind(op) else { return };
        let at = function.locs.get(function.op(op).loc);
        let ours = assertion_text(message, &at.to_string());
        let start = format!("{}:{}: ", at.file, at.line);
        let end = format!("Assertion `{message}` failed.");
        let is_cuda = || printed.lines().any(|line| line.starts_with(&start) && line.ends_with(&end));
        if found.is_none() && (printed.contains(&ours) || is_cuda()) {
            found = Some(op);
        }
    });
    found
}

const PER_LINE: u32 = VALUES_PER_LINE as u32;

/// A line that is being gathered.
struct Line<'c> {
    /// The program's coordinates, which every line begins with.
    program: [Val<'c>; 3],
    format: String,
    args: Vec<Val<'c>>,
    /// How many values of the user's it has.
    values: u32,
    /// Whether something follows the coordinates.
    begun: bool,
}

impl<'c> Line<'c> {
    fn of(program: [Val<'c>; 3]) -> Self {
        let format = "program (%llu, %llu, %llu): ".to_owned();
        Self { program, format, args: program.to_vec(), values: 0, begun: false }
    }
}
