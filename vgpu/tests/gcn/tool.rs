//! The command and the library around the AMD machine: traces, what is known of a kernel, launches that fail, workgroups that wait for
//! each other.

use crate::asm::{Result, Source};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::Mutex;
use tegula_vgpu::error::Error;
use tegula_vgpu::finding::FindingKind;
use tegula_vgpu::launch::{Argument, Launch};
use tegula_vgpu::memory::{Fill, GlobalMemory};
use tegula_vgpu::trace::{Event, Tracer};

const DOUBLE: &str = "
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_lshlrev_b32 v1, 2, v0
    s_waitcnt lgkmcnt(0)
    global_load_dword v2, v1, s[4:5]
    v_mov_b32 v3, 7
    s_waitcnt vmcnt(0)
    v_add_u32 v2, v2, v2
    v_cmp_lt_u32 vcc, 5, v2
    global_store_dword v1, v2, s[6:7]
";

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Result<Self> {
        let path = std::env::temp_dir().join(format!("vgpu-gcn-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn vgpu(args: &[&str], file: &std::path::Path) -> Result<Output> {
    Ok(Command::new(env!("CARGO_BIN_EXE_vgpu")).args(args).arg(file).output()?)
}

#[test]
fn the_command_traces_tells_and_counts() -> Result<()> {
    let Some(bytes) = Source::new(DOUBLE, 2).assemble()? else { return Ok(()) };
    let folder = Folder::new("command")?;
    std::fs::write(folder.0.join("k.hsaco"), bytes)?;
    let launch = serde_json::json!({
        "file": "k.hsaco", "target": "gfx942", "entry": "k", "grid": [2, 1, 1], "block": [128, 1, 1],
        "args": [
            {"buffer": "in", "shape": [128], "dtype": "i32", "fill": "zero"},
            {"buffer": "out", "shape": [128], "dtype": "i32", "fill": "poison"},
        ],
        "report": "report.json",
    });
    let file = folder.0.join("launch.json");
    std::fs::write(&file, launch.to_string())?;

    let output = vgpu(&["trace", "--program", "1,0,0", "--warp", "1", "--contains", "v_add_u32"], &file)?;
    let text = String::from_utf8(output.stdout)?;
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.contains("v_add_u32 v2, v2, v2  [v2=0 v2=0] -> [v2=0]"), "{text}");
    assert!(text.starts_with("(1,0,0).1 ffffffffffffffff"), "{text}");

    let output = vgpu(&["trace", "--program", "0,0,0", "--warp", "0"], &file)?;
    let text = String::from_utf8(output.stdout)?;
    // A load's destination is outstanding after it, and the mask of a comparison is shown.
    assert!(text.lines().any(|line| line.contains("global_load_dword") && line.contains("v2=outstanding")), "{text}");
    assert!(text.lines().any(|line| line.contains("v_cmp_lt_u32") && line.contains("vcc_lo=")), "{text}");
    assert_eq!(text.lines().count(), 10, "{text}");
    assert_eq!(String::from_utf8(vgpu(&["trace", "--limit", "3"], &file)?.stdout)?.lines().count(), 3);

    // Two workgroups write the same words.
    assert_eq!(vgpu(&["run"], &file)?.status.code(), Some(3));
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(folder.0.join("report.json"))?)?;
    assert_eq!(report["findings"][0]["kind"], "global-race");
    assert_eq!(report["findings"][0]["address"]["allocation"], "out");

    let counters = String::from_utf8(vgpu(&["counters"], &file)?.stdout)?;
    assert!(counters.contains("global load bytes                1024"), "{counters}");
    let info = vgpu(&["info", "--json"], &folder.0.join("k.hsaco"))?;
    let info: serde_json::Value = serde_json::from_slice(&info.stdout)?;
    assert_eq!(info["target"], "gfx942");
    let kernel = &info["entries"][0];
    assert!(kernel["registers"].as_str().is_some_and(|text| text.contains("96 SGPRs, 256 VGPRs")), "{kernel}");
    let families = kernel["families"].as_array().ok_or("no families")?;
    let has = |name: &str, count: u64| families.contains(&serde_json::json!([name, count, true]));
    assert!(has("global memory", 2) && has("vector", 3) && has("waits and barriers", 2), "{families:?}");
    assert!(kernel["unsupported"].as_array().is_some_and(Vec::is_empty));
    Ok(())
}

#[test]
fn what_was_found_before_a_failure_is_told() -> Result<()> {
    let body = "
        s_load_dwordx4 s[4:7], s[0:1], 0x0
        v_lshlrev_b32 v1, 2, v0
        s_waitcnt lgkmcnt(0)
        global_store_dword v1, v0, s[6:7] offset:4
        s_waitcnt vmcnt(0)
        s_trap 2";
    let Some(module) = Source::new(body, 2).load()? else { return Ok(()) };
    let memory = GlobalMemory::default();
    let out = memory.allocate("out", 256, Fill::Poison)?;
    let launch = Launch::new("k").block([64, 1, 1]).arg(Argument::pointer(out)).arg(Argument::pointer(out));
    let (result, outcome) = module.launch_on(&launch, &memory, None);
    assert!(matches!(result, Err(Error::Trap { .. })), "{result:?}");
    assert_eq!(outcome.findings.iter().map(|finding| finding.kind).collect::<Vec<_>>(), [FindingKind::OutOfBounds]);
    assert!(outcome.counters.total() > 0);
    Ok(())
}

