//! `for`, `while` and `loop`.
//!
//! A driver of the device runs the user's block once: before it, each announced variable becomes an argument of
//! the region; after it, what the variables then hold is yielded; at last they become the results.

use std::panic::Location;

use tegula_ir::Block;
use tegula_ir::function::ValueDef;
use tegula_ir::literal::Literal;
use tegula_ir::ops::{BinaryOp, CmpOp, OpKind, Values};

use super::branch::LoopCondition;
use super::carry::{Carries, Staged, Watch, Watches};
use super::flag::Flag;
use super::range::{DeviceRange, scalar_of};
use crate::context::{self, Build, Handle, OpenBlock, error_at};
use crate::elem::{AnyElem, Int};
use crate::tile::Scalar;

/// A `for` loop.
pub trait Loop {
    /// What the pattern is bound to.
    type Item;

    /// The next round, if there is one.
    #[track_caller]
    fn next(&mut self) -> Option<Self::Item>;

    /// As [`Loop::next`], for a loop whose body contains a `break`: `flag` says whether it was taken.
    #[track_caller]
    fn next_unless(&mut self, flag: &mut Flag) -> Option<Self::Item>;
}

/// A `for` loop at build time.
#[derive(Debug)]
pub struct HostFor<I> {
    iter: I,
}

impl<I> HostFor<I> {
    pub(crate) fn new(iter: I) -> Self {
        Self { iter }
    }
}

impl<I: Iterator> Loop for HostFor<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.iter.next()
    }

    fn next_unless(&mut self, flag: &mut Flag) -> Option<I::Item> {
        if matches!(flag, Flag::Known(true)) { None } else { self.iter.next() }
    }
}

impl<I, A: ?Sized> Carries<A> for HostFor<I> {
    fn carry(&mut self, _: &mut A) {}
}

impl<I> Watches for HostFor<I> {}

/// The carried variables of a region: their initial values, what stands for them inside, what is yielded.
#[derive(Debug, Default)]
struct Carried {
    /// For each tile and scalar of the variables, its number among the region's values, or `None` for poison.
    numbers: Vec<Option<usize>>,
    init: Values,
    before: Vec<Handle>,
    inside: Vec<Handle>,
    yields: Values,
    results: Vec<Handle>,
    cursor: usize,
}

impl Carried {
    /// Takes the variable's values as initial ones and puts new arguments of the blocks in their place: those of
    /// the first, which is open.
    fn enter(
        &mut self,
        variable: &mut (impl Staged + ?Sized),
        blocks: &[Block],
        open: Option<OpenBlock>,
        at: &Location<'_>,
    ) {
        if let Some(open) = open {
            // A flag known at build time becomes a value when visited: before the loop, not in it.
            let paused = context::with(|b| b.pause(open));
            variable.visit(&mut |_| {});
            paused.map(|paused| context::with(|b| b.resume(paused)));
        }
        variable.visit(&mut |h| {
            let number = context::with(|b| {
                let value = b.value(*h, at)?;
                let ty = b.ty(value);
                let args: Vec<_> =
                    blocks.iter().map(|&block| b.builder.func.add_block_arg(block, ty.clone())).collect();
                self.init.push(value);
                self.before.push(*h);
                let arg = args.first().map_or(Handle::POISON, |&arg| b.handle(arg));
                self.inside.push(arg);
                *h = arg;
                Some(self.init.len() - 1)
            });
            self.numbers.push(number.flatten());
        });
        self.cursor = 0;
    }

    /// Takes what the variable now holds as the next value.
    fn leave(&mut self, variable: &mut (impl Staged + ?Sized), at: &Location<'_>) {
        variable.visit(&mut |h| {
            let number = self.numbers.get(self.cursor).copied().flatten();
            self.cursor += 1;
            let Some(number) = number else { return };
            // A poisoned value has been reported: go on with the old one.
            let value = context::with(|b| b.value(*h, at).or_else(|| b.value(self.inside[number], at))).flatten();
            self.yields.extend(value);
        });
    }

    /// Puts the results, or what stands inside of the region, into the variable.
    fn put(&mut self, variable: &mut (impl Staged + ?Sized), results: bool) {
        let (values, cursor) = (if results { &self.results } else { &self.inside }, &mut self.cursor);
        let numbers = &self.numbers;
        variable.visit(&mut |h| {
            let number = numbers.get(*cursor).copied().flatten();
            *cursor += 1;
            *h = number.and_then(|n| values.get(n)).copied().unwrap_or(Handle::POISON);
        });
    }

