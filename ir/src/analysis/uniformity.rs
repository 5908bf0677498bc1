//! Uniformity: which values are the same in every program of a launch. What they are made of could be computed once.
//!
//! Varying are the program's coordinates, what is loaded from memory that the launch may write, what atomics give, and
//! all that depends on these, also through the choice of a branch or the number of iterations of a loop.

use crate::analysis::alias::Aliases;
use crate::analysis::effects::{Writes, accessed, writes_of_block};
use crate::function::{Block, Function, Op, Value};
use crate::ops::OpKind;

/// The uniform values of a function, as they were when computed.
#[derive(Clone, Debug)]
pub struct Uniformity {
    varying: Vec<bool>,
}

impl Uniformity {
    /// Finds the varying values.
    pub fn compute(f: &Function) -> Self {
        let aliases = Aliases::compute(f);
        let mut writes = Writes::default();
        writes_of_block(f, &aliases, f.body, &mut writes);
        let mut u = Self { varying: vec![false; f.num_values()] };
        // What varies only grows, and a loop can carry it to its own beginning.
        while u.block(f, f.body, false, &aliases, &writes) {}
        u
    }

    /// Whether a value is the same in every program.
    pub fn is_uniform(&self, v: Value) -> bool {
        !self.varying.get(v.as_u32() as usize).copied().unwrap_or(true)
    }

    fn mark(&mut self, v: Value) -> bool {
        !std::mem::replace(&mut self.varying[v.as_u32() as usize], true)
    }

    /// Marks what varies in a block; gives whether anything was new. `divergent` says that not all programs run the
    /// block the same number of times.
    fn block(&mut self, f: &Function, block: Block, divergent: bool, aliases: &Aliases, writes: &Writes) -> bool {
        let mut new = false;
        for &op in &f.block(block).ops {
            new |= self.op(f, op, divergent, aliases, writes);
        }
        new
    }

    fn op(&mut self, f: &Function, op: Op, divergent: bool, aliases: &Aliases, writes: &Writes) -> bool {
        let kind = f.kind(op);
        let results = &f.op(op).results;
        let mut new = false;
        let yields = |b: Block| f.terminator(b).map(|t| f.kind(t).operands()).unwrap_or_default();
        match kind {
            OpKind::For { lower, upper, step, init, body, .. } => {
                let counts = [lower, upper, step].into_iter().any(|&v| !self.is_uniform(v)) || divergent;
                let args = &f.block(*body).args;
                if counts {
                    new |= self.mark(args[0]);
                }
                new |= self.block(f, *body, counts, aliases, writes);
                for (i, y) in yields(*body).into_iter().enumerate() {
                    if counts || !self.is_uniform(y) || !self.is_uniform(init[i]) {
                        new |= self.mark(args[i + 1]);
                        new |= self.mark(results[i]);
                    }
                }
            }
            OpKind::While { init, cond, body } => {
                new |= self.block(f, *cond, divergent, aliases, writes);
                let passed = yields(*cond);
                let counts = divergent || passed.first().is_some_and(|&c| !self.is_uniform(c));
                new |= self.block(f, *body, counts, aliases, writes);
                let (carried, inner) = (&f.block(*cond).args, &f.block(*body).args);
                for (i, y) in yields(*body).into_iter().enumerate() {
                    if counts || !self.is_uniform(y) || !self.is_uniform(init[i]) {
                        new |= self.mark(carried[i]);
                    }
                }
                for (i, &p) in passed.iter().skip(1).enumerate() {
                    if counts || !self.is_uniform(p) {
                        new |= self.mark(inner[i]);
                        new |= self.mark(results[i]);
                    }
                }
            }
            OpKind::If { cond, then_block, else_block } => {
                let choice = !self.is_uniform(*cond);
                for b in [*then_block, *else_block] {
                    new |= self.block(f, b, divergent || choice, aliases, writes);
                }
                for (i, (a, b)) in yields(*then_block).into_iter().zip(yields(*else_block)).enumerate() {
                    if (choice && a != b) || !self.is_uniform(a) || !self.is_uniform(b) {
                        new |= self.mark(results[i]);
                    }
                }
            }
            kind => {
                let own = match kind {
                    OpKind::ProgramId { .. } | OpKind::AtomicRmw { .. } | OpKind::AtomicCas { .. } => true,
                    OpKind::Load { addr, access, .. } => {
                        access.volatile || writes.may_change(aliases, aliases.root(accessed(addr)))
                    }
                    _ => false,
                };
                let varying = own || kind.operands().iter().any(|&v| !self.is_uniform(v));
                for b in kind.blocks() {
                    if varying {
                        for &arg in &f.block(b).args {
                            new |= self.mark(arg);
                        }
                    }
                    new |= self.block(f, b, divergent, aliases, writes);
                    // A combining function that uses varying values from outside gives varying results.
                    if yields(b).iter().any(|&y| !self.is_uniform(y)) {
                        for &r in results {
                            new |= self.mark(r);
                        }
                    }
                }
                if varying {
                    for &r in results {
                        new |= self.mark(r);
                    }
                }
            }
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse_function;

    #[test]
    fn what_depends_on_the_program_varies() {
        let text = "
kernel @k(%x: view<1d, f32> read {no_alias}, %y: view<1d, f32> read_write, %n: i64) {
  %z = constant 0 : i64
  %one = constant 1 : i64
  %p = program_id 0 : i64
  %u = load %x[%z] : tile<8xf32>
  %v = load %y[%z] : tile<8xf32>
  %w = load %x[%p] : tile<8xf32>
  %a = for %i = %z to %n step %one iter(%c = %z) {
    %s = add %c, %i
    yield %s
  }
  %b = for %j = %z to %p step %one iter(%d = %z) {
    %t = add %d, %one
    yield %t
  }
  %e, %g = for %k = %z to %n step %one iter(%h = %z, %l = %p) {
    yield %l, %l
  }
  %q = cmp lt %p, %n
  %m = if %q -> i64 {
    yield %one
  } else {
    yield %z
  }
  store %u, %y[%p]
  return
}";
        let f = parse_function(text, "k.tile").unwrap();
        let u = Uniformity::compute(&f);
        let uniform = |name: &str| {
            let named = |&v: &Value| f.value(v).name.as_deref() == Some(name);
            u.is_uniform((0..f.num_values() as u32).map(Value::from_u32).find(named).unwrap())
        };
        for name in ["z", "n", "u", "i", "s", "a", "k"] {
            assert!(uniform(name), "%{name}");
        }
        // %h becomes what %l was, one iteration later.
        for name in ["p", "v", "w", "j", "t", "b", "e", "g", "h", "l", "q", "m"] {
            assert!(!uniform(name), "%{name}");
        }
    }
}
