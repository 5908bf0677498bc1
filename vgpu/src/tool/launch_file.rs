//! `LAUNCH.json`: a launch with its buffers, run from files to files.

use super::file::CodeFile;
use super::npy::Array;
use crate::counters::Counters;
use crate::error::{Error, Result};
use crate::finding::Finding;
use crate::launch::{Argument, Launch, Outcome};
use crate::memory::{Fill, GlobalMemory};
use crate::numeric::{Format, Overflow, Rounding};
use crate::ptx::{Element, Interleave, Swizzle, TensorMap};
use crate::trace::Tracer;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A launch as the file describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchFile {
    /// PTX text or a code object.
    pub file: PathBuf,
    /// The target to run as; the file's own when absent.
    pub target: Option<String>,
    /// The kernel.
    pub entry: String,
    /// Programs.
    pub grid: [u32; 3],
    /// Threads of a program.
    pub block: [u32; 3],
    /// Programs of a cluster.
    #[serde(default = "one")]
    pub cluster: [u32; 3],
    /// Dynamic shared memory in bytes.
    #[serde(default)]
    pub dynamic_shared: u32,
    /// Arguments, in order.
    #[serde(default)]
    pub args: Vec<Arg>,
    /// Buffers that are no arguments, for tensor maps.
    #[serde(default)]
    pub buffers: Vec<Buffer>,
    /// Complete asynchronous work as late as possible.
    #[serde(default = "yes")]
    pub strict: bool,
    /// Look for findings.
    #[serde(default = "yes")]
    pub sanitize: bool,
    /// Seed of the scheduler.
    #[serde(default = "seed")]
    pub seed: u64,
    /// The most warp instructions of a program.
    pub instruction_limit: Option<u64>,
    /// Where the report goes.
    pub report: Option<PathBuf>,
    /// The folder that relative paths start from: that of the file.
    #[serde(skip)]
    pub folder: PathBuf,
}

fn one() -> [u32; 3] {
    [1; 3]
}

fn yes() -> bool {
    true
}

fn seed() -> u64 {
    1
}

/// An argument.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Arg {
    /// A buffer's address.
    Buffer(Buffer),
    /// A number.
    Scalar(Scalar),
    /// A tensor map by value.
    TensorMap(Box<MapArg>),
    /// So many zero bytes.
    Null(Null),
}

/// A buffer: from a file, or new; a name alone refers to one that stands elsewhere.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    /// Its name.
    pub buffer: String,
    /// The file with its contents.
    pub npy: Option<PathBuf>,
    /// Its shape, where there is no file.
    pub shape: Option<Vec<u64>>,
    /// Its element type.
    pub dtype: Option<String>,
    /// What it holds at first, where there is no file.
    pub fill: Option<FillArg>,
    /// The file that it is written to after the run.
    pub out: Option<PathBuf>,
}

/// Initial contents.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FillArg {
    /// NaN bytes; reads before a write are findings.
    Poison,
    /// Zeroes.
    Zero,
}

/// A number with its type.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scalar {
    /// The value.
    pub scalar: serde_json::Value,
    /// Its type.
    pub dtype: String,
}

/// A tensor map, in the driver's terms: extents innermost first, strides in bytes without the innermost.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MapArg {
    /// The buffer's name.
    pub tensormap: String,
    /// Element type.
    pub dtype: String,
    /// Extents.
    pub shape: Vec<u64>,
    /// Strides.
    #[serde(default)]
    pub strides: Vec<u64>,
    /// The box.
    #[serde(rename = "box")]
    pub box_extents: Vec<u32>,
    /// Element strides; all 1 when absent.
    pub element_strides: Option<Vec<u32>>,
    /// `none`, `32B`, `64B`, `128B`, or the number of bytes.
    #[serde(default)]
    pub swizzle: serde_json::Value,
    /// `none`, `16B`, `32B`, or the number of bytes.
    #[serde(default)]
    pub interleave: serde_json::Value,
    /// `zero`, `none` or `nan`.
    #[serde(default)]
    pub oob_fill: serde_json::Value,
}

/// Zero bytes.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Null {
    /// How many.
    pub null: usize,
}

/// How a run ended, and the exit status that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// To its end, with nothing found.
    Clean = 0,
    /// Not started: something is wrong with the launch or the file.
    BadLaunch = 2,
    /// With findings, or stopped by what the program did.
    Findings = 3,
    /// Not started, or stopped: an instruction is not supported.
    Unsupported = 4,
}

