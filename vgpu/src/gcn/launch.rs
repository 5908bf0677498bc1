//! From a launch to running waves: arguments in memory, registers as the kernel descriptor asks, workgroups over threads.

use crate::counters::{Counters, Occupancy};
use crate::error::{Error, Result};
use crate::finding::Report;
use crate::gcn::arch::Arch;
use crate::gcn::descriptor::{KernelDescriptor, USER_REGISTERS};
use crate::gcn::elf::{CodeObject, ElfKernel};
use crate::gcn::exec::Hazards;
use crate::gcn::exec::state::{Env, Group, HOSTCALL_BUFFER, Mode, PRIVATE_APERTURE, SHARED_APERTURE, Wave, WaveState};
use crate::gcn::inst::sreg;
use crate::gcn::metadata::{ArgumentInfo, ArgumentKind};
use crate::gcn::printf;
use crate::gcn::program::Program;
use crate::gcn::sched::Workgroup;
use crate::launch::{Launch, Outcome};
use crate::memory::{Cursor, Fill, GlobalMemory};
use crate::sanitizer::{GlobalShadow, SharedShadow, VectorClock};
use crate::trace::Tracer;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Device memory that a launch needs for itself, given back at its end.
struct Temporary<'a> {
    memory: &'a GlobalMemory,
    address: u64,
}

impl<'a> Temporary<'a> {
    fn new(memory: &'a GlobalMemory, name: &str, data: &[u8]) -> Result<Self> {
        let address = memory.allocate(name, data.len().max(8) as u64, Fill::Zero)?;
        memory.write(address, data)?;
        Ok(Self { memory, address })
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        // It was allocated by this launch and nobody else frees it.
        let _ = self.memory.free(self.address);
    }
}

/// The kernarg segment: the caller's arguments and the hidden ones.
fn kernarg(kernel: &ElfKernel, launch: &Launch, prints: u64) -> Result<Vec<u8>> {
    let info = &kernel.info;
    let explicit: Vec<_> = info.args.iter().filter(|arg| arg.kind == ArgumentKind::Explicit).collect();
    if explicit.len() != launch.args.len() {
        return Err(Error::BadLaunch(format!(
            "`{}` takes {} arguments, {} are given",
            info.name,
            explicit.len(),
            launch.args.len()
        )));
    }
    let end = info.args.iter().map(|arg| arg.offset.saturating_add(arg.size)).max().unwrap_or(0);
    let size = info.kernarg_bytes.max(end).max(kernel.descriptor.kernarg_bytes);
    if size > KERNARG_MOST {
        return Err(Error::BadLaunch(format!(
            "`{}` has {size} bytes of arguments; there can be {KERNARG_MOST}",
            info.name
        )));
    }
    let mut bytes = vec![0; size as usize];
    for (index, (arg, value)) in explicit.iter().zip(&launch.args).enumerate() {
        let value = value.as_bytes();
        if value.len() != arg.size as usize {
            return Err(Error::BadLaunch(format!(
                "argument {index} of `{}` has {} bytes, {} are given",
                info.name,
                arg.size,
                value.len()
            )));
        }
        bytes[arg.offset as usize..][..value.len()].copy_from_slice(value);
    }
    let dimensions =
        launch.grid.iter().zip(&launch.block).rposition(|(&g, &b)| g > 1 || b > 1).map_or(1, |d| d as u64 + 1);
    for arg in &info.args {
        let ArgumentKind::Hidden(what) = &arg.kind else { continue };
        let axis = match what.as_bytes().last() {
            Some(b'y') => 1,
            Some(b'z') => 2,
            _ => 0,
        };
        let value: u64 = match what.as_str() {
            "block_count_x" | "block_count_y" | "block_count_z" => u64::from(launch.grid[axis]),
            "group_size_x" | "group_size_y" | "group_size_z" => u64::from(launch.block[axis]),
            "grid_dims" => dimensions,
            "dynamic_lds_size" => u64::from(launch.dynamic_shared),
            "shared_base" => SHARED_APERTURE >> 32,
            "private_base" => PRIVATE_APERTURE >> 32,
            "printf_buffer" => prints,
            "hostcall_buffer" => HOSTCALL_BUFFER.start,
            // Whole workgroups only, no offsets; no heaps and queues.
            _ => 0,
        };
        let size = (arg.size as usize).min(8);
        bytes[arg.offset as usize..][..size].copy_from_slice(&value.to_le_bytes()[..size]);
    }
    Ok(bytes)
}

