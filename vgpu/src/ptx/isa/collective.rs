//! Operations across the lanes of a warp: shfl, vote, match, redux, activemask, elect.

use super::Op;
use crate::error::Result;
use crate::finding::FindingKind;
use crate::ptx::decode::{Decoder, Modifiers, Ty};
use crate::ptx::exec::{Cx, Lanes, Resumed, Step, Wait};
use crate::ptx::program::NONE;
use crate::ptx::syntax::ast::{Instruction, Operand};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reduction {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Vote {
    All,
    Any,
    Uniform,
    Ballot,
}

enum Kind {
    Shuffle { mode: Shuffle, to: u32, valid: u32, a: u32, b: u32, c: u32 },
    Vote { vote: Vote, to: u32, a: u32, negated: bool },
    Match { all: bool, wide: bool, to: u32, valid: u32, a: u32 },
    Reduce { reduction: Reduction, ty: Ty, absolute: bool, nan: bool, to: u32, a: u32 },
    ActiveMask { to: u32 },
    Elect { to: u32, elected: u32 },
}

/// An operation across lanes, with the slot of its member mask.
pub(crate) struct CollectiveOp {
    kind: Kind,
    members: u32,
}

impl Cx<'_> {
    /// Lanes that must be here and are not: all of `members` that have not exited. Some of them may still come; if they cannot, that is reported
    /// and the instruction goes on without.
    pub fn converge(&mut self, members: u32) -> Option<Step> {
        let live = self.world.ctas[self.warp.cta].live[self.warp.index];
        let missing = members & live & !self.here;
        if missing == 0 {
            return None;
        }
        if self.resumed == Resumed::No {
            return Some(Step::Wait(Wait::Converge { mask: missing }));
        }
        let message = format!("lanes {missing:#010x} do not execute it together with lanes {:#010x}", self.here);
        self.find(FindingKind::WarpDivergence, Some(missing.trailing_zeros() as usize), None, None, message);
        None
    }

    /// The same for instructions that all lanes of the warp must execute.
    pub fn converge_all(&mut self) -> Option<Step> {
        if let Some(step) = self.converge(u32::MAX) {
            return Some(step);
        }
        if self.mask != self.here {
            let off = self.here & !self.mask;
            let message =
                format!("lanes {off:#010x} are turned off by the guard; all lanes of the warp must execute it");
            self.find(FindingKind::WarpDivergence, Some(off.trailing_zeros() as usize), None, None, message);
        }
        None
    }
}

