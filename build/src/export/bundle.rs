//! Code objects of several AMD architectures in one file: the bundle of Clang's offload bundler, which HIP's
//! `hipModuleLoad` takes, and of which it loads what is for its device.
//!
//! | bytes | what |
//! |---|---|
//! | 24 | `__CLANG_OFFLOAD_BUNDLE__` |
//! | 8 | number of entries |
//! | 8, 8, 8 | for each: offset and size of its code, length of its name |
//! | | its name: `hipv4-`, the target triple, and the architecture |
//! | | the code of the entries |
//!
//! Numbers are stored lowest byte first. Tools expect an entry for the host first, which has no code.

const MAGIC: &[u8; 24] = b"__CLANG_OFFLOAD_BUNDLE__";

/// Where code objects begin: they are mapped as they lie.
const ALIGN: usize = 4096;

/// A bundle of code objects, each with its architecture.
pub(super) fn bundle(objects: &[(&str, &[u8])]) -> Vec<u8> {
    let name = |architecture: &str| format!("hipv4-amdgcn-amd-amdhsa--{architecture}");
    let mut entries = vec![("host-x86_64-unknown-linux-gnu-".to_owned(), &[][..])];
    entries.extend(objects.iter().map(|(architecture, code)| (name(architecture), *code)));
    let table: usize = entries.iter().map(|(name, _)| 24 + name.len()).sum();
    let mut at = (MAGIC.len() + 8 + table).next_multiple_of(ALIGN);
    let mut bytes = MAGIC.to_vec();
    let number = |bytes: &mut Vec<u8>, n: usize| bytes.extend_from_slice(&(n as u64).to_le_bytes());
    number(&mut bytes, entries.len());
    for (name, code) in &entries {
        number(&mut bytes, at);
        number(&mut bytes, code.len());
        number(&mut bytes, name.len());
        bytes.extend_from_slice(name.as_bytes());
        at = (at + code.len()).next_multiple_of(ALIGN);
    }
    for (_, code) in &entries {
        bytes.resize(bytes.len().next_multiple_of(ALIGN), 0);
        bytes.extend_from_slice(code);
    }
    bytes
}