#[test]
fn calls_of_the_host_are_refused_by_name() -> Result<()> {
    let store = "
        s_load_dwordx4 s[4:7], s[0:1], 0x0
        v_lshlrev_b32 v1, 2, v0
        s_waitcnt lgkmcnt(0)
        global_store_dword v1, v0, s[4:5]";
    let call = format!(
        "{store}
        v_mov_b32 v2, 0
        global_load_dwordx2 v[4:5], v2, s[6:7] offset:24
        s_waitcnt vmcnt(0)
        v_mov_b32 v6, v4"
    );
    let run = |body: &str| -> Result<Option<(tegula_vgpu::error::Result<()>, usize)>> {
        let source = Source { hidden: Some("hidden_hostcall_buffer"), ..Source::new(body, 1) };
        let Some(module) = source.load()? else { return Ok(None) };
        let memory = GlobalMemory::default();
        let out = memory.allocate("out", 256, Fill::Poison)?;
        let launch = Launch::new("k").block([64, 1, 1]).arg(Argument::pointer(out));
        let (result, outcome) = module.launch_on(&launch, &memory, None);
        Ok(Some((result, outcome.findings.len())))
    };
    // To declare the argument does no harm.
    let Some(quiet) = run(store)? else { return Ok(()) };
    assert_eq!(quiet, (Ok(()), 0));
    let Some((Err(Error::Unsupported { instruction, reason, .. }), 0)) = run(&call)? else {
        return Err("a call of the host went through".into());
    };
    assert!(instruction.starts_with("global_load_dwordx2"), "{instruction}");
    assert!(reason.contains("`hidden_hostcall_buffer`"), "{reason}");
    Ok(())
}

#[test]
fn the_library_traces() -> Result<()> {
    let Some(module) = Source::new(DOUBLE, 2).load()? else { return Ok(()) };
    let memory = GlobalMemory::default();
    let input = memory.allocate("in", 256, Fill::Poison)?;
    memory.write(input, &[3, 0, 0, 0].repeat(64))?;
    let out = memory.allocate("out", 256, Fill::Poison)?;
    let launch = Launch::new("k").block([64, 1, 1]).arg(Argument::pointer(input)).arg(Argument::pointer(out));
    let events: Mutex<Vec<Event>> = Mutex::default();
    let sink = |event| {
        if let Ok(mut events) = events.lock() {
            events.push(event);
        }
    };
    let (result, outcome) = module.launch_on(&launch, &memory, Some(&Tracer::new(&sink)));
    result?;
    assert!(outcome.is_clean());
    let events = events.into_inner()?;
    assert_eq!(events.len() as u64, outcome.counters.total());
    let add = events.iter().find(|event| event.text.starts_with("v_add_u32")).ok_or("no addition")?;
    assert_eq!((add.reads[0].bits, add.writes[0].bits), (Some(3), Some(6)));
    let store = events.iter().find(|event| event.text.starts_with("global_store")).ok_or("no store")?;
    assert_eq!(store.reads.iter().map(|value| value.register.as_str()).collect::<Vec<_>>(), ["v1", "v2", "s6", "s7"]);
    Ok(())
}

/// A workgroup waits for one that comes after it, on a single thread: it is put aside, so that the other can run.
#[test]
fn workgroups_take_turns() -> Result<()> {
    let body = "
        s_load_dwordx4 s[4:7], s[0:1], 0x0
        v_mov_b32 v2, 0
        v_mov_b32 v3, 1
        s_cmp_lg_u32 s2, 0
        s_waitcnt lgkmcnt(0)
        s_cbranch_scc1 .Lsignal
        .Lwait:
        s_sleep 1
        global_atomic_add v4, v2, v2, s[4:5] sc0 sc1
        s_waitcnt vmcnt(0)
        v_readfirstlane_b32 s8, v4
        s_cmp_eq_u32 s8, 0
        s_cbranch_scc1 .Lwait
        s_branch .Ldone
        .Lsignal:
        global_atomic_swap v2, v3, s[4:5] sc1
        .Ldone:";
    let Some(module) = Source::new(body, 2).load()? else { return Ok(()) };
    let memory = GlobalMemory::default();
    let flag = memory.allocate("flag", 4, Fill::Zero)?;
    let mut launch =
        Launch::new("k").grid([2, 1, 1]).block([64, 1, 1]).arg(Argument::pointer(flag)).arg(Argument::pointer(flag));
    launch.instruction_limit = 10_000_000;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let outcome = pool.install(|| module.launch(&launch, &memory))?;
    assert!(outcome.is_clean(), "{}", outcome.findings[0]);
    Ok(())
}

/// Processors without a machine are refused by name.
#[test]
fn other_processors_are_named() -> Result<()> {
    let Some(mut bytes) = Source::new(DOUBLE, 2).assemble()? else { return Ok(()) };
    // The processor's number in the header's flags.
    for (number, name) in [(0x49, "gfx1250"), (0x3f, "gfx90a"), (0x36, "gfx1030")] {
        bytes[48] = number;
        let error = tegula_vgpu::gcn::Module::load(&bytes).err().ok_or("it loads")?.to_string();
        assert!(error.contains(name), "{error}");
    }
    Ok(())
}
