//! Inline or not: which tiles are computed where they are used.
//!
//! A tile is inline if computing it again costs next to nothing, or if a single root uses it and each element once.
//! Decided from the last op of a block to the first, so that the uses of a tile are known before the tile.

use std::collections::{HashMap, HashSet};

use tegula_ir::function::{Block, Function, Op, Value};
use tegula_ir::ops::{BinaryOp, OpKind, UnaryOp};
use tegula_ir::types::Type;

use super::index::{is_index_op, is_unit_reshape};
use super::memory::Writes;

/// Operations that may be repeated for each use rather than kept: a load, a conversion, an addition.
const CHEAP: u32 = 3;

/// Which tiles are inline.
pub struct Placement {
    inline: HashSet<Value>,
    writes: Writes,
}

impl Placement {
    /// Decides for each tile of a kernel. Without `fuse` only constants and changes of index are inline.
    pub fn new(func: &Function, fuse: bool) -> Self {
        let writes = Writes::of(func);
        let users = Users::of(func);
        let mut cost = HashMap::new();
        let mut placement = Self { inline: HashSet::new(), writes };
        placement.block(func, func.body, fuse, &users, &mut cost);
        placement
    }

    /// Whether a tile is computed where it is used.
    pub fn is_inline(&self, v: Value) -> bool {
        self.inline.contains(&v)
    }

    /// Makes a tile inline after all: nobody but its own nest reads it.
    pub fn make_inline(&mut self, v: Value) {
        self.inline.insert(v);
    }

    /// Whether a load may be done later than it stands.
    pub fn can_move(&self, func: &Function, load: Op) -> bool {
        self.writes.can_move(func, load)
    }

    fn block(&mut self, func: &Function, block: Block, fuse: bool, users: &Users, cost: &mut HashMap<Value, u32>) {
        let mut uses: HashMap<Value, Uses> = HashMap::new();
        for &op in &func.block(block).ops {
            tree_cost(func, op, cost);
        }
        for &op in func.block(block).ops.iter().rev() {
            let data = func.op(op);
            for &v in &data.results {
                if !matches!(func.ty(v), Type::Tile(_)) {
                    continue;
                }
                let used = self.uses(func, block, v, users, &uses);
                if self.decide(func, op, v, &used, fuse, cost[&v]) {
                    self.inline.insert(v);
                    uses.insert(v, used);
                }
            }
            for nested in data.kind.blocks() {
                self.block(func, nested, fuse, users, cost);
            }
        }
    }

    fn uses(&self, func: &Function, block: Block, v: Value, users: &Users, uses: &HashMap<Value, Uses>) -> Uses {
        let mut all = Uses::default();
        for &(user, at) in users.get(v) {
            if at != block {
                all.elsewhere = true;
                continue;
            }
            let kind = func.kind(user);
            all.needs_buffer |= needs_buffer(func, kind, v);
            all.expanded |= expands(func, kind);
            let results = &func.op(user).results;
            let mut inline_results = results.iter().filter(|r| self.inline.contains(r)).peekable();
            if inline_results.peek().is_none() {
                all.add_root(user);
            }
            for r in inline_results {
                if let Some(u) = uses.get(r) {
                    all.expanded |= u.expanded;
                    all.elsewhere |= u.elsewhere;
                    match u.root {
                        Some(root) => all.add_root(root),
                        None => all.many |= u.many,
                    }
                    all.many |= u.many;
                }
            }
        }
        all
    }

    fn decide(&self, func: &Function, op: Op, v: Value, used: &Uses, fuse: bool, cost: u32) -> bool {
        let kind = func.kind(op);
        // Has no operands in memory: costs nothing anywhere.
        if is_free(kind) {
            return true;
        }
        if used.needs_buffer || used.elsewhere {
            return false;
        }
        match kind {
            OpKind::Load { .. } if !self.writes.can_move(func, op) => return false,
            OpKind::Load { .. } => {}
            OpKind::GatherAxis { .. } => {}
            OpKind::Reshape { x, .. } if matches!(func.ty(*x), Type::Tile(_)) => {}
            OpKind::Split { .. } => {}
            kind if is_index_op(func, kind) || kind.is_elementwise() => {}
            _ => return false,
        }
        let _ = v;
        if is_index_op(func, kind) && !fuse {
            return true;
        }
        fuse && (cost <= CHEAP || (!used.many && !used.expanded))
    }
}

/// Who uses a tile, as far as placing it depends on it.
#[derive(Clone, Default, Debug)]
struct Uses {
    /// The one root that evaluates it.
    root: Option<Op>,
    /// Several roots evaluate it.
    many: bool,
    /// An axis is repeated on the way.
    expanded: bool,
    /// Another block uses it.
    elsewhere: bool,
    /// An op that reads elements in an order of its own uses it.
    needs_buffer: bool,
}

