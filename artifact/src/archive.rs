//! Kernels compiled ahead of time, as one block of bytes: what a program embeds.

use serde::{Deserialize, Serialize};

use crate::artifact::{Artifact, MalformedArtifact};
use crate::cpu::CpuLevel;
use crate::promise::Promise;

/// Version of the format, and of the interface of the kernels in it.
const VERSION: u32 = 1;

const MAGIC: &[u8; 8] = b"\x7fTEGARC\n";

/// A kernel compiled ahead of time.
#[derive(Clone, PartialEq, Debug)]
pub struct Archived {
    /// What tells the kernel apart, as [`crate::promise::family`].
    pub family: String,
    /// What is promised of each argument.
    pub promises: Vec<Promise>,
    /// The processors that code for the CPU runs on.
    pub level: Option<CpuLevel>,
    /// The compiled kernel. Code for the CPU is linked into the program, and found by its symbol: the artifact has none.
    pub artifact: Artifact,
}

#[derive(Serialize, Deserialize)]
struct Item {
    family: String,
    promises: Vec<Promise>,
    level: Option<CpuLevel>,
    bytes: usize,
}

/// The bytes of an archive: the magic number, the version and the length of an index as four bytes each, lowest first,
/// the index as JSON, the artifacts.
pub fn to_bytes(kernels: &[Archived]) -> Vec<u8> {
    let artifacts: Vec<Vec<u8>> = kernels.iter().map(|k| k.artifact.to_bytes()).collect();
    let index: Vec<Item> = kernels
        .iter()
        .zip(&artifacts)
        .map(|(k, bytes)| Item {
            family: k.family.clone(),
            promises: k.promises.clone(),
            level: k.level,
            bytes: bytes.len(),
        })
        .collect();
    let index = serde_json::to_vec(&index).expect("the index is plain data");
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&(index.len() as u32).to_le_bytes());
    out.extend_from_slice(&index);
    artifacts.iter().for_each(|a| out.extend_from_slice(a));
    out
}

/// Reads an archive.
///
/// # Errors
/// If the bytes are not one, or one of another version of Tegula.
pub fn from_bytes(bytes: &[u8]) -> Result<Vec<Archived>, MalformedArtifact> {
    let bad = |what: &str| MalformedArtifact(what.to_owned());
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| bad("it does not begin as an archive"))?;
    let (version, rest) = rest.split_first_chunk::<4>().ok_or_else(|| bad("it ends in its first bytes"))?;
    if u32::from_le_bytes(*version) != VERSION {
        return Err(bad("the archive was made by another version of Tegula"));
    }
    let (len, rest) = rest.split_first_chunk::<4>().ok_or_else(|| bad("it ends in its first bytes"))?;
    let (index, mut rest) =
        rest.split_at_checked(u32::from_le_bytes(*len) as usize).ok_or_else(|| bad("it ends in its index"))?;
    let index: Vec<Item> = serde_json::from_slice(index).map_err(|e| MalformedArtifact(e.to_string()))?;
    let mut kernels = Vec::with_capacity(index.len());
    for item in index {
        let (artifact, after) = rest.split_at_checked(item.bytes).ok_or_else(|| bad("it ends in a kernel"))?;
        rest = after;
        kernels.push(Archived {
            family: item.family,
            promises: item.promises,
            level: item.level,
            artifact: Artifact::from_bytes(artifact)?,
        });
    }
    if rest.is_empty() { Ok(kernels) } else { Err(bad("it goes on behind its last kernel")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::tests::{cpu, gpu};

    #[test]
    fn an_archive_keeps_everything_and_refuses_parts_of_itself() {
        let promise = Promise {
            align: 16,
            divisor: 1,
            unit_inner: true,
            extents: vec![16],
            strides: vec![1],
            fits_32: true,
            no_alias: false,
        };
        let kernels = [(cpu(), Some(CpuLevel::X86V3)), (gpu(), None)].map(|(artifact, level)| Archived {
            family: "f".into(),
            promises: vec![promise.clone()],
            level,
            artifact,
        });
        let bytes = to_bytes(&kernels);
        assert_eq!(from_bytes(&bytes).as_deref(), Ok(&kernels[..]));
        for n in 0..bytes.len() - 1 {
            assert!(from_bytes(&bytes[..n]).is_err(), "{n}");
        }
        assert!(from_bytes(&[&bytes[..], b"x"].concat()).is_err());
        assert_eq!(from_bytes(&to_bytes(&[])), Ok(Vec::new()));
    }
}
