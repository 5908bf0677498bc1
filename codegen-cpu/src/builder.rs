//! What vector loops need beyond the shared emitter: lanes, masked access, stack slots, static loops.

use std::ops::Deref;

use inkwell::AddressSpace;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::basic_block::BasicBlock;
use inkwell::builder::Builder;
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::types::AsTypeRef;
use inkwell::values::{AsValueRef, CallSiteValue, FunctionValue};
use inkwell::{IntPredicate, intrinsics::Intrinsic};
use llvm_sys::core::LLVMBuildGEP2;
use tegula_codegen::emit::{Emitter, MemoryFlags, Ty, Val};

/// A stack slot of one type, which LLVM turns into registers: how values are carried around loops.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot<'c> {
    ptr: Val<'c>,
    ty: Ty<'c>,
}

/// An [`Emitter`] with an entry block for stack slots.
pub(crate) struct CpuBuilder<'c, 'm> {
    emitter: Emitter<'c, 'm>,
    entry: BasicBlock<'c>,
    entry_builder: Builder<'c>,
}

impl<'c, 'm> Deref for CpuBuilder<'c, 'm> {
    type Target = Emitter<'c, 'm>;

    fn deref(&self) -> &Self::Target {
        &self.emitter
    }
}

impl<'c, 'm> CpuBuilder<'c, 'm> {
    /// Starts the body of `function`.
    pub fn new(context: &'c Context, module: &'m Module<'c>, function: FunctionValue<'c>) -> Self {
        let emitter = Emitter::new(context, module, function);
        let entry = emitter.current_block();
        let body = emitter.block("body");
        emitter.br(body);
        emitter.move_to(body);
        Self { emitter, entry, entry_builder: context.create_builder() }
    }

    // --- types ---

