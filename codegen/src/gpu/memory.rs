//! Loads and stores.

use inkwell::IntPredicate::EQ;
use tegula_ir::function::Op;
use tegula_ir::layout::Dim;
use tegula_ir::ops::{Access, Address, CacheHint, OpKind};
use tegula_ir::types::{Elem, ScalarType};

use super::address::{AccessPlan, Group};
use super::convert_layout::{from_memory, to_memory};
use super::hazards::AccessKind;
use super::lowering::{Lowering, Result};
use crate::elementwise::{memory_type, register_type};
use crate::emit::{MemoryFlags, Val};

impl<'c> Lowering<'_, 'c, '_> {
    /// Lowers a load.
    pub(super) fn load(&mut self, op: Op) -> Result<()> {
        let f = self.f;
        let OpKind::Load { addr, mask, pad, access } = f.kind(op) else { unreachable!("the caller matched a load") };
        let result = f.op(op).results[0];
        let layout = self.layout(result)?;
        self.order_access(addr, layout.clone(), AccessKind::Read);
        let plan = self.plan_access(addr, layout.as_deref(), *mask)?;
        let elem = Elem::Scalar(plan.elem);
        let pad = match pad {
            Some(pad) => self.scalar(*pad),
            None => self.e.zero(register_type(&self.e, elem)),
        };
        let flags = self.load_flags(addr, access);
        let count = layout.as_ref().map_or(1, |l| l.in_size(Dim::Register) as usize);

        let registers = match &plan.whole {
            None => self.load_checked(&plan, count, pad, flags),
            Some((whole, groups)) => {
                let e = &self.e;
                let (fast, slow, end) = (e.block("whole"), e.block("partial"), e.block("loaded"));
                e.cond_br(*whole, fast, slow);
                e.move_to(fast);
                let mut direct = vec![pad; count];
                for group in groups {
                    self.load_group(group, plan.elem, flags, &mut direct);
                }
                let fast_end = self.e.current_block();
                self.e.br(end);
                self.e.move_to(slow);
                let checked = self.load_checked(&plan, count, pad, flags);
                let slow_end = self.e.current_block();
                self.e.br(end);
                self.e.move_to(end);
                let merge = |(a, b): (&Val<'c>, &Val<'c>)| {
                    let phi = self.e.phi(a.get_type());
                    phi.add_incoming(&[(a, fast_end), (b, slow_end)]);
                    phi.as_basic_value()
                };
                direct.iter().zip(&checked).map(merge).collect()
            }
        };
        self.set_registers(result, registers);
        Ok(())
    }

    fn load_flags(&self, addr: &Address, access: &Access) -> MemoryFlags {
        let invariant = match addr {
            Address::Tile { view, .. } | Address::Gather { view, .. } => {
                let view = self.view(*view);
                view.read_only && view.spec.no_alias
            }
            Address::Ptr { .. } => false,
        };
        MemoryFlags {
            volatile: access.volatile,
            nontemporal: access.cache == CacheHint::Streaming,
            invariant: invariant && !access.volatile,
        }
    }

    fn load_checked(&mut self, plan: &AccessPlan<'c>, count: usize, pad: Val<'c>, flags: MemoryFlags) -> Vec<Val<'c>> {
        let mut registers = vec![pad; count];
        for (condition, groups) in plan.by_condition() {
            let slots: Vec<usize> = groups.iter().flat_map(|g| &g.registers).map(|&r| r as usize).collect();
            let loaded = self.e.if_then(condition.unwrap_or(self.e.bool(true)), &vec![pad; slots.len()], || {
                let mut values = vec![pad; count];
                for group in &groups {
                    self.load_group(group, plan.elem, flags, &mut values);
                }
                slots.iter().map(|&slot| values[slot]).collect()
            });
            for (&slot, value) in slots.iter().zip(loaded) {
                registers[slot] = value;
            }
        }
        registers
    }

    /// Loads one vector and spreads its elements to their registers.
    fn load_group(&self, group: &Group<'c>, elem: ScalarType, flags: MemoryFlags, registers: &mut [Val<'c>]) {
        let e = &self.e;
        let elem = Elem::Scalar(elem);
        let memory = memory_type(e, elem);
        let width = group.registers.len() as u32;
        let align = e.bits(memory) / 8 * width;
        let vector = match flags.volatile || width == 1 {
            false => e.unpack(e.load(e.vec_type(memory, width), group.address, align, flags)),
            // A volatile access stays one access an element.
            true => (0..width)
                .map(|i| {
                    let bytes = e.bits(memory) / 8;
                    let address = e.offset(group.address, e.i64((i * bytes).into()));
                    e.load(memory, address, bytes, flags)
                })
                .collect(),
        };
        for (&r, element) in group.registers.iter().zip(vector) {
            registers[r as usize] = from_memory(e, element, elem);
        }
    }

    /// Lowers a store.
    pub(super) fn store(&mut self, op: Op) -> Result<()> {
        let f = self.f;
        let OpKind::Store { addr, value, mask, access } = f.kind(op) else {
            unreachable!("the caller matched a store")
        };
        let layout = self.layout(*value)?;
        self.order_access(addr, layout.clone(), AccessKind::Write);
        let plan = self.plan_access(addr, layout.as_deref(), *mask)?;
        let registers = self.registers(*value);
        let flags = MemoryFlags {
            volatile: access.volatile,
            nontemporal: access.cache == CacheHint::Streaming,
            invariant: false,
        };
        let duplicates = layout.as_ref().map_or(0, |l| l.free_bits(Dim::Register));
        let owner = match &layout {
            Some(layout) => self.owner(layout),
            None => Some(self.first_thread()),
        };
        let own = |group: &&Group<'c>| group.registers[0] & duplicates == 0;
        self.only_if(owner, |this| {
            let checked = |this: &mut Self| {
                for (condition, groups) in plan.by_condition() {
                    this.only_if(condition, |this| {
                        for group in groups.into_iter().filter(own) {
                            this.store_group(group, plan.elem, flags, &registers);
                        }
                    });
                }
            };
            match &plan.whole {
                None => checked(this),
                Some((whole, wide)) => {
                    let (fast, slow, end) = (this.e.block("whole"), this.e.block("partial"), this.e.block("stored"));
                    this.e.cond_br(*whole, fast, slow);
                    this.e.move_to(fast);
                    for group in wide.iter().filter(own) {
                        this.store_group(group, plan.elem, flags, &registers);
                    }
                    this.e.br(end);
                    this.e.move_to(slow);
                    checked(this);
                    this.e.br(end);
                    this.e.move_to(end);
                }
            }
        });
        Ok(())
    }

    /// Stores one vector.
    fn store_group(&self, group: &Group<'c>, elem: ScalarType, flags: MemoryFlags, registers: &[Val<'c>]) {
        let e = &self.e;
        let elem = Elem::Scalar(elem);
        let elements: Vec<Val<'c>> =
            group.registers.iter().map(|&r| to_memory(e, registers[r as usize], elem)).collect();
        let bytes = e.bits(elements[0].get_type()) / 8;
        if flags.volatile {
            for (i, element) in elements.into_iter().enumerate() {
                let address = e.offset(group.address, e.i64((i as u32 * bytes).into()));
                e.store(element, address, bytes, flags);
            }
        } else {
            e.store(e.pack(&elements), group.address, bytes * elements.len() as u32, flags);
        }
    }

    /// Whether this is the program's first thread, which acts for scalars.
    pub(super) fn first_thread(&self) -> Val<'c> {
        self.e.icmp(EQ, self.thread, self.e.i32(0))
    }
}