    /// Takes values that a body never changes out of it: `body` has `first` arguments before the carried ones.
    /// Gives which of the values stay.
    fn drop_unchanged(&mut self, b: &mut Build, body: Block, first: usize) -> Vec<bool> {
        let args: Values = b.builder.func.block(body).args.iter().copied().collect();
        let changed: Vec<bool> = self.yields.iter().zip(&args[first..]).map(|(y, a)| y != a).collect();
        if changed.iter().all(|&c| c) {
            return changed;
        }
        let func = &mut b.builder.func;
        let mut ops = Vec::new();
        func.walk_block(body, &mut |_, op| ops.push(op));
        for op in ops {
            func.op_mut(op).kind.for_each_operand_mut(|v| {
                if let Some(i) = args[first..].iter().position(|a| a == v)
                    && !changed[i]
                {
                    *v = self.init[i];
                }
            });
        }
        let keep = |i: &usize| *i < first || changed[*i - first];
        let kept: Values = (0..args.len()).filter(keep).map(|i| args[i]).collect();
        for (i, &arg) in kept.iter().enumerate() {
            func.value_mut(arg).def = ValueDef::Arg(body, i as u32);
        }
        func.block_mut(body).args = kept;
        let only =
            |values: &Values| -> Values { values.iter().zip(&changed).filter(|(_, c)| **c).map(|(v, _)| *v).collect() };
        self.init = only(&self.init);
        self.yields = only(&self.yields);
        changed
    }

    /// The results for all values, given those of the ones that stayed.
    fn set_results(&mut self, changed: &[bool], results: &[Handle]) {
        let mut results = results.iter();
        self.results = changed
            .iter()
            .zip(&self.before)
            .map(|(&c, &before)| if c { results.next().copied().unwrap_or(Handle::POISON) } else { before })
            .collect();
    }

    /// Reports variables whose form changed in the body, so that yields are missing.
    fn check(&self, b: &mut Build, at: &Location<'_>) -> bool {
        let good = self.cursor == self.numbers.len() && self.yields.len() == self.init.len();
        if !good {
            b.report(
                error_at(at, "a variable has another number of tiles at the end of the loop than at its start")
                    .help("an `Option` or `Vec` must keep its form in a loop that runs on the device"),
            );
        }
        good
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Start,
    Enter,
    Body,
    Done,
}

/// A `for` loop that runs on the device.
#[derive(Debug)]
pub struct DeviceFor<T: AnyElem> {
    range: DeviceRange<T>,
    phase: Phase,
    /// The body, and for a loop with `break` the condition block of the `while` it becomes.
    blocks: Vec<Block>,
    iv: Handle,
    open: Option<OpenBlock>,
    carried: Carried,
    watch: Watch,
}

impl<T: Int> DeviceFor<T> {
    pub(crate) fn new(range: DeviceRange<T>, breaks: bool) -> Self {
        let ty = tegula_ir::Type::scalar(T::TYPE);
        let made = context::with(|b| {
            let body = b.make_block([ty.clone()]);
            let mut blocks = vec![body];
            if breaks {
                blocks.push(b.make_block([ty]));
            }
            let open = b.open(body);
            let iv = b.builder.func.block(body).args[0];
            (blocks, open, b.handle(iv))
        });
        let (blocks, open, iv) = match made {
            Some((blocks, open, iv)) => (blocks, Some(open), iv),
            None => (Vec::new(), None, Handle::POISON),
        };
        Self { range, phase: Phase::Start, blocks, iv, open, carried: Carried::default(), watch: Watch::default() }
    }

