//! The walk over ops, and values as registers.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use tegula_ir::analysis::axis_info::AxisInfo;
use tegula_ir::analysis::ranges::Ranges;
use tegula_ir::function::{Block, Function, Op, Value, ViewSpec};
use tegula_ir::layout::LinearLayout;
use tegula_ir::loc::Loc;
use tegula_ir::ops::OpKind;
use tegula_ir::types::{Elem, LayoutRef, ScalarType, TileType, Type};

use super::hazards::Hazards;
use super::shared_memory::SharedMemory;
use super::spread::Spread;
use super::target::GpuTarget;
use crate::emit::{Emitter, Val};
use crate::error::CodegenError;
use crate::session::{LineTable, SourceLocation};

/// The most elements of a tile that one thread may hold. A thread has about 250 registers of 32 bits and keeps the rest in
/// memory of its own, which is slow but works. The limit is there for LLVM, whose time grows with the square of the
/// number: for a softmax on sm_90a about 1 s of 128 elements a thread, 2 s of 256, 10 s of 512.
const MAX_REGISTERS: u32 = 512;

/// Shorthand of this module's results.
pub(super) type Result<T> = std::result::Result<T, CodegenError>;

/// The registers of a value in each thread.
pub(super) type Registers<'c> = Rc<[Val<'c>]>;

/// A value of Tile IR in each thread.
#[derive(Clone)]
pub(super) enum Lowered<'c> {
    /// A scalar (one register) or a tile (as many as its layout says).
    Registers(Registers<'c>),
    /// A tensor view.
    View(ViewValue<'c>),
}

/// A tensor view.
#[derive(Clone)]
pub(super) struct ViewValue<'c> {
    /// Address of the element at index zero.
    pub base: Val<'c>,
    /// Extents, `i64`.
    pub extents: Vec<Val<'c>>,
    /// Strides in elements, `i64`.
    pub strides: Vec<Val<'c>>,
    /// Element type.
    pub elem: ScalarType,
    /// What is known of it.
    pub spec: ViewSpec,
    /// The parameter that it is, if it is one.
    pub root: Option<u32>,
    /// Whether the kernel never writes it.
    pub read_only: bool,
}

impl<'c> Lowered<'c> {
    /// A scalar.
    pub(super) fn scalar(value: Val<'c>) -> Self {
        Lowered::Registers(Rc::from([value]))
    }

    /// All LLVM values that this consists of, for phis.
    pub(super) fn flatten(&self) -> Vec<Val<'c>> {
        match self {
            Lowered::Registers(registers) => registers.to_vec(),
            Lowered::View(view) => [view.base]
                .into_iter()
                .chain(view.extents.iter().copied())
                .chain(view.strides.iter().copied())
                .collect(),
        }
    }

    /// The same kind of value from other LLVM values, as [`Lowered::flatten`] gave them.
    pub(super) fn rebuild(&self, values: &[Val<'c>]) -> Self {
        match self {
            Lowered::Registers(_) => Lowered::Registers(values.into()),
            Lowered::View(view) => {
                let rank = view.extents.len();
                Lowered::View(ViewValue {
                    base: values[0],
                    extents: values[1..=rank].to_vec(),
                    strides: values[1 + rank..].to_vec(),
                    // A view that changes from iteration to iteration is no parameter any more.
                    spec: ViewSpec::default(),
                    root: None,
                    read_only: false,
                    elem: view.elem,
                })
            }
        }
    }
}

/// The state of lowering one function.
pub(super) struct Lowering<'a, 'c, 'm> {
    /// The function being lowered.
    pub f: &'a Function,
    /// Where instructions go.
    pub e: Emitter<'c, 'm>,
    /// The target.
    pub target: &'a dyn GpuTarget,
    /// This thread's number in its warp, `i32`.
    pub lane: Val<'c>,
    /// This thread's warp in its program, `i32`.
    pub warp: Val<'c>,
    /// This thread's number in its program, `i32`.
    pub thread: Val<'c>,
    /// The scratch area.
    pub shared: SharedMemory<'c>,
    /// Accesses to global memory since the last barrier.
    pub hazards: Hazards,
    /// Contiguity and divisibility of integers and pointers.
    pub axes: AxisInfo,
    ranges: Ranges,
    values: HashMap<Value, Lowered<'c>>,
    used: HashSet<Value>,
    lines: Option<LineTable>,
    loc: Loc,
}

