//! Blocks, visibility of values, and each op by itself.

use cranelift_entity::{EntitySet, SecondaryMap};

use super::Verifier;
use crate::diag::Diagnostic;
use crate::function::{Block, MAX_NESTING, Op, ParamKind, Value, ValueDef, ViewAccess};
use crate::layout::Space;
use crate::ops::infer::{check_type, result_types};
use crate::ops::{Address, AxisSet, OpKind};
use crate::types::{TileType, Type};

/// What is known while the body is walked.
pub(super) struct Walk {
    blocks: EntitySet<Block>,
    ops: EntitySet<Op>,
    /// The values that can be used here.
    visible: EntitySet<Value>,
    /// How the op that defines each value stands: whether its definition has been passed.
    defined: SecondaryMap<Value, bool>,
    /// Whether the walk is inside the function that a `reduce_with` or `scan_with` combines with.
    combining: Option<&'static str>,
    /// Blocks around this place.
    depth: usize,
}

/// The terminator that a block needs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Return,
    Yield,
    Condition,
}

impl Ending {
    fn name(self) -> &'static str {
        match self {
            Ending::Return => "return",
            Ending::Yield => "yield",
            Ending::Condition => "condition",
        }
    }

    fn fits(self, kind: &OpKind) -> bool {
        match self {
            Ending::Return => matches!(kind, OpKind::Return),
            Ending::Yield => matches!(kind, OpKind::Yield { .. }),
            Ending::Condition => matches!(kind, OpKind::Condition { .. }),
        }
    }
}

