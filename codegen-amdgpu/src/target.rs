//! The lowering's target: the intrinsics of AMD GPUs.

use inkwell::IntPredicate::{NE, ULE};
use inkwell::attributes::AttributeLoc;
use inkwell::llvm_sys::LLVMAtomicOrdering;
use inkwell::values::{BasicValue, FunctionValue, InstructionOpcode as Opcode};
use tegula_codegen::elementwise::{Conversion, NativeOps, convert};
use tegula_codegen::emit::{Emitter, GLOBAL, MemoryFlags, Val};
use tegula_codegen::gpu::{GpuTarget, assertion_text};
use tegula_codegen::session::LineTableKind;
use tegula_codegen::target::{Architecture, Element};
use tegula_ir::ops::{Rounding, Scope, UnaryOp};
use tegula_ir::types::ScalarType;

/// LLVM's number of the calling convention `amdgpu_kernel`.
const AMDGPU_KERNEL: u32 = 91;

/// Offsets of implicit arguments (code object V5 and later), from LLVM's AMDGPUUsage, "Kernel Argument Metadata".
mod implicit {
    /// Number of programs on x, y and z, 32 bits each.
    pub(super) const BLOCK_COUNT: i64 = 0;
    /// Address of the buffer that prints go to.
    pub(super) const PRINTF_BUFFER: i64 = 72;
}

/// An AMD architecture as the lowering's target.
pub(crate) struct Amdgpu {
    architecture: &'static Architecture,
}

impl Amdgpu {
    pub(crate) fn new(architecture: &'static Architecture) -> Self {
        Amdgpu { architecture }
    }
}

impl NativeOps for Amdgpu {
    fn unary<'c>(&self, e: &Emitter<'c, '_>, op: UnaryOp, ty: ScalarType, x: Val<'c>, fast: bool) -> Option<Val<'c>> {
        if !matches!(ty, ScalarType::F16 | ScalarType::BF16 | ScalarType::F32) {
            return None;
        }
        // LLVM's `exp2` and `log2` scale subnormals, which the instructions flush.
        let name = match (op, fast) {
            (UnaryOp::Exp2, false) => "llvm.exp2",
            (UnaryOp::Exp2, true) => "llvm.amdgcn.exp2",
            (UnaryOp::Log2, false) => "llvm.log2",
            (UnaryOp::Log2, true) => "llvm.amdgcn.log",
            (UnaryOp::Rsqrt, true) => "llvm.amdgcn.rsq",
            (UnaryOp::Recip, true) => "llvm.amdgcn.rcp",
            (UnaryOp::Sqrt, true) => "llvm.amdgcn.sqrt",
            (UnaryOp::Sin, true) => "llvm.amdgcn.sin",
            (UnaryOp::Cos, true) => "llvm.amdgcn.cos",
            _ => return None,
        };
        let mut x = convert::to_f32(e, self, ty, x);
        if matches!(op, UnaryOp::Sin | UnaryOp::Cos) {
            // The instructions take turns, in a limited range.
            let turns = e.fmul(x, e.f32(std::f64::consts::FRAC_1_PI / 2.0));
            x = e.intrinsic("llvm.amdgcn.fract", &[turns.get_type()], &[turns]);
        }
        let y = e.intrinsic(name, &[x.get_type()], &[x]);
        Some(convert::convert(e, self, Conversion::nearest(ScalarType::F32, ty), y))
    }

    fn has_fma(&self, ty: ScalarType) -> bool {
        ty == ScalarType::F16
    }

    fn convert<'c>(&self, e: &Emitter<'c, '_>, conversion: Conversion, x: Val<'c>) -> Option<Val<'c>> {
        let Conversion { from, to, rounding, saturate } = conversion;
        let native = element(from).zip(element(to)).is_some_and(|(from, to)| self.architecture.converts(from, to));
        if !native || rounding != Rounding::NearestEven || matches!(x, Val::VectorValue(_)) {
            return None;
        }
        match (from, to) {
            (ScalarType::F32, ScalarType::BF16) if !saturate => Some(e.cast(Opcode::FPTrunc, x, e.context.bf16_type())),
            (ScalarType::F32, to) if to.is_fp8() => {
                // What overflows becomes infinity or NaN; for saturation it is brought into range first.
                let x = if saturate { convert::clamp_to_finite(e, x, to) } else { x };
                let name = if is_e4m3(to) { "llvm.amdgcn.cvt.pk.fp8.f32" } else { "llvm.amdgcn.cvt.pk.bf8.f32" };
                let pair = e.intrinsic(name, &[], &[x, x, e.i32(0), e.bool(false)]);
                Some(e.zext_or_trunc(pair, 8))
            }
            (from, ScalarType::F32) if from.is_fp8() => {
                let name = if is_e4m3(from) { "llvm.amdgcn.cvt.f32.fp8" } else { "llvm.amdgcn.cvt.f32.bf8" };
                Some(e.intrinsic(name, &[], &[e.zext_or_trunc(x, 32), e.i32(0)]))
            }
            _ => None,
        }
    }
}

