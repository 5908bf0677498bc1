//! A thin layer over inkwell's builder for lowerings that handle many types at once.
//!
//! Values are untyped ([`Val`]) and calls give no `Result`: the only way that building an instruction can fail is a
//! lowering that mixes types up, which is a bug of the compiler, so it panics and names the instruction. Names of
//! intrinsics are checked in the same way. User mistakes never come this far.

use inkwell::basic_block::BasicBlock;
use inkwell::builder::Builder;
use inkwell::context::Context;
use inkwell::intrinsics::Intrinsic;
use inkwell::llvm_sys::core::{
    LLVMBuildAtomicCmpXchgSyncScope, LLVMBuildAtomicRMWSyncScope, LLVMBuildFenceSyncScope, LLVMGetSyncScopeID,
    LLVMSetAlignment,
};
use inkwell::llvm_sys::{LLVMAtomicOrdering, LLVMAtomicRMWBinOp};
use inkwell::module::Module;
use inkwell::types::{BasicMetadataTypeEnum, BasicType, BasicTypeEnum, FloatType, IntType, PointerType, VectorType};
use inkwell::values::{
    AsValueRef, BasicMetadataValueEnum, BasicValue, BasicValueEnum, FastMathFlags, FunctionValue, InstructionOpcode,
    InstructionValue, PhiValue,
};
use inkwell::{AddressSpace, FloatPredicate, IntPredicate};

/// Any first-class LLVM value.
pub type Val<'c> = BasicValueEnum<'c>;
/// Any first-class LLVM type.
pub type Ty<'c> = BasicTypeEnum<'c>;

/// The address space of global memory, the same number on both GPU families.
pub const GLOBAL: u16 = 1;
/// The address space of shared memory (LDS), the same number on both GPU families.
pub const SHARED: u16 = 3;

/// A builder of LLVM IR at one place of one function.
pub struct Emitter<'c, 'm> {
    /// The context.
    pub context: &'c Context,
    /// The module that declarations go to.
    pub module: &'m Module<'c>,
    /// The function being built.
    pub function: FunctionValue<'c>,
    /// inkwell's builder, for what has no counterpart here.
    pub builder: Builder<'c>,
}

/// How memory is accessed by [`Emitter::load`] and [`Emitter::store`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryFlags {
    /// Not to be merged, moved or removed.
    pub volatile: bool,
    /// Used once: keep it out of the caches.
    pub nontemporal: bool,
    /// Not written by anyone while the kernel runs (loads only).
    pub invariant: bool,
}

impl<'c, 'm> Emitter<'c, 'm> {
    /// A builder at the end of a new block `entry` of `function`.
    pub fn new(context: &'c Context, module: &'m Module<'c>, function: FunctionValue<'c>) -> Self {
        let builder = context.create_builder();
        builder.position_at_end(context.append_basic_block(function, "entry"));
        Emitter { context, module, function, builder }
    }

    // --- types ---