impl Uses {
    fn add_root(&mut self, op: Op) {
        match self.root {
            Some(root) if root != op => self.many = true,
            _ => self.root = Some(op),
        }
    }
}

/// The ops that use each value, with their blocks.
struct Users(HashMap<Value, Vec<(Op, Block)>>);

impl Users {
    fn of(func: &Function) -> Self {
        let mut users: HashMap<Value, Vec<(Op, Block)>> = HashMap::new();
        func.walk(|block, op| {
            func.kind(op).for_each_operand(|v| users.entry(v).or_default().push((op, block)));
        });
        Self(users)
    }

    fn get(&self, v: Value) -> &[(Op, Block)] {
        self.0.get(&v).map_or(&[], Vec::as_slice)
    }
}

/// A constant, a repeated scalar, a count.
fn is_free(kind: &OpKind) -> bool {
    matches!(kind, OpKind::Constant { .. } | OpKind::Arange { .. } | OpKind::Splat { .. })
}

fn expands(func: &Function, kind: &OpKind) -> bool {
    match kind {
        OpKind::Broadcast { x, shape } => func.ty(*x).shape() != Some(shape),
        _ => false,
    }
}

/// Whether `kind` reads its operand `v` in an order of its own.
fn needs_buffer(func: &Function, kind: &OpKind, v: Value) -> bool {
    match kind {
        OpKind::GatherAxis { x, .. } => *x == v,
        OpKind::Reshape { x, shape } => {
            *x == v && !shape.is_empty() && func.ty(*x).shape().is_some_and(|from| !is_unit_reshape(from, shape))
        }
        OpKind::Print { .. } | OpKind::Yield { .. } | OpKind::Condition { .. } => true,
        _ => false,
    }
}

/// Cost of computing one element from what has a place, in simple instructions.
fn tree_cost(func: &Function, op: Op, cost: &mut HashMap<Value, u32>) {
    let data = func.op(op);
    let own = match &data.kind {
        OpKind::Constant { .. } | OpKind::Arange { .. } | OpKind::Splat { .. } => 0,
        OpKind::Load { .. } => 2,
        OpKind::GatherAxis { .. } => 4,
        OpKind::Unary { op, .. } => unary_cost(*op),
        OpKind::Binary { op, .. } => binary_cost(*op),
        OpKind::Cast { to, x, .. } => {
            let fp8 = |t: Option<tegula_ir::ScalarType>| t.is_some_and(tegula_ir::ScalarType::is_fp8);
            if fp8(Some(*to)) || fp8(func.ty(*x).elem_scalar()) { 12 } else { 1 }
        }
        kind if is_index_op(func, kind) => 0,
        OpKind::Reshape { .. } => 2,
        _ => 1,
    };
    let inlineable = matches!(data.kind, OpKind::Load { .. } | OpKind::GatherAxis { .. } | OpKind::Reshape { .. })
        || is_free(&data.kind)
        || data.kind.is_elementwise()
        || is_index_op(func, &data.kind);
    let mut total = own;
    if inlineable {
        data.kind.for_each_operand(|v| {
            if matches!(func.ty(v), Type::Tile(_)) {
                total = total.saturating_add(cost.get(&v).copied().unwrap_or(1));
            }
        });
    }
    for &v in &data.results {
        cost.insert(v, if inlineable { total.min(1 << 16) } else { 1 });
    }
}

fn unary_cost(op: UnaryOp) -> u32 {
    match op {
        UnaryOp::Neg | UnaryOp::Not | UnaryOp::Abs => 1,
        UnaryOp::IsNan | UnaryOp::IsInf | UnaryOp::IsFinite => 1,
        UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Trunc | UnaryOp::RoundEven => 1,
        UnaryOp::Popcount | UnaryOp::Clz | UnaryOp::Ctz | UnaryOp::BitReverse | UnaryOp::Round => 3,
        UnaryOp::Sqrt | UnaryOp::Rsqrt | UnaryOp::Recip => 4,
        _ => 20,
    }
}

fn binary_cost(op: BinaryOp) -> u32 {
    match op {
        BinaryOp::Div => 4,
        BinaryOp::Rem | BinaryOp::FloorDiv | BinaryOp::FloorRem | BinaryOp::Pow | BinaryOp::Atan2 => 20,
        BinaryOp::Min | BinaryOp::Max | BinaryOp::MinNan | BinaryOp::MaxNan => 2,
        _ => 1,
    }
}