/// The packet that started the kernel, for those who read it.
fn dispatch_packet(kernel: &ElfKernel, launch: &Launch, kernarg: u64, lds: u32) -> Vec<u8> {
    let mut packet = vec![0; 64];
    packet[2] = 3;
    for axis in 0..3 {
        packet[4 + axis * 2..][..2].copy_from_slice(&(launch.block[axis] as u16).to_le_bytes());
        let items = launch.grid[axis].wrapping_mul(launch.block[axis]);
        packet[12 + axis * 4..][..4].copy_from_slice(&items.to_le_bytes());
    }
    packet[24..28].copy_from_slice(&kernel.descriptor.private_segment_bytes.to_le_bytes());
    packet[28..32].copy_from_slice(&lds.to_le_bytes());
    packet[40..48].copy_from_slice(&kernarg.to_le_bytes());
    packet
}

/// Addresses that the user registers hold.
struct Addresses {
    kernarg: u64,
    dispatch: u64,
    queue: u64,
}

/// Instructions that a workgroup executes before another one may run in its thread.
const SLICE: u64 = 1_000_000;

/// Workgroups that are under way at once, at most. As on a device, those beyond wait until others have ended; workgroups that wait for
/// each other have to be no more than this.
const RESIDENT: usize = 1024;

/// Runs a kernel. A failure comes with what was found before it.
pub(crate) fn run(
    object: &CodeObject,
    program: &Program,
    kernel: &ElfKernel,
    image: u64,
    launch: &Launch,
    memory: &GlobalMemory,
    trace: Option<&Tracer<'_>>,
) -> (Result<()>, Outcome) {
    let prepared = match Prepared::new(object, program, kernel, launch, memory) {
        Ok(prepared) => prepared,
        Err(error) => return (Err(error), Outcome::default()),
    };
    let snapshot = memory.snapshot();
    let shadow = launch.sanitize.then(|| GlobalShadow::new(&snapshot, launch.programs() as usize));
    let report = Report::new(launch.finding_limit);
    let env = Env {
        arch: object.arch,
        kernel: &kernel.info.name,
        program,
        image,
        memory: &snapshot,
        shadow: shadow.as_ref(),
        report: &report,
        strict: launch.strict,
        sanitize: launch.sanitize,
        one_compute_unit: kernel.descriptor.one_compute_unit,
        grid: launch.grid,
        instruction_limit: launch.instruction_limit,
        trace,
        started: std::time::Instant::now(),
    };
    let (result, mut counters) = run_workgroups(&env, kernel, launch, &prepared);
    counters.occupancy = occupancy(object.arch, &kernel.descriptor, launch, prepared.lds);
    let (findings, findings_dropped) = report.finish();
    let printed = prepared.prints.as_ref().map(|buffer| printf::read(&object.print_formats, memory, buffer.address));
    let (result, printed) = match printed.transpose() {
        Ok(printed) => (result, printed.unwrap_or_default()),
        Err(error) => (result.and(Err(error)), String::new()),
    };
    (result, Outcome { counters, findings, findings_dropped, printed })
}

/// What all workgroups of a launch start from.
struct Prepared<'a> {
    arguments: Vec<u8>,
    addresses: Addresses,
    /// Bytes of LDS that a workgroup has.
    lds: u32,
    /// What kernels print to, if they do.
    prints: Option<Temporary<'a>>,
    /// Held until the launch is over.
    _memory: [Temporary<'a>; 3],
}

