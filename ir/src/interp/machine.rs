//! Runs the programs of a grid: blocks and control flow, and which function serves which op.

use std::rc::Rc;

use smallvec::{SmallVec, smallvec};

use super::buf::{Buf, Val, ViewVal};
use super::dot::{DotShape, dot};
use super::memory::{Addresses, Memory, element_bytes, gather_addresses, pointer_addresses, tile_addresses};
use super::reduce::Axes;
use super::shape::count;
use super::{elementwise, print, reduce, shape};
use crate::diag::Diagnostic;
use crate::function::{Block, Function, Op, Value};
use crate::literal::Literal;
use crate::numeric::{eval, int};
use crate::ops::{Address, AtomicOp, BinaryOp, CmpOp, Fact, OpKind};
use crate::types::{ScalarType, Type};

/// What bounds and steers a run.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Accumulate in `f64`.
    pub precise: bool,
    /// Work that may be done.
    pub work: u64,
}

type Stop = Box<Diagnostic>;
type Vals = SmallVec<[Val; 4]>;

/// How a block ended.
enum End {
    Yield(Vals),
    Condition(bool, Vals),
    Return,
}

/// A launch while it runs.
pub struct Machine<'f> {
    f: &'f Function,
    grid: [u32; 3],
    program: [u32; 3],
    memory: Memory,
    env: Vec<Option<Val>>,
    limits: Limits,
    work: u64,
    printed: String,
}

impl<'f> Machine<'f> {
    /// A launch that has not begun.
    pub fn new(f: &'f Function, grid: [u32; 3], memory: Memory, limits: Limits) -> Self {
        let env = vec![None; f.num_values()];
        Self { f, grid, program: [0; 3], memory, env, limits, work: 0, printed: String::new() }
    }

    /// Runs every program with these parameter values.
    pub fn run_grid(&mut self, params: &[Val]) -> Result<(), Stop> {
        for z in 0..self.grid[2] {
            for y in 0..self.grid[1] {
                for x in 0..self.grid[0] {
                    self.program = [x, y, z];
                    for (param, value) in self.f.params.iter().zip(params) {
                        self.env[index(param.value)] = Some(value.clone());
                    }
                    self.run_block(self.f.body)?;
                }
            }
        }
        Ok(())
    }

    /// The memory and what was printed.
    pub fn finish(self) -> (Memory, String) {
        (self.memory, self.printed)
    }

    fn error(&self, op: Op, message: impl Into<String>) -> Stop {
        let [x, y, z] = self.program;
        let loc = self.f.locs.get(self.f.op(op).loc);
        Box::new(Diagnostic::error(message).at(loc).note(format!("in program ({x}, {y}, {z})")))
    }

    fn spend(&mut self, op: Op, work: u64) -> Result<(), Stop> {
        self.work = self.work.saturating_add(work);
        if self.work > self.limits.work {
            let limit = self.limits.work;
            return Err(self.error(op, format!("the interpreter's work limit of {limit} is used up")));
        }
        Ok(())
    }

    fn val(&self, v: Value) -> Val {
        self.env[index(v)].clone().expect("a value defined before its use")
    }

    fn buf(&self, v: Value) -> Rc<Buf> {
        match self.val(v) {
            Val::Data(b) => b,
            Val::View(_) => unreachable!("{v} is a scalar or tile"),
        }
    }

    fn view(&self, v: Value) -> Rc<ViewVal> {
        match self.val(v) {
            Val::View(w) => w,
            Val::Data(_) => unreachable!("{v} is a view"),
        }
    }

    fn mask(&self, mask: Option<Value>) -> Option<Rc<Buf>> {
        mask.map(|m| self.buf(m))
    }

    fn int(&self, v: Value) -> i64 {
        self.buf(v).ints()[0]
    }

    fn vals(&self, values: &[Value]) -> Vals {
        values.iter().map(|&v| self.val(v)).collect()
    }

