//! The lowering's target: PTX's intrinsics.

use inkwell::FloatPredicate::{OGE, OGT};
use inkwell::attributes::AttributeLoc;
use inkwell::module::Linkage;
use inkwell::values::{FunctionValue, InstructionOpcode as Opcode};
use tegula_codegen::elementwise::{Conversion, NativeOps, convert};
use tegula_codegen::emit::{Emitter, GLOBAL, MemoryFlags, Val};
use tegula_codegen::gpu::GpuTarget;
use tegula_codegen::session::LineTableKind;
use tegula_codegen::target::{Architecture, Element};
use tegula_ir::ops::{Rounding, Scope, UnaryOp};
use tegula_ir::types::ScalarType;

/// LLVM's number of the calling convention `ptx_kernel`.
const PTX_KERNEL: u32 = 71;

/// All lanes of a warp.
const ALL_LANES: i64 = 0xffff_ffff;

/// An NVIDIA architecture as the lowering's target.
pub(crate) struct Nvptx {
    architecture: &'static Architecture,
}

impl Nvptx {
    pub(crate) fn new(architecture: &'static Architecture) -> Self {
        Nvptx { architecture }
    }
}

impl NativeOps for Nvptx {
    fn unary<'c>(&self, e: &Emitter<'c, '_>, op: UnaryOp, ty: ScalarType, x: Val<'c>, fast: bool) -> Option<Val<'c>> {
        if !matches!(ty, ScalarType::F16 | ScalarType::BF16 | ScalarType::F32) {
            return None;
        }
        // PTX ISA, the sections of `ex2`, `lg2`, `rsqrt`, `rcp`, `sqrt`, `sin`, `cos`, `tanh`: full range, subnormals
        // kept; the error bounds of the first two are those that the expansion of math functions counts on.
        let asm = match (op, fast) {
            (UnaryOp::Exp2, _) => "ex2.approx.f32 $0, $1;",
            (UnaryOp::Log2, _) => "lg2.approx.f32 $0, $1;",
            (UnaryOp::Rsqrt, true) => "rsqrt.approx.f32 $0, $1;",
            (UnaryOp::Recip, true) => "rcp.approx.f32 $0, $1;",
            (UnaryOp::Sqrt, true) => "sqrt.approx.f32 $0, $1;",
            (UnaryOp::Sin, true) => "sin.approx.f32 $0, $1;",
            (UnaryOp::Cos, true) => "cos.approx.f32 $0, $1;",
            (UnaryOp::Tanh, true) => "tanh.approx.f32 $0, $1;",
            _ => return None,
        };
        let y = e.asm(asm, "=f,f", e.f32_type().into(), &[convert::to_f32(e, self, ty, x)]);
        Some(convert::convert(e, self, Conversion::nearest(ScalarType::F32, ty), y))
    }

    fn has_fma(&self, _: ScalarType) -> bool {
        true
    }

    fn convert<'c>(&self, e: &Emitter<'c, '_>, conversion: Conversion, x: Val<'c>) -> Option<Val<'c>> {
        let Conversion { from, to, rounding, saturate } = conversion;
        let native = element(from).zip(element(to)).is_some_and(|(from, to)| self.architecture.converts(from, to));
        if rounding != Rounding::NearestEven || matches!(x, Val::VectorValue(_)) {
            return None;
        }
        match (from, to) {
            (ScalarType::F32, ScalarType::BF16) if native && !saturate => {
                Some(e.cast(Opcode::FPTrunc, x, e.context.bf16_type()))
            }
            (ScalarType::F64, ScalarType::F16) if native && !saturate => {
                Some(e.cast(Opcode::FPTrunc, x, e.context.f16_type()))
            }
            (ScalarType::F32, ScalarType::F8E4M3 | ScalarType::F8E5M2) if native => {
                Some(self.f32_to_fp8(e, to, saturate, x))
            }
            (ScalarType::F8E4M3 | ScalarType::F8E5M2, ScalarType::F32) if native_fp8_source(self, from) => {
                let name = match from {
                    ScalarType::F8E4M3 => "llvm.nvvm.e4m3x2.to.f16x2.rn",
                    _ => "llvm.nvvm.e5m2x2.to.f16x2.rn",
                };
                let pair = e.intrinsic(name, &[], &[e.zext_or_trunc(x, 16)]);
                Some(e.cast(Opcode::FPExt, e.unpack(pair)[0], e.f32_type()))
            }
            _ => None,
        }
    }
}

