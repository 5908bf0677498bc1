//! Prints and asserts.

use inkwell::IntPredicate::{NE, ULT};
use tegula_ir::function::{Function, Op, Value};
use tegula_ir::ops::OpKind;
use tegula_ir::types::{Elem, ScalarType};

use super::lowering::{Lowering, Result};
use crate::elementwise::{Conversion, convert};
use crate::emit::{Emitter, Val};

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

    /// Prints a line per program as the interpreter does: the message, each scalar, the elements of each tile in
    /// row-major order. One thread prints, so that the parts of a line come in order; the elements of tiles reach it
    /// through shared memory. Short lines are printed at once, so that those of other programs do not come between.
    pub(super) fn print(&mut self, message: &str, args: &[Value]) -> Result<()> {
        let first = self.first_thread();
        let mut line = Line::default();
        line.text("program (");
        for axis in 0..3u8 {
            let id = self.target.program_id(&self.e, axis);
            line.text(if axis == 0 { "" } else { ", " });
            line.number(&self.e, id);
        }
        line.text(&format!("): {}", message.replace('%', "%%")));
        for &arg in args {
            let ty = self.number(arg);
            line.text(" ");
            let Some((tile, layout)) = self.tile(arg)? else {
                let value = self.scalar(arg);
                self.add_value(&mut line, value, ty, first);
                continue;
            };
            let shape = tile.shape.to_vec();
            let (count, elem) = (tile.count(), Elem::Scalar(ty));
            let registers = self.registers(arg);
            let area = self.exchange_area(count, elem);
            self.exchange_store(area, &registers, &layout, &shape, elem, |this, at| this.row_major(at, &shape));
            self.scratch_written();
            let count = u32::try_from(count).expect("the verifier limits tiles to 2^20 elements");
            line.text("[");
            if ty != ScalarType::Bool && line.args.len() as u32 + count <= MAX_ARGUMENTS {
                for i in 0..count {
                    line.text(if i == 0 { "" } else { ", " });
                    let value = self.load_indexed(area, self.e.i32(i.into()), elem);
                    self.add_value(&mut line, value, ty, first);
                }
            } else {
                self.flush(&mut line, first);
                self.only_if(Some(first), |this| {
                    let this = &*this;
                    let (from, head, exit) = (this.e.current_block(), this.e.block("print"), this.e.block("print.end"));
                    this.e.br(head);
                    this.e.move_to(head);
                    let index = this.e.phi(this.e.int(32).into());
                    let at = index.as_basic_value();
                    let separate = this.e.icmp(NE, at, this.e.i32(0));
                    this.e.if_then(separate, &[], || {
                        this.target.print(&this.e, ", ", &[]);
                        Vec::new()
                    });
                    this.print_value(this.load_indexed(area, at, elem), ty);
                    let next = this.e.add(at, this.e.i32(1));
                    let latch = this.e.current_block();
                    this.e.cond_br(this.e.icmp(ULT, next, this.e.i32(count.into())), head, exit);
                    index.add_incoming(&[(&this.e.i32(0), from), (&next, latch)]);
                    this.e.move_to(exit);
                });
            }
            line.text("]");
        }
        line.text("\n");
        self.flush(&mut line, first);
        Ok(())
    }

    /// Adds a value to a line; truth values, which are words, are printed at once.
    fn add_value(&mut self, line: &mut Line<'c>, value: Val<'c>, ty: ScalarType, first: Val<'c>) {
        if ty == ScalarType::Bool || line.args.len() as u32 >= MAX_ARGUMENTS {
            self.flush(line, first);
        }
        if ty == ScalarType::Bool {
            self.only_if(Some(first), |this| this.print_value(value, ty));
            return;
        }
        let (format, value) = self.printable(value, ty);
        line.format += format;
        line.args.push(value);
    }

    /// Prints what has been gathered.
    fn flush(&mut self, line: &mut Line<'c>, first: Val<'c>) {
        let line = std::mem::take(line);
        if !line.format.is_empty() {
            self.only_if(Some(first), |this| this.target.print(&this.e, &line.format, &line.args));
        }
    }

    /// Prints one value at once.
    fn print_value(&self, value: Val<'c>, ty: ScalarType) {
        let e = &self.e;
        if ty == ScalarType::Bool {
            for (text, cond) in [("true", value), ("false", e.not(value))] {
                e.if_then(cond, &[], || {
                    self.target.print(e, text, &[]);
                    Vec::new()
                });
            }
            return;
        }
        let (format, value) = self.printable(value, ty);
        self.target.print(e, format, &[value]);
    }

    /// The conversion that prints a number, and the value widened for it.
    fn printable(&self, value: Val<'c>, ty: ScalarType) -> (&'static str, Val<'c>) {
        let e = &self.e;
        if ty.is_float() {
            // As many digits as tell all values of the type apart.
            let format = if ty == ScalarType::F64 { "%.17g" } else { "%.9g" };
            let conversion = Conversion::nearest(ty, ScalarType::F64);
            (format, convert::convert(e, self.target, conversion, value))
        } else if ty.is_signed_int() {
            ("%lld", e.sext_or_trunc(value, 64))
        } else {
            ("%llu", e.zext_or_trunc(value, 64))
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

/// Arguments that one print takes.
const MAX_ARGUMENTS: u32 = 24;

/// A part of a line that is printed at once.
#[derive(Default)]
struct Line<'c> {
    format: String,
    args: Vec<Val<'c>>,
}

impl<'c> Line<'c> {
    fn text(&mut self, text: &str) {
        self.format += text;
    }

    /// An unsigned number.
    fn number(&mut self, e: &Emitter<'c, '_>, value: Val<'c>) {
        self.format += "%llu";
        self.args.push(e.zext_or_trunc(value, 64));
    }
}
