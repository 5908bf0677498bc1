//! A compiled kernel and its binary form.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::cpu::CpuInfo;
use crate::gpu::KernelInfo;

/// A kernel compiled for a target: its code, and what a launcher must know besides the kernel's signature.
#[derive(Clone, PartialEq, Debug)]
pub struct Artifact {
    /// The kernel's name.
    pub kernel: String,
    /// What it was compiled for, such as `cpu` or `sm_90a`.
    pub target: String,
    /// What the code is.
    pub format: Format,
    /// How the code is called.
    pub entry: Entry,
    /// The code.
    pub code: Vec<u8>,
}

/// What code can be.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// A relocatable object for the CPU.
    Object,
    /// PTX text, which the driver assembles.
    Ptx,
    /// Machine code for one NVIDIA architecture.
    Cubin,
    /// A linked code object for one AMD architecture.
    CodeObject,
}

impl Format {
    /// The name in listings and the ending of files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Ptx => "ptx",
            Self::Cubin => "cubin",
            Self::CodeObject => "code-object",
        }
    }
}

/// How code is called.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// By the interface of [`crate::cpu::abi`].
    Cpu(CpuInfo),
    /// As a kernel of a GPU.
    Gpu(KernelInfo),
}

/// Bytes that are not an artifact.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("not a compiled kernel: {0}")]
pub struct MalformedArtifact(pub(crate) String);

/// What stands before the code.
#[derive(Serialize, Deserialize)]
struct Header {
    kernel: String,
    target: String,
    format: Format,
    entry: Entry,
}

impl Artifact {
    /// The binary form: the length of a header as four bytes, lowest first, the header as JSON, the code.
    pub fn to_bytes(&self) -> Vec<u8> {
        let header = Header {
            kernel: self.kernel.clone(),
            target: self.target.clone(),
            format: self.format,
            entry: self.entry.clone(),
        };
        let header = serde_json::to_vec(&header).expect("the header is plain data with text keys");
        let mut bytes = Vec::with_capacity(4 + header.len() + self.code.len());
        bytes.extend_from_slice(&(header.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&header);
        bytes.extend_from_slice(&self.code);
        bytes
    }

    /// Reads the binary form.
    ///
    /// # Errors
    /// If the bytes are not one.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, MalformedArtifact> {
        let bad = |what: &str| MalformedArtifact(what.to_owned());
        let (len, rest) = bytes.split_first_chunk::<4>().ok_or_else(|| bad("it ends in its first bytes"))?;
        let (header, code) =
            rest.split_at_checked(u32::from_le_bytes(*len) as usize).ok_or_else(|| bad("it ends in its header"))?;
        let header: Header = serde_json::from_slice(header).map_err(|e| MalformedArtifact(e.to_string()))?;
        let fits = match header.entry {
            Entry::Cpu(_) => header.format == Format::Object,
            Entry::Gpu(_) => header.format != Format::Object,
        };
        if !fits {
            return Err(bad("its code is of another kind than its entry"));
        }
        Ok(Self {
            kernel: header.kernel,
            target: header.target,
            format: header.format,
            entry: header.entry,
            code: code.to_vec(),
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use tegula_ir::loc::SourceLoc;
    use tegula_ir::types::ScalarType;

    use super::*;
    use crate::cpu::{PrintArg, Site};
    use crate::gpu::{Component, KernelParam};

    pub(crate) fn cpu() -> Artifact {
        let loc = SourceLoc { file: "src/a \"b\".rs".into(), line: 3, column: 7 };
        let print = PrintArg { elem: ScalarType::BF16, tile: true, count: 1 << 20 };
        let sites = vec![
            Site::Print { message: "x = \n".into(), args: vec![print] },
            Site::Assert { message: "ok".into(), loc: loc.clone(), shape: Some(vec![2, 3]) },
            Site::Access { loc },
        ];
        let info =
            CpuInfo { symbol: "k".into(), sites, arena_bytes: 1 << 40, uses_pointers: true, checks_pointers: false };
        Artifact {
            kernel: "k".into(),
            target: "cpu".into(),
            format: Format::Object,
            entry: Entry::Cpu(info),
            code: vec![0, 255, 7],
        }
    }

    pub(crate) fn gpu() -> Artifact {
        let param = |component, offset| KernelParam { param: 0, component, size: 8, offset };
        let info = KernelInfo {
            name: "k".into(),
            threads: 128,
            num_warps: 4,
            params: vec![
                param(Component::Base, 0),
                param(Component::Extent(0), 8),
                param(Component::Stride(4), 16),
                param(Component::Value, 24),
            ],
            params_size: 32,
            static_shared: 0,
            dynamic_shared: 99,
        };
        let code = b".version 8.3".to_vec();
        Artifact { kernel: "k".into(), target: "sm_90a".into(), format: Format::Ptx, entry: Entry::Gpu(info), code }
    }

    #[test]
    fn the_binary_form_keeps_everything() {
        for artifact in [cpu(), gpu()] {
            assert_eq!(Artifact::from_bytes(&artifact.to_bytes()).as_ref(), Ok(&artifact));
        }
    }

    #[test]
    fn what_is_cut_within_the_header_or_mixed_is_refused() {
        let bytes = cpu().to_bytes();
        let header = 4 + u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
        for n in 0..header {
            assert!(Artifact::from_bytes(&bytes[..n]).is_err(), "{n} of {header} bytes");
        }
        let mixed = Artifact { format: Format::Ptx, ..cpu() };
        assert!(Artifact::from_bytes(&mixed.to_bytes()).is_err());
    }
}
