//! Printing modules, functions and ops.

use std::collections::HashMap;
use std::fmt::{self, Display, Write};

use super::names::Names;
use super::scalar::{literal_text, name_text, quoted};
use crate::function::{Block, Function, Grid, Module, Op, Param, ParamKind, Value, ViewAccess, ViewSpec};
use crate::layout::LinearLayout;
use crate::loc::{Loc, SourceLoc};
use crate::ops::{Access, Address, AxisSet, CacheHint, DotPrecision, Fact, LoopHints, OpKind, Rounding};
use crate::types::{TileType, Type};

/// How source locations are printed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum LocStyle {
    /// Not at all.
    #[default]
    None,
    /// At each op: `loc("file.rs":3:7)`.
    Inline,
    /// At each op as a name, `loc(#loc3)`, with a table of the places at the start of the text.
    Table,
}

/// How to print.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PrintOptions {
    /// Source locations.
    pub locs: LocStyle,
}

/// The text of a module.
pub fn print_module(module: &Module, options: &PrintOptions) -> String {
    print(module.functions.iter(), options)
}

/// The text of a function: that of a module with this function alone.
pub fn print_function(function: &Function, options: &PrintOptions) -> String {
    print([function].into_iter(), options)
}

impl fmt::Display for Module {
    /// The text without source locations.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print_module(self, &PrintOptions::default()))
    }
}

impl fmt::Display for Function {
    /// The text without source locations.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print_function(self, &PrintOptions::default()))
    }
}

/// Kernel headers longer than this are split over lines.
const MAX_HEADER: usize = 100;

fn print<'a>(functions: impl Iterator<Item = &'a Function>, options: &PrintOptions) -> String {
    let mut aliases = Aliases::default();
    let mut bodies = String::new();
    for (i, function) in functions.enumerate() {
        if i > 0 {
            bodies.push('\n');
        }
        let mut printer = Printer {
            f: function,
            names: Names::new(function),
            out: std::mem::take(&mut bodies),
            indent: 0,
            locs: options.locs,
            aliases: &mut aliases,
        };
        printer.function();
        bodies = printer.out;
    }
    let mut text = String::new();
    for (i, layout) in aliases.layouts.iter().enumerate() {
        let _ = writeln!(text, "#l{i} = layout<{layout}>");
    }
    for (i, loc) in aliases.locs.iter().enumerate() {
        let _ = writeln!(text, "#loc{i} = loc({})", place(loc));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text + &bodies
}

fn place(loc: &SourceLoc) -> String {
    format!("{}:{}:{}", quoted(&loc.file), loc.line, loc.column)
}

/// Layouts and places named at the start of the text, in the order of their first use.
#[derive(Default)]
struct Aliases<'a> {
    layouts: Vec<&'a LinearLayout>,
    layout_numbers: HashMap<&'a LinearLayout, usize>,
    locs: Vec<&'a SourceLoc>,
    loc_numbers: HashMap<&'a SourceLoc, usize>,
}

impl<'a> Aliases<'a> {
    fn layout(&mut self, layout: &'a LinearLayout) -> usize {
        *self.layout_numbers.entry(layout).or_insert_with(|| {
            self.layouts.push(layout);
            self.layouts.len() - 1
        })
    }

    fn loc(&mut self, loc: &'a SourceLoc) -> usize {
        *self.loc_numbers.entry(loc).or_insert_with(|| {
            self.locs.push(loc);
            self.locs.len() - 1
        })
    }
}

struct Printer<'a, 'b> {
    f: &'a Function,
    names: Names,
    out: String,
    indent: usize,
    locs: LocStyle,
    aliases: &'b mut Aliases<'a>,
}

/// Appends formatted text; writing to a `String` cannot fail.
macro_rules! put {
    ($p:expr, $($arg:tt)*) => {{ let _ = write!($p.out, $($arg)*); }};
}

