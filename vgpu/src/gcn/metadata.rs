//! The metadata note of a code object: the kernels, their arguments and their resources, as MessagePack.

use crate::error::{Error, Location, Result};
use crate::gcn::printf::{self, PrintFormat};
use rmpv::Value;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// What a kernel argument is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ArgumentKind {
    /// The caller gives it.
    Explicit,
    /// The runtime fills it in; the name is the metadata's `.value_kind` without `hidden_`.
    Hidden(String),
}

/// One argument in the kernarg segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArgumentInfo {
    /// Its name, where the metadata has one.
    pub name: Option<String>,
    /// Where it starts.
    pub offset: u32,
    /// Its size in bytes.
    pub size: u32,
    /// Who fills it in.
    pub kind: ArgumentKind,
    /// The metadata's `.value_kind`.
    pub value_kind: String,
}

/// What the metadata says about a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelInfo {
    /// Its name.
    pub name: String,
    /// The symbol of its descriptor.
    pub symbol: String,
    /// Its arguments by offset.
    pub args: Vec<ArgumentInfo>,
    /// Size of the kernarg segment.
    pub kernarg_bytes: u32,
    /// LDS that it declares.
    pub lds_bytes: u32,
    /// Scratch a work item.
    pub scratch_bytes: u32,
    /// Scalar registers.
    pub sgprs: u32,
    /// Vector registers, accumulation registers among them.
    pub vgprs: u32,
    /// Accumulation registers.
    pub agprs: u32,
    /// Lanes of a wave.
    pub wave: u32,
    /// The most work items a workgroup may have.
    pub max_workgroup: u32,
}

fn bad(message: impl Into<String>) -> Error {
    Error::Parse { location: Location::default(), message: message.into() }
}

fn get<'a>(map: &'a Value, key: &str) -> Option<&'a Value> {
    map.as_map()?.iter().find(|(k, _)| k.as_str() == Some(key)).map(|(_, v)| v)
}

fn number(map: &Value, key: &str) -> u32 {
    get(map, key).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok()).unwrap_or(0)
}

fn text(map: &Value, key: &str) -> Option<String> {
    get(map, key).and_then(Value::as_str).map(str::to_owned)
}

/// What the metadata of a code object says.
#[derive(Clone, Debug, Default)]
pub struct Metadata {
    /// Its kernels.
    pub kernels: Vec<KernelInfo>,
    /// The formats that kernels print with, by number.
    pub print_formats: HashMap<u32, PrintFormat>,
}

/// Reads the descriptor of an `NT_AMDGPU_METADATA` note.
pub fn parse(mut note: &[u8]) -> Result<Metadata> {
    let value = rmpv::decode::read_value_with_max_depth(&mut note, 64)
        .map_err(|error| bad(format!("the metadata note is no MessagePack: {error}")))?;
    let Some(kernels) = get(&value, "amdhsa.kernels").and_then(Value::as_array) else {
        return Err(bad("the metadata note has no `amdhsa.kernels`"));
    };
    let formats = get(&value, "amdhsa.printf").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    Ok(Metadata {
        kernels: kernels.iter().map(kernel).collect::<Result<_>>()?,
        print_formats: formats.iter().filter_map(Value::as_str).map(printf::parse).collect::<Result<_>>()?,
    })
}

fn kernel(map: &Value) -> Result<KernelInfo> {
    let name = text(map, ".name").ok_or_else(|| bad("a kernel without `.name` in the metadata note"))?;
    let symbol = text(map, ".symbol").unwrap_or_else(|| format!("{name}.kd"));
    let mut args = Vec::new();
    for arg in get(map, ".args").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default() {
        let value_kind = text(arg, ".value_kind").unwrap_or_else(|| "by_value".to_owned());
        let kind = match value_kind.strip_prefix("hidden_") {
            Some(hidden) => ArgumentKind::Hidden(hidden.to_owned()),
            None => ArgumentKind::Explicit,
        };
        let (offset, size) = (number(arg, ".offset"), number(arg, ".size"));
        if offset.checked_add(size).is_none_or(|end| end > 1 << 20) {
            return Err(bad(format!("an argument of `{name}` at offset {offset} with {size} bytes")));
        }
        args.push(ArgumentInfo { name: text(arg, ".name"), offset, size, kind, value_kind });
    }
    args.sort_by_key(|arg| arg.offset);
    Ok(KernelInfo {
        name,
        symbol,
        args,
        kernarg_bytes: number(map, ".kernarg_segment_size"),
        lds_bytes: number(map, ".group_segment_fixed_size"),
        scratch_bytes: number(map, ".private_segment_fixed_size"),
        sgprs: number(map, ".sgpr_count"),
        vgprs: number(map, ".vgpr_count"),
        agprs: number(map, ".agpr_count"),
        wave: number(map, ".wavefront_size"),
        max_workgroup: number(map, ".max_flat_workgroup_size"),
    })
}
