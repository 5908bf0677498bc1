//! Atomics and fences: `atom`, `red`, `membar`, `fence`.

use super::Op;
use super::half::fma_to_odd;
use crate::error::Result;
use crate::numeric::{Format, Overflow, Rounding, bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16, flush_f32};
use crate::ptx::decode::{AddressOperand, Decoder, Modifiers, Space, Ty};
use crate::ptx::exec::Cx;
use crate::ptx::exec::memory::Place;
use crate::ptx::program::NONE;
use crate::ptx::syntax::ast::{Instruction, Operand};
use crate::sanitizer::Action;

/// What an atomic does with the old value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Update {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
    Exchange,
    CompareAndSwap,
    Increment,
    Decrement,
}

impl Update {
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "add" => Self::Add,
            "min" => Self::Min,
            "max" => Self::Max,
            "and" => Self::And,
            "or" => Self::Or,
            "xor" => Self::Xor,
            "exch" => Self::Exchange,
            "cas" => Self::CompareAndSwap,
            "inc" => Self::Increment,
            "dec" => Self::Decrement,
            _ => return None,
        })
    }

    /// The new value of one element.
    pub fn apply(self, ty: Ty, flush: bool, old: u64, a: u64, b: u64) -> u64 {
        let bits = ty.bits();
        let sign = |x: u64| (x << (64 - bits)) as i64 >> (64 - bits);
        match self {
            Self::And => old & a,
            Self::Or => old | a,
            Self::Xor => old ^ a,
            Self::Exchange => a,
            Self::CompareAndSwap => {
                if old == a {
                    b
                } else {
                    old
                }
            }
            Self::Increment => {
                if old >= a {
                    0
                } else {
                    old + 1
                }
            }
            Self::Decrement => {
                if old == 0 || old > a {
                    a
                } else {
                    old - 1
                }
            }
            Self::Add | Self::Min | Self::Max => match ty {
                Ty::F16x2 | Ty::BF16x2 => {
                    let ty = if ty == Ty::F16x2 { Ty::F16 } else { Ty::BF16 };
                    let low = self.float(ty, flush, old & 0xFFFF, a & 0xFFFF);
                    low | self.float(ty, flush, old >> 16, a >> 16) << 16
                }
                ty if ty.is_float() => self.float(ty, flush, old, a),
                _ => match self {
                    Self::Add => old.wrapping_add(a),
                    Self::Min if ty.is_signed() => sign(old).min(sign(a)) as u64,
                    Self::Max if ty.is_signed() => sign(old).max(sign(a)) as u64,
                    Self::Min => old.min(a),
                    _ => old.max(a),
                },
            },
        }
    }

    fn float(self, ty: Ty, flush: bool, old: u64, a: u64) -> u64 {
        let f = |old: f64, a: f64| match self {
            Self::Min => {
                if a < old || old.is_nan() {
                    a
                } else {
                    old
                }
            }
            Self::Max => {
                if a > old || old.is_nan() {
                    a
                } else {
                    old
                }
            }
            _ => old + a,
        };
        match ty {
            Ty::F64 => f(f64::from_bits(old), f64::from_bits(a)).to_bits(),
            Ty::F32 => {
                let (x, y) = (f32::from_bits(old as u32), f32::from_bits(a as u32));
                let result = match self {
                    Self::Add if flush => flush_f32(flush_f32(x) + flush_f32(y)),
                    Self::Add => x + y,
                    _ => f(x.into(), y.into()) as f32,
                };
                u64::from(if result.is_nan() { 0x7FFF_FFFF } else { result.to_bits() })
            }
            Ty::F16 => {
                let result = f(f16_to_f32(old as u16).into(), f16_to_f32(a as u16).into());
                if result.is_nan() { 0x7FFF } else { f32_to_f16(result as f32).into() }
            }
            _ => {
                let (x, y) = (bf16_to_f32(old as u16), bf16_to_f32(a as u16));
                let result = if self == Self::Add { fma_to_odd(x, 1.0, y) } else { f(x.into(), y.into()) };
                match result.is_nan() {
                    true => 0x7FFF,
                    false if self == Self::Add => {
                        Format::BF16.encode(result, Rounding::NearestEven, Overflow::Infinite)
                    }
                    false => f32_to_bf16(result as f32).into(),
                }
            }
        }
    }
}

/// An atomic operation.
pub(crate) struct AtomicOp {
    space: Space,
    address: AddressOperand,
    update: Update,
    ty: Ty,
    flush: bool,
    acquire: bool,
    release: bool,
    /// Destinations, or empty for `red`; one per element of a vector.
    to: Vec<u32>,
    a: Vec<u32>,
    b: u32,
}

