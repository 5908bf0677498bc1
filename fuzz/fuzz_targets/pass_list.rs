//! Pass lists: no text leads to a panic, what is read is written so that it is read again as the same, and every pass with
//! any options goes from a valid kernel to a valid one, or refuses it.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tegula_ir::Function;
use tegula_ir::pass::{PassError, PassManager, Registry};
use tegula_ir::text::parse_function;

/// A kernel with something to do for each pass.
static KERNEL: LazyLock<Function> = LazyLock::new(|| {
    let text = include_str!("../seeds/pass_list.tile");
    parse_function(text, "pass_list.tile").expect("the kernel is valid")
});

fuzz_target!(|text: &str| {
    let registry = Registry::builtin();
    let Ok(pipeline) = registry.pipeline(text) else { return };
    let list = pipeline.to_string();
    assert_eq!(registry.pipeline(&list).expect("a printed list is read").to_string(), list);
    // A long list says nothing that a short one does not.
    if pipeline.stages.len() > 8 {
        return;
    }
    let mut manager = PassManager::new(pipeline);
    manager.verify = true;
    if let Err(error @ (PassError::Invalid { .. } | PassError::Io { .. })) = manager.run(&mut KERNEL.clone()) {
        panic!("{error}");
    }
});