    fn finish(&mut self) -> Option<()> {
        let at = self.range.at;
        let open = self.open.take()?;
        let DeviceRange { lower, upper, step, hints, .. } = self.range;
        let carried = &mut self.carried;
        context::with(|b| {
            let good = carried.check(b, at);
            let (lower, upper, step) =
                (b.value(lower.handle(), at), b.value(upper.handle(), at), b.value(step.handle(), at));
            let bounds = lower.zip(upper).zip(step);
            let Some(((lower, upper), step)) = bounds.filter(|_| good) else {
                b.close(open);
                return;
            };
            let results: Option<crate::context::Handles> = match *self.blocks {
                [body] => {
                    let changed = carried.drop_unchanged(b, body, 1);
                    b.op(OpKind::Yield { values: carried.yields.clone() }, at);
                    b.close(open);
                    let results = b.op(OpKind::For { lower, upper, step, init: carried.init.clone(), body, hints }, at);
                    carried.set_results(&changed, results.as_deref().unwrap_or(&[]));
                    return;
                }
                [body, cond] => {
                    // `while iv < upper && !flag`: the flag is the first carried value.
                    let iv = b.value(self.iv, at);
                    let next = iv.and_then(|iv| b.op(OpKind::Binary { op: BinaryOp::Add, a: iv, b: step }, at));
                    let next = next.and_then(|r| b.value(r[0], at));
                    let mut yields = Values::new();
                    yields.extend(next);
                    yields.extend(carried.yields.iter().copied());
                    b.op(OpKind::Yield { values: yields }, at);
                    b.close(open);
                    condition(b, cond, upper, at);
                    let mut init = Values::new();
                    init.push(lower);
                    init.extend(carried.init.iter().copied());
                    b.op(OpKind::While { init, cond, body }, at).map(|r| r.into_iter().skip(1).collect())
                }
                _ => None,
            };
            carried.results = results.map(|r| r.to_vec()).unwrap_or_default();
        })
    }
}

/// Fills the condition block of a `for` loop with `break`, whose arguments are the counter, the flag and the
/// variables.
fn condition(b: &mut Build, cond: Block, upper: tegula_ir::Value, at: &Location<'_>) {
    let args: Values = b.builder.func.block(cond).args.iter().copied().collect();
    let open = b.open(cond);
    for &arg in &args {
        b.handle(arg);
    }
    let value = |b: &mut Build, kind| b.op(kind, at).and_then(|r| b.value(r[0], at));
    let below = value(b, OpKind::Compare { op: CmpOp::Lt, a: args[0], b: upper });
    let go = value(b, OpKind::Unary { op: tegula_ir::ops::UnaryOp::Not, x: args[1], fast: false });
    if let Some((x, y)) = below.zip(go)
        && let Some(cond) = value(b, OpKind::Binary { op: BinaryOp::And, a: x, b: y })
    {
        b.op(OpKind::Condition { cond, values: args }, at);
    }
    b.close(open);
}

impl<T: Int> Loop for DeviceFor<T> {
    type Item = Scalar<T>;

    fn next(&mut self) -> Option<Scalar<T>> {
        if self.phase == Phase::Start {
            self.phase = Phase::Body;
            return Some(scalar_of(self.iv));
        }
        self.phase = Phase::Done;
        self.finish();
        self.carried.cursor = 0;
        None
    }

    fn next_unless(&mut self, flag: &mut Flag) -> Option<Scalar<T>> {
        let next = self.next();
        if next.is_some() {
            // The condition of the loop has seen to it.
            *flag = Flag::Known(false);
        }
        next
    }
}

impl<T: Int, A: Staged + ?Sized> Carries<A> for DeviceFor<T> {
    fn carry(&mut self, variable: &mut A) {
        match self.phase {
            Phase::Start | Phase::Enter => self.carried.enter(variable, &self.blocks, self.open, self.range.at),
            Phase::Body => self.carried.leave(variable, self.range.at),
            Phase::Done => self.carried.put(variable, true),
        }
    }
}

impl<T: Int> Watches for DeviceFor<T> {
    fn watch(&mut self, hash: u64) {
        match self.phase {
            Phase::Start => self.watch.begin(hash),
            Phase::Body => self.watch.end(hash),
            Phase::Enter | Phase::Done => {}
        }
    }
}

/// A `while` loop. In one round the driver is asked in this order: the variables are announced, `done`, `test`,
/// the variables are announced, `enter`, the body.
pub trait While {
    /// Whether the loop is complete: a loop on the device is after one round.
    #[track_caller]
    fn done(&mut self) -> bool;

    /// Starts the body.
    fn enter(&mut self, flag: &mut Flag);
}

/// A `while` loop with conditions of type `C`.
pub trait WhileTest<C>: While {
    /// Whether the body is built, given the condition and the flag of `break`.
    #[track_caller]
    fn test(&mut self, cond: C, flag: Flag) -> bool;
}

/// Starts a `while` loop; the closure gives the type of its condition and is not called.
#[track_caller]
pub fn while_loop<C: LoopCondition>(_: impl Fn() -> C) -> C::While
where
    C::While: NewWhile,
{
    C::While::new()
}

/// Starts a `loop`, which always runs on the device.
#[track_caller]
pub fn forever() -> DeviceWhile {
    DeviceWhile::new()
}

/// The condition of a `loop`.
#[track_caller]
pub fn always() -> Scalar<bool> {
    crate::literal::typed(true)
}

/// Makes a driver of `while`.
pub trait NewWhile {
    /// A new driver.
    #[track_caller]
    fn new() -> Self;
}

/// A `while` loop at build time.
#[derive(Debug)]
pub struct HostWhile {
    at: &'static Location<'static>,
}

impl NewWhile for HostWhile {
    #[track_caller]
    fn new() -> Self {
        Self { at: Location::caller() }
    }
}

impl While for HostWhile {
    fn done(&mut self) -> bool {
        false
    }