impl AtomicOp {
    pub fn execute(&self, cx: &mut Cx) {
        let addresses = cx.addresses(&self.address);
        let bytes = self.ty.bytes() as usize;
        if self.ty == Ty::B128 {
            self.execute_quad(cx, &addresses);
            return;
        }
        let wide = bytes == 8;
        let count = self.a.len();
        cx.count_access(self.space, &addresses, bytes * count, true);
        for lane in cx.lanes() {
            let Some(place) = cx.place(self.space, addresses[lane], bytes * count, bytes * count, lane) else {
                continue;
            };
            if cx.l.sanitize {
                cx.synchronize(place, self.acquire, self.release);
                cx.note(place, bytes * count, Action::Atomic, lane, None);
            }
            for element in 0..count {
                let get = |slot: u32| {
                    let registers = &cx.warp.registers;
                    match (slot, wide) {
                        (NONE, _) => 0,
                        (slot, true) => registers.d(slot)[lane],
                        (slot, false) => registers.w(slot)[lane].into(),
                    }
                };
                let mask = if wide { u64::MAX } else { (1 << (8 * bytes)) - 1 };
                let (a, b) = (get(self.a[element]) & mask, get(self.b) & mask);
                let update = |old: u64| self.update.apply(self.ty, self.flush, old, a, b) & mask;
                let old = cx.fetch_update(place, element * bytes, bytes, lane, update);
                if let Some(&slot) = self.to.get(element) {
                    if wide {
                        cx.warp.registers.doubles[slot as usize][lane] = old;
                    } else {
                        cx.warp.registers.words[slot as usize][lane] = old as u32;
                    }
                }
            }
        }
    }

    /// 128-bit exchange and compare-and-swap. No host word is that wide: a lock of the machine serialises them.
    fn execute_quad(&self, cx: &mut Cx, addresses: &[u64; 32]) {
        static LOCK: std::sync::Mutex<()> = std::sync::Mutex::new(());
        for lane in cx.lanes() {
            let Some(place) = cx.place(self.space, addresses[lane], 16, 16, lane) else {
                continue;
            };
            if cx.l.sanitize {
                cx.synchronize(place, self.acquire, self.release);
                cx.note(place, 16, Action::Atomic, lane, None);
            }
            let registers = &cx.warp.registers;
            let pair = |slot: u32| u128::from(registers.d(slot)[lane]) | u128::from(registers.d(slot + 1)[lane]) << 64;
            let a = pair(self.a[0]);
            let b = if self.b == NONE { 0 } else { pair(self.b) };
            let guard = crate::ptx::exec::launch::lock(&LOCK);
            let mut bytes = [0; 16];
            cx.read(place, lane, &mut bytes);
            let old = u128::from_le_bytes(bytes);
            let new = if self.update == Update::Exchange {
                a
            } else if old == a {
                b
            } else {
                old
            };
            cx.write(place, lane, &new.to_le_bytes());
            drop(guard);
            if let Some(&slot) = self.to.first() {
                cx.warp.registers.doubles[slot as usize][lane] = old as u64;
                cx.warp.registers.doubles[slot as usize + 1][lane] = (old >> 64) as u64;
            }
        }
    }
}

impl Cx<'_> {
    /// Atomically updates an element of memory.
    pub fn fetch_update(
        &mut self,
        place: Place,
        offset: usize,
        bytes: usize,
        lane: usize,
        update: impl Fn(u64) -> u64,
    ) -> u64 {
        if let Place::Global { allocation, offset: start } = place {
            return self.l.snapshot.allocation(allocation).fetch_update(start + offset, bytes, |old| Some(update(old)));
        }
        let place = match place {
            Place::Shared { cta, offset: start } => Place::Shared { cta, offset: start + offset },
            Place::Local { offset: start } => Place::Local { offset: start + offset },
            place => place,
        };
        let mut buffer = [0; 8];
        self.read(place, lane, &mut buffer[..bytes]);
        let old = u64::from_le_bytes(buffer);
        self.write(place, lane, &update(old).to_le_bytes()[..bytes]);
        old
    }

    /// Notes that an ordered access synchronises: with others on the same shared word, or through global memory.
    pub fn synchronize(&mut self, place: Place, acquire: bool, release: bool) {
        match place {
            Place::Shared { cta, offset } => {
                let agents = self.world.agents();
                let order = self.world.ctas[cta]
                    .atomics
                    .entry(offset as u32 & !3)
                    .or_insert_with(|| crate::ptx::exec::state::Order::new(agents));
                self.warp.order.join(order);
                order.join(&self.warp.order);
                self.warp.order.clock.tick(self.warp.agent);
            }
            Place::Global { .. } => self.synchronize_device(acquire, release),
            _ => {}
        }
    }

    /// Notes an acquire or release at the scope of the device.
    pub fn synchronize_device(&mut self, acquire: bool, release: bool) {
        // Within the cluster everything that synchronises through global memory is taken as one place.
        self.warp.order.join(&self.world.global_order);
        self.world.global_order.join(&self.warp.order);
        self.warp.order.clock.tick(self.warp.agent);
        if let Some(shadow) = &self.l.shadow {
            let order = shadow.program(self.world.ctas[self.warp.cta].linear);
            if acquire {
                order.acquire();
            }
            if release {
                order.release();
            }
        }
    }
}

