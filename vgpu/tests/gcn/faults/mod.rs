//! Seeded faults: small programs that are wrong in one way, each with the finding that it must give. Each stands with its twin without the
//! mistake, which must be silent.

#[path = "../../support/choice.rs"]
mod choice;
mod distance;
mod general;
mod order;
mod rdna;

use crate::asm::{Result, Source};
use choice::choose;
use tegula_vgpu::finding::FindingKind::{self, GlobalRace, SharedRace, UninitializedRead, UseAfterFree};
use tegula_vgpu::gcn::Module;
use tegula_vgpu::launch::{Argument, Launch, Outcome};
use tegula_vgpu::memory::{Fill, GlobalMemory};

#[derive(Clone, Copy)]
struct Fault {
    arch: &'static str,
    name: &'static str,
    /// The text, which has the mistake and what would be right side by side.
    body: &'static str,
    /// What must be found.
    kind: FindingKind,
    groups: u32,
    threads: u32,
}

impl Fault {
    const fn new(name: &'static str, kind: FindingKind, body: &'static str) -> Self {
        Self { arch: "gfx942", name, body, kind, groups: 1, threads: 64 }
    }

    const fn on(mut self, arch: &'static str) -> Self {
        self.arch = arch;
        self
    }

    const fn of(mut self, groups: u32, threads: u32) -> Self {
        self.groups = groups;
        self.threads = threads;
        self
    }
}

/// s[4:5] is an input of 1024 bytes, s[6:7] a result of 2048 bytes that nobody has written, s2 the workgroup, v0 the work item, v1 four times
/// it. There are 1024 bytes of LDS and 64 of scratch.
const START: &str = "
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_lshlrev_b32 v1, 2, v0
    s_waitcnt lgkmcnt(0)
";

/// The same for waves of 32.
const START_GFX11: &str = "
    s_load_b128 s[4:7], s[0:1], 0x0
    v_lshlrev_b32 v1, 2, v0
    s_waitcnt lgkmcnt(0)
";

/// The same, with the workgroup in ttmp9.
const START_GFX12: &str = "
    s_load_b128 s[4:7], s[0:1], 0x0
    v_lshlrev_b32 v1, 2, v0
    s_wait_kmcnt 0x0
";

fn load(fault: &Fault, wrong: bool) -> Result<Option<Module>> {
    let start = match fault.arch {
        "gfx1100" => START_GFX11,
        "gfx1201" => START_GFX12,
        _ => START,
    };
    let body = format!("{start}{}", choose(fault.body, wrong));
    let source = Source { arch: fault.arch, lds: 1024, scratch: 64, ..Source::new(&body, 2) };
    source.load()
}

fn execute(module: &Module, fault: &Fault, seed: u64) -> Result<Outcome> {
    let memory = GlobalMemory::default();
    let input = memory.allocate("in", 1024, Fill::Poison)?;
    memory.write(input, &[1; 1024])?;
    let out = memory.allocate("out", 2048, Fill::Poison)?;
    let launch = Launch::new("k")
        .grid([fault.groups, 1, 1])
        .block([fault.threads, 1, 1])
        .seed(seed)
        .arg(Argument::pointer(input))
        .arg(Argument::pointer(out));
    let (result, outcome) = module.launch_on(&launch, &memory, None);
    result.map_err(|error| format!("{}: {error}", fault.name))?;
    Ok(outcome)
}

