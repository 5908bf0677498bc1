//! Tile IR to LLVM IR for the CPU, following a [`Plan`].
//!
//! One function is made a kernel, which runs one program: scalars are SSA values, tiles are computed inline in the
//! loops of those who read them, or live in the program's arena. The kernel's signature is in [`abi`].
//!
//! | module | subject |
//! |---|---|
//! | [`arith`] | elementwise arithmetic on lanes |
//! | [`eval`] | elements of tiles by index, a vector of them at a time |
//! | [`access`] | arena buffers and tensor memory: bounds, masks, strides |
//! | [`nest`] | groups and loop nests |
//! | [`reduce`], [`scan`] | reductions and scans |
//! | [`dot`] | matrix products |
//! | [`control`] | blocks, loops, branches, carried values |
//! | [`atomics`], [`effects`] | atomics; print and assert |

mod access;
mod arith;
mod atomics;
mod control;
mod dot;
mod effects;
mod eval;
mod nest;
mod reduce;
mod scan;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use inkwell::context::Context;
use inkwell::module::Module;
use smallvec::SmallVec;
use tegula_codegen::CodegenError;
use tegula_codegen::elementwise::register_type;
use tegula_codegen::emit::{MemoryFlags, Ty, Val};
use tegula_codegen::symbol::symbol_name;
use tegula_ir::function::{Function, Op, ParamKind, Value, ViewSpec};
use tegula_ir::ops::{BinaryOp, OpKind};
use tegula_ir::passes::expand_math::is_expanded;
use tegula_ir::types::{Elem, ScalarType, Type};

use crate::builder::CpuBuilder;
use crate::plan::Plan;
use tegula_artifact::cpu::abi;

/// What the lowering knows of the processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VectorTarget {
    /// Bytes of a vector register.
    pub vector_bytes: u32,
    /// Number of vector registers.
    pub vector_registers: u32,
}

impl VectorTarget {
    /// What LLVM's feature string of an x86-64 or AArch64 processor tells.
    pub fn from_features(triple: &str, features: &str) -> Self {
        let has = |name: &str| features.split(',').any(|f| f.strip_prefix('+') == Some(name));
        if triple.starts_with("x86_64") {
            let wide = has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl");
            let vector_bytes = if wide {
                64
            } else if has("avx2") && has("fma") {
                32
            } else {
                16
            };
            Self { vector_bytes, vector_registers: if wide { 32 } else { 16 } }
        } else {
            Self { vector_bytes: 16, vector_registers: 32 }
        }
    }
}

/// A view's parts.
#[derive(Clone, Debug)]
pub(crate) struct ViewVal<'c> {
    pub base: Val<'c>,
    pub elem: ScalarType,
    pub extents: SmallVec<[Val<'c>; 5]>,
    pub strides: SmallVec<[Val<'c>; 5]>,
    pub spec: ViewSpec,
}

/// An op that calls back while the kernel runs.
#[derive(Clone, Debug)]
pub enum CallSite {
    /// A `print`.
    Print(Op),
    /// An `assert`.
    Assert(Op),
    /// An access through a pointer.
    Access(Op),
}

/// What the lowering gives besides the function.
#[derive(Debug)]
pub struct Lowered {
    /// The ops that call back, by the number they pass.
    pub sites: Vec<CallSite>,
    /// Bytes of arena that a program needs.
    pub arena_bytes: u64,
}

/// A kernel under construction.
pub(crate) struct Lowering<'a, 'c, 'm> {
    pub func: &'a Function,
    pub plan: &'a Plan,
    pub b: Rc<CpuBuilder<'c, 'm>>,
    pub target: VectorTarget,
    pub scalars: HashMap<Value, Val<'c>>,
    pub views: HashMap<Value, ViewVal<'c>>,
    pub arena: Val<'c>,
    pub context: Val<'c>,
    pub program: Val<'c>,
    pub sites: Vec<CallSite>,
    pub arena_bytes: u64,
    /// Loads in the nest at hand that fetch the next row ahead.
    pub ahead: HashSet<Op>,
    /// First address and size in bytes of each argument's allocation, where accesses through pointers are checked.
    pub allocations: Option<Vec<(Val<'c>, Val<'c>)>>,
}

