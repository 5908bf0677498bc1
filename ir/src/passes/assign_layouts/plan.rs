//! Choosing a working layout for every op and every carried value, by propagation from anchors.

use cranelift_entity::SecondaryMap;

use super::anchors::{GlobalAccess, Parts, Threads, conversion_cost, default_layout, dot_layout};
use super::cheap::Cheap;
use crate::analysis::axis_info::AxisInfo;
use crate::function::{Block, Function, Op, Value, ValueDef};
use crate::layout::rules::{self, Carried};
use crate::ops::OpKind;
use crate::types::LayoutRef;

/// What has one working layout: an op, or a value carried by a control op.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Node {
    Op(Op),
    Carried(usize),
}

/// The nodes that take a value, with the number of the operand.
type Users = SecondaryMap<Value, Vec<(Node, usize)>>;

/// Values with layouts.
type Pairs = Vec<(Value, LayoutRef)>;

/// The layouts chosen.
pub(super) struct Plan {
    pub(super) cheap: Cheap,
    pub(super) ops: SecondaryMap<Op, Option<LayoutRef>>,
    pub(super) carried: Vec<(Carried, Option<LayoutRef>)>,
    /// The carried value that a block argument or a control op's result is.
    carried_by: SecondaryMap<Value, Option<usize>>,
}

impl Plan {
    pub(super) fn new(f: &Function, info: &AxisInfo, threads: Threads) -> Self {
        let mut plan = Self {
            cheap: Cheap::compute(f),
            ops: SecondaryMap::new(),
            carried: Vec::new(),
            carried_by: SecondaryMap::new(),
        };
        let mut users = Users::new();
        plan.find_carried(f, &mut users);
        for op in f.ops_in_order() {
            for (index, value) in f.kind(op).operands().into_iter().enumerate() {
                users[value].push((Node::Op(op), index));
            }
        }
        let parts = Parts::of(f);
        for (op, layout) in seeds(f, info, threads, &parts) {
            if plan.ops[op].is_none() {
                plan.spread(f, &users, Node::Op(op), layout);
            }
        }
        plan.spread_defaults(f, &users, threads);
        plan.revise_accesses(f, info, threads, &parts, &users);
        plan
    }

    /// The layout in which a value is made; none for cheap values, which are made in whatever layout is asked for.
    fn layout_of(&self, f: &Function, value: Value) -> Option<LayoutRef> {
        if let Some(carried) = self.carried_by[value] {
            return self.carried[carried].1.clone();
        }
        let ValueDef::Result(op, index) = f.value(value).def else { return None };
        let data = f.op(op);
        let work = self.ops[op].as_ref()?;
        rules::result_layouts(f, &data.kind, &data.results, work)[index as usize].clone()
    }

    fn find_carried(&mut self, f: &Function, users: &mut Users) {
        for op in f.ops_in_order() {
            for carried in rules::carried_values(f, op) {
                if f.ty(carried.defines[0]).tile().is_none() {
                    continue;
                }
                let number = self.carried.len();
                for &value in &carried.defines {
                    self.carried_by[value] = Some(number);
                }
                for value in taken(f, &carried) {
                    users[value].push((Node::Carried(number), 0));
                }
                self.carried.push((carried, None));
            }
        }
    }

    /// Gives a node its layout, and from there every node without one that can share it without moving elements.
    fn spread(&mut self, f: &Function, users: &Users, from: Node, layout: LayoutRef) {
        self.assign(from, layout);
        let mut pending = vec![from];
        while let Some(node) = pending.pop() {
            let (asked, given) = self.neighbours(f, node);
            for (value, layout) in asked {
                if self.cheap.value(f, value) {
                    continue;
                }
                let producer = match (self.carried_by[value], f.value(value).def) {
                    (Some(carried), _) => Some((Node::Carried(carried), Some(layout))),
                    (None, ValueDef::Result(op, index)) => {
                        Some((Node::Op(op), rules::work_for_result(f, f.kind(op), index as usize, &layout)))
                    }
                    _ => None,
                };
                if let Some((producer, Some(work))) = producer
                    && !self.has_layout(producer)
                {
                    self.assign(producer, work);
                    pending.push(producer);
                }
            }
            for (value, layout) in given {
                for &(user, index) in &users[value] {
                    let work = match user {
                        _ if self.has_layout(user) => None,
                        Node::Carried(_) => Some(layout.clone()),
                        Node::Op(op) if self.cheap.op(op) || is_control(f.kind(op)) => None,
                        Node::Op(op) => rules::work_for_operand(f, f.kind(op), index, &layout),
                    };
                    if let Some(work) = work {
                        self.assign(user, work);
                        pending.push(user);
                    }
                }
            }
        }
    }

    /// The layouts that a node asks of the values it takes, and those of the values that it makes.
    fn neighbours(&self, f: &Function, node: Node) -> (Pairs, Pairs) {
        match node {
            Node::Carried(number) => {
                let (carried, layout) = &self.carried[number];
                let layout = layout.as_ref().expect("a visited node has a layout");
                let with = |values: &[Value]| values.iter().map(|&v| (v, layout.clone())).collect::<Pairs>();
                (with(&taken(f, carried)), with(&carried.defines))
            }
            Node::Op(op) => {
                let data = f.op(op);
                let work = self.ops[op].as_ref().expect("a visited node has a layout");
                let pair = |values: &[Value], layouts: rules::Layouts| {
                    let pairs = values.iter().zip(layouts).filter_map(|(&v, layout)| layout.map(|layout| (v, layout)));
                    pairs.collect::<Pairs>()
                };
                let asked = pair(&data.kind.operands(), rules::operand_layouts(f, &data.kind, work));
                (asked, pair(&data.results, rules::result_layouts(f, &data.kind, &data.results, work)))
            }
        }
    }

