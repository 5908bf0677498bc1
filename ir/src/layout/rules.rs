//! Which layouts the operands and results of each op have in laid-out IR.
//!
//! Every op that handles tiles has one *working layout*; the layouts of its operands and results follow from it:
//!
//! | ops | working layout | operands | results |
//! |---|---|---|---|
//! | `constant` `arange` `splat` | the result's | | working |
//! | elementwise: arithmetic, `cmp` `select` `fma` `cast` `bitcast` `ptr_add` `assume` | common | working | working |
//! | `load` `store` `atomic_rmw` `atomic_cas` | common | working: pointers, indices, masks, values | working |
//! | `broadcast` | the result's | [squashed](LinearLayout::squash_axis) along the repeated axes | working |
//! | `permute`, `reshape` | the operand's | working | permuted, reshaped |
//! | `reduce` `arg_reduce` `reduce_with` | the operands' | working | the reduced axes [removed](LinearLayout::remove_axis) |
//! | `scan` `scan_with` | common | working | working |
//! | `dot` | the accumulator's and result's | `a` and `b` any; `acc` working | working |
//! | `gather_axis` | the result's | `x` any; `index` working | working |
//! | `join` | the result's | the last axis removed: a thread has both of what it may want | working |
//! | `split` | the operand's | working; [best](holds_pairs) with both elements of a pair in one thread | the last axis removed |
//! | `insert_slice` | the result's | `x` any; `into` working | working |
//! | `flip` `cat` `extract_slice`, and a `reshape` that is not [linear](super::reshape_is_linear) | the result's | any | working |
//! | `convert_layout` | its attribute | any | working |
//! | `print` `assert` | | any | |
//! | `for` `while` `if` | one for each carried value | the same for initial, passed and yielded values, arguments and results | |
//!
//! "Any" still means *some* layout that covers the tile; the op moves elements itself, through shared memory where
//! [`register_moves`](super::register_moves) finds no way without. Scalars have no layout and are the same in every
//! thread.

use smallvec::SmallVec;

use super::{Dim, LinearLayout, reshape_is_linear};
use crate::diag::Diagnostic;
use crate::function::{Block, Function, Op, Value};
use crate::ops::infer::OpError;
use crate::ops::{OpKind, Values};
use crate::types::{LayoutRef, Type};

/// Layouts of a list of values; `None` for scalars and views, and for tiles whose layout is free.
pub type Layouts = SmallVec<[Option<LayoutRef>; 4]>;

/// Where the working layout of an op is seen directly.
enum WorkingAt {
    /// It is that of this operand.
    Operand(usize),
    /// It is that of this result.
    Result(usize),
    /// The op has no tile that it is seen at, or its layouts are those of carried values.
    Nowhere,
}

fn is_tile(f: &Function, value: Value) -> bool {
    f.ty(value).tile().is_some()
}

/// Whether a reshape is between tiles and keeps the bits of the padded index.
fn is_linear_reshape(f: &Function, x: Value, shape: &[u32]) -> bool {
    !shape.is_empty() && f.ty(x).tile().is_some_and(|tile| reshape_is_linear(&tile.shape, shape))
}

fn working_at(f: &Function, kind: &OpKind, results: &[Value]) -> WorkingAt {
    let first_result = || match results.iter().position(|&v| is_tile(f, v)) {
        Some(result) => WorkingAt::Result(result),
        None => WorkingAt::Nowhere,
    };
    let first_operand = || match kind.operands().iter().position(|&v| is_tile(f, v)) {
        Some(operand) => WorkingAt::Operand(operand),
        None => WorkingAt::Nowhere,
    };
    match kind {
        OpKind::For { .. }
        | OpKind::While { .. }
        | OpKind::If { .. }
        | OpKind::Yield { .. }
        | OpKind::Condition { .. }
        | OpKind::Print { .. }
        | OpKind::Assert { .. } => WorkingAt::Nowhere,
        OpKind::Reduce { .. } | OpKind::ArgReduce { .. } | OpKind::ReduceWith { .. } => first_operand(),
        OpKind::Permute { .. } | OpKind::Split { .. } | OpKind::Store { .. } => first_operand(),
        OpKind::Reshape { x, shape } if is_linear_reshape(f, *x, shape) => first_operand(),
        _ => first_result(),
    }
}

