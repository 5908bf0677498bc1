//! From a few lines of assembly to a module.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use tegula_vgpu::gcn::Module;
use tegula_vgpu::launch::{Argument, Launch, Outcome};
use tegula_vgpu::memory::{Fill, GlobalMemory};

pub type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// How most programs begin: s[4:5] input, s[6:7] result, v1 four times the lane.
pub const POINTERS: &str = "
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_lshlrev_b32 v1, 2, v0
    s_waitcnt lgkmcnt(0)
";

/// The name of one vector register or of several in a row.
pub fn registers(first: usize, count: usize) -> String {
    if count == 1 { format!("v{first}") } else { format!("v[{first}:{}]", first + count - 1) }
}

/// Two other ways to what lies v6 bytes behind s[6:7]: s[8:11] is a buffer of so many bytes, v[4:5] the address.
pub fn other_addresses(bytes: u32) -> String {
    format!(
        "s_mov_b32 s8, s6\n s_and_b32 s9, s7, 0xffff\n s_mov_b32 s10, {bytes}\n s_mov_b32 s11, 0x27000
         v_mov_b32 v5, s7\n v_add_co_u32 v4, vcc, s6, v6\n s_nop 1\n v_addc_co_u32 v5, vcc, 0, v5, vcc\n s_nop 4\n"
    )
}

/// A program to assemble: its kernel is `k`, gets pointers in the kernarg segment at s[0:1], its workgroup's number in s2 and the work item
/// in v0.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    pub arch: &'a str,
    pub body: &'a str,
    /// Pointers that it takes.
    pub pointers: usize,
    pub lds: u32,
    pub scratch: u32,
    /// More directives of the kernel descriptor.
    pub directives: &'a str,
    /// The `.value_kind` of one more argument, which the runtime fills in.
    pub hidden: Option<&'a str>,
}

impl<'a> Source<'a> {
    pub fn new(body: &'a str, pointers: usize) -> Self {
        Self { arch: "gfx942", body, pointers, lds: 0, scratch: 0, directives: "", hidden: None }
    }

    fn text(&self) -> String {
        let cdna = self.arch.starts_with("gfx9");
        let specific = if cdna { ".amdhsa_accum_offset 128" } else { ".amdhsa_wavefront_size32 1" };
        let kinds = std::iter::repeat_n("global_buffer", self.pointers).chain(self.hidden);
        let args: String = kinds
            .enumerate()
            .map(|(n, kind)| {
                format!(
                    "      - .address_space: global\n        .offset: {}\n        .size: 8\n        .value_kind: {kind}\n",
                    n * 8
                )
            })
            .collect();
        let args = if args.is_empty() { args } else { format!("    .args:\n{args}") };
        format!(
            r#"    .amdgcn_target "amdgcn-amd-amdhsa--{arch}"
    .text
    .globl k
    .p2align 8
    .type k,@function
k:
{body}
    s_endpgm
.Lend:
    .size k, .Lend-k
    .rodata
    .p2align 6
    .amdhsa_kernel k
        .amdhsa_next_free_vgpr {vgprs}
        .amdhsa_next_free_sgpr 96
        .amdhsa_user_sgpr_kernarg_segment_ptr 1
        .amdhsa_system_sgpr_workgroup_id_x 1
        .amdhsa_group_segment_fixed_size {lds}
        .amdhsa_private_segment_fixed_size {scratch}
        {specific}
        {directives}
    .end_amdhsa_kernel
    .amdgpu_metadata
---
amdhsa.version: [ 1, 2 ]
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: {kernarg}
    .kernarg_segment_align: 8
    .group_segment_fixed_size: {lds}
    .private_segment_fixed_size: {scratch}
    .wavefront_size: {wave}
    .sgpr_count: 96
    .vgpr_count: {vgprs}
    .max_flat_workgroup_size: 1024
{args}...
    .end_amdgpu_metadata
"#,
            arch = self.arch,
            body = self.body,
            vgprs = 256,
            lds = self.lds,
            scratch = self.scratch,
            directives = self.directives,
            kernarg = (self.pointers + usize::from(self.hidden.is_some())) * 8,
            wave = if cdna { 64 } else { 32 },
        )
    }

    /// Assembles and loads it; `None` where the tools are missing.
    pub fn load(&self) -> Result<Option<Module>> {
        Ok(self.assemble()?.map(|bytes| Module::load(&bytes)).transpose()?)
    }

    /// Assembles and links it; `None` where the tools are missing.
    pub fn assemble(&self) -> Result<Option<Vec<u8>>> {
        let bin = std::env::var_os("LLVM_BIN").map_or_else(|| PathBuf::from("/usr/lib/llvm-22/bin"), PathBuf::from);
        let (assembler, linker) = (bin.join("llvm-mc"), bin.join("ld.lld"));
        if !assembler.exists() || !linker.exists() {
            eprintln!("skipped: no llvm-mc and ld.lld in {} (set LLVM_BIN)", bin.display());
            return Ok(None);
        }
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let unique = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = |extension: &str| PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{unique}.{extension}"));
        let (source, object, linked) = (path("s"), path("o"), path("hsaco"));
        std::fs::write(&source, self.text())?;
        let run = |command: &mut Command| -> Result<()> {
            let output = command.output()?;
            if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into()) }
        };
        let wave32 = if self.arch.starts_with("gfx9") { "" } else { "-mattr=+wavefrontsize32" };
        run(Command::new(&assembler)
            .args(["-triple=amdgcn-amd-amdhsa", "-filetype=obj", &format!("-mcpu={}", self.arch)])
            .args((!wave32.is_empty()).then_some(wave32))
            .arg("-o")
            .arg(&object)
            .arg(&source))?;
        run(Command::new(&linker).arg("-shared").arg("-o").arg(&linked).arg(&object))?;
        let bytes = std::fs::read(&linked)?;
        for file in [source, object, linked] {
            std::fs::remove_file(file)?;
        }
        Ok(Some(bytes))
    }
}

/// Runs a program of one workgroup on buffers of words; the last one is the result, which nobody has written before. Returns it with the
/// outcome; `None` where the tools are missing.
pub fn run(source: Source<'_>, threads: u32, inputs: &[&[u32]], results: usize) -> Result<Option<(Vec<u32>, Outcome)>> {
    let Some(module) = source.load()? else { return Ok(None) };
    let memory = GlobalMemory::default();
    let mut launch = Launch::new("k").block([threads, 1, 1]);
    for (n, words) in inputs.iter().enumerate() {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let address = memory.allocate(format!("in{n}"), bytes.len() as u64, Fill::Poison)?;
        memory.write(address, &bytes)?;
        launch = launch.arg(Argument::pointer(address));
    }
    let out = memory.allocate("out", results as u64 * 4, Fill::Poison)?;
    launch = launch.arg(Argument::pointer(out));
    let outcome = module.launch(&launch, &memory)?;
    let mut bytes = vec![0; results * 4];
    memory.read(out, &mut bytes)?;
    let words = bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    Ok(Some((words, outcome)))
}

/// As [`run`], and nothing may be found.
pub fn run_clean(source: Source<'_>, threads: u32, inputs: &[&[u32]], results: usize) -> Result<Option<Vec<u32>>> {
    let Some((words, outcome)) = run(source, threads, inputs, results)? else { return Ok(None) };
    for finding in &outcome.findings {
        eprintln!("{finding}");
    }
    assert!(outcome.is_clean(), "{} findings", outcome.findings.len());
    Ok(Some(words))
}