    /// The integer type of this width.
    pub fn int(&self, bits: u32) -> IntType<'c> {
        match bits {
            1 => self.context.bool_type(),
            8 => self.context.i8_type(),
            16 => self.context.i16_type(),
            32 => self.context.i32_type(),
            64 => self.context.i64_type(),
            128 => self.context.i128_type(),
            _ => {
                let bits = std::num::NonZeroU32::new(bits).expect("an integer has bits");
                self.context.custom_width_int_type(bits).expect("a width that LLVM has")
            }
        }
    }

    /// `float`.
    pub fn f32_type(&self) -> FloatType<'c> {
        self.context.f32_type()
    }

    /// A pointer into an address space.
    pub fn ptr_type(&self, space: u16) -> PointerType<'c> {
        self.context.ptr_type(AddressSpace::from(space))
    }

    /// A vector of `count` elements.
    pub fn vec_type(&self, element: Ty<'c>, count: u32) -> Ty<'c> {
        match element {
            Ty::IntType(t) => t.vec_type(count).into(),
            Ty::FloatType(t) => t.vec_type(count).into(),
            Ty::PointerType(t) => t.vec_type(count).into(),
            _ => unreachable!("vectors have scalar elements"),
        }
    }

    /// Width of a scalar type in bits (pointers to global memory have 64).
    pub fn bits(&self, ty: Ty<'c>) -> u32 {
        match ty {
            Ty::IntType(t) => t.get_bit_width(),
            Ty::FloatType(t) => t.get_bit_width(),
            Ty::PointerType(_) => 64,
            Ty::VectorType(t) => t.get_size() * self.bits(t.get_element_type()),
            _ => unreachable!("no aggregate values"),
        }
    }

    // --- constants ---

    /// An integer constant; the value is truncated to the width.
    pub fn const_int(&self, bits: u32, value: i64) -> Val<'c> {
        let ty = self.int(bits);
        let masked = if bits >= 64 { value as u64 } else { value as u64 & ((1 << bits) - 1) };
        ty.const_int(masked, false).into()
    }

    /// An `i32` constant.
    pub fn i32(&self, value: i64) -> Val<'c> {
        self.const_int(32, value)
    }

    /// An `i64` constant.
    pub fn i64(&self, value: i64) -> Val<'c> {
        self.const_int(64, value)
    }

    /// An `i1` constant.
    pub fn bool(&self, value: bool) -> Val<'c> {
        self.const_int(1, i64::from(value))
    }

    /// A constant of a float type.
    pub fn const_float(&self, ty: FloatType<'c>, value: f64) -> Val<'c> {
        ty.const_float(value).into()
    }

    /// An `f32` constant.
    pub fn f32(&self, value: f64) -> Val<'c> {
        self.f32_type().const_float(value).into()
    }

    /// The zero of any type.
    pub fn zero(&self, ty: Ty<'c>) -> Val<'c> {
        ty.const_zero()
    }

    /// An arbitrary value of any type.
    pub fn poison(&self, ty: Ty<'c>) -> Val<'c> {
        match ty {
            Ty::IntType(t) => t.get_poison().into(),
            Ty::FloatType(t) => t.get_poison().into(),
            Ty::PointerType(t) => t.get_poison().into(),
            Ty::VectorType(t) => t.get_poison().into(),
            Ty::ArrayType(t) => t.get_poison().into(),
            Ty::StructType(t) => t.get_poison().into(),
            Ty::ScalableVectorType(t) => t.get_poison().into(),
        }
    }

    /// The type `element`, or a vector of it with as many lanes as `shape` has.
    pub fn type_like(&self, shape: Val<'c>, element: impl Into<Ty<'c>>) -> Ty<'c> {
        match shape {
            Val::VectorValue(v) => self.vec_type(element.into(), v.get_type().get_size()),
            _ => element.into(),
        }
    }

    /// The scalar type of a scalar or of a vector's elements.
    pub fn element_type(&self, value: Val<'c>) -> Ty<'c> {
        match value {
            Val::VectorValue(v) => v.get_type().get_element_type(),
            _ => value.get_type(),
        }
    }

    /// Width in bits of a scalar or of a vector's elements.
    pub fn element_bits(&self, value: Val<'c>) -> u32 {
        self.bits(self.element_type(value))
    }

    /// A constant in every lane, with as many lanes as `shape` has.
    pub fn splat_like(&self, shape: Val<'c>, constant: Val<'c>) -> Val<'c> {
        match shape {
            Val::VectorValue(v) => self.splat(constant, v.get_type().get_size()),
            _ => constant,
        }
    }

    /// A vector with the constant `constant` in every lane.
    pub fn splat(&self, constant: Val<'c>, lanes: u32) -> Val<'c> {
        let lanes = lanes as usize;
        match constant {
            Val::IntValue(v) => VectorType::const_vector(&vec![v; lanes]).into(),
            Val::FloatValue(v) => VectorType::const_vector(&vec![v; lanes]).into(),
            Val::PointerValue(v) => VectorType::const_vector(&vec![v; lanes]).into(),
            _ => unreachable!("vectors have scalar elements"),
        }
    }

    /// An integer constant of the type of `like`, which is an integer or a vector of integers.
    pub fn int_like(&self, like: Val<'c>, value: i64) -> Val<'c> {
        self.splat_like(like, self.const_int(self.element_bits(like), value))
    }

    /// A float constant of the type of `like`, which is a float or a vector of floats.
    pub fn float_like(&self, like: Val<'c>, value: f64) -> Val<'c> {
        let ty = self.element_type(like).into_float_type();
        self.splat_like(like, self.const_float(ty, value))
    }

    /// The value of an integer constant, sign-extended.
    pub fn as_const(&self, value: Val<'c>) -> Option<i64> {
        match value {
            Val::IntValue(v) => v.get_sign_extended_constant(),
            _ => None,
        }
    }

    // --- arithmetic ---

    /// Any two-operand instruction.
    pub fn binop(&self, op: InstructionOpcode, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        self.builder.build_binop(op, a, b, "").expect("operands of one type")
    }

    /// `a + b`, wrapping.
    pub fn add(&self, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        match (self.as_const(a), self.as_const(b)) {
            (Some(0), _) => b,
            (_, Some(0)) => a,
            _ => self.binop(InstructionOpcode::Add, a, b),
        }
    }

    /// `a - b`, wrapping.
    pub fn sub(&self, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        if self.as_const(b) == Some(0) { a } else { self.binop(InstructionOpcode::Sub, a, b) }
    }

    /// `a * b`, wrapping.
    pub fn mul(&self, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        match (self.as_const(a), self.as_const(b)) {
            (Some(1), _) => b,
            (_, Some(1)) => a,
            _ => self.binop(InstructionOpcode::Mul, a, b),
        }
    }

    /// Unsigned `a / b`.
    pub fn udiv(&self, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        if self.as_const(b) == Some(1) { a } else { self.binop(InstructionOpcode::UDiv, a, b) }
    }

    /// Unsigned `a % b`.
    pub fn urem(&self, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        self.binop(InstructionOpcode::URem, a, b)
    }

    /// `a & b`.
    pub fn and(&self, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        match (self.as_const(a), self.as_const(b)) {
            (Some(-1), _) => b,
            (_, Some(-1)) => a,
            _ => self.binop(InstructionOpcode::And, a, b),
        }
    }

    /// `a | b`.
    pub fn or(&self, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        match (self.as_const(a), self.as_const(b)) {
            (Some(0), _) => b,
            (_, Some(0)) => a,
            _ => self.binop(InstructionOpcode::Or, a, b),
        }
    }

    /// `a | b` of values that have no bit in common: to LLVM as good as a sum.
    pub fn or_disjoint(&self, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        let value = self.or(a, b);
        if let Some(instruction) = value.as_instruction_value()
            && instruction.get_opcode() == InstructionOpcode::Or
            && value != a
            && value != b
        {
            instruction.set_disjoint_flag(true).expect("an or");
        }
        value
    }

    /// `a ^ b`.
    pub fn xor(&self, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        match (self.as_const(a), self.as_const(b)) {
            (Some(0), _) => b,
            (_, Some(0)) => a,
            _ => self.binop(InstructionOpcode::Xor, a, b),
        }
    }

    /// Complement of all bits.
    pub fn not(&self, a: Val<'c>) -> Val<'c> {
        self.xor(a, self.int_like(a, -1))
    }

    /// `a << b`.
    pub fn shl(&self, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        if self.as_const(b) == Some(0) { a } else { self.binop(InstructionOpcode::Shl, a, b) }
    }

    /// `a >> b` with zeros from the left.
    pub fn lshr(&self, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        if self.as_const(b) == Some(0) { a } else { self.binop(InstructionOpcode::LShr, a, b) }
    }

    /// `a >> b` with copies of the sign from the left.
    pub fn ashr(&self, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        if self.as_const(b) == Some(0) { a } else { self.binop(InstructionOpcode::AShr, a, b) }
    }

    /// `a << n`.
    pub fn shl_const(&self, a: Val<'c>, n: u32) -> Val<'c> {
        self.shl(a, self.int_like(a, n.into()))
    }

    /// `a >> n` with zeros from the left.
    pub fn lshr_const(&self, a: Val<'c>, n: u32) -> Val<'c> {
        self.lshr(a, self.int_like(a, n.into()))
    }

    /// Float addition.
    pub fn fadd(&self, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        self.binop(InstructionOpcode::FAdd, a, b)
    }

    /// Float subtraction.
    pub fn fsub(&self, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        self.binop(InstructionOpcode::FSub, a, b)
    }

    /// Float multiplication.
    pub fn fmul(&self, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        self.binop(InstructionOpcode::FMul, a, b)
    }

    /// Float division.
    pub fn fdiv(&self, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        self.binop(InstructionOpcode::FDiv, a, b)
    }

    /// Float negation.
    pub fn fneg(&self, a: Val<'c>) -> Val<'c> {
        match a {
            Val::VectorValue(a) => self.builder.build_float_neg(a, "").expect("a vector of floats").into(),
            _ => self.builder.build_float_neg(a.into_float_value(), "").expect("a float").into(),
        }
    }

    /// Float `a * b + c` with one rounding.
    pub fn fma(&self, a: Val<'c>, b: Val<'c>, c: Val<'c>) -> Val<'c> {
        self.intrinsic("llvm.fma", &[a.get_type()], &[a, b, c])
    }

    /// The same instruction with fast-math `flags`.
    pub fn with_flags(&self, value: Val<'c>, flags: FastMathFlags) -> Val<'c> {
        if let Some(instruction) = value.as_instruction_value() {
            // A folded constant is no instruction; flags on one that cannot have them are not needed.
            let _ = instruction.set_fast_math_flags(flags);
        }
        value
    }

    /// Integer comparison.
    pub fn icmp(&self, predicate: IntPredicate, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        match (a, b) {
            (Val::IntValue(a), Val::IntValue(b)) => {
                self.builder.build_int_compare(predicate, a, b, "").expect("integers of one type").into()
            }
            (Val::PointerValue(a), Val::PointerValue(b)) => {
                self.builder.build_int_compare(predicate, a, b, "").expect("pointers of one type").into()
            }
            (Val::VectorValue(a), Val::VectorValue(b)) => {
                self.builder.build_int_compare(predicate, a, b, "").expect("vectors of one type").into()
            }
            _ => panic!("comparison of {a:?} and {b:?}"),
        }
    }

    /// Float comparison.
    pub fn fcmp(&self, predicate: FloatPredicate, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        match (a, b) {
            (Val::VectorValue(a), Val::VectorValue(b)) => {
                self.builder.build_float_compare(predicate, a, b, "").expect("vectors of one type").into()
            }
            (a, b) => {
                let (a, b) = (a.into_float_value(), b.into_float_value());
                self.builder.build_float_compare(predicate, a, b, "").expect("floats of one type").into()
            }
        }
    }

    /// `if cond { a } else { b }` without a branch.
    pub fn select(&self, cond: Val<'c>, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        match (self.as_const(cond), cond) {
            (Some(0), _) => b,
            (Some(_), _) => a,
            _ if a == b => a,
            (None, Val::VectorValue(cond)) => self.builder.build_select(cond, a, b, "").expect("values of one type"),
            (None, cond) => self.builder.build_select(cond.into_int_value(), a, b, "").expect("values of one type"),
        }
    }

    // --- conversions ---

    /// Any conversion instruction.
    pub fn cast(&self, op: InstructionOpcode, value: Val<'c>, to: impl Into<Ty<'c>>) -> Val<'c> {
        self.builder.build_cast(op, value, to.into(), "").expect("a conversion that LLVM has")
    }

    /// The same bits as another type of the same width; pointers become integers and back.
    pub fn bitcast(&self, value: Val<'c>, to: impl Into<Ty<'c>>) -> Val<'c> {
        let to = to.into();
        match (value.get_type(), to) {
            (from, to) if from == to => value,
            (Ty::PointerType(_), Ty::IntType(_)) => self.cast(InstructionOpcode::PtrToInt, value, to),
            (Ty::IntType(_), Ty::PointerType(_)) => self.cast(InstructionOpcode::IntToPtr, value, to),
            _ => self.cast(InstructionOpcode::BitCast, value, to),
        }
    }

    /// The bits of each lane as an integer.
    pub fn to_bits(&self, value: Val<'c>) -> Val<'c> {
        self.bitcast(value, self.type_like(value, self.int(self.element_bits(value))))
    }

    /// An integer with zeros added on the left, or truncated.
    pub fn zext_or_trunc(&self, value: Val<'c>, bits: u32) -> Val<'c> {
        self.resize(value, bits, InstructionOpcode::ZExt)
    }

    /// An integer with copies of the sign added on the left, or truncated.
    pub fn sext_or_trunc(&self, value: Val<'c>, bits: u32) -> Val<'c> {
        self.resize(value, bits, InstructionOpcode::SExt)
    }

    fn resize(&self, value: Val<'c>, bits: u32, extend: InstructionOpcode) -> Val<'c> {
        let to = self.type_like(value, self.int(bits));
        match self.element_bits(value).cmp(&bits) {
            std::cmp::Ordering::Equal => value,
            std::cmp::Ordering::Less => self.cast(extend, value, to),
            std::cmp::Ordering::Greater => self.cast(InstructionOpcode::Trunc, value, to),
        }
    }

    // --- vectors ---

    /// A vector of these scalars; one scalar stays a scalar.
    pub fn pack(&self, elements: &[Val<'c>]) -> Val<'c> {
        if let [one] = elements {
            return *one;
        }
        let ty = self.vec_type(elements[0].get_type(), elements.len() as u32);
        let mut vector = self.poison(ty).into_vector_value();
        for (i, element) in elements.iter().enumerate() {
            let index = self.context.i32_type().const_int(i as u64, false);
            vector = self.builder.build_insert_element(vector, *element, index, "").expect("elements of one type");
        }
        vector.into()
    }

    /// The scalars of a vector; a scalar gives itself.
    pub fn unpack(&self, vector: Val<'c>) -> Vec<Val<'c>> {
        let Val::VectorValue(vector) = vector else { return vec![vector] };
        (0..vector.get_type().get_size())
            .map(|i| {
                let index = self.context.i32_type().const_int(i.into(), false);
                self.builder.build_extract_element(vector, index, "").expect("an element of the vector")
            })
            .collect()
    }

    // --- memory ---

    /// The address `offset` bytes after `base`. The whole object must hold both.
    pub fn offset(&self, base: Val<'c>, offset: Val<'c>) -> Val<'c> {
        if self.as_const(offset) == Some(0) {
            return base;
        }
        let i8 = self.context.i8_type();
        // SAFETY: `gep` on bytes computes an address; nothing is accessed.
        let pointer = unsafe { self.builder.build_gep(i8, base.into_pointer_value(), &[offset.into_int_value()], "") };
        pointer.expect("a pointer and an integer").into()
    }

    /// Reads a value whose address is a multiple of `align` bytes.
    pub fn load(&self, ty: Ty<'c>, pointer: Val<'c>, align: u32, flags: MemoryFlags) -> Val<'c> {
        let value = self.builder.build_load(ty, pointer.into_pointer_value(), "").expect("a pointer");
        let instruction = value.as_instruction_value().expect("a load is an instruction");
        self.annotate(instruction, align, flags);
        value
    }

    /// Writes a value whose address is a multiple of `align` bytes.
    pub fn store(&self, value: Val<'c>, pointer: Val<'c>, align: u32, flags: MemoryFlags) {
        let instruction = self.builder.build_store(pointer.into_pointer_value(), value).expect("a pointer");
        self.annotate(instruction, align, flags);
    }

    fn annotate(&self, instruction: InstructionValue<'c>, align: u32, flags: MemoryFlags) {
        instruction.set_alignment(align).expect("a power of two");
        if flags.volatile {
            instruction.set_volatile(true).expect("a memory access");
        }
        if flags.nontemporal {
            let one = self.context.metadata_node(&[self.context.i32_type().const_int(1, false).into()]);
            instruction.set_metadata(one, self.context.get_kind_id("nontemporal")).expect("a node");
        }
        if flags.invariant {
            let empty = self.context.metadata_node(&[]);
            instruction.set_metadata(empty, self.context.get_kind_id("invariant.load")).expect("a node");
        }
    }

    /// Atomic read-modify-write; gives the old value.
    pub fn atomic_rmw(
        &self,
        op: LLVMAtomicRMWBinOp,
        pointer: Val<'c>,
        value: Val<'c>,
        ordering: LLVMAtomicOrdering,
        scope: &str,
    ) -> Val<'c> {
        // SAFETY: builder, pointer and value belong to this context; the result is a value of `value`'s type.
        unsafe {
            let result = LLVMBuildAtomicRMWSyncScope(
                self.builder.as_mut_ptr(),
                op,
                pointer.as_value_ref(),
                value.as_value_ref(),
                ordering,
                self.sync_scope(scope),
            );
            LLVMSetAlignment(result, self.bits(value.get_type()) / 8);
            Val::new(result)
        }
    }

    /// Atomic compare and exchange of integers; gives the old value and whether the exchange took place.
    pub fn atomic_cas(
        &self,
        pointer: Val<'c>,
        compare: Val<'c>,
        value: Val<'c>,
        ordering: LLVMAtomicOrdering,
        failure: LLVMAtomicOrdering,
        scope: &str,
    ) -> (Val<'c>, Val<'c>) {
        // SAFETY: as in `atomic_rmw`; the result is the struct { old, success }.
        let pair = unsafe {
            let result = LLVMBuildAtomicCmpXchgSyncScope(
                self.builder.as_mut_ptr(),
                pointer.as_value_ref(),
                compare.as_value_ref(),
                value.as_value_ref(),
                ordering,
                failure,
                self.sync_scope(scope),
            );
            LLVMSetAlignment(result, self.bits(value.get_type()) / 8);
            Val::new(result).into_struct_value()
        };
        let part = |i| self.builder.build_extract_value(pair, i, "").expect("the pair has two parts");
        (part(0), part(1))
    }

    /// A memory fence.
    pub fn fence(&self, ordering: LLVMAtomicOrdering, scope: &str) {
        // SAFETY: the builder is positioned in this context.
        unsafe {
            LLVMBuildFenceSyncScope(self.builder.as_mut_ptr(), ordering, self.sync_scope(scope), c"".as_ptr());
        }
    }

    fn sync_scope(&self, name: &str) -> u32 {
        // SAFETY: the string is given with its length.
        unsafe { LLVMGetSyncScopeID(self.context.raw(), name.as_ptr().cast(), name.len()) }
    }

    // --- calls ---

    /// Calls an LLVM intrinsic that gives a value. `overloads` are the types in its mangled name.
    ///
    /// # Panics
    /// If this LLVM has no such intrinsic.
    pub fn intrinsic(&self, name: &str, overloads: &[Ty<'c>], args: &[Val<'c>]) -> Val<'c> {
        let call = self.call_intrinsic(name, overloads, args);
        call.try_as_basic_value().expect_basic("the intrinsic gives a value")
    }

    /// Calls an LLVM intrinsic for its effect.
    ///
    /// # Panics
    /// If this LLVM has no such intrinsic.
    pub fn intrinsic_void(&self, name: &str, overloads: &[Ty<'c>], args: &[Val<'c>]) {
        self.call_intrinsic(name, overloads, args);
    }

    fn call_intrinsic(&self, name: &str, overloads: &[Ty<'c>], args: &[Val<'c>]) -> inkwell::values::CallSiteValue<'c> {
        let declaration = Intrinsic::find(name)
            .and_then(|i| i.get_declaration(self.module, overloads))
            .unwrap_or_else(|| panic!("LLVM has no intrinsic {name}"));
        self.call(declaration, args)
    }

    /// Calls a function of the module.
    pub fn call(&self, function: FunctionValue<'c>, args: &[Val<'c>]) -> inkwell::values::CallSiteValue<'c> {
        let args: Vec<BasicMetadataValueEnum<'c>> = args.iter().map(|a| (*a).into()).collect();
        self.builder.build_call(function, &args, "").expect("arguments that fit")
    }

    /// A piece of assembly that gives a value and has no other effect.
    pub fn asm(&self, text: &str, constraints: &str, result: Ty<'c>, args: &[Val<'c>]) -> Val<'c> {
        let params: Vec<BasicMetadataTypeEnum<'c>> = args.iter().map(|a| a.get_type().into()).collect();
        let ty = result.fn_type(&params, false);
        let asm =
            self.context.create_inline_asm(ty, text.to_owned(), constraints.to_owned(), false, false, None, false);
        let args: Vec<BasicMetadataValueEnum<'c>> = args.iter().map(|a| (*a).into()).collect();
        let call = self.builder.build_indirect_call(ty, asm, &args, "").expect("arguments that fit");
        call.try_as_basic_value().expect_basic("the assembly gives a value")
    }

    /// Inline assembly without operands, which no access to memory is moved over.
    pub fn asm_fence(&self, text: &str) {
        let ty = self.context.void_type().fn_type(&[], false);
        let constraints = "~{memory}".to_owned();
        let asm = self.context.create_inline_asm(ty, text.to_owned(), constraints, true, false, None, false);
        self.builder.build_indirect_call(ty, asm, &[], "").expect("there are no arguments");
    }

    // --- control flow ---

    /// A new block after all others.
    pub fn block(&self, name: &str) -> BasicBlock<'c> {
        self.context.append_basic_block(self.function, name)
    }

    /// The block that instructions go to.
    pub fn current_block(&self) -> BasicBlock<'c> {
        self.builder.get_insert_block().expect("the builder is positioned")
    }

    /// Puts instructions at the end of `block` from now on.
    pub fn move_to(&self, block: BasicBlock<'c>) {
        self.builder.position_at_end(block);
    }

    /// Jumps.
    pub fn br(&self, block: BasicBlock<'c>) {
        self.builder.build_unconditional_branch(block).expect("the builder is positioned");
    }

    /// Jumps one way or the other.
    pub fn cond_br(&self, cond: Val<'c>, then_block: BasicBlock<'c>, else_block: BasicBlock<'c>) {
        self.builder
            .build_conditional_branch(cond.into_int_value(), then_block, else_block)
            .expect("the builder is positioned");
    }

    /// A phi without incoming values yet.
    pub fn phi(&self, ty: Ty<'c>) -> PhiValue<'c> {
        self.builder.build_phi(ty, "").expect("the builder is positioned")
    }

    /// Runs `work` only where `cond` holds, and merges its values with `otherwise`.
    pub fn if_then(&self, cond: Val<'c>, otherwise: &[Val<'c>], work: impl FnOnce() -> Vec<Val<'c>>) -> Vec<Val<'c>> {
        if self.as_const(cond).is_some_and(|c| c != 0) {
            return work();
        }
        let (from, then_block, end) = (self.current_block(), self.block("then"), self.block("endif"));
        self.cond_br(cond, then_block, end);
        self.move_to(then_block);
        let values = work();
        let then_end = self.current_block();
        self.br(end);
        self.move_to(end);
        values
            .iter()
            .zip(otherwise)
            .map(|(value, other)| {
                let phi = self.phi(value.get_type());
                phi.add_incoming(&[(value, then_end), (other, from)]);
                phi.as_basic_value()
            })
            .collect()
    }

    /// A counted loop `for i in (start..end).step_by(step)` over an unsigned `i32` with carried values, known to run
    /// at least once.
    pub fn count_loop(
        &self,
        start: u32,
        end: u32,
        step: u32,
        init: &[Val<'c>],
        body: impl FnOnce(Val<'c>, &[Val<'c>]) -> Vec<Val<'c>>,
    ) -> Vec<Val<'c>> {
        if start + step >= end {
            return body(self.i32(start.into()), init);
        }
        let (from, head, exit) = (self.current_block(), self.block("loop"), self.block("endloop"));
        self.br(head);
        self.move_to(head);
        let index = self.phi(self.int(32).into());
        let carried: Vec<PhiValue<'c>> = init.iter().map(|v| self.phi(v.get_type())).collect();
        let values: Vec<Val<'c>> = carried.iter().map(|p| p.as_basic_value()).collect();
        let next = body(index.as_basic_value(), &values);
        let latch = self.current_block();
        let next_index = self.add(index.as_basic_value(), self.i32(step.into()));
        let more = self.icmp(IntPredicate::ULT, next_index, self.i32(end.into()));
        self.cond_br(more, head, exit);
        index.add_incoming(&[(&self.i32(start.into()), from), (&next_index, latch)]);
        for ((phi, first), value) in carried.iter().zip(init).zip(&next) {
            phi.add_incoming(&[(first, from), (value, latch)]);
        }
        self.move_to(exit);
        next
    }
}