/// The layouts that an op whose working layout is `work` asks of its operands, in the order of
/// [`OpKind::operands`]; `None` where any layout will do.
pub fn operand_layouts(f: &Function, kind: &OpKind, work: &LayoutRef) -> Layouts {
    let operands = kind.operands();
    let tile = |value: Value| is_tile(f, value);
    let all = || operands.iter().map(|&v| tile(v).then(|| work.clone())).collect::<Layouts>();
    let all_but = |free: usize| {
        let asked = |(i, &v): (usize, &Value)| (tile(v) && i >= free).then(|| work.clone());
        operands.iter().enumerate().map(asked).collect::<Layouts>()
    };
    let none = || smallvec::smallvec![None; operands.len()];
    match kind {
        OpKind::Broadcast { x, shape } => {
            let from = f.ty(*x).shape().unwrap_or(&[]);
            let repeated = (0..shape.len()).filter(|&axis| from[axis] != shape[axis]);
            let squashed = repeated
                .fold((**work).clone(), |layout, axis| layout.squash_axis(axis).expect("a broadcast keeps the rank"));
            smallvec::smallvec![Some(shared(squashed, work))]
        }
        OpKind::Join { a, .. } if tile(*a) => smallvec::smallvec![Some(without_last(work)); 2],
        OpKind::Join { .. } => none(),
        OpKind::Reshape { x, shape } if !is_linear_reshape(f, *x, shape) => none(),
        OpKind::Dot { .. } => all_but(2),
        OpKind::GatherAxis { .. } | OpKind::InsertSlice { .. } => all_but(1),
        OpKind::Flip { .. }
        | OpKind::Cat { .. }
        | OpKind::ExtractSlice { .. }
        | OpKind::ConvertLayout { .. }
        | OpKind::Print { .. }
        | OpKind::Assert { .. } => none(),
        _ => all(),
    }
}

/// The layouts of the op's results, of these types, when its working layout is `work`; `None` for scalars.
pub fn result_layouts(f: &Function, kind: &OpKind, results: &[Value], work: &LayoutRef) -> Layouts {
    let derived = match kind {
        OpKind::Permute { perm, .. } => {
            let order: SmallVec<[usize; 5]> = perm.iter().map(|&axis| usize::from(axis)).collect();
            shared(work.permute(&order).expect("the op's permutation is valid"), work)
        }
        OpKind::Reshape { x, shape } if is_linear_reshape(f, *x, shape) => {
            shared(work.reshape(shape).expect("a linear reshape keeps the count"), work)
        }
        OpKind::Reduce { axes, .. } => removed(work, axes),
        OpKind::ArgReduce { axis, .. } | OpKind::ReduceWith { axis, .. } => removed(work, &[*axis]),
        OpKind::Split { .. } => without_last(work),
        _ => work.clone(),
    };
    results.iter().map(|&v| is_tile(f, v).then(|| derived.clone())).collect()
}

/// The working layout with which the op gives its result `index` this layout, if there is one (and one only is sought).
pub fn work_for_result(f: &Function, kind: &OpKind, index: usize, layout: &LayoutRef) -> Option<LayoutRef> {
    match kind {
        OpKind::Permute { perm, .. } => {
            let mut inverse: SmallVec<[usize; 5]> = smallvec::smallvec![0; perm.len()];
            for (to, &from) in perm.iter().enumerate() {
                inverse[usize::from(from)] = to;
            }
            Some(shared(layout.permute(&inverse).ok()?, layout))
        }
        OpKind::Reshape { x, shape } if is_linear_reshape(f, *x, shape) => {
            Some(shared(layout.reshape(f.ty(*x).shape()?).ok()?, layout))
        }
        // A reduced layout does not say how the operand lay along the reduced axes.
        OpKind::Reduce { .. } | OpKind::ArgReduce { .. } | OpKind::ReduceWith { .. } => None,
        OpKind::Split { .. } => Some(LayoutRef::new(paired(layout))),
        _ if index == 0 || matches!(kind, OpKind::ScanWith { .. }) => Some(layout.clone()),
        _ => None,
    }
}

/// The working layout with which the op takes its operand `index` in this layout, if there is one (and one only is
/// sought). Ops that take any layout there have none.
pub fn work_for_operand(f: &Function, kind: &OpKind, index: usize, layout: &LayoutRef) -> Option<LayoutRef> {
    let work = match kind {
        OpKind::Join { .. } => LayoutRef::new(paired(layout)),
        OpKind::Broadcast { .. } => return None,
        OpKind::Split { .. } if !holds_pairs(layout) => return None,
        _ => layout.clone(),
    };
    let asked = operand_layouts(f, kind, &work);
    (asked.get(index)?.as_ref() == Some(layout)).then_some(work)
}

