//! `print` and `assert`: ops that call the launcher.

use smallvec::SmallVec;
use tegula_codegen::emit::{MemoryFlags, Val};
use tegula_ir::function::{Op, Value};
use tegula_ir::ops::OpKind;

use super::eval::Coord;
use super::{CallSite, Lowering, Scratch};
use crate::plan::Place;
use crate::plan::buffers::buffer_bytes;
use tegula_artifact::cpu::abi;

impl<'c> Lowering<'_, 'c, '_> {
    /// Passes the address of each argument's elements, in their memory form.
    pub fn print(&mut self, op: Op) {
        let func = self.func;
        let OpKind::Print { args, .. } = func.kind(op) else { unreachable!("a print") };
        let b = self.b.clone();
        let mut scratch = Scratch::default();
        let mut addresses: SmallVec<[Val<'c>; 4]> = SmallVec::new();
        for &v in args {
            let elem = self.elem(v);
            addresses.push(if !self.is_tile(v) {
                let stored = self.pack_element(elem, self.scalar(v));
                b.address_of(b.slot_with(stored))
            } else if self.plan.place(v) == Place::Inline {
                let to = scratch.take(self, buffer_bytes(elem, self.shape(v)));
                let strides = crate::plan::index::strides(self.shape(v));
                self.each_element(&[v], true, |this, site, at, lanes| {
                    let value = this.eval(site, v, at, lanes);
                    let linear = this.linear_index(at, &strides, lanes);
                    this.raw_store(site, to, elem, linear, value);
                });
                to
            } else {
                self.buffer_base(self.buffer_of(v))
            });
        }
        let table = b.address_of(b.slot(b.pointer_array(addresses.len().max(1) as u32)));
        for (i, &address) in addresses.iter().enumerate() {
            b.store(address, b.element(table, b.i64(i as i64), 8), 8, MemoryFlags::default());
        }
        let number = self.site_number(CallSite::Print(op));
        let callee = self.callback(abi::PRINT_OFFSET);
        b.call_pointer(callee, &[self.context, self.program, number, table]);
    }

    /// Leaves the kernel where an element is false.
    pub fn assert(&mut self, op: Op) {
        let func = self.func;
        let OpKind::Assert { cond, .. } = func.kind(op) else { unreachable!("an assert") };
        let b = self.b.clone();
        let ok = if self.is_tile(*cond) {
            let ok = b.slot_with(b.bool(true));
            self.each_element(&[*cond], true, |this, site, at, lanes| {
                let mut holds = this.eval(site, *cond, at, lanes);
                if let Some(active) = site.active {
                    holds = b.or(holds, b.not(active));
                }
                b.set(ok, b.and(b.get(ok), b.all(holds)));
            });
            b.get(ok)
        } else {
            self.scalar(*cond)
        };
        let number = self.site_number(CallSite::Assert(op));
        self.check_or_leave(ok, |this| {
            let element = this.first_false(*cond);
            let callee = this.callback(abi::FAIL_OFFSET);
            this.b.call_pointer(callee, &[this.context, this.program, number, element]);
        });
    }

    /// Row-major position of the first element that is false; -1 for a scalar.
    fn first_false(&mut self, cond: Value) -> Val<'c> {
        let b = self.b.clone();
        let first = b.slot_with(b.i64(-1));
        if self.is_tile(cond) {
            let strides = crate::plan::index::strides(self.shape(cond));
            self.each_element(&[cond], false, |this, site, at, _| {
                let holds = this.eval(site, cond, at, 1);
                let Coord::Affine { base, .. } = this.linear_index(at, &strides, 1) else { unreachable!("one lane") };
                let before = b.get(first);
                let found = b.and(b.not(holds), b.icmp(inkwell::IntPredicate::SLT, before, b.i64(0)));
                b.set(first, b.select(found, base, before));
            });
        }
        b.get(first)
    }
}
