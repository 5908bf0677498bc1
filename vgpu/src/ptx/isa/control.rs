//! Control flow: branches, calls, exits, traps, and hints to the scheduler.

use super::Op;
use crate::error::{Error, Result};
use crate::ptx::decode::{Decoder, Modifiers, Ty};
use crate::ptx::exec::launch::Launched;
use crate::ptx::exec::memory::FUNCTION_WINDOW;
use crate::ptx::exec::warp::Warp;
use crate::ptx::exec::{Cx, Lanes, Resumed, Step, Wait};
use crate::ptx::printf;
use crate::ptx::program::NONE;
use crate::ptx::syntax::ast::{Instruction, Operand};

/// A function that the driver provides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Builtin {
    Printf,
    AssertFail,
}

/// A control-flow operation.
pub(crate) enum ControlOp {
    Branch(u32),
    /// An indexed branch.
    Table {
        index: u32,
        targets: Vec<u32>,
    },
    /// A call: the callee, and where its arguments and results lie for the caller (offset and size).
    Call {
        function: u32,
        args: Vec<(u32, u32)>,
        results: Vec<(u32, u32)>,
    },
    /// A call through a register.
    Indirect {
        pointer: u32,
        args: Vec<(u32, u32)>,
        results: Vec<(u32, u32)>,
    },
    Builtin {
        which: Builtin,
        args: Vec<(u32, u32)>,
        results: Vec<(u32, u32)>,
    },
    Return,
    Exit,
    Trap,
    /// Lets others run.
    Sleep,
    Nop,
}

impl ControlOp {
    pub fn execute(&self, cx: &mut Cx) -> Result<Step> {
        Ok(match self {
            Self::Branch(target) => Step::Branch { taken: cx.mask, target: *target },
            Self::Table { index, targets } => {
                let mut groups: Vec<(u32, u32)> = Vec::new();
                for lane in cx.lanes() {
                    let index = cx.warp.registers.w(*index)[lane] as usize;
                    let Some(&target) = targets.get(index) else {
                        return Err(cx.fault(format!("index {index} of {} branch targets", targets.len())));
                    };
                    match groups.iter_mut().find(|(at, _)| *at == target) {
                        Some((_, lanes)) => *lanes |= 1 << lane,
                        None => groups.push((target, 1 << lane)),
                    }
                }
                Step::Scatter(groups.into())
            }
            Self::Call { function, args, results } => {
                self.pass(cx, *function, args, results)?;
                Step::Call(*function)
            }
            Self::Indirect { pointer, args, results } => {
                let lane = cx.mask.trailing_zeros() as usize;
                let pointers = cx.warp.registers.d(*pointer);
                let address = pointers[lane];
                let lanes = cx.lanes().filter(|&lane| pointers[lane] == address).fold(0, |mask, lane| mask | 1 << lane);
                let index = address.wrapping_sub(FUNCTION_WINDOW);
                let known =
                    if index.is_multiple_of(16) { cx.kernel().pointers.get((index / 16) as usize) } else { None };
                let Some(&function) = known.filter(|&&function| function != NONE) else {
                    return Err(cx.fault(format!("a call to {address:#x}, which is not a function")));
                };
                // Lanes with other targets come back to this instruction on their own.
                let all = std::mem::replace(&mut cx.mask, lanes);
                self.pass(cx, function, args, results)?;
                cx.mask = all;
                Step::CallSome { function, lanes }
            }
            Self::Builtin { which, args, results } => return self.builtin(cx, *which, args, results),
            Self::Return => Step::Return,
            Self::Exit => Step::Exit,
            Self::Trap => return Err(trap(cx)),
            Self::Sleep if cx.resumed == Resumed::No => Step::Wait(Wait::Turn),
            Self::Sleep | Self::Nop => Step::Next,
        })
    }

