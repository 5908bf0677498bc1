//! Arena buffers and tensor memory: bounds, masks, strides.

use inkwell::IntPredicate::{SGE, SLE, SLT, ULT};
use smallvec::SmallVec;
use tegula_codegen::emit::{MemoryFlags, Val};
use tegula_ir::function::{Op, Value};
use tegula_ir::ops::{Access, Address, OpKind};
use tegula_ir::types::{Elem, ScalarType};

use super::eval::{Coord, Mode, Site};
use super::{CallSite, Lowering};
use crate::plan::buffers::element_bytes;
use crate::plan::group::address_of;
use crate::plan::index::strides;
use crate::plan::memory::{Origin, origin};
use crate::plan::{BufferId, Place};

/// Size from which on a tensor is not expected to be found in a cache when it is read next.
const STREAM_BYTES: i64 = 16 << 20;

/// Where the lanes of an access are.
enum Lanes<'c> {
    /// One address for all.
    One(Val<'c>),
    /// From this address up.
    Contiguous(Val<'c>),
    /// Each its own.
    Spread(Val<'c>),
}

impl<'c> Lowering<'_, 'c, '_> {
    // --- buffers ---

    /// Address of a buffer.
    pub fn buffer_base(&self, id: BufferId) -> Val<'c> {
        self.b.element(self.arena, self.b.i64(self.plan.buffer(id).offset as i64), 1)
    }

    fn place_in(&self, base: Val<'c>, bytes: u32, at: Coord<'c>, lanes: u32) -> Lanes<'c> {
        match at {
            Coord::Affine { base: index, step } if step == 0 || lanes == 1 => {
                Lanes::One(self.b.element(base, index, bytes))
            }
            Coord::Affine { base: index, step: 1 } => Lanes::Contiguous(self.b.element(base, index, bytes)),
            at => Lanes::Spread(self.b.element(base, self.coord_lanes(&at, lanes), bytes)),
        }
    }

    /// Reads elements of a buffer at an index in it.
    pub fn buffer_load(&mut self, site: &Site<'c>, id: BufferId, at: &[Coord<'c>], lanes: u32) -> Val<'c> {
        let strides = strides(&self.plan.buffer(id).shape);
        let linear = self.linear_index(at, &strides, lanes);
        self.buffer_load_linear(site, id, linear, lanes)
    }

    fn buffer_load_linear(&mut self, site: &Site<'c>, id: BufferId, at: Coord<'c>, lanes: u32) -> Val<'c> {
        let b = self.b.clone();
        let elem = self.plan.buffer(id).elem;
        let bytes = element_bytes(elem);
        let ty = self.memory_ty(elem);
        let wide = b.lanes_ty(ty, lanes);
        let plain = MemoryFlags::default();
        let stored = match self.place_in(self.buffer_base(id), bytes, at, lanes) {
            Lanes::One(p) => b.broadcast(b.load(ty, p, bytes, plain), lanes),
            // Lanes beyond the end read the slack behind the buffer.
            Lanes::Contiguous(p) => b.load(wide, p, bytes, plain),
            Lanes::Spread(p) => {
                let all = b.broadcast(b.bool(true), lanes);
                b.gather(p, site.active.unwrap_or(all), b.zero(wide), bytes)
            }
        };
        self.unpack_element(elem, stored)
    }

    /// Reads elements of a tile, which has a whole buffer or is made from nothing, at a row-major position.
    pub fn eval_linear(&mut self, site: &mut Site<'c>, v: Value, at: Coord<'c>, lanes: u32) -> Val<'c> {
        match self.plan.place(v) {
            // Rows of which there is one are no rows.
            Place::Buffer { buffer, dropped } if self.shape(v)[..dropped].iter().all(|&extent| extent == 1) => {
                self.buffer_load_linear(site, buffer, at, lanes)
            }
            // A constant, a repeated scalar or a count is inline whoever reads it.
            Place::Inline => {
                let at = self.index_of(self.shape(v), at, lanes);
                self.eval_inline(site, v, &at, lanes)
            }
            place => unreachable!("{v} is read as a whole, but its place is {place:?}"),
        }
    }

    /// Writes elements of a buffer at an index in it.
    pub fn buffer_store(&mut self, site: &Site<'c>, id: BufferId, at: &[Coord<'c>], v: Val<'c>) {
        let strides = strides(&self.plan.buffer(id).shape);
        let linear = self.linear_index(at, &strides, self.b.lanes(v));
        self.raw_store(site, self.buffer_base(id), self.plan.buffer(id).elem, linear, v);
    }

    /// Writes elements of row-major memory at a position.
    pub fn raw_store(&mut self, site: &Site<'c>, base: Val<'c>, elem: Elem, at: Coord<'c>, v: Val<'c>) {
        let b = self.b.clone();
        let bytes = element_bytes(elem);
        let lanes = b.lanes(v);
        let v = self.pack_element(elem, v);
        match (self.place_in(base, bytes, at, lanes), site.active) {
            (Lanes::One(p), _) => {
                let last = if lanes == 1 { v } else { b.lane(v, 0) };
                b.store(last, p, bytes, MemoryFlags::default());
            }
            (Lanes::Contiguous(p), None) => b.store(v, p, bytes, MemoryFlags::default()),
            (Lanes::Contiguous(p), Some(mask)) => b.masked_store(v, p, mask, bytes),
            (Lanes::Spread(p), mask) => {
                let all = b.broadcast(b.bool(true), lanes);
                b.scatter(v, p, mask.unwrap_or(all), bytes);
            }
        }
    }

    // --- tensors ---

    /// Reads elements of a tensor: those at index `at` of the tile that the address covers.
    #[expect(clippy::too_many_arguments, reason = "the parts of a load")]
    pub fn load(
        &mut self,
        site: &mut Site<'c>,
        op: Op,
        addr: &Address,
        mask: Option<Val<'c>>,
        pad: Val<'c>,
        t: ScalarType,
        at: &[Coord<'c>],
        lanes: u32,
        access: &Access,
    ) -> Val<'c> {
        let b = self.b.clone();
        let elem = Elem::Scalar(t);
        let bytes = element_bytes(elem);
        let ty = self.memory_ty(elem);
        let (place, bounds) = self.locate(site, addr, t, at, lanes);
        let mask = self.and_masks(&[bounds, mask, if lanes > 1 { site.active } else { None }]);
        // Masks of all lanes alike are made once.
        let mask = mask.map(|m| b.broadcast(m, lanes));
        self.check_addresses(op, addr, &place, mask, bytes, lanes);
        let flags = self.flags(access);
        let stored_pad = self.pack_element(elem, pad);
        let pads = b.broadcast(stored_pad, lanes);
        let stored = match (place, mask) {
            (Lanes::One(p), None) => b.broadcast(b.load(ty, p, bytes, flags), lanes),
            (Lanes::One(p), Some(mask)) if lanes == 1 => {
                b.if_then(mask, &[stored_pad], || vec![b.load(ty, p, bytes, flags)])[0]
            }
            (Lanes::One(p), Some(mask)) => {
                let one = b.if_then(b.any(mask), &[stored_pad], || vec![b.load(ty, p, bytes, flags)])[0];
                b.select(mask, b.broadcast(one, lanes), pads)
            }
            (Lanes::Contiguous(p), None) => b.load(b.lanes_ty(ty, lanes), p, bytes, flags),
            (Lanes::Contiguous(p), Some(mask)) => b.masked_load(p, mask, pads, bytes),
            (Lanes::Spread(p), mask) => {
                let all = b.broadcast(b.bool(true), lanes);
                b.gather(p, mask.unwrap_or(all), pads, bytes)
            }
        };
        self.unpack_element(elem, stored)
    }

    /// Fetches ahead what the next row has where this one has these elements. After the row of a one-dimensional tile comes
    /// that of the next program.
    pub fn prefetch_next_row(
        &mut self,
        site: &mut Site<'c>,
        addr: &Address,
        t: ScalarType,
        at: &[Coord<'c>],
        lanes: u32,
    ) {
        let Address::Tile { view, shape, .. } = addr else { return };
        let stride = match shape[..] {
            [] => return,
            [extent] => self.b.i64(extent.into()),
            [.., _, _] => self.views[view].strides[shape.len() - 2],
        };
        if let (Lanes::Contiguous(p), _) = self.locate(site, addr, t, at, lanes) {
            self.b.prefetch(self.b.element(p, stride, element_bytes(Elem::Scalar(t))));
        }
    }

    /// Writes elements of a tensor.
    #[expect(clippy::too_many_arguments, reason = "the parts of a store")]
    pub fn store(
        &mut self,
        site: &mut Site<'c>,
        op: Op,
        addr: &Address,
        mask: Option<Val<'c>>,
        v: Val<'c>,
        t: ScalarType,
        at: &[Coord<'c>],
        access: &Access,
    ) {
        let b = self.b.clone();
        let elem = Elem::Scalar(t);
        let bytes = element_bytes(elem);
        let lanes = b.lanes(v);
        let (place, bounds) = self.locate(site, addr, t, at, lanes);
        let mask = self.and_masks(&[bounds, mask, if lanes > 1 { site.active } else { None }]);
        // Masks of all lanes alike are made once.
        let mask = mask.map(|m| b.broadcast(m, lanes));
        self.check_addresses(op, addr, &place, mask, bytes, lanes);
        let mut flags = self.flags(access);
        let v = self.pack_element(elem, v);
        if site.mode == Mode::Stream && matches!(place, Lanes::Contiguous(_)) && mask.is_none() {
            let Lanes::Contiguous(p) = place else { unreachable!("matched above") };
            flags.nontemporal = true;
            return b.store(v, p, bytes * lanes, flags);
        }
        match (place, mask) {
            (Lanes::One(p), None) => b.store(b.lane(v, lanes - 1), p, bytes, flags),
            (Lanes::One(p), Some(mask)) if lanes == 1 => {
                b.if_then(mask, &[], || {
                    b.store(v, p, bytes, flags);
                    Vec::new()
                });
            }
            // Several lanes meet in one element: the last that is on wins.
            (Lanes::One(p), Some(mask)) => b.scatter(v, b.broadcast(p, lanes), mask, bytes),
            (Lanes::Contiguous(p), None) => b.store(v, p, bytes, flags),
            (Lanes::Contiguous(p), Some(mask)) => b.masked_store(v, p, mask, bytes),
            (Lanes::Spread(p), mask) => {
                let all = b.broadcast(b.bool(true), lanes);
                b.scatter(v, p, mask.unwrap_or(all), bytes);
            }
        }
    }

    /// Cache hints are not taken as they are: the non-temporal stores of x86 need aligned whole vectors, which only a
    /// group made for [`Mode::Stream`] has.
    fn flags(&self, access: &Access) -> MemoryFlags {
        MemoryFlags { volatile: access.volatile, nontemporal: false, invariant: false }
    }

    /// The conjunction of masks; none if all are absent.
    pub fn and_masks(&self, masks: &[Option<Val<'c>>]) -> Option<Val<'c>> {
        let lanes = masks.iter().flatten().map(|&m| self.b.lanes(m)).max()?;
        let wide = |m: Val<'c>| self.b.broadcast(m, lanes);
        masks.iter().flatten().map(|&m| wide(m)).reduce(|x, y| self.b.and(x, y))
    }

    /// Addresses of elements of a tile in tensor memory, and which of them are in bounds.
    fn locate(
        &mut self,
        site: &mut Site<'c>,
        addr: &Address,
        t: ScalarType,
        at: &[Coord<'c>],
        lanes: u32,
    ) -> (Lanes<'c>, Option<Val<'c>>) {
        let b = self.b.clone();
        let bytes = t.memory_bytes().expect("a type with a form in memory");
        match addr {
            Address::Tile { view, offsets, in_bounds, .. } => {
                let view = self.views[view].clone();
                let rank = offsets.len();
                // The index in the view: the tile's offset is the same for all lanes.
                let index: SmallVec<[Coord<'c>; 5]> = (0..rank)
                    .map(|i| {
                        let offset = self.scalar(offsets[i]);
                        match at[i] {
                            Coord::Affine { base, step } => Coord::Affine { base: b.add(offset, base), step },
                            Coord::Lanes(v) => Coord::Lanes(b.add(b.broadcast(offset, lanes), v)),
                        }
                    })
                    .collect();
                let mut mask = None;
                if !site.mode.is_whole() {
                    for i in (0..rank).filter(|&i| !in_bounds.contains(i)) {
                        let inside = self.inside(&index[i], view.extents[i], lanes);
                        mask = self.and_masks(&[mask, Some(inside)]);
                    }
                }
                let contiguous_last = site.mode != Mode::General || view.spec.unit_inner;
                let stride = |i: usize| if contiguous_last && i + 1 == rank { b.i64(1) } else { view.strides[i] };
                let mut base = b.i64(0);
                for (i, c) in index.iter().enumerate() {
                    if let Coord::Affine { base: c, .. } = c {
                        base = b.add(base, b.mul(*c, stride(i)));
                    }
                }
                let moving: SmallVec<[usize; 5]> = (0..rank).filter(|&i| !index[i].is_uniform()).collect();
                let place = match moving[..] {
                    [] => Lanes::One(b.element(view.base, base, bytes)),
                    _ if lanes == 1 => Lanes::One(b.element(view.base, base, bytes)),
                    [i] if matches!(index[i], Coord::Affine { step: 1, .. }) && b.as_const(stride(i)) == Some(1) => {
                        Lanes::Contiguous(b.element(view.base, base, bytes))
                    }
                    _ => {
                        let mut spread = b.broadcast(base, lanes);
                        for &i in &moving {
                            let part = match index[i] {
                                Coord::Affine { step, .. } => {
                                    self.coord_lanes(&Coord::Affine { base: b.i64(0), step }, lanes)
                                }
                                Coord::Lanes(v) => v,
                            };
                            spread = b.add(spread, b.mul(part, b.broadcast(stride(i), lanes)));
                        }
                        Lanes::Spread(b.element(view.base, spread, bytes))
                    }
                };
                (place, mask)
            }
            Address::Gather { view, indices, in_bounds } => {
                let view = self.views[view].clone();
                let mut mask = None;
                let mut index = b.broadcast(b.i64(0), lanes);
                for (i, &v) in indices.iter().enumerate() {
                    let signed = self.elem(v).scalar().is_some_and(ScalarType::is_signed_int);
                    let picked = self.eval(site, v, at, lanes);
                    let picked = self.index(picked, signed);
                    if !in_bounds.contains(i) {
                        let inside = b.icmp(ULT, picked, b.broadcast(view.extents[i], lanes));
                        mask = self.and_masks(&[mask, Some(inside)]);
                    }
                    let stride = b.broadcast(view.strides[i], lanes);
                    index = b.add(index, b.mul(picked, stride));
                }
                let pointers = b.element(view.base, index, bytes);
                (if lanes == 1 { Lanes::One(pointers) } else { Lanes::Spread(pointers) }, mask)
            }
            Address::Ptr { ptr } => {
                let address = self.eval(site, *ptr, at, lanes);
                let pointers = b.to_pointer(address);
                (if lanes == 1 { Lanes::One(pointers) } else { Lanes::Spread(pointers) }, None)
            }
        }
    }

    /// Leaves the kernel where an access through a pointer touches what belongs to no argument.
    fn check_addresses(
        &mut self,
        op: Op,
        addr: &Address,
        place: &Lanes<'c>,
        mask: Option<Val<'c>>,
        bytes: u32,
        lanes: u32,
    ) {
        let Some(allocations) = self.allocations.clone() else { return };
        if origin(self.func, addr) != Origin::Pointer {
            return;
        }
        let b = self.b.clone();
        let addresses = match *place {
            Lanes::One(p) => b.broadcast(b.to_address(p), lanes),
            Lanes::Contiguous(p) => {
                let distances = b.mul(b.iota(64, lanes), b.broadcast(b.i64(bytes.into()), lanes));
                b.add(b.broadcast(b.to_address(p), lanes), distances)
            }
            Lanes::Spread(p) => b.to_address(p),
        };
        let mut inside = b.broadcast(b.bool(false), lanes);
        for (first, size) in allocations {
            let offset = b.sub(addresses, b.broadcast(first, lanes));
            let end = b.add(offset, b.int_like(offset, bytes.into()));
            let size = b.broadcast(size, lanes);
            inside = b.or(inside, b.and(b.icmp(ULT, offset, size), b.icmp(inkwell::IntPredicate::ULE, end, size)));
        }
        if let Some(mask) = mask {
            inside = b.or(inside, b.not(b.broadcast(mask, lanes)));
        }
        let number = self.site_number(CallSite::Access(op));
        self.check_or_leave(b.all(inside), |this| {
            let callee = this.callback(tegula_artifact::cpu::abi::FAIL_OFFSET);
            this.b.call_pointer(callee, &[this.context, this.program, number, this.b.i64(-1)]);
        });
    }

    /// Address of one element and whether it is touched, for ops that handle elements one by one.
    pub fn locate_one(
        &mut self,
        site: &mut Site<'c>,
        op: Op,
        addr: &Address,
        mask: Option<Val<'c>>,
        t: ScalarType,
        at: &[Coord<'c>],
    ) -> (Val<'c>, Option<Val<'c>>) {
        let (place, bounds) = self.locate(site, addr, t, at, 1);
        let mask = self.and_masks(&[bounds, mask]);
        self.check_addresses(op, addr, &place, mask, element_bytes(Elem::Scalar(t)), 1);
        match place {
            Lanes::One(p) | Lanes::Contiguous(p) | Lanes::Spread(p) => (p, mask),
        }
    }

    /// Which lanes of a coordinate of a view lie in `0..extent`.
    fn inside(&self, c: &Coord<'c>, extent: Val<'c>, lanes: u32) -> Val<'c> {
        let b = &self.b;
        match *c {
            Coord::Affine { base, step } if step == 0 || lanes == 1 => b.icmp(ULT, base, extent),
            // Lanes that count up are inside from one lane to another: two comparisons of 32 bits.
            Coord::Affine { base, step: 1 } => {
                let i64_ty = b.int(64).into();
                let clamp = |v: Val<'c>| {
                    let low = b.intrinsic("llvm.smax", &[i64_ty], &[v, b.i64(0)]);
                    let v = b.intrinsic("llvm.smin", &[i64_ty], &[low, b.i64(lanes.into())]);
                    b.broadcast(b.zext_or_trunc(v, 32), lanes)
                };
                let sub = |x: Val<'c>, y: Val<'c>| b.intrinsic("llvm.ssub.sat", &[i64_ty], &[x, y]);
                let iota = b.iota(32, lanes);
                let first = clamp(sub(b.i64(0), base));
                let end = clamp(sub(extent, base));
                b.and(b.icmp(SGE, iota, first), b.icmp(SLT, iota, end))
            }
            c => b.icmp(ULT, self.coord_lanes(&c, lanes), b.broadcast(extent, lanes)),
        }
    }

    /// Whether the stores among these accesses are worth passing by the caches, and can: tensors of many megabytes, rows
    /// aligned to vectors. `None` where there is nothing to store by whole vectors.
    pub fn streams(&self, accesses: &[Op]) -> Option<Val<'c>> {
        let b = &self.b;
        let mut worth = None;
        for &op in accesses {
            let OpKind::Store { addr, mask, access, .. } = self.func.kind(op) else { continue };
            let (Address::Tile { view, offsets, shape, .. }, None, false) = (addr, mask, access.volatile) else {
                return None;
            };
            let view = self.views.get(view)?;
            let bytes = i64::from(view.elem.memory_bytes()?);
            let vector = i64::from(self.target.vector_bytes);
            let (&row, outer) = shape.split_last()?;
            if i64::from(row) * bytes % vector != 0 {
                return None;
            }
            let size = view.extents.iter().fold(b.i64(bytes), |size, &e| b.mul(size, e));
            let mut ok = b.icmp(SGE, size, b.i64(STREAM_BYTES));
            // Addresses and row strides, in bytes, are multiples of a vector if none of their low bits is set.
            let mut bits = b.or(b.to_address(view.base), b.mul(self.scalar(offsets[outer.len()]), b.i64(bytes)));
            for &stride in &view.strides[..outer.len()] {
                bits = b.or(bits, b.mul(stride, b.i64(bytes)));
            }
            let low = b.and(bits, b.i64(vector - 1));
            ok = b.and(ok, b.icmp(inkwell::IntPredicate::EQ, low, b.i64(0)));
            worth = Some(worth.map_or(ok, |w| b.and(w, ok)));
        }
        worth
    }

    /// Whether the boxes of all these accesses lie within their views; and whether all their last axes are contiguous.
    pub fn classify(&self, accesses: &[Op]) -> (Val<'c>, Val<'c>) {
        let b = &self.b;
        let (mut whole, mut unit) = (b.bool(true), b.bool(true));
        for &op in accesses {
            let Address::Tile { view, offsets, shape, in_bounds } = address_of(self.func, op) else { continue };
            let Some(view) = self.views.get(view) else { continue };
            for i in (0..shape.len()).filter(|&i| !in_bounds.contains(i)) {
                let offset = self.scalar(offsets[i]);
                let room = b.sub(view.extents[i], b.i64(shape[i].into()));
                whole = b.and(whole, b.and(b.icmp(SGE, offset, b.i64(0)), b.icmp(SLE, offset, room)));
            }
            if let Some(&last) = view.strides.last()
                && !view.spec.unit_inner
            {
                unit = b.and(unit, b.icmp(inkwell::IntPredicate::EQ, last, b.i64(1)));
            }
        }
        (whole, unit)
    }
}
