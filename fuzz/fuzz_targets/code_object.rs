//! AMD code objects: no bytes lead to a panic in the loader or the decoder.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tegula_vgpu::gcn::Module;

fuzz_target!(|bytes: &[u8]| {
    let Ok(module) = Module::load(bytes) else { return };
    for kernel in module.kernels() {
        let _ = (kernel.name().len(), kernel.info(), kernel.descriptor());
        let _ = kernel.unsupported();
        let _ = kernel.mnemonics();
    }
});