impl<'a> Printer<'a, '_> {
    fn function(&mut self) {
        let f = self.f;
        put!(self, "kernel @{}", name_text(&f.name));
        let params: Vec<String> = f.params.iter().map(|p| self.param(p)).collect();
        let mut clauses = Vec::new();
        if let Grid::Tiles { outputs } = &f.grid {
            let outputs: Vec<String> = outputs
                .iter()
                .map(|(index, shape)| {
                    let param = match f.params.get(*index as usize) {
                        Some(p) => self.names.get(p.value),
                        None => index.to_string(),
                    };
                    format!("{param} = {shape:?}")
                })
                .collect();
            clauses.push(format!("grid({})", outputs.join(", ")));
        }
        if !f.dims.is_empty() {
            let dims: Vec<String> = f.dims.iter().map(|(d, n)| format!("{} = {n}", name_text(d))).collect();
            clauses.push(format!("dims({})", dims.join(", ")));
        }
        if f.num_warps != Function::DEFAULT_NUM_WARPS {
            clauses.push(format!("num_warps({})", f.num_warps));
        }
        if f.num_stages != Function::DEFAULT_NUM_STAGES {
            clauses.push(format!("num_stages({})", f.num_stages));
        }
        let short = format!("({})", params.join(", "));
        let clauses = clauses.join(" ");
        if f.name.len() + short.len() + clauses.len() <= MAX_HEADER {
            put!(self, "{short}{}{clauses}", if clauses.is_empty() { "" } else { " " });
        } else {
            put!(self, "(\n    {}\n)", params.join(",\n    "));
            put!(self, "{}{clauses}", if clauses.is_empty() { "" } else { " " });
        }
        self.loc(f.loc);
        self.out.push(' ');
        self.block(f.body);
        self.out.push('\n');
    }

    fn param(&mut self, p: &'a Param) -> String {
        let mut text = self.names.get(p.value);
        if self.f.value(p.value).name.as_deref() != Some(&p.name) {
            let _ = write!(text, " as {}", name_text(&p.name));
        }
        let _ = write!(text, ": {}", p.kind.ty());
        match &p.kind {
            ParamKind::View { access, spec, .. } => {
                text += match access {
                    ViewAccess::Read => " read",
                    ViewAccess::Write => " write",
                    ViewAccess::ReadWrite => " read_write",
                };
                text += &attributes(&spec_attributes(spec));
            }
            ParamKind::Scalar { divisor: 1, .. } | ParamKind::Ptr { align: 0, .. } => {}
            ParamKind::Scalar { divisor, .. } => text += &format!(" {{divisor = {divisor}}}"),
            ParamKind::Ptr { align, .. } => text += &format!(" {{align = {align}}}"),
        }
        text
    }

    /// A block in braces.
    fn block(&mut self, block: Block) {
        self.out.push_str("{\n");
        self.indent += 1;
        for &op in &self.f.block(block).ops {
            let _ = write!(self.out, "{:1$}", "", 2 * self.indent);
            self.op(op);
            self.out.push('\n');
        }
        self.indent -= 1;
        let _ = write!(self.out, "{:1$}}}", "", 2 * self.indent);
    }

    /// The arguments of a block in parentheses, with types.
    fn block_args(&mut self, block: Block) {
        let args: Vec<String> = self
            .f
            .block(block)
            .args
            .iter()
            .map(|&v| format!("{}: {}", self.names.get(v), self.ty(self.f.ty(v))))
            .collect();
        put!(self, "({})", args.join(", "));
    }

    /// Carried values of a loop: `(%a = %b, %c = %d)`. The type of an argument is that of its initial value, and
    /// written where it is not.
    fn carried(&mut self, args: &[Value], init: &[Value]) {
        let mut texts = Vec::new();
        for (i, &arg) in args.iter().enumerate() {
            let mut text = self.names.get(arg);
            match init.get(i) {
                Some(&v) => {
                    if self.f.ty(arg) != self.f.ty(v) {
                        text += &format!(": {}", self.ty(self.f.ty(arg)));
                    }
                    text += &format!(" = {}", self.names.get(v));
                }
                // The function is invalid then; show what there is.
                None => text += &format!(": {} = ?", self.ty(self.f.ty(arg))),
            }
            texts.push(text);
        }
        texts.extend(init.iter().skip(args.len()).map(|&v| format!("? = {}", self.names.get(v))));
        put!(self, "({})", texts.join(", "));
    }

    fn ty(&mut self, ty: &'a Type) -> String {
        match ty {
            Type::Tile(TileType { layout: Some(layout), .. }) => {
                let mut text = ty.to_string();
                text.truncate(text.len() - 1);
                format!("{text}, #l{}>", self.aliases.layout(layout))
            }
            _ => ty.to_string(),
        }
    }

    fn list(&self, values: &[Value]) -> String {
        let names: Vec<String> = values.iter().map(|&v| self.names.get(v)).collect();
        names.join(", ")
    }

    fn result_types(&mut self, op: Op) -> String {
        let types: Vec<String> = self.f.op(op).results.iter().map(|&v| self.ty(self.f.ty(v))).collect();
        types.join(", ")
    }

    /// The types of the results of an op with nested blocks, before its first block.
    fn arrow_types(&mut self, op: Op) {
        if !self.f.op(op).results.is_empty() {
            let types = self.result_types(op);
            put!(self, " -> {types}");
        }
        self.out.push(' ');
    }

    fn loc(&mut self, loc: Loc) {
        let place_of = self.f.locs.get(loc);
        match self.locs {
            LocStyle::None => {}
            _ if loc == Loc::UNKNOWN => self.out.push_str(" loc(unknown)"),
            LocStyle::Inline => put!(self, " loc({})", place(place_of)),
            LocStyle::Table => put!(self, " loc(#loc{})", self.aliases.loc(place_of)),
        }
    }

    fn op(&mut self, op: Op) {
        let f = self.f;
        if !f.op(op).results.is_empty() {
            put!(self, "{} = ", self.list(&f.op(op).results));
        }
        match f.kind(op) {
            OpKind::For { .. }
            | OpKind::While { .. }
            | OpKind::If { .. }
            | OpKind::ReduceWith { .. }
            | OpKind::ScanWith { .. } => self.structured(op),
            kind => {
                self.simple(op, kind);
                if !f.op(op).results.is_empty() {
                    let types = self.result_types(op);
                    put!(self, " : {types}");
                }
            }
        }
        self.loc(f.op(op).loc);
    }

    /// An op with nested blocks.
    fn structured(&mut self, op: Op) {
        let f = self.f;
        match f.kind(op) {
            OpKind::For { lower, upper, step, init, body, hints } => {
                let args = &f.block(*body).args;
                let (iv, carried) = match args.split_first() {
                    Some((&iv, carried)) => (self.names.get(iv), carried),
                    None => ("?".to_owned(), &[][..]),
                };
                put!(self, "for {iv}");
                if let Some(&iv) = args.first()
                    && f.ty(iv) != f.ty(*lower)
                {
                    let ty = self.ty(f.ty(iv));
                    put!(self, ": {ty}");
                }
                let [lower, upper, step] = [lower, upper, step].map(|&v| self.names.get(v));
                put!(self, " = {lower} to {upper} step {step}");
                if !init.is_empty() || !carried.is_empty() {
                    put!(self, " iter");
                    self.carried(carried, init);
                }
                put!(self, "{}", hints_text(hints));
                self.arrow_types(op);
                self.block(*body);
            }
            OpKind::While { init, cond, body } => {
                put!(self, "while");
                let args = &f.block(*cond).args;
                if !init.is_empty() || !args.is_empty() {
                    put!(self, " ");
                    self.carried(args, init);
                }
                self.arrow_types(op);
                self.block(*cond);
                put!(self, " do ");
                if !f.block(*body).args.is_empty() {
                    self.block_args(*body);
                    put!(self, " ");
                }
                self.block(*body);
            }
            OpKind::If { cond, then_block, else_block } => {
                put!(self, "if {}", self.names.get(*cond));
                self.arrow_types(op);
                self.block(*then_block);
                if !self.is_implied_else(op, *else_block) {
                    put!(self, " else ");
                    self.block(*else_block);
                }
            }
            OpKind::ReduceWith { inputs, axis, body } => {
                put!(self, "reduce_with {} axis {axis} ", self.list(inputs));
                self.block_args(*body);
                self.arrow_types(op);
                self.block(*body);
            }
            OpKind::ScanWith { inputs, axis, reverse, body } => {
                let reverse = if *reverse { " reverse" } else { "" };
                put!(self, "scan_with {} axis {axis}{reverse} ", self.list(inputs));
                self.block_args(*body);
                self.arrow_types(op);
                self.block(*body);
            }
            _ => unreachable!("only called for ops with nested blocks"),
        }
    }

    /// Whether the else block is the one that is made where none is written: a `yield` of nothing, at the place of
    /// the `if`.
    fn is_implied_else(&self, op: Op, else_block: Block) -> bool {
        let block = self.f.block(else_block);
        let [only] = block.ops[..] else { return false };
        let data = self.f.op(only);
        block.args.is_empty()
            && matches!(&data.kind, OpKind::Yield { values } if values.is_empty())
            && (self.locs == LocStyle::None || data.loc == self.f.op(op).loc)
    }

    /// An op without nested blocks: its name, operands and attributes.
    fn simple(&mut self, op: Op, kind: &'a OpKind) {
        let name = |v: &Value| self.names.get(*v);
        let name = &name;
        let mnemonic = kind.mnemonic();
        let text = match kind {
            OpKind::Constant { value, ty } => format!("constant {}", literal_text(*value, ty.elem_scalar())),
            OpKind::Arange { axis, start: 0, .. } => format!("arange axis {axis}"),
            OpKind::Arange { axis, start, .. } => format!("arange axis {axis} from {start}"),
            OpKind::Splat { x, .. }
            | OpKind::Broadcast { x, .. }
            | OpKind::Reshape { x, .. }
            | OpKind::Split { x }
            | OpKind::Bitcast { x, .. } => format!("{mnemonic} {}", name(x)),
            OpKind::Permute { x, perm } => format!("permute {} {perm:?}", name(x)),
            OpKind::Flip { x, axis } => format!("flip {} axis {axis}", name(x)),
            OpKind::Cat { parts, axis } => format!("cat {} axis {axis}", self.list(parts)),
            OpKind::Join { a, b } => format!("join {}, {}", name(a), name(b)),
            OpKind::ExtractSlice { x, offsets, .. } => format!("extract_slice {} {offsets:?}", name(x)),
            OpKind::InsertSlice { x, into, offsets } => {
                format!("insert_slice {} into {} {offsets:?}", name(x), name(into))
            }
            OpKind::GatherAxis { x, index, axis } => format!("gather_axis {}, {} axis {axis}", name(x), name(index)),
            OpKind::Unary { x, fast, .. } => {
                format!("{mnemonic} {}{}", name(x), if *fast { " {fast}" } else { "" })
            }
            OpKind::Binary { a, b, .. } => format!("{mnemonic} {}, {}", name(a), name(b)),
            OpKind::Compare { op, a, b } => format!("cmp {op} {}, {}", name(a), name(b)),
            OpKind::Select { cond, a, b } => format!("select {}, {}, {}", name(cond), name(a), name(b)),
            OpKind::Fma { a, b, c } => format!("fma {}, {}, {}", name(a), name(b), name(c)),
            OpKind::Cast { x, rounding, saturate, .. } => {
                let mut attrs = Vec::new();
                if *rounding != Rounding::NearestEven {
                    attrs.push(format!("rounding = {rounding}"));
                }
                if *saturate {
                    attrs.push("saturate".to_owned());
                }
                format!("cast {}{}", name(x), attributes(&attrs))
            }
            OpKind::Reduce { kind, x, axes } => format!("reduce {kind} {} axes {axes:?}", name(x)),
            OpKind::ArgReduce { kind, x, axis } => format!("arg_reduce {kind} {} axis {axis}", name(x)),
            OpKind::Scan { kind, x, axis, reverse } => {
                format!("scan {kind} {} axis {axis}{}", name(x), if *reverse { " reverse" } else { "" })
            }
            OpKind::Dot { a, b, acc, precision } => {
                let precision = match precision {
                    DotPrecision::Ieee => String::new(),
                    p => format!(" {{precision = {p}}}"),
                };
                format!("dot {}, {}, {}{precision}", name(a), name(b), name(acc))
            }
            OpKind::ProgramId { axis } | OpKind::NumPrograms { axis } => format!("{mnemonic} {axis}"),
            OpKind::ViewExtent { view, axis } | OpKind::ViewStride { view, axis } => {
                format!("{mnemonic} {} axis {axis}", name(view))
            }
            OpKind::ViewBase { view } => format!("view_base {}", name(view)),
            OpKind::MakeView { base, extents, strides } => {
                format!("make_view {} extents [{}] strides [{}]", name(base), self.list(extents), self.list(strides))
            }
            OpKind::PtrAdd { ptr, offset } => format!("ptr_add {}, {}", name(ptr), name(offset)),
            OpKind::Load { addr, mask, pad, access } => {
                let shape = self.f.op(op).results.first().and_then(|&v| self.f.ty(v).shape());
                let mut text = format!("load {}", self.address(addr, shape));
                if let Some(mask) = mask {
                    text += &format!(" mask {}", name(mask));
                }
                if let Some(pad) = pad {
                    text += &format!(" pad {}", name(pad));
                }
                text + &in_bounds(addr) + &access_text(access)
            }
            OpKind::Store { addr, value, mask, access } => {
                format!("store {}, {}", name(value), self.address(addr, self.f.ty(*value).shape()))
                    + &self.mask_text(mask)
                    + &in_bounds(addr)
                    + &access_text(access)
            }
            OpKind::AtomicRmw { op, addr, value, mask, ordering, scope } => {
                format!("atomic_rmw {op} {}, {}", name(value), self.address(addr, self.f.ty(*value).shape()))
                    + &self.mask_text(mask)
                    + &in_bounds(addr)
                    + &format!(" {{ordering = {ordering}, scope = {scope}}}")
            }
            OpKind::AtomicCas { addr, compare, value, mask, ordering, scope } => {
                let address = self.address(addr, self.f.ty(*value).shape());
                format!("atomic_cas {}, {}, {address}", name(compare), name(value))
                    + &self.mask_text(mask)
                    + &in_bounds(addr)
                    + &format!(" {{ordering = {ordering}, scope = {scope}}}")
            }
            OpKind::Yield { values } if values.is_empty() => "yield".to_owned(),
            OpKind::Yield { values } => format!("yield {}", self.list(values)),
            OpKind::Condition { cond, values } if values.is_empty() => format!("condition {}", name(cond)),
            OpKind::Condition { cond, values } => format!("condition {}({})", name(cond), self.list(values)),
            OpKind::Return | OpKind::Barrier => mnemonic.to_owned(),
            OpKind::Assume { x, fact } => {
                let fact = match fact {
                    Fact::Divisible(n) => format!("divisible {n}"),
                    Fact::Bounded { min, max } => format!("bounded {min} to {max}"),
                    Fact::Contiguous { axis, n } => format!("contiguous axis {axis} length {n}"),
                };
                format!("assume {} {fact}", name(x))
            }
            OpKind::Print { message, args } => {
                let args: String = args.iter().map(|v| format!(", {}", name(v))).collect();
                format!("print {}{args}", quoted(message))
            }
            OpKind::Assert { cond, message } => format!("assert {}, {}", name(cond), quoted(message)),
            OpKind::ConvertLayout { x, .. } => format!("convert_layout {}", name(x)),
            OpKind::For { .. }
            | OpKind::While { .. }
            | OpKind::If { .. }
            | OpKind::ReduceWith { .. }
            | OpKind::ScanWith { .. } => unreachable!("printed by `structured`"),
        };
        self.out.push_str(&text);
    }

    /// An address. The extents of a box are those of the value beside it, and written where they are not.
    fn address(&self, addr: &Address, value_shape: Option<&[u32]>) -> String {
        match addr {
            Address::Tile { view, offsets, shape, .. } => {
                let mut text = format!("{}[{}]", self.names.get(*view), self.list(offsets));
                if value_shape != Some(&shape[..]) {
                    text += &format!(" extents {shape:?}");
                }
                text
            }
            Address::Gather { view, indices, .. } => {
                format!("{} gather [{}]", self.names.get(*view), self.list(indices))
            }
            Address::Ptr { ptr } => self.names.get(*ptr),
        }
    }

    fn mask_text(&self, mask: &Option<Value>) -> String {
        mask.map_or_else(String::new, |m| format!(" mask {}", self.names.get(m)))
    }
}

