//! Graphs: operations with what each depends on, and their executable form.

use crate::device::Device;
use crate::error::{Error, Result};
use crate::lock;
use crate::op::Op;
use std::sync::{Arc, Mutex};

/// A node of a graph.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it does.
    pub op: Op,
    /// What must be done before.
    pub depends: Vec<usize>,
    /// Nodes are never renumbered: a removed one stays, empty.
    removed: bool,
}

/// Device memory that graphs own: it is given back with the last one of them.
#[derive(Debug, Default)]
struct Owned(Mutex<Vec<(Arc<Device>, u64)>>);

impl Drop for Owned {
    fn drop(&mut self) {
        for (device, address) in lock(&self.0).drain(..) {
            // The device may have given it back with its context.
            let _ = device.free(address);
        }
    }
}

/// A graph.
#[derive(Debug, Default)]
pub struct Graph {
    nodes: Mutex<Vec<Node>>,
    owned: Arc<Owned>,
}

impl Graph {
    /// Adds a node.
    pub fn add(&self, op: Op, depends: &[usize]) -> Result<usize> {
        let mut nodes = lock(&self.nodes);
        if depends.iter().any(|&node| nodes.get(node).is_none_or(|node| node.removed)) {
            return Err(Error::value("a dependency that is not in the graph"));
        }
        nodes.push(Node { op, depends: depends.to_vec(), removed: false });
        Ok(nodes.len() - 1)
    }

    /// Lets nodes depend on others.
    pub fn add_dependency(&self, from: usize, to: usize) -> Result<()> {
        let mut nodes = lock(&self.nodes);
        let missing = |node: usize| nodes.get(node).is_none_or(|node| node.removed);
        if missing(from) || missing(to) || from == to {
            return Err(Error::value("a dependency between nodes that are not in the graph"));
        }
        let depends = &mut nodes[to].depends;
        if !depends.contains(&from) {
            depends.push(from);
        }
        Ok(())
    }

    /// Takes a node out, with its dependencies.
    pub fn remove(&self, node: usize) -> Result<()> {
        let mut nodes = lock(&self.nodes);
        let entry = nodes.get_mut(node).filter(|node| !node.removed).ok_or(Error::InvalidHandle("a graph node"))?;
        *entry = Node { op: Op::Nothing, depends: Vec::new(), removed: true };
        for other in nodes.iter_mut() {
            other.depends.retain(|&from| from != node);
        }
        Ok(())
    }

    /// Replaces what a node does.
    pub fn replace(&self, node: usize, op: Op) -> Result<()> {
        let mut nodes = lock(&self.nodes);
        let entry = nodes.get_mut(node).filter(|node| !node.removed).ok_or(Error::InvalidHandle("a graph node"))?;
        entry.op = op;
        Ok(())
    }

    /// The nodes with their numbers.
    pub fn nodes(&self) -> Vec<(usize, Node)> {
        lock(&self.nodes).iter().cloned().enumerate().filter(|(_, node)| !node.removed).collect()
    }

    /// Nodes that no other depends on.
    pub fn leaves(&self) -> Vec<usize> {
        let nodes = self.nodes();
        let depended = |node: usize| nodes.iter().any(|(_, other)| other.depends.contains(&node));
        nodes.iter().map(|&(index, _)| index).filter(|&index| !depended(index)).collect()
    }

    /// The graph, and what is made of it, give memory back.
    pub fn own(&self, device: &Arc<Device>, address: u64) {
        lock(&self.owned.0).push((Arc::clone(device), address));
    }

    /// Whether an address is memory of the graph.
    pub fn owns(&self, address: u64) -> bool {
        lock(&self.owned.0).iter().any(|&(_, own)| own == address)
    }

    /// A graph of its own with the same nodes.
    pub fn copy(&self) -> Self {
        Self { nodes: Mutex::new(lock(&self.nodes).clone()), owned: Arc::clone(&self.owned) }
    }

    /// The executable form: the nodes in an order that keeps the dependencies.
    pub fn instantiate(&self) -> Result<Exec> {
        let nodes = self.nodes();
        let mut done = vec![false; nodes.last().map_or(0, |&(index, _)| index + 1)];
        let mut ops = Vec::with_capacity(nodes.len());
        let mut rest: Vec<_> = nodes.iter().collect();
        while !rest.is_empty() {
            let before = rest.len();
            rest.retain(|(index, node)| {
                let ready = node.depends.iter().all(|&from| done[from]);
                if ready {
                    done[*index] = true;
                    ops.push((*index, node.op.clone()));
                }
                !ready
            });
            if rest.len() == before {
                return Err(Error::value("the graph has a cycle"));
            }
        }
        Ok(Exec { ops: Mutex::new(ops), _owned: Arc::clone(&self.owned) })
    }
}

/// A graph ready to run.
#[derive(Debug)]
pub struct Exec {
    ops: Mutex<Vec<(usize, Op)>>,
    _owned: Arc<Owned>,
}

impl Exec {
    pub(crate) fn ops(&self) -> Vec<Op> {
        lock(&self.ops).iter().map(|(_, op)| op.clone()).collect()
    }

    /// Replaces what a node of the graph does, in launches to come.
    pub fn replace(&self, node: usize, op: Op) -> Result<()> {
        let mut ops = lock(&self.ops);
        let entry = ops.iter_mut().find(|(index, _)| *index == node).ok_or(Error::InvalidHandle("a graph node"))?;
        entry.1 = op;
        Ok(())
    }

    /// Takes over what the nodes of a graph of the same shape do.
    pub fn update(&self, graph: &Graph) -> Result<()> {
        let updated = graph.instantiate()?;
        let (mut own, new) = (lock(&self.ops), updated.ops.into_inner().unwrap_or_default());
        let same = |(a, b): (&(usize, Op), &(usize, Op))| {
            a.0 == b.0 && std::mem::discriminant(&a.1) == std::mem::discriminant(&b.1)
        };
        if own.len() != new.len() || !own.iter().zip(&new).all(same) {
            return Err(Error::value("the graph has another shape than the one that was instantiated"));
        }
        *own = new;
        Ok(())
    }
}
