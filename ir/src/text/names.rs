//! Unique printed names of values.

use std::collections::HashMap;

use cranelift_entity::SecondaryMap;

use super::scalar::name_text;
use crate::function::{Block, Function, Value};

/// The printed name, with `%`, of each value of a function. Values are numbered in the order they are printed in:
/// the first of a name is `%name`, the next `%name.1`; those without a name are `%0`, `%1` and so on.
pub(super) struct Names {
    names: SecondaryMap<Value, String>,
}

impl Names {
    pub(super) fn new(f: &Function) -> Self {
        let mut assigner = Assigner { f, names: SecondaryMap::new(), used: HashMap::new(), unnamed: 0 };
        for p in &f.params {
            assigner.assign(p.value);
        }
        assigner.block(f.body);
        Self { names: assigner.names }
    }

    /// The printed name. A value that stands nowhere in the body (the function is invalid then) is shown by its
    /// index, in a form that does not parse.
    pub(super) fn get(&self, value: Value) -> String {
        let name = &self.names[value];
        if name.is_empty() { format!("%?{value}") } else { name.clone() }
    }
}

struct Assigner<'a> {
    f: &'a Function,
    names: SecondaryMap<Value, String>,
    used: HashMap<&'a str, u32>,
    unnamed: u32,
}

impl Assigner<'_> {
    fn block(&mut self, block: Block) {
        for &arg in &self.f.block(block).args {
            self.assign(arg);
        }
        for &op in &self.f.block(block).ops {
            for &result in &self.f.op(op).results {
                self.assign(result);
            }
            for nested in self.f.kind(op).blocks() {
                self.block(nested);
            }
        }
    }

    fn assign(&mut self, value: Value) {
        self.names[value] = match self.f.value(value).name.as_deref() {
            None => {
                self.unnamed += 1;
                format!("%{}", self.unnamed - 1)
            }
            Some(name) => {
                let uses = self.used.entry(name).or_default();
                *uses += 1;
                match *uses - 1 {
                    0 => format!("%{}", name_text(name)),
                    n => format!("%{}.{n}", name_text(name)),
                }
            }
        };
    }
}
