//! The kernels, as the manifest lists them, with their data.
//!
//! They are not part of the repository: `TEGULA_ARTIFACTS` names their folder, by default `../shared/artifacts/triton` beside the checkout.
//! Without it these tests say that they were skipped.

use std::path::PathBuf;
use tegula_vgpu::gcn::Module;
use tegula_vgpu::launch::{Argument, Launch, Outcome};
use tegula_vgpu::memory::{Fill, GlobalMemory};
use tegula_vgpu::numeric::{f16_to_f32, f32_to_f16};

pub type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// A kernel of the manifest.
pub struct Artifact {
    /// The code object.
    pub bytes: Vec<u8>,
    pub module: Module,
    entry: String,
    block: u32,
    dynamic_shared: u32,
}

/// Reads a kernel that the manifest lists; `None` where there are no artifacts.
pub fn artifact(target: &str, kernel: &str) -> Result<Option<Artifact>> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/artifacts/triton");
    let folder = std::env::var_os("TEGULA_ARTIFACTS").map_or_else(|| PathBuf::from(default), PathBuf::from);
    let Ok(manifest) = std::fs::read_to_string(folder.join("manifest.json")) else {
        eprintln!("skipped: no manifest in {} (set TEGULA_ARTIFACTS)", folder.display());
        return Ok(None);
    };
    let manifest: Vec<serde_json::Value> = serde_json::from_str(&manifest)?;
    let entry = manifest
        .iter()
        .find(|entry| entry["target"] == target && entry["kernel"] == kernel)
        .ok_or_else(|| format!("the manifest has no {target}/{kernel}"))?;
    let text = |key: &str| entry[key].as_str().map(str::to_owned).ok_or_else(|| format!("no {key} in the manifest"));
    let number = |key: &str| entry[key].as_u64().map(|n| n as u32).ok_or_else(|| format!("no {key} in the manifest"));
    let bytes = std::fs::read(folder.join(text("file")?))?;
    Ok(Some(Artifact {
        module: Module::load(&bytes)?,
        bytes,
        entry: text("entry")?,
        block: number("block_threads")?,
        dynamic_shared: number("dynamic_shared_bytes")?,
    }))
}

impl Artifact {
    /// A launch with the kernel's own arguments, followed by Triton's two scratch pointers.
    pub fn launch(&self, grid: [u32; 3], args: &[Argument]) -> Launch {
        let launch = Launch::new(&self.entry).grid(grid).block([self.block, 1, 1]).dynamic_shared(self.dynamic_shared);
        args.iter().cloned().chain([Argument::pointer(0), Argument::pointer(0)]).fold(launch, Launch::arg)
    }

    /// Runs it; nothing may be found.
    pub fn run(&self, memory: &GlobalMemory, grid: [u32; 3], args: &[Argument]) -> Result<Outcome> {
        let outcome = self.module.launch(&self.launch(grid, args), memory)?;
        for finding in &outcome.findings {
            eprintln!("{finding}");
        }
        assert!(outcome.is_clean(), "{} findings", outcome.findings.len());
        Ok(outcome)
    }
}

/// Numbers in [-1, 1), the same in every run.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    pub fn halves(&mut self, count: usize) -> Vec<u16> {
        (0..count).map(|_| f32_to_f16(self.next())).collect()
    }

    pub fn floats(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.next()).collect()
    }
}

pub fn upload(memory: &GlobalMemory, name: &str, bytes: &[u8]) -> Result<u64> {
    let address = memory.allocate(name, bytes.len() as u64, Fill::Poison)?;
    memory.write(address, bytes)?;
    Ok(address)
}

pub fn halves_to_bytes(values: &[u16]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

pub fn floats_to_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

pub fn read_halves(memory: &GlobalMemory, address: u64, count: usize) -> Result<Vec<f64>> {
    let mut bytes = vec![0; count * 2];
    memory.read(address, &mut bytes)?;
    Ok(bytes.chunks_exact(2).map(|b| f64::from(f16_to_f32(u16::from_le_bytes([b[0], b[1]])))).collect())
}

pub fn read_floats(memory: &GlobalMemory, address: u64, count: usize) -> Result<Vec<f64>> {
    let mut bytes = vec![0; count * 4];
    memory.read(address, &mut bytes)?;
    Ok(bytes.chunks_exact(4).map(|b| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]]))).collect())
}

/// Checks the largest difference, relative to the reference's largest magnitude.
pub fn assert_close(what: &str, got: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(got.len(), expected.len());
    let scale = expected.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    for (at, (g, e)) in got.iter().zip(expected).enumerate() {
        let error = (g - e).abs() / scale;
        assert!(error <= tolerance, "{what}: element {at} is {g}, not {e}");
    }
}

pub fn int(value: usize) -> Argument {
    Argument::i32(value as i32)
}
