//! Liveness: for each value the stretch of the function in which it is needed.
//!
//! Ops are numbered in program order; an op with nested blocks also has a number for its end. A value lives from the
//! number of its definition to that of its last use. Used inside a loop that it was defined outside of, it lives to
//! the loop's end, because the next iteration needs it again.

use crate::function::{Block, Function, Op, Value, ValueDef};

use super::scopes::Scopes;

/// From a definition to the last use, in numbers of ops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interval {
    /// Where it is defined.
    pub from: u32,
    /// Where it is last used; `from` if it never is.
    pub to: u32,
}

impl Interval {
    /// Whether both values are needed at one time. A value that ends where the other begins makes room for it.
    pub fn overlaps(self, other: Interval) -> bool {
        self.from < other.to && other.from < self.to
    }
}

/// The live intervals of a function's values, as they were when computed.
#[derive(Clone, Debug)]
pub struct Liveness {
    /// Number of each op, and of its end.
    ops: Vec<(u32, u32)>,
    values: Vec<Option<Interval>>,
}

impl Liveness {
    /// Numbers the ops and finds the interval of every value that is defined in the function.
    pub fn compute(f: &Function) -> Self {
        let scopes = Scopes::compute(f);
        let mut l = Self { ops: vec![(0, 0); f.num_ops()], values: vec![None; f.num_values()] };
        for p in &f.params {
            l.define(p.value, 0);
        }
        let mut next = 1;
        l.number(f, f.body, &mut next);
        f.walk(|_, op| f.kind(op).for_each_operand(|v| l.extend(f, &scopes, v, op)));
        l
    }

    fn number(&mut self, f: &Function, block: Block, next: &mut u32) {
        for &op in &f.block(block).ops {
            let start = *next;
            *next += 1;
            for nested in f.kind(op).blocks() {
                for &arg in &f.block(nested).args {
                    self.define(arg, start);
                }
                self.number(f, nested, next);
            }
            // Results exist from the end of the op on.
            let end = if f.kind(op).blocks().is_empty() { start } else { *next };
            *next = (*next).max(end + 1);
            self.ops[op.as_u32() as usize] = (start, end);
            for &r in &f.op(op).results {
                self.define(r, end);
            }
        }
    }

    fn define(&mut self, v: Value, at: u32) {
        self.values[v.as_u32() as usize] = Some(Interval { from: at, to: at });
    }

    fn extend(&mut self, f: &Function, scopes: &Scopes, v: Value, user: Op) {
        let home = match f.value(v).def {
            ValueDef::Param(_) => Some(f.body),
            ValueDef::Arg(block, _) => Some(block),
            ValueDef::Result(op, _) => scopes.block_of(op),
        };
        // The op around the use in the value's own block: to its end, if the use is inside.
        let Some(at) = home.and_then(|b| scopes.ancestor_in(user, b)) else { return };
        let (start, end) = self.ops[at.as_u32() as usize];
        let to = if at == user { start } else { end };
        if let Some(interval) = &mut self.values[v.as_u32() as usize] {
            interval.to = interval.to.max(to);
        }
    }

    /// The interval of a value; `None` if it is not defined in the function.
    pub fn interval(&self, v: Value) -> Option<Interval> {
        self.values.get(v.as_u32() as usize).copied().flatten()
    }

    /// The number of an op.
    pub fn number_of(&self, op: Op) -> u32 {
        self.ops[op.as_u32() as usize].0
    }

    /// Whether two values are needed at one time.
    pub fn interferes(&self, a: Value, b: Value) -> bool {
        matches!((self.interval(a), self.interval(b)), (Some(a), Some(b)) if a.overlaps(b))
    }

    /// The largest sum of sizes of values that are needed at one time.
    pub fn peak(&self, size: impl Fn(Value) -> u64) -> u64 {
        let mut events: Vec<(u32, bool, u64)> = Vec::new();
        for (i, interval) in self.values.iter().enumerate() {
            if let Some(i2) = interval.filter(|i| i.to > i.from) {
                let bytes = size(Value::from_u32(i as u32));
                events.push((i2.from, true, bytes));
                events.push((i2.to, false, bytes));
            }
        }
        // At one number, what ends makes room first.
        events.sort_unstable();
        let (mut now, mut peak) = (0, 0);
        for (_, begins, bytes) in events {
            now = if begins { now + bytes } else { now - bytes };
            peak = peak.max(now);
        }
        peak
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse_function;

    #[test]
    fn values_used_in_a_loop_live_to_its_end() {
        let text = "
kernel @k(%x: view<1d, f32> read, %o: view<1d, f32> write, %n: i64) {
  %z = constant 0 : i64
  %a = load %x[%z] : tile<8xf32>
  %b = exp %a
  %r = for %i = %z to %n step %n iter(%c = %b) {
    %d = add %c, %a
    %e = mul %d, %d
    yield %e
  }
  store %r, %o[%z]
  return
}";
        let f = parse_function(text, "k.tile").unwrap();
        let l = Liveness::compute(&f);
        let named = |name: &str| {
            (0..f.num_values() as u32).map(Value::from_u32).find(|&v| f.value(v).name.as_deref() == Some(name)).unwrap()
        };
        let [a, b, c, d, e, r] = ["a", "b", "c", "d", "e", "r"].map(named);
        // %a is read in every iteration; %b only before the first.
        assert!(l.interferes(a, d) && l.interferes(a, e));
        assert!(!l.interferes(b, d) && !l.interferes(d, e) && !l.interferes(a, r));
        assert!(l.interferes(a, c));
        let tile = |v: Value| f.ty(v).tile().map_or(0, |t| t.count());
        // %a with one of %b, %c, %d, %e.
        assert_eq!(l.peak(tile), 16);
        assert!(l.interval(r).is_some_and(|i| i.to > i.from));
    }
}
