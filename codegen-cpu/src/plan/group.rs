//! Roots into nests, nests into groups.
//!
//! Ops are taken in program order. A root joins the open group if its elements can be split into the group's rows and
//! it reads what the group made only for the row it is in; otherwise the group is closed and another begun.

use std::collections::{HashMap, HashSet};

use smallvec::SmallVec;
use tegula_ir::function::{Block, Function, Op, Value};
use tegula_ir::ops::{Address, OpKind};
use tegula_ir::types::{Shape, Type};

use super::index::SymCoord;
use super::memory::{Origin, may_conflict, origin};
use super::place::Placement;
use super::reads::{Reads, reduced, reduced_axes, shape_of};
use super::{Group, Nest, Root, Step};

/// The steps of every block.
pub fn form_groups(func: &Function, placement: &Placement, fuse: bool) -> HashMap<Block, Vec<Step>> {
    let mut steps = HashMap::new();
    let mut blocks = vec![func.body];
    while let Some(block) = blocks.pop() {
        let mut former = Former { func, placement, fuse, open: None, steps: Vec::new() };
        for &op in &func.block(block).ops {
            former.op(op);
            // The bodies of combining functions are lowered lane by lane, not planned.
            if !matches!(func.kind(op), OpKind::ReduceWith { .. } | OpKind::ScanWith { .. }) {
                blocks.extend(func.kind(op).blocks());
            }
        }
        former.close();
        steps.insert(block, former.steps);
    }
    steps
}

/// Which axes of its nests a group may have as rows.
#[derive(Clone, PartialEq, Debug)]
enum Rows {
    /// Exactly these.
    Exactly(Shape),
    /// These or fewer.
    UpTo(Shape),
}

struct Open {
    rows: Rows,
    nests: Vec<Nest>,
    /// What each nest makes.
    made: Vec<HashSet<Value>>,
    loads: Vec<Op>,
    stores: Vec<Op>,
    /// Nothing may join: reads and writes must keep their order.
    sealed: bool,
}

struct Former<'a> {
    func: &'a Function,
    placement: &'a Placement,
    fuse: bool,
    open: Option<Open>,
    steps: Vec<Step>,
}