fn in_bounds(addr: &Address) -> String {
    let set = match addr {
        Address::Tile { in_bounds, .. } | Address::Gather { in_bounds, .. } => *in_bounds,
        Address::Ptr { .. } => AxisSet::NONE,
    };
    if set == AxisSet::NONE {
        return String::new();
    }
    let axes: Vec<usize> = (0..8).filter(|&axis| set.contains(axis)).collect();
    format!(" in_bounds {axes:?}")
}

/// A brace-enclosed list with a space before it, or nothing where there is nothing to say.
fn attributes<T: Display>(attrs: &[T]) -> String {
    if attrs.is_empty() {
        return String::new();
    }
    let attrs: Vec<String> = attrs.iter().map(T::to_string).collect();
    format!(" {{{}}}", attrs.join(", "))
}

fn access_text(access: &Access) -> String {
    let mut attrs = Vec::new();
    if access.cache != CacheHint::Default {
        attrs.push(format!("cache = {}", access.cache));
    }
    if access.volatile {
        attrs.push("volatile".to_owned());
    }
    attributes(&attrs)
}

fn spec_attributes(spec: &ViewSpec) -> Vec<String> {
    let mut attrs = Vec::new();
    if spec.align != 0 {
        attrs.push(format!("align = {}", spec.align));
    }
    if spec.unit_inner {
        attrs.push("unit_inner".to_owned());
    }
    if !spec.extent_divisor.is_empty() {
        attrs.push(format!("extent_divisor = {:?}", spec.extent_divisor));
    }
    if !spec.stride_divisor.is_empty() {
        attrs.push(format!("stride_divisor = {:?}", spec.stride_divisor));
    }
    if spec.fits_32 {
        attrs.push("fits_32".to_owned());
    }
    if spec.no_alias {
        attrs.push("no_alias".to_owned());
    }
    attrs
}

fn hints_text(hints: &LoopHints) -> String {
    let mut texts = Vec::new();
    if let Some(n) = hints.stages {
        texts.push(format!("stages = {n}"));
    }
    if let Some(n) = hints.unroll {
        texts.push(format!("unroll = {n}"));
    }
    if hints.warp_specialize {
        texts.push("warp_specialize".to_owned());
    }
    if hints.flatten {
        texts.push("flatten".to_owned());
    }
    if texts.is_empty() { String::new() } else { format!(" hints({})", texts.join(", ")) }
}
