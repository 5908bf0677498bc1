//! Prints and asserts.

use tegula_ir::function::Value;
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

    /// Prints a line: the message, then each scalar, or the elements of each tile in row-major order. One thread prints,
    /// so that the parts of a line come in order; the elements of tiles reach it through shared memory.
    pub(super) fn print(&mut self, message: &str, args: &[Value]) -> Result<()> {
        let first = self.first_thread();
        let text = message.replace('%', "%%");
        self.only_if(Some(first), |this| this.target.print(&this.e, &text, &[]));
        for &arg in args {
            let ty = self.number(arg);
            let Some((tile, layout)) = self.tile(arg)? else {
                let value = self.scalar(arg);
                self.only_if(Some(first), |this| this.print_value(" ", value, ty));
                continue;
            };
            let shape = tile.shape.to_vec();
            let (count, elem) = (tile.count(), Elem::Scalar(ty));
            let registers = self.registers(arg);
            let area = self.exchange_area(count, elem);
            self.exchange_store(area, &registers, &layout, &shape, elem, |this, at| this.row_major(at, &shape));
            self.scratch_written();
            self.only_if(Some(first), |this| {
                let count = u32::try_from(count).expect("the verifier limits tiles to 2^20 elements");
                this.target.print(&this.e, " [", &[]);
                let this = &*this;
                this.e.count_loop(0, count, 1, &[], |index, _| {
                    let value = this.load_indexed(area, index, elem);
                    this.print_value(" ", value, ty);
                    Vec::new()
                });
                this.target.print(&this.e, " ]", &[]);
            });
        }
        self.only_if(Some(first), |this| this.target.print(&this.e, "\n", &[]));
        Ok(())
    }

    fn print_value(&self, before: &str, value: Val<'c>, ty: ScalarType) {
        let e = &self.e;
        let (format, value) = if ty.is_float() {
            let conversion = Conversion::nearest(ty, ScalarType::F64);
            ("%g", convert::convert(e, self.target, conversion, value))
        } else if ty.is_signed_int() {
            ("%lld", e.sext_or_trunc(value, 64))
        } else {
            ("%llu", e.zext_or_trunc(value, 64))
        };
        self.target.print(e, &format!("{before}{format}"), &[value]);
    }
}