fn is_e4m3(ty: ScalarType) -> bool {
    matches!(ty, ScalarType::F8E4M3 | ScalarType::F8E4M3Fnuz)
}

/// The table's name of a float type.
fn element(ty: ScalarType) -> Option<Element> {
    Some(match ty {
        ScalarType::F8E4M3 => Element::F8E4M3,
        ScalarType::F8E5M2 => Element::F8E5M2,
        ScalarType::F8E4M3Fnuz => Element::F8E4M3Fnuz,
        ScalarType::F8E5M2Fnuz => Element::F8E5M2Fnuz,
        ScalarType::F16 => Element::F16,
        ScalarType::BF16 => Element::BF16,
        ScalarType::F32 => Element::F32,
        ScalarType::F64 => Element::F64,
        _ => return None,
    })
}

/// A format as it stands in the list of formats, which colons divide: with the escapes of LLVM's `AMDGPUPrintfRuntimeBinding`,
/// the only ones that ROCm's runtime resolves.
fn escaped(format: &str) -> String {
    let mut out = String::new();
    for c in format.chars() {
        match c {
            ':' => out.push_str("\\72"),
            '\x07' => out.push_str("\\a"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\x0b' => out.push_str("\\v"),
            // To C it is the end.
            '\0' => {}
            other => out.push(other),
        }
    }
    out
}

/// An implicit argument.
fn implicit<'c>(e: &Emitter<'c, '_>, offset: i64, ty: tegula_codegen::emit::Ty<'c>) -> Val<'c> {
    let base = e.intrinsic("llvm.amdgcn.implicitarg.ptr", &[], &[]);
    let flags = MemoryFlags { invariant: true, ..MemoryFlags::default() };
    e.load(ty, e.offset(base, e.i64(offset)), e.bits(ty) / 8, flags)
}