/// Lowers a kernel into `module` under its own name.
///
/// # Errors
/// If a math function has not been expanded.
pub fn lower<'c>(
    context: &'c Context,
    module: &Module<'c>,
    func: &Function,
    plan: &Plan,
    target: VectorTarget,
    check_pointers: bool,
) -> Result<Lowered, CodegenError> {
    check(func)?;
    let pointer = context.ptr_type(inkwell::AddressSpace::default());
    let ty = context.i32_type().fn_type(&[pointer.into(); abi::PARAMETERS], false);
    let function = module.add_function(&symbol_name(&func.name), ty, None);
    let bits = (target.vector_bytes * 8).to_string();
    for (key, value) in [("prefer-vector-width", &*bits), ("min-legal-vector-width", &*bits)] {
        function
            .add_attribute(inkwell::attributes::AttributeLoc::Function, context.create_string_attribute(key, value));
    }
    let noalias = inkwell::attributes::Attribute::get_named_enum_kind_id("noalias");
    for param in [abi::ARGS, abi::PROGRAM, abi::ARENA] {
        let attribute = context.create_enum_attribute(noalias, 0);
        function.add_attribute(inkwell::attributes::AttributeLoc::Param(param), attribute);
    }
    let param = |i: u32| -> Val<'c> { function.get_nth_param(i).expect("a parameter of the ABI") };
    let b = Rc::new(CpuBuilder::new(context, module, function));
    let mut lowering = Lowering {
        func,
        plan,
        b,
        target,
        scalars: HashMap::new(),
        views: HashMap::new(),
        arena: param(abi::ARENA),
        context: param(abi::CONTEXT),
        program: param(abi::PROGRAM),
        sites: Vec::new(),
        arena_bytes: plan.arena_bytes,
        ahead: HashSet::new(),
        allocations: None,
    };
    lowering.params(param(abi::ARGS));
    if check_pointers {
        lowering.allocations = Some(lowering.read_allocations(param(abi::ARGS)));
    }
    lowering.block(func.body);
    Ok(Lowered { sites: lowering.sites, arena_bytes: lowering.arena_bytes })
}

/// Finds what only a pass that has not run could have made lowerable.
fn check(func: &Function) -> Result<(), CodegenError> {
    let mut found = None;
    func.walk(|_, op| {
        let math = match func.kind(op) {
            OpKind::Unary { op, .. } if is_expanded(*op) => Some(op.name()),
            OpKind::Binary { op: op @ (BinaryOp::Pow | BinaryOp::Atan2), .. } => Some(op.name()),
            _ => None,
        };
        if let (Some(name), None) = (math, &found) {
            found = Some(CodegenError::InvalidInput {
                location: func.locs.get(func.op(op).loc).to_string(),
                message: format!("`{name}` must be expanded into arithmetic before code generation"),
            });
        }
    });
    found.map_or(Ok(()), Err)
}

impl<'c> Lowering<'_, 'c, '_> {
    /// Reads the arguments.
    fn params(&mut self, args: Val<'c>) {
        let b = self.b.clone();
        let func = self.func;
        let slots = abi::ArgSlots::of(func);
        let word = |slot: usize, ty: Ty<'c>| {
            let at = b.element(args, b.i64(slot as i64), 8);
            b.load(ty, at, 8, MemoryFlags { invariant: true, ..MemoryFlags::default() })
        };
        let i64_ty: Ty<'c> = b.int(64).into();
        for (param, slot) in func.params.iter().zip(slots.starts()) {
            match &param.kind {
                ParamKind::View { elem, rank, spec, .. } => {
                    let rank = usize::from(*rank);
                    let extents = (0..rank).map(|i| word(slot + 1 + i, i64_ty)).collect();
                    let mut strides: SmallVec<[Val<'c>; 5]> =
                        (0..rank).map(|i| word(slot + 1 + rank + i, i64_ty)).collect();
                    if spec.unit_inner
                        && let Some(last) = strides.last_mut()
                    {
                        *last = b.i64(1);
                    }
                    let base = word(slot, b.pointer());
                    let view = ViewVal { base, elem: *elem, extents, strides, spec: spec.clone() };
                    self.views.insert(param.value, view);
                }
                ParamKind::Scalar { elem, .. } => {
                    let at = b.element(args, b.i64(slot as i64), 8);
                    let elem = Elem::Scalar(*elem);
                    let stored = b.load(self.memory_ty(elem), at, 8, MemoryFlags::default());
                    let v = self.unpack_element(elem, stored);
                    self.scalars.insert(param.value, v);
                }
                ParamKind::Ptr { .. } => {
                    let v = word(slot, i64_ty);
                    self.scalars.insert(param.value, v);
                }
            }
        }
    }