impl Status {
    /// The status of an error.
    pub fn of(error: &Error) -> Self {
        match error {
            Error::Unsupported { .. } => Self::Unsupported,
            Error::Deadlock { .. } | Error::Trap { .. } | Error::InstructionLimit { .. } | Error::Fault { .. } => {
                Self::Findings
            }
            _ => Self::BadLaunch,
        }
    }
}

/// What is written as JSON after a run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// How it ended.
    pub status: Status,
    /// Why it did not run to its end.
    pub error: Option<String>,
    /// What was found.
    pub findings: Vec<Finding>,
    /// Findings that were counted only.
    pub findings_dropped: u64,
    /// What was counted.
    pub counters: Counters,
    /// What the program printed.
    pub printed: String,
}

impl Report {
    /// The report of a run.
    pub fn new(result: &Result<()>, outcome: &Outcome) -> Self {
        let status = match result {
            Err(error) => Status::of(error),
            Ok(()) if outcome.is_clean() => Status::Clean,
            Ok(()) => Status::Findings,
        };
        Self {
            status,
            error: result.as_ref().err().map(Error::to_string),
            findings: outcome.findings.clone(),
            findings_dropped: outcome.findings_dropped,
            counters: outcome.counters.clone(),
            printed: outcome.printed.clone(),
        }
    }
}

/// Bytes of an element type.
fn element_bytes(dtype: &str) -> Result<usize> {
    Ok(match dtype {
        "f64" | "i64" | "u64" | "s64" | "float64" | "int64" | "uint64" | "ptr" => 8,
        "f32" | "i32" | "u32" | "s32" | "tf32" | "float32" | "int32" | "uint32" => 4,
        "f16" | "bf16" | "i16" | "u16" | "s16" | "float16" | "bfloat16" | "int16" | "uint16" => 2,
        "i8" | "u8" | "s8" | "b8" | "i1" | "bool" | "int8" | "uint8" => 1,
        fp8 if ["f8", "fp8", "e4m3", "e5m2", "bf8", "float8"].iter().any(|start| fp8.starts_with(start)) => 1,
        _ => return Err(Error::BadLaunch(format!("unknown dtype `{dtype}`"))),
    })
}

/// NumPy's name for an element type.
fn descr(dtype: &str) -> Result<String> {
    let bytes = element_bytes(dtype)?;
    let kind = match dtype {
        "f64" | "f32" | "f16" | "tf32" | "float64" | "float32" | "float16" => 'f',
        "bf16" | "bfloat16" => 'u',
        _ if dtype.starts_with(['i', 's']) => 'i',
        _ => 'u',
    };
    Ok(format!("{}{kind}{bytes}", if bytes == 1 { '|' } else { '<' }))
}

impl Scalar {
    fn bytes(&self) -> Result<Vec<u8>> {
        let bad = || Error::BadLaunch(format!("{} is not a value of `{}`", self.scalar, self.dtype));
        let size = element_bytes(&self.dtype)?;
        let float = || match &self.scalar {
            serde_json::Value::String(text) => text.parse().map_err(|_| bad()),
            value => value.as_f64().ok_or_else(bad),
        };
        let encode =
            |format: Format| Ok::<_, Error>(format.encode(float()?, Rounding::NearestEven, Overflow::Infinite));
        let bits = match self.dtype.as_str() {
            "f64" | "float64" => float()?.to_bits(),
            "f32" | "float32" | "tf32" => u64::from((float()? as f32).to_bits()),
            "f16" | "float16" => encode(Format::F16)?,
            "bf16" | "bfloat16" => encode(Format::BF16)?,
            dtype
                if descr(dtype)?.contains('u')
                    && dtype.starts_with(['f', 'e', 'b'])
                    && dtype != "bool"
                    && dtype != "b8" =>
            {
                return Err(Error::BadLaunch(format!("a scalar of `{dtype}`: give its bits as u8")));
            }
            _ => match &self.scalar {
                serde_json::Value::Bool(value) => u64::from(*value),
                value => value.as_i64().map(|v| v as u64).or_else(|| value.as_u64()).ok_or_else(bad)?,
            },
        };
        Ok(bits.to_le_bytes()[..size].to_vec())
    }
}

