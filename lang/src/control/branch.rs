//! `if`: decided at build time by a `bool`, on the device by a scalar.

use std::panic::Location;

use tegula_ir::ops::OpKind;
use tegula_ir::{Block, Value};

use super::carry::{Carries, Slots, Staged, Watch, Watches, flatten, refill};
use super::flag::{Flag, Go};
use super::loops::{DeviceWhile, HostWhile, WhileTest};
use crate::context::{self, Handle, OpenBlock, error_at};
use crate::tile::Scalar;

/// What can stand as the condition of `if`: a `bool` decides at build time, a `Scalar<bool>` on the
/// device.
#[diagnostic::on_unimplemented(
    message = "a condition must be one truth value, found `{Self}`",
    label = "`bool` or `Scalar<bool>` is needed here",
    note = "for a choice per element use `select(cond, a, b)`; to ask about a whole tile use `.any_all()` or `.all_all()`"
)]
pub trait Condition {
    /// Drives an `if` with this condition.
    type If: If;

    /// Starts an `if`.
    #[track_caller]
    fn begin(self) -> Self::If;
}

/// What can stand as the condition of `while`.
#[diagnostic::on_unimplemented(
    message = "a condition must be one truth value, found `{Self}`",
    label = "`bool` or `Scalar<bool>` is needed here",
    note = "to ask about a whole tile use `.any_all()` or `.all_all()`"
)]
pub trait LoopCondition: Sized {
    /// Drives a `while` with this condition.
    type While: WhileTest<Self>;
}

#[diagnostic::do_not_recommend]
impl LoopCondition for bool {
    type While = HostWhile;
}

#[diagnostic::do_not_recommend]
impl LoopCondition for Scalar<bool> {
    type While = DeviceWhile;
}

/// The two branches of an `if`, in order.
pub trait If {
    /// Starts the first branch; whether it is built.
    #[track_caller]
    fn then(&mut self) -> bool;

    /// Ends the first branch and starts the second; whether it is built.
    #[track_caller]
    fn otherwise(&mut self) -> bool;
}

/// Drivers of `if` whose branches give values of type `V`.
pub trait IfValue<V>: If {
    /// Ends the second branch and gives the value of the `if`.
    #[track_caller]
    fn finish(&mut self, values: Branches<V>) -> V;
}

/// The values of the branches built.
#[derive(Debug)]
pub struct Branches<V> {
    then: Option<V>,
    otherwise: Option<V>,
}

impl<V> Branches<V> {
    /// No branch built yet.
    #[must_use]
    pub fn new() -> Self {
        Self { then: None, otherwise: None }
    }

    /// The value of the first branch.
    pub fn then(&mut self, value: V) {
        self.then = Some(value);
    }

    /// The value of the second branch.
    pub fn otherwise(&mut self, value: V) {
        self.otherwise = Some(value);
    }
}

impl<V> Default for Branches<V> {
    fn default() -> Self {
        Self::new()
    }
}

/// An `if` decided at build time.
#[derive(Debug)]
pub struct HostIf(bool);

#[diagnostic::do_not_recommend]
impl Condition for bool {
    type If = HostIf;

    fn begin(self) -> HostIf {
        HostIf(self)
    }
}

impl If for HostIf {
    fn then(&mut self) -> bool {
        self.0
    }

    fn otherwise(&mut self) -> bool {
        !self.0
    }
}

impl<V> IfValue<V> for HostIf {
    fn finish(&mut self, values: Branches<V>) -> V {
        values.then.or(values.otherwise).expect("one of the branches has run")
    }
}

impl<A: ?Sized> Carries<A> for HostIf {
    fn carry(&mut self, _: &mut A) {}
}

impl Watches for HostIf {}

/// An `if` decided on the device, or by a flag that may be known.
#[derive(Debug)]
pub struct DeviceIf {
    cond: Scalar<bool>,
    /// The branch taken, where it is known after all.
    known: Option<bool>,
    at: &'static Location<'static>,
    phase: Phase,
    /// The blocks of the two branches; `None` outside of a kernel.
    blocks: Option<(Block, Block)>,
    open: Option<OpenBlock>,
    then_scopes: Vec<u32>,
    before: Slots,
    after_then: Slots,
    after_else: Slots,
    results: Slots,
    watch: Watch,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Before,
    Then,
    Else,
    Done,
}

impl DeviceIf {
    #[track_caller]
    fn new(cond: Scalar<bool>, known: Option<bool>) -> Self {
        Self {
            cond,
            known,
            at: Location::caller(),
            phase: Phase::Before,
            blocks: context::with(|b| (b.make_block([]), b.make_block([]))),
            open: None,
            then_scopes: Vec::new(),
            before: Slots::default(),
            after_then: Slots::default(),
            after_else: Slots::default(),
            results: Slots::default(),
            watch: Watch::default(),
        }
    }