    /// The allocations behind the arguments, which follow them (see [`abi::ArgSlots::allocations`]).
    fn read_allocations(&self, args: Val<'c>) -> Vec<(Val<'c>, Val<'c>)> {
        let b = &self.b;
        let word = |slot: usize| {
            let at = b.element(args, b.i64(slot as i64), 8);
            b.load(b.int(64).into(), at, 8, MemoryFlags { invariant: true, ..MemoryFlags::default() })
        };
        let slots = abi::ArgSlots::of(self.func);
        slots.allocations(self.func).map(|slot| (word(slot), word(slot + 1))).collect()
    }

    /// Type of an element in a register. Pointers are 64-bit integers, 16-bit floats their bits: LLVM handles vectors
    /// of these types less well where the processor has no arithmetic for them.
    pub fn register_ty(&self, elem: Elem) -> Ty<'c> {
        match elem {
            Elem::Ptr(_) => self.b.int(64).into(),
            Elem::Scalar(ScalarType::F16 | ScalarType::BF16) => self.b.int(16).into(),
            elem => register_type(&self.b, elem),
        }
    }

    /// Type of an element in the arena and in tensors.
    pub fn memory_ty(&self, elem: Elem) -> Ty<'c> {
        match elem {
            Elem::Scalar(ScalarType::Bool | ScalarType::I4 | ScalarType::U4) => self.b.int(8).into(),
            elem => self.register_ty(elem),
        }
    }

    /// A loaded element in its register form.
    pub fn unpack_element(&self, elem: Elem, v: Val<'c>) -> Val<'c> {
        match elem {
            Elem::Scalar(ScalarType::Bool) => self.b.icmp(inkwell::IntPredicate::NE, v, self.b.int_like(v, 0)),
            Elem::Scalar(ScalarType::I4 | ScalarType::U4) => self.b.zext_or_trunc(v, 4),
            _ => v,
        }
    }

    /// An element in its memory form.
    pub fn pack_element(&self, elem: Elem, v: Val<'c>) -> Val<'c> {
        match elem {
            Elem::Scalar(ScalarType::Bool | ScalarType::I4 | ScalarType::U4) => self.b.zext_or_trunc(v, 8),
            _ => v,
        }
    }

    /// The element of a scalar or tile.
    pub fn elem(&self, v: Value) -> Elem {
        self.func.ty(v).elem().expect("a scalar or tile")
    }

    /// The extents of a tile; none for a scalar.
    pub fn shape(&self, v: Value) -> &[u32] {
        self.func.ty(v).shape().unwrap_or(&[])
    }

    /// Whether a value is a tile.
    pub fn is_tile(&self, v: Value) -> bool {
        matches!(self.func.ty(v), Type::Tile(_))
    }

    /// A scalar.
    pub fn scalar(&self, v: Value) -> Val<'c> {
        self.scalars[&v]
    }
}

/// Arena beyond the planned buffers, for one op at a time.
#[derive(Default)]
pub(crate) struct Scratch {
    used: u64,
}

impl Scratch {
    /// Address of the next `bytes`, aligned to 64.
    pub fn take<'c>(&mut self, lowering: &mut Lowering<'_, 'c, '_>, bytes: u64) -> Val<'c> {
        let offset = lowering.plan.arena_bytes.next_multiple_of(64) + self.used;
        self.used += bytes.next_multiple_of(64);
        lowering.arena_bytes = lowering.arena_bytes.max(offset + bytes);
        lowering.b.element(lowering.arena, lowering.b.i64(offset as i64), 1)
    }
}