    fn shape(&self, v: Value) -> &'f [u32] {
        self.f.ty(v).shape().expect("a scalar or tile")
    }

    fn elem(&self, v: Value) -> ScalarType {
        self.f.ty(v).elem_scalar().expect("a value of numbers")
    }

    fn set_args(&mut self, block: Block, values: impl IntoIterator<Item = Val>) {
        for (&arg, value) in self.f.block(block).args.iter().zip(values) {
            self.env[index(arg)] = Some(value);
        }
    }

    fn run_block(&mut self, block: Block) -> Result<End, Stop> {
        for &op in &self.f.block(block).ops {
            match self.f.kind(op) {
                OpKind::Yield { values } => return Ok(End::Yield(self.vals(values))),
                OpKind::Condition { cond, values } => {
                    return Ok(End::Condition(self.buf(*cond).bools()[0], self.vals(values)));
                }
                OpKind::Return => return Ok(End::Return),
                _ => self.run_op(op)?,
            }
        }
        unreachable!("a block ends in a terminator")
    }

    fn run_yield(&mut self, block: Block) -> Result<Vals, Stop> {
        match self.run_block(block)? {
            End::Yield(values) => Ok(values),
            End::Condition(..) | End::Return => unreachable!("a nested block ends in yield"),
        }
    }

    fn run_op(&mut self, op: Op) -> Result<(), Stop> {
        let made: u64 = self.f.op(op).results.iter().map(|&v| self.f.ty(v).tile().map_or(1, |t| t.count())).sum();
        self.spend(op, 16 + made)?;
        let values = self.eval(op)?;
        debug_assert_eq!(values.len(), self.f.op(op).results.len(), "{}", self.f.kind(op).mnemonic());
        for (&result, value) in self.f.op(op).results.iter().zip(values) {
            self.env[index(result)] = Some(value);
        }
        Ok(())
    }

    fn eval(&mut self, op: Op) -> Result<Vals, Stop> {
        let one = |b: Buf| -> Vals { smallvec![b.into()] };
        Ok(match self.f.kind(op) {
            OpKind::Constant { value, ty } => {
                let t = ty.elem_scalar().expect("a constant of numbers");
                one(Buf::splat(eval::normalise(t, *value), count(ty.shape().unwrap_or(&[]))))
            }
            OpKind::Arange { shape, elem, axis, start } => {
                let axis = usize::from(*axis);
                let (inner, extent) = (count(&shape[axis + 1..]), shape[axis] as usize);
                let at = |i: usize| int::wrap(*elem, start.wrapping_add((i / inner % extent) as i64));
                one(Buf::Int((0..count(shape)).map(at).collect()))
            }
            OpKind::Splat { x, shape } => one(self.buf(*x).repeat(count(shape))),
            OpKind::Broadcast { x, shape } => one(shape::broadcast(&self.buf(*x), self.shape(*x), shape)),
            OpKind::Reshape { x, .. } | OpKind::ConvertLayout { x, .. } => smallvec![self.val(*x)],
            OpKind::Permute { x, perm } => one(shape::permute(&self.buf(*x), self.shape(*x), perm)),
            OpKind::Flip { x, axis } => one(shape::flip(&self.buf(*x), self.shape(*x), (*axis).into())),
            OpKind::Cat { parts, axis } => {
                let bufs: Vec<Rc<Buf>> = parts.iter().map(|&p| self.buf(p)).collect();
                let parts: Vec<(&Buf, &[u32])> = bufs.iter().zip(parts).map(|(b, &p)| (&**b, self.shape(p))).collect();
                one(shape::cat(&parts, (*axis).into()))
            }
            OpKind::Join { a, b } => one(shape::join(&self.buf(*a), &self.buf(*b))),
            OpKind::Split { x } => {
                let x = self.buf(*x);
                smallvec![shape::split(&x, false).into(), shape::split(&x, true).into()]
            }
            OpKind::ExtractSlice { x, offsets, shape } => {
                one(shape::extract(&self.buf(*x), self.shape(*x), offsets, shape))
            }
            OpKind::InsertSlice { x, into, offsets } => {
                one(shape::insert(&self.buf(*x), self.shape(*x), &self.buf(*into), self.shape(*into), offsets))
            }
            OpKind::GatherAxis { x, index, axis } => one(shape::gather_axis(
                &self.buf(*x),
                self.shape(*x),
                &self.buf(*index),
                self.shape(*index),
                (*axis).into(),
                self.elem(*index) == ScalarType::U64,
            )),
            OpKind::Unary { op, x, fast } => one(elementwise::unary(*op, *fast, self.elem(*x), &self.buf(*x))),
            OpKind::Binary { op, a, b } => one(elementwise::binary(*op, self.elem(*a), &self.buf(*a), &self.buf(*b))),
            OpKind::Compare { op, a, b } => one(elementwise::compare(*op, self.elem(*a), &self.buf(*a), &self.buf(*b))),
            OpKind::Select { cond, a, b } => one(elementwise::select(&self.buf(*cond), &self.buf(*a), &self.buf(*b))),
            OpKind::Fma { a, b, c } => {
                one(elementwise::fma(self.elem(*a), &self.buf(*a), &self.buf(*b), &self.buf(*c)))
            }
            OpKind::Cast { x, to, rounding, saturate } => {
                one(elementwise::cast(self.elem(*x), *to, *rounding, *saturate, &self.buf(*x)))
            }
            OpKind::Bitcast { x, to } => one(elementwise::bitcast(self.f.ty(*x).elem_scalar(), *to, &self.buf(*x))),
            OpKind::Reduce { kind, x, axes } => {
                self.spend(op, self.shape(*x).iter().map(|&d| u64::from(d)).product())?;
                one(reduce::reduce(*kind, self.elem(*x), self.limits.precise, &self.buf(*x), self.shape(*x), axes))
            }
            OpKind::ArgReduce { kind, x, axis } => {
                self.spend(op, self.shape(*x).iter().map(|&d| u64::from(d)).product())?;
                let (v, i) = reduce::arg_reduce(*kind, self.elem(*x), &self.buf(*x), self.shape(*x), *axis);
                smallvec![v.into(), i.into()]
            }
            OpKind::ReduceWith { inputs, axis, body } => self.combine(inputs, *axis, false, false, *body)?,
            OpKind::Scan { kind, x, axis, reverse } => one(reduce::scan(
                *kind,
                self.elem(*x),
                self.limits.precise,
                &self.buf(*x),
                self.shape(*x),
                *axis,
                *reverse,
            )),
            OpKind::ScanWith { inputs, axis, reverse, body } => self.combine(inputs, *axis, true, *reverse, *body)?,
            OpKind::Dot { a, b, acc, precision } => {
                let (sa, sb) = (self.shape(*a), self.shape(*b));
                let r = sa.len();
                let size = DotShape {
                    batch: count(&sa[..r - 2]),
                    m: sa[r - 2] as usize,
                    n: sb[r - 1] as usize,
                    k: sa[r - 1] as usize,
                };
                self.spend(op, (size.batch * size.m * size.n) as u64 * size.k as u64 / 4)?;
                let precise = self.limits.precise;
                one(dot(size, self.elem(*acc), *precision, precise, &self.buf(*a), &self.buf(*b), &self.buf(*acc)))
            }
            OpKind::ProgramId { axis } => one(Buf::splat(Literal::Int(self.program[usize::from(*axis)].into()), 1)),
            OpKind::NumPrograms { axis } => one(Buf::splat(Literal::Int(self.grid[usize::from(*axis)].into()), 1)),
            OpKind::ViewExtent { view, axis } => {
                one(Buf::splat(Literal::Int(self.view(*view).extents[usize::from(*axis)]), 1))
            }
            OpKind::ViewStride { view, axis } => {
                one(Buf::splat(Literal::Int(self.view(*view).strides[usize::from(*axis)]), 1))
            }
            OpKind::ViewBase { view } => one(Buf::splat(Literal::Int(self.view(*view).base), 1)),
            OpKind::MakeView { base, extents, strides } => {
                let ints = |v: &[Value]| v.iter().map(|&v| self.int(v)).collect();
                let view = ViewVal { base: self.int(*base), extents: ints(extents), strides: ints(strides) };
                smallvec![Val::View(Rc::new(view))]
            }
            OpKind::PtrAdd { ptr, offset } => {
                let pointee = self.f.ty(*ptr).elem().and_then(|e| e.pointee()).expect("a pointer");
                // i4 and u4 have no form in memory; a pointer to them cannot be used, but it can be moved.
                let bytes = pointee.memory_bytes().map_or(1, i64::from);
                let (p, o) = (self.buf(*ptr), self.buf(*offset));
                let (p, o) = (p.ints(), o.ints());
                let at = |v: &[i64], i: usize| if v.len() == 1 { v[0] } else { v[i] };
                let add = |i| at(p, i).wrapping_add(at(o, i).wrapping_mul(bytes));
                one(Buf::Int((0..p.len().max(o.len())).map(add).collect()))
            }
            OpKind::Load { addr, mask, pad, .. } => {
                let (addresses, t) = self.addresses(op, addr, *mask)?;
                let pad = pad.map_or(Literal::zero(t), |p| self.buf(p).get(0));
                one(self.memory.load(t, &addresses, pad).map_err(|e| self.error(op, format!("invalid load: {e}")))?)
            }
            OpKind::Store { addr, value, mask, .. } => {
                let (addresses, t) = self.addresses(op, addr, *mask)?;
                let value = self.buf(*value);
                let stored = self.memory.store(t, &addresses, &value);
                stored.map_err(|e| self.error(op, format!("invalid store: {e}")))?;
                Vals::new()
            }
            OpKind::AtomicRmw { op: function, addr, value, mask, .. } => {
                let (addresses, t) = self.addresses(op, addr, *mask)?;
                let value = self.buf(*value);
                one(self.atomic(op, t, &addresses, |old, i| atomic_rmw(*function, t, old, value.get(i)))?)
            }
            OpKind::AtomicCas { addr, compare, value, mask, .. } => {
                let (addresses, t) = self.addresses(op, addr, *mask)?;
                let (compare, value) = (self.buf(*compare), self.buf(*value));
                let same = |a, b| eval::to_bits(t, a) == eval::to_bits(t, b);
                one(self.atomic(
                    op,
                    t,
                    &addresses,
                    |old, i| {
                        if same(old, compare.get(i)) { value.get(i) } else { old }
                    },
                )?)
            }
            OpKind::For { lower, upper, step, init, body, .. } => {
                self.run_for(op, *lower, *upper, *step, init, *body)?
            }
            OpKind::While { init, cond, body } => {
                let mut carried = self.vals(init);
                loop {
                    self.spend(op, 16)?;
                    self.set_args(*cond, carried);
                    let End::Condition(go_on, passed) = self.run_block(*cond)? else {
                        unreachable!("the condition of a while ends in condition")
                    };
                    if !go_on {
                        break passed;
                    }
                    self.set_args(*body, passed);
                    carried = self.run_yield(*body)?;
                }
            }
            OpKind::If { cond, then_block, else_block } => {
                let taken = if self.buf(*cond).bools()[0] { *then_block } else { *else_block };
                self.run_yield(taken)?
            }
            OpKind::Barrier => Vals::new(),
            OpKind::Assume { x, fact } => {
                let value = self.val(*x);
                self.check_fact(op, *x, *fact)?;
                smallvec![value]
            }
            OpKind::Print { message, args } => {
                let bufs: Vec<Rc<Buf>> = args.iter().map(|&v| self.buf(v)).collect();
                let line = print::format_lines(
                    self.program,
                    message,
                    args.iter().zip(&bufs).map(|(&v, b)| {
                        let elements: Box<dyn Iterator<Item = Literal>> = Box::new((0..b.len()).map(|i| b.get(i)));
                        (self.elem(v), self.f.ty(v).tile().is_some(), elements)
                    }),
                );
                self.spend(op, line.len() as u64)?;
                self.printed.push_str(&line);
                Vals::new()
            }
            OpKind::Assert { cond, message } => {
                if let Some(i) = self.buf(*cond).bools().iter().position(|&b| !b) {
                    let mut error = self.error(op, format!("assertion failed: {message}"));
                    if let Some(tile) = self.f.ty(*cond).tile() {
                        error = Box::new(error.note(format!("at element {:?}", unravel(i, &tile.shape))));
                    }
                    return Err(error);
                }
                Vals::new()
            }
            OpKind::Yield { .. } | OpKind::Condition { .. } | OpKind::Return => {
                unreachable!("terminators end their block")
            }
        })
    }

    fn run_for(
        &mut self,
        op: Op,
        lower: Value,
        upper: Value,
        step: Value,
        init: &[Value],
        body: Block,
    ) -> Result<Vals, Stop> {
        let t = self.elem(lower);
        let (mut i, upper, step) = (self.int(lower), self.int(upper), self.int(step));
        if int::value(t, step) <= 0 {
            return Err(self.error(op, format!("the step of a loop must be positive, it is {}", int::value(t, step))));
        }
        let mut carried = self.vals(init);
        while int::compare(CmpOp::Lt, t, i, upper) {
            self.spend(op, 16)?;
            self.set_args(body, [Buf::splat(Literal::Int(i), 1).into()].into_iter().chain(carried));
            carried = self.run_yield(body)?;
            // The loop also ends where the next value would leave the type.
            let next = int::value(t, i) + int::value(t, step);
            if next > int::max_value(t) {
                break;
            }
            i = next as i64;
        }
        Ok(carried)
    }

    /// `reduce_with` and `scan_with`: the body runs on scalars, once for each element but the first of a run.
    fn combine(&mut self, inputs: &[Value], axis: u8, scan: bool, reverse: bool, body: Block) -> Result<Vals, Stop> {
        let axes = Axes::new(self.shape(inputs[0]), &[axis]);
        let mut run = axes.run();
        if reverse {
            run.reverse();
        }
        let bufs: Vec<Rc<Buf>> = inputs.iter().map(|&v| self.buf(v)).collect();
        let element = |b: &Buf, i| Val::from(Buf::splat(b.get(i), 1));
        let mut order = Vec::with_capacity(if scan { bufs[0].len() } else { axes.results() });
        let mut out: Vec<Buf> = bufs.iter().map(|b| b.empty_like(order.capacity())).collect();
        let mut emit = |out: &mut Vec<Buf>, at: usize, acc: &Vals| {
            order.push(at);
            for (o, v) in out.iter_mut().zip(acc) {
                let Val::Data(b) = v else { unreachable!("scalars are combined") };
                o.push(b.get(0));
            }
        };
        for start in axes.starts() {
            let mut acc: Vals = bufs.iter().map(|b| element(b, start + run[0])).collect();
            for (i, &d) in run.iter().enumerate() {
                if i > 0 {
                    let right: Vals = bufs.iter().map(|b| element(b, start + d)).collect();
                    self.set_args(body, acc.into_iter().chain(right));
                    acc = self.run_yield(body)?;
                }
                if scan {
                    emit(&mut out, start + d, &acc);
                }
            }
            if !scan {
                emit(&mut out, 0, &acc);
            }
        }
        if scan {
            // The results came in the order of the runs: back to row-major order.
            let mut place = vec![0; order.len()];
            for (i, &at) in order.iter().enumerate() {
                place[at] = i;
            }
            out = out.iter().map(|b| b.pick(place.iter().copied())).collect();
        }
        Ok(out.into_iter().map(Val::from).collect())
    }

    fn addresses(&mut self, op: Op, addr: &Address, mask: Option<Value>) -> Result<(Addresses, ScalarType), Stop> {
        let mask = self.mask(mask);
        let mask = mask.as_deref();
        let found = match addr {
            Address::Tile { view, offsets, shape, in_bounds } => {
                let t = view_elem(self.f, *view);
                let offsets: SmallVec<[i64; 5]> = offsets.iter().map(|&v| self.int(v)).collect();
                tile_addresses(&self.view(*view), t, &offsets, shape, *in_bounds, mask).map(|a| (a, t))
            }
            Address::Gather { view, indices, in_bounds } => {
                let t = view_elem(self.f, *view);
                let bufs: Vec<Rc<Buf>> = indices.iter().map(|&v| self.buf(v)).collect();
                let typed: Vec<(ScalarType, &Buf)> =
                    indices.iter().zip(&bufs).map(|(&v, b)| (self.elem(v), &**b)).collect();
                gather_addresses(&self.view(*view), t, &typed, *in_bounds, mask).map(|a| (a, t))
            }
            Address::Ptr { ptr } => {
                let t = self.f.ty(*ptr).elem().and_then(|e| e.pointee()).expect("a pointer");
                Ok((pointer_addresses(&self.buf(*ptr), mask), t))
            }
        };
        let (addresses, t) = found.map_err(|e| self.error(op, e))?;
        self.spend(op, addresses.len() as u64)?;
        Ok((addresses, t))
    }

    /// Replaces each addressed element and gives the old values.
    fn atomic(
        &mut self,
        op: Op,
        t: ScalarType,
        addresses: &Addresses,
        new: impl Fn(Literal, usize) -> Literal,
    ) -> Result<Buf, Stop> {
        let mut old = Buf::splat(Literal::zero(t), 0).empty_like(addresses.len());
        for (i, address) in addresses.iter().enumerate() {
            let before = match address {
                None => Literal::zero(t),
                Some(a) => {
                    let updated = self.memory.read(t, *a).and_then(|before| {
                        self.memory.write(t, *a, new(before, i))?;
                        Ok(before)
                    });
                    updated.map_err(|e| self.error(op, format!("invalid atomic access: {e}")))?
                }
            };
            old.push(before);
        }
        Ok(old)
    }

    fn check_fact(&self, op: Op, x: Value, fact: Fact) -> Result<(), Stop> {
        let buf = self.buf(x);
        let v = buf.ints();
        let t = self.f.ty(x).elem_scalar().unwrap_or(ScalarType::I64);
        let broken = match fact {
            Fact::Divisible(d) => v
                .iter()
                .find(|&&x| int::value(t, x) % i128::from(d) != 0)
                .map(|x| format!("{x} is not divisible by {d}")),
            Fact::Bounded { min, max } => v
                .iter()
                .find(|&&x| !(i128::from(min)..=i128::from(max)).contains(&int::value(t, x)))
                .map(|&x| format!("{} does not lie in {min}..={max}", int::value(t, x))),
            Fact::Contiguous { axis, n } => {
                let (shape, axis, n) = (self.shape(x), usize::from(axis), n as usize);
                let (inner, extent) = (count(&shape[axis + 1..]), shape[axis] as usize);
                let step = match self.f.ty(x).elem().and_then(|e| e.pointee()) {
                    Some(p) => element_bytes(p) as i64,
                    None => 1,
                };
                (0..v.len())
                    .filter(|i| !(i / inner % extent).is_multiple_of(n))
                    .find(|&i| v[i] != int::wrap(t, v[i - inner].wrapping_add(step)))
                    .map(|i| format!("element {:?} does not continue its run", unravel(i, shape)))
            }
        };
        match broken {
            None => Ok(()),
            Some(how) => Err(self.error(op, format!("an assumption is broken: {how}"))),
        }
    }
}

fn index(v: Value) -> usize {
    v.as_u32() as usize
}

fn view_elem(f: &Function, view: Value) -> ScalarType {
    match f.ty(view) {
        Type::View { elem, .. } => *elem,
        _ => unreachable!("{view} is a view"),
    }
}

/// The index on each axis of the element at a row-major position.
fn unravel(mut position: usize, shape: &[u32]) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for axis in (0..shape.len()).rev() {
        index[axis] = position % shape[axis] as usize;
        position /= shape[axis] as usize;
    }
    index
}

fn atomic_rmw(op: AtomicOp, t: ScalarType, old: Literal, value: Literal) -> Literal {
    let op = match op {
        AtomicOp::Xchg => return value,
        AtomicOp::Add => BinaryOp::Add,
        AtomicOp::Min => BinaryOp::Min,
        AtomicOp::Max => BinaryOp::Max,
        AtomicOp::And => BinaryOp::And,
        AtomicOp::Or => BinaryOp::Or,
        AtomicOp::Xor => BinaryOp::Xor,
    };
    eval::binary(op, t, old, value).expect("a function defined on the element type")
}
