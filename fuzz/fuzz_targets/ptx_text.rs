//! PTX: no text leads to a panic in the parser or the decoder.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tegula_vgpu::memory::GlobalMemory;
use tegula_vgpu::ptx::Module;

fuzz_target!(|text: &str| {
    let memory = GlobalMemory::new(1 << 20);
    let Ok(module) = Module::load(text, None, &memory) else { return };
    let kernels: Vec<String> = module.kernels().map(str::to_owned).collect();
    for kernel in kernels {
        let _ = module.prepare(&kernel);
    }
});