    fn has_layout(&self, node: Node) -> bool {
        match node {
            Node::Op(op) => self.ops[op].is_some(),
            Node::Carried(number) => self.carried[number].1.is_some(),
        }
    }

    fn assign(&mut self, node: Node, layout: LayoutRef) {
        match node {
            Node::Op(op) => self.ops[op] = Some(layout),
            Node::Carried(number) => self.carried[number].1 = Some(layout),
        }
    }

    /// Gives layouts to what no anchor reached.
    fn spread_defaults(&mut self, f: &Function, users: &Users, threads: Threads) {
        for op in f.ops_in_order() {
            if self.cheap.op(op) || self.ops[op].is_some() || is_control(f.kind(op)) {
                continue;
            }
            if let Some(tile) = rules::working_type(f, op).and_then(|ty| ty.tile()) {
                let layout = self.natural_layout(f, op).unwrap_or_else(|| default_layout(&tile.shape, threads));
                self.spread(f, users, Node::Op(op), layout);
            }
        }
        for number in 0..self.carried.len() {
            let (carried, None) = &self.carried[number] else { continue };
            let shape = f.ty(carried.defines[0]).shape().expect("carried tiles have shapes");
            let layout = default_layout(shape, threads);
            self.spread(f, users, Node::Carried(number), layout);
        }
    }

    /// For ops that take any layout: one in which most of the result stays where the operand has it.
    fn natural_layout(&self, f: &Function, op: Op) -> Option<LayoutRef> {
        let kind = f.kind(op);
        let from = match kind {
            OpKind::Flip { x, .. } | OpKind::ExtractSlice { x, .. } => self.layout_of(f, *x)?,
            OpKind::Cat { parts, .. } => self.layout_of(f, *parts.first()?)?,
            _ => return None,
        };
        let shape = f.ty(f.op(op).results[0]).shape()?;
        let order: Vec<usize> = (0..shape.len()).rev().collect();
        Some(LayoutRef::new(from.fit(shape, &order)))
    }

    /// Lets memory accesses that were reached by a layout serving them badly have their own, where that pays.
    fn revise_accesses(&mut self, f: &Function, info: &AxisInfo, threads: Threads, parts: &Parts, users: &Users) {
        for op in f.ops_in_order() {
            let Some(access) = GlobalAccess::of(f, info, op) else { continue };
            let Some(current) = self.ops[op].clone() else { continue };
            let best = access.best_layout(threads, parts);
            let (now, then) = (access.cost(&current), access.cost(&best));
            let data = f.op(op);
            let moves = |v: &Value| f.ty(*v).tile().is_some() && !self.cheap.value(f, *v);
            let into =
                data.kind.operands().into_iter().filter(moves).map(|v| conversion_cost(f.ty(v), &current, &best));
            let used = |v: &&Value| moves(v) && !users[**v].is_empty();
            let out_of = data.results.iter().filter(used).map(|&v| conversion_cost(f.ty(v), &best, &current));
            let conversions = into.chain(out_of).fold(0, u32::saturating_add);
            if then.saturating_add(conversions) < now {
                self.ops[op] = Some(LayoutRef::new(best));
            }
        }
    }
}

fn is_control(kind: &OpKind) -> bool {
    !kind.blocks().is_empty() && !matches!(kind, OpKind::ReduceWith { .. } | OpKind::ScanWith { .. })
        || kind.is_terminator()
}

/// The values that a carried value comes from.
fn taken(f: &Function, carried: &Carried) -> Vec<Value> {
    carried.takes.iter().map(|&(op, index)| f.kind(op).operands()[index]).collect()
}

/// The anchors with their layouts, the weightiest first.
fn seeds(f: &Function, info: &AxisInfo, threads: Threads, parts: &Parts) -> Vec<(Op, LayoutRef)> {
    let rows_first = f
        .ops_in_order()
        .into_iter()
        .any(|op| matches!(f.kind(op), OpKind::Reduce { .. } | OpKind::ArgReduce { .. } | OpKind::ReduceWith { .. }));
    let mut seeds = Vec::new();
    collect_seeds(f, f.body, 0, &mut |op, depth| {
        let weight = |bytes: u64| bytes << (3 * depth.min(10));
        if let OpKind::Dot { acc, .. } = f.kind(op) {
            let shape = f.ty(*acc).shape().expect("an accumulator is a tile");
            let elements = shape.iter().map(|&extent| u64::from(extent)).product();
            seeds.push((true, weight(elements), op, dot_layout(shape, threads, rows_first)));
        } else if let Some(access) = GlobalAccess::of(f, info, op) {
            seeds.push((false, weight(access.bytes()), op, access.best_layout(threads, parts)));
        }
    });
    // The sort is stable: equal weights stay in program order.
    seeds.sort_by_key(|&(is_dot, weight, ..)| std::cmp::Reverse((is_dot, weight)));
    seeds.into_iter().map(|(_, _, op, layout)| (op, LayoutRef::new(layout))).collect()
}

fn collect_seeds(f: &Function, block: Block, depth: u32, visit: &mut impl FnMut(Op, u32)) {
    for &op in &f.block(block).ops {
        visit(op, depth);
        let inside = depth + u32::from(matches!(f.kind(op), OpKind::For { .. } | OpKind::While { .. }));
        for nested in f.kind(op).blocks() {
            collect_seeds(f, nested, inside, visit);
        }
    }
}
