//! What the AMD machine tells a tracer.

use super::exec::{Cx, Wave};
use super::inst::{Inst, Opnd, sreg};
use super::text;
use crate::error::Location;
use crate::trace::{Event, Tracer, Value};

/// Registers that instructions change without naming them.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Implied {
    exec: u64,
    vcc: u64,
    m0: u32,
    scc: bool,
}

impl Implied {
    fn of(wave: &Wave) -> Self {
        Self { exec: wave.exec, vcc: wave.vcc(), m0: wave.s[sreg::M0 as usize], scc: wave.scc }
    }
}

/// An instruction that is about to be executed.
pub(crate) struct Begun {
    event: Event,
    implied: Implied,
}

/// Notes what an instruction is about to read; none where the tracer does not want it.
pub(crate) fn before(tracer: &Tracer<'_>, cx: &Cx<'_>, inst: &Inst) -> Option<Begun> {
    if !tracer.follows(cx.g.id, u32::from(cx.w.id)) {
        return None;
    }
    let text = text::instruction(inst);
    if !tracer.shows(&text) {
        return None;
    }
    let reads = inst.sources().into_iter().flat_map(|(opnd, count)| values(cx.w, opnd, count, cx.w.exec)).collect();
    let event = Event {
        program: cx.g.id,
        warp: u32::from(cx.w.id),
        mask: cx.w.exec,
        location: Location::code(u64::from(inst.pc)),
        text,
        reads,
        writes: Vec::new(),
    };
    Some(Begun { event, implied: Implied::of(cx.w) })
}

/// Tells of an instruction that was executed.
pub(crate) fn after(tracer: &Tracer<'_>, begun: Begun, cx: &Cx<'_>, inst: &Inst) {
    let Begun { mut event, implied } = begun;
    for (opnd, count) in inst.destinations(cx.w.wave32) {
        event.writes.extend(values(cx.w, opnd, count, event.mask));
    }
    let now = Implied::of(cx.w);
    let mut changed = |name: &str, before: u64, now: u64| {
        let named = event.writes.iter().any(|value| value.register.starts_with(name));
        if before != now && !named {
            event.writes.push(Value { register: name.to_owned(), bits: Some(now) });
        }
    };
    changed("exec", implied.exec, now.exec);
    changed("vcc", implied.vcc, now.vcc);
    changed("m0", u64::from(implied.m0), u64::from(now.m0));
    changed("scc", u64::from(implied.scc), u64::from(now.scc));
    (tracer.sink)(event);
}

/// The values of an operand's registers, in the first of some lanes.
fn values(wave: &Wave, opnd: Opnd, count: u8, mask: u64) -> Vec<Value> {
    let lane = mask.trailing_zeros() as usize % 64;
    let one = |n: u8| {
        let opnd = opnd.plus(u16::from(n));
        let bits = match opnd {
            Opnd::V(r) => {
                let row = wave.v.get(usize::from(r))?;
                (wave.v_pending[usize::from(r)] >> lane & 1 == 0).then_some(u64::from(row[lane]))
            }
            Opnd::S(r) => {
                let r = r & 127;
                (wave.s_pending >> r & 1 == 0).then_some(u64::from(wave.s[usize::from(r)]))
            }
            Opnd::Scc => Some(u64::from(wave.scc)),
            _ => return None,
        };
        Some(Value { register: text::register(opnd), bits })
    };
    (0..count).filter_map(one).collect()
}
