//! Which arguments' memory views and pointers lead to, and which may overlap.

use crate::function::{Block, Function, ParamKind, Value, ViewAccess};
use crate::ops::OpKind;

/// Where a view or pointer comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Root {
    /// A parameter, by number.
    Param(u32),
    /// Not known.
    Unknown,
}

/// The roots of a function's views and pointers.
#[derive(Clone, Debug)]
pub struct Aliases {
    roots: Vec<Option<Root>>,
    /// For each parameter: whether no other argument that is written overlaps it, and whether it may be written.
    params: Vec<(bool, bool)>,
}

impl Aliases {
    /// Finds the roots.
    pub fn compute(f: &Function) -> Self {
        let params = f.params.iter().map(|p| match &p.kind {
            ParamKind::View { access, spec, .. } => (spec.no_alias, *access != ViewAccess::Read),
            ParamKind::Scalar { .. } | ParamKind::Ptr { .. } => (false, true),
        });
        let mut a = Self { roots: vec![None; f.num_values()], params: params.collect() };
        for (i, p) in f.params.iter().enumerate() {
            a.set(p.value, Root::Param(i as u32));
        }
        a.block(f, f.body);
        a
    }

    /// Where a view or pointer comes from.
    pub fn root(&self, v: Value) -> Root {
        self.get(v).unwrap_or(Root::Unknown)
    }

    /// Whether a read through one root may touch memory that is written through the other.
    pub fn may_alias(&self, read: Root, written: Root) -> bool {
        let (Root::Param(r), Root::Param(w)) = (read, written) else { return true };
        if r == w {
            return true;
        }
        let (alone, _) = self.params[r as usize];
        let (written_alone, _) = self.params[w as usize];
        // The promise of one side covers the other only if that is written.
        let read_is_written = self.params[r as usize].1;
        !(alone || (written_alone && read_is_written))
    }

    fn get(&self, v: Value) -> Option<Root> {
        self.roots.get(v.as_u32() as usize).copied().flatten()
    }

    fn set(&mut self, v: Value, root: Root) {
        self.roots[v.as_u32() as usize] = Some(root);
    }

    fn join(&mut self, v: Value, roots: impl IntoIterator<Item = Root>) {
        let mut all = roots.into_iter();
        let first = all.next().unwrap_or(Root::Unknown);
        let root = if all.all(|r| r == first) { first } else { Root::Unknown };
        self.set(v, root);
    }

    fn yields(f: &Function, block: Block) -> Vec<Value> {
        f.terminator(block).map(|t| f.kind(t).operands().into_iter().collect()).unwrap_or_default()
    }

    fn block(&mut self, f: &Function, block: Block) {
        for &op in &f.block(block).ops {
            let results = &f.op(op).results;
            match f.kind(op) {
                OpKind::ViewBase { view: x }
                | OpKind::MakeView { base: x, .. }
                | OpKind::PtrAdd { ptr: x, .. }
                | OpKind::Splat { x, .. }
                | OpKind::Broadcast { x, .. }
                | OpKind::Reshape { x, .. }
                | OpKind::Permute { x, .. }
                | OpKind::Flip { x, .. }
                | OpKind::ExtractSlice { x, .. }
                | OpKind::GatherAxis { x, .. }
                | OpKind::Split { x }
                | OpKind::Assume { x, .. }
                | OpKind::ConvertLayout { x, .. } => {
                    let root = self.root(*x);
                    results.iter().for_each(|&r| self.set(r, root));
                }
                OpKind::Select { a, b, .. } | OpKind::Join { a, b } | OpKind::InsertSlice { x: a, into: b, .. } => {
                    let roots = [self.root(*a), self.root(*b)];
                    self.join(results[0], roots);
                }
                OpKind::Cat { parts, .. } => {
                    let roots: Vec<Root> = parts.iter().map(|&p| self.root(p)).collect();
                    self.join(results[0], roots);
                }
                OpKind::For { init, body, .. } => {
                    let args = &f.block(*body).args[1..];
                    self.carried(f, init, args, *body);
                    let yielded = Self::yields(f, *body);
                    for ((&r, &i), y) in results.iter().zip(init).zip(yielded) {
                        let roots = [self.root(i), self.root(y)];
                        self.join(r, roots);
                    }
                }
                OpKind::If { then_block, else_block, .. } => {
                    self.block(f, *then_block);
                    self.block(f, *else_block);
                    let (a, b) = (Self::yields(f, *then_block), Self::yields(f, *else_block));
                    for (&r, (x, y)) in results.iter().zip(a.into_iter().zip(b)) {
                        let roots = [self.root(x), self.root(y)];
                        self.join(r, roots);
                    }
                }
                kind => kind.blocks().iter().for_each(|&b| self.block(f, b)),
            }
        }
    }

    /// The carried values of a loop keep their root if the body gives it back; else they are unknown.
    fn carried(&mut self, f: &Function, init: &[Value], args: &[Value], body: Block) {
        for (&arg, &i) in args.iter().zip(init) {
            let root = self.root(i);
            self.set(arg, root);
        }
        loop {
            self.block(f, body);
            let mut stable = true;
            for (&arg, y) in args.iter().zip(Self::yields(f, body)) {
                if self.root(arg) != Root::Unknown && self.root(arg) != self.root(y) {
                    self.set(arg, Root::Unknown);
                    stable = false;
                }
            }
            if stable {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::ViewSpec;
    use crate::types::ScalarType;

    #[test]
    fn promises_cover_written_arguments_only() {
        let mut f = Function::new("k");
        let view = |access, no_alias| ParamKind::View {
            elem: ScalarType::F32,
            rank: 1,
            access,
            spec: ViewSpec { no_alias, ..ViewSpec::default() },
        };
        f.add_param("read", view(ViewAccess::Read, false));
        f.add_param("alone", view(ViewAccess::Read, true));
        f.add_param("out", view(ViewAccess::Write, true));
        f.add_param("other", view(ViewAccess::Write, false));
        let a = Aliases::compute(&f);
        let p = Root::Param;
        // `out` overlaps nothing that is written, but `read` is not.
        assert!(a.may_alias(p(0), p(2)));
        assert!(!a.may_alias(p(1), p(2)) && !a.may_alias(p(1), p(3)));
        assert!(!a.may_alias(p(3), p(2)) && a.may_alias(p(2), p(2)));
        assert!(a.may_alias(Root::Unknown, p(2)));
    }
}
