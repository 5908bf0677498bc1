//! Compiled kernels as bytes: no bytes lead to a panic in the readers or in the linker of objects for the CPU, and what is
//! read is written as it was.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tegula_artifact::cpu::link::link;
use tegula_artifact::{Artifact, Entry, archive};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(kernels) = archive::from_bytes(bytes) {
        let again = archive::from_bytes(&archive::to_bytes(&kernels)).expect("a written archive is read");
        assert_eq!(again, kernels);
    }
    // As code for the CPU that the checksum around it did not protect.
    let _ = link(bytes, "k");
    let Ok(artifact) = Artifact::from_bytes(bytes) else { return };
    assert_eq!(Artifact::from_bytes(&artifact.to_bytes()).as_ref(), Ok(&artifact));
    if let Entry::Cpu(info) = &artifact.entry {
        let _ = link(&artifact.code, &info.symbol);
    }
});
