//! Moving elements through shared memory by computed indices: for what is not a linear map of coordinates.

use inkwell::IntPredicate::ULT;
use tegula_ir::layout::{Dim, LinearLayout};
use tegula_ir::types::Elem;

use super::convert_layout::{element_bytes, from_memory, to_memory};
use super::lowering::{Lowering, Registers};
use super::spread::Spread;
use crate::elementwise::memory_type;
use crate::emit::{MemoryFlags, Val};

impl<'c> Lowering<'_, 'c, '_> {
    /// Starts a use of scratch for `count` elements.
    pub(super) fn exchange_area(&mut self, count: u64, elem: Elem) -> Val<'c> {
        self.scratch(count * u64::from(element_bytes(elem)))
    }

    /// Writes each element of a tile once, to the index that `index` gives for its coordinates.
    pub(super) fn exchange_store(
        &mut self,
        area: Val<'c>,
        registers: &Registers<'c>,
        layout: &LinearLayout,
        shape: &[u32],
        elem: Elem,
        index: impl Fn(&Self, &[Val<'c>]) -> Val<'c>,
    ) {
        let spread = self.spread(layout);
        let duplicates = layout.free_bits(Dim::Register);
        let owner = self.owner(layout);
        self.only_if(owner, |this| {
            for r in (0..spread.registers()).filter(|r| r & duplicates == 0) {
                let valid = this.in_tile(&spread, r, shape);
                this.only_if(valid, |this| {
                    let at = index(this, &spread.coordinates(&this.e, r));
                    this.store_indexed(area, at, registers[r as usize], elem);
                });
            }
        });
    }

    /// Reads, for each register of a tile, the element at the index that `index` gives for its coordinates. Indices of
    /// padding are brought into the area.
    pub(super) fn exchange_load(
        &mut self,
        area: Val<'c>,
        layout: &LinearLayout,
        shape: &[u32],
        elem: Elem,
        index: impl Fn(&Self, &[Val<'c>], u32) -> Val<'c>,
    ) -> Vec<Val<'c>> {
        let spread = self.spread(layout);
        (0..spread.registers())
            .map(|r| {
                let at = index(self, &spread.coordinates(&self.e, r), r);
                let at = match self.in_tile(&spread, r, shape) {
                    None => at,
                    Some(valid) => self.e.select(valid, at, self.e.i32(0)),
                };
                self.load_indexed(area, at, elem)
            })
            .collect()
    }

    /// Writes one element of the area.
    pub(super) fn store_indexed(&self, area: Val<'c>, index: Val<'c>, value: Val<'c>, elem: Elem) {
        let bytes = element_bytes(elem);
        let e = &self.e;
        let address = e.offset(area, e.mul(index, e.i32(bytes.into())));
        e.store(to_memory(e, value, elem), address, bytes, MemoryFlags::default());
    }

    /// Reads one element of the area.
    pub(super) fn load_indexed(&self, area: Val<'c>, index: Val<'c>, elem: Elem) -> Val<'c> {
        let bytes = element_bytes(elem);
        let e = &self.e;
        let address = e.offset(area, e.mul(index, e.i32(bytes.into())));
        from_memory(e, e.load(memory_type(e, elem), address, bytes, MemoryFlags::default()), elem)
    }

    /// Whether a register holds an element of the tile and no padding; `None` if it always does.
    pub(super) fn in_tile(&self, spread: &Spread<'c>, register: u32, shape: &[u32]) -> Option<Val<'c>> {
        (0..shape.len()).fold(None, |valid, axis| {
            let (least, most) = spread.range(register, axis);
            let inside = if most < shape[axis] {
                return valid;
            } else if least >= shape[axis] {
                self.e.bool(false)
            } else {
                let coordinate = spread.coordinate(&self.e, register, axis);
                self.e.icmp(ULT, coordinate, self.e.i32(shape[axis].into()))
            };
            Some(valid.map_or(inside, |valid| self.e.and(valid, inside)))
        })
    }

    /// The row-major index of coordinates in a shape, `i32`.
    pub(super) fn row_major(&self, coordinates: &[Val<'c>], shape: &[u32]) -> Val<'c> {
        let e = &self.e;
        let mut stride = 1u32;
        let mut index = e.i32(0);
        for (&coordinate, &extent) in coordinates.iter().zip(shape).rev() {
            index = e.add(index, e.mul(coordinate, e.i32(stride.into())));
            stride = stride.saturating_mul(extent);
        }
        index
    }
}