impl Former<'_> {
    fn op(&mut self, op: Op) {
        let (func, kind) = (self.func, self.func.kind(op));
        let results = &func.op(op).results;
        let tile_result = results.iter().any(|&v| matches!(func.ty(v), Type::Tile(_)));
        if tile_result && results.iter().all(|&v| self.placement.is_inline(v)) {
            return;
        }
        match kind {
            OpKind::Store { value, .. } if matches!(func.ty(*value), Type::Tile(_)) => self.root(Root::Store(op)),
            OpKind::Reduce { .. } | OpKind::ArgReduce { .. } => self.root(Root::Reduce(op)),
            OpKind::Load { .. } if tile_result => self.root(Root::Tile(results[0])),
            OpKind::GatherAxis { .. } | OpKind::Reshape { .. } if tile_result => self.root(Root::Tile(results[0])),
            OpKind::Split { .. } => {
                for &v in results {
                    if matches!(func.ty(v), Type::Tile(_)) && !self.placement.is_inline(v) {
                        self.root(Root::Tile(v));
                    }
                }
                if !tile_result {
                    self.by_itself(op);
                }
            }
            kind if tile_result && (kind.is_elementwise() || super::index::is_index_op(func, kind)) => {
                self.root(Root::Tile(results[0]));
            }
            _ => self.by_itself(op),
        }
    }

    /// An op that is no root. Scalar arithmetic does not end the open group: it is done before it.
    fn by_itself(&mut self, op: Op) {
        let kind = self.func.kind(op);
        let only_scalars = {
            let scalar = |v: Value| !matches!(self.func.ty(v), Type::Tile(_));
            let mut all = self.func.op(op).results.iter().all(|&v| scalar(v));
            kind.for_each_operand(|v| all &= scalar(v));
            all
        };
        let pure = only_scalars && !kind.has_side_effects() && !kind.reads_memory() && kind.blocks().is_empty();
        let depends = self
            .open
            .as_ref()
            .is_some_and(|open| kind.operands().iter().any(|v| open.made.iter().any(|made| made.contains(v))));
        if !pure || depends {
            self.close();
        }
        self.steps.push(Step::Op(op));
    }

    fn root(&mut self, root: Root) {
        let reads = Reads::of_root(self.func, &|v| self.placement.is_inline(v), root);
        let domain = self.domain(root);
        let rows = self.rows(root, &domain);
        if let Some(joined) = self.can_join(root, &reads, &rows, &domain) {
            let func = self.func;
            let open = self.open.as_mut().expect("there is a group to join");
            open.rows = joined;
            let at = nest_to_join(func, open, root, &reads, &domain);
            match at {
                Some(i) => open.nests[i].roots.push(root),
                None => {
                    open.nests.push(Nest { domain, roots: vec![root] });
                    open.made.push(HashSet::new());
                }
            }
            let made = at.unwrap_or(open.nests.len() - 1);
            open.made[made].extend(makes(func, root));
        } else {
            self.close();
            self.open = Some(Open {
                rows,
                nests: vec![Nest { domain, roots: vec![root] }],
                made: vec![makes(self.func, root).into_iter().collect()],
                loads: Vec::new(),
                stores: Vec::new(),
                sealed: !self.fuse,
            });
        }
        let fixed = reads.loads.iter().any(|&load| !self.placement.can_move(self.func, load));
        let open = self.open.as_mut().expect("a group is open");
        open.sealed |= fixed || is_volatile(self.func, root);
        open.loads.extend(reads.loads.iter().copied().filter(|l| !open.loads.contains(l)).collect::<Vec<_>>());
        if let Root::Store(op) = root {
            open.stores.push(op);
        }
        if open.sealed {
            self.close();
        }
    }

    /// The rows of a group after a root has joined it, if it can.
    fn can_join(&self, root: Root, reads: &Reads, rows: &Rows, domain: &Shape) -> Option<Rows> {
        let open = self.open.as_ref()?;
        let func = self.func;
        if open.sealed || reads.loads.iter().any(|&load| !self.placement.can_move(func, load)) {
            return None;
        }
        // Two stores through one view keep their order, and what the group reads stays as it is.
        if let Root::Store(op) = root {
            let to = store_origin(func, op);
            let clash = |o: Origin| o == to || may_conflict(func, o, to);
            if open.stores.iter().any(|&s| store_origin(func, s) == to || to == Origin::Pointer)
                || (to == Origin::Pointer && !open.stores.is_empty())
                || open
                    .loads
                    .iter()
                    .chain(&reads.loads)
                    .any(|&l| !self.placement.can_move(func, l) && clash(load_origin(func, l)))
            {
                return None;
            }
        }
        let mut joined = meet(&open.rows, rows)?;
        // What the group made is read for the same row only.
        let mut same = usize::MAX;
        for (v, at) in &reads.tiles {
            if open.made.iter().any(|made| made.contains(v)) {
                let shape = shape_of(func, *v);
                let agree = (0..shape.len())
                    .take_while(|&i| {
                        i < domain.len() && (at[i] == SymCoord::Axis(i as u8) || (shape[i] == 1 && domain[i] == 1))
                    })
                    .count();
                same = same.min(agree);
            }
        }
        match &mut joined {
            Rows::Exactly(r) if r.len() > same => return None,
            Rows::UpTo(r) if r.len() > same => {
                if same == 0 {
                    return None;
                }
                r.truncate(same);
            }
            _ => {}
        }
        // Joining without a common row gains nothing.
        let useful = match &joined {
            Rows::Exactly(r) => !r.is_empty() || *domain == open.nests[0].domain,
            Rows::UpTo(r) => !r.is_empty(),
        };
        useful.then_some(joined)
    }

    fn domain(&self, root: Root) -> Shape {
        match root {
            Root::Store(op) => match self.func.kind(op) {
                OpKind::Store { value, .. } => shape_of(self.func, *value),
                _ => unreachable!("a store"),
            },
            Root::Tile(v) => shape_of(self.func, v),
            Root::Reduce(op) => shape_of(self.func, reduced(self.func, op)),
        }
    }

    fn rows(&self, root: Root, domain: &Shape) -> Rows {
        match root {
            Root::Reduce(op) => {
                let axes = reduced_axes(self.func, op);
                if is_suffix(&axes, domain.len()) {
                    Rows::Exactly(domain[..domain.len() - axes.len()].into())
                } else {
                    Rows::Exactly(Shape::new())
                }
            }
            _ => Rows::UpTo(domain.clone()),
        }
    }

    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let rows = match open.rows {
            Rows::Exactly(rows) => rows,
            // One nest loops over all its axes by itself.
            Rows::UpTo(_) if open.nests.len() == 1 => Shape::new(),
            Rows::UpTo(mut rows) => {
                let ranks = open.nests.iter().map(|n| n.domain.len());
                rows.truncate(ranks.min().unwrap_or(1) - 1);
                rows
            }
        };
        let accesses = open.loads.into_iter().chain(open.stores).collect();
        self.steps.push(Step::Group(Group { rows, nests: open.nests, accesses }));
    }
}

