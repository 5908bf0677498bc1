//! How often each value is used.

use crate::function::{Function, Value};

/// Number of uses of each value, as operands of the ops that stand in the function.
#[derive(Clone, Debug)]
pub struct Uses {
    counts: Vec<u32>,
}

impl Uses {
    /// Counts the uses of a function's values.
    pub fn compute(f: &Function) -> Self {
        let mut counts = vec![0; f.num_values()];
        f.walk(|_, op| f.kind(op).for_each_operand(|v| counts[v.as_u32() as usize] += 1));
        Self { counts }
    }

    /// Number of uses; 0 for a value made after the analysis.
    pub fn count(&self, v: Value) -> u32 {
        self.counts.get(v.as_u32() as usize).copied().unwrap_or(0)
    }
}
