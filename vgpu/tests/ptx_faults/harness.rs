//! How seeded faults are written and run.

use super::choice::choose;
use tegula_vgpu::error::Error;
use tegula_vgpu::finding::FindingKind;
use tegula_vgpu::launch::{Argument, Launch, Outcome};
use tegula_vgpu::memory::{Fill, GlobalMemory};
use tegula_vgpu::ptx::{Element, Model, Module, TensorMap};

/// What all programs start with: `%rd1` is `data` (4096 bytes, the first 2048 of them written), `%rd2` is `out` (4096 zero bytes),
/// `%rd3` was freed; `%rd4` and `%rd5` are the thread's own words of `data` and `out`, `%r6` that of `tile`.
const PRELUDE: &str = "
.version 8.8
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 data, .param .u64 out, .param .u64 gone, .param .align 64 .b8 map[128]) {
.reg .pred %p<9>;
.reg .b16 %h<9>;
.reg .b32 %r<64>;
.reg .b64 %rd<24>;
.shared .align 1024 .b8 tile[4096];
.shared .align 8 .b64 bar;
.local .align 4 .b8 mine[16];
ld.param.u64 %rd1, [data];
ld.param.u64 %rd2, [out];
ld.param.u64 %rd3, [gone];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, tile;
mov.u32 %r4, bar;
mad.wide.u32 %rd4, %r1, 4, %rd1;
mad.wide.u32 %rd5, %r1, 4, %rd2;
shl.b32 %r5, %r1, 2;
add.u32 %r6, %r3, %r5;
setp.eq.u32 %p1, %r1, 0;
setp.lt.u32 %p2, %r1, 32;
setp.lt.u32 %p3, %r1, 16;
";

/// Threads 0 to 31 write the first 2048 bytes of `tile`, 64 bytes each.
pub const FILL: &str = "
shl.b32 %r50, %r1, 6;
add.u32 %r50, %r3, %r50;
mov.u32 %r51, 0;
@%p2 st.shared.v4.u32 [%r50], {%r51, %r51, %r51, %r51};
@%p2 st.shared.v4.u32 [%r50+16], {%r51, %r51, %r51, %r51};
@%p2 st.shared.v4.u32 [%r50+32], {%r51, %r51, %r51, %r51};
@%p2 st.shared.v4.u32 [%r50+48], {%r51, %r51, %r51, %r51};
";

/// A program with a mistake. Its text has the mistake and what would be right side by side: `<<wrong||right>>`.
#[derive(Clone)]
pub struct Fault {
    pub name: &'static str,
    grid: u32,
    block: u32,
    cluster: u32,
    body: String,
    /// What must be found.
    pub kind: FindingKind,
}

/// A fault in a launch of so many programs of so many threads.
pub fn fault(name: &'static str, grid: u32, block: u32, kind: FindingKind, body: impl Into<String>) -> Fault {
    Fault { name, grid, block, cluster: 1, body: body.into(), kind }
}

impl Fault {
    /// The same in a cluster of all its programs.
    pub fn clustered(self) -> Self {
        Self { cluster: self.grid, ..self }
    }

    /// The program's text, with the mistake or without.
    fn text(&self, wrong: bool) -> String {
        choose(&self.body, wrong)
    }
}

/// Runs a program with its mistake or without.
pub fn run(fault: &Fault, wrong: bool, seed: u64) -> (Result<(), Error>, Outcome) {
    let memory = GlobalMemory::default();
    let data = memory.allocate("data", 4096, Fill::Poison).expect("memory");
    let out = memory.allocate("out", 4096, Fill::Zero).expect("memory");
    let gone = memory.allocate("gone", 4096, Fill::Zero).expect("memory");
    memory.write(data, &[0; 2048]).expect("in bounds");
    memory.free(gone).expect("allocated");
    let map = TensorMap::tiled(data, Element::F32, &[32, 16], &[128], &[32, 4]).encode().expect("a map");
    let text = format!("{PRELUDE}{}\nret;\n}}", fault.text(wrong));
    let module = Module::load(&text, None, &memory).unwrap_or_else(|error| panic!("{}: {error}", fault.name));
    let mut launch =
        Launch::new("k").grid([fault.grid, 1, 1]).block([fault.block, 1, 1]).cluster([fault.cluster, 1, 1]).seed(seed);
    launch.args = vec![Argument::pointer(data), Argument::pointer(out), Argument::pointer(gone), Argument::bytes(map)];
    module.launch_on(&memory, &launch, &Model::H200, None)
}