/// Equal layouts share their storage.
fn shared(layout: LinearLayout, like: &LayoutRef) -> LayoutRef {
    if layout == **like { like.clone() } else { LayoutRef::new(layout) }
}

fn removed(work: &LayoutRef, axes: &[u8]) -> LayoutRef {
    // From the last axis on, so that the numbers of those before stay.
    let rest = axes.iter().rev().fold((**work).clone(), |layout, &axis| {
        layout.remove_axis(usize::from(axis)).expect("the op's axes are valid")
    });
    LayoutRef::new(rest)
}

/// The layout with a last axis of extent 2 in the highest register bit.
fn paired(half: &LinearLayout) -> LinearLayout {
    let rank = half.outs().rank();
    half.insert_axis(rank).expect("an axis can follow the last").append_registers(rank, 1)
}

/// Whether each thread that holds an element holds the other one along the last axis, of extent 2, too.
pub fn holds_pairs(layout: &LinearLayout) -> bool {
    let pair = layout.outs().flatten(&[(Dim::Axis(layout.outs().rank() as u8 - 1), 1)]);
    layout.bases(Dim::Register).contains(&pair)
}

fn without_last(layout: &LayoutRef) -> LayoutRef {
    removed(layout, &[layout.outs().rank() as u8 - 1])
}

/// The working layout of an op in laid-out IR, if it handles tiles.
pub fn working_layout(f: &Function, op: Op) -> Option<LayoutRef> {
    let data = f.op(op);
    match working_at(f, &data.kind, &data.results) {
        WorkingAt::Operand(index) => f.ty(data.kind.operands()[index]).layout().cloned(),
        WorkingAt::Result(index) => f.ty(data.results[index]).layout().cloned(),
        WorkingAt::Nowhere => None,
    }
}

/// The tile type at which an op's working layout is seen, if the op handles tiles and has one.
pub fn working_type(f: &Function, op: Op) -> Option<&Type> {
    let data = f.op(op);
    match working_at(f, &data.kind, &data.results) {
        WorkingAt::Operand(index) => Some(f.ty(data.kind.operands()[index])),
        WorkingAt::Result(index) => Some(f.ty(data.results[index])),
        WorkingAt::Nowhere => None,
    }
}

/// Whether the tiles of the function have layouts: none of them, some, or all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LaidOut {
    /// No tile has one, or there are no tiles.
    None,
    /// Some have one: a part of laid-out IR, such as a test of one op.
    Partly,
    /// All have one, as after layout assignment.
    All,
}

/// How far the function has layouts.
pub fn laid_out(f: &Function) -> LaidOut {
    let (mut with, mut without) = (false, false);
    f.walk(|_, op| {
        let nested = f.kind(op).blocks();
        let args = nested.iter().flat_map(|&block| &f.block(block).args);
        for &value in f.op(op).results.iter().chain(args) {
            if let Some(tile) = f.ty(value).tile() {
                with |= tile.layout.is_some();
                without |= tile.layout.is_none();
            }
        }
    });
    match (with, without) {
        (false, _) => LaidOut::None,
        (true, true) => LaidOut::Partly,
        (true, false) => LaidOut::All,
    }
}

/// Checks a laid-out function, otherwise valid: all layouts are for the same numbers of lanes and warps, and every op's
/// layouts keep its rule. The [verifier](crate::verify::verify) calls this where [`laid_out`] says `All`.
///
/// # Errors
/// One diagnostic for each op that breaks a rule.
pub fn check(f: &Function) -> Result<(), Vec<Diagnostic>> {
    let mut errors = Vec::new();
    let mut lanes: Option<u32> = None;
    f.walk(|_, op| {
        if let Err(error) = check_op(f, op, &mut lanes) {
            let mut diagnostic = Diagnostic::error(error.message).at(f.locs.get(f.op(op).loc));
            diagnostic.help.extend(error.help);
            errors.push(diagnostic);
        }
    });
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn check_op(f: &Function, op: Op, lanes: &mut Option<u32>) -> Result<(), OpError> {
    let data = f.op(op);
    let name = data.kind.mnemonic();
    let arguments = match &data.kind {
        OpKind::ReduceWith { .. } | OpKind::ScanWith { .. } => Values::new(),
        kind => kind.blocks().iter().flat_map(|&block| f.block(block).args.to_vec()).collect(),
    };
    for &value in data.results.iter().chain(&arguments) {
        check_value(f, value, name, lanes)?;
    }
    let operands = data.kind.operands();
    if let Some(work) = working_layout(f, op) {
        for (i, (asked, &value)) in operand_layouts(f, &data.kind, &work).iter().zip(&operands).enumerate() {
            expect(asked, f.ty(value), || format!("operand {i} of {name}"))?;
        }
        let given = result_layouts(f, &data.kind, &data.results, &work);
        for (i, (asked, &value)) in given.iter().zip(&data.results).enumerate() {
            expect(asked, f.ty(value), || format!("result {i} of {name}"))?;
        }
    }
    if let OpKind::ConvertLayout { layout, .. } = &data.kind {
        expect(&Some(layout.clone()), f.ty(data.results[0]), || format!("the result of {name}"))?;
    }
    check_carried(f, op)
}

/// A value that a control op carries: into, around and out of its nested blocks. All its forms have one layout.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Carried {
    /// What the control op defines: block arguments and results.
    pub defines: Vec<Value>,
    /// What it takes, as operands of ops: initial values of the control op, values of the terminators inside.
    pub takes: Vec<(Op, usize)>,
}

