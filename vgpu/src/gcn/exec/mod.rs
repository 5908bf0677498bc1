//! The executor: state of a wave, and the handlers of all instructions by family.

mod access;
mod atomic;
mod branch_stack;
mod buffer;
mod buffer_format;
mod compare;
mod convert;
mod cross_lane;
mod ds;
mod float16;
mod float32;
mod float64;
mod hazard;
mod hazard_rdna;
mod integer;
mod lane_memory;
pub(crate) mod matrix;
mod matrix_layout;
mod matrix_product;
mod memory;
mod operand;
mod packed;
pub(crate) mod queue;
mod registers;
pub(crate) mod salu;
mod salu_half;
mod scalar_memory;
mod scaled;
mod sparse;
mod special;
pub(crate) mod state;
mod wait;
mod wmma;

use crate::counters::Class;
use crate::finding::{Address, Agent, Finding, FindingKind, OtherAccess};
use crate::gcn::arch::Arch;
use crate::gcn::decode::memory as memory_names;
use crate::gcn::inst::{Handler, Inst, Kind, Opnd};
use std::collections::HashMap;
use std::sync::OnceLock;

pub(crate) use hazard::Hazards;
pub(crate) use state::{Env, Flow, Group, Wave};

/// Everything an instruction can reach.
pub(crate) struct Cx<'a> {
    /// The wave that executes.
    pub w: &'a mut Wave,
    /// Its workgroup.
    pub g: &'a mut Group,
    /// The launch.
    pub env: &'a Env<'a>,
    /// Address of the instruction to go on with.
    pub next: u64,
    /// What is to happen after this instruction.
    pub flow: Flow,
    /// Lanes in which all that this instruction has read so far was defined.
    pub defined: u64,
}

/// A row of a family's table: mnemonic, class, handler.
pub(crate) type Entry = (&'static str, Class, Handler);

/// What a mnemonic stands for.
pub(crate) struct Resolved {
    pub run: Handler,
    pub class: Class,
    pub kind: Kind,
}

/// Finds the handler of an instruction by its canonical name.
pub(crate) fn resolve(name: &'static str, arch: Arch) -> Option<Resolved> {
    static HANDLERS: OnceLock<HashMap<&'static str, (Class, Handler)>> = OnceLock::new();
    let handlers = HANDLERS.get_or_init(|| {
        let families: [&[Entry]; 14] = [
            branch_stack::TABLE,
            salu::TABLE,
            salu_half::TABLE,
            scalar_memory::TABLE,
            wait::TABLE,
            integer::TABLE,
            float16::TABLE,
            float32::TABLE,
            float64::TABLE,
            special::TABLE,
            convert::TABLE,
            cross_lane::TABLE,
            packed::TABLE,
            memory::TABLE,
        ];
        families.into_iter().flatten().map(|&(name, class, run)| (name, (class, run))).collect()
    });
    if let Some(&(class, run)) = handlers.get(name) {
        return Some(Resolved { run, class, kind: Kind::Plain });
    }
    if let Some(run) = compare::resolve(name) {
        return Some(Resolved { run, class: Class::Move, kind: Kind::Plain });
    }
    if let Some(run) = scaled::resolve(name) {
        return Some(Resolved { run, class: Class::Convert, kind: Kind::Plain });
    }
    if let Some(op) = matrix::parse(name, arch) {
        return Some(Resolved { run: matrix::handler(op), class: Class::Matrix, kind: Kind::Matrix(op) });
    }
    let op = memory_names::parse(name)?;
    let (run, class) = memory::handler(op)?;
    Some(Resolved { run, class, kind: Kind::Mem(op) })
}

/// Handler of what cannot be decoded.
pub(crate) fn undefined(cx: &mut Cx<'_>, inst: &Inst) {
    cx.unsupported(inst, format!("the word {:#010x} is no instruction of {}", inst.imm as u32, cx.env.arch));
}

/// Handler of what can be decoded but not executed.
pub(crate) fn unsupported(cx: &mut Cx<'_>, inst: &Inst) {
    cx.unsupported(inst, refusal(inst.name).to_owned());
}

/// Why an instruction that the architecture has is not executed.
pub(crate) fn refusal(mnemonic: &str) -> &'static str {
    const REASONS: [(&str, &str); 9] = [
        ("s_rfe_", "only a trap handler may return from an exception, and kernels are not run as one"),
        ("s_endpgm_ordered_ps_done", "it orders pixel shaders, and this machine runs compute kernels"),
        (
            "v_screen_partition_4se_b32",
            "it reads a table of the graphics driver, and this machine runs compute kernels",
        ),
        ("ds_bvh_stack_", "it walks the trees of ray tracing, for which this machine has no units"),
        ("global_atomic_ordered_add_b64", "its order comes from a dispatcher of graphics work"),
        ("s_alloc_vgpr", "the number of vector registers of a compute kernel is fixed by its descriptor"),
        ("s_subvector_loop_", "waves are not executed in halves"),
        (
            "s_barrier_",
            "there is no barrier but the workgroup's: this processor's compute kernels cannot allocate others",
        ),
        ("", "it is not implemented"),
    ];
    REASONS.iter().find(|(prefix, _)| mnemonic.starts_with(prefix)).map_or("", |(_, reason)| reason)
}

