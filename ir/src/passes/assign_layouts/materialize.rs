//! Writing the chosen layouts into the function: types, conversions, and copies of cheap producers.

use std::collections::HashMap;

use cranelift_entity::SecondaryMap;

use super::anchors::{Threads, default_layout};
use super::plan::Plan;
use crate::function::{Block, Function, Op, Value, ValueDef};
use crate::layout::rules;
use crate::ops::OpKind;
use crate::types::{LayoutRef, ScalarType};

/// Lays the function out; gives the number of conversions inserted.
pub(super) fn run(f: &mut Function, plan: Plan, threads: Threads) -> u64 {
    let ops = f.ops_in_order();
    let originals = ops.iter().map(|&op| (op, f.kind(op).clone())).collect();
    let mut writer = Writer {
        f,
        originals,
        plan,
        threads,
        forms: HashMap::new(),
        after: SecondaryMap::new(),
        at_start: SecondaryMap::new(),
        conversions: 0,
    };
    writer.write_types(&ops);
    for &op in &ops {
        writer.write_operands(op);
    }
    writer.write_carried();
    writer.place();
    writer.conversions
}

struct Writer<'f> {
    f: &'f mut Function,
    /// The ops as they were: copies are made of these, not of what already takes forms of its operands.
    originals: HashMap<Op, OpKind>,
    plan: Plan,
    threads: Threads,
    /// Values in further layouts than the one they are made in.
    forms: HashMap<(Value, LayoutRef), Value>,
    /// New ops to stand right after an op.
    after: SecondaryMap<Op, Vec<Op>>,
    /// New ops to stand at the start of a block.
    at_start: SecondaryMap<Block, Vec<Op>>,
    conversions: u64,
}

