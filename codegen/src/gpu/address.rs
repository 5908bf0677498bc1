//! Addresses: from views, indices and pointers to the vector accesses of each thread, with their conditions.

use std::collections::HashMap;

use inkwell::IntPredicate::{SGT, SLT, UGE, ULT};
use tegula_ir::function::{Value, ViewSpec};
use tegula_ir::layout::{Dim, LinearLayout, VectorAccess};
use tegula_ir::ops::{Address, AxisSet};
use tegula_ir::types::ScalarType;

use super::lowering::{Lowered, Lowering, Result, ViewValue};
use super::spread::Spread;
use crate::emit::Val;

/// One access of a thread: neighbouring elements in memory.
pub(super) struct Group<'c> {
    /// The registers, in the order of memory.
    pub registers: Vec<u32>,
    /// Address of the first element.
    pub address: Val<'c>,
    /// Groups with the same number have the same condition.
    pub condition: usize,
}

/// The accesses of a thread for one memory op.
pub(super) struct AccessPlan<'c> {
    /// The accesses.
    pub groups: Vec<Group<'c>>,
    /// Conditions under which they take place; `None` is always.
    pub conditions: Vec<Option<Val<'c>>>,
    /// Type of an element in memory.
    pub elem: ScalarType,
    /// If all conditions hold when some scalar condition does: that condition, and wider accesses for that case.
    pub whole: Option<(Val<'c>, Vec<Group<'c>>)>,
}

impl<'c> Lowering<'_, 'c, '_> {
    /// Makes a view of its parts.
    pub(super) fn make_view(&mut self, base: Value, extents: &[Value], strides: &[Value], result: Value) {
        let elem = self.elem(base).pointee().expect("the verifier has checked that this is a pointer");
        let view = ViewValue {
            base: self.scalar(base),
            extents: extents.iter().map(|&v| self.scalar(v)).collect(),
            strides: strides.iter().map(|&v| self.scalar(v)).collect(),
            elem,
            spec: ViewSpec::default(),
            root: None,
            read_only: false,
        };
        self.set(result, Lowered::View(view));
    }

