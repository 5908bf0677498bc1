//! Control flow: branches, calls, exits, traps, and hints to the scheduler.

use super::Op;
use crate::error::{Error, Result};
use crate::ptx::decode::{Decoder, Modifiers, Ty};
use crate::ptx::exec::launch::Launched;
use crate::ptx::exec::memory::FUNCTION_WINDOW;
use crate::ptx::exec::warp::Warp;
use crate::ptx::exec::{Cx, Lanes, Resumed, Step, Wait};
use crate::ptx::printf;
use crate::ptx::program::{File, NONE, Passed};
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
    /// A call: the callee, and where its arguments and results are kept by the caller.
    Call {
        function: u32,
        args: Vec<Passed>,
        results: Vec<Passed>,
    },
    /// A call through a register.
    Indirect {
        pointer: u32,
        args: Vec<Passed>,
        results: Vec<Passed>,
    },
    Builtin {
        which: Builtin,
        args: Vec<Passed>,
        results: Vec<Passed>,
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
                check(cx, *function, args, results)?;
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
                check(cx, function, args, results)?;
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

    fn builtin(&self, cx: &mut Cx, which: Builtin, args: &[Passed], results: &[Passed]) -> Result<Step> {
        let argument = |cx: &Cx, lane: usize, index: usize| {
            let mut bytes = [0; 8];
            if let Some(&from) = args.get(index) {
                let mut value = Vec::new();
                get(cx.l, cx.warp, from, lane, &mut value);
                value.truncate(8);
                bytes[..value.len()].copy_from_slice(&value);
            }
            u64::from_le_bytes(bytes)
        };
        match which {
            Builtin::Printf => {
                for lane in cx.lanes() {
                    let (format, values) = (argument(cx, lane, 0), argument(cx, lane, 1));
                    let count = printf::print(cx, format, values, lane);
                    if let Some(&to) = results.first() {
                        put(cx.l, cx.warp, to, lane, &count.to_le_bytes());
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

/// A function must be defined, and called with as many arguments as it takes.
fn check(cx: &Cx, function: u32, args: &[Passed], results: &[Passed]) -> Result<()> {
    let callee = &cx.kernel().functions[function as usize];
    if callee.entry == NONE {
        return Err(cx.fault(format!("`{}` is declared, but not defined", callee.name)));
    }
    if callee.params.len() != args.len() || callee.returns.len() != results.len() {
        let (name, takes) = (&callee.name, callee.params.len());
        return Err(cx.fault(format!("`{name}` takes {takes} arguments, not {}", args.len())));
    }
    Ok(())
}

/// The bytes of a lane that are kept somewhere.
fn get(l: &Launched, warp: &Warp, from: Passed, lane: usize, out: &mut Vec<u8>) {
    out.clear();
    match from {
        Passed::Memory { offset, size } => {
            let start = lane * l.kernel.call_param_bytes as usize + offset as usize;
            out.extend_from_slice(&warp.call_params[start..start + size as usize]);
        }
        Passed::Register { bits, .. } => {
            for register in from.registers() {
                let value = match register.file {
                    File::Word => warp.registers.w(register.slot)[lane].into(),
                    File::Double => warp.registers.d(register.slot)[lane],
                    File::Predicate => u64::from((warp.registers.p(register.slot) >> lane) & 1),
                };
                out.extend_from_slice(&value.to_le_bytes());
            }
            out.truncate(bits.div_ceil(8) as usize);
        }
    }
}

/// Puts bytes of a lane somewhere: as many as there is room for.
fn put(l: &Launched, warp: &mut Warp, to: Passed, lane: usize, bytes: &[u8]) {
    match to {
        Passed::Memory { offset, size } => {
            let start = lane * l.kernel.call_param_bytes as usize + offset as usize;
            let size = bytes.len().min(size as usize);
            warp.call_params[start..start + size].copy_from_slice(&bytes[..size]);
        }
        Passed::Register { bits, .. } => {
            let bytes = &bytes[..bytes.len().min(bits.div_ceil(8) as usize)];
            for (number, register) in to.registers().enumerate() {
                let mut value = [0; 8];
                let part = bytes.get(8 * number..).unwrap_or_default();
                let part = &part[..part.len().min(8)];
                value[..part.len()].copy_from_slice(part);
                let value = u64::from_le_bytes(value);
                let registers = &mut warp.registers;
                match register.file {
                    File::Word => registers.words[register.slot as usize][lane] = value as u32,
                    File::Double => registers.doubles[register.slot as usize][lane] = value,
                    File::Predicate => {
                        registers.set_p(register.slot, if value & 1 == 1 { u32::MAX } else { 0 }, 1 << lane)
                    }
                }
            }
        }
    }
}

/// Copies the arguments of a call to the callee's formal parameters.
pub(crate) fn pass(call: &Op, l: &Launched, warp: &mut Warp, function: u32, mask: u32) {
    let Op::Control(ControlOp::Call { args, .. } | ControlOp::Indirect { args, .. }) = call else { return };
    let formals = &l.kernel.functions[function as usize].params;
    // All are read before any is written: a function that calls itself may hand on its own parameters in another order.
    let mut values = vec![Vec::new(); args.len()];
    for lane in Lanes(mask) {
        for (value, &from) in values.iter_mut().zip(args) {
            get(l, warp, from, lane, value);
        }
        for (value, &to) in values.iter().zip(formals) {
            put(l, warp, to, lane, value);
        }
    }
}

/// Results on their way from a function back to its caller.
pub(crate) struct Results(Vec<(Passed, Vec<Vec<u8>>)>);

impl Results {
    /// Takes the results of a function for all lanes, before its variables are restored.
    pub fn take(call: &Op, l: &Launched, warp: &Warp, function: u32) -> Self {
        let to = match call {
            Op::Control(ControlOp::Call { results, .. } | ControlOp::Indirect { results, .. }) => results.as_slice(),
            _ => &[],
        };
        let returns = &l.kernel.functions[function as usize].returns;
        let lanes = |from: Passed| {
            (0..32)
                .map(|lane| {
                    let mut bytes = Vec::new();
                    get(l, warp, from, lane, &mut bytes);
                    bytes
                })
                .collect()
        };
        Self(to.iter().zip(returns).map(|(&to, &from)| (to, lanes(from))).collect())
    }

    /// Puts them where the caller wants them.
    pub fn put(&self, l: &Launched, warp: &mut Warp, mask: u32) {
        for (to, lanes) in &self.0 {
            for lane in Lanes(mask) {
                put(l, warp, *to, lane, &lanes[lane]);
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
        results = d.call_results(list)?;
        operands = rest;
    }
    let Some((callee, rest)) = operands.split_first() else {
        return Err(d.bad("the callee is missing"));
    };
    let args = match rest.first() {
        Some(Operand::List(list)) => d.call_arguments(list)?,
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
