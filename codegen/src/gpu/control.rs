//! Loops and conditionals: blocks and phis. Conditions and bounds are scalars, so all threads go the same way.

use inkwell::IntPredicate::{SLT, UGT, ULT};
use tegula_ir::function::{Block, Op, Value};
use tegula_ir::ops::OpKind;

use super::lowering::{Lowered, Lowering, Result};
use crate::emit::Val;

impl<'c> Lowering<'_, 'c, '_> {
    /// A value in the layout of another's type.
    fn in_type_of(&mut self, value: Value, like: Value) -> Result<Lowered<'c>> {
        match self.layout(like)? {
            Some(layout) => Ok(Lowered::Registers(self.registers_in(value, Some(&layout))?)),
            None => Ok(self.get(value).clone()),
        }
    }

    fn all_in_types_of(&mut self, values: &[Value], like: &[Value]) -> Result<Vec<Lowered<'c>>> {
        values.iter().zip(like).map(|(&value, &like)| self.in_type_of(value, like)).collect()
    }

    /// Phis for values of this form; gives the values and the phis.
    fn phis(&self, first: &[Lowered<'c>]) -> (Vec<Lowered<'c>>, Vec<inkwell::values::PhiValue<'c>>) {
        let mut phis = Vec::new();
        let values = first
            .iter()
            .map(|value| {
                let own: Vec<_> = value.flatten().iter().map(|v| self.e.phi(v.get_type())).collect();
                let rebuilt = value.rebuild(&own.iter().map(|p| p.as_basic_value()).collect::<Vec<_>>());
                phis.extend(own);
                rebuilt
            })
            .collect();
        (values, phis)
    }

    fn add_incoming(
        &self,
        phis: &[inkwell::values::PhiValue<'c>],
        values: &[Lowered<'c>],
        from: inkwell::basic_block::BasicBlock<'c>,
    ) {
        let flat: Vec<Val<'c>> = values.iter().flat_map(Lowered::flatten).collect();
        for (phi, value) in phis.iter().zip(&flat) {
            phi.add_incoming(&[(value, from)]);
        }
    }

    fn set_all(&mut self, values: &[Value], lowered: Vec<Lowered<'c>>) {
        for (&value, lowered) in values.iter().zip(lowered) {
            self.set(value, lowered);
        }
    }

    /// At the head of a loop over `blocks`: what an iteration before leaves behind.
    fn enter_loop(&mut self, blocks: &[Block]) {
        self.shared.set_being_read(true);
        self.expect_accesses_of(blocks);
    }

    pub(super) fn for_loop(&mut self, op: Op) -> Result<()> {
        let f = self.f;
        let OpKind::For { lower, upper, step, init, body, .. } = f.kind(op) else {
            unreachable!("the caller matched a for")
        };
        let results = f.op(op).results.clone();
        let args = f.block(*body).args.clone();
        let signed = self.number(*lower).is_signed_int();
        let (lower, upper, step) = (self.scalar(*lower), self.scalar(*upper), self.scalar(*step));
        let carried_args = &args[1..];
        let first = self.all_in_types_of(init, carried_args)?;
        let (being_read, pending) = (self.shared.being_read(), self.hazards.clone());

        let e = &self.e;
        let (head, exit) = (e.block("for"), e.block("for.end"));
        let any = e.icmp(if signed { SLT } else { ULT }, lower, upper);
        let from = e.current_block();
        e.cond_br(any, head, exit);
        e.move_to(head);
        let induction = e.phi(lower.get_type());
        let (carried, phis) = self.phis(&first);
        self.set(args[0], Lowered::scalar(induction.as_basic_value()));
        self.set_all(carried_args, carried);
        self.enter_loop(&[*body]);
        let yielded = self.block_yielding(*body)?;
        let next = self.all_in_types_of(&yielded, carried_args)?;

        // What is left is at least 1, so neither the difference nor the next index wraps.
        let e = &self.e;
        let left = e.sub(upper, induction.as_basic_value());
        let more = e.icmp(UGT, left, step);
        let next_index = e.add(induction.as_basic_value(), step);
        let latch = e.current_block();
        e.cond_br(more, head, exit);
        induction.add_incoming(&[(&lower, from), (&next_index, latch)]);
        self.add_incoming(&phis, &first, from);
        self.add_incoming(&phis, &next, latch);

        self.e.move_to(exit);
        let (values, phis) = self.phis(&first);
        self.add_incoming(&phis, &first, from);
        self.add_incoming(&phis, &next, latch);
        // The loop may not have run at all.
        self.shared.set_being_read(self.shared.being_read() || being_read);
        self.hazards.join(pending);
        self.set_results(&results, carried_args, values)
    }

    /// Gives results the values of block arguments, in the results' own layouts.
    fn set_results(&mut self, results: &[Value], args: &[Value], values: Vec<Lowered<'c>>) -> Result<()> {
        for ((&result, &arg), lowered) in results.iter().zip(args).zip(values) {
            let lowered = match (self.tile(arg)?, self.layout(result)?, lowered) {
                (Some((tile, from)), Some(to), Lowered::Registers(registers)) => {
                    Lowered::Registers(self.convert_registers(&registers, tile.elem, &from, &to)?)
                }
                (_, _, lowered) => lowered,
            };
            self.set(result, lowered);
        }
        Ok(())
    }

    pub(super) fn while_loop(&mut self, op: Op) -> Result<()> {
        let f = self.f;
        let OpKind::While { init, cond, body } = f.kind(op) else { unreachable!("the caller matched a while") };
        let results = f.op(op).results.clone();
        let (cond_args, body_args) = (f.block(*cond).args.clone(), f.block(*body).args.clone());
        let first = self.all_in_types_of(init, &cond_args)?;

        let (head, inside, exit) = (self.e.block("while"), self.e.block("while.body"), self.e.block("while.end"));
        let from = self.e.current_block();
        self.e.br(head);
        self.e.move_to(head);
        let (carried, phis) = self.phis(&first);
        self.set_all(&cond_args, carried);
        self.enter_loop(&[*cond, *body]);
        self.block(*cond)?;
        let Some(OpKind::Condition { cond: go_on, values }) = f.terminator(*cond).map(|t| f.kind(t)) else {
            return Err(self.invalid("the condition block of a while does not end in `condition`"));
        };
        let passed = self.all_in_types_of(values, &body_args)?;
        let go_on = self.scalar(*go_on);
        self.e.cond_br(go_on, inside, exit);
        let (being_read, pending) = (self.shared.being_read(), self.hazards.clone());

        self.e.move_to(inside);
        self.set_all(&body_args, passed.clone());
        let yielded = self.block_yielding(*body)?;
        let next = self.all_in_types_of(&yielded, &cond_args)?;
        let latch = self.e.current_block();
        self.e.br(head);
        self.add_incoming(&phis, &first, from);
        self.add_incoming(&phis, &next, latch);

        self.e.move_to(exit);
        self.shared.set_being_read(being_read);
        self.hazards = pending;
        self.set_results(&results, &body_args, passed)
    }

    pub(super) fn conditional(&mut self, op: Op) -> Result<()> {
        let f = self.f;
        let OpKind::If { cond, then_block, else_block } = f.kind(op) else { unreachable!("the caller matched an if") };
        let results = f.op(op).results.clone();
        let cond = self.scalar(*cond);
        let (yes, no, end) = (self.e.block("if"), self.e.block("else"), self.e.block("if.end"));
        self.e.cond_br(cond, yes, no);
        let (being_read, pending) = (self.shared.being_read(), self.hazards.clone());

        self.e.move_to(yes);
        let values = self.block_yielding(*then_block)?;
        let yes_values = self.all_in_types_of(&values, &results)?;
        let yes_end = self.e.current_block();
        self.e.br(end);
        let (yes_read, yes_pending) = (self.shared.being_read(), std::mem::replace(&mut self.hazards, pending));

        self.shared.set_being_read(being_read);
        self.e.move_to(no);
        let values = self.block_yielding(*else_block)?;
        let no_values = self.all_in_types_of(&values, &results)?;
        let no_end = self.e.current_block();
        self.e.br(end);

        self.e.move_to(end);
        self.shared.set_being_read(self.shared.being_read() || yes_read);
        self.hazards.join(yes_pending);
        let (merged, phis) = self.phis(&yes_values);
        self.add_incoming(&phis, &yes_values, yes_end);
        self.add_incoming(&phis, &no_values, no_end);
        self.set_all(&results, merged);
        Ok(())
    }

    /// A loop of the lowering's own: `for i in (0..count)`, with `count` at least 1 and carried values.
    pub(super) fn repeat(
        &mut self,
        count: u32,
        init: Vec<Val<'c>>,
        body: impl FnOnce(&mut Self, Val<'c>, &[Val<'c>]) -> Result<Vec<Val<'c>>>,
    ) -> Result<Vec<Val<'c>>> {
        if count == 1 {
            let zero = self.e.i32(0);
            return body(self, zero, &init);
        }
        let (from, head, exit) = (self.e.current_block(), self.e.block("repeat"), self.e.block("repeat.end"));
        self.e.br(head);
        self.e.move_to(head);
        let index = self.e.phi(self.e.int(32).into());
        let phis: Vec<_> = init.iter().map(|v| self.e.phi(v.get_type())).collect();
        let carried: Vec<Val<'c>> = phis.iter().map(|p| p.as_basic_value()).collect();
        let next = body(self, index.as_basic_value(), &carried)?;
        let e = &self.e;
        let latch = e.current_block();
        let next_index = e.add(index.as_basic_value(), e.i32(1));
        let more = e.icmp(ULT, next_index, e.i32(count.into()));
        e.cond_br(more, head, exit);
        index.add_incoming(&[(&e.i32(0), from), (&next_index, latch)]);
        for ((phi, first), value) in phis.iter().zip(&init).zip(&next) {
            phi.add_incoming(&[(first, from), (value, latch)]);
        }
        e.move_to(exit);
        Ok(next)
    }
}
