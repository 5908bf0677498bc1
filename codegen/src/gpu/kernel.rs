//! The kernel's signature and metadata, and the way from a function to an LLVM module.

use inkwell::AddressSpace;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::module::Module;
use inkwell::types::BasicMetadataTypeEnum;
use tegula_artifact::gpu::{Component, KernelInfo, KernelParam};
use tegula_ir::function::{Function, ParamKind, ViewAccess};
use tegula_ir::types::{Elem, ScalarType};

use super::lowering::{Lowered, Lowering, ViewValue};
use super::target::GpuTarget;
use crate::elementwise::{memory_type, register_type};
use crate::emit::{Emitter, GLOBAL, Ty, Val};
use crate::error::CodegenError;
use crate::session::{LineTable, Session, SourceLocation};
use crate::symbol::symbol_name;

/// The arguments that a parameter becomes: each with its component and type.
fn components<'c>(e_context: &'c inkwell::context::Context, kind: &ParamKind) -> Vec<(Component, Ty<'c>)> {
    let pointer: Ty<'c> = e_context.ptr_type(AddressSpace::from(GLOBAL)).into();
    let index: Ty<'c> = e_context.i64_type().into();
    match kind {
        ParamKind::View { rank, .. } => {
            let mut all = vec![(Component::Base, pointer)];
            all.extend((0..*rank).map(|axis| (Component::Extent(axis), index)));
            all.extend((0..*rank).map(|axis| (Component::Stride(axis), index)));
            all
        }
        ParamKind::Ptr { .. } => vec![(Component::Value, pointer)],
        ParamKind::Scalar { elem, .. } => {
            let ty: Ty<'c> = match elem {
                ScalarType::F16 => e_context.f16_type().into(),
                ScalarType::BF16 => e_context.bf16_type().into(),
                ScalarType::F32 => e_context.f32_type().into(),
                ScalarType::F64 => e_context.f64_type().into(),
                t if t.bits() <= 8 => e_context.i8_type().into(),
                t if t.bits() == 16 => e_context.i16_type().into(),
                t if t.bits() == 32 => e_context.i32_type().into(),
                _ => index,
            };
            vec![(Component::Value, ty)]
        }
    }
}

/// Lowers `function` into `module` as a kernel, with source lines if asked for.
///
/// # Errors
/// If an op is not supported on the target, a tile has no layout, or the kernel needs more shared memory than there is or
/// takes more arguments than a launch can pass.
pub fn lower_kernel<'c>(
    session: &'c Session,
    module: &Module<'c>,
    function: &Function,
    target: &dyn GpuTarget,
    line_table: bool,
) -> Result<KernelInfo, CodegenError> {
    let context = session.context();
    let arch = target.architecture();
    let threads = check_threads(function, target)?;

    let mut params = Vec::new();
    let mut types: Vec<BasicMetadataTypeEnum<'c>> = Vec::new();
    let mut offset = 0u32;
    for (i, param) in function.params.iter().enumerate() {
        for (component, ty) in components(context, &param.kind) {
            let size = match ty {
                Ty::IntType(t) => t.get_bit_width() / 8,
                Ty::FloatType(t) => t.get_bit_width() / 8,
                _ => 8,
            };
            offset = offset.next_multiple_of(size);
            params.push(KernelParam { param: i as u32, component, size, offset });
            types.push(ty.into());
            offset += size;
        }
    }

    if offset > arch.max_argument_bytes {
        return Err(CodegenError::Arguments {
            kernel: function.name.clone(),
            needed: offset,
            limit: arch.max_argument_bytes,
            target: arch.name.to_owned(),
        });
    }

    let symbol = symbol_name(&function.name);
    let llvm_function = module.add_function(&symbol, context.void_type().fn_type(&types, false), None);
    let e = Emitter::new(context, module, llvm_function);
    target.declare_kernel(&e, llvm_function, threads);
    annotate_pointers(&e, function, &params);
    let lines = line_table.then(|| {
        let loc = function.locs.get(function.loc);
        let at = SourceLocation { file: &loc.file, line: loc.line, column: loc.column };
        LineTable::new(context, module, llvm_function, at, target.line_table())
    });

    target.begin_kernel(&e);
    let mut lowering = Lowering::new(function, e, target, lines);
    bind_params(&mut lowering, &params);
    let (static_shared, dynamic_shared) = lowering.run()?;
    Ok(KernelInfo {
        name: symbol,
        threads,
        num_warps: threads / arch.warp_size,
        params,
        params_size: offset,
        static_shared,
        dynamic_shared,
    })
}