    /// Plans the accesses to `address` of a tile in `layout` (none for a scalar) under a mask.
    pub(super) fn plan_access(
        &mut self,
        address: &Address,
        layout: Option<&LinearLayout>,
        mask: Option<Value>,
    ) -> Result<AccessPlan<'c>> {
        match address {
            Address::Tile { view, .. } => match layout {
                Some(layout) => self.plan_tile(address, layout, mask),
                None => {
                    let view = self.view(*view);
                    self.plan_single(view.base, view.elem, mask)
                }
            },
            Address::Gather { .. } => self.plan_gather(address, layout, mask),
            Address::Ptr { ptr } => {
                let elem = self.elem(*ptr).pointee().expect("the verifier has checked that this is a pointer");
                let Some(layout) = layout else {
                    let pointer = self.scalar(*ptr);
                    return self.plan_single(pointer, elem, mask);
                };
                let shape = self.f.ty(*ptr).shape().unwrap_or(&[]).to_vec();
                let pointers = self.registers_in(*ptr, Some(layout))?;
                let spread = self.spread(layout);
                let masks = self.mask_registers(mask, layout)?;
                let mut plan = AccessPlan::new(elem);
                for group in self.vectors(address, mask, layout, &shape, elem).groups() {
                    let r = group[0];
                    let valid = self.in_tile(&spread, r, &shape);
                    let condition = self.both(valid, masks.as_ref().map(|m| m[r as usize]));
                    plan.push(group, pointers[r as usize], condition);
                }
                Ok(plan)
            }
        }
    }

    /// The widest vector accesses whose elements are neighbours in memory, aligned, and under one condition.
    fn vectors(
        &self,
        address: &Address,
        mask: Option<Value>,
        layout: &LinearLayout,
        shape: &[u32],
        elem: ScalarType,
    ) -> VectorAccess {
        let facts = self.axes.access(self.f, address, mask);
        let bytes = elem.memory_bytes().expect("the verifier has checked that this type is in memory");
        let widest = (self.target.architecture().max_access_bytes / bytes).max(1);
        // Padding must not begin inside a vector.
        let limit = |axis: usize| facts.widths[axis].min(1 << shape[axis].trailing_zeros()).min(widest);
        (0..shape.len())
            .map(|axis| layout.vector_access(Dim::Axis(axis as u8), limit(axis)))
            .max_by_key(VectorAccess::width)
            .expect("a tile has an axis")
    }

    fn plan_single(&mut self, address: Val<'c>, elem: ScalarType, mask: Option<Value>) -> Result<AccessPlan<'c>> {
        let condition = mask.map(|m| self.scalar(m));
        let mut plan = AccessPlan::new(elem);
        plan.push(vec![0], address, condition);
        Ok(plan)
    }

    /// The registers of a mask in a layout; a scalar mask is the same for all.
    fn mask_registers(&mut self, mask: Option<Value>, layout: &LinearLayout) -> Result<Option<Vec<Val<'c>>>> {
        let Some(mask) = mask else { return Ok(None) };
        let registers = self.registers_in(mask, Some(layout))?;
        let count = layout.in_size(Dim::Register) as usize;
        Ok(Some(if registers.len() == count { registers.to_vec() } else { vec![registers[0]; count] }))
    }

    fn both(&self, a: Option<Val<'c>>, b: Option<Val<'c>>) -> Option<Val<'c>> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.e.and(a, b)),
            (one, other) => one.or(other),
        }
    }

    fn plan_tile(&mut self, address: &Address, layout: &LinearLayout, mask: Option<Value>) -> Result<AccessPlan<'c>> {
        let Address::Tile { view, offsets, shape, in_bounds } = address else {
            unreachable!("the caller matched a box of a view")
        };
        let (view, in_bounds) = (self.view(*view), *in_bounds);
        let spread = self.spread(layout);
        let box_offsets: Vec<Val<'c>> = offsets.iter().map(|&o| self.scalar(o)).collect();
        let masks = self.mask_registers(mask, layout)?;

        let bounds: Vec<Bound<'c>> = (0..shape.len())
            .map(|axis| self.bound(&view, offsets[axis], box_offsets[axis], shape[axis], axis, in_bounds))
            .collect();
        let vectors = self.vectors(address, mask, layout, shape, view.elem);
        let addresses = TileAddresses::new(self, &view, offsets, &box_offsets, &spread);
        let mut plan = AccessPlan::new(view.elem);
        let mut cache = Conditions::default();
        for registers in vectors.groups() {
            let first = registers[0];
            let condition = cache.number(self, &mut plan.conditions, &bounds, &spread, first, masks.as_deref());
            let address = addresses.of(self, &spread, first);
            plan.groups.push(Group { registers, address, condition });
        }

        // If the whole box lies in the view, no condition is needed: a second, wider way for that case.
        let checked = bounds.iter().any(|b| b.checked);
        let padded = shape.iter().any(|extent| !extent.is_power_of_two());
        if checked && !padded && mask.is_none() {
            let mut unchecked = address.clone();
            if let Address::Tile { in_bounds, .. } = &mut unchecked {
                *in_bounds = AxisSet::all(shape.len());
            }
            let wider = self.vectors(&unchecked, None, layout, shape, view.elem);
            if plan.conditions.len() <= 2 && wider.width() <= vectors.width() {
                return Ok(plan);
            }
            let e = &self.e;
            let whole =
                bounds.iter().zip(shape).filter(|(b, _)| b.checked).fold(e.bool(true), |whole, (b, &extent)| {
                    let full = e.icmp(UGE, b.high, e.i32(extent.into()));
                    let from_start = b.low.map_or(e.bool(true), |low| e.icmp(inkwell::IntPredicate::EQ, low, e.i32(0)));
                    e.and(whole, e.and(full, from_start))
                });
            let groups = wider
                .groups()
                .into_iter()
                .map(|registers| {
                    let address = addresses.of(self, &spread, registers[0]);
                    Group { registers, address, condition: 0 }
                })
                .collect();
            plan.whole = Some((whole, groups));
        }
        Ok(plan)
    }

    /// The coordinates of the box that lie in the view, on one axis.
    fn bound(
        &self,
        view: &ViewValue<'c>,
        offset: Value,
        offset_value: Val<'c>,
        extent: u32,
        axis: usize,
        in_bounds: AxisSet,
    ) -> Bound<'c> {
        let e = &self.e;
        if in_bounds.contains(axis) {
            return Bound { low: None, high: e.i32(extent.into()), checked: false, extent };
        }
        // Clamped into the box, so that it fits in 32 bits and coordinates of padding are outside as well.
        let clamp = |value: Val<'c>| {
            let value = e.select(e.icmp(SLT, value, e.i64(0)), e.i64(0), value);
            let value = e.select(e.icmp(SGT, value, e.i64(extent.into())), e.i64(extent.into()), value);
            e.zext_or_trunc(value, 32)
        };
        let low = (!self.is_non_negative(offset)).then(|| clamp(e.sub(e.i64(0), offset_value)));
        // A negative offset beyond -2^63 + extent would overflow here and give a negative number: nothing is inside.
        Bound { low, high: clamp(e.sub(view.extents[axis], offset_value)), checked: true, extent }
    }

    fn plan_gather(
        &mut self,
        address: &Address,
        layout: Option<&LinearLayout>,
        mask: Option<Value>,
    ) -> Result<AccessPlan<'c>> {
        let Address::Gather { view, indices, in_bounds } = address else {
            unreachable!("the caller matched elements by index")
        };
        let view = self.view(*view);
        let spread = layout.map(|l| self.spread(l));
        let shape = indices.first().and_then(|&i| self.f.ty(i).shape()).unwrap_or(&[]).to_vec();
        let masks = match layout {
            Some(layout) => self.mask_registers(mask, layout)?,
            None => mask.map(|m| vec![self.scalar(m)]),
        };
        let mut registers = Vec::with_capacity(indices.len());
        for &index in indices {
            registers.push(self.registers_in(index, layout)?);
        }
        let groups = match layout {
            Some(layout) => self.vectors(address, mask, layout, &shape, view.elem).groups(),
            None => vec![vec![0]],
        };
        let mut plan = AccessPlan::new(view.elem);
        for group in groups {
            let r = group[0];
            let mut condition = match &spread {
                Some(spread) => self.in_tile(spread, r, &shape),
                None => None,
            };
            let mut offset = self.e.i64(0);
            for (axis, &index) in indices.iter().enumerate() {
                let e = &self.e;
                let value = if registers[axis].len() == 1 { registers[axis][0] } else { registers[axis][r as usize] };
                let wide = if self.number(index).is_signed_int() {
                    e.sext_or_trunc(value, 64)
                } else {
                    e.zext_or_trunc(value, 64)
                };
                offset = e.add(offset, e.mul(wide, view.strides[axis]));
                if !in_bounds.contains(axis) {
                    // Negative indices are large as unsigned numbers.
                    let inside = e.icmp(ULT, wide, view.extents[axis]);
                    condition = self.both(condition, Some(inside));
                }
            }
            let condition = self.both(condition, masks.as_ref().map(|m| m[r as usize]));
            let address = self.element_address(view.base, offset, ScalarType::I64, view.elem);
            plan.push(group, address, condition);
        }
        Ok(plan)
    }
}