    fn enter(&mut self, _: &mut Flag) {}
}

impl WhileTest<bool> for HostWhile {
    fn test(&mut self, cond: bool, flag: Flag) -> bool {
        match flag {
            Flag::Known(taken) => cond && !taken,
            Flag::Device(_) => {
                let at = self.at;
                context::with(|b| {
                    b.report(
                        error_at(at, "this loop runs at build time, but a condition of the device leaves it").help(
                            "make the condition of the loop a `Scalar<bool>`, so that the loop runs on the device",
                        ),
                    );
                });
                false
            }
        }
    }
}

impl<A: ?Sized> Carries<A> for HostWhile {
    fn carry(&mut self, _: &mut A) {}
}

impl Watches for HostWhile {}

/// A `while` or `loop` that runs on the device.
#[derive(Debug)]
pub struct DeviceWhile {
    at: &'static Location<'static>,
    phase: Phase,
    /// The condition and the body.
    blocks: Vec<Block>,
    open: Option<OpenBlock>,
    carried: Carried,
    watch: Watch,
}

impl NewWhile for DeviceWhile {
    #[track_caller]
    fn new() -> Self {
        let made = context::with(|b| {
            let blocks = vec![b.make_block([]), b.make_block([])];
            let open = b.open(blocks[0]);
            (blocks, open)
        });
        let (blocks, open) = made.unzip();
        Self {
            at: Location::caller(),
            phase: Phase::Start,
            blocks: blocks.unwrap_or_default(),
            open,
            carried: Carried::default(),
            watch: Watch::default(),
        }
    }
}

impl DeviceWhile {
    /// Ends the condition and opens the body.
    fn begin_body(&mut self, cond: Handle) -> Option<()> {
        let at = self.at;
        let (&[cond_block, body], open) = (&self.blocks[..], self.open.take()?) else { return None };
        let opened = context::with(|b| {
            let values: Values = b.builder.func.block(cond_block).args.iter().copied().collect();
            let cond = b.value(cond, at);
            let cond = match cond {
                Some(c) => Some(c),
                // The condition has been reported: any will do to go on.
                None => b
                    .op(OpKind::Constant { value: Literal::Bool(false), ty: tegula_ir::Type::BOOL }, at)
                    .and_then(|r| b.value(r[0], at)),
            };
            if let Some(cond) = cond {
                b.op(OpKind::Condition { cond, values }, at);
            }
            b.close(open);
            let open = b.open(body);
            let args: Values = b.builder.func.block(body).args.iter().copied().collect();
            let inside = args.into_iter().map(|v| b.handle(v)).collect();
            (open, inside)
        });
        let (open, inside) = opened?;
        self.open = Some(open);
        self.carried.inside = inside;
        Some(())
    }

    fn finish(&mut self) -> Option<()> {
        let at = self.at;
        let (&[cond, body], open) = (&self.blocks[..], self.open.take()?) else { return None };
        let carried = &mut self.carried;
        context::with(|b| {
            let good = carried.check(b, at);
            b.op(OpKind::Yield { values: carried.yields.clone() }, at);
            b.close(open);
            if good {
                let results = b.op(OpKind::While { init: carried.init.clone(), cond, body }, at);
                carried.results = results.map(|r| r.to_vec()).unwrap_or_default();
            }
        })
    }
}

impl While for DeviceWhile {
    fn done(&mut self) -> bool {
        if self.phase == Phase::Start {
            return false;
        }
        self.phase = Phase::Done;
        self.finish();
        self.carried.cursor = 0;
        true
    }

    fn enter(&mut self, flag: &mut Flag) {
        self.phase = Phase::Body;
        self.carried.cursor = 0;
        *flag = Flag::Known(false);
    }
}

impl WhileTest<Scalar<bool>> for DeviceWhile {
    fn test(&mut self, cond: Scalar<bool>, flag: Flag) -> bool {
        let cond = match flag {
            Flag::Known(false) => cond,
            flag => cond & !flag.scalar(),
        };
        self.phase = Phase::Enter;
        self.begin_body(cond.handle());
        self.carried.cursor = 0;
        true
    }
}

impl<A: Staged + ?Sized> Carries<A> for DeviceWhile {
    fn carry(&mut self, variable: &mut A) {
        match self.phase {
            Phase::Start => self.carried.enter(variable, &self.blocks, self.open, self.at),
            Phase::Enter => self.carried.put(variable, false),
            Phase::Body => self.carried.leave(variable, self.at),
            Phase::Done => self.carried.put(variable, true),
        }
    }
}

impl Watches for DeviceWhile {
    fn watch(&mut self, hash: u64) {
        match self.phase {
            Phase::Start => self.watch.begin(hash),
            Phase::Body => self.watch.end(hash),
            Phase::Enter | Phase::Done => {}
        }
    }
}
