//! Atomic operations, element by element.
//!
//! What the target's table has becomes one instruction. The rest becomes a compare-exchange loop built here and not left
//! to LLVM's expansion, whose loop for 16-bit floats (LLVM 22) computes the new value once from the first value read and
//! so loses updates.

use inkwell::IntPredicate::NE;
use inkwell::llvm_sys::{LLVMAtomicOrdering, LLVMAtomicRMWBinOp as Rmw};
use tegula_ir::function::{Op, Value};
use tegula_ir::layout::Dim;
use tegula_ir::ops::{AtomicOp, BinaryOp, OpKind, Ordering, Scope};
use tegula_ir::types::{Elem, ScalarType};

use super::hazards::AccessKind;
use super::lowering::{Lowered, Lowering, Registers, Result};
use crate::elementwise::{arith, register_type};
use crate::emit::Val;

/// The atomics themselves order nothing; fences around all of an op's do.
const RELAXED: LLVMAtomicOrdering = LLVMAtomicOrdering::LLVMAtomicOrderingMonotonic;

/// What is done to each element.
enum Update<'c> {
    /// A function of old value and operand.
    Function { op: AtomicOp, operands: Registers<'c> },
    /// Compare and exchange.
    CompareExchange { compare: Registers<'c>, values: Registers<'c> },
}

impl<'c> Lowering<'_, 'c, '_> {
    /// Lowers an atomic.
    pub(super) fn atomic(&mut self, op: Op) -> Result<()> {
        let f = self.f;
        let result = f.op(op).results[0];
        let (addr, mask, ordering, scope, first) = match f.kind(op) {
            OpKind::AtomicRmw { addr, value, mask, ordering, scope, .. } => (addr, mask, ordering, scope, *value),
            OpKind::AtomicCas { addr, value, mask, ordering, scope, .. } => (addr, mask, ordering, scope, *value),
            kind => unreachable!("{} is no atomic", kind.mnemonic()),
        };
        let layout = self.layout(result)?;
        let update = match f.kind(op) {
            OpKind::AtomicCas { compare, .. } => Update::CompareExchange {
                compare: self.registers_in(*compare, layout.as_deref())?,
                values: self.registers_in(first, layout.as_deref())?,
            },
            OpKind::AtomicRmw { op, .. } => {
                Update::Function { op: *op, operands: self.registers_in(first, layout.as_deref())? }
            }
            kind => unreachable!("{} is no atomic", kind.mnemonic()),
        };
        if matches!(ordering, Ordering::Release | Ordering::AcqRel) {
            // What any thread of the program wrote before goes before.
            self.barrier();
            self.e.fence(LLVMAtomicOrdering::LLVMAtomicOrderingRelease, self.target.sync_scope(*scope));
        }
        self.order_access(addr, layout.clone(), AccessKind::Atomic);
        let plan = self.plan_access(addr, layout.as_deref(), *mask)?;
        let elem = plan.elem;
        let zero = self.e.zero(register_type(&self.e, Elem::Scalar(elem)));

        let count = layout.as_ref().map_or(1, |l| l.in_size(Dim::Register) as usize);
        let duplicates = layout.as_ref().map_or(0, |l| l.free_bits(Dim::Register));
        let owner = match &layout {
            Some(layout) => self.owner(layout),
            None => Some(self.first_thread()),
        };
        let mut old = vec![zero; count];
        for group in plan.groups.iter().filter(|g| g.registers[0] & duplicates == 0) {
            for (i, &r) in group.registers.iter().enumerate() {
                let e = &self.e;
                let bytes = elem.memory_bytes().expect("the verifier has checked that this type is in memory");
                let address = e.offset(group.address, e.i64((i as u32 * bytes).into()));
                let condition = match (owner, plan.conditions[group.condition]) {
                    (Some(a), Some(b)) => e.and(a, b),
                    (one, other) => one.or(other).unwrap_or(e.bool(true)),
                };
                old[r as usize] = e.if_then(condition, &[zero], || {
                    vec![self.update_element(&update, r as usize, address, elem, *scope)]
                })[0];
            }
        }
        let acquires = matches!(ordering, Ordering::Acquire | Ordering::AcqRel);
        if acquires {
            // What the atomic saw, all threads see from here on.
            self.e.fence(LLVMAtomicOrdering::LLVMAtomicOrderingAcquire, self.target.sync_scope(*scope));
            self.barrier();
        }
        if self.is_used(result) {
            self.share_old_values(result, old, elem)?;
        }
        Ok(())
    }

    /// Gives the old values, which the owners have, to all threads that hold the elements.
    fn share_old_values(&mut self, result: Value, old: Vec<Val<'c>>, elem: ScalarType) -> Result<()> {
        let elem = Elem::Scalar(elem);
        let Some((tile, layout)) = self.tile(result)? else {
            let area = self.exchange_area(1, elem);
            let first = self.first_thread();
            self.only_if(Some(first), |this| this.store_indexed(area, this.e.i32(0), old[0], elem));
            self.scratch_written();
            let value = self.load_indexed(area, self.e.i32(0), elem);
            self.set(result, Lowered::scalar(value));
            return Ok(());
        };
        let owners = layout.register_owners();
        let registers: Registers<'c> = owners.iter().map(|&r| old[r as usize]).collect();
        if self.owner(&layout).is_none() {
            self.set(result, Lowered::Registers(registers));
            return Ok(());
        }
        let shape = tile.shape.to_vec();
        let area = self.exchange_area(tile.count(), elem);
        self.exchange_store(area, &registers, &layout, &shape, elem, |this, at| this.row_major(at, &shape));
        self.scratch_written();
        let shared = self.exchange_load(area, &layout, &shape, elem, |this, at, _| this.row_major(at, &shape));
        self.set_registers(result, shared);
        Ok(())
    }