/// The number in `128`, `"128B"` or `"128"`; 0 for `null` and `"none"`.
fn bytes_of(value: &serde_json::Value) -> Option<u64> {
    match value {
        serde_json::Value::Null => Some(0),
        serde_json::Value::Number(number) => number.as_u64(),
        serde_json::Value::String(text) if text.eq_ignore_ascii_case("none") || text.is_empty() => Some(0),
        serde_json::Value::String(text) => {
            text.trim_end_matches(['b', 'B']).trim_start_matches("swizzle_").parse().ok()
        }
        _ => None,
    }
}

impl MapArg {
    fn map(&self, address: u64) -> Result<TensorMap> {
        let bad = |what: &str, value: &serde_json::Value| {
            Error::BadLaunch(format!("tensor map of `{}`: {value} is no {what}", self.tensormap))
        };
        let element = match self.dtype.as_str() {
            "f16" | "float16" => Element::F16,
            "bf16" | "bfloat16" => Element::BF16,
            "f32" | "float32" => Element::F32,
            "tf32" => Element::TF32,
            "f64" | "float64" => Element::F64,
            "u16" | "i16" | "uint16" => Element::U16,
            "u32" | "uint32" => Element::U32,
            "i32" | "s32" | "int32" => Element::S32,
            "u64" | "uint64" => Element::U64,
            "i64" | "s64" | "int64" => Element::S64,
            dtype => match element_bytes(dtype)? {
                1 => Element::U8,
                _ => return Err(Error::BadLaunch(format!("tensor map of `{}`: dtype `{dtype}`", self.tensormap))),
            },
        };
        let mut map = TensorMap::tiled(address, element, &self.shape, &self.strides, &self.box_extents);
        if let Some(strides) = &self.element_strides {
            map.element_strides.clone_from(strides);
        }
        map.swizzle = match bytes_of(&self.swizzle) {
            Some(0) => Swizzle::None,
            Some(32) => Swizzle::B32,
            Some(64) => Swizzle::B64,
            Some(128) => Swizzle::B128,
            _ => return Err(bad("swizzle", &self.swizzle)),
        };
        map.interleave = match bytes_of(&self.interleave) {
            Some(0) => Interleave::None,
            Some(16) => Interleave::B16,
            Some(32) => Interleave::B32,
            _ => return Err(bad("interleave", &self.interleave)),
        };
        map.fill_nan = match self.oob_fill.as_str() {
            Some(text) if text.to_ascii_lowercase().contains("nan") => true,
            Some("zero" | "none" | "") => false,
            None if self.oob_fill.is_null() || self.oob_fill == 0 => false,
            _ => return Err(bad("fill", &self.oob_fill)),
        };
        Ok(map)
    }
}

/// A buffer in device memory that is to be written to a file.
struct Output {
    path: PathBuf,
    address: u64,
    array: Array,
}

/// A launch with its code loaded and its buffers in device memory.
pub struct Prepared {
    memory: GlobalMemory,
    code: CodeFile,
    launch: Launch,
    target: Option<String>,
    outputs: Vec<Output>,
    report: Option<PathBuf>,
}