impl<'a> Prepared<'a> {
    fn new(
        object: &CodeObject,
        program: &Program,
        kernel: &ElfKernel,
        launch: &Launch,
        memory: &'a GlobalMemory,
    ) -> Result<Self> {
        let lds =
            kernel.descriptor.group_segment_bytes.max(kernel.info.lds_bytes).saturating_add(launch.dynamic_shared);
        check(object.arch, kernel, launch, lds)?;
        program.check_entry(&kernel.info.name, kernel.entry)?;
        let takes_prints = |arg: &ArgumentInfo| arg.kind == ArgumentKind::Hidden("printf_buffer".to_owned());
        let prints = match kernel.info.args.iter().any(takes_prints) {
            true => Some(Temporary::new(memory, "print buffer", &printf::empty())?),
            false => None,
        };
        let mut arguments = kernarg(kernel, launch, prints.as_ref().map_or(0, |buffer| buffer.address))?;
        // Argument blocks come from pools of whole cache lines, and compilers load up to the end of an aligned group.
        arguments.resize(arguments.len().next_multiple_of(64), 0);
        let segment = Temporary::new(memory, "kernel arguments", &arguments)?;
        let packet = dispatch_packet(kernel, launch, segment.address, lds);
        let packet = Temporary::new(memory, "dispatch packet", &packet)?;
        let queue = Temporary::new(memory, "queue", &[0; 256])?;
        let addresses = Addresses { kernarg: segment.address, dispatch: packet.address, queue: queue.address };
        Ok(Self { arguments, addresses, lds, prints, _memory: [segment, packet, queue] })
    }
}

/// Runs all workgroups over the threads of the pool. A workgroup that has used up its slice is put aside, so that others go on that it may
/// be waiting for.
fn run_workgroups(
    env: &Env<'_>,
    kernel: &ElfKernel,
    launch: &Launch,
    prepared: &Prepared<'_>,
) -> (Result<()>, Counters) {
    let programs = launch.programs();
    let next = AtomicU64::new(0);
    let parked: Mutex<VecDeque<Box<Workgroup>>> = Mutex::default();
    let counters: Mutex<Counters> = Mutex::default();
    let failure: Mutex<Option<(u32, Error)>> = Mutex::default();
    let stop = AtomicBool::new(false);
    let start = |linear: u64| {
        let [x, y, _] = launch.grid.map(u64::from);
        let id = [(linear % x) as u32, (linear / x % y) as u32, (linear / x / y) as u32];
        let (group, waves) = workgroup(env, kernel, launch, prepared, id, linear as u32);
        Box::new(Workgroup::new(group, waves, launch))
    };
    let take = || {
        let mut parked = lock(&parked);
        if parked.len() < RESIDENT {
            let linear = next.fetch_add(1, Ordering::Relaxed);
            if linear < programs {
                drop(parked);
                return Some(start(linear));
            }
        }
        parked.pop_front()
    };
    let work = || {
        while !stop.load(Ordering::Relaxed)
            && let Some(mut workgroup) = take()
        {
            match workgroup.run(env, SLICE) {
                Ok(false) => {
                    lock(&parked).push_back(workgroup);
                    continue;
                }
                Ok(true) => {}
                Err(error) => {
                    stop.store(true, Ordering::Relaxed);
                    let mut failure = lock(&failure);
                    if failure.as_ref().is_none_or(|(earlier, _)| workgroup.linear() < *earlier) {
                        *failure = Some((workgroup.linear(), error));
                    }
                }
            }
            lock(&counters).merge(&workgroup.into_counters());
        }
    };
    let workers = (rayon::current_num_threads() as u64).min(programs);
    if workers <= 1 || env.trace.is_some() {
        work();
    } else {
        rayon::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|_| work());
            }
        });
    }
    let result = match lock(&failure).take() {
        Some((_, error)) => Err(error),
        None => Ok(()),
    };
    let counters = std::mem::take(&mut *lock(&counters));
    (result, counters)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Bytes of scratch that a work item can have: eight megabytes a wave of 64.
const SCRATCH_MOST: u32 = 128 << 10;

/// Bytes of arguments that a kernel can have.
const KERNARG_MOST: u32 = 64 << 10;

