//! Lifetimes, sharing and offsets of buffers.
//!
//! Steps are numbered in program order. A buffer lives from the step that first writes it to the last that reads it; a
//! read inside a loop of what was made before the loop counts as a read at the loop's end. Carried values of a loop and
//! what becomes their next value share a buffer where one may be written while the other is read for the last time, so
//! that an accumulator stays in place.

use std::collections::{HashMap, HashSet};

use tegula_ir::function::{Block, Function, Op, Value, ValueDef};
use tegula_ir::ops::OpKind;
use tegula_ir::types::{Elem, Shape, Type};

use super::group::makes;
use super::index::SymCoord;
use super::place::Placement;
use super::reads::{Reads, shape_of};
use super::{Buffer, BufferId, Group, Place, Plan, Root, Step};

/// Bytes after each buffer that a vector access at its end may touch.
const SLACK: u64 = 256;

/// Gives every tile its place.
pub fn assign(func: &Function, mut placement: Placement, mut steps: HashMap<Block, Vec<Step>>) -> Plan {
    inline_private_tiles(func, &mut placement, &mut steps);
    let inline = |v: Value| placement.is_inline(v);
    let mut live = Lifetimes::new(func, &inline, &steps);
    live.block(func.body);
    live.share(&steps);
    let (places, buffers, arena_bytes) = live.finish();
    Plan { places, buffers, steps, arena_bytes }
}

/// A tile that only its own nest reads, element by element, needs no memory.
fn inline_private_tiles(func: &Function, placement: &mut Placement, steps: &mut HashMap<Block, Vec<Step>>) {
    let mut readers: HashMap<Value, Vec<(Block, usize, usize, bool)>> = HashMap::new();
    {
        let inline = |v: Value| placement.is_inline(v);
        for (&block, list) in &*steps {
            for (s, step) in list.iter().enumerate() {
                let mut note = |n: usize, reads: Reads, domain: Option<&Shape>| {
                    for (v, at) in reads.tiles {
                        let own = domain.is_some_and(|d| is_identity(&shape_of(func, v), d, &at));
                        readers.entry(v).or_default().push((block, s, n, own));
                    }
                };
                match step {
                    Step::Op(op) => note(0, Reads::of_op(func, &inline, *op), None),
                    Step::Group(g) => {
                        for (n, nest) in g.nests.iter().enumerate() {
                            note(n, Reads::of_nest(func, &inline, nest), Some(&nest.domain));
                        }
                    }
                }
            }
        }
    }
    for (&block, list) in &mut *steps {
        for (s, step) in list.iter_mut().enumerate() {
            let Step::Group(g) = step else { continue };
            for (n, nest) in g.nests.iter_mut().enumerate() {
                let alone = nest.roots.len() == 1;
                nest.roots.retain(|&root| {
                    let Root::Tile(v) = root else { return true };
                    let fixed = func.def_op(v).is_some_and(|op| {
                        matches!(func.kind(op), OpKind::Load { .. }) && !placement.can_move(func, op)
                    });
                    let private = !alone
                        && !fixed
                        && readers.get(&v).is_some_and(|r| r.iter().all(|&r| r == (block, s, n, true)));
                    if private {
                        placement.make_inline(v);
                    }
                    !private
                });
            }
        }
    }
}

fn is_identity(shape: &Shape, domain: &Shape, at: &[SymCoord]) -> bool {
    shape == domain && at.iter().enumerate().all(|(i, c)| *c == SymCoord::Axis(i as u8) || domain[i] == 1)
}

/// Whether each row of the group reads only its own row of the tile.
fn is_row_identity(rows: &Shape, shape: &Shape, at: &[SymCoord]) -> bool {
    shape.len() >= rows.len()
        && (0..rows.len()).all(|i| shape[i] == rows[i] && (at[i] == SymCoord::Axis(i as u8) || rows[i] == 1))
}

/// When a tile's memory is in use.
#[derive(Clone, Copy, Debug)]
struct Life {
    start: u32,
    end: u32,
}

/// Loops around the step at hand: where they began, and what is read in them that was made before.
struct Enclosing {
    start: u32,
    read: HashSet<Value>,
}

