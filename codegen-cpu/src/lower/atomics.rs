//! Atomics, element by element: an instruction for integers, a compare-and-exchange loop for floats.

use smallvec::SmallVec;
use tegula_codegen::emit::{MemoryFlags, Val};
use tegula_ir::function::{Op, Value};
use tegula_ir::ops::{Address, AtomicOp, BinaryOp, OpKind, Ordering};
use tegula_ir::types::{Elem, ScalarType};

use super::Lowering;
use super::eval::{Coord, Site};

use llvm_sys::LLVMAtomicOrdering as Order;
use llvm_sys::LLVMAtomicRMWBinOp as Rmw;

/// All threads of the process.
const SYSTEM: &str = "";

impl<'c> Lowering<'_, 'c, '_> {
    /// `atomic_rmw` and `atomic_cas`.
    pub fn atomic(&mut self, op: Op) {
        let func = self.func;
        let (addr, value, mask) = match func.kind(op) {
            OpKind::AtomicRmw { addr, value, mask, .. } | OpKind::AtomicCas { addr, value, mask, .. } => {
                (addr, *value, *mask)
            }
            kind => unreachable!("{} is not atomic", kind.mnemonic()),
        };
        let mut operands: SmallVec<[Value; 8]> = SmallVec::from_slice(&[value]);
        func.kind(op).for_each_operand(|v| {
            if self.is_tile(v) {
                operands.push(v);
            }
        });
        let result = func.op(op).results[0];
        let t = self.elem(value).scalar().expect("atomics of numbers");
        self.each_element(&operands, false, |this, site, at, _| {
            let old = this.atomic_element(site, op, addr, mask, t, at);
            if this.is_tile(result) {
                this.write_back(site, result, at, old);
            } else {
                this.scalars.insert(result, old);
            }
        });
    }

    fn atomic_element(
        &mut self,
        site: &mut Site<'c>,
        op: Op,
        addr: &Address,
        mask: Option<Value>,
        t: ScalarType,
        at: &[Coord<'c>],
    ) -> Val<'c> {
        let b = self.b.clone();
        let func = self.func;
        let operand = |this: &mut Self, site: &mut Site<'c>, v: Value| {
            let at = if this.is_tile(v) { at } else { &[] };
            this.eval(site, v, at, 1)
        };
        let mask = mask.map(|m| operand(self, site, m));
        let (pointer, on) = self.locate_one(site, op, addr, mask, t, at);
        let on = on.unwrap_or_else(|| b.bool(true));
        let zero = b.zero(self.register_ty(Elem::Scalar(t)));
        match func.kind(op) {
            OpKind::AtomicRmw { op, value, ordering, .. } => {
                let value = operand(self, site, *value);
                b.if_then(on, &[zero], || vec![self.read_modify_write(*op, t, pointer, value, *ordering)])[0]
            }
            OpKind::AtomicCas { compare, value, ordering, .. } => {
                let compare = operand(self, site, *compare);
                let value = operand(self, site, *value);
                b.if_then(on, &[zero], || {
                    let (order, failure) = orders(*ordering);
                    let (compare, value) = (b.to_bits(compare), b.to_bits(value));
                    let (old, _) = b.atomic_cas(pointer, compare, value, order, failure, SYSTEM);
                    vec![b.bitcast(old, zero.get_type())]
                })[0]
            }
            kind => unreachable!("{} is not atomic", kind.mnemonic()),
        }
    }

    fn read_modify_write(
        &self,
        op: AtomicOp,
        t: ScalarType,
        pointer: Val<'c>,
        value: Val<'c>,
        ordering: Ordering,
    ) -> Val<'c> {
        let b = &self.b;
        let (order, failure) = orders(ordering);
        let rmw = match op {
            AtomicOp::Xchg => Some(Rmw::LLVMAtomicRMWBinOpXchg),
            _ if t.is_float() => None,
            AtomicOp::Add => Some(Rmw::LLVMAtomicRMWBinOpAdd),
            AtomicOp::And => Some(Rmw::LLVMAtomicRMWBinOpAnd),
            AtomicOp::Or => Some(Rmw::LLVMAtomicRMWBinOpOr),
            AtomicOp::Xor => Some(Rmw::LLVMAtomicRMWBinOpXor),
            AtomicOp::Min if t.is_signed_int() => Some(Rmw::LLVMAtomicRMWBinOpMin),
            AtomicOp::Max if t.is_signed_int() => Some(Rmw::LLVMAtomicRMWBinOpMax),
            AtomicOp::Min => Some(Rmw::LLVMAtomicRMWBinOpUMin),
            AtomicOp::Max => Some(Rmw::LLVMAtomicRMWBinOpUMax),
        };
        let bits = b.to_bits(value);
        if let Some(rmw) = rmw {
            let old = b.atomic_rmw(rmw, pointer, bits, order, SYSTEM);
            return b.bitcast(old, value.get_type());
        }
        let binary = match op {
            AtomicOp::Min => BinaryOp::Min,
            AtomicOp::Max => BinaryOp::Max,
            _ => BinaryOp::Add,
        };
        // A first guess by a plain read: a stale one only costs a round.
        let seen = b.slot_with(b.load(
            bits.get_type(),
            pointer,
            t.bits() / 8,
            MemoryFlags { volatile: true, ..Default::default() },
        ));
        let done = b.slot_with(b.bool(false));
        b.while_loop(
            || b.not(b.get(done)),
            || {
                let old = b.get(seen);
                let new = self.binary(binary, t, b.bitcast(old, value.get_type()), value);
                let (found, exchanged) = b.atomic_cas(pointer, old, b.to_bits(new), order, failure, SYSTEM);
                b.set(done, exchanged);
                b.set(seen, b.select(exchanged, old, found));
            },
        );
        b.bitcast(b.get(seen), value.get_type())
    }
}

/// LLVM's ordering of an atomic, and that of an exchange that fails.
fn orders(ordering: Ordering) -> (Order, Order) {
    match ordering {
        Ordering::Relaxed => (Order::LLVMAtomicOrderingMonotonic, Order::LLVMAtomicOrderingMonotonic),
        Ordering::Acquire => (Order::LLVMAtomicOrderingAcquire, Order::LLVMAtomicOrderingAcquire),
        Ordering::Release => (Order::LLVMAtomicOrderingRelease, Order::LLVMAtomicOrderingMonotonic),
        Ordering::AcqRel => (Order::LLVMAtomicOrderingAcquireRelease, Order::LLVMAtomicOrderingAcquire),
    }
}