impl CollectiveOp {
    pub fn execute(&self, cx: &mut Cx) -> Result<Step> {
        let mut members = u32::MAX;
        if self.members != NONE {
            let masks = cx.warp.registers.w(self.members);
            members = masks[cx.mask.trailing_zeros() as usize];
            // Lanes that name other sets are other groups; the first one's is taken, and those outside of it are told.
            let strangers = cx.mask & !members;
            if strangers != 0 && cx.resumed == Resumed::No {
                let lane = strangers.trailing_zeros() as usize;
                let own = masks[lane];
                if (own >> lane) & 1 == 0 {
                    let message = format!("it executes the instruction, but is not in its own member mask {own:#010x}");
                    cx.find(FindingKind::WarpDivergence, Some(lane), None, None, message);
                }
            }
            if let Some(step) = cx.converge(members) {
                return Ok(step);
            }
        }
        let active = cx.mask & if self.members == NONE { u32::MAX } else { members | cx.mask };
        let mask = cx.mask;
        let registers = &mut cx.warp.registers;
        match self.kind {
            Kind::Shuffle { mode, to, valid, a, b, c } => {
                let (mut result, mut ok) = (*registers.w(a), 0_u32);
                let (source, bs, cs) = (*registers.w(a), *registers.w(b), *registers.w(c));
                let mut inactive = 0_u32;
                for lane in Lanes(mask) {
                    let (b, c) = (bs[lane] & 31, cs[lane]);
                    let (clamp, segment) = (c & 31, (c >> 8) & 31);
                    let own = lane as u32;
                    let most = (own & segment) | (clamp & !segment);
                    let least = own & segment;
                    let (from, inside) = match mode {
                        Shuffle::Up => {
                            let from = own.wrapping_sub(b);
                            (from, from as i32 >= most as i32)
                        }
                        Shuffle::Down => (own + b, own + b <= most),
                        Shuffle::Butterfly => (own ^ b, own ^ b <= most),
                        Shuffle::Index => {
                            let from = least | (b & !segment);
                            (from, from <= most)
                        }
                    };
                    let from = if inside { from & 31 } else { own };
                    ok |= u32::from(inside) << lane;
                    if (active >> from) & 1 == 0 {
                        inactive |= 1 << lane;
                    }
                    result[lane] = source[from as usize];
                }
                registers.set_w(to, &result, mask);
                if valid != NONE {
                    registers.set_p(valid, ok, mask);
                }
                if inactive != 0 && cx.l.sanitize {
                    let lane = inactive.trailing_zeros() as usize;
                    cx.find(
                        FindingKind::WarpDivergence,
                        Some(lane),
                        None,
                        None,
                        "the value comes from a lane that does not execute the shuffle",
                    );
                }
            }
            Kind::Vote { vote, to, a, negated } => {
                let p = registers.p(a) ^ if negated { u32::MAX } else { 0 };
                let yes = p & active;
                match vote {
                    Vote::Ballot => registers.set_w(to, &[yes; 32], mask),
                    Vote::All => registers.set_p(to, if yes == active { u32::MAX } else { 0 }, mask),
                    Vote::Any => registers.set_p(to, if yes != 0 { u32::MAX } else { 0 }, mask),
                    Vote::Uniform => registers.set_p(to, if yes == active || yes == 0 { u32::MAX } else { 0 }, mask),
                }
            }
            Kind::Match { all, wide, to, valid, a } => {
                let values: [u64; 32] =
                    if wide { *registers.d(a) } else { std::array::from_fn(|lane| registers.w(a)[lane].into()) };
                let mut result = [0; 32];
                for lane in Lanes(mask) {
                    result[lane] =
                        Lanes(active).filter(|&other| values[other] == values[lane]).fold(0, |m, other| m | 1 << other);
                }
                let same = Lanes(mask).all(|lane| result[lane] == active);
                if all {
                    registers.set_w(to, &[if same { active } else { 0 }; 32], mask);
                    if valid != NONE {
                        registers.set_p(valid, if same { u32::MAX } else { 0 }, mask);
                    }
                } else {
                    registers.set_w(to, &result, mask);
                }
            }
            Kind::Reduce { reduction, ty, absolute, nan, to, a } => {
                let values = *registers.w(a);
                let values = Lanes(active).map(|lane| values[lane]);
                let result = if ty == Ty::F32 {
                    reduce_float(values, reduction == Reduction::Max, absolute, nan)
                } else {
                    let fold = |a: u32, b: u32| match reduction {
                        Reduction::Add => a.wrapping_add(b),
                        Reduction::Min if ty == Ty::S32 => (a as i32).min(b as i32) as u32,
                        Reduction::Max if ty == Ty::S32 => (a as i32).max(b as i32) as u32,
                        Reduction::Min => a.min(b),
                        Reduction::Max => a.max(b),
                        Reduction::And => a & b,
                        Reduction::Or => a | b,
                        Reduction::Xor => a ^ b,
                    };
                    values.reduce(fold).unwrap_or(0)
                };
                registers.set_w(to, &[result; 32], mask);
            }
            Kind::ActiveMask { to } => registers.set_w(to, &[mask; 32], mask),
            Kind::Elect { to, elected } => {
                // Which lane is elected is up to the hardware, but always the same one for a mask: the lowest.
                let leader = active.trailing_zeros();
                registers.set_w(to, &[leader; 32], mask);
                registers.set_p(elected, 1 << leader, mask);
            }
        }
        Ok(Step::Next)
    }
}

fn reduce_float(values: impl Iterator<Item = u32>, max: bool, absolute: bool, nan: bool) -> u32 {
    let mut result: Option<f32> = None;
    for bits in values {
        let value = f32::from_bits(if absolute { bits & 0x7FFF_FFFF } else { bits });
        result = Some(match result {
            None => value,
            Some(old) if old.is_nan() || value.is_nan() => {
                if nan {
                    f32::NAN
                } else if old.is_nan() {
                    value
                } else {
                    old
                }
            }
            Some(old) if max => super::float::max32(old, value),
            Some(old) => super::float::min32(old, value),
        });
    }
    result.map_or(0, super::float::bits)
}