struct Lifetimes<'a, F: Fn(Value) -> bool> {
    func: &'a Function,
    inline: &'a F,
    steps: &'a HashMap<Block, Vec<Step>>,
    now: u32,
    lives: HashMap<Value, Life>,
    /// Tiles that are stored for each row only, with the number of axes dropped; and those in registers.
    row_local: HashMap<Value, usize>,
    registers: HashMap<Value, bool>,
    loops: Vec<Enclosing>,
    /// Where each step began and ended.
    times: HashMap<(Block, usize), Life>,
    /// Last read of each value that is not the end of a loop around it.
    last_read: HashMap<Value, u32>,
    order: Vec<Value>,
    /// Which value a value shares its buffer with.
    shared: HashMap<Value, Value>,
}

impl<'a, F: Fn(Value) -> bool> Lifetimes<'a, F> {
    fn new(func: &'a Function, inline: &'a F, steps: &'a HashMap<Block, Vec<Step>>) -> Self {
        Self {
            func,
            inline,
            steps,
            now: 0,
            lives: HashMap::new(),
            row_local: HashMap::new(),
            registers: HashMap::new(),
            loops: Vec::new(),
            times: HashMap::new(),
            last_read: HashMap::new(),
            order: Vec::new(),
            shared: HashMap::new(),
        }
    }

    fn make(&mut self, v: Value, start: u32) {
        if matches!(self.func.ty(v), Type::Tile(_)) && !(self.inline)(v) {
            self.lives.insert(v, Life { start, end: start });
            self.order.push(v);
        }
    }

    fn read(&mut self, v: Value, at: u32) {
        let Some(life) = self.lives.get_mut(&v) else { return };
        life.end = life.end.max(at);
        let last = self.last_read.entry(v).or_default();
        *last = (*last).max(at);
        let start = life.start;
        for l in &mut self.loops {
            if start < l.start {
                l.read.insert(v);
            }
        }
    }

    fn enter_loop(&mut self) {
        self.now += 1;
        self.loops.push(Enclosing { start: self.now, read: HashSet::new() });
    }

    fn leave_loop(&mut self) {
        self.now += 1;
        let ended = self.loops.pop().expect("a loop was entered");
        for v in ended.read {
            if let Some(life) = self.lives.get_mut(&v) {
                life.end = life.end.max(self.now);
            }
        }
    }

    fn block(&mut self, block: Block) {
        let steps = self.steps;
        let Some(list) = steps.get(&block) else { return };
        for (i, step) in list.iter().enumerate() {
            self.now += 1;
            let start = self.now;
            match step {
                Step::Op(op) => self.op(*op),
                Step::Group(g) => self.group(block, i, g),
            }
            self.times.insert((block, i), Life { start, end: self.now });
        }
    }

    fn op(&mut self, op: Op) {
        let func = self.func;
        let reads = Reads::of_op(func, self.inline, op);
        for (v, _) in &reads.tiles {
            self.read(*v, self.now);
        }
        let started = self.now;
        let kind = func.kind(op);
        match kind {
            OpKind::For { body, .. } => {
                for &arg in &func.block(*body).args {
                    self.make(arg, self.now);
                }
                self.enter_loop();
                self.block(*body);
                self.leave_loop();
                self.keep(&func.block(*body).args);
            }
            OpKind::While { cond, body, .. } => {
                for &arg in func.block(*cond).args.iter().chain(&func.block(*body).args) {
                    self.make(arg, self.now);
                }
                self.enter_loop();
                self.block(*cond);
                self.block(*body);
                self.leave_loop();
                self.keep(&func.block(*cond).args);
                self.keep(&func.block(*body).args);
            }
            OpKind::If { then_block, else_block, .. } => {
                self.block(*then_block);
                self.block(*else_block);
                self.now += 1;
            }
            _ => {}
        }
        // The results of a loop are its carried values; those of other ops are written while operands are read.
        for &v in &func.op(op).results {
            self.make(v, started);
            self.read(v, self.now);
            self.last_read.remove(&v);
        }
    }

    /// Carried values live as long as their loop.
    fn keep(&mut self, args: &[Value]) {
        for v in args {
            if let Some(life) = self.lives.get_mut(v) {
                life.end = self.now;
            }
        }
    }

