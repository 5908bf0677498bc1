//! Axis information: contiguity, constancy and divisibility of integer and pointer values along each axis of a tile,
//! and of the extents and strides of views. It decides how wide memory accesses may be.
//!
//! | file | subject |
//! |---|---|
//! | `facts` | what can be known of one value or view |
//! | `transfer` | what each op makes of what is known of its operands |
//! | `access` | what follows for a memory access |

mod access;
mod facts;
mod transfer;

pub use access::AccessFacts;
pub use facts::{AxisFacts, Facts, ViewFacts};

use cranelift_entity::SecondaryMap;

use crate::function::{Block, Function, ParamKind, Value};
use crate::ops::OpKind;
use crate::types::Type;
use facts::power_of_two_divisor;

/// The axis information of a function, as it was when computed.
#[derive(Clone, Debug)]
pub struct AxisInfo {
    facts: SecondaryMap<Value, Option<Facts>>,
    views: SecondaryMap<Value, Option<ViewFacts>>,
}

impl AxisInfo {
    /// Computes the facts of every value of the function.
    pub fn compute(f: &Function) -> Self {
        let mut info = Self { facts: SecondaryMap::new(), views: SecondaryMap::new() };
        for param in &f.params {
            info.param(param.value, &param.kind);
        }
        info.block(f, f.body);
        info
    }

    /// What is known of a scalar or a tile; nothing where the value is of floats or was made after the analysis.
    pub fn value(&self, f: &Function, value: Value) -> Facts {
        self.facts[value].clone().unwrap_or_else(|| Facts::unknown(f.ty(value).shape().map_or(0, <[u32]>::len)))
    }

    /// What is known of a view.
    pub fn view(&self, f: &Function, value: Value) -> ViewFacts {
        self.views[value].clone().unwrap_or_else(|| match f.ty(value) {
            Type::View { elem, rank } => ViewFacts {
                base: Facts::scalar(u64::from(elem.memory_bytes().unwrap_or(1))),
                extents: (0..*rank).map(|_| Facts::scalar(1)).collect(),
                strides: (0..*rank).map(|_| Facts::scalar(1)).collect(),
            },
            _ => ViewFacts { base: Facts::scalar(1), extents: Default::default(), strides: Default::default() },
        })
    }

    fn param(&mut self, value: Value, kind: &ParamKind) {
        match kind {
            ParamKind::Scalar { elem, divisor } if elem.is_int() => {
                self.facts[value] = Some(Facts::scalar(u64::from((*divisor).max(1))));
            }
            ParamKind::Scalar { .. } => {}
            ParamKind::Ptr { elem, align } => {
                let natural = elem.memory_bytes().unwrap_or(1);
                self.facts[value] = Some(Facts::scalar(u64::from((*align).max(natural))));
            }
            ParamKind::View { elem, rank, spec, .. } => {
                let natural = elem.memory_bytes().unwrap_or(1);
                let divisor = |list: &[u32], axis: u8| {
                    Facts::scalar(u64::from(list.get(usize::from(axis)).copied().unwrap_or(1).max(1)))
                };
                let stride = |axis| {
                    let unit = spec.unit_inner && axis + 1 == *rank;
                    if unit { Facts::constant(&[], 1) } else { divisor(&spec.stride_divisor, axis) }
                };
                self.views[value] = Some(ViewFacts {
                    base: Facts::scalar(power_of_two_divisor(u64::from(spec.align.max(natural)))),
                    extents: (0..*rank).map(|axis| divisor(&spec.extent_divisor, axis)).collect(),
                    strides: (0..*rank).map(stride).collect(),
                });
            }
        }
    }

    fn block(&mut self, f: &Function, block: Block) {
        for &op in &f.block(block).ops {
            let data = f.op(op);
            match &data.kind {
                OpKind::For { lower, upper: _, step, init, body, .. } => {
                    let args = &f.block(*body).args;
                    let divisor = self.value(f, *lower).divisibility.min(self.value(f, *step).divisibility);
                    self.facts[args[0]] = Some(Facts::scalar(divisor));
                    self.repeat(f, init, &args[1..], *body, |info| info.block(f, *body));
                    for (&result, &arg) in data.results.iter().zip(&args[1..]) {
                        self.copy(f, arg, result);
                    }
                }
                OpKind::While { init, cond, body } => {
                    let (carried, passed) = (&f.block(*cond).args, &f.block(*body).args);
                    self.repeat(f, init, carried, *body, |info| {
                        info.block(f, *cond);
                        for (from, &to) in terminator_values(f, *cond).into_iter().zip(passed) {
                            info.copy(f, from, to);
                        }
                        info.block(f, *body);
                    });
                    for (&result, &arg) in data.results.iter().zip(passed) {
                        self.copy(f, arg, result);
                    }
                }
                OpKind::If { then_block, else_block, .. } => {
                    self.block(f, *then_block);
                    self.block(f, *else_block);
                    let yields = terminator_values(f, *then_block).into_iter().zip(terminator_values(f, *else_block));
                    for (&result, (a, b)) in data.results.iter().zip(yields) {
                        self.copy(f, a, result);
                        self.join(f, b, result);
                    }
                }
                OpKind::MakeView { base, extents, strides } => {
                    let all = |values: &[Value]| values.iter().map(|&v| self.value(f, v)).collect();
                    let view = ViewFacts { base: self.value(f, *base), extents: all(extents), strides: all(strides) };
                    self.views[data.results[0]] = Some(view);
                }
                kind => {
                    if let Some(facts) = transfer::result_facts(self, f, kind) {
                        self.facts[data.results[0]] = Some(facts);
                    }
                }
            }
        }
    }

    /// Runs `body` until what is known of the carried values holds of their initial and of all later values.
    fn repeat(&mut self, f: &Function, init: &[Value], args: &[Value], body: Block, mut run: impl FnMut(&mut Self)) {
        for (&from, &to) in init.iter().zip(args) {
            self.copy(f, from, to);
        }
        // Facts only get weaker, so this ends.
        loop {
            run(self);
            let yields = terminator_values(f, body);
            let mut changed = false;
            for (from, &to) in yields.into_iter().zip(args) {
                changed |= self.join(f, from, to);
            }
            if !changed {
                break;
            }
        }
    }

    fn copy(&mut self, f: &Function, from: Value, to: Value) {
        match f.ty(to) {
            Type::View { .. } => self.views[to] = Some(self.view(f, from)),
            _ => self.facts[to] = Some(self.value(f, from)),
        }
    }

    /// Weakens what is known of `to` to what also holds of `from`; says whether that changed anything.
    fn join(&mut self, f: &Function, from: Value, to: Value) -> bool {
        match f.ty(to) {
            Type::View { .. } => {
                let joined = self.view(f, to).join(&self.view(f, from));
                replace(&mut self.views[to], joined)
            }
            _ => {
                let joined = self.value(f, to).join(&self.value(f, from));
                replace(&mut self.facts[to], joined)
            }
        }
    }
}

fn replace<T: PartialEq>(slot: &mut Option<T>, new: T) -> bool {
    let changed = slot.as_ref() != Some(&new);
    *slot = Some(new);
    changed
}

/// The values that a nested block ends with.
fn terminator_values(f: &Function, block: Block) -> Vec<Value> {
    match f.terminator(block).map(|op| f.kind(op)) {
        Some(OpKind::Yield { values } | OpKind::Condition { values, .. }) => values.to_vec(),
        _ => Vec::new(),
    }
}
