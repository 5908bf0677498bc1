//! What is known of a kernel for the CPU besides its code: the ops that call back, and the memory it works in.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tegula_ir::loc::SourceLoc;
use tegula_ir::types::ScalarType;

/// What a launcher must know of a compiled kernel.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CpuInfo {
    /// The function's name in the code.
    pub symbol: String,
    /// The ops that call back, by the number they pass.
    pub sites: Vec<Site>,
    /// Bytes of memory that each running program uses for tiles.
    pub arena_bytes: u64,
    /// Whether the kernel accesses memory through pointers, or views made of them.
    pub uses_pointers: bool,
    /// Whether accesses through pointers are checked.
    pub checks_pointers: bool,
}

/// What a callback needs to know of its op.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Site {
    /// A `print`.
    Print {
        /// The text before the values.
        message: String,
        /// What is printed.
        args: Vec<PrintArg>,
    },
    /// An `assert`.
    Assert {
        /// What is asserted, in words.
        message: String,
        /// Where it stands in the source.
        #[serde(with = "place")]
        loc: SourceLoc,
        /// Extents of the condition, where it is a tile.
        shape: Option<Vec<u32>>,
    },
    /// An access through a pointer.
    Access {
        /// Where it stands in the source.
        #[serde(with = "place")]
        loc: SourceLoc,
    },
}

/// A value that is printed.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct PrintArg {
    /// Type of its elements.
    #[serde(serialize_with = "type_name", deserialize_with = "named_type")]
    pub elem: ScalarType,
    /// Whether it is a tile.
    pub tile: bool,
    /// Number of elements.
    pub count: usize,
}

fn type_name<S: Serializer>(ty: &ScalarType, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(ty.name())
}

fn named_type<'de, D: Deserializer<'de>>(d: D) -> Result<ScalarType, D::Error> {
    let name = String::deserialize(d)?;
    ScalarType::from_name(&name)
        .ok_or_else(|| serde::de::Error::invalid_value(serde::de::Unexpected::Str(&name), &"an element type"))
}

/// Source locations as `[file, line, column]`.
mod place {
    use super::{Deserialize, Deserializer, Serialize, Serializer, SourceLoc};

    pub fn serialize<S: Serializer>(loc: &SourceLoc, s: S) -> Result<S::Ok, S::Error> {
        (&*loc.file, loc.line, loc.column).serialize(s)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<SourceLoc, D::Error> {
        let (file, line, column) = <(String, u32, u32)>::deserialize(d)?;
        Ok(SourceLoc { file: file.into(), line, column })
    }
}