/// Whether the 8-bit type widens by instruction (to f16, which is exact).
fn native_fp8_source(target: &Nvptx, from: ScalarType) -> bool {
    element(from).is_some_and(|from| target.architecture.converts(from, Element::F16))
}

impl Nvptx {
    /// The instruction saturates; where the language does not, what overflows is put right after it.
    fn f32_to_fp8<'c>(&self, e: &Emitter<'c, '_>, to: ScalarType, saturate: bool, x: Val<'c>) -> Val<'c> {
        let e4m3 = to == ScalarType::F8E4M3;
        let name = if e4m3 { "llvm.nvvm.ff.to.e4m3x2.rn" } else { "llvm.nvvm.ff.to.e5m2x2.rn" };
        let pair = e.intrinsic(name, &[], &[e.f32(0.0), x]);
        let code = e.zext_or_trunc(pair, 8);
        if saturate {
            return code;
        }
        let magnitude = e.intrinsic("llvm.fabs", &[x.get_type()], &[x]);
        // Halfway to the first value that the format has not: 464 rounds to 448, 61440 rounds up.
        let (overflows, beyond) = if e4m3 {
            (e.fcmp(OGT, magnitude, e.f32(464.0)), 0x7f)
        } else {
            (e.fcmp(OGE, magnitude, e.f32(61440.0)), 0x7c)
        };
        let sign = e.and(code, e.const_int(8, 0x80));
        e.select(overflows, e.or(sign, e.const_int(8, beyond)), code)
    }
}

/// The table's name of a float type.
fn element(ty: ScalarType) -> Option<Element> {
    Some(match ty {
        ScalarType::F8E4M3 => Element::F8E4M3,
        ScalarType::F8E5M2 => Element::F8E5M2,
        ScalarType::F16 => Element::F16,
        ScalarType::BF16 => Element::BF16,
        ScalarType::F32 => Element::F32,
        ScalarType::F64 => Element::F64,
        _ => return None,
    })
}

/// A special register of this axis.
fn special<'c>(e: &Emitter<'c, '_>, register: &str, axis: u8) -> Val<'c> {
    let axis = ["x", "y", "z"][usize::from(axis)];
    e.intrinsic(&format!("llvm.nvvm.read.ptx.sreg.{register}.{axis}"), &[], &[])
}