fn check_threads(function: &Function, target: &dyn GpuTarget) -> Result<u32, CodegenError> {
    let arch = target.architecture();
    let most = arch.max_threads / arch.warp_size;
    let num_warps = function.num_warps;
    if !num_warps.is_power_of_two() || num_warps > most {
        return Err(CodegenError::InvalidOption {
            option: "num_warps",
            value: num_warps.to_string(),
            target: arch.name.to_owned(),
            reason: format!("a program has 1, 2, 4, .. {most} warps of {} threads", arch.warp_size),
        });
    }
    Ok(num_warps * arch.warp_size)
}

/// Tells LLVM what is known of pointer arguments.
fn annotate_pointers(e: &Emitter<'_, '_>, function: &Function, params: &[KernelParam]) {
    let attribute =
        |name: &str, value: u64| e.context.create_enum_attribute(Attribute::get_named_enum_kind_id(name), value);
    for (i, param) in params.iter().enumerate() {
        let at = AttributeLoc::Param(i as u32);
        match (&function.params[param.param as usize].kind, param.component) {
            (ParamKind::View { elem, access, spec, .. }, Component::Base) => {
                let natural = elem.memory_bytes().unwrap_or(1);
                let align = spec.align.max(natural);
                if align.is_power_of_two() {
                    e.function.add_attribute(at, attribute("align", align.into()));
                }
                if spec.no_alias {
                    e.function.add_attribute(at, attribute("noalias", 0));
                }
                match access {
                    ViewAccess::Read => e.function.add_attribute(at, attribute("readonly", 0)),
                    ViewAccess::Write => e.function.add_attribute(at, attribute("writeonly", 0)),
                    ViewAccess::ReadWrite => {}
                }
            }
            (ParamKind::Ptr { elem, align }, Component::Value) => {
                let align = (*align).max(elem.memory_bytes().unwrap_or(1));
                if align.is_power_of_two() {
                    e.function.add_attribute(at, attribute("align", align.into()));
                }
            }
            _ => {}
        }
    }
}

/// Gives the function's parameters their values.
fn bind_params<'c>(lowering: &mut Lowering<'_, 'c, '_>, params: &[KernelParam]) {
    let function = lowering.f;
    let argument = |lowering: &Lowering<'_, 'c, '_>, index: usize| -> Val<'c> {
        lowering.e.function.get_nth_param(index as u32).expect("the function has as many arguments as listed")
    };
    let mut next = 0;
    for (index, param) in function.params.iter().enumerate() {
        let parts = params.iter().filter(|p| p.param == index as u32).count();
        let values: Vec<Val<'c>> = (next..next + parts).map(|i| argument(lowering, i)).collect();
        next += parts;
        let lowered = match &param.kind {
            ParamKind::View { elem, rank, access, spec } => {
                let rank = usize::from(*rank);
                let mut strides = values[1 + rank..].to_vec();
                if spec.unit_inner
                    && let Some(last) = strides.last_mut()
                {
                    *last = lowering.e.i64(1);
                }
                Lowered::View(ViewValue {
                    base: values[0],
                    extents: values[1..=rank].to_vec(),
                    strides,
                    elem: *elem,
                    spec: spec.clone(),
                    root: Some(index as u32),
                    read_only: *access == ViewAccess::Read,
                })
            }
            ParamKind::Scalar { elem, .. } => {
                let e = &lowering.e;
                let value = match elem {
                    t if t.is_float() && !t.is_fp8() => values[0],
                    t => e.zext_or_trunc(values[0], t.bits()),
                };
                debug_assert_eq!(value.get_type(), register_type(e, Elem::Scalar(*elem)));
                debug_assert!(values[0].get_type() == memory_type(e, Elem::Scalar(*elem)) || elem.bits() < 8);
                Lowered::scalar(value)
            }
            ParamKind::Ptr { .. } => Lowered::scalar(values[0]),
        };
        lowering.set(param.value, lowered);
    }
}
