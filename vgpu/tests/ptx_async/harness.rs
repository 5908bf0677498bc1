//! Kernels from a body, with an input, an output and up to two tensor maps.

use tegula_vgpu::launch::{Argument, Launch};
use tegula_vgpu::memory::{Fill, GlobalMemory};
use tegula_vgpu::ptx::{Module, TensorMap};

/// Waits for phase 0 of the barrier at `%r4` by a label of its own.
pub const WAIT: &str = "W: mbarrier.try_wait.parity.shared::cta.b64 %p7, [%r4], 0; @!%p7 bra W;";
/// Waits for all of the cluster.
pub const ALL: &str = "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;";

/// A kernel and its launch.
pub struct Run<'a> {
    pub grid: [u32; 3],
    pub block: u32,
    pub cluster: [u32; 3],
    pub input: &'a [u8],
    /// The output's bytes at the start.
    pub output: Vec<u8>,
}

impl Default for Run<'_> {
    fn default() -> Self {
        Self { grid: [1; 3], block: 32, cluster: [1; 3], input: &[], output: Vec::new() }
    }
}

impl Run<'_> {
    /// Runs a body: `%rd1` is the input, `%rd2` the output, `%rd3` and `%rd4` the maps' addresses, `%r1` the thread, `%r2` the rank, `%r3`
    /// the tile of 32 KiB, `%r4` to `%r4+24` memory barriers; `%p1` is true for thread 0. Maps are made from the input's and the
    /// output's addresses. The machine must find nothing.
    pub fn with_maps(&self, body: &str, maps: impl Fn(u64, u64) -> Vec<TensorMap>) -> Vec<u8> {
        let text = format!(
            ".version 8.8\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out, .param .align 64 .b8 a[128], .param .align 64 .b8 b[128]) {{
            .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<64>; .reg .b64 %rd<24>;
            .shared .align 1024 .b8 tile[32768]; .shared .align 8 .b8 bars[32];
            ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];
            mov.u64 %rd3, a; cvta.param.u64 %rd3, %rd3; mov.u64 %rd4, b; cvta.param.u64 %rd4, %rd4;
            mov.u32 %r1, %tid.x; mov.u32 %r2, %cluster_ctarank; mov.u32 %r3, tile; mov.u32 %r4, bars;
            setp.eq.u32 %p1, %r1, 0;
            {body}
            ret;\n}}"
        );
        let mut results = Vec::new();
        for strict in [true, false] {
            for seed in [1, 7] {
                let memory = GlobalMemory::default();
                let input = memory.allocate("in", self.input.len().max(16) as u64, Fill::Poison).expect("memory");
                memory.write(input, self.input).expect("in bounds");
                let output = memory.allocate("out", self.output.len() as u64, Fill::Poison).expect("memory");
                memory.write(output, &self.output).expect("in bounds");
                let module = Module::load(&text, None, &memory).unwrap_or_else(|error| panic!("{body}: {error}"));
                let mut launch =
                    Launch::new("k").grid(self.grid).block([self.block, 1, 1]).cluster(self.cluster).seed(seed);
                launch.strict = strict;
                launch.args = vec![Argument::pointer(input), Argument::pointer(output)];
                let maps = maps(input, output);
                for n in 0..2 {
                    let bytes = maps.get(n).map_or([0; 128], |map| map.encode().expect("a map"));
                    launch.args.push(Argument::bytes(bytes));
                }
                let outcome = module.launch(&memory, &launch).unwrap_or_else(|error| panic!("{body}: {error}"));
                assert!(outcome.is_clean(), "{body}: {}", outcome.findings[0]);
                let mut bytes = vec![0; self.output.len()];
                memory.read(output, &mut bytes).expect("in bounds");
                results.push(bytes);
            }
        }
        let last = results.pop().expect("some runs");
        for result in results {
            assert!(result == last, "{body}: results depend on the schedule");
        }
        last
    }

    pub fn run(&self, body: &str) -> Vec<u8> {
        self.with_maps(body, |_, _| Vec::new())
    }
}

/// Little-endian words.
pub fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

pub fn bytes(words: impl IntoIterator<Item = u32>) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}