impl LaunchFile {
    /// Reads a description.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|e| Error::BadLaunch(format!("{}: {e}", path.display())))?;
        let mut file: Self =
            serde_json::from_str(&text).map_err(|e| Error::BadLaunch(format!("{}: {e}", path.display())))?;
        file.folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        Ok(file)
    }

    /// A path as it is meant: from the file's folder, or from the working directory where it is not there.
    fn path(&self, path: &Path) -> PathBuf {
        let beside = self.folder.join(path);
        if !beside.exists() && path.exists() { path.to_path_buf() } else { beside }
    }

    /// Loads the code, and puts the buffers into device memory.
    pub fn prepare(&self) -> Result<Prepared> {
        let memory = GlobalMemory::default();
        let code = CodeFile::load(&self.path(&self.file), &memory)?;
        if let Some(target) = &self.target {
            code.check_target(target)?;
        }
        let mut buffers: HashMap<&str, u64> = HashMap::new();
        let mut outputs = Vec::new();
        let arguments = self.args.iter().filter_map(|arg| match arg {
            Arg::Buffer(buffer) => Some(buffer),
            _ => None,
        });
        for buffer in self.buffers.iter().chain(arguments) {
            if let Some((address, output)) =
                self.buffer(&memory, buffer, buffers.contains_key(buffer.buffer.as_str()))?
            {
                buffers.insert(&buffer.buffer, address);
                outputs.extend(output);
            }
        }
        let find = |name: &str| {
            buffers.get(name).copied().ok_or_else(|| Error::BadLaunch(format!("no buffer is called `{name}`")))
        };
        let mut launch = Launch::new(&self.entry);
        launch.grid = self.grid;
        launch.block = self.block;
        launch.cluster = self.cluster;
        launch.dynamic_shared = self.dynamic_shared;
        launch.strict = self.strict;
        launch.sanitize = self.sanitize;
        launch.seed = self.seed;
        if let Some(limit) = self.instruction_limit {
            launch.instruction_limit = limit;
        }
        for arg in &self.args {
            launch.args.push(match arg {
                Arg::Buffer(buffer) => Argument::pointer(find(&buffer.buffer)?),
                Arg::Scalar(scalar) => Argument::bytes(scalar.bytes()?),
                Arg::TensorMap(map) => Argument::bytes(map.map(find(&map.tensormap)?)?.encode()?),
                Arg::Null(null) => Argument::bytes(vec![0; null.null]),
            });
        }
        let report = self.report.as_ref().map(|path| self.folder.join(path));
        Ok(Prepared { memory, code, launch, target: self.target.clone(), outputs, report })
    }

    /// Allocates a buffer; none if it is only a reference to one that stands elsewhere.
    fn buffer(&self, memory: &GlobalMemory, buffer: &Buffer, known: bool) -> Result<Option<(u64, Option<Output>)>> {
        let bad = |message: &str| Err(Error::BadLaunch(format!("buffer `{}`: {message}", buffer.buffer)));
        let array = match (&buffer.npy, &buffer.shape) {
            (Some(path), _) => {
                let array = Array::read(&self.path(path))?;
                if let Some(dtype) = &buffer.dtype
                    && array.element_bytes() != Some(element_bytes(dtype)?)
                {
                    return bad(&format!("the file holds {}, not {dtype}", array.descr));
                }
                Some(array)
            }
            (None, Some(_)) => None,
            (None, None) if known => return Ok(None),
            // It may stand further on.
            (None, None) if self.args.iter().any(|arg| matches!(arg, Arg::Buffer(b) if b.buffer == buffer.buffer && (b.npy.is_some() || b.shape.is_some()))) => {
                return Ok(None);
            }
            (None, None) => return bad("neither a file nor a shape is given"),
        };
        if known {
            return bad("it is described twice");
        }
        let (address, array) = match array {
            Some(array) => {
                let address = memory.allocate(&buffer.buffer, array.bytes.len() as u64, Fill::Poison)?;
                memory.write(address, &array.bytes)?;
                (address, array)
            }
            None => {
                let Some(dtype) = &buffer.dtype else {
                    return bad("a shape needs a dtype");
                };
                let shape = buffer.shape.clone().unwrap_or_default();
                let count = shape.iter().try_fold(1_u64, |product, &extent| product.checked_mul(extent));
                let Some(size) = count.and_then(|count| count.checked_mul(element_bytes(dtype).ok()? as u64)) else {
                    return bad(&format!("the shape {shape:?} of {dtype}"));
                };
                let fill = match buffer.fill {
                    Some(FillArg::Zero) => Fill::Zero,
                    Some(FillArg::Poison) | None => Fill::Poison,
                };
                let address = memory.allocate(&buffer.buffer, size, fill)?;
                (address, Array { descr: descr(dtype)?, shape, bytes: vec![0; size as usize] })
            }
        };
        let output = buffer.out.as_ref().map(|path| Output { path: self.folder.join(path), address, array });
        Ok(Some((address, output)))
    }
}

impl Prepared {
    /// Runs the launch, writes the outputs and the report, and returns it.
    pub fn run(mut self, trace: Option<&Tracer<'_>>) -> Result<Report> {
        let (result, outcome) = self.code.launch(&self.memory, &self.launch, self.target.as_deref(), trace);
        let report = Report::new(&result, &outcome);
        for output in &mut self.outputs {
            self.memory.read(output.address, &mut output.array.bytes)?;
            output.array.write(&output.path)?;
        }
        if let Some(path) = &self.report {
            write_report(path, &report)?;
        }
        Ok(report)
    }
}

/// Writes a report as JSON.
pub fn write_report(path: &Path, report: &Report) -> Result<()> {
    let text = serde_json::to_string_pretty(report).map_err(|e| Error::BadLaunch(e.to_string()))?;
    std::fs::write(path, text).map_err(|e| Error::BadLaunch(format!("{}: {e}", path.display())))
}