/// Handler of dual-issue instructions: both halves read their sources before either writes.
pub(crate) fn dual(cx: &mut Cx<'_>, inst: &Inst) {
    let Some(second) = &inst.dual else { return };
    let Opnd::V(first_dst) = inst.dst else { return };
    let before = cx.w.save_row(first_dst);
    (inst.dual_run)(cx, inst);
    let after = cx.w.save_row(first_dst);
    cx.w.restore_row(first_dst, &before);
    cx.defined = u64::MAX;
    (second.run)(cx, second);
    cx.w.restore_row(first_dst, &after);
}

impl Cx<'_> {
    /// Stops the launch at an instruction that this machine does not have, or not in this form.
    #[cold]
    pub(crate) fn unsupported(&mut self, inst: &Inst, reason: String) {
        self.unsupported_at(inst.pc, reason);
    }

    /// The same, for an access that was issued at `pc`.
    #[cold]
    pub(crate) fn unsupported_at(&mut self, pc: u32, reason: String) {
        self.flow = Flow::Fail(crate::error::Error::Unsupported {
            instruction: self.env.text(pc),
            location: self.env.location(pc),
            reason,
        });
    }

    /// Stops the launch at an access after which it cannot go on.
    #[cold]
    pub(crate) fn fault(&mut self, inst: &Inst, detail: String) {
        self.flow = Flow::Fail(crate::error::Error::Fault {
            kernel: self.env.kernel.to_owned(),
            program: self.g.id,
            location: self.env.location(inst.pc),
            detail,
        });
    }

    /// Reports what the program did wrong at the instruction at `pc`.
    #[cold]
    pub(crate) fn find(
        &mut self,
        kind: FindingKind,
        pc: u32,
        lane: Option<u32>,
        address: Option<Address>,
        other: Option<OtherAccess>,
        message: String,
    ) {
        self.env.report.add(Finding {
            kind,
            kernel: self.env.kernel.to_owned(),
            instruction: self.env.instruction(pc),
            agent: Agent { program: self.g.id, warp: u32::from(self.w.id), lane },
            address,
            other,
            message,
            count: 1,
        });
    }

    /// Reports use of a register that nobody wrote, where that changes what the program does.
    #[cold]
    pub(crate) fn find_undefined(&mut self, inst: &Inst, lanes: u64, what: &str) {
        if self.env.sanitize {
            let lane = lanes.trailing_zeros();
            self.find(
                FindingKind::UninitializedRegister,
                inst.pc,
                Some(lane),
                None,
                None,
                format!("{what} comes from a register that nobody wrote, or from memory that nobody wrote"),
            );
        }
    }

    /// The active lanes.
    #[inline]
    pub(crate) fn exec(&self) -> u64 {
        self.w.exec
    }
}