    /// Copies arguments into the callee's formal parameters.
    fn pass(&self, cx: &mut Cx, function: u32, args: &[(u32, u32)], results: &[(u32, u32)]) -> Result<()> {
        let callee = &cx.kernel().functions[function as usize];
        if callee.entry == NONE {
            return Err(cx.fault(format!("`{}` is declared, but not defined", callee.name)));
        }
        if callee.params.len() != args.len() || callee.returns.len() != results.len() {
            return Err(cx.fault(format!(
                "`{}` takes {} arguments, not {}",
                callee.name,
                callee.params.len(),
                args.len()
            )));
        }
        let frame = cx.kernel().call_param_bytes as usize;
        for lane in cx.lanes() {
            let base = lane * frame;
            for (&(from, size), &(to, room)) in args.iter().zip(&callee.params) {
                let size = size.min(room) as usize;
                let from = base + from as usize;
                cx.warp.call_params.copy_within(from..from + size, base + to as usize);
            }
        }
        Ok(())
    }

    fn builtin(&self, cx: &mut Cx, which: Builtin, args: &[(u32, u32)], results: &[(u32, u32)]) -> Result<Step> {
        let frame = cx.kernel().call_param_bytes as usize;
        let argument = |cx: &Cx, lane: usize, index: usize| {
            let mut bytes = [0; 8];
            if let Some(&(offset, size)) = args.get(index) {
                let start = lane * frame + offset as usize;
                let size = (size as usize).min(8);
                bytes[..size].copy_from_slice(&cx.warp.call_params[start..start + size]);
            }
            u64::from_le_bytes(bytes)
        };
        match which {
            Builtin::Printf => {
                for lane in cx.lanes() {
                    let (format, values) = (argument(cx, lane, 0), argument(cx, lane, 1));
                    let count = printf::print(cx, format, values, lane);
                    if let Some(&(offset, _)) = results.first() {
                        let start = lane * frame + offset as usize;
                        cx.warp.call_params[start..start + 4].copy_from_slice(&count.to_le_bytes());
                    }
                }
                Ok(Step::Next)
            }
            Builtin::AssertFail => {
                for lane in cx.lanes() {
                    let text = |cx: &mut Cx, index| {
                        let address = argument(cx, lane, index);
                        printf::string(cx, address, lane)
                    };
                    let (message, file, function) = (text(cx, 0), text(cx, 1), text(cx, 3));
                    let line = argument(cx, lane, 2) as u32;
                    let [x, y, z] = cx.world.ctas[cx.warp.cta].id;
                    let [tx, ty, tz] = thread(cx, lane);
                    let text = format!(
                        "{file}:{line}: {function}: block: [{x},{y},{z}], thread: [{tx},{ty},{tz}] Assertion `{message}` failed.\n"
                    );
                    crate::ptx::exec::launch::lock(&cx.l.printed).push_str(&text);
                }
                Err(trap(cx))
            }
        }
    }
}

/// Results on their way from a function back to its caller.
pub(crate) struct Results(Vec<(u32, Vec<u8>)>);

impl Results {
    /// Takes the results of a function for all lanes, before its variables are restored.
    pub fn take(call: &Op, l: &Launched, warp: &Warp, function: u32) -> Self {
        let to = match call {
            Op::Control(ControlOp::Call { results, .. } | ControlOp::Indirect { results, .. }) => results.as_slice(),
            _ => &[],
        };
        let frame = l.kernel.call_param_bytes as usize;
        let returns = &l.kernel.functions[function as usize].returns;
        let pairs = to.iter().zip(returns);
        Self(
            pairs
                .map(|(&(to, size), &(from, room))| {
                    let size = size.min(room) as usize;
                    let lane = |lane: usize| &warp.call_params[lane * frame + from as usize..][..size];
                    (to, (0..32).flat_map(lane).copied().collect())
                })
                .collect(),
        )
    }