impl<'a, 'c, 'm> Lowering<'a, 'c, 'm> {
    pub(super) fn new(
        f: &'a Function,
        e: Emitter<'c, 'm>,
        target: &'a dyn GpuTarget,
        lines: Option<LineTable>,
    ) -> Self {
        let arch = target.architecture();
        let thread = target.thread_id(&e);
        let lane = e.and(thread, e.i32(i64::from(arch.warp_size) - 1));
        let warp = if f.num_warps == 1 { e.i32(0) } else { e.lshr_const(thread, arch.warp_size.ilog2()) };
        let shared = SharedMemory::new(&e);
        let mut lowering = Lowering {
            f,
            e,
            target,
            lane,
            warp,
            thread,
            shared,
            hazards: Hazards::default(),
            axes: AxisInfo::compute(f),
            ranges: Ranges::compute(f),
            values: HashMap::new(),
            used: used_values(f),
            lines,
            loc: f.loc,
        };
        lowering.set_location(f.loc);
        lowering
    }

    /// Lowers the body. Gives the bytes of static and of dynamic shared memory.
    pub(super) fn run(mut self) -> Result<(u32, u32)> {
        self.block(self.f.body)?;
        let sizes = self.finish_shared_memory()?;
        self.target.finish_kernel(&self.e, self.e.function);
        if let Some(lines) = self.lines {
            lines.finish();
        }
        Ok(sizes)
    }

    // --- values ---

    /// Gives a value its registers.
    pub(super) fn set(&mut self, value: Value, lowered: Lowered<'c>) {
        self.values.insert(value, lowered);
    }

    /// Gives a value its registers.
    pub(super) fn set_registers(&mut self, value: Value, registers: Vec<Val<'c>>) {
        self.set(value, Lowered::Registers(registers.into()));
    }