#[test]
fn every_seeded_fault_is_found_and_its_twin_is_silent() -> Result<()> {
    let mut wrong = Vec::new();
    let faults = [general::FAULTS, order::FAULTS, distance::FAULTS, rdna::FAULTS].concat();
    assert!(faults.len() >= 117, "{}", faults.len());
    for fault in faults {
        assert_ne!(choose(fault.body, true), choose(fault.body, false), "{} has no mistake", fault.name);
        let (Some(broken), Some(whole)) = (load(&fault, true)?, load(&fault, false)?) else { return Ok(()) };
        for seed in [1, 2] {
            let outcome = execute(&broken, &fault, seed)?;
            let kinds: Vec<_> = outcome.findings.iter().map(|finding| finding.kind).collect();
            // Who comes too early to the LDS may also find what nobody has written yet.
            let follows = |kind| kind == fault.kind || (fault.kind == SharedRace && kind == UninitializedRead);
            if !kinds.contains(&fault.kind) || !kinds.iter().all(|&kind| follows(kind)) {
                wrong.push(format!("{}: {kinds:?}, not {:?}", fault.name, fault.kind));
            }
            let outcome = execute(&whole, &fault, seed)?;
            if !outcome.is_clean() {
                let text: String = outcome.findings.iter().map(|finding| finding.to_string()).collect();
                wrong.push(format!("the twin of {}: {text}", fault.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn freed_memory_is_told() -> Result<()> {
    let body = format!("{START} global_store_dword v1, v0, s[6:7]");
    let Some(module) = Source::new(&body, 2).load()? else { return Ok(()) };
    let memory = GlobalMemory::default();
    let gone = memory.allocate("gone", 1024, Fill::Zero)?;
    memory.free(gone)?;
    let launch = Launch::new("k").block([64, 1, 1]).arg(Argument::pointer(gone)).arg(Argument::pointer(gone));
    let outcome = module.launch(&launch, &memory)?;
    let finding = outcome.findings.first().ok_or("nothing was found")?;
    assert_eq!(finding.kind, UseAfterFree);
    let address = finding.address.as_ref().ok_or("no address")?;
    assert_eq!((address.allocation.as_deref(), address.offset), (Some("gone"), 0));
    Ok(())
}

#[test]
fn a_finding_names_its_instruction_and_the_other() -> Result<()> {
    let fault = general::FAULTS.iter().find(|fault| fault.kind == SharedRace).ok_or("no race in the list")?;
    let Some(module) = load(fault, true)? else { return Ok(()) };
    let outcome = execute(&module, fault, 1)?;
    let finding = outcome.findings.first().ok_or("nothing was found")?;
    assert!(finding.instruction.text.starts_with("ds_"), "{}", finding.instruction.text);
    let other = finding.other.as_ref().ok_or("no other access")?;
    assert!(other.instruction.text.starts_with("ds_") && other.agent.warp != finding.agent.warp);
    Ok(())
}

/// A missing wait gives a wrong result every time, not sometimes: the destination is poisoned until the wait.
#[test]
fn poison_is_what_an_early_reader_gets() -> Result<()> {
    let body = format!(
        "{START} global_load_dword v2, v1, s[4:5]\n v_mov_b32 v3, v2\n s_nop 0\n global_store_dword v1, v3, s[6:7]"
    );
    let Some((out, _)) = crate::asm::run(Source::new(&body, 2), 64, &[&[7; 64]], 64)? else { return Ok(()) };
    assert!(out.iter().all(|&word| word != 7));
    Ok(())
}

#[test]
fn messages_between_workgroups_need_release_and_acquire() -> Result<()> {
    // Workgroup 0 writes data, releases and raises a flag; workgroup 1 waits for the flag, acquires and reads.
    let body = format!(
        "{START}
         v_mov_b32 v2, 0
         v_mov_b32 v3, 1
         s_cmp_lg_u32 s2, 0
         s_cbranch_scc1 .Lconsumer
         global_store_dword v1, v0, s[6:7] offset:256
         buffer_wbl2 sc1
         s_waitcnt vmcnt(0)
         global_atomic_swap v2, v3, s[4:5] sc1
         s_branch .Ldone
         .Lconsumer:
         s_sleep 1
         global_atomic_add v4, v2, v2, s[4:5] sc0 sc1
         s_waitcnt vmcnt(0)
         v_readfirstlane_b32 s8, v4
         s_cmp_lg_u32 s8, 1
         s_cbranch_scc1 .Lconsumer
         buffer_inv sc1
         global_load_dword v5, v1, s[6:7] offset:256
         s_waitcnt vmcnt(0)
         global_store_dword v1, v5, s[6:7] offset:1024
         .Ldone:"
    );
    for (without, expected) in [("", true), ("buffer_wbl2 sc1\n", false), ("buffer_inv sc1\n", false)] {
        let body = if without.is_empty() { body.clone() } else { body.replace(without, "") };
        let Some(module) = Source::new(&body, 2).load()? else { return Ok(()) };
        let memory = GlobalMemory::default();
        let flag = memory.allocate("flag", 4, Fill::Zero)?;
        let data = memory.allocate("data", 2048, Fill::Poison)?;
        // One thread would run the consumer forever when it comes first: the flag's writer is workgroup 0.
        let launch = Launch::new("k")
            .grid([2, 1, 1])
            .block([64, 1, 1])
            .arg(Argument::pointer(flag))
            .arg(Argument::pointer(data));
        let outcome = module.launch(&launch, &memory)?;
        let races = outcome.findings.iter().filter(|finding| finding.kind == GlobalRace).count();
        assert_eq!(races == 0, expected, "without `{without}`: {races} races");
    }
    Ok(())
}