/// The values that a control op carries.
pub fn carried_values(f: &Function, op: Op) -> Vec<Carried> {
    let data = f.op(op);
    // A terminator with the number of operands before the values that it passes on.
    let end = |block: Block| {
        let terminator = f.terminator(block)?;
        let first = usize::from(matches!(f.kind(terminator), OpKind::Condition { .. }));
        Some((terminator, first))
    };
    let carry = |count: usize, defines: &[&[Value]], takes: &[Option<(Op, usize)>]| {
        let one = |i: usize| Carried {
            defines: defines.iter().filter_map(|list| list.get(i).copied()).collect(),
            takes: takes.iter().flatten().map(|&(op, first)| (op, first + i)).collect(),
        };
        (0..count).map(one).collect::<Vec<_>>()
    };
    match &data.kind {
        OpKind::For { init, body, .. } => {
            let args = f.block(*body).args.get(1..).unwrap_or(&[]);
            carry(init.len(), &[args, &data.results], &[Some((op, 3)), end(*body)])
        }
        OpKind::While { init, cond, body } => {
            let mut carried = carry(init.len(), &[&f.block(*cond).args], &[Some((op, 0)), end(*body)]);
            carried.extend(carry(data.results.len(), &[&f.block(*body).args, &data.results], &[end(*cond)]));
            carried
        }
        OpKind::If { then_block, else_block, .. } => {
            carry(data.results.len(), &[&data.results], &[end(*then_block), end(*else_block)])
        }
        _ => Vec::new(),
    }
}

fn check_carried(f: &Function, op: Op) -> Result<(), OpError> {
    for carried in carried_values(f, op) {
        let Some(layout) = carried.defines.first().and_then(|&v| f.ty(v).layout()) else { continue };
        let taken = carried.takes.iter().filter_map(|&(op, index)| f.kind(op).operands().get(index).copied());
        for value in carried.defines.iter().copied().chain(taken) {
            expect(&Some(layout.clone()), f.ty(value), || format!("a value carried by {}", f.kind(op).mnemonic()))?;
        }
    }
    Ok(())
}

fn expect(asked: &Option<LayoutRef>, ty: &Type, what: impl Fn() -> String) -> Result<(), OpError> {
    match (asked, ty.layout()) {
        (Some(asked), Some(found)) if asked != found => {
            Err(OpError::new(format!("{} must have layout `{asked}`, found `{found}`", what()))
                .help("insert a convert_layout, or run assign-layouts on IR without layouts"))
        }
        _ => Ok(()),
    }
}

fn check_value(f: &Function, value: Value, name: &str, lanes: &mut Option<u32>) -> Result<(), OpError> {
    let Some(layout) = f.ty(value).layout() else { return Ok(()) };
    if let Some((dim, _)) = layout.ins().dims().find(|(dim, _)| !Dim::HARDWARE.contains(dim)) {
        return Err(OpError::new(format!("layout `{layout}` of {name} is over {dim}, which no thread has"))
            .help("the layout of a tile is over reg, lane and warp"));
    }
    let (own_lanes, warps) = (layout.in_size(Dim::Lane), layout.in_size(Dim::Warp));
    if *lanes.get_or_insert(own_lanes) != own_lanes || warps != f.num_warps {
        return Err(OpError::new(format!(
            "layout `{layout}` of {name} is for {warps} warps of {own_lanes} lanes in a kernel of {} warps of {} lanes",
            f.num_warps,
            lanes.unwrap_or(own_lanes)
        )));
    }
    Ok(())
}