impl GpuTarget for Nvptx {
    fn architecture(&self) -> &'static Architecture {
        self.architecture
    }

    fn line_table(&self) -> LineTableKind {
        LineTableKind::DirectivesOnly
    }

    fn declare_kernel<'c>(&self, e: &Emitter<'c, '_>, function: FunctionValue<'c>, threads: u32) {
        function.set_call_conventions(PTX_KERNEL);
        let threads = e.context.create_string_attribute("nvvm.reqntid", &format!("{threads},1,1"));
        function.add_attribute(AttributeLoc::Function, threads);
    }

    /// A launch may let the kernel begin before the one before it has ended (programmatic dependent launch): it waits for
    /// that end, and for what was written to be seen, before it touches memory. Then it lets the kernel behind it begin
    /// as soon as all of its own programs run: that one waits in turn. In other launches both do nothing.
    ///
    /// Assembly and not LLVM's intrinsics: those say that they touch no memory, so that accesses could move over them.
    fn begin_kernel(&self, e: &Emitter<'_, '_>) {
        if self.architecture.dependent_launches {
            e.asm_fence("griddepcontrol.wait;");
            e.asm_fence("griddepcontrol.launch_dependents;");
        }
    }

    fn thread_id<'c>(&self, e: &Emitter<'c, '_>) -> Val<'c> {
        special(e, "tid", 0)
    }

    fn program_id<'c>(&self, e: &Emitter<'c, '_>, axis: u8) -> Val<'c> {
        special(e, "ctaid", axis)
    }

    fn num_programs<'c>(&self, e: &Emitter<'c, '_>, axis: u8) -> Val<'c> {
        special(e, "nctaid", axis)
    }

    fn barrier(&self, e: &Emitter<'_, '_>) {
        e.intrinsic_void("llvm.nvvm.barrier.cta.sync.aligned.all", &[], &[e.i32(0)]);
    }

    fn warp_barrier(&self, e: &Emitter<'_, '_>) {
        e.intrinsic_void("llvm.nvvm.bar.warp.sync", &[], &[e.i32(ALL_LANES)]);
    }

    fn shuffle_xor<'c>(&self, e: &Emitter<'c, '_>, value: Val<'c>, mask: u32) -> Val<'c> {
        let args = [e.i32(ALL_LANES), value, e.i32(mask.into()), e.i32(31)];
        e.intrinsic("llvm.nvvm.shfl.sync.bfly.i32", &[], &args)
    }

    fn shuffle_index<'c>(&self, e: &Emitter<'c, '_>, value: Val<'c>, lane: Val<'c>) -> Val<'c> {
        e.intrinsic("llvm.nvvm.shfl.sync.idx.i32", &[], &[e.i32(ALL_LANES), value, lane, e.i32(31)])
    }

    fn sync_scope(&self, scope: Scope) -> &'static str {
        match scope {
            Scope::Program => "block",
            Scope::Device => "device",
            Scope::System => "",
        }
    }

    /// Calls `__assertfail`, which the driver provides: it reports the text and stops the kernel.
    fn fail(&self, e: &Emitter<'_, '_>, message: &str, location: &str) {
        let (file, line) = split_location(location);
        let name = e.function.get_name().to_string_lossy().into_owned();
        let pointer = e.ptr_type(0);
        let ty = e
            .context
            .void_type()
            .fn_type(&[pointer.into(), pointer.into(), e.int(32).into(), pointer.into(), e.int(64).into()], false);
        let function = e
            .module
            .get_function("__assertfail")
            .unwrap_or_else(|| e.module.add_function("__assertfail", ty, Some(Linkage::External)));
        let args = [text(e, message), text(e, file), e.i32(line), text(e, &name), e.i64(1)];
        e.call(function, &args);
        e.intrinsic_void("llvm.trap", &[], &[]);
    }

    fn truth_text<'c>(&self, e: &Emitter<'c, '_>, truth: Val<'c>) -> Val<'c> {
        e.select(truth, text(e, "true"), text(e, "false"))
    }

    /// Calls `vprintf`, which the driver provides. Arguments stand in a buffer, each aligned to its size.
    fn print<'c>(&self, e: &Emitter<'c, '_>, format: &str, args: &[Val<'c>]) {
        let pointer = e.ptr_type(0);
        let ty = e.int(32).fn_type(&[pointer.into(), pointer.into()], false);
        let function = e
            .module
            .get_function("vprintf")
            .unwrap_or_else(|| e.module.add_function("vprintf", ty, Some(Linkage::External)));
        let buffer: Val<'c> = if args.is_empty() {
            e.zero(pointer.into())
        } else {
            let fields: Vec<_> = args.iter().map(|a| a.get_type()).collect();
            let ty = e.context.struct_type(&fields, false);
            // In the entry block, so that a print in a loop does not grow the stack.
            let here = e.current_block();
            let entry = e.function.get_first_basic_block().expect("the function has an entry");
            match entry.get_first_instruction() {
                Some(first) => e.builder.position_before(&first),
                None => e.builder.position_at_end(entry),
            }
            let slot = e.builder.build_alloca(ty, "print").expect("the builder is positioned");
            e.move_to(here);
            for (i, &arg) in args.iter().enumerate() {
                let address = e.offset(slot.into(), e.i64(8 * i as i64));
                e.store(arg, address, 8, MemoryFlags::default());
            }
            slot.into()
        };
        e.call(function, &[text(e, format), buffer]);
    }
}

/// File and line of a location `file:line:column`.
fn split_location(location: &str) -> (&str, i64) {
    let mut parts = location.rsplitn(3, ':');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(_), Some(line), Some(file)) => (file, line.parse().unwrap_or(0)),
        _ => (location, 0),
    }
}

/// A generic pointer to a text in constant global memory.
fn text<'c>(e: &Emitter<'c, '_>, text: &str) -> Val<'c> {
    let bytes = e.context.const_string(text.as_bytes(), true);
    let global = e.module.add_global(bytes.get_type(), Some(inkwell::AddressSpace::from(GLOBAL)), "text");
    global.set_initializer(&bytes);
    global.set_constant(true);
    global.set_linkage(Linkage::Private);
    e.cast(Opcode::AddrSpaceCast, global.as_pointer_value().into(), e.ptr_type(0))
}