/// Decodes an operation across lanes.
pub(super) fn decode(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Option<Op>> {
    let sync = m.take("sync");
    let mode = i.opcode.as_str();
    if !sync && !matches!(mode, "activemask" | "elect") {
        return Err(d.unsupported("forms without `.sync` do not exist since sm_70"));
    }
    let (kind, members) = match mode {
        "shfl" => {
            let mode = match m.any(&["up", "down", "bfly", "idx"]) {
                Some("up") => Shuffle::Up,
                Some("down") => Shuffle::Down,
                Some("bfly") => Shuffle::Butterfly,
                Some(_) => Shuffle::Index,
                None => return Ok(None),
            };
            m.ty();
            let [to, a, b, c, members] = d.operands(i)?;
            let (a, b, c) = (d.word(a, Ty::B32)?, d.word(b, Ty::U32)?, d.word(c, Ty::U32)?);
            let members = d.word(members, Ty::B32)?;
            let (to, valid) = match to {
                Operand::Pair(to, valid) => (d.word_destination(to)?, d.predicate_destination(valid)?),
                to => (d.word_destination(to)?, NONE),
            };
            (Kind::Shuffle { mode, to, valid, a, b, c }, members)
        }
        "vote" => {
            let vote = match m.any(&["all", "any", "uni", "ballot"]) {
                Some("all") => Vote::All,
                Some("any") => Vote::Any,
                Some("uni") => Vote::Uniform,
                Some(_) => Vote::Ballot,
                None => return Ok(None),
            };
            m.ty();
            let [to, a, members] = d.operands(i)?;
            let (a, negated) = d.predicate_source(a)?;
            let members = d.word(members, Ty::B32)?;
            let to = if vote == Vote::Ballot { d.word_destination(to)? } else { d.predicate_destination(to)? };
            (Kind::Vote { vote, to, a, negated }, members)
        }
        "match" => {
            let all = match m.any(&["all", "any"]) {
                Some(which) => which == "all",
                None => return Ok(None),
            };
            let wide = m.ty().is_some_and(|ty| ty.bits() == 64);
            let [to, a, members] = d.operands(i)?;
            let a = if wide { d.double(a, Ty::B64)? } else { d.word(a, Ty::B32)? };
            let members = d.word(members, Ty::B32)?;
            let (to, valid) = match to {
                Operand::Pair(to, valid) => (d.word_destination(to)?, d.predicate_destination(valid)?),
                to => (d.word_destination(to)?, NONE),
            };
            (Kind::Match { all, wide, to, valid, a }, members)
        }
        "redux" => {
            let reduction = match m.any(&["add", "min", "max", "and", "or", "xor"]) {
                Some("add") => Reduction::Add,
                Some("min") => Reduction::Min,
                Some("max") => Reduction::Max,
                Some("and") => Reduction::And,
                Some("or") => Reduction::Or,
                Some(_) => Reduction::Xor,
                None => return Ok(None),
            };
            let (absolute, nan) = (m.take("abs"), m.take("NaN"));
            let Some(ty) = m.ty() else { return Ok(None) };
            let [to, a, members] = d.operands(i)?;
            let (a, members) = (d.word(a, ty)?, d.word(members, Ty::B32)?);
            (Kind::Reduce { reduction, ty, absolute, nan, to: d.word_destination(to)?, a }, members)
        }
        "activemask" => {
            m.ty();
            let [to] = d.operands(i)?;
            (Kind::ActiveMask { to: d.word_destination(to)? }, NONE)
        }
        "elect" => {
            let [to, members] = d.operands(i)?;
            let members = d.word(members, Ty::B32)?;
            let Operand::Pair(to, elected) = to else {
                return Err(d.bad("expected `d|p`"));
            };
            (Kind::Elect { to: d.word_destination(to)?, elected: d.predicate_destination(elected)? }, members)
        }
        _ => return Ok(None),
    };
    Ok(Some(Op::Collective(Box::new(CollectiveOp { kind, members }))))
}