    fn group(&mut self, block: Block, index: usize, g: &Group) {
        let func = self.func;
        let start = self.now;
        if !g.rows.is_empty() {
            self.enter_loop();
        }
        let mut made = Vec::new();
        for nest in &g.nests {
            self.now += 1;
            for (v, _) in Reads::of_nest(func, self.inline, nest).tiles {
                self.read(v, self.now);
            }
            for v in nest.roots.iter().flat_map(|&r| makes(func, r)) {
                self.make(v, if g.rows.is_empty() { self.now } else { start });
                made.push(v);
            }
        }
        if !g.rows.is_empty() {
            self.leave_loop();
            for &v in &made {
                if let Some(life) = self.lives.get_mut(&v) {
                    life.end = self.now;
                }
                let suffix: u64 =
                    shape_of(func, v).get(g.rows.len()..).unwrap_or(&[]).iter().map(|&d| u64::from(d)).product();
                let outside = self.read_outside(v, block, index);
                if suffix == 1 && self.lives.contains_key(&v) {
                    self.registers.insert(v, outside);
                } else if !outside {
                    self.row_local.insert(v, g.rows.len());
                }
            }
        }
    }

    /// Whether a step other than the group itself reads the tile.
    fn read_outside(&self, v: Value, block: Block, index: usize) -> bool {
        self.steps.iter().any(|(&b, list)| {
            list.iter().enumerate().any(|(i, step)| {
                (b, i) != (block, index)
                    && Reads::of_step(self.func, self.inline, step).tiles.iter().any(|(r, _)| *r == v)
            })
        })
    }

    // --- sharing ---

    fn root_of(&self, v: Value) -> Value {
        let mut v = v;
        while let Some(&to) = self.shared.get(&v) {
            v = to;
        }
        v
    }

    fn share(&mut self, steps: &HashMap<Block, Vec<Step>>) {
        let func = self.func;
        let mut loops = Vec::new();
        func.walk(|_, op| {
            if matches!(func.kind(op), OpKind::For { .. } | OpKind::While { .. }) {
                loops.push(op);
            }
        });
        // Inner loops first: their results are then in place for the outer ones.
        for &op in loops.iter().rev() {
            match func.kind(op) {
                OpKind::For { body, .. } => {
                    let args = &func.block(*body).args[1..];
                    for (&arg, &result) in args.iter().zip(&func.op(op).results) {
                        self.unite(result, arg);
                    }
                    let Some(end) = func.terminator(*body) else { continue };
                    let yields = func.kind(end).operands();
                    for (&arg, &next) in args.iter().zip(&yields) {
                        self.keep_in_place(*body, arg, next, steps);
                    }
                }
                OpKind::While { body, .. } => {
                    for (&arg, &result) in func.block(*body).args.iter().zip(&func.op(op).results) {
                        self.unite(result, arg);
                    }
                }
                _ => {}
            }
        }
        self.share_accumulators(steps);
    }

    fn unite(&mut self, v: Value, with: Value) {
        if !self.lives.contains_key(&v) || !self.lives.contains_key(&with) {
            return;
        }
        let (a, b) = (self.root_of(v), self.root_of(with));
        if a == b {
            return;
        }
        let (la, lb) = (self.lives[&a], self.lives[&b]);
        self.lives.insert(b, Life { start: la.start.min(lb.start), end: la.end.max(lb.end) });
        self.shared.insert(a, b);
    }

    /// Lets the next value of a carried value be written over it, where the old value is not read afterwards.
    fn keep_in_place(&mut self, body: Block, arg: Value, next: Value, steps: &HashMap<Block, Vec<Step>>) {
        if arg == next || !self.lives.contains_key(&next) || !self.lives.contains_key(&arg) {
            return;
        }
        if self.shared.contains_key(&next) && !self.is_loop_result(next) {
            return;
        }
        let local = self.row_local.contains_key(&next) || self.registers.contains_key(&next);
        if !local && self.may_overwrite(body, arg, next, steps) {
            self.unite(next, arg);
        }
    }

    fn is_loop_result(&self, v: Value) -> bool {
        self.func.def_kind(v).is_some_and(|k| matches!(k, OpKind::For { .. }))
    }

