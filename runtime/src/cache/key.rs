//! What tells compiled kernels apart on disk: a hash of everything that the code depends on.

use std::fmt;

use tegula_artifact::Artifact;
use tegula_ir::Function;
use tegula_ir::text::{LocStyle, PrintOptions, print_function};

use crate::backend::CodeTarget;

/// The compiler that this program holds: its version, and a hash of its sources.
pub const COMPILER: &str = env!("TEGULA_COMPILER");

/// The hash of a kernel's Tile IR, the target, and the compiler.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CacheKey([u8; Self::BYTES]);

impl CacheKey {
    /// Size of a key in bytes.
    pub const BYTES: usize = 32;

    /// The key of a function's code for a target.
    pub fn new(function: &Function, target: &CodeTarget) -> Self {
        Self::with_compiler(function, target, COMPILER, llvm_version())
    }

    /// As [`Self::new`], for another compiler than this program's.
    pub fn with_compiler(function: &Function, target: &CodeTarget, compiler: &str, llvm: &str) -> Self {
        // With source locations: messages of asserts and line tables hold them.
        let text = print_function(function, &PrintOptions { locs: LocStyle::Table });
        Self::hash(&["code", compiler, llvm, &target.name, &target.details, &text])
    }

    /// The key of the last form of this code, which a driver makes.
    #[must_use]
    pub fn for_driver(self, driver: &CodeTarget) -> Self {
        Self::hash(&["driver", &self.to_string(), &driver.name, &driver.details])
    }

    /// The key of code that is there already.
    pub fn of_artifact(artifact: &Artifact) -> Self {
        Self::hash(&["artifact", &blake3::hash(&artifact.to_bytes()).to_hex()])
    }

    /// The key with these bytes.
    pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    /// The key's bytes.
    pub fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    /// Reads a key that was printed.
    pub fn from_hex(text: &str) -> Option<Self> {
        // Hex digits in upper case would give one key two names.
        if text.bytes().any(|b| b.is_ascii_uppercase()) {
            return None;
        }
        blake3::Hash::from_hex(text).ok().map(|h| Self(*h.as_bytes()))
    }

    /// A hash of parts whose borders count.
    pub(crate) fn hash(parts: &[&str]) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        }
        Self(*hasher.finalize().as_bytes())
    }
}

impl fmt::Display for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CacheKey({self})")
    }
}

/// The version of LLVM that this program compiles with.
pub fn llvm_version() -> &'static str {
    static VERSION: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    #[cfg(feature = "compiler")]
    return VERSION.get_or_init(tegula_codegen::llvm_version);
    #[cfg(not(feature = "compiler"))]
    VERSION.get_or_init(|| "none".into())
}

#[cfg(test)]
mod tests {
    use tegula_ir::function::ParamKind;
    use tegula_ir::text::parse_function;

    use super::*;

    fn function(scale: u32) -> Function {
        let text = format!("kernel @k(%x: view<1d, f32> write) {{\n  %c = constant {scale} : i64\n  return\n}}");
        parse_function(&text, "k.tile").expect("valid text")
    }

    fn target(name: &str, details: &str) -> CodeTarget {
        CodeTarget { name: name.into(), details: details.into() }
    }

    #[test]
    fn everything_that_code_depends_on_changes_the_key() {
        let f = function(1);
        let t = target("cpu", "avx2");
        let key =
            |f: &Function, t: &CodeTarget, compiler: &str, llvm: &str| CacheKey::with_compiler(f, t, compiler, llvm);
        let base = key(&f, &t, "0.1.0+a", "22.1.8");
        let with = |change: &dyn Fn(&mut Function)| {
            let mut f = f.clone();
            change(&mut f);
            key(&f, &t, "0.1.0+a", "22.1.8")
        };
        let others = [
            key(&function(2), &t, "0.1.0+a", "22.1.8"),
            // The options of a call, and what is promised of its arguments.
            with(&|f| f.num_warps = 8),
            with(&|f| f.num_stages = 7),
            with(&|f| {
                let ParamKind::View { spec, .. } = &mut f.params[0].kind else { panic!("it is a view") };
                spec.unit_inner = true;
            }),
            key(&f, &target("sm_80", "avx2"), "0.1.0+a", "22.1.8"),
            key(&f, &target("cpu", "avx512f"), "0.1.0+a", "22.1.8"),
            key(&f, &t, "0.1.0+b", "22.1.8"),
            key(&f, &t, "0.1.0+a", "22.1.9"),
            // Borders between the parts count.
            key(&f, &target("cpua", "vx2"), "0.1.0+a", "22.1.8"),
            base.for_driver(&target("sm_80", "570.1")),
            base.for_driver(&target("sm_80", "570.2")),
        ];
        for (i, other) in others.iter().enumerate() {
            assert_ne!(*other, base, "{i}");
            assert_eq!(others.iter().filter(|o| *o == other).count(), 1, "{i}");
        }
        assert_eq!(key(&function(1), &t, "0.1.0+a", "22.1.8"), base);
    }

    #[test]
    fn keys_are_read_as_printed() {
        let key = CacheKey::hash(&["x"]);
        assert_eq!(CacheKey::from_hex(&key.to_string()), Some(key));
        assert_eq!(CacheKey::from_hex(&key.to_string().to_uppercase()), None);
        assert_eq!(CacheKey::from_hex("locks"), None);
    }
}
