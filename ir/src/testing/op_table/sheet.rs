//! Kernels as text, with their arguments: inputs that are loaded whole, a few entries that use them, and an output
//! for each result.

use std::fmt::Write;

use super::Row;
use crate::exec::{HostArg, HostTensor};
use crate::literal::Literal;
use crate::testing::generate::{DataKind, Info, Program, Stream, element};
use crate::testing::value::{element_indices, write_element};
use crate::text::parse_function;
use crate::types::ScalarType;

/// Extents of most tiles: no multiple of a vector, a warp or a power of two.
pub(super) const SHAPE: [u32; 2] = [13, 37];

/// Entries in a kernel: few enough that what fails is easily found, enough that compiling is not all the time.
const ENTRIES: usize = 8;

/// A number of warps for each kernel in turn.
const WARPS: [u32; 4] = [4, 1, 8, 2];

/// What the elements of an input are.
#[derive(Clone, Copy)]
pub(super) enum Data {
    /// Everything that is delicate: extremes, NaN, zeros of both signs, small numbers, any bits.
    Edges,
    /// As [`Data::Edges`], but without NaN, whose bits are not defined.
    Numbers,
    /// Whole numbers from -8 to 8.
    Whole,
    /// One, its negative where there is one, and a few twos: their products and sums are exact.
    Units,
    /// Positions along an axis of this extent, some outside of it on both sides.
    Positions(i64),
}

impl Data {
    fn element(self, t: ScalarType, stream: &mut Stream) -> Literal {
        let random = stream.next();
        let kinds = [DataKind::Special, DataKind::Bits, DataKind::Fraction, DataKind::Whole];
        match self {
            Data::Edges => element(t, kinds[(stream.next() % 4) as usize], random),
            Data::Numbers => match Data::Edges.element(t, stream) {
                Literal::Float(v) if v.is_nan() => Literal::Float(1.0),
                v => v,
            },
            Data::Whole => element(t, DataKind::Whole, random),
            Data::Units => {
                let negative = random & 1 != 0 && !t.is_unsigned_int();
                Literal::small(t, if random.is_multiple_of(61) { 2 } else { 1 } * if negative { -1 } else { 1 })
            }
            Data::Positions(n) => Literal::Int((random % (n as u64 + 6)) as i64 - 3),
        }
    }
}

/// A tensor that is loaded whole into a tile `%name`; the tensor itself is `%name_view`.
#[derive(Clone)]
pub(super) struct Input {
    name: &'static str,
    elem: ScalarType,
    shape: Vec<u32>,
    data: Data,
    column_major: bool,
}

impl Input {
    /// A row-major tensor of [`SHAPE`].
    pub(super) fn new(name: &'static str, elem: ScalarType, data: Data) -> Self {
        Self { name, elem, shape: SHAPE.to_vec(), data, column_major: false }
    }

    pub(super) fn shape(mut self, shape: &[u32]) -> Self {
        self.shape = shape.to_vec();
        self
    }

    pub(super) fn column_major(mut self) -> Self {
        self.column_major = true;
        self
    }
}

/// A result that is stored.
#[derive(Clone)]
pub(super) struct Output {
    value: String,
    elem: ScalarType,
    shape: Vec<u32>,
    info: Info,
}

/// Lines of a kernel. `$` in the name of a value makes it this entry's own.
#[derive(Clone, Default)]
pub(super) struct Entry {
    lines: String,
    outputs: Vec<Output>,
    /// Further tensors, which the lines access themselves: name, type, extents, data, and what is known of the result.
    tensors: Vec<(String, ScalarType, Vec<u32>, Data, Info)>,
}

impl Entry {
    pub(super) fn new(lines: impl Into<String>) -> Self {
        Self { lines: lines.into(), ..Self::default() }
    }

    /// Stores a value, which is the same everywhere.
    pub(super) fn gives(self, value: &str, elem: ScalarType, shape: &[u32]) -> Self {
        self.gives_about(value, elem, shape, Info::ANY)
    }

    /// Stores a value that may differ as `info` says.
    pub(super) fn gives_about(mut self, value: &str, elem: ScalarType, shape: &[u32], info: Info) -> Self {
        self.outputs.push(Output { value: value.to_owned(), elem, shape: shape.to_vec(), info });
        self
    }

    /// A tensor that the lines read and write under this name.
    pub(super) fn tensor(mut self, name: &str, elem: ScalarType, shape: &[u32], data: Data) -> Self {
        self.tensors.push((name.to_owned(), elem, shape.to_vec(), data, Info::ANY));
        self
    }
}

/// The type of a tile, or of a scalar where there are no extents.
pub(super) fn tile(shape: &[u32], elem: ScalarType) -> String {
    if shape.is_empty() {
        return elem.to_string();
    }
    let extents: String = shape.iter().map(|n| format!("{n}x")).collect();
    format!("tile<{extents}{elem}>")
}