    /// Whether `next`, made in `block`, may be written where `old` is.
    fn may_overwrite(&self, block: Block, old: Value, next: Value, steps: &HashMap<Block, Vec<Step>>) -> bool {
        let func = self.func;
        let ValueDef::Result(def, _) = func.value(next).def else { return false };
        let Some(list) = steps.get(&block) else { return false };
        let makes_next = |step: &Step| match step {
            Step::Op(op) => *op == def,
            Step::Group(g) => g.nests.iter().any(|n| n.roots.contains(&Root::Tile(next))),
        };
        let Some(at) = list.iter().position(makes_next) else { return false };
        let time = self.times[&(block, at)];
        let last = self.last_read.get(&old).copied().unwrap_or(0);
        if last > time.end {
            return false;
        }
        if last < time.start {
            return true;
        }
        // The step that makes `next` itself reads `old`.
        match &list[at] {
            Step::Op(op) => match func.kind(*op) {
                OpKind::Dot { a, b, acc, .. } => {
                    let reads = |v: Value| {
                        let mut r = Reads::default();
                        r.value(func, self.inline, v, &super::index::identity(&shape_of(func, v)));
                        r.tiles
                    };
                    let whole = shape_of(func, *acc);
                    !reads(*a).iter().chain(&reads(*b)).any(|(v, _)| *v == old)
                        && reads(*acc).iter().all(|(v, at)| *v != old || is_identity(&shape_of(func, old), &whole, at))
                }
                // Carried into the inner loop in the same place, and not read inside.
                OpKind::For { init, body, .. } => {
                    let position = func.op(*op).results.iter().position(|&r| r == next);
                    position.is_some_and(|p| init.get(p) == Some(&old))
                        && init.iter().filter(|&&v| v == old).count() == 1
                        && !self.read_in(*body, old)
                }
                _ => false,
            },
            Step::Group(g) => self.group_may_overwrite(g, old, next),
        }
    }

    fn group_may_overwrite(&self, g: &Group, old: Value, next: Value) -> bool {
        let Some(writer) = g.nests.iter().position(|n| n.roots.contains(&Root::Tile(next))) else { return false };
        g.nests.iter().enumerate().all(|(i, nest)| {
            let reads = Reads::of_nest(self.func, self.inline, nest);
            let mut of_old = reads.tiles.iter().filter(|(v, _)| *v == old);
            let shape = shape_of(self.func, old);
            match i.cmp(&writer) {
                std::cmp::Ordering::Less => of_old.all(|(_, at)| is_row_identity(&g.rows, &shape, at)),
                std::cmp::Ordering::Equal => of_old.all(|(_, at)| is_identity(&shape, &nest.domain, at)),
                std::cmp::Ordering::Greater => of_old.next().is_none(),
            }
        })
    }

    fn read_in(&self, block: Block, v: Value) -> bool {
        let Some(list) = self.steps.get(&block) else { return false };
        list.iter().any(|step| {
            let own = Reads::of_step(self.func, self.inline, step).tiles.iter().any(|(r, _)| *r == v);
            own || match step {
                Step::Op(op) => self.func.kind(*op).blocks().iter().any(|&b| self.read_in(b, v)),
                Step::Group(_) => false,
            }
        })
    }

    /// Lets a `dot` add in place where nothing reads its addend afterwards.
    fn share_accumulators(&mut self, steps: &HashMap<Block, Vec<Step>>) {
        let func = self.func;
        for (&block, list) in steps {
            for step in list {
                let Step::Op(op) = step else { continue };
                let OpKind::Dot { acc, .. } = func.kind(*op) else { continue };
                let result = func.op(*op).results[0];
                let Some(life) = self.lives.get(acc).copied() else { continue };
                if self.row_local.contains_key(acc) || self.registers.contains_key(acc) {
                    continue;
                }
                // Carried values are looked after by their loop.
                let made_here = matches!(func.value(*acc).def, ValueDef::Result(..));
                let same_block = list.iter().any(|s| match s {
                    Step::Op(o) => func.op(*o).results.contains(acc),
                    Step::Group(g) => g.nests.iter().any(|n| n.roots.contains(&Root::Tile(*acc))),
                });
                let apart = self.root_of(*acc) != self.root_of(result) && !self.shared.contains_key(acc);
                let free = self.shared.values().all(|&to| to != *acc);
                if made_here
                    && same_block
                    && apart
                    && free
                    && life.end <= self.lives[&result].end
                    && self.may_overwrite(block, *acc, result, steps)
                    && self.chain_is_clear(block, *acc, result, steps)
                {
                    self.unite(*acc, result);
                }
            }
        }
    }