    /// Ends both branches and emits the op. `then` and `otherwise` are the values at the ends of the branches,
    /// in order; gives the values after the `if`.
    fn emit(&mut self, then: &[Handle], otherwise: &[Handle]) -> Vec<Handle> {
        let mut results = vec![Handle::POISON; then.len()];
        let (Some((then_block, else_block)), Some(open)) = (self.blocks, self.open.take()) else { return results };
        let (at, cond) = (self.at, self.cond.handle());
        let then_scopes = std::mem::take(&mut self.then_scopes);
        context::with(|b| {
            if then.len() != otherwise.len() {
                b.report(
                    error_at(at, "a variable has another number of tiles after one branch than after the other")
                        .help("an `Option` or `Vec` must have the same form in both"),
                );
            }
            let else_scopes = b.replace_scopes(then_scopes);
            let then_values: Vec<_> = then.iter().map(|&h| b.value(h, at)).collect();
            b.replace_scopes(else_scopes);
            let else_values: Vec<_> = otherwise.iter().map(|&h| b.value(h, at)).collect();
            // Where both branches leave the same value, the `if` need not give it.
            let mut yields: Vec<(usize, Value, Value)> = Vec::new();
            for (i, pair) in then_values.into_iter().zip(else_values).enumerate() {
                match pair {
                    (Some(t), Some(e)) if t == e => results[i] = then[i],
                    (Some(t), Some(e)) => yields.push((i, t, e)),
                    _ => {}
                }
            }
            b.op(OpKind::Yield { values: yields.iter().map(|y| y.2).collect() }, at);
            b.builder.switch_to(then_block);
            b.op(OpKind::Yield { values: yields.iter().map(|y| y.1).collect() }, at);
            b.close(open);
            let Some(cond) = b.value(cond, at) else { return };
            if let Some(values) = b.op(OpKind::If { cond, then_block, else_block }, at) {
                for (&(i, ..), h) in yields.iter().zip(values) {
                    results[i] = h;
                }
            }
        });
        results
    }
}

#[diagnostic::do_not_recommend]
impl Condition for Scalar<bool> {
    type If = DeviceIf;

    #[track_caller]
    fn begin(self) -> DeviceIf {
        DeviceIf::new(self, None)
    }
}

#[diagnostic::do_not_recommend]
impl Condition for Go {
    type If = DeviceIf;

    #[track_caller]
    fn begin(self) -> DeviceIf {
        match self.0 {
            Flag::Known(go) => DeviceIf::new(Scalar::new(Handle::POISON), Some(go)),
            Flag::Device(go) => DeviceIf::new(go, None),
        }
    }
}

impl If for DeviceIf {
    fn then(&mut self) -> bool {
        self.phase = Phase::Then;
        if let Some(known) = self.known {
            return known;
        }
        self.open = self.blocks.and_then(|(block, _)| context::with(|b| b.open(block)));
        true
    }

    fn otherwise(&mut self) -> bool {
        self.phase = Phase::Else;
        if let Some(known) = self.known {
            return !known;
        }
        if let (Some((_, else_block)), Some(open)) = (self.blocks, self.open) {
            context::with(|b| {
                self.then_scopes = b.scopes();
                b.close(open);
                self.open = Some(b.open(else_block));
            });
        }
        true
    }
}

impl<V: Staged> IfValue<V> for DeviceIf {
    fn finish(&mut self, values: Branches<V>) -> V {
        self.phase = Phase::Done;
        let (mut then, mut otherwise) = match (values.then, values.otherwise) {
            (Some(t), Some(e)) => (t, e),
            (Some(v), None) | (None, Some(v)) => return v,
            (None, None) => unreachable!("a branch that the macro announced has run"),
        };
        let carried = self.after_then.handles.len();
        let mut then_handles = std::mem::take(&mut self.after_then.handles);
        then_handles.extend(flatten(&mut then));
        let mut else_handles = std::mem::take(&mut self.after_else.handles);
        else_handles.extend(flatten(&mut otherwise));
        let results = self.emit(&then_handles, &else_handles);
        refill(&mut then, results.get(carried..).unwrap_or(&[]));
        self.results.handles = results;
        then
    }
}

impl<A: Staged + ?Sized> Carries<A> for DeviceIf {
    fn carry(&mut self, variable: &mut A) {
        if self.known.is_some() {
            return;
        }
        match self.phase {
            Phase::Before => self.before.record(variable),
            Phase::Then => {
                self.after_then.record(variable);
                self.before.restore(variable);
            }
            Phase::Else => self.after_else.record(variable),
            Phase::Done => self.results.restore(variable),
        }
    }
}

impl Watches for DeviceIf {
    fn watch(&mut self, hash: u64) {
        match self.phase {
            _ if self.known.is_some() => {}
            Phase::Before => self.watch.begin(hash),
            Phase::Else => self.watch.end(hash),
            Phase::Then | Phase::Done => {}
        }
    }
}
