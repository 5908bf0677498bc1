//! Views, loads, stores and atomics.

use smallvec::SmallVec;

use super::values::is_float;
use super::{Gen, Info};
use crate::exec::HostArg;
use crate::function::{ParamKind, Value, ViewAccess};
use crate::literal::Literal;
use crate::ops::{Access, Address, AtomicOp, AxisSet, BinaryOp, CacheHint, CmpOp, OpKind, Ordering, Rounding, Scope};
use crate::types::{ScalarType, Shape, Type};

/// The most results that are stored.
const MAX_RESULTS: usize = 6;

impl Gen<'_> {
    pub(super) fn memory_step(&mut self) {
        match self.c.below(8) {
            0 | 1 => self.load_box(),
            2 => self.load_gather(),
            3 => self.load_pointers(),
            4 => self.load_made_view(),
            5 => self.atomic(),
            6 => self.update(),
            _ => self.view_facts(),
        }
    }

    fn memory_type(&mut self) -> ScalarType {
        let t = self.c.of(&self.config.types);
        if t.memory_bytes().is_some() { t } else { ScalarType::I8 }
    }

    fn access(&mut self) -> Access {
        Access { cache: self.c.of(CacheHint::ALL), volatile: self.c.one_in(8) }
    }

    /// A mask for a shape, or none.
    fn mask(&mut self, shape: &[u32]) -> Option<Value> {
        match self.c.below(4) {
            0 | 1 => None,
            2 => Some(self.truths(shape)),
            _ => Some(self.truths(&[])),
        }
    }

    /// Padding, and what is known of it: zero where there is none.
    fn pad(&mut self, elem: ScalarType) -> (Option<Value>, Info) {
        if self.c.one_in(2) {
            let v = self.exact(&Type::scalar(elem));
            (Some(v), self.info(v))
        } else {
            (None, Info::whole(0.0))
        }
    }

    /// A box of a tensor: within it, over its edges, or outside.
    fn load_box(&mut self) {
        let elem = self.memory_type();
        let shape = self.new_shape();
        let extents: Vec<i64> = shape.iter().map(|&d| (i64::from(d) + self.c.of(&[0, 1, -1, 5])).max(0)).collect();
        let kind = self.data_kind(false);
        let view = self.input(elem, &extents, kind);
        let known = self.params.last().copied().unwrap_or(Info::ANY);
        let mut offsets = SmallVec::new();
        let mut in_bounds = AxisSet::NONE;
        for (axis, (&extent, &d)) in extents.iter().zip(&shape).enumerate() {
            let at = self.c.of(&[0, 1, -1, 3, -40, 1 << 40]);
            if at >= 0 && at + i64::from(d) <= extent && self.c.one_in(2) {
                in_bounds = in_bounds.with(axis);
            }
            offsets.push(self.index(at));
        }
        let mask = self.mask(&shape);
        let (pad, pad_info) = self.pad(elem);
        let access = self.access();
        let addr = Address::Tile { view, offsets, shape, in_bounds };
        self.value(OpKind::Load { addr, mask, pad, access }, known.or(pad_info));
    }

    fn load_gather(&mut self) {
        let elem = self.memory_type();
        let shape = if self.c.one_in(6) { Shape::new() } else { self.new_shape() };
        let rank = 1 + self.c.below(3);
        let extents: Vec<i64> = (0..rank).map(|_| self.c.between(1, 6)).collect();
        let kind = self.data_kind(false);
        let view = self.input(elem, &extents, kind);
        let known = self.params.last().copied().unwrap_or(Info::ANY);
        let mut indices = SmallVec::new();
        for _ in 0..rank {
            let t = self.c.of(&[ScalarType::I32, ScalarType::I64, ScalarType::U8, ScalarType::I16, ScalarType::U64]);
            let ty = Type::shaped(shape.iter().copied(), t);
            let index = self.exact(&ty);
            // Mostly within, as most gathers are.
            let index = if self.c.one_in(2) {
                let limit = self.constant(ty, Literal::Int(7));
                self.hidden(OpKind::Binary { op: BinaryOp::And, a: index, b: limit })
            } else {
                index
            };
            indices.push(index);
        }
        let mask = self.mask(&shape);
        let (pad, pad_info) = self.pad(elem);
        let access = self.access();
        let addr = Address::Gather { view, indices, in_bounds: AxisSet::NONE };
        self.value(OpKind::Load { addr, mask, pad, access }, known.or(pad_info));
    }

    /// Through a tile of pointers, kept within the allocation by the offsets or by a mask.
    fn load_pointers(&mut self) {
        let elem = self.memory_type();
        let shape = self.new_shape();
        let kind = self.data_kind(false);
        let (mut tensor, info) = self.tensor(elem, &[16], kind);
        // The pointer is to the start of the allocation.
        tensor.offset = 0;
        let size = tensor.data.len() as i64 / i64::from(elem.memory_bytes().unwrap_or(1));
        tensor.extents = vec![size];
        tensor.strides = vec![1];
        let info = if size > 16 { Info::ANY } else { info };
        let p = self.param(ParamKind::Ptr { elem, align: 0 }, HostArg::Ptr(tensor), info);
        let ints = Type::shaped(shape.iter().copied(), ScalarType::I32);
        let raw = self.exact(&ints);
        let limit = self.constant(ints.clone(), Literal::Int(15));
        let (offset, mask) = if self.c.one_in(2) {
            let low = self.constant(ints, Literal::Int(0));
            let above = self.hidden(OpKind::Compare { op: CmpOp::Ge, a: raw, b: low });
            let below = self.hidden(OpKind::Compare { op: CmpOp::Le, a: raw, b: limit });
            (raw, Some(self.hidden(OpKind::Binary { op: BinaryOp::And, a: above, b: below })))
        } else {
            (self.hidden(OpKind::Binary { op: BinaryOp::And, a: raw, b: limit }), None)
        };
        let ptr = self.hidden(OpKind::PtrAdd { ptr: p, offset });
        let (pad, pad_info) = if mask.is_some() { self.pad(elem) } else { (None, info) };
        let access = self.access();
        self.value(OpKind::Load { addr: Address::Ptr { ptr }, mask, pad, access }, info.or(pad_info));
    }

    /// The transpose of a tensor, as a view made from its parts.
    fn load_made_view(&mut self) {
        let elem = self.memory_type();
        let extents = [self.c.between(1, 6), self.c.between(1, 6)];
        let kind = self.data_kind(false);
        let view = self.input(elem, &extents, kind);
        let info = self.params.last().copied().unwrap_or(Info::ANY).or(Info::whole(0.0));
        let part = |g: &mut Self, extent: bool, axis: u8| {
            g.hidden(if extent { OpKind::ViewExtent { view, axis } } else { OpKind::ViewStride { view, axis } })
        };
        let (m, n) = (part(self, true, 0), part(self, true, 1));
        let (s, t) = (part(self, false, 0), part(self, false, 1));
        let base = self.hidden(OpKind::ViewBase { view });
        let made = self.hidden(OpKind::MakeView {
            base,
            extents: [n, m].into_iter().collect(),
            strides: [t, s].into_iter().collect(),
        });
        let offsets = (0..2).map(|_| self.c.between(0, 2)).collect::<Vec<_>>();
        let offsets = offsets.into_iter().map(|at| self.index(at)).collect();
        let shape: Shape = [self.c.of(&[4, 1, 3]), self.c.of(&[4, 2, 7])].into_iter().collect();
        let addr = Address::Tile { view: made, offsets, shape, in_bounds: AxisSet::NONE };
        self.value(OpKind::Load { addr, mask: None, pad: None, access: Access::default() }, info);
    }

    /// Atomics whose outcome does not depend on their order: results are dropped, sums are of whole numbers.
    fn atomic(&mut self) {
        let t = self.c.of(&[
            ScalarType::I32,
            ScalarType::F32,
            ScalarType::U32,
            ScalarType::I64,
            ScalarType::F64,
            ScalarType::F16,
            ScalarType::BF16,
            ScalarType::U64,
        ]);
        if !self.config.types.contains(&t) {
            return;
        }
        use AtomicOp as A;
        let op = match t {
            t if t.is_float() => self.c.of(&[A::Add, A::Min, A::Max]),
            _ => self.c.of(&[A::Add, A::Min, A::Max, A::And, A::Or, A::Xor]),
        };
        let shape = self.new_shape();
        let count: i64 = shape.iter().map(|&d| i64::from(d)).product();
        // All sums must stay where every whole number is a value of the type.
        let programs: i64 = self.grid.iter().map(|&n| i64::from(n)).product();
        if op == A::Add && t.is_float() && (count + 1) * programs * 8 * 64 >= (1.0 / super::info::epsilon(t)) as i64 {
            return;
        }
        if self.depth > 0 {
            // A loop around would add more often than is counted.
            return;
        }
        let ty = Type::shaped(shape.iter().copied(), t);
        let value = if t.is_float() { self.load_whole(&ty) } else { self.exact(&ty) };
        let extents = [self.c.between(1, 5)];
        let (tensor, _) = self.tensor(t, &extents, super::data::DataKind::Whole);
        let view = self.view_param(tensor, ViewAccess::ReadWrite, Info::ANY);
        let ints = Type::shaped(shape.iter().copied(), ScalarType::I32);
        let raw = self.exact(&ints);
        let limit = self.constant(ints, Literal::Int(7));
        let index = self.hidden(OpKind::Binary { op: BinaryOp::And, a: raw, b: limit });
        let mask = self.mask(&shape);
        let addr = Address::Gather { view, indices: [index].into_iter().collect(), in_bounds: AxisSet::NONE };
        let (ordering, scope) = (self.c.of(Ordering::ALL), self.c.of(&[Scope::Device, Scope::System]));
        self.hidden(OpKind::AtomicRmw { op, addr, value, mask, ordering, scope });
    }

    /// Small whole numbers from a new argument.
    fn load_whole(&mut self, ty: &Type) -> Value {
        let Some(elem) = ty.elem_scalar() else { panic!("only numbers are loaded, not {ty}") };
        let shape: Shape = ty.shape().unwrap_or(&[]).into();
        let extents: Vec<i64> = shape.iter().map(|&d| i64::from(d)).collect();
        let view = self.input(elem, &extents, super::data::DataKind::Whole);
        let zero = self.index(0);
        let offsets = extents.iter().map(|_| zero).collect();
        let addr = Address::Tile { view, offsets, shape, in_bounds: AxisSet::NONE };
        self.hidden(OpKind::Load { addr, mask: None, pad: None, access: Access::default() })
    }

    /// A row of a tensor that is read and written, each program its own: by a load and a store, or atomically.
    fn update(&mut self) {
        if self.depth > 0 {
            return;
        }
        let programs: i64 = self.grid.iter().map(|&n| i64::from(n)).product();
        let t = self.c.of(&[ScalarType::I32, ScalarType::F32, ScalarType::U64]);
        if !self.config.types.contains(&t) {
            return;
        }
        let n = self.c.of(&[4u32, 1, 5, 8]);
        let kind = self.data_kind(false);
        let extents = [programs, i64::from(n) + self.c.of(&[0, 1, -1])];
        let (tensor, known) = self.tensor(t, &extents, kind);
        let view = self.view_param(tensor, ViewAccess::ReadWrite, Info::ANY);
        let shape: Shape = [1, n].into_iter().collect();
        let zero = self.index(0);
        let offsets: SmallVec<[Value; 5]> = [self.program, zero].into_iter().collect();
        let addr = || Address::Tile { view, offsets: offsets.clone(), shape: shape.clone(), in_bounds: AxisSet::NONE };
        let value = self.exact(&Type::shaped(shape.iter().copied(), t));
        let known = known.or(Info::whole(0.0));
        let mask = self.mask(&shape);
        match self.c.below(3) {
            0 => {
                self.value(OpKind::Load { addr: addr(), mask: None, pad: None, access: Access::default() }, known);
                // All threads have read before any writes.
                self.op(OpKind::Barrier);
                self.op(OpKind::Store { addr: addr(), value, mask, access: Access::default() });
            }
            1 => {
                let (ordering, scope) = (self.c.of(Ordering::ALL), self.c.of(Scope::ALL));
                let kind = OpKind::AtomicRmw { op: AtomicOp::Xchg, addr: addr(), value, mask, ordering, scope };
                self.value(kind, known);
            }
            _ => {
                let compare = self.exact(&Type::shaped(shape.iter().copied(), t));
                // The bits of a NaN, which the comparison looks at, are not defined.
                if t.is_float() && !self.info(compare).is_bounded() {
                    return;
                }
                let (ordering, scope) = (self.c.of(Ordering::ALL), self.c.of(Scope::ALL));
                let kind = OpKind::AtomicCas { addr: addr(), compare, value, mask, ordering, scope };
                self.value(kind, known);
            }
        }
    }

    /// Extents, strides and coordinates as numbers.
    fn view_facts(&mut self) {
        match self.c.below(4) {
            0 => {
                let v = self.program;
                self.offer(v, Info::ANY);
            }
            1 => {
                let axis = self.c.below(3) as u8;
                self.value(OpKind::NumPrograms { axis }, Info::ANY);
            }
            which => {
                let extents = [self.c.between(0, 9), self.c.between(0, 9)];
                let view = self.input(ScalarType::I8, &extents, super::data::DataKind::Whole);
                let axis = self.c.below(2) as u8;
                let kind =
                    if which == 2 { OpKind::ViewExtent { view, axis } } else { OpKind::ViewStride { view, axis } };
                self.value(kind, Info::ANY);
            }
        }
    }

    /// Stores some of the visible values, the latest among them.
    pub(super) fn store_results(&mut self) {
        let all: Vec<Value> = self.visible.iter().copied().filter(|&v| self.ty(v).elem_scalar().is_some()).collect();
        let mut stored = 0;
        for &v in all.iter().rev() {
            if stored < MAX_RESULTS && (stored == 0 || self.c.below(3) != 0) {
                self.store(v);
                stored += 1;
            }
        }
    }

    /// Stores a value into the program's part of a new tensor, mostly of the value's extents.
    pub(super) fn store(&mut self, v: Value) {
        let (mut v, mut info) = (v, self.info(v));
        let Some(elem) = self.ty(v).elem_scalar() else { return };
        if elem.memory_bytes().is_none() {
            v = self.hidden(OpKind::Cast {
                x: v,
                to: ScalarType::I8,
                rounding: Rounding::NearestEven,
                saturate: false,
            });
            info = Info::ANY;
        }
        let shape: Shape = self.ty(v).shape().unwrap_or(&[]).into();
        if shape.len() == crate::types::MAX_RANK {
            let count = shape.iter().product();
            v = self.hidden(OpKind::Reshape { x: v, shape: [count].into_iter().collect() });
        }
        let inner: Shape = self.ty(v).shape().unwrap_or(&[]).into();
        let shape: Shape = [1].into_iter().chain(inner.iter().copied()).collect();
        let value = self.hidden(OpKind::Reshape { x: v, shape: shape.clone() });
        let programs: i64 = self.grid.iter().map(|&n| i64::from(n)).product();
        let slack: Vec<i64> = inner.iter().map(|_| self.c.of(&[0, 0, 0, 1, -1])).collect();
        let extents: Vec<i64> =
            [programs].into_iter().chain(inner.iter().zip(slack).map(|(&d, s)| (i64::from(d) + s).max(1))).collect();
        let elem = self.ty(v).elem_scalar().unwrap_or(ScalarType::I8);
        let (tensor, _) = self.tensor(elem, &extents, super::data::DataKind::Whole);
        // What is not written keeps its value, which is exact.
        let view = self.view_param(tensor, ViewAccess::Write, info);
        let mask = self.mask(&shape);
        let mut offsets: SmallVec<[Value; 5]> = [self.program].into_iter().collect();
        for _ in &inner {
            let at = self.c.of(&[0, 0, 0, 1, -1]);
            offsets.push(self.index(at));
        }
        let access = self.access();
        // Executors may differ in NaN payloads; comparison takes care of that.
        debug_assert!(is_float(self.ty(v)) || info.exact());
        let addr = Address::Tile { view, offsets, shape, in_bounds: AxisSet::NONE };
        self.op(OpKind::Store { addr, value, mask, access });
    }
}