impl GpuTarget for Amdgpu {
    fn architecture(&self) -> &'static Architecture {
        self.architecture
    }

    fn line_table(&self) -> LineTableKind {
        LineTableKind::Dwarf
    }

    fn declare_kernel<'c>(&self, e: &Emitter<'c, '_>, function: FunctionValue<'c>, threads: u32) {
        function.set_call_conventions(AMDGPU_KERNEL);
        let attribute = |key: &str, value: &str| {
            function.add_attribute(AttributeLoc::Function, e.context.create_string_attribute(key, value));
        };
        attribute("amdgpu-flat-work-group-size", &format!("{threads},{threads}"));
        attribute("uniform-work-group-size", "true");
        // Registers that would be set up for what no kernel of ours asks for.
        for unused in [
            "amdgpu-no-dispatch-ptr",
            "amdgpu-no-queue-ptr",
            "amdgpu-no-dispatch-id",
            "amdgpu-no-workitem-id-y",
            "amdgpu-no-workitem-id-z",
            "amdgpu-no-lds-kernel-id",
            "amdgpu-no-default-queue",
            "amdgpu-no-completion-action",
            "amdgpu-no-heap-ptr",
            "amdgpu-no-hostcall-ptr",
            "amdgpu-no-multigrid-sync-arg",
        ] {
            attribute(unused, "");
        }
    }

    fn finish_kernel<'c>(&self, e: &Emitter<'c, '_>, function: FunctionValue<'c>) {
        let unused = |intrinsic: &str| {
            e.module
                .get_function(intrinsic)
                .is_none_or(|f| f.as_global_value().as_pointer_value().get_first_use().is_none())
        };
        for (intrinsic, attribute) in [
            ("llvm.amdgcn.workgroup.id.x", "amdgpu-no-workgroup-id-x"),
            ("llvm.amdgcn.workgroup.id.y", "amdgpu-no-workgroup-id-y"),
            ("llvm.amdgcn.workgroup.id.z", "amdgpu-no-workgroup-id-z"),
            ("llvm.amdgcn.implicitarg.ptr", "amdgpu-no-implicitarg-ptr"),
        ] {
            if unused(intrinsic) {
                function.add_attribute(AttributeLoc::Function, e.context.create_string_attribute(attribute, ""));
            }
        }
    }

    fn thread_id<'c>(&self, e: &Emitter<'c, '_>) -> Val<'c> {
        e.intrinsic("llvm.amdgcn.workitem.id.x", &[], &[])
    }

    fn program_id<'c>(&self, e: &Emitter<'c, '_>, axis: u8) -> Val<'c> {
        let axis = ["x", "y", "z"][usize::from(axis)];
        e.intrinsic(&format!("llvm.amdgcn.workgroup.id.{axis}"), &[], &[])
    }

    fn num_programs<'c>(&self, e: &Emitter<'c, '_>, axis: u8) -> Val<'c> {
        implicit(e, implicit::BLOCK_COUNT + 4 * i64::from(axis), e.int(32).into())
    }

    fn barrier(&self, e: &Emitter<'_, '_>) {
        e.fence(LLVMAtomicOrdering::LLVMAtomicOrderingRelease, "workgroup");
        e.intrinsic_void("llvm.amdgcn.s.barrier", &[], &[]);
        e.fence(LLVMAtomicOrdering::LLVMAtomicOrderingAcquire, "workgroup");
    }

    fn warp_barrier(&self, e: &Emitter<'_, '_>) {
        e.fence(LLVMAtomicOrdering::LLVMAtomicOrderingRelease, "wavefront");
        e.intrinsic_void("llvm.amdgcn.wave.barrier", &[], &[]);
        e.fence(LLVMAtomicOrdering::LLVMAtomicOrderingAcquire, "wavefront");
    }

    /// By DPP where a fixed pattern does it, by `ds_swizzle` inside 32 lanes, else by `ds_bpermute`.
    fn shuffle_xor<'c>(&self, e: &Emitter<'c, '_>, value: Val<'c>, mask: u32) -> Val<'c> {
        // CDNA3 ISA, "DPP": four lanes in any order, and the rows of 16 lanes mirrored or rotated.
        let dpp = match mask {
            1..=3 => Some((0..4u32).fold(0, |control, lane| control | (lane ^ mask) << (2 * lane))),
            7 => Some(0x141),
            8 => Some(0x128),
            15 => Some(0x140),
            _ => None,
        };
        if let Some(control) = dpp {
            let old = e.poison(e.int(32).into());
            let args = [old, value, e.i32(control.into()), e.i32(0xf), e.i32(0xf), e.bool(true)];
            return e.intrinsic("llvm.amdgcn.update.dpp", &[e.int(32).into()], &args);
        }
        if mask < 32 {
            // Bit mode: and with 0x1f, or with 0, exclusive or with the mask.
            return e.intrinsic("llvm.amdgcn.ds.swizzle", &[], &[value, e.i32((mask << 10 | 0x1f).into())]);
        }
        let lane = e.xor(self.lane(e), e.i32(mask.into()));
        self.shuffle_index(e, value, lane)
    }

    fn shuffle_index<'c>(&self, e: &Emitter<'c, '_>, value: Val<'c>, lane: Val<'c>) -> Val<'c> {
        e.intrinsic("llvm.amdgcn.ds.bpermute", &[], &[e.shl_const(lane, 2), value])
    }

    fn sync_scope(&self, scope: Scope) -> &'static str {
        match scope {
            Scope::Program => "workgroup",
            Scope::Device => "agent",
            Scope::System => "",
        }
    }

    /// Tensors are in device memory, where the float atomics of the hardware work.
    fn annotate_atomic<'c>(&self, e: &Emitter<'c, '_>, atomic: Val<'c>) {
        let Some(instruction) = atomic.as_instruction_value() else { return };
        let empty = e.context.metadata_node(&[]);
        for kind in ["amdgpu.no.fine.grained.memory", "amdgpu.no.remote.memory", "amdgpu.ignore.denormal.mode"] {
            instruction.set_metadata(empty, e.context.get_kind_id(kind)).expect("a node");
        }
    }

    /// Prints the message and traps: the trap itself tells the driver only that there was one.
    fn fail(&self, e: &Emitter<'_, '_>, message: &str, location: &str) {
        let text = assertion_text(message, location);
        self.print(e, &text.replace('%', "%%"), &[]);
        // The record is to be in memory when the host looks.
        e.fence(LLVMAtomicOrdering::LLVMAtomicOrderingRelease, "");
        e.intrinsic_void("llvm.trap", &[], &[]);
    }

    /// Texts stand in the record itself.
    fn truth_text<'c>(&self, e: &Emitter<'c, '_>, truth: Val<'c>) -> Val<'c> {
        let text = |bytes: [u8; 8]| e.i64(i64::from_le_bytes(bytes));
        e.select(truth, text(*b"true\0\0\0\0"), text(*b"false\0\0\0"))
    }

    /// Appends a record to the print buffer, whose address the driver passes: the number of the format (the driver finds
    /// it in the metadata), then the arguments, 8 bytes each. Nothing is written where the buffer is full.
    fn print<'c>(&self, e: &Emitter<'c, '_>, format: &str, args: &[Val<'c>]) {
        let number = e.module.get_global_metadata_size("llvm.printf.fmts") + 1;
        let sizes: String = args.iter().map(|_| ":8").collect();
        let entry = e.context.metadata_string(&format!("{number}:{}{sizes}:{}", args.len(), escaped(format)));
        let node = e.context.metadata_node(&[entry.into()]);
        e.module.add_global_metadata("llvm.printf.fmts", &node).expect("a node");

        let bytes = 4 + 8 * args.len() as i64;
        let buffer = implicit(e, implicit::PRINTF_BUFFER, e.ptr_type(GLOBAL).into());
        let present = e.icmp(NE, buffer, e.zero(buffer.get_type()));
        let then_block = e.block("print");
        let end_block = e.block("print.end");
        e.cond_br(present, then_block, end_block);
        e.move_to(then_block);
        // The head of the buffer: bytes used, and bytes there are.
        let capacity = e.load(e.int(32).into(), e.offset(buffer, e.i64(4)), 4, MemoryFlags::default());
        let used = e.atomic_rmw(
            inkwell::llvm_sys::LLVMAtomicRMWBinOp::LLVMAtomicRMWBinOpAdd,
            buffer,
            e.i32(bytes),
            LLVMAtomicOrdering::LLVMAtomicOrderingMonotonic,
            "",
        );
        let end = e.add(used, e.i32(bytes));
        let fits = e.icmp(ULE, end, capacity);
        e.if_then(fits, &[], || {
            let record = e.offset(buffer, e.add(e.i64(8), e.zext_or_trunc(used, 64)));
            e.store(e.i32(number.into()), record, 4, MemoryFlags::default());
            for (i, &arg) in args.iter().enumerate() {
                e.store(arg, e.offset(record, e.i64(4 + 8 * i as i64)), 4, MemoryFlags::default());
            }
            Vec::new()
        });
        e.br(end_block);
        e.move_to(end_block);
    }
}

impl Amdgpu {
    /// This thread's number in its wave.
    fn lane<'c>(&self, e: &Emitter<'c, '_>) -> Val<'c> {
        e.and(self.thread_id(e), e.i32(i64::from(self.architecture.warp_size) - 1))
    }
}
