//! Kernels compiled by Triton with one thing broken: the sanitizer finds each.

#[path = "support/ptx.rs"]
mod launches;
mod support;

use support::{manifest, problems};
use tegula_vgpu::error::Error;
use tegula_vgpu::finding::FindingKind::{self, *};
use tegula_vgpu::launch::Outcome;
use tegula_vgpu::memory::GlobalMemory;
use tegula_vgpu::ptx::{Model, Module};

/// Runs a problem of a kernel with its text changed.
fn run(
    target: &str,
    kernel: &str,
    problem: usize,
    change: impl Fn(&str) -> String,
) -> Option<(Result<(), Error>, Outcome)> {
    let (folder, artifacts) = manifest()?;
    let artifact = artifacts.iter().find(|a| a.target == target && a.kernel == kernel).expect("in the manifest");
    let text = std::fs::read_to_string(folder.join(&artifact.file)).expect("the PTX file");
    let changed = change(&text);
    assert_ne!(text, changed, "the change changes nothing");
    let problem = &problems(artifact)[problem];
    let memory = GlobalMemory::default();
    let module = Module::load(&changed, Some(&artifact.file), &memory).expect("it parses");
    let (launch, _) = launches::prepare(&memory, artifact, problem);
    Some(module.launch_on(&memory, &launch, &Model::for_target(&artifact.target), None))
}

/// Takes out the `n`-th line that contains a text.
fn without(text: &str, part: &str, n: usize) -> String {
    let mut seen = 0;
    let mut keep = |line: &&str| {
        seen += usize::from(line.contains(part));
        !(line.contains(part) && seen == n + 1)
    };
    text.lines().filter(|line| keep(line)).map(|line| format!("{line}\n")).collect()
}

fn expect(target: &str, kernel: &str, kinds: &[FindingKind], change: impl Fn(&str) -> String) {
    let problem = if kernel.starts_with("vecadd") { 2 } else { 1 };
    if let Some((result, outcome)) = run(target, kernel, problem, change) {
        let found: Vec<_> = outcome.findings.iter().map(|finding| finding.kind).collect();
        assert!(found.iter().any(|kind| kinds.contains(kind)), "{found:?}, {result:?}");
    }
}

#[test]
fn softmax_without_its_barrier() {
    // The second barrier stands between the warps' maxima and their readers.
    expect("sm_80", "softmax_f32_b1024_w4", &[SharedRace], |text| without(text, "bar.sync", 1));
}

#[test]
fn matmul_without_a_wait() {
    expect("sm_80", "matmul_fp16_128x128x64_w4_s3", &[AsyncNotWaited], |text| {
        text.replace("cp.async.wait_group", "// ")
    });
}

#[test]
fn matmul_without_barriers_in_the_loop() {
    expect("sm_80", "matmul_fp16_128x128x64_w4_s3", &[SharedRace, AsyncNotWaited], |text| {
        text.replace("\tbar.sync", "\t// ")
    });
}

#[test]
fn vecadd_with_a_wrong_bound() {
    expect("sm_80", "vecadd_f32_b1024_w4", &[OutOfBounds], |text| text.replace("setp.lt.s32", "setp.ne.s32"));
}

#[test]
fn flash_with_a_misaligned_vector() {
    expect("sm_80", "flash_fp16_d64_full_128x64_w4_s3", &[Misaligned], |text| {
        let shift =
            |line: &str| if line.contains("ld.global.v4") { line.replace(" + 0 ]", " + 4 ]") } else { line.to_owned() };
        text.lines().map(|line| shift(line) + "\n").collect()
    });
}

#[test]
fn hopper_matmul_without_the_proxy_fence() {
    expect("sm_90", "matmul_fp16_128x128x64_w4_s3", &[MissingProxyFence], |text| {
        text.replace("fence.proxy.async.shared::cta", "// ")
    });
}

#[test]
fn tensor_matmul_without_the_wait_for_products() {
    let wait = "wgmma.wait_group.sync.aligned";
    expect("sm_90", "mmtma_fp16_128x256x64_w8_s3", &[MatrixRegistersInFlight, SharedRace], |text| {
        text.replace(wait, "// ")
    });
}

#[test]
fn tensor_matmul_with_wrong_byte_counts() {
    expect("sm_90", "mmtma_fp16_128x256x64_w8_s3", &[Deadlock], |text| text.replace("], 49152;", "], 49168;"));
}

#[test]
fn tensor_store_without_the_proxy_fence() {
    expect("sm_90", "mmtma_fp16_64x128x64_w4_s3_ws", &[MissingProxyFence], |text| {
        text.replace("fence.proxy.async.shared::cta", "// ")
    });
}

#[test]
fn hopper_matmul_with_a_commit_missing() {
    // The last copy before the loop is then in a group that is waited for too late.
    expect("sm_90", "matmul_fp16_128x128x64_w4_s3", &[AsyncNotWaited], |text| {
        without(text, "cp.async.commit_group", 3)
    });
}

#[test]
fn tensor_matmul_with_waits_that_are_not_repeated() {
    for kernel in ["mmtma_fp16_128x256x64_w8_s3", "mmtma_fp16_64x128x64_w4_s3_ws"] {
        expect("sm_90", kernel, &[AsyncNotWaited], |text| text.replace("@!complete bra.uni waitLoop", "// "));
    }
}

#[test]
fn tensor_matmul_that_overwrites_operands_still_read() {
    expect("sm_90", "mmtma_fp16_128x256x64_w8_s3", &[SharedRace], |text| {
        text.replace("wgmma.wait_group.sync.aligned 1", "// ")
    });
}

#[test]
fn tensor_matmul_without_one_of_its_barriers() {
    expect("sm_90", "mmtma_fp16_128x256x64_w8_s3", &[BarrierObject], |text| without(text, "mbarrier.init", 1));
}

#[test]
fn specialised_matmul_without_the_consumers_arrival() {
    // The last arrival in the text is the consumers', which gives a buffer back.
    expect("sm_90", "mmtma_fp16_64x128x64_w4_s3_ws", &[Deadlock], |text| {
        let arrivals = text.lines().filter(|line| line.contains("mbarrier.arrive.shared")).count();
        without(text, "mbarrier.arrive.shared", arrivals - 1)
    });
}

#[test]
fn tensor_matmul_that_ends_before_its_store() {
    expect("sm_90", "mmtma_fp16_128x256x64_w8_s3", &[UnfinishedAsync], |text| {
        without(text, "cp.async.bulk.wait_group", 0)
    });
}

#[test]
fn tensor_matmul_with_a_product_not_committed() {
    expect("sm_90", "mmtma_fp16_128x256x64_w8_s3", &[MatrixRegistersInFlight], |text| {
        text.replace("wgmma.commit_group", "// ")
    });
}