/// Four-bit integers have no form in memory; their eight-bit forms stand in for them there.
pub(super) fn stored(t: ScalarType) -> ScalarType {
    match t {
        ScalarType::I4 => ScalarType::I8,
        ScalarType::U4 => ScalarType::U8,
        t => t,
    }
}

/// Kernels that have these inputs and a few of the entries each.
pub(super) fn rows(name: &str, inputs: &[Input], entries: Vec<Entry>) -> Vec<Row> {
    let chunks = entries.chunks(ENTRIES).enumerate();
    chunks
        .map(|(i, entries)| {
            let name = format!("{name} {i}");
            let program = Sheet::new(i).program(inputs, entries, &name);
            Row { name, program }
        })
        .collect()
}

/// A kernel being written.
struct Sheet {
    params: Vec<String>,
    args: Vec<HostArg>,
    infos: Vec<Info>,
    body: String,
    number: usize,
}

impl Sheet {
    fn new(number: usize) -> Self {
        let body = "  %zero = constant 0 : i64\n  %one = constant 1 : i64\n".to_owned();
        Self { params: Vec::new(), args: Vec::new(), infos: Vec::new(), body, number }
    }

    fn line(&mut self, line: impl std::fmt::Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.body, "  {line}");
    }

    fn param(&mut self, name: &str, access: &str, tensor: HostTensor, info: Info) {
        self.params.push(format!("%{name}: view<{}d, {}> {access}", tensor.extents.len(), tensor.elem));
        self.args.push(HostArg::Tensor(tensor));
        self.infos.push(info);
    }

    fn tensor(&self, elem: ScalarType, shape: &[u32], data: Data, column_major: bool) -> HostTensor {
        let extents: Vec<i64> = shape.iter().map(|&n| n.into()).collect();
        let mut tensor = HostTensor::zeros(stored(elem), &extents);
        if column_major {
            let mut stride = 1;
            for (axis, &n) in extents.iter().enumerate() {
                tensor.strides[axis] = stride;
                stride *= n;
            }
        }
        let mut stream = Stream::new((self.args.len() + 100 * self.number) as u64);
        for index in element_indices(&tensor.extents, &tensor.strides, 0) {
            write_element(&mut tensor, index, data.element(elem, &mut stream));
        }
        tensor
    }

    fn program(mut self, inputs: &[Input], entries: &[Entry], name: &str) -> Program {
        for Input { name, elem, shape, data, column_major } in inputs {
            let tensor = self.tensor(*elem, shape, *data, *column_major);
            self.param(&format!("{name}_view"), "read", tensor, Info::ANY);
            let zeros = vec!["%zero"; shape.len()].join(", ");
            let memory = stored(*elem);
            if memory == *elem {
                self.line(format_args!("%{name} = load %{name}_view[{zeros}] : {}", tile(shape, *elem)));
            } else {
                self.line(format_args!("%{name}_stored = load %{name}_view[{zeros}] : {}", tile(shape, memory)));
                self.line(format_args!("%{name} = cast %{name}_stored : {}", tile(shape, *elem)));
            }
        }
        for (i, entry) in entries.iter().enumerate() {
            let own = |text: &str| text.replace('$', &i.to_string());
            for (name, elem, shape, data, info) in &entry.tensors {
                let tensor = self.tensor(*elem, shape, *data, false);
                self.param(&own(name), "read_write", tensor, *info);
            }
            self.line(own(&entry.lines));
            for (j, Output { value, elem, shape, info }) in entry.outputs.iter().enumerate() {
                let (value, memory) = (own(value), stored(*elem));
                let out = format!("out{i}_{j}");
                let extents: Vec<i64> = shape.iter().map(|&n| n.into()).collect();
                self.param(&out, "write", HostTensor::zeros(memory, &extents), *info);
                let zeros = vec!["%zero"; shape.len()].join(", ");
                if memory == *elem {
                    self.line(format_args!("store {value}, %{out}[{zeros}]"));
                } else {
                    self.line(format_args!("%{out}_stored = cast {value} : {}", tile(shape, memory)));
                    self.line(format_args!("store %{out}_stored, %{out}[{zeros}]"));
                }
            }
        }
        let warps = WARPS[self.number % WARPS.len()];
        let (params, body) = (self.params.join(", "), self.body);
        let text = format!("kernel @row({params}) num_warps({warps}) {{\n{body}  return\n}}\n");
        let function = parse_function(&text, name).unwrap_or_else(|e| panic!("{name}: {e}\n{text}"));
        Program { function, grid: [1, 1, 1], args: self.args, infos: self.infos }
    }
}