fn check(arch: Arch, kernel: &ElfKernel, launch: &Launch, lds: u32) -> Result<()> {
    let name = &kernel.info.name;
    if launch.threads() == 0 || launch.programs() == 0 {
        return Err(Error::BadLaunch(format!("`{name}` is launched with an empty grid or workgroup")));
    }
    let most = u64::from(if kernel.info.max_workgroup == 0 { 1024 } else { kernel.info.max_workgroup });
    if launch.threads() > most {
        return Err(Error::BadLaunch(format!(
            "a workgroup of {} work items; `{name}` was compiled for at most {most}",
            launch.threads()
        )));
    }
    if launch.programs() > u64::from(u32::MAX) {
        return Err(Error::BadLaunch(format!("{} workgroups; there can be {}", launch.programs(), u32::MAX)));
    }
    if lds > arch.lds_bytes() {
        return Err(Error::BadLaunch(format!("`{name}` needs {lds} bytes of LDS; {arch} has {}", arch.lds_bytes())));
    }
    let scratch = kernel.descriptor.private_segment_bytes;
    if scratch > SCRATCH_MOST {
        return Err(Error::BadLaunch(format!(
            "`{name}` needs {scratch} bytes of scratch a work item; there can be {SCRATCH_MOST}"
        )));
    }
    if launch.cluster != [1; 3] {
        return Err(Error::BadLaunch(format!("clusters of {:?}; {arch} has none", launch.cluster)));
    }
    Ok(())
}

/// A workgroup's memory and waves, ready to start.
fn workgroup(
    env: &Env<'_>,
    kernel: &ElfKernel,
    launch: &Launch,
    prepared: &Prepared<'_>,
    id: [u32; 3],
    linear: u32,
) -> (Group, Vec<Wave>) {
    let descriptor = &kernel.descriptor;
    let lds = prepared.lds;
    let lanes = if descriptor.wave32 { 32 } else { 64 };
    let threads = launch.threads() as u32;
    let count = threads.div_ceil(lanes);
    let fill = if launch.strict { crate::memory::POISON } else { 0 };
    let group = Group {
        id,
        linear,
        lds: vec![fill; lds as usize],
        lds_shadow: launch.sanitize.then(|| SharedShadow::new(lds as usize, count as usize)),
        clocks: (0..count).map(|agent| VectorClock::of_agent(count as usize, agent as u16)).collect(),
        signalled: 0,
        counters: Counters::default(),
    };
    let waves = (0..count)
        .map(|wave| {
            let active = (threads - wave * lanes).min(lanes);
            let mut wave = blank_wave(env, descriptor, wave as u16, lanes, active, kernel.entry, launch);
            scalar_state(&mut wave, env.arch, descriptor, prepared, id, launch);
            vector_state(&mut wave, descriptor, launch.block);
            wave
        })
        .collect();
    (group, waves)
}

fn blank_wave(
    env: &Env<'_>,
    descriptor: &KernelDescriptor,
    id: u16,
    lanes: u32,
    active: u32,
    entry: u64,
    launch: &Launch,
) -> Wave {
    // Registers that only indices reach are in the descriptor.
    let rows = env.program.rows.max(descriptor.vgprs.min(256) as usize + 32);
    let exec = if active == 64 { u64::MAX } else { (1 << active) - 1 };
    let poison = if launch.strict { 0x7fff_dead } else { 0 };
    let scratch = descriptor.private_segment_bytes.next_multiple_of(4);
    let mode = u32::from(descriptor.round_32)
        | u32::from(descriptor.round_16_64) << 2
        | u32::from(descriptor.denorm_32) << 4
        | u32::from(descriptor.denorm_16_64) << 6
        | u32::from(descriptor.dx10_clamp) << 8
        | u32::from(descriptor.ieee) << 9
        | u32::from(descriptor.fp16_overflow) << 23;
    let mut wave = Wave {
        id,
        lanes,
        wave32: lanes == 32,
        v: vec![[poison; 64]; rows],
        v_defined: vec![0; rows],
        v_pending: vec![0; rows],
        s: [poison; 128],
        s_defined: 0,
        s_pending: 0,
        exec: 0,
        scc: false,
        scc_defined: false,
        mode: Mode::from_bits(mode),
        pc: entry,
        state: WaveState::Running,
        queues: Default::default(),
        ticks: 0,
        hazards: (launch.sanitize && env.arch.is_cdna()).then(|| Box::new(Hazards::new())),
        rdna_hazards: (launch.sanitize && lanes == 32 && !env.arch.is_cdna()).then(Box::default),
        scratch: vec![0; (scratch * 64) as usize],
        scratch_written: vec![false; (scratch * 64) as usize],
        scratch_bytes: scratch,
        cursor: Cursor::default(),
        executed: 0,
        gpr_index: None,
        scalar_store: None,
        arrived: None,
    };
    wave.set_exec(exec);
    if lanes == 32 {
        wave.set_s(sreg::EXEC + 1, 0);
    }
    wave
}

