//! Blocks, loops, branches, carried values; and the ops that stand by themselves.

use inkwell::IntPredicate::{EQ, NE, SLT, ULT};
use smallvec::SmallVec;
use tegula_codegen::emit::{MemoryFlags, Val};
use tegula_ir::function::{Block, Op, Value};
use tegula_ir::ops::OpKind;
use tegula_ir::types::{Elem, Type};

use super::eval::{Coord, Mode, Site};
use super::{Lowering, Scratch, ViewVal};
use crate::builder::Slot;
use crate::plan::buffers::buffer_bytes;
use crate::plan::index::Coords;
use crate::plan::reads::Reads;
use crate::plan::{BufferId, Place, Step};
use tegula_artifact::cpu::abi;

/// How a value is carried around a loop or out of a branch.
enum Carry<'c> {
    Scalar(Slot<'c>),
    View(Vec<Slot<'c>>),
    Tile(BufferId),
}

impl<'c> Lowering<'_, 'c, '_> {
    /// All steps of a block, its terminator included where that is an op by itself.
    pub fn block(&mut self, block: Block) {
        let plan = self.plan;
        for step in &plan.steps[&block] {
            match step {
                Step::Op(op) => self.op(*op),
                Step::Group(g) => self.group(g),
            }
        }
    }

    /// An op by itself.
    pub fn op(&mut self, op: Op) {
        let func = self.func;
        let data = func.op(op);
        let b = self.b.clone();
        let set = |this: &mut Self, v: Val<'c>| {
            this.scalars.insert(data.results[0], v);
        };
        match &data.kind {
            OpKind::Constant { value, ty } => {
                let t = ty.elem_scalar().expect("a constant of numbers");
                let v = self.literal(t, *value);
                set(self, v);
            }
            kind if kind.is_elementwise() => {
                let operands = kind.operands();
                let elems: SmallVec<[Elem; 4]> = operands.iter().map(|&o| self.elem(o)).collect();
                let values: SmallVec<[Val<'c>; 4]> = operands.iter().map(|&o| self.scalar(o)).collect();
                let v = self.elementwise(kind, &elems, &values);
                set(self, v);
            }
            OpKind::Assume { x, .. } => {
                let v = self.scalar(*x);
                set(self, v);
            }
            OpKind::ProgramId { axis } => {
                let at = b.element(self.program, b.i64((*axis).into()), 8);
                set(self, b.load(b.int(64).into(), at, 8, MemoryFlags { invariant: true, ..Default::default() }));
            }
            OpKind::NumPrograms { axis } => {
                let at = b.element(self.context, b.i64((*axis).into()), 8);
                set(self, b.load(b.int(64).into(), at, 8, MemoryFlags { invariant: true, ..Default::default() }));
            }
            OpKind::ViewExtent { view, axis } => {
                let v = self.views[view].extents[usize::from(*axis)];
                set(self, v);
            }
            OpKind::ViewStride { view, axis } => {
                let v = self.views[view].strides[usize::from(*axis)];
                set(self, v);
            }
            OpKind::ViewBase { view } => {
                let v = b.to_address(self.views[view].base);
                set(self, v);
            }
            OpKind::MakeView { base, extents, strides } => {
                let elem = self.elem(*base).pointee().expect("a pointer");
                let view = ViewVal {
                    base: b.to_pointer(self.scalar(*base)),
                    elem,
                    extents: extents.iter().map(|&v| self.scalar(v)).collect(),
                    strides: strides.iter().map(|&v| self.scalar(v)).collect(),
                    spec: Default::default(),
                };
                self.views.insert(data.results[0], view);
            }
            OpKind::Reshape { x, .. } => {
                let v = self.element(*x, 0);
                set(self, v);
            }
            OpKind::Split { x } => {
                for (i, &r) in data.results.iter().enumerate() {
                    let v = self.element(*x, i as i64);
                    self.scalars.insert(r, v);
                }
            }
            OpKind::Load { addr, mask, pad, access } => {
                let mask = mask.map(|m| self.scalar(m));
                let t = self.elem(data.results[0]).scalar().expect("tensors hold numbers");
                let pad = pad.map_or_else(|| b.zero(self.register_ty(Elem::Scalar(t))), |p| self.scalar(p));
                let mut site = Site::new(Mode::General, None);
                let v = self.load(&mut site, op, addr, mask, pad, t, &[], 1, access);
                set(self, v);
            }
            OpKind::Store { addr, value, mask, access } => {
                let mask = mask.map(|m| self.scalar(m));
                let t = self.elem(*value).scalar().expect("tensors hold numbers");
                let v = self.scalar(*value);
                let mut site = Site::new(Mode::General, None);
                self.store(&mut site, op, addr, mask, v, t, &[], access);
            }
            OpKind::Cat { parts, axis } => {
                let mut offset = 0;
                for &part in parts {
                    let axis = usize::from(*axis);
                    self.copy_into(part, data.results[0], &|this, at| {
                        let mut to: Coords<Coord<'c>> = at.into();
                        to[axis] = crate::plan::index::Coordinates::shift(this, &to[axis], offset);
                        to
                    });
                    offset += i64::from(self.shape(part)[axis]);
                }
            }
            OpKind::Join { a, b: second } => {
                for (i, &part) in [a, second].into_iter().enumerate() {
                    self.copy_into(part, data.results[0], &|this, at| {
                        at.iter().copied().chain([Coord::uniform(this.b.i64(i as i64))]).collect()
                    });
                }
            }
            OpKind::InsertSlice { x, into, offsets } => {
                self.copy_into(*into, data.results[0], &|_, at| at.into());
                self.copy_into(*x, data.results[0], &|this, at| {
                    let shift = |(c, &o): (&Coord<'c>, &u32)| crate::plan::index::Coordinates::shift(this, c, o.into());
                    at.iter().zip(offsets).map(shift).collect()
                });
            }
            OpKind::Scan { .. } => self.scan(op),
            OpKind::ReduceWith { .. } | OpKind::ScanWith { .. } => self.combine_with(op),
            OpKind::Dot { .. } => self.dot(op),
            OpKind::AtomicRmw { .. } | OpKind::AtomicCas { .. } => self.atomic(op),
            OpKind::For { .. } => self.for_loop(op),
            OpKind::While { .. } => self.while_loop(op),
            OpKind::If { .. } => self.branch(op),
            OpKind::Print { .. } => self.print(op),
            OpKind::Assert { .. } => self.assert(op),
            // One thread runs a program: there is nobody to wait for.
            OpKind::Barrier => {}
            OpKind::Return => {
                b.builder.build_return(Some(&b.int(32).const_zero())).expect("the kernel gives an i32");
            }
            // The op around the block takes the values.
            OpKind::Yield { .. } | OpKind::Condition { .. } => {}
            kind => unreachable!("{} on tiles stands in a nest", kind.mnemonic()),
        }
    }

    /// Element number `i` of a tile, in row-major order, with at most one axis longer than 1.
    fn element(&mut self, x: Value, i: i64) -> Val<'c> {
        if !self.is_tile(x) {
            return self.scalar(x);
        }
        let shape: SmallVec<[u32; 5]> = self.shape(x).into();
        let loads = self.loads_of(&[x]);
        let slot = self.b.slot(self.register_ty(self.elem(x)));
        self.by_mode(&loads, |this, mode| {
            let at: Coords<Coord<'c>> =
                shape.iter().map(|&d| Coord::uniform(this.b.i64(if d == 1 { 0 } else { i }))).collect();
            let v = this.eval(&mut Site::new(mode, None), x, &at, 1);
            this.b.set(slot, v);
        });
        self.b.get(slot)
    }

    /// The loads in the inline trees of these values.
    pub fn loads_of(&self, values: &[Value]) -> Vec<Op> {
        let mut reads = Reads::default();
        let inline = |v: Value| self.plan.places.get(&v) == Some(&Place::Inline);
        for &v in values {
            let at = crate::plan::index::identity(&self.shape(v).into());
            reads.value(self.func, &inline, v, &at);
        }
        reads.loads
    }

    /// Calls `body` for each vector of elements of a tile of the first value's shape, in the mode of access that fits
    /// the trees of `values`; without `vectors` for each element, in the mode that fits any access.
    pub fn each_element(
        &mut self,
        values: &[Value],
        vectors: bool,
        mut body: impl FnMut(&mut Self, &mut Site<'c>, &[Coord<'c>], u32),
    ) {
        let shape: SmallVec<[u32; 5]> = self.shape(values[0]).into();
        let Some((&last, outer)) = shape.split_last() else {
            let mut site = Site::new(Mode::General, None);
            return body(self, &mut site, &[], 1);
        };
        let roots: SmallVec<[crate::plan::Root; 4]> = values.iter().map(|&v| crate::plan::Root::Tile(v)).collect();
        let mut run = |this: &mut Self, mode: Mode| {
            let strip = this.strip(mode, &roots, last);
            let mut at = Coords::new();
            this.each_index(outer, &mut at, &mut |this, at| {
                this.each_vector(last, strip, &mut |this, vector| {
                    let mut site = Site::new(mode, vector.active);
                    at.push(Coord::vector(vector.first, strip.lanes));
                    body(this, &mut site, at, strip.lanes);
                    at.pop();
                });
            });
        };
        if vectors {
            let loads = self.loads_of(values);
            self.by_mode(&loads, run);
        } else {
            run(self, Mode::General);
        }
    }

    /// Writes all elements of `from` into the buffer of `to` where `map` says.
    fn copy_into(&mut self, from: Value, to: Value, map: &dyn Fn(&Self, &[Coord<'c>]) -> Coords<Coord<'c>>) {
        if !self.is_tile(from) {
            let at = map(self, &[]);
            let v = self.scalar(from);
            return self.write_back(&Site::new(Mode::General, None), to, &at, v);
        }
        self.each_element(&[from], true, |this, site, at, lanes| {
            let v = this.eval(site, from, at, lanes);
            let to_at = map(this, at);
            this.write_back(site, to, &to_at, v);
        });
    }

    /// Writes a tile into a buffer of its shape.
    pub fn copy_to_buffer(&mut self, from: Value, to: BufferId) {
        match self.plan.place(from) {
            Place::Buffer { buffer, .. } if buffer == to => {}
            Place::Buffer { buffer, dropped: 0 } => {
                let shape = &self.plan.buffer(to).shape;
                let elem = self.plan.buffer(to).elem;
                let bytes = buffer_bytes(elem, shape) - 256;
                self.b.memcpy(self.buffer_base(to), self.buffer_base(buffer), bytes);
            }
            _ => self.each_element(&[from], true, |this, site, at, lanes| {
                let v = this.eval(site, from, at, lanes);
                this.buffer_store(site, to, at, v);
            }),
        }
    }

    /// The buffer of a tile that is kept whole.
    pub fn buffer_of(&self, v: Value) -> BufferId {
        match self.plan.place(v) {
            Place::Buffer { buffer, dropped: 0 } => buffer,
            Place::Row { buffer: Some(buffer) } => buffer,
            place => unreachable!("{v} has place {place:?}"),
        }
    }

    // --- carried values ---

    fn carry(&self, v: Value) -> Carry<'c> {
        let b = &self.b;
        match self.func.ty(v) {
            Type::Scalar(e) => Carry::Scalar(b.slot(self.register_ty(*e))),
            Type::Tile(_) => Carry::Tile(self.buffer_of(v)),
            Type::View { rank, .. } => {
                let words = (0..2 * rank).map(|_| b.slot(b.int(64).into()));
                Carry::View(std::iter::once(b.slot(b.pointer())).chain(words).collect())
            }
        }
    }

    /// Gives carried values their next values. A value that is itself a carried tile of the same loop is copied aside
    /// first.
    fn pass_on(&mut self, values: &[Value], to: &[Carry<'c>]) {
        let b = self.b.clone();
        let targets: Vec<BufferId> =
            to.iter().filter_map(|c| if let Carry::Tile(id) = c { Some(*id) } else { None }).collect();
        let mut aside: Vec<(Val<'c>, BufferId)> = Vec::new();
        let mut scratch = Scratch::default();
        // Slots first: they hold what was computed before.
        let scalars: Vec<Option<Val<'c>>> =
            values.iter().map(|v| matches!(self.func.ty(*v), Type::Scalar(_)).then(|| self.scalar(*v))).collect();
        for ((&v, carry), scalar) in values.iter().zip(to).zip(scalars) {
            match carry {
                Carry::Scalar(slot) => b.set(*slot, scalar.expect("a scalar is carried as one")),
                Carry::View(slots) => {
                    let view = self.views[&v].clone();
                    let parts = std::iter::once(view.base).chain(view.extents).chain(view.strides);
                    for (&slot, part) in slots.iter().zip(parts) {
                        b.set(slot, part);
                    }
                }
                Carry::Tile(id) => match self.plan.place(v) {
                    Place::Buffer { buffer, .. } if buffer == *id => {}
                    Place::Buffer { buffer, .. } if targets.contains(&buffer) => {
                        let planned = self.plan.buffer(*id);
                        let bytes = buffer_bytes(planned.elem, &planned.shape);
                        let copy = scratch.take(self, bytes);
                        b.memcpy(copy, self.buffer_base(buffer), bytes - 256);
                        aside.push((copy, *id));
                    }
                    _ => {}
                },
            }
        }
        for (&v, carry) in values.iter().zip(to) {
            if let Carry::Tile(id) = carry {
                let swapped = matches!(self.plan.place(v), Place::Buffer { buffer, .. } if buffer != *id && targets.contains(&buffer));
                if !swapped {
                    self.copy_to_buffer(v, *id);
                }
            }
        }
        for (copy, id) in aside {
            let planned = self.plan.buffer(id);
            let bytes = buffer_bytes(planned.elem, &planned.shape) - 256;
            b.memcpy(self.buffer_base(id), copy, bytes);
        }
    }

    /// Makes carried values visible under the names `as_values`.
    fn receive(&mut self, carries: &[Carry<'c>], as_values: &[Value]) {
        for (carry, &v) in carries.iter().zip(as_values) {
            match carry {
                Carry::Scalar(slot) => {
                    let value = self.b.get(*slot);
                    self.scalars.insert(v, value);
                }
                Carry::View(slots) => {
                    let parts: Vec<Val<'c>> = slots.iter().map(|&s| self.b.get(s)).collect();
                    let Type::View { elem, rank } = self.func.ty(v) else { unreachable!("a view") };
                    let rank = usize::from(*rank);
                    let view = ViewVal {
                        base: parts[0],
                        elem: *elem,
                        extents: parts[1..=rank].into(),
                        strides: parts[1 + rank..].into(),
                        spec: Default::default(),
                    };
                    self.views.insert(v, view);
                }
                Carry::Tile(_) => {}
            }
        }
    }

    // --- control flow ---

    /// `for`: the number of steps is computed before, so that the last addition cannot overflow into another one.
    fn for_loop(&mut self, op: Op) {
        let func = self.func;
        let OpKind::For { lower, upper, step, init, body, .. } = func.kind(op) else { unreachable!("a for") };
        let b = self.b.clone();
        let t = self.elem(*lower).scalar().expect("integer bounds");
        let (low, high, step) = (self.scalar(*lower), self.scalar(*upper), self.scalar(*step));
        let args = func.block(*body).args.clone();
        let carries: Vec<Carry<'c>> = args[1..].iter().map(|&v| self.carry(v)).collect();
        self.pass_on(init, &carries);
        let runs = b.icmp(if t.is_signed_int() { SLT } else { ULT }, low, high);
        let distance = b.sub(high, low);
        let steps = match b.as_const(step) {
            Some(1) => distance,
            _ => {
                let safe = b.select(b.icmp(EQ, step, b.int_like(step, 0)), b.int_like(step, 1), step);
                b.add(b.udiv(b.sub(distance, b.int_like(step, 1)), safe), b.int_like(step, 1))
            }
        };
        let steps = b.select(runs, steps, b.int_like(steps, 0));
        let left = b.slot_with(steps);
        let iv = b.slot_with(low);
        let yields = func.terminator(*body).map(|t| func.kind(t).operands()).unwrap_or_default();
        let this = std::cell::RefCell::new(self);
        b.while_loop(
            || {
                let n = b.get(left);
                b.icmp(NE, n, b.int_like(n, 0))
            },
            || {
                let mut this = this.borrow_mut();
                let i = b.get(iv);
                this.scalars.insert(args[0], i);
                this.receive(&carries, &args[1..]);
                this.block(*body);
                this.pass_on(&yields, &carries);
                b.set(iv, b.add(i, step));
                let n = b.get(left);
                b.set(left, b.sub(n, b.int_like(n, 1)));
            },
        );
        this.into_inner().receive(&carries, &func.op(op).results);
    }

    fn while_loop(&mut self, op: Op) {
        let func = self.func;
        let OpKind::While { init, cond, body } = func.kind(op) else { unreachable!("a while") };
        let b = self.b.clone();
        let (cond_args, body_args) = (func.block(*cond).args.clone(), func.block(*body).args.clone());
        let before: Vec<Carry<'c>> = cond_args.iter().map(|&v| self.carry(v)).collect();
        let after: Vec<Carry<'c>> = body_args.iter().map(|&v| self.carry(v)).collect();
        self.pass_on(init, &before);
        let this = std::cell::RefCell::new(self);
        b.while_loop(
            || {
                let mut this = this.borrow_mut();
                this.receive(&before, &cond_args);
                this.block(*cond);
                let end = func.terminator(*cond).map(|t| func.kind(t));
                let Some(OpKind::Condition { cond: go_on, values }) = end else { unreachable!("ends in condition") };
                this.pass_on(values, &after);
                this.scalar(*go_on)
            },
            || {
                let mut this = this.borrow_mut();
                this.receive(&after, &body_args);
                this.block(*body);
                let yields = func.terminator(*body).map(|t| func.kind(t).operands()).unwrap_or_default();
                this.pass_on(&yields, &before);
            },
        );
        this.into_inner().receive(&after, &func.op(op).results);
    }

    fn branch(&mut self, op: Op) {
        let func = self.func;
        let OpKind::If { cond, then_block, else_block } = func.kind(op) else { unreachable!("an if") };
        let b = self.b.clone();
        let results = func.op(op).results.clone();
        let carries: Vec<Carry<'c>> = results.iter().map(|&v| self.carry(v)).collect();
        let cond = self.scalar(*cond);
        {
            let this = std::cell::RefCell::new(&mut *self);
            let run = |block: Block| {
                let mut this = this.borrow_mut();
                this.block(block);
                let yields = func.terminator(block).map(|t| func.kind(t).operands()).unwrap_or_default();
                this.pass_on(&yields, &carries);
            };
            b.if_else(cond, || run(*then_block), || run(*else_block));
        }
        self.receive(&carries, &results);
    }

    /// Leaves the kernel with an error where `ok` does not hold.
    pub fn check_or_leave(&mut self, ok: Val<'c>, report: impl FnOnce(&mut Self)) {
        let b = self.b.clone();
        let (fails, goes_on) = (b.block("fails"), b.block("goes_on"));
        b.cond_br(ok, goes_on, fails);
        b.move_to(fails);
        report(self);
        let one = b.int(32).const_int(1, false);
        b.builder.build_return(Some(&one)).expect("the kernel gives an i32");
        b.move_to(goes_on);
    }

    /// The call interface of the launcher's callbacks at a byte offset of the context.
    pub fn callback(&self, offset: i64) -> Val<'c> {
        let b = &self.b;
        let at = b.element(self.context, b.i64(offset), 1);
        b.load(b.pointer(), at, 8, MemoryFlags { invariant: true, ..Default::default() })
    }

    /// The number under which an op calls back.
    pub fn site_number(&mut self, site: super::CallSite) -> Val<'c> {
        self.sites.push(site);
        self.b.i32(self.sites.len() as i64 - 1)
    }
}

// Both offsets are read as pointers: the context must keep them aligned.
const _: () = assert!(abi::PRINT_OFFSET % 8 == 0 && abi::FAIL_OFFSET % 8 == 0);