    /// What a value is.
    pub(super) fn get(&self, value: Value) -> &Lowered<'c> {
        self.values.get(&value).expect("values are lowered before they are used")
    }

    /// Whether any op uses a value.
    pub(super) fn is_used(&self, value: Value) -> bool {
        self.used.contains(&value)
    }

    /// Whether an integer is certain not to be negative as an `i64`.
    pub(super) fn is_non_negative(&self, value: Value) -> bool {
        self.ranges.get(value).is_some_and(|r| 0 <= r.min && r.max <= i64::MAX.into())
    }

    /// The registers of a scalar or tile.
    pub(super) fn registers(&self, value: Value) -> Registers<'c> {
        match self.get(value) {
            Lowered::Registers(registers) => Rc::clone(registers),
            Lowered::View(_) => panic!("a view has no registers"),
        }
    }

    /// The one register of a scalar.
    pub(super) fn scalar(&self, value: Value) -> Val<'c> {
        self.registers(value)[0]
    }

    /// A view.
    pub(super) fn view(&self, value: Value) -> ViewValue<'c> {
        match self.get(value) {
            Lowered::View(view) => view.clone(),
            Lowered::Registers(_) => panic!("expected a view"),
        }
    }

    /// The registers of a tile brought to a layout; a scalar is its one register.
    pub(super) fn registers_in(&mut self, value: Value, layout: Option<&LinearLayout>) -> Result<Registers<'c>> {
        let (Some(layout), Type::Tile(tile)) = (layout, self.f.ty(value)) else { return Ok(self.registers(value)) };
        let from = self.layout_of(tile)?;
        let elem = tile.elem;
        let registers = self.registers(value);
        self.convert_registers(&registers, elem, &from, layout)
    }

    // --- types ---

    /// The layout of a tile.
    pub(super) fn layout_of(&self, tile: &TileType) -> Result<LayoutRef> {
        let layout = tile.layout.clone().ok_or_else(|| {
            self.invalid("a tile has no layout: run the pass `assign-layouts` before code generation")
        })?;
        let arch = self.target.architecture();
        let (lanes, warps) =
            (layout.in_size(tegula_ir::layout::Dim::Lane), layout.in_size(tegula_ir::layout::Dim::Warp));
        if lanes != arch.warp_size || warps != self.f.num_warps {
            return Err(self.invalid(format!(
                "a layout over {lanes} lanes and {warps} warps stands in a program of {} lanes and {} warps",
                arch.warp_size, self.f.num_warps
            )));
        }
        let registers = layout.in_size(tegula_ir::layout::Dim::Register);
        if registers > MAX_REGISTERS {
            let enough = self.f.num_warps * registers.div_ceil(MAX_REGISTERS).next_power_of_two();
            let way_out = if enough <= arch.max_threads / arch.warp_size {
                format!("use more warps ({enough} would do), or a smaller tile in a loop")
            } else {
                "no number of warps is enough; use a smaller tile in a loop".to_owned()
            };
            return Err(self.unsupported(
                "tile",
                format!("of {:?} with {registers} elements a thread", tile.shape),
                &format!("a thread holds at most {MAX_REGISTERS}; {way_out}"),
            ));
        }
        Ok(layout)
    }

    /// The tile type of a value and its layout; `None` for a scalar.
    pub(super) fn tile(&self, value: Value) -> Result<Option<(&'a TileType, LayoutRef)>> {
        match self.f.ty(value) {
            Type::Tile(tile) => Ok(Some((tile, self.layout_of(tile)?))),
            _ => Ok(None),
        }
    }

    /// The layout of a value; `None` for a scalar.
    pub(super) fn layout(&self, value: Value) -> Result<Option<LayoutRef>> {
        Ok(self.tile(value)?.map(|(_, layout)| layout))
    }

    /// The element of a scalar or tile.
    pub(super) fn elem(&self, value: Value) -> Elem {
        self.f.ty(value).elem().expect("the verifier has checked that this is a scalar or tile")
    }

    /// The number format of a scalar or tile of numbers.
    pub(super) fn number(&self, value: Value) -> ScalarType {
        self.elem(value).scalar().expect("the verifier has checked that this is a number")
    }

    /// The coordinates of a layout's registers in this thread.
    pub(super) fn spread(&self, layout: &LinearLayout) -> Spread<'c> {
        Spread::new(&self.e, layout, self.lane, self.warp)
    }

    // --- errors and locations ---

    /// Where the op being lowered comes from.
    pub(super) fn location(&self) -> String {
        self.f.locs.get(self.loc).to_string()
    }

    /// An error about Tile IR that earlier passes should not have let through.
    pub(super) fn invalid(&self, message: impl Into<String>) -> CodegenError {
        CodegenError::InvalidInput { location: self.location(), message: message.into() }
    }

    /// An error about something that the target does not have.
    pub(super) fn unsupported(&self, op: &str, what: impl Into<String>, way_out: &str) -> CodegenError {
        CodegenError::Unsupported {
            location: self.location(),
            op: op.to_owned(),
            what: what.into(),
            target: self.target.architecture().name.to_owned(),
            way_out: way_out.to_owned(),
        }
    }

    fn set_location(&mut self, loc: Loc) {
        self.loc = loc;
        if let Some(lines) = &mut self.lines {
            let at = self.f.locs.get(loc);
            let at = if at.line == 0 { self.f.locs.get(self.f.loc) } else { at };
            lines.set_location(&self.e.builder, SourceLocation { file: &at.file, line: at.line, column: at.column });
        }
    }

    // --- the walk ---

    /// Lowers the ops of a block, its terminator excepted.
    pub(super) fn block(&mut self, block: Block) -> Result<()> {
        for &op in &self.f.block(block).ops {
            self.set_location(self.f.op(op).loc);
            self.op(op)?;
        }
        Ok(())
    }

    /// Lowers a block that ends in `yield`, and gives the yielded values.
    pub(super) fn block_yielding(&mut self, block: Block) -> Result<Vec<Value>> {
        self.block(block)?;
        match self.f.terminator(block).map(|t| self.f.kind(t)) {
            Some(OpKind::Yield { values }) => Ok(values.to_vec()),
            _ => Err(self.invalid("a nested block does not end in `yield`")),
        }
    }

    fn op(&mut self, op: Op) -> Result<()> {
        let data = self.f.op(op);
        let results = &data.results;
        match &data.kind {
            OpKind::Constant { .. } | OpKind::Arange { .. } | OpKind::Splat { .. } => self.creation(op),
            OpKind::Broadcast { .. }
            | OpKind::Reshape { .. }
            | OpKind::Permute { .. }
            | OpKind::Flip { .. }
            | OpKind::Cat { .. }
            | OpKind::Join { .. }
            | OpKind::Split { .. }
            | OpKind::ExtractSlice { .. }
            | OpKind::InsertSlice { .. }
            | OpKind::GatherAxis { .. } => self.shape_op(op),
            OpKind::Unary { .. }
            | OpKind::Binary { .. }
            | OpKind::Compare { .. }
            | OpKind::Select { .. }
            | OpKind::Fma { .. }
            | OpKind::Cast { .. }
            | OpKind::Bitcast { .. }
            | OpKind::PtrAdd { .. } => self.elementwise(op),
            OpKind::Reduce { .. } | OpKind::ArgReduce { .. } | OpKind::ReduceWith { .. } => self.reduction(op),
            OpKind::Scan { .. } | OpKind::ScanWith { .. } => self.scan(op),
            OpKind::Dot { a, b, acc, precision } => self.dot(*a, *b, *acc, *precision, results[0]),
            OpKind::ProgramId { axis } => {
                let id = self.target.program_id(&self.e, *axis);
                let id = self.e.zext_or_trunc(id, 64);
                self.set(results[0], Lowered::scalar(id));
                Ok(())
            }
            OpKind::NumPrograms { axis } => {
                let count = self.target.num_programs(&self.e, *axis);
                let count = self.e.zext_or_trunc(count, 64);
                self.set(results[0], Lowered::scalar(count));
                Ok(())
            }
            OpKind::ViewExtent { view, axis } => {
                let extent = self.view(*view).extents[usize::from(*axis)];
                self.set(results[0], Lowered::scalar(extent));
                Ok(())
            }
            OpKind::ViewStride { view, axis } => {
                let stride = self.view(*view).strides[usize::from(*axis)];
                self.set(results[0], Lowered::scalar(stride));
                Ok(())
            }
            OpKind::ViewBase { view } => {
                let base = self.view(*view).base;
                self.set(results[0], Lowered::scalar(base));
                Ok(())
            }
            OpKind::MakeView { base, extents, strides } => {
                self.make_view(*base, extents, strides, results[0]);
                Ok(())
            }
            OpKind::Load { .. } => self.load(op),
            OpKind::Store { .. } => self.store(op),
            OpKind::AtomicRmw { .. } | OpKind::AtomicCas { .. } => self.atomic(op),
            OpKind::For { .. } => self.for_loop(op),
            OpKind::While { .. } => self.while_loop(op),
            OpKind::If { .. } => self.conditional(op),
            // Read by the op that owns the block.
            OpKind::Yield { .. } | OpKind::Condition { .. } => Ok(()),
            OpKind::Return => {
                self.e.builder.build_return(None).expect("the builder is positioned");
                Ok(())
            }
            OpKind::Barrier => {
                self.barrier();
                Ok(())
            }
            OpKind::Assume { x, .. } => {
                let lowered = match self.layout(results[0])? {
                    Some(layout) => Lowered::Registers(self.registers_in(*x, Some(&layout))?),
                    None => self.get(*x).clone(),
                };
                self.set(results[0], lowered);
                Ok(())
            }
            OpKind::Print { message, args } => self.print(message, args),
            OpKind::Assert { cond, message } => self.assert(*cond, message),
            OpKind::ConvertLayout { x, layout } => {
                let registers = self.registers_in(*x, Some(layout))?;
                self.set(results[0], Lowered::Registers(registers));
                Ok(())
            }
        }
    }
}

fn used_values(f: &Function) -> HashSet<Value> {
    let mut used = HashSet::new();
    f.walk(|_, op| {
        f.kind(op).for_each_operand(|value| {
            used.insert(value);
        })
    });
    used
}
