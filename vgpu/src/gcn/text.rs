//! Instructions as text, for reports and listings. Close to the assembler's form, not meant to be assembled again.

use crate::gcn::decode::memory::Space;
use crate::gcn::inst::{ACC, Inst, Kind, LaneControl, Opnd, sreg};
use std::fmt::Write;

fn operand(out: &mut String, opnd: Opnd, registers: u8, modifiers: (bool, bool)) {
    let (neg, abs) = modifiers;
    if neg {
        out.push('-');
    }
    if abs {
        out.push('|');
    }
    let range = |out: &mut String, prefix: char, first: u16| {
        let _ = match registers {
            0 | 1 => write!(out, "{prefix}{first}"),
            n => write!(out, "{prefix}[{first}:{}]", first + u16::from(n) - 1),
        };
    };
    match opnd {
        Opnd::V(r) if r >= ACC => range(out, 'a', r - ACC),
        Opnd::V(r) => range(out, 'v', r),
        Opnd::S(sreg::VCC) => out.push_str(if registers == 2 { "vcc" } else { "vcc_lo" }),
        Opnd::S(sreg::EXEC) => out.push_str(if registers == 2 { "exec" } else { "exec_lo" }),
        Opnd::S(sreg::M0) => out.push_str("m0"),
        Opnd::S(r) => range(out, 's', u16::from(r)),
        Opnd::Int(value) => {
            let _ = write!(out, "{value}");
        }
        Opnd::Lit(value) => {
            let _ = write!(out, "{value:#x}");
        }
        Opnd::Float(code) => {
            out.push_str(match code {
                240 => "0.5",
                241 => "-0.5",
                242 => "1.0",
                243 => "-1.0",
                244 => "2.0",
                245 => "-2.0",
                246 => "4.0",
                247 => "-4.0",
                _ => "0.15915494",
            });
        }
        Opnd::Scc => out.push_str("src_scc"),
        Opnd::Vccz => out.push_str("src_vccz"),
        Opnd::Execz => out.push_str("src_execz"),
        Opnd::Aperture(code) => {
            out.push_str(match code {
                235 => "src_shared_base",
                236 => "src_shared_limit",
                237 => "src_private_base",
                _ => "src_private_limit",
            });
        }
        Opnd::Null => out.push_str("null"),
        Opnd::None => out.push_str("off"),
    }
    if abs {
        out.push('|');
    }
}

/// The name of one register.
pub(crate) fn register(opnd: Opnd) -> String {
    let mut out = String::new();
    match opnd {
        Opnd::S(r) if r == sreg::VCC + 1 => out.push_str("vcc_hi"),
        Opnd::S(r) if r == sreg::EXEC + 1 => out.push_str("exec_hi"),
        other => operand(&mut out, other, 1, (false, false)),
    }
    out
}

/// The text of an instruction.
pub(crate) fn instruction(inst: &Inst) -> String {
    let mut out = inst.name.to_owned();
    let mut first = true;
    let mut push = |out: &mut String, opnd: Opnd, registers: u8, modifiers: (bool, bool)| {
        out.push_str(if first { " " } else { ", " });
        first = false;
        operand(out, opnd, registers, modifiers);
    };
    let memory = matches!(inst.kind, Kind::Mem(_));
    let control = inst.name.starts_with("s_")
        && (inst.dst == Opnd::None && inst.src.iter().all(|&s| s == Opnd::None) || inst.name.contains("cbranch"));
    if control {
        match inst.name {
            name if name.contains("branch") => {
                let target = i64::from(inst.pc) + 4 + i64::from(inst.imm) * 4;
                let _ = write!(out, " {target:#x}");
            }
            "s_endpgm" | "s_barrier" => {}
            _ => {
                let _ = write!(out, " {:#x}", inst.imm as u32 & 0xffff);
            }
        }
        return out;
    }
    if inst.dst != Opnd::None && (!memory || inst.dst_regs > 0) {
        push(&mut out, inst.dst, inst.dst_regs, (false, false));
    }
    if inst.sdst != Opnd::None {
        push(&mut out, inst.sdst, 2, (false, false));
    }
    let counts = match inst.kind {
        Kind::Mem(op) => op.source_registers(&inst.mem, inst.saddr != Opnd::None),
        _ => inst.src_regs.map(|count| count.max(1)),
    };
    for (n, &source) in inst.src.iter().enumerate() {
        if counts[n] == 0 || source == Opnd::None || (memory && inst.dst_regs > 0 && n == 1 && source == inst.dst) {
            continue;
        }
        let modifiers = (inst.neg >> n & 1 != 0, inst.abs >> n & 1 != 0);
        push(&mut out, source, counts[n], modifiers);
    }
    if memory && inst.saddr != Opnd::None {
        let pair = matches!(inst.kind, Kind::Mem(op) if op.space == Space::Global);
        push(&mut out, inst.saddr, if pair { 2 } else { 1 }, (false, false));
    }
    if inst.mem.offset != 0 {
        let _ = write!(out, " offset:{}", inst.mem.offset);
    }
    if inst.mem.offset1 != 0 {
        let _ = write!(out, " offset1:{}", inst.mem.offset1);
    }
    if inst.name.starts_with("s_") && inst.imm != 0 && inst.name.contains('k') {
        let _ = write!(out, ", {}", inst.imm);
    }
    match &inst.lanes {
        LaneControl::Dpp(_) => out.push_str(" dpp"),
        LaneControl::Sdwa(_) => out.push_str(" sdwa"),
        LaneControl::None => {}
    }
    if let Some(scale) = &inst.scale {
        for (src, byte) in scale.src.iter().zip(scale.byte) {
            out.push_str(" scale:");
            operand(&mut out, *src, 1, (false, false));
            let _ = write!(out, ".{byte}");
        }
    }
    if let Some(dual) = &inst.dual {
        let _ = write!(out, " :: {}", instruction(dual));
    }
    out
}