/// Whether the axes are the last ones of a tile of this rank.
pub fn is_suffix(axes: &[u8], rank: usize) -> bool {
    axes.iter().map(|&a| usize::from(a)).eq(rank - axes.len()..rank)
}

fn meet(a: &Rows, b: &Rows) -> Option<Rows> {
    Some(match (a, b) {
        (Rows::Exactly(a), Rows::Exactly(b)) => {
            if a != b {
                return None;
            }
            Rows::Exactly(a.clone())
        }
        (Rows::Exactly(exact), Rows::UpTo(most)) | (Rows::UpTo(most), Rows::Exactly(exact)) => {
            if !most.starts_with(exact) {
                return None;
            }
            Rows::Exactly(exact.clone())
        }
        (Rows::UpTo(a), Rows::UpTo(b)) => {
            Rows::UpTo(a.iter().zip(b).take_while(|(a, b)| a == b).map(|(a, _)| *a).collect())
        }
    })
}

/// The nest of the group that a root can be part of.
fn nest_to_join(func: &Function, open: &Open, root: Root, reads: &Reads, domain: &Shape) -> Option<usize> {
    if !is_mergeable(func, root, domain) {
        return None;
    }
    for i in (0..open.nests.len()).rev() {
        let nest = &open.nests[i];
        let from_nest: SmallVec<[_; 4]> = reads.tiles.iter().filter(|(v, _)| open.made[i].contains(v)).collect();
        let scalars = reads.scalars.iter().any(|v| open.made[i].contains(v));
        // What the nest makes element by element is at hand; a reduction is not ready before the nest is done.
        let at_hand = !scalars
            && from_nest.iter().all(|(v, at)| {
                shape_of(func, *v) == nest.domain
                    && at.iter().enumerate().all(|(a, c)| *c == SymCoord::Axis(a as u8) || nest.domain[a] == 1)
                    && nest.roots.contains(&Root::Tile(*v))
            });
        if nest.domain == *domain && at_hand && nest.roots.iter().all(|&r| is_mergeable(func, r, domain)) {
            return Some(i);
        }
        if !from_nest.is_empty() || scalars {
            return None;
        }
    }
    None
}

/// Whether a root can share its loops with others: reductions can if they reduce whole rows.
fn is_mergeable(func: &Function, root: Root, domain: &Shape) -> bool {
    match root {
        Root::Reduce(op) => is_suffix(&reduced_axes(func, op), domain.len()),
        _ => true,
    }
}

/// The values that a root gives.
pub fn makes(func: &Function, root: Root) -> SmallVec<[Value; 2]> {
    match root {
        Root::Store(_) => SmallVec::new(),
        Root::Tile(v) => SmallVec::from_slice(&[v]),
        Root::Reduce(op) => func.op(op).results.clone(),
    }
}

fn store_origin(func: &Function, op: Op) -> Origin {
    match func.kind(op) {
        OpKind::Store { addr, .. } => origin(func, addr),
        _ => unreachable!("a store"),
    }
}

fn load_origin(func: &Function, op: Op) -> Origin {
    match func.kind(op) {
        OpKind::Load { addr, .. } => origin(func, addr),
        _ => unreachable!("a load"),
    }
}

fn is_volatile(func: &Function, root: Root) -> bool {
    let access = match root {
        Root::Store(op) => Some(op),
        Root::Tile(v) => func.def_op(v),
        Root::Reduce(_) => None,
    };
    access.is_some_and(|op| match func.kind(op) {
        OpKind::Store { access, .. } | OpKind::Load { access, .. } => access.volatile,
        _ => false,
    })
}

/// The address of a load or store.
pub fn address_of(func: &Function, op: Op) -> &Address {
    match func.kind(op) {
        OpKind::Load { addr, .. } | OpKind::Store { addr, .. } => addr,
        kind => unreachable!("{} has no plain address", kind.mnemonic()),
    }
}