    /// Updates one element; gives its old value.
    fn update_element(
        &self,
        update: &Update<'c>,
        register: usize,
        address: Val<'c>,
        elem: ScalarType,
        scope: Scope,
    ) -> Val<'c> {
        let e = &self.e;
        let scope = self.target.sync_scope(scope);
        let ty = register_type(e, Elem::Scalar(elem));
        let pick = |registers: &Registers<'c>| if registers.len() == 1 { registers[0] } else { registers[register] };
        match update {
            Update::CompareExchange { compare, values } => {
                let (compare, value) = (e.to_bits(pick(compare)), e.to_bits(pick(values)));
                let (old, _) = e.atomic_cas(address, compare, value, RELAXED, RELAXED, scope);
                e.bitcast(old, ty)
            }
            Update::Function { op, operands } => {
                let operand = pick(operands);
                let Some(instruction) = self.instruction(*op, elem) else {
                    return self.update_by_loop(*op, operand, address, elem, scope);
                };
                // Exchanges move bits; the rest of the float operations are on floats.
                let value = if *op == AtomicOp::Xchg { e.to_bits(operand) } else { operand };
                let old = e.atomic_rmw(instruction, address, value, RELAXED, scope);
                self.target.annotate_atomic(e, old);
                e.bitcast(old, ty)
            }
        }
    }

    /// The instruction of an operation, if the target has it.
    fn instruction(&self, op: AtomicOp, elem: ScalarType) -> Option<Rmw> {
        if elem.is_float() && op != AtomicOp::Xchg {
            return self.target.has_float_atomic(op, elem).then_some(Rmw::LLVMAtomicRMWBinOpFAdd);
        }
        let signed = elem.is_signed_int();
        Some(match op {
            AtomicOp::Add => Rmw::LLVMAtomicRMWBinOpAdd,
            AtomicOp::Min if signed => Rmw::LLVMAtomicRMWBinOpMin,
            AtomicOp::Max if signed => Rmw::LLVMAtomicRMWBinOpMax,
            AtomicOp::Min => Rmw::LLVMAtomicRMWBinOpUMin,
            AtomicOp::Max => Rmw::LLVMAtomicRMWBinOpUMax,
            AtomicOp::And => Rmw::LLVMAtomicRMWBinOpAnd,
            AtomicOp::Or => Rmw::LLVMAtomicRMWBinOpOr,
            AtomicOp::Xor => Rmw::LLVMAtomicRMWBinOpXor,
            AtomicOp::Xchg => Rmw::LLVMAtomicRMWBinOpXchg,
        })
    }

    /// A compare-exchange loop on the 32- or 64-bit word that holds the element.
    fn update_by_loop(
        &self,
        op: AtomicOp,
        operand: Val<'c>,
        address: Val<'c>,
        elem: ScalarType,
        scope: &str,
    ) -> Val<'c> {
        let e = &self.e;
        let bits = elem.bits();
        let ty = register_type(e, Elem::Scalar(elem));
        let word_bits = bits.max(32);
        let word_type = e.int(word_bits).into();
        // A 16-bit element is half of an aligned word.
        let (word_address, shift) = if bits < 32 {
            let number = e.bitcast(address, e.int(64));
            let in_word = e.and(number, e.i64(3));
            let shift = e.zext_or_trunc(e.shl_const(in_word, 3), 32);
            (e.offset(address, e.sub(e.i64(0), in_word)), Some(shift))
        } else {
            (address, None)
        };
        let element_of = |word: Val<'c>| {
            let moved = shift.map_or(word, |shift| e.lshr(word, shift));
            e.bitcast(e.zext_or_trunc(moved, bits), ty)
        };
        let with_element = |word: Val<'c>, element: Val<'c>| {
            let element = e.zext_or_trunc(e.to_bits(element), word_bits);
            match shift {
                None => element,
                Some(shift) => {
                    let hole = e.not(e.shl(e.const_int(word_bits, (1 << bits) - 1), shift));
                    e.or(e.and(word, hole), e.shl(element, shift))
                }
            }
        };
        let combine = |old: Val<'c>| {
            let op = match op {
                AtomicOp::Add => BinaryOp::Add,
                AtomicOp::Min => BinaryOp::Min,
                AtomicOp::Max => BinaryOp::Max,
                AtomicOp::And | AtomicOp::Or | AtomicOp::Xor | AtomicOp::Xchg => {
                    unreachable!("every target has {} on words", op.name())
                }
            };
            arith::binary(e, self.target, op, elem, old, operand).expect("add, min and max need no expansion")
        };

        // Any guess will do to begin with: an exchange that fails tells what is there.
        let first = e.zero(word_type);
        let (from, retry, done) = (e.current_block(), e.block("atomic"), e.block("atomic.end"));
        e.br(retry);
        e.move_to(retry);
        let expected = e.phi(word_type);
        let word = expected.as_basic_value();
        let new = with_element(word, combine(element_of(word)));
        let (seen, _) = e.atomic_cas(word_address, word, new, RELAXED, RELAXED, scope);
        let again = e.icmp(NE, seen, word);
        let latch = e.current_block();
        e.cond_br(again, retry, done);
        expected.add_incoming(&[(&first, from), (&seen, latch)]);
        e.move_to(done);
        element_of(word)
    }
}