    /// Whether the addend of a `dot`, made earlier, may be written into the place of the result already: what shares
    /// that place must not be read from the addend's making on.
    fn chain_is_clear(&self, block: Block, acc: Value, result: Value, steps: &HashMap<Block, Vec<Step>>) -> bool {
        let root = self.root_of(result);
        self.order.iter().filter(|&&v| v != result && self.root_of(v) == root).all(|&v| match self.func.value(v).def {
            ValueDef::Arg(b, _) if b == block => self.may_overwrite(block, v, acc, steps),
            // What a loop carries on under another name, or another link of the chain.
            _ => !self.read_in(block, v) || self.lives[&v].start >= self.lives[&result].start,
        })
    }

    // --- offsets ---

    fn finish(self) -> (HashMap<Value, Place>, Vec<Buffer>, u64) {
        let func = self.func;
        let mut places = HashMap::new();
        for i in 0..func.num_values() {
            let v = Value::from_u32(i as u32);
            if matches!(func.ty(v), Type::Tile(_)) && (self.inline)(v) {
                places.insert(v, Place::Inline);
            }
        }
        let mut buffers: Vec<Buffer> = Vec::new();
        let mut lives: Vec<Life> = Vec::new();
        let mut of_root: HashMap<Value, BufferId> = HashMap::new();
        for &v in &self.order {
            let root = self.root_of(v);
            let in_register = self.registers.get(&v);
            if in_register == Some(&false) {
                places.insert(v, Place::Row { buffer: None });
                continue;
            }
            let dropped = self.row_local.get(&v).copied().unwrap_or(0);
            let id = *of_root.entry(root).or_insert_with(|| {
                let tile = func.ty(v).tile().expect("only tiles have buffers");
                let shape: Shape = tile.shape[dropped..].into();
                buffers.push(Buffer { elem: tile.elem, shape, offset: 0 });
                lives.push(self.lives[&root]);
                BufferId(buffers.len() as u32 - 1)
            });
            let place = match in_register {
                Some(_) => Place::Row { buffer: Some(id) },
                None => Place::Buffer { buffer: id, dropped },
            };
            places.insert(v, place);
        }
        let arena_bytes = pack(&mut buffers, &lives);
        (places, buffers, arena_bytes)
    }
}

/// Bytes that one element of a tile takes in the arena.
pub fn element_bytes(elem: Elem) -> u32 {
    match elem {
        Elem::Scalar(t) => t.bits().div_ceil(8),
        Elem::Ptr(_) => 8,
    }
}

/// Bytes of a buffer with what follows it.
pub fn buffer_bytes(elem: Elem, shape: &[u32]) -> u64 {
    let count: u64 = shape.iter().map(|&d| u64::from(d)).product();
    (count * u64::from(element_bytes(elem)) + SLACK).next_multiple_of(64)
}

/// Places each buffer at the lowest offset that no buffer of an overlapping lifetime holds.
fn pack(buffers: &mut [Buffer], lives: &[Life]) -> u64 {
    let mut order: Vec<usize> = (0..buffers.len()).collect();
    let sizes: Vec<u64> = buffers.iter().map(|b| buffer_bytes(b.elem, &b.shape)).collect();
    // Large buffers first, then by time: small ones fill the gaps.
    order.sort_by_key(|&i| (std::cmp::Reverse(sizes[i]), lives[i].start, i));
    let mut placed: Vec<usize> = Vec::new();
    let mut total = 0;
    for &i in &order {
        let mut taken: Vec<(u64, u64)> = placed
            .iter()
            .filter(|&&j| lives[i].start <= lives[j].end && lives[j].start <= lives[i].end)
            .map(|&j| (buffers[j].offset, buffers[j].offset + sizes[j]))
            .collect();
        taken.sort_unstable();
        let mut offset = 0;
        for (from, to) in taken {
            if offset + sizes[i] <= from {
                break;
            }
            offset = offset.max(to);
        }
        buffers[i].offset = offset;
        total = total.max(offset + sizes[i]);
        placed.push(i);
    }
    total
}
