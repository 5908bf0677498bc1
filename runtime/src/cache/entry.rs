//! The format of a file of the cache.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | the magic number |
//! | 4 | version of the format |
//! | 4 | length of the metadata |
//! | 8 | length of the artifact |
//! | 32 | the key |
//! | 32 | BLAKE3 of all the other bytes |
//! | | metadata, as JSON |
//! | | the artifact, as [`Artifact::to_bytes`] |
//!
//! Numbers are stored lowest byte first.

use serde::{Deserialize, Serialize};
use tegula_artifact::Artifact;
use thiserror::Error;

use super::key::CacheKey;

/// Version of the format. It is also in the name of the cache's folder, so that programs of different versions can
/// share a cache without warnings.
pub const VERSION: u32 = 1;

const MAGIC: &[u8; 8] = b"\x7fTEGULA\n";
const KEY_AT: usize = 24;
const CHECKSUM_AT: usize = KEY_AT + CacheKey::BYTES;
const HEADER: usize = CHECKSUM_AT + blake3::OUT_LEN;

/// What is kept beside a compiled kernel, for people and tools.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Metadata {
    /// Sizes of the kernel's dims.
    pub dims: Vec<(String, u64)>,
    /// What the code depends on besides the target's name, such as the processor's features.
    pub details: String,
    /// The compiler, as [`super::key::COMPILER`].
    pub compiler: String,
    /// The version of LLVM.
    pub llvm: String,
    /// When it was compiled, in seconds since 1970.
    pub created: u64,
    /// How long that took, in seconds.
    pub seconds: f64,
}

/// A file's contents.
#[derive(Clone, PartialEq, Debug)]
pub struct CacheEntry {
    /// What is known besides.
    pub metadata: Metadata,
    /// The compiled kernel.
    pub artifact: Artifact,
}

/// Why a file is not an entry.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Damage {
    /// It does not begin as one.
    #[error("it is not a file of the kernel cache")]
    Foreign,
    /// It is of another version of the format.
    #[error("its format has version {0}, this program's has {VERSION}")]
    Version(u32),
    /// It is shorter or longer than it says.
    #[error("it has {found} bytes instead of {expected}")]
    Length {
        /// Its length.
        found: u64,
        /// The length that it should have.
        expected: u64,
    },
    /// A byte changed.
    #[error("its checksum is wrong")]
    Checksum,
    /// It is the entry of another kernel.
    #[error("it holds another kernel than its name says")]
    OtherKey,
    /// It was written wrongly.
    #[error("{0}")]
    Malformed(String),
}

/// The bytes of an entry.
pub fn encode(key: &CacheKey, entry: &CacheEntry) -> Vec<u8> {
    let metadata = serde_json::to_vec(&entry.metadata).expect("metadata is plain data with text keys");
    let artifact = entry.artifact.to_bytes();
    let mut bytes = Vec::with_capacity(HEADER + metadata.len() + artifact.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&(metadata.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&(artifact.len() as u64).to_le_bytes());
    bytes.extend_from_slice(key.as_bytes());
    bytes.extend_from_slice(&[0; blake3::OUT_LEN]);
    bytes.extend_from_slice(&metadata);
    bytes.extend_from_slice(&artifact);
    let checksum = checksum(&bytes);
    bytes[CHECKSUM_AT..HEADER].copy_from_slice(checksum.as_bytes());
    bytes
}

/// Reads an entry.
///
/// # Errors
/// If a byte of it is not as it was written for this key.
pub fn decode(key: &CacheKey, bytes: &[u8]) -> Result<CacheEntry, Damage> {
    if bytes.get(..MAGIC.len()) != Some(MAGIC) {
        return Err(Damage::Foreign);
    }
    let length = |expected| Damage::Length { found: bytes.len() as u64, expected };
    let Some((header, rest)) = bytes.split_at_checked(HEADER) else { return Err(length(HEADER as u64)) };
    let number = |at: usize, n: usize| header[at..at + n].iter().rev().fold(0u64, |sum, &b| sum << 8 | u64::from(b));
    let version = number(8, 4) as u32;
    if version != VERSION {
        return Err(Damage::Version(version));
    }
    let (metadata, artifact) = (number(12, 4), number(16, 8));
    let expected = (HEADER as u64).saturating_add(metadata).saturating_add(artifact);
    if expected != bytes.len() as u64 {
        return Err(length(expected));
    }
    if checksum(bytes).as_bytes()[..] != header[CHECKSUM_AT..] {
        return Err(Damage::Checksum);
    }
    if header[KEY_AT..CHECKSUM_AT] != key.as_bytes()[..] {
        return Err(Damage::OtherKey);
    }
    let (metadata, artifact) = rest.split_at(metadata as usize);
    Ok(CacheEntry {
        metadata: serde_json::from_slice(metadata).map_err(|e| Damage::Malformed(e.to_string()))?,
        artifact: Artifact::from_bytes(artifact).map_err(|e| Damage::Malformed(e.to_string()))?,
    })
}

/// The hash of all bytes but the checksum's own. There are at least [`HEADER`] bytes.
fn checksum(bytes: &[u8]) -> blake3::Hash {
    blake3::Hasher::new().update(&bytes[..CHECKSUM_AT]).update(&bytes[HEADER..]).finalize()
}

#[cfg(test)]
pub(crate) mod tests {
    use tegula_artifact::gpu::KernelInfo;
    use tegula_artifact::{Entry, Format};

    use super::*;

    /// An entry with code of this many bytes.
    pub(crate) fn sample(kernel: &str, bytes: usize) -> CacheEntry {
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
                dims: vec![("B".into(), 1024)],
                details: String::new(),
                compiler: "0.1.0+0".into(),
                llvm: "22.1.8".into(),
                created: 1_800_000_000,
                seconds: 0.25,
            },
            artifact: Artifact {
                kernel: kernel.into(),
                target: "sm_80".into(),
                format: Format::Ptx,
                entry: Entry::Gpu(info),
                code: (0..bytes).map(|i| i as u8).collect(),
            },
        }
    }

    #[test]
    fn each_changed_byte_and_each_other_length_is_found() {
        let key = CacheKey::hash(&["k"]);
        let entry = sample("k", 300);
        let bytes = encode(&key, &entry);
        assert_eq!(decode(&key, &bytes).as_ref(), Ok(&entry));
        for i in 0..bytes.len() {
            for bit in [0, 3, 7] {
                let mut changed = bytes.clone();
                changed[i] ^= 1 << bit;
                assert!(decode(&key, &changed).is_err(), "bit {bit} of byte {i}");
            }
            assert!(decode(&key, &bytes[..i]).is_err(), "cut to {i}");
        }
        assert!(matches!(decode(&key, &[&bytes[..], b"\0"].concat()), Err(Damage::Length { .. })));
        assert_eq!(decode(&CacheKey::hash(&["other"]), &bytes), Err(Damage::OtherKey));
        assert_eq!(decode(&key, b"#!/bin/sh\n"), Err(Damage::Foreign));
        assert_eq!(decode(&key, b""), Err(Damage::Foreign));
    }

    #[test]
    fn another_version_is_named() {
        let key = CacheKey::hash(&["k"]);
        let mut bytes = encode(&key, &sample("k", 1));
        bytes[8] = 9;
        assert_eq!(decode(&key, &bytes), Err(Damage::Version(9)));
    }
}
