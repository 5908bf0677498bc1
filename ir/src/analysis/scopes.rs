//! Dominance in structured control flow: where ops stand, which blocks enclose them, and which values are visible
//! there. Without branches between blocks it follows from nesting and order.

use crate::function::{Block, Function, Op, Value, ValueDef};

/// The places of a function's ops and blocks, as they were when computed.
#[derive(Clone, Debug)]
pub struct Scopes {
    /// The block of each op, and its position there.
    places: Vec<Option<(Block, usize)>>,
    /// The op that owns each nested block.
    owners: Vec<Option<Op>>,
}

impl Scopes {
    /// Finds the place of every op.
    pub fn compute(f: &Function) -> Self {
        let mut s = Self { places: vec![None; f.num_ops()], owners: vec![None; f.num_blocks()] };
        s.block(f, f.body);
        s
    }

    fn block(&mut self, f: &Function, block: Block) {
        for (i, &op) in f.block(block).ops.iter().enumerate() {
            self.places[op.as_u32() as usize] = Some((block, i));
            for nested in f.kind(op).blocks() {
                self.owners[nested.as_u32() as usize] = Some(op);
                self.block(f, nested);
            }
        }
    }

    /// The block that an op stands in; `None` if it stands in none.
    pub fn block_of(&self, op: Op) -> Option<Block> {
        self.place(op).map(|(block, _)| block)
    }

    /// The op that a block belongs to; `None` for the function's body.
    pub fn owner(&self, block: Block) -> Option<Op> {
        self.owners.get(block.as_u32() as usize).copied().flatten()
    }

    /// The op itself, or the op around it, that stands in `block`; `None` if the block is not around it.
    pub fn ancestor_in(&self, op: Op, block: Block) -> Option<Op> {
        let mut at = op;
        loop {
            let b = self.block_of(at)?;
            if b == block {
                return Some(at);
            }
            at = self.owner(b)?;
        }
    }

    /// Whether `a` has run to its end whenever `b` begins.
    pub fn dominates(&self, a: Op, b: Op) -> bool {
        let Some((block, position)) = self.place(a) else { return false };
        let ancestor = self.ancestor_in(b, block).and_then(|op| self.place(op));
        ancestor.is_some_and(|(_, at)| position < at)
    }

    /// Whether a value may be used by an op.
    pub fn visible(&self, f: &Function, v: Value, at: Op) -> bool {
        match f.value(v).def {
            ValueDef::Param(_) => true,
            ValueDef::Arg(block, _) => self.ancestor_in(at, block).is_some(),
            ValueDef::Result(op, _) => self.dominates(op, at),
        }
    }

    fn place(&self, op: Op) -> Option<(Block, usize)> {
        self.places.get(op.as_u32() as usize).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::OpKind;
    use crate::text::parse_function;

    #[test]
    fn nested_values_are_visible_in_their_block_only() {
        let text = "
kernel @k(%n: i64) {
  %z = constant 0 : i64
  %r = for %i = %z to %n step %n iter(%c = %z) {
    %s = add %c, %i
    yield %s
  }
  %t = add %r, %z
  return
}";
        let f = parse_function(text, "k.tile").unwrap();
        let scopes = Scopes::compute(&f);
        let ops = f.ops_in_order();
        let [z, r, s, y, t] = [ops[0], ops[1], ops[2], ops[3], ops[4]];
        assert!(scopes.dominates(z, s) && scopes.dominates(s, y) && scopes.dominates(r, t));
        // A loop has not ended where its body runs.
        assert!(!scopes.dominates(r, s) && !scopes.dominates(s, t) && !scopes.dominates(z, z));
        let OpKind::For { body, .. } = *f.kind(r) else { panic!() };
        let iv = f.block(body).args[0];
        assert!(scopes.visible(&f, iv, s) && scopes.visible(&f, f.params[0].value, t));
        assert!(
            !scopes.visible(&f, iv, t) && !scopes.visible(&f, f.result(r), s) && scopes.visible(&f, f.result(r), t)
        );
        assert_eq!((scopes.owner(body), scopes.owner(f.body)), (Some(r), None));
        assert_eq!(scopes.ancestor_in(s, f.body), Some(r));
    }
}