/// Decodes `atom` and `red`.
pub(super) fn decode(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Option<Op>> {
    if m.take("async") {
        return super::bulk::decode_remote(d, i, m);
    }
    let how = m.any(&["relaxed", "acquire", "release", "acq_rel"]);
    m.any(&["cta", "cluster", "gpu", "sys"]);
    let space = match m.any(&["global", "shared", "shared::cta", "shared::cluster"]) {
        None => Space::Generic,
        Some("global") => Space::Global,
        Some("shared::cluster") => Space::SharedCluster,
        Some(_) => Space::Shared,
    };
    let Some(update) = m.map(Update::parse) else {
        return Ok(None);
    };
    let flush_not = m.take("noftz");
    m.cache();
    m.any(&["v2", "v4", "v8"]);
    let Some(ty) = m.ty() else { return Ok(None) };
    let red = i.opcode == "red";
    let (to, address, sources) = match (red, i.operands.as_slice()) {
        (true, [address, sources @ ..]) => (None, address, sources),
        (false, [to, address, sources @ ..]) => (Some(to), address, sources),
        _ => return Err(d.bad("operands are missing")),
    };
    let address = d.address(address)?;
    let wide = ty.bits() == 64;
    let needed = if update == Update::CompareAndSwap { 2 } else { 1 };
    // A cache policy may follow.
    if sources.len() != needed && sources.len() != needed + 1 {
        return Err(d.bad(format!("expected {needed} sources")));
    }
    let mut source = |operand: &Operand| match ty.bits() {
        128 => d.quad(operand).map(|pair| pair[0]),
        64 => d.double(operand, ty),
        _ => d.word(operand, ty),
    };
    let elements: Vec<&Operand> = match &sources[0] {
        Operand::Vector(elements) => elements.iter().collect(),
        single => vec![single],
    };
    let a = elements.into_iter().map(&mut source).collect::<Result<Vec<_>>>()?;
    let b = if needed == 2 { source(&sources[1])? } else { NONE };
    let mut destinations = Vec::new();
    if let Some(to) = to {
        for element in d.vector(to) {
            destinations.push(match ty.bits() {
                128 => d.quad_destination(element)?[0],
                _ if wide => d.double_destination(element)?,
                _ => d.word_destination(element)?,
            });
        }
    }
    let op = AtomicOp {
        space,
        address,
        update,
        ty,
        flush: ty == Ty::F32 && !flush_not && space != Space::Shared,
        acquire: !matches!(how, Some("relaxed" | "release")),
        release: !matches!(how, Some("relaxed" | "acquire")),
        to: destinations,
        a,
        b,
    };
    Ok(Some(Op::Atomic(Box::new(op))))
}

/// A fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FenceOp {
    /// Within the program or cluster: implied by barriers, so that it has nothing to do by itself.
    Near,
    /// At the scope of the device or the system.
    Device,
    /// From the generic to the asynchronous proxy.
    Proxy,
}

impl FenceOp {
    pub fn execute(self, cx: &mut Cx) {
        match self {
            Self::Near => {}
            Self::Device => cx.synchronize_device(true, true),
            Self::Proxy => {
                let order = &mut cx.warp.order;
                order.fenced.join(&order.clock);
                // What this warp does from now on is not covered.
                order.clock.tick(cx.warp.agent);
            }
        }
    }
}

/// Decodes `membar` and `fence`.
pub(super) fn decode_fence(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Option<Op>> {
    for operand in &i.operands {
        if let Operand::Address { .. } = operand {
            d.address(operand)?;
        }
    }
    if m.take("proxy") {
        if m.take("async") || m.any(&["async::global", "async::generic"]).is_some() {
            m.any(&["acquire", "release"]);
            m.any(&[
                "global",
                "shared::cta",
                "shared::cluster",
                "sync_restrict::shared::cta",
                "sync_restrict::shared::cluster",
            ]);
            m.any(&["cta", "cluster", "gpu", "sys"]);
            return Ok(Some(Op::Fence(FenceOp::Proxy)));
        }
        // `.alias` and `.tensormap::generic`: descriptors are read when they are used here.
        m.take("alias");
        m.take("tensormap::generic");
        m.any(&["acquire", "release"]);
        m.any(&["cta", "cluster", "gpu", "sys"]);
        return Ok(Some(Op::Fence(FenceOp::Device)));
    }
    if m.take("mbarrier_init") {
        m.take("release");
        m.take("cluster");
        return Ok(Some(Op::Fence(FenceOp::Near)));
    }
    m.any(&["sc", "acq_rel", "acquire", "release"]);
    m.any(&["sync_restrict::shared::cta", "sync_restrict::shared::cluster"]);
    let device = matches!(m.any(&["cta", "cluster", "gl", "gpu", "sys"]), Some("gl" | "gpu" | "sys"));
    Ok(Some(Op::Fence(if device { FenceOp::Device } else { FenceOp::Near })))
}