impl<'c> AccessPlan<'c> {
    fn new(elem: ScalarType) -> Self {
        AccessPlan { groups: Vec::new(), conditions: Vec::new(), elem, whole: None }
    }

    fn push(&mut self, registers: Vec<u32>, address: Val<'c>, condition: Option<Val<'c>>) {
        let number = self.conditions.iter().position(|c| *c == condition).unwrap_or_else(|| {
            self.conditions.push(condition);
            self.conditions.len() - 1
        });
        self.groups.push(Group { registers, address, condition: number });
    }

    /// The groups of each condition, in order.
    pub(super) fn by_condition(&self) -> Vec<(Option<Val<'c>>, Vec<&Group<'c>>)> {
        self.conditions
            .iter()
            .enumerate()
            .map(|(i, &condition)| (condition, self.groups.iter().filter(|g| g.condition == i).collect()))
            .filter(|(_, groups): &(_, Vec<_>)| !groups.is_empty())
            .collect()
    }
}

/// The coordinates `low..high` of a box that may be accessed, on one axis.
struct Bound<'c> {
    /// First coordinate, `i32`, if it may be other than 0.
    low: Option<Val<'c>>,
    /// End, `i32`, at most the extent.
    high: Val<'c>,
    /// Whether the view's extent has a say.
    checked: bool,
    /// Extent of the box.
    extent: u32,
}

/// Conditions of accesses, each computed once.
#[derive(Default)]
struct Conditions<'c> {
    /// By axis and the register's constant part of the coordinate.
    axes: HashMap<(usize, u32), Option<Val<'c>>>,
    /// By the constant parts on all axes: the number in the plan.
    numbers: HashMap<Vec<u32>, usize>,
}