impl Writer<'_> {
    /// Gives layouts to the types of all values but the cheap ones.
    fn write_types(&mut self, ops: &[Op]) {
        for &op in ops {
            self.write_results(op);
        }
        for number in 0..self.plan.carried.len() {
            let (carried, layout) = &self.plan.carried[number];
            let layout = layout.as_ref().expect("every carried tile has a layout");
            for &value in &carried.defines {
                self.f.value_mut(value).ty = self.f.ty(value).with_layout(layout.clone());
            }
        }
    }

    fn write_results(&mut self, op: Op) {
        let Some(work) = &self.plan.ops[op] else { return };
        let data = self.f.op(op);
        let results = data.results.clone();
        let layouts = rules::result_layouts(self.f, &data.kind, &results, work);
        for (value, layout) in results.into_iter().zip(layouts) {
            if let Some(layout) = layout {
                self.f.value_mut(value).ty = self.f.ty(value).with_layout(layout);
            }
        }
    }

    /// Brings the operands of an op to the layouts that it asks for.
    fn write_operands(&mut self, op: Op) {
        // Cheap ops are written when somebody asks for them.
        if !self.plan.cheap.op(op) {
            let kind = self.operands_for(self.f.kind(op).clone(), self.plan.ops[op].clone());
            self.f.op_mut(op).kind = kind;
        }
    }

    /// The op with operands in the layouts that it asks for when it works in `work`.
    fn operands_for(&mut self, mut kind: OpKind, work: Option<LayoutRef>) -> OpKind {
        let operands = kind.operands();
        let asked = match &work {
            Some(work) => rules::operand_layouts(self.f, &kind, work),
            None => smallvec::smallvec![None; operands.len()],
        };
        let carries = !kind.blocks().is_empty() || kind.is_terminator();
        let mut brought = operands.iter().zip(asked).map(|(&value, asked)| match asked {
            Some(layout) => self.form(value, &layout),
            // What is carried is seen to with its carrier.
            None if carries && work.is_none() => value,
            None => self.any_form(value),
        });
        let brought: Vec<Value> = brought.by_ref().collect();
        let mut next = brought.into_iter();
        kind.for_each_operand_mut(|value| *value = next.next().expect("as many operands as before"));
        kind
    }

    fn write_carried(&mut self) {
        for number in 0..self.plan.carried.len() {
            let (carried, layout) = self.plan.carried[number].clone();
            let layout = layout.expect("every carried tile has a layout");
            for (op, index) in carried.takes {
                let value = self.f.kind(op).operands()[index];
                let form = self.form(value, &layout);
                let mut position = 0;
                self.f.op_mut(op).kind.for_each_operand_mut(|operand| {
                    if position == index {
                        *operand = form;
                    }
                    position += 1;
                });
            }
        }
    }

    /// The value in whatever layout it has, or gets.
    fn any_form(&mut self, value: Value) -> Value {
        let Some(tile) = self.f.ty(value).tile() else { return value };
        if tile.layout.is_some() {
            return value;
        }
        let layout = default_layout(&tile.shape.clone(), self.threads);
        self.form(value, &layout)
    }

    /// The value in this layout.
    fn form(&mut self, value: Value, layout: &LayoutRef) -> Value {
        if self.f.ty(value).layout() == Some(layout) {
            return value;
        }
        if let Some(&form) = self.forms.get(&(value, layout.clone())) {
            return form;
        }
        let form = match self.f.value(value).def {
            ValueDef::Result(op, _) if self.plan.cheap.op(op) => self.cheap_form(op, value, layout),
            // The narrower operand is cheaper to move.
            ValueDef::Result(op, _) if self.widens(op) => self.copy_with(op, layout),
            _ => self.convert(value, layout),
        };
        self.forms.insert((value, layout.clone()), form);
        form
    }

    /// A cheap value in this layout: itself if it has none yet, else computed again.
    fn cheap_form(&mut self, op: Op, value: Value, layout: &LayoutRef) -> Value {
        let kind = self.originals[&op].clone();
        let Some(work) = rules::work_for_result(self.f, &kind, 0, layout) else {
            // No working layout gives the result this one: make it in another, and convert.
            let made = self.any_form(value);
            return self.convert(made, layout);
        };
        if self.f.ty(value).layout().is_some() {
            return self.copy_with(op, layout);
        }
        self.f.value_mut(value).ty = self.f.ty(value).with_layout(layout.clone());
        let kind = self.operands_for(kind, Some(work.clone()));
        self.plan.ops[op] = Some(work);
        self.f.op_mut(op).kind = kind;
        value
    }

    /// A copy of an op with one result, right after it, that gives the result in this layout.
    fn copy_with(&mut self, op: Op, layout: &LayoutRef) -> Value {
        let kind = self.originals[&op].clone();
        let work = rules::work_for_result(self.f, &kind, 0, layout).expect("the caller asked for a layout it can give");
        let kind = self.operands_for(kind, Some(work));
        let data = self.f.op(op);
        let (result, loc) = (data.results[0], data.loc);
        let ty = self.f.ty(result).with_layout(layout.clone());
        let name = self.f.value(result).name.clone();
        let copy = self.f.make_op(kind, [ty], loc);
        self.after[op].push(copy);
        let form = self.f.result(copy);
        self.f.value_mut(form).name = name;
        form
    }

    /// Whether the op is a cast to more bits, so that converting its operand moves less.
    fn widens(&self, op: Op) -> bool {
        let OpKind::Cast { x, to, .. } = self.f.kind(op) else { return false };
        self.f.ty(*x).elem_scalar().is_some_and(|from| from.bits() < to.bits() && from != ScalarType::Bool)
    }

    fn convert(&mut self, value: Value, layout: &LayoutRef) -> Value {
        let data = self.f.value(value);
        let (ty, name, def) = (data.ty.with_layout(layout.clone()), data.name.clone(), data.def);
        let loc = match def {
            ValueDef::Result(op, _) => self.f.op(op).loc,
            _ => self.f.loc,
        };
        let op = self.f.make_op(OpKind::ConvertLayout { x: value, layout: layout.clone() }, [ty], loc);
        match def {
            ValueDef::Result(def, _) => self.after[def].push(op),
            ValueDef::Arg(block, _) => self.at_start[block].push(op),
            ValueDef::Param(_) => unreachable!("parameters are not tiles"),
        }
        self.conversions += 1;
        let form = self.f.result(op);
        self.f.value_mut(form).name = name;
        form
    }

    /// Puts the new ops in their places, and drops cheap ops that nobody asked for.
    fn place(&mut self) {
        for index in 0..self.f.num_blocks() {
            let block = Block::from_u32(index as u32);
            let mut ops = std::mem::take(&mut self.at_start[block]);
            for op in std::mem::take(&mut self.f.block_mut(block).ops) {
                if self.plan.cheap.op(op) && self.plan.ops[op].is_none() {
                    continue;
                }
                ops.push(op);
                ops.append(&mut self.after[op]);
            }
            self.f.block_mut(block).ops = ops;
        }
    }
}
