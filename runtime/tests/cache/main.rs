//! The kernel cache on disk, from outside.
//!
//! | module | subject |
//! |---|---|
//! | [`children`] | processes that launch kernels over a cache |
//! | [`processes`] | many of them at once, and writers that are killed |
//! | [`hits`] | what is taken from the cache, and that LLVM has no part in it |
//! | [`assembler`] | the machine code that is kept of PTX |
//! | [`damage`] | files that are damaged, foreign, or of other compilers |
//! | [`room`] | the bound of the size, full disks, clocks |
//! | [`trust`] | folders and files of others |

#[cfg(target_os = "linux")]
mod assembler;
mod children;
mod damage;
mod hits;
mod processes;
mod room;
mod trust;

use std::io::Write;
use std::sync::{Arc, Mutex};

use tegula_artifact::gpu::KernelInfo;
use tegula_artifact::{Artifact, Entry, Format};
use tegula_ir::text::parse_function;
use tegula_runtime::backend::CodeTarget;
use tegula_runtime::cache::CacheKey;
use tegula_runtime::cache::entry::{CacheEntry, Metadata};

mod kernels {
    // The macro's paths are the facade's; this crate stands below it.
    pub use tegula_lang::prelude::*;
    pub use tegula_macros::kernel;

    macro_rules! scaled {
        ($($name:ident $factor:literal)*) => {
            $(#[kernel(crate = tegula_lang, defaults(B = 64))]
            pub fn $name<B: Dim>(x: &Tensor<f32, 1>, out: &mut Tiles<f32, (B,)>) {
                let i = out.index();
                out.store(x.tile::<(B,)>(i).load() * $factor);
            })*
        };
    }

    scaled! { twice 2.0 thrice 3.0 half 0.5 }
}

const SIZE: u64 = 1 << 30;

/// A key for tests.
fn key(name: &str) -> CacheKey {
    key_by(name, "test")
}

/// The key of one and the same kernel under another compiler.
fn key_by(name: &str, compiler: &str) -> CacheKey {
    let f = parse_function(&format!("kernel @{name}() {{\n  return\n}}"), "k.tile").expect("valid text");
    let target = CodeTarget { name: "sm_80".into(), details: String::new() };
    CacheKey::with_compiler(&f, &target, compiler, "22.1.8")
}

/// An entry with code of this many bytes.
fn entry(kernel: &str, bytes: usize) -> CacheEntry {
    let info = KernelInfo {
        name: kernel.into(),
        threads: 128,
        num_warps: 4,
        params: Vec::new(),
        params_size: 0,
        static_shared: 0,
        dynamic_shared: 0,
    };
    CacheEntry {
        metadata: Metadata {
            dims: Vec::new(),
            details: String::new(),
            compiler: "test".into(),
            llvm: "22.1.8".into(),
            created: 0,
            seconds: 0.0,
        },
        artifact: Artifact {
            kernel: kernel.into(),
            target: "sm_80".into(),
            format: Format::Ptx,
            entry: Entry::Gpu(info),
            code: (0..bytes).map(|i| (i * 7) as u8).collect(),
        },
    }
}

/// What `work` logs as warnings.
fn warnings<R>(work: impl FnOnce() -> R) -> (R, String) {
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);
    impl Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("nobody panics").write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::WARN)
        .with_writer(move || writer.clone())
        .with_ansi(false)
        .finish();
    let result = tracing::subscriber::with_default(subscriber, work);
    let text = String::from_utf8(log.0.lock().expect("nobody panics").clone()).expect("text");
    (result, text)
}