    /// A plain pointer.
    pub fn pointer(&self) -> Ty<'c> {
        self.context.ptr_type(AddressSpace::default()).into()
    }

    /// A vector of `lanes` elements, or the element type itself for one lane.
    pub fn lanes_ty(&self, element: Ty<'c>, lanes: u32) -> Ty<'c> {
        if lanes == 1 { element } else { self.vec_type(element, lanes) }
    }

    /// An array of pointers.
    pub fn pointer_array(&self, n: u32) -> Ty<'c> {
        self.context.ptr_type(AddressSpace::default()).array_type(n).into()
    }

    // --- lanes ---

    /// Number of lanes of a value: 1 for scalars.
    pub fn lanes(&self, v: Val<'c>) -> u32 {
        match v {
            Val::VectorValue(v) => v.get_type().get_size(),
            _ => 1,
        }
    }

    /// A scalar in every lane; vectors are kept.
    pub fn broadcast(&self, v: Val<'c>, lanes: u32) -> Val<'c> {
        if lanes == 1 || matches!(v, Val::VectorValue(_)) {
            return v;
        }
        let constant = match v {
            Val::IntValue(v) => v.is_const(),
            Val::FloatValue(v) => v.is_const(),
            _ => false,
        };
        if constant {
            return self.splat(v, lanes);
        }
        let poison = self.poison(self.vec_type(v.get_type(), lanes)).into_vector_value();
        let zero = self.context.i32_type().const_zero();
        let one = self.builder.build_insert_element(poison, v, zero, "").expect("an element of the vector");
        self.shuffle(one.into(), one.into(), &vec![0; lanes as usize])
    }

    /// 0, 1, 2, ... as integers of `bits`; 0 for one lane.
    pub fn iota(&self, bits: u32, lanes: u32) -> Val<'c> {
        let values: Vec<Val<'c>> = (0..i64::from(lanes)).map(|i| self.const_int(bits, i)).collect();
        self.const_vector(&values)
    }

    /// A vector of integer constants; one constant stays a scalar.
    pub fn const_vector(&self, values: &[Val<'c>]) -> Val<'c> {
        if let [one] = values {
            return *one;
        }
        let ints: Vec<_> = values.iter().map(|v| v.into_int_value()).collect();
        inkwell::types::VectorType::const_vector(&ints).into()
    }

    /// One lane; a scalar is its own.
    pub fn lane(&self, v: Val<'c>, lane: u32) -> Val<'c> {
        match v {
            Val::VectorValue(v) => {
                let index = self.context.i32_type().const_int(lane.into(), false);
                self.builder.build_extract_element(v, index, "").expect("a lane of the vector")
            }
            scalar => scalar,
        }
    }

    /// Lanes of `a` then `b`, picked by index; one pick gives a scalar.
    pub fn shuffle(&self, a: Val<'c>, b: Val<'c>, pick: &[u32]) -> Val<'c> {
        if let [one] = pick {
            let n = self.lanes(a);
            return if *one < n { self.lane(a, *one) } else { self.lane(b, *one - n) };
        }
        let i32 = self.context.i32_type();
        let mask: Vec<_> = pick.iter().map(|&i| i32.const_int(i.into(), false)).collect();
        let mask = inkwell::types::VectorType::const_vector(&mask);
        self.builder
            .build_shuffle_vector(a.into_vector_value(), b.into_vector_value(), mask, "")
            .expect("vectors of one type")
            .into()
    }

    /// Folds the lanes of a vector into one by halves, in a fixed order.
    pub fn fold_lanes(&self, v: Val<'c>, combine: impl Fn(Val<'c>, Val<'c>) -> Val<'c>) -> Val<'c> {
        let mut v = v;
        let mut n = self.lanes(v);
        debug_assert!(n.is_power_of_two(), "vectors have a power of two lanes");
        while n > 1 {
            let low: Vec<u32> = (0..n / 2).collect();
            let high: Vec<u32> = (n / 2..n).collect();
            v = combine(self.shuffle(v, v, &low), self.shuffle(v, v, &high));
            n /= 2;
        }
        v
    }

    /// Whether any lane of an `i1` value holds.
    pub fn any(&self, mask: Val<'c>) -> Val<'c> {
        if self.lanes(mask) == 1 { mask } else { self.intrinsic("llvm.vector.reduce.or", &[mask.get_type()], &[mask]) }
    }

    /// Whether all lanes of an `i1` value hold.
    pub fn all(&self, mask: Val<'c>) -> Val<'c> {
        if self.lanes(mask) == 1 { mask } else { self.intrinsic("llvm.vector.reduce.and", &[mask.get_type()], &[mask]) }
    }

    // --- memory ---

    /// `base + index * bytes`; lanes of `index` give lanes of pointers.
    pub fn element(&self, base: Val<'c>, index: Val<'c>, bytes: u32) -> Val<'c> {
        if self.as_const(index) == Some(0) {
            return base;
        }
        let scaled = match self.as_const(index) {
            Some(i) => self.i64(i.wrapping_mul(bytes.into())),
            None if bytes == 1 => index,
            None => self.mul(index, self.int_like(index, bytes.into())),
        };
        let i8 = self.context.i8_type();
        match scaled {
            Val::VectorValue(offsets) => {
                let base = match base {
                    Val::PointerValue(_) => self.broadcast(base, self.lanes(scaled)),
                    vector => vector,
                };
                // inkwell has no `getelementptr` on vectors.
                // SAFETY: builder, pointers and offsets belong to this context; `gep` on bytes computes addresses,
                // nothing is accessed; the result is a vector of pointers.
                unsafe {
                    Val::new(LLVMBuildGEP2(
                        self.builder.as_mut_ptr(),
                        i8.as_type_ref(),
                        base.as_value_ref(),
                        [offsets.as_value_ref()].as_mut_ptr(),
                        1,
                        c"".as_ptr(),
                    ))
                }
            }
            scalar => {
                // SAFETY: as above, without vectors.
                let pointer =
                    unsafe { self.builder.build_gep(i8, base.into_pointer_value(), &[scalar.into_int_value()], "") };
                pointer.expect("a pointer and an integer").into()
            }
        }
    }

    /// Pointers from 64-bit addresses, lane by lane.
    pub fn to_pointer(&self, address: Val<'c>) -> Val<'c> {
        let to = self.type_like(address, self.pointer());
        self.cast(inkwell::values::InstructionOpcode::IntToPtr, address, to)
    }

    /// The 64-bit addresses of pointers, lane by lane.
    pub fn to_address(&self, pointer: Val<'c>) -> Val<'c> {
        self.cast(inkwell::values::InstructionOpcode::PtrToInt, pointer, self.type_like(pointer, self.int(64)))
    }

    /// Loads the lanes where `mask` holds, others from `otherwise`.
    pub fn masked_load(&self, ptr: Val<'c>, mask: Val<'c>, otherwise: Val<'c>, align: u32) -> Val<'c> {
        if self.lanes(otherwise) == 1 {
            let ty = otherwise.get_type();
            return self.if_then(mask, &[otherwise], || vec![self.load(ty, ptr, align, MemoryFlags::default())])[0];
        }
        let call =
            self.call_overloaded("llvm.masked.load", &[otherwise.get_type(), ptr.get_type()], &[ptr, mask, otherwise]);
        self.align_argument(call, 0, align);
        call.try_as_basic_value().expect_basic("a load gives a value")
    }

    /// The lane of a constant mask that is on, if it is the only one.
    fn only_lane(&self, mask: Val<'c>) -> Option<u32> {
        if !matches!(mask, Val::VectorValue(v) if v.is_const()) {
            return None;
        }
        let on = |lane: &u32| self.as_const(self.lane(mask, *lane)).is_some_and(|bit| bit != 0);
        let mut lanes = (0..self.lanes(mask)).filter(on);
        lanes.next().filter(|_| lanes.next().is_none())
    }

    /// Stores the lanes where `mask` holds. `align` is that of an element, and its size.
    pub fn masked_store(&self, v: Val<'c>, ptr: Val<'c>, mask: Val<'c>, align: u32) {
        if self.lanes(v) == 1 {
            self.if_then(mask, &[], || {
                self.store(v, ptr, align, MemoryFlags::default());
                Vec::new()
            });
            return;
        }
        if let Some(lane) = self.only_lane(mask) {
            // LLVM 22 makes one store of it too, but forgets that the element was narrowed: it writes the wide one.
            let at = self.element(ptr, self.i64(lane.into()), align);
            return self.store(self.lane(v, lane), at, align, MemoryFlags::default());
        }
        let call = self.call_overloaded("llvm.masked.store", &[v.get_type(), ptr.get_type()], &[v, ptr, mask]);
        self.align_argument(call, 1, align);
    }

    /// Loads from the pointers of the lanes where `mask` holds, others from `otherwise`.
    pub fn gather(&self, ptrs: Val<'c>, mask: Val<'c>, otherwise: Val<'c>, align: u32) -> Val<'c> {
        let overloads = [otherwise.get_type(), ptrs.get_type()];
        let call = self.call_overloaded("llvm.masked.gather", &overloads, &[ptrs, mask, otherwise]);
        self.align_argument(call, 0, align);
        call.try_as_basic_value().expect_basic("a load gives a value")
    }

    /// Stores to the pointers of the lanes where `mask` holds, lower lanes first.
    pub fn scatter(&self, v: Val<'c>, ptrs: Val<'c>, mask: Val<'c>, align: u32) {
        let call = self.call_overloaded("llvm.masked.scatter", &[v.get_type(), ptrs.get_type()], &[v, ptrs, mask]);
        self.align_argument(call, 1, align);
    }

    fn call_overloaded(&self, name: &str, overloads: &[Ty<'c>], args: &[Val<'c>]) -> CallSiteValue<'c> {
        let declaration = Intrinsic::find(name)
            .and_then(|i| i.get_declaration(self.module, overloads))
            .unwrap_or_else(|| panic!("LLVM has no intrinsic {name}"));
        self.call(declaration, args)
    }

    fn align_argument(&self, call: CallSiteValue<'c>, index: u32, align: u32) {
        let kind = Attribute::get_named_enum_kind_id("align");
        call.add_attribute(AttributeLoc::Param(index), self.context.create_enum_attribute(kind, align.into()));
    }

    /// Copies bytes between buffers that do not overlap.
    pub fn memcpy(&self, to: Val<'c>, from: Val<'c>, bytes: u64) {
        let size = self.context.i64_type().const_int(bytes, false);
        self.builder
            .build_memcpy(to.into_pointer_value(), 64, from.into_pointer_value(), 64, size)
            .expect("two pointers and a size");
    }

    /// Asks for a cache line that will be read.
    pub fn prefetch(&self, p: Val<'c>) {
        let (read, keep, data) = (self.i32(0), self.i32(3), self.i32(1));
        self.intrinsic_void("llvm.prefetch", &[p.get_type()], &[p, read, keep, data]);
    }

    /// Orders non-temporal stores before what follows.
    pub fn store_fence(&self) {
        if cfg!(target_arch = "x86_64") && Intrinsic::find("llvm.x86.sse.sfence").is_some() {
            self.intrinsic_void("llvm.x86.sse.sfence", &[], &[]);
        }
    }

    // --- slots ---

    /// A slot; its allocation stands in the entry block.
    pub fn slot(&self, ty: Ty<'c>) -> Slot<'c> {
        let end = self.entry.get_terminator().expect("the entry block jumps to the body");
        self.entry_builder.position_before(&end);
        let ptr = self.entry_builder.build_alloca(ty, "").expect("a sized type");
        Slot { ptr: ptr.into(), ty }
    }

    /// A slot with a first value.
    pub fn slot_with(&self, v: Val<'c>) -> Slot<'c> {
        let slot = self.slot(v.get_type());
        self.set(slot, v);
        slot
    }

    /// Reads a slot.
    pub fn get(&self, slot: Slot<'c>) -> Val<'c> {
        self.builder.build_load(slot.ty, slot.ptr.into_pointer_value(), "").expect("a slot is a pointer")
    }

    /// Writes a slot.
    pub fn set(&self, slot: Slot<'c>, v: Val<'c>) {
        debug_assert_eq!(v.get_type(), slot.ty, "a slot holds one type");
        self.builder.build_store(slot.ptr.into_pointer_value(), v).expect("a slot is a pointer");
    }

    /// The address of a slot, for functions that read it.
    pub fn address_of(&self, slot: Slot<'c>) -> Val<'c> {
        slot.ptr
    }

    // --- control flow ---

    /// Runs one of two bodies; a constant condition leaves no branch.
    pub fn if_else(&self, cond: Val<'c>, then: impl FnOnce(), otherwise: impl FnOnce()) {
        match self.as_const(cond) {
            Some(0) => return otherwise(),
            Some(_) => return then(),
            None => {}
        }
        let (yes, no, end) = (self.block("then"), self.block("else"), self.block("endif"));
        self.cond_br(cond, yes, no);
        self.move_to(yes);
        then();
        self.br(end);
        self.move_to(no);
        otherwise();
        self.br(end);
        self.move_to(end);
    }

    /// `for i in (lo..hi).step_by(step)` over `i64` with static bounds. One iteration leaves no loop.
    pub fn static_loop(&self, lo: i64, hi: i64, step: i64, body: impl FnOnce(Val<'c>)) {
        if lo >= hi {
            return;
        }
        if lo + step >= hi {
            return body(self.i64(lo));
        }
        self.counted_loop(self.i64(lo), self.i64(hi), self.i64(step), body);
    }

    /// A loop over `i64` that is known to run at least once.
    fn counted_loop(&self, lo: Val<'c>, hi: Val<'c>, step: Val<'c>, body: impl FnOnce(Val<'c>)) {
        let (before, head, end) = (self.current_block(), self.block("loop"), self.block("endloop"));
        self.br(head);
        self.move_to(head);
        let index = self.phi(self.int(64).into());
        body(index.as_basic_value());
        let latch = self.current_block();
        let i = index.as_basic_value().into_int_value();
        let next = self.builder.build_int_nuw_add(i, step.into_int_value(), "").expect("integers of one type");
        let more = self.icmp(IntPredicate::SLT, next.into(), hi);
        self.cond_br(more, head, end);
        index.add_incoming(&[(&lo, before), (&next, latch)]);
        self.move_to(end);
    }

    /// `while cond() { body() }`.
    pub fn while_loop(&self, cond: impl FnOnce() -> Val<'c>, body: impl FnOnce()) {
        let (head, inside, end) = (self.block("while"), self.block("do"), self.block("endwhile"));
        self.br(head);
        self.move_to(head);
        let more = cond();
        self.cond_br(more, inside, end);
        self.move_to(inside);
        body();
        self.br(head);
        self.move_to(end);
    }

    /// Calls a C function that gives nothing through a pointer.
    pub fn call_pointer(&self, callee: Val<'c>, args: &[Val<'c>]) {
        let params: Vec<_> = args.iter().map(|a| a.get_type().into()).collect();
        let ty = self.context.void_type().fn_type(&params, false);
        let args: Vec<_> = args.iter().map(|a| (*a).into()).collect();
        self.builder.build_indirect_call(ty, callee.into_pointer_value(), &args, "").expect("arguments that fit");
    }
}