impl<'c> Conditions<'c> {
    /// The number of the condition of a register's access.
    fn number(
        &mut self,
        lowering: &Lowering<'_, 'c, '_>,
        all: &mut Vec<Option<Val<'c>>>,
        bounds: &[Bound<'c>],
        spread: &Spread<'c>,
        register: u32,
        masks: Option<&[Val<'c>]>,
    ) -> usize {
        let e = &lowering.e;
        let mut key = Vec::new();
        let mut condition: Option<Val<'c>> = None;
        for (axis, bound) in bounds.iter().enumerate() {
            let (_, most) = spread.range(register, axis);
            if !bound.checked && most < bound.extent {
                continue;
            }
            let constant = spread.constant(register, axis);
            key.extend([axis as u32, constant]);
            let inside = *self.axes.entry((axis, constant)).or_insert_with(|| {
                let coordinate = spread.coordinate(e, register, axis);
                let below = e.icmp(ULT, coordinate, bound.high);
                Some(match bound.low {
                    Some(low) => e.and(below, e.icmp(UGE, coordinate, low)),
                    None => below,
                })
            });
            condition = lowering.both(condition, inside);
        }
        if let Some(masks) = masks {
            // Masks differ from register to register, unless they are one scalar.
            let mask = masks[register as usize];
            condition = lowering.both(condition, Some(mask));
            if masks.iter().any(|m| *m != mask) {
                key.extend([u32::MAX, register]);
            }
        }
        *self.numbers.entry(key).or_insert_with(|| {
            all.push(condition);
            all.len() - 1
        })
    }
}

/// Addresses of the elements of a box: one pointer for the thread, and offsets from it that are the same for all threads.
struct TileAddresses<'c> {
    /// Address of the thread's part of the coordinates, over the additive axes.
    thread: Val<'c>,
    strides: Vec<Val<'c>>,
    elem: ScalarType,
    additive: Vec<bool>,
    /// Where an axis is not additive: the box's first element on it.
    offsets: Vec<Val<'c>>,
    /// Width of offset arithmetic.
    bits: u32,
}

impl<'c> TileAddresses<'c> {
    fn new(
        lowering: &Lowering<'_, 'c, '_>,
        view: &ViewValue<'c>,
        offsets: &[Value],
        offset_values: &[Val<'c>],
        spread: &Spread<'c>,
    ) -> Self {
        let e = &lowering.e;
        // With offsets that fit in 31 bits and are not negative, no partial sum of an access that takes place wraps.
        let narrow = view.spec.fits_32 && offsets.iter().all(|&o| lowering.is_non_negative(o));
        let bits = if narrow { 32 } else { 64 };
        let resize = |v: Val<'c>| e.zext_or_trunc(v, bits);
        let strides: Vec<Val<'c>> = view.strides.iter().map(|&s| resize(s)).collect();
        let offsets: Vec<Val<'c>> = offset_values.iter().map(|&o| resize(o)).collect();
        let additive: Vec<bool> = (0..strides.len()).map(|axis| spread.is_additive(axis)).collect();
        let mut sum = e.const_int(bits, 0);
        for axis in 0..strides.len() {
            let start = if additive[axis] { e.add(offsets[axis], resize(spread.thread(axis))) } else { offsets[axis] };
            sum = e.add(sum, e.mul(start, strides[axis]));
        }
        let thread = advance(lowering, view.base, sum, view.elem);
        TileAddresses { thread, strides, elem: view.elem, additive, offsets, bits }
    }

    /// Address of a register's element.
    fn of(&self, lowering: &Lowering<'_, 'c, '_>, spread: &Spread<'c>, register: u32) -> Val<'c> {
        let e = &lowering.e;
        debug_assert_eq!(self.offsets.len(), self.strides.len());
        let mut sum = e.const_int(self.bits, 0);
        for (axis, &stride) in self.strides.iter().enumerate() {
            let part = if self.additive[axis] {
                e.const_int(self.bits, spread.constant(register, axis).into())
            } else {
                e.zext_or_trunc(spread.coordinate(e, register, axis), self.bits)
            };
            if e.as_const(part) != Some(0) {
                sum = e.add(sum, e.mul(part, stride));
            }
        }
        advance(lowering, self.thread, sum, self.elem)
    }
}

/// The address `elements` after `base`; 32-bit offsets are not negative.
fn advance<'c>(lowering: &Lowering<'_, 'c, '_>, base: Val<'c>, elements: Val<'c>, elem: ScalarType) -> Val<'c> {
    let e = &lowering.e;
    let bytes = elem.memory_bytes().expect("the verifier has checked that this type is in memory");
    let offset = e.mul(elements, e.const_int(e.bits(elements.get_type()), bytes.into()));
    e.offset(base, e.zext_or_trunc(offset, 64))
}