impl Verifier<'_> {
    pub(super) fn body(&mut self) {
        let f = self.f;
        let mut walk = Walk {
            blocks: EntitySet::new(),
            ops: EntitySet::new(),
            visible: EntitySet::new(),
            defined: SecondaryMap::new(),
            combining: None,
            depth: 0,
        };
        for p in &f.params {
            walk.define(p.value);
        }
        if !f.block(f.body).args.is_empty() {
            self.error_at(f.loc, "the body of a kernel has no arguments of its own");
        }
        self.block(&mut walk, f.body, Ending::Return, None);
    }

    /// Checks a block and everything nested in it. `owner` is the op that it belongs to.
    fn block(&mut self, walk: &mut Walk, block: Block, ending: Ending, owner: Option<Op>) {
        let f = self.f;
        let loc = owner.map_or(f.loc, |op| f.op(op).loc);
        if block.as_u32() as usize >= f.num_blocks() {
            return self.error_at(loc, format!("{block} does not exist"));
        }
        if !walk.blocks.insert(block) {
            return self.error_at(loc, format!("{block} belongs to two ops"));
        }
        if walk.depth == MAX_NESTING {
            let error = Diagnostic::error(format!("blocks are nested more than {MAX_NESTING} deep"));
            let help = "an early `return`, `break` or `continue` nests what follows it: join conditions with `||`";
            return self.errors.push(error.at(f.locs.get(loc)).help(help));
        }
        walk.depth += 1;
        let mut here = Vec::new();
        for (i, &arg) in f.block(block).args.iter().enumerate() {
            if arg.as_u32() as usize >= f.num_values() {
                self.error_at(loc, format!("argument {i} of {block} does not exist"));
                continue;
            }
            if f.value(arg).def != ValueDef::Arg(block, i as u32) {
                self.error_at(loc, format!("argument {i} of {block} is defined as {:?}", f.value(arg).def));
            }
            self.value_type(owner, arg);
            walk.define(arg);
            here.push(arg);
        }
        let ops = &f.block(block).ops;
        for (i, &op) in ops.iter().enumerate() {
            if op.as_u32() as usize >= f.num_ops() {
                self.error_at(loc, format!("{op} does not exist"));
                continue;
            }
            if !walk.ops.insert(op) {
                self.error(op, format!("{} stands in two places", f.kind(op).mnemonic()));
                continue;
            }
            let last = i + 1 == ops.len();
            if f.kind(op).is_terminator() && !last {
                self.error(op, format!("{} must be the last op of its block", f.kind(op).mnemonic()));
            }
            self.op(walk, op);
            for &result in &f.op(op).results {
                walk.define(result);
                here.push(result);
            }
        }
        match ops.last().filter(|op| (op.as_u32() as usize) < f.num_ops()) {
            Some(&last) if ending.fits(f.kind(last)) => {}
            Some(&last) if f.kind(last).is_terminator() => {
                let message = format!("this block must end in {}, not {}", ending.name(), f.kind(last).mnemonic());
                self.error(last, message);
            }
            Some(&last) => self.error(last, format!("this block must end in {}", ending.name())),
            None => self.error_at(loc, format!("a block is empty; it must end in {}", ending.name())),
        }
        for value in here {
            walk.visible.remove(value);
        }
        walk.depth -= 1;
    }

    /// Checks an op and its nested blocks.
    fn op(&mut self, walk: &mut Walk, op: Op) {
        let f = self.f;
        let kind = f.kind(op);
        let before = self.errors.len();
        kind.for_each_operand(|v| self.operand(walk, op, v));
        for (i, &result) in f.op(op).results.iter().enumerate() {
            if result.as_u32() as usize >= f.num_values() {
                self.error(op, format!("result {i} does not exist"));
            } else if f.value(result).def != ValueDef::Result(op, i as u32) {
                self.error(op, format!("result {i} is defined as {:?}", f.value(result).def));
            } else {
                self.value_type(Some(op), result);
            }
        }
        if self.errors.len() > before {
            // The checks below look through operands and results.
            return;
        }
        self.combining(walk, op);
        let outer = walk.combining;
        match kind {
            OpKind::While { cond, body, .. } => {
                self.block(walk, *cond, Ending::Condition, Some(op));
                self.block(walk, *body, Ending::Yield, Some(op));
            }
            _ => {
                if matches!(kind, OpKind::ReduceWith { .. } | OpKind::ScanWith { .. }) {
                    walk.combining = Some(kind.mnemonic());
                }
                for block in kind.blocks() {
                    self.block(walk, block, Ending::Yield, Some(op));
                }
            }
        }
        walk.combining = outer;
        if self.errors.len() > before {
            // What follows takes the nested blocks to be well formed.
            return;
        }
        self.result_types(op);
        self.regions(op);
        self.memory_access(op);
    }

    fn operand(&mut self, walk: &Walk, op: Op, value: Value) {
        let mnemonic = self.f.kind(op).mnemonic();
        if value.as_u32() as usize >= self.f.num_values() {
            self.error(op, format!("{mnemonic} uses {value}, which does not exist"));
        } else if !walk.visible.contains(value) {
            let name = self.value_text(value);
            let message = if walk.defined[value] {
                format!("{mnemonic} uses {name}, whose block has ended")
            } else {
                format!("{mnemonic} uses {name}, which is not defined before it")
            };
            self.error(op, message);
        }
    }

    /// A value for messages.
    fn value_text(&self, value: Value) -> String {
        match &self.f.value(value).name {
            Some(name) => format!("%{name} ({value})"),
            None => value.to_string(),
        }
    }

    /// Checks the type of a value by itself.
    fn value_type(&mut self, at: Option<Op>, value: Value) {
        let f = self.f;
        let loc = at.map_or(f.loc, |op| f.op(op).loc);
        let ty = f.ty(value);
        if let Err(e) = check_type(ty) {
            return self.error_at(loc, e.message);
        }
        if let Type::Tile(TileType { shape, layout: Some(layout), .. }) = ty {
            if *layout.outs() != Space::of_shape(shape) {
                self.error_at(loc, format!("{ty} has a layout of another shape: {layout}"));
            } else if !layout.is_surjective() {
                self.error_at(loc, format!("the layout of {ty} does not reach every element: {layout}"));
            }
        }
    }

    /// Holds the recorded types of the results against those that follow from the operands.
    fn result_types(&mut self, op: Op) {
        let f = self.f;
        let mnemonic = f.kind(op).mnemonic();
        let types = match result_types(f, f.kind(op)) {
            Ok(types) => types,
            Err(e) => {
                return match e.help {
                    Some(help) => self.error_help(op, e.message, help),
                    None => self.error(op, e.message),
                };
            }
        };
        let results = &f.op(op).results;
        if results.len() != types.len() {
            return self.error(
                op,
                format!("{mnemonic} gives {} values, but {} results are recorded", types.len(), results.len()),
            );
        }
        for (&result, ty) in results.iter().zip(&types) {
            let recorded = f.ty(result);
            if recorded.without_layout() != ty.without_layout() {
                self.error(op, format!("{mnemonic} gives {ty}, but its result is recorded as {recorded}"));
            }
            if let OpKind::ConvertLayout { layout, .. } = f.kind(op)
                && recorded.layout() != Some(layout)
            {
                self.error(op, "convert_layout's result has another layout than it asks for");
            }
        }
    }

    /// Whether an op may stand in a combining function.
    fn combining(&mut self, walk: &Walk, op: Op) {
        let f = self.f;
        let Some(outer) = walk.combining else { return };
        let kind = f.kind(op);
        let mnemonic = kind.mnemonic();
        let effects = kind.has_side_effects() && !kind.is_terminator();
        if effects || kind.reads_memory() {
            return self.error(
                op,
                format!("{mnemonic} cannot stand in the function of a {outer}: it touches memory or has effects"),
            );
        }
        if !kind.blocks().is_empty() {
            let message = format!("{mnemonic} cannot stand in the function of a {outer}");
            return self.error_help(op, message, "compute both sides and choose with select");
        }
        let mut tile = None;
        kind.for_each_operand(|v| tile = tile.or(Some(v).filter(|&v| !matches!(f.ty(v), Type::Scalar(_)))));
        tile = tile.or(f.op(op).results.iter().copied().find(|&v| !matches!(f.ty(v), Type::Scalar(_))));
        if let Some(v) = tile {
            self.error(op, format!("the function of a {outer} works on scalars, found {}", f.ty(v)));
        }
    }

    /// Checks what a memory op says and does about its view.
    fn memory_access(&mut self, op: Op) {
        let f = self.f;
        let (addr, reads, writes) = match f.kind(op) {
            OpKind::Load { addr, .. } => (addr, true, false),
            OpKind::Store { addr, .. } => (addr, false, true),
            OpKind::AtomicRmw { addr, .. } | OpKind::AtomicCas { addr, .. } => (addr, true, true),
            _ => return,
        };
        let (Address::Tile { view, in_bounds, .. } | Address::Gather { view, in_bounds, .. }) = addr else { return };
        if let Type::View { rank, .. } = f.ty(*view)
            && in_bounds.0 & !AxisSet::all(usize::from(*rank)).0 != 0
        {
            self.error(op, format!("in_bounds names an axis that the view of rank {rank} does not have"));
        }
        let ValueDef::Param(index) = f.value(*view).def else { return };
        let Some(p) = f.params.get(index as usize) else { return };
        let ParamKind::View { access, .. } = &p.kind else { return };
        let mnemonic = f.kind(op).mnemonic();
        match access {
            ViewAccess::Read if writes => {
                let message = format!("{mnemonic} writes the tensor {}, which is only read", p.name);
                self.error_help(op, message, "take it as a writable tensor");
            }
            ViewAccess::Write if reads => {
                let message = format!("{mnemonic} reads the tensor {}, which is only written", p.name);
                self.error_help(op, message, "take it as a tensor that is read and written");
            }
            _ => {}
        }
    }
}

impl Walk {
    fn define(&mut self, value: Value) {
        self.visible.insert(value);
        self.defined[value] = true;
    }
}