    /// Puts them where the caller wants them.
    pub fn put(&self, l: &Launched, warp: &mut Warp, mask: u32) {
        let frame = l.kernel.call_param_bytes as usize;
        for (to, bytes) in &self.0 {
            let size = bytes.len() / 32;
            for lane in Lanes(mask) {
                warp.call_params[lane * frame + *to as usize..][..size].copy_from_slice(&bytes[lane * size..][..size]);
            }
        }
    }
}

/// The thread of a lane.
pub(super) fn thread(cx: &Cx, lane: usize) -> [u32; 3] {
    let [x, y, _] = cx.l.launch.block;
    let linear = (cx.warp.index * 32 + lane) as u32;
    [linear % x, linear / x % y, linear / x / y]
}

fn trap(cx: &Cx) -> Error {
    Error::Trap {
        kernel: cx.kernel().name.clone(),
        program: cx.world.ctas[cx.warp.cta].id,
        thread: thread(cx, cx.mask.trailing_zeros() as usize),
        location: cx.l.location(cx.pc),
    }
}

/// Decodes a control-flow instruction.
pub(super) fn decode(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Option<Op>> {
    let op = match i.opcode.as_str() {
        "bra" => {
            m.take("uni");
            let [target] = d.operands(i)?;
            ControlOp::Branch(d.label(target)?)
        }
        "brx" => {
            m.take("idx");
            m.take("uni");
            let [index, targets] = d.operands(i)?;
            ControlOp::Table { index: d.word(index, Ty::U32)?, targets: d.targets(targets)? }
        }
        "call" => {
            m.take("uni");
            call(d, i)?
        }
        "ret" => {
            m.take("uni");
            ControlOp::Return
        }
        "exit" => ControlOp::Exit,
        "trap" | "brkpt" => ControlOp::Trap,
        "nanosleep" => {
            m.ty();
            let [time] = d.operands(i)?;
            d.word(time, Ty::U32)?;
            ControlOp::Sleep
        }
        "griddepcontrol" => {
            // Grids run one after the other here: what they wait for has happened.
            m.any(&["wait", "launch_dependents"]);
            ControlOp::Nop
        }
        "setmaxnreg" => {
            m.any(&["inc", "dec"]);
            m.take("sync");
            m.take("aligned");
            m.ty();
            let [count] = d.operands(i)?;
            let count = d.immediate(count)?;
            if !(24..=256).contains(&count) || count % 8 != 0 {
                return Err(d.bad("the register count must be a multiple of 8 from 24 to 256"));
            }
            ControlOp::Nop
        }
        "pmevent" => {
            m.take("mask");
            ControlOp::Nop
        }
        _ => return Ok(None),
    };
    Ok(Some(Op::Control(op)))
}

fn call(d: &mut Decoder, i: &Instruction) -> Result<ControlOp> {
    // `call (results), name, (args)`, `call name, (args)`, `call name`, with a prototype behind where the callee is a register.
    let mut operands = i.operands.as_slice();
    let mut results = Vec::new();
    if let [Operand::List(list), rest @ ..] = operands {
        results = d.call_list(list)?;
        operands = rest;
    }
    let Some((callee, rest)) = operands.split_first() else {
        return Err(d.bad("the callee is missing"));
    };
    let args = match rest.first() {
        Some(Operand::List(list)) => d.call_list(list)?,
        _ => Vec::new(),
    };
    let Operand::Name(name) = callee else {
        return Err(d.bad("the callee must be a function or a register"));
    };
    match name.as_str() {
        "vprintf" => {
            return Ok(ControlOp::Builtin { which: Builtin::Printf, args, results });
        }
        "__assertfail" => {
            return Ok(ControlOp::Builtin { which: Builtin::AssertFail, args, results });
        }
        _ => {}
    }
    if let Some(function) = d.function_index(name) {
        return Ok(ControlOp::Call { function, args, results });
    }
    d.register_all_functions();
    Ok(ControlOp::Indirect { pointer: d.double(callee, Ty::U64)?, args, results })
}