/// User and system scalar registers, in the order that the descriptor's flags fix.
fn scalar_state(
    wave: &mut Wave,
    arch: Arch,
    descriptor: &KernelDescriptor,
    prepared: &Prepared<'_>,
    id: [u32; 3],
    launch: &Launch,
) {
    let Prepared { arguments, addresses, .. } = prepared;
    let mut next: u8 = 0;
    let mut push = |wave: &mut Wave, value: u32| {
        // The count of user registers is what the hardware goes by; there are at most 16 and a handful of system ones.
        wave.set_s(next, value);
        next += 1;
    };
    let values: [u64; 7] =
        [0, addresses.dispatch, addresses.queue, addresses.kernarg, 0, 0, u64::from(descriptor.private_segment_bytes)];
    for ((&wanted, &registers), &value) in descriptor.user.iter().zip(&USER_REGISTERS).zip(&values) {
        if wanted {
            for register in 0..registers {
                push(wave, if register < 2 { (value >> (register * 32)) as u32 } else { 0 });
            }
        }
    }
    for word in descriptor.preload_offset..descriptor.preload_offset + descriptor.preload_words {
        let at = word as usize * 4;
        let bytes: [u8; 4] = std::array::from_fn(|n| arguments.get(at + n).copied().unwrap_or(0));
        push(wave, u32::from_le_bytes(bytes));
    }
    if arch.is_gfx12() {
        // Workgroup ids come in trap temporaries: x in ttmp9, y and z in the halves of ttmp7.
        wave.set_s(sreg::TTMP0 + 9, id[0]);
        wave.set_s(sreg::TTMP0 + 7, id[1] & 0xffff | id[2] << 16);
        // The wave's number in its workgroup has a field of ttmp8.
        wave.set_s(sreg::TTMP0 + 8, u32::from(wave.id) << 25);
        return;
    }
    next = next.max(descriptor.user_sgprs as u8);
    for (axis, &wanted) in descriptor.workgroup_id.iter().enumerate() {
        if wanted {
            wave.set_s(next, id[axis]);
            next += 1;
        }
    }
    if descriptor.workgroup_info {
        wave.set_s(next, launch.threads().div_ceil(u64::from(wave.lanes)) as u32);
    }
}

/// Work-item ids, packed into the first vector register.
fn vector_state(wave: &mut Wave, descriptor: &KernelDescriptor, block: [u32; 3]) {
    let first = u32::from(wave.id) * wave.lanes;
    for lane in 0..wave.lanes {
        let thread = first + lane;
        let (x, rest) = (thread % block[0], thread / block[0]);
        let (y, z) = (rest % block[1], rest / block[1]);
        let mut packed = x;
        if descriptor.workitem_id >= 1 {
            packed |= y << 10;
        }
        if descriptor.workitem_id >= 2 {
            packed |= z << 20;
        }
        wave.v[0][lane as usize] = packed;
    }
    wave.v_defined[0] = if wave.lanes == 64 { u64::MAX } else { u64::from(u32::MAX) };
}

/// How many workgroups share a compute unit.
fn occupancy(arch: Arch, descriptor: &KernelDescriptor, launch: &Launch, lds: u32) -> Occupancy {
    let lanes = if descriptor.wave32 { 32 } else { 64 };
    let threads = launch.threads() as u32;
    let waves = threads.div_ceil(lanes);
    // Four SIMDs a unit; registers of each, and the waves it can hold.
    let (file, most) = if arch.is_cdna() { (512, 8) } else { (if lanes == 32 { 1536 } else { 768 }, 16) };
    let by_registers = (file / descriptor.vgprs.max(1)).min(most) * 4 / waves.max(1);
    let by_lds = if lds == 0 { u32::MAX } else { arch.lds_bytes() / lds.next_multiple_of(512) };
    let by_waves = most * 4 / waves.max(1);
    let programs = by_registers.min(by_lds).min(by_waves);
    let limited_by = if programs == by_lds {
        "shared memory"
    } else if programs == by_waves {
        "threads"
    } else {
        "registers"
    };
    Occupancy {
        registers: descriptor.vgprs,
        shared: lds,
        threads,
        programs,
        warps: programs * waves,
        max_warps: most * 4,
        limited_by: limited_by.to_owned(),
    }
}
