//! Ops that move elements within a tile: whether each thread has what it needs already, and in which registers.

use smallvec::SmallVec;

use super::matrix::{BitMatrix, Echelon, low_mask};
use super::{Dim, LinearLayout, Space, register_sources, reshape_is_linear};
use crate::function::{Function, Op};
use crate::ops::OpKind;
use crate::types::MAX_RANK;

/// Where a register of a result comes from: number of the operand, and its register in the same thread.
pub type Source = (usize, u32);

/// For an op of laid-out IR that only moves elements (`broadcast`, `reshape`, `permute`, `flip`, `cat`, `join`, `split`,
/// `extract_slice`, `insert_slice`, `convert_layout`): for each register of its result number `result`, where that
/// register's element is in the same thread. `None` if some thread needs an element of another thread, or the same
/// register would be filled differently by different threads: then the elements go through shared memory.
///
/// Registers that hold only padding get some source. A scalar has one register.
pub fn register_moves(f: &Function, op: Op, result: usize) -> Option<Vec<Source>> {
    let data = f.op(op);
    let Some(tile) = f.ty(data.results[result]).tile() else {
        // To a scalar from a tile of one element, which every thread holds.
        return matches!(data.kind, OpKind::Reshape { .. }).then(|| vec![(0, 0)]);
    };
    let layout = tile.layout.as_deref()?;
    let operands = data.kind.operands();
    let from = |operand: usize| f.ty(operands[operand]).layout().map(|layout| &**layout);
    let linear = |wanted: LinearLayout| {
        Some(register_sources(from(0)?, &wanted)?.into_iter().map(|register| (0, register)).collect())
    };
    match &data.kind {
        OpKind::Reshape { .. } if from(0).is_none() => Some(vec![(0, 0); layout.in_size(Dim::Register) as usize]),
        OpKind::ConvertLayout { .. } => linear(layout.clone()),
        OpKind::Broadcast { x, .. } => {
            let operand = Space::of_shape(f.ty(*x).shape()?);
            linear(layout.with_outs_from(operand, |space, index| {
                let kept = space.dims().filter(|&(_, bits)| bits > 0);
                space.flatten(&kept.map(|(dim, _)| (dim, layout.outs().coordinate(index, dim))).collect::<Vec<_>>())
            }))
        }
        OpKind::Permute { perm, .. } => {
            let mut inverse: SmallVec<[usize; MAX_RANK]> = smallvec::smallvec![0; perm.len()];
            for (to, &from) in perm.iter().enumerate() {
                inverse[usize::from(from)] = to;
            }
            linear(layout.permute(&inverse).ok()?)
        }
        OpKind::Reshape { x, shape } if reshape_is_linear(f.ty(*x).shape()?, shape) => {
            linear(layout.reshape(f.ty(*x).shape()?).ok()?)
        }
        kind => {
            let shapes: SmallVec<[&[u32]; 4]> = operands.iter().filter_map(|&v| f.ty(v).shape()).collect();
            let layouts: Option<Vec<&LinearLayout>> = (0..operands.len()).map(from).collect();
            let element = |at: &[u32]| source_element(kind, &shapes, result, at);
            elementwise_moves(layout, &tile.shape, &layouts?, element)
        }
    }
}

/// The operand and the coordinates in it that the element of a result at `at` comes from.
fn source_element(kind: &OpKind, shapes: &[&[u32]], result: usize, at: &[u32]) -> Option<(usize, Coordinates)> {
    let mut at: Coordinates = at.into();
    match kind {
        OpKind::Reshape { shape, .. } => {
            let index = at.iter().zip(shape).fold(0, |index, (&at, &extent)| index * extent + at);
            Some((0, split_index(index, shapes[0])))
        }
        OpKind::Flip { axis, .. } => {
            let axis = usize::from(*axis);
            at[axis] = shapes[0][axis] - 1 - at[axis];
            Some((0, at))
        }
        OpKind::Cat { axis, .. } => {
            let axis = usize::from(*axis);
            let mut operand = 0;
            while at[axis] >= shapes[operand][axis] {
                at[axis] -= shapes[operand][axis];
                operand += 1;
            }
            Some((operand, at))
        }
        OpKind::Join { .. } => {
            let operand = at.pop()? as usize;
            Some((operand, at))
        }
        OpKind::Split { .. } => {
            at.push(result as u32);
            Some((0, at))
        }
        OpKind::ExtractSlice { offsets, .. } => {
            for (at, offset) in at.iter_mut().zip(offsets) {
                *at += offset;
            }
            Some((0, at))
        }
        OpKind::InsertSlice { offsets, .. } => {
            let part: Option<Coordinates> = at
                .iter()
                .zip(offsets)
                .zip(shapes[0])
                .map(|((&at, &offset), &extent)| at.checked_sub(offset).filter(|&at| at < extent))
                .collect();
            Some(part.map_or((1, at), |part| (0, part)))
        }
        _ => None,
    }
}

type Coordinates = SmallVec<[u32; MAX_RANK + 1]>;

fn split_index(mut index: u32, shape: &[u32]) -> Coordinates {
    let mut at: Coordinates = shape
        .iter()
        .rev()
        .map(|&extent| {
            let coordinate = index % extent;
            index /= extent;
            coordinate
        })
        .collect();
    at.reverse();
    at
}

/// Looks at every element of every thread: the moves of these ops are not linear where extents are not powers of two.
fn elementwise_moves(
    layout: &LinearLayout,
    shape: &[u32],
    operands: &[&LinearLayout],
    element: impl Fn(&[u32]) -> Option<(usize, Coordinates)>,
) -> Option<Vec<Source>> {
    let registers_of = |operand: &&LinearLayout| Echelon::spanned_by(operand.bases(Dim::Register).iter().copied());
    let registers: Vec<Echelon> = operands.iter().map(registers_of).collect();
    let register_bits = layout.ins().bits(Dim::Register);
    let thread_bits = layout.ins().total_bits() - register_bits;
    let same_threads = operands.iter().all(|operand| {
        [Dim::Lane, Dim::Warp, Dim::Block].iter().all(|&dim| operand.in_size(dim) == layout.in_size(dim))
    });
    if !same_threads {
        return None;
    }
    // What each thread holds in its register 0, per operand: an element relative to it is a combination of registers.
    let bases: Vec<BitMatrix> = operands
        .iter()
        .map(|operand| {
            let own = operand.ins().bits(Dim::Register) as usize;
            BitMatrix::from_columns(operand.outs().total_bits(), operand.matrix().columns()[own..].to_vec())
        })
        .collect();
    let outs = layout.outs();
    let mut sources = Vec::new();
    for register in 0..1u64 << register_bits {
        let mut source: Option<Source> = None;
        for thread in 0..=low_mask(thread_bits) {
            let index = layout.apply_flat(register | thread << register_bits);
            let at: Coordinates = (0..shape.len()).map(|axis| outs.coordinate(index, Dim::Axis(axis as u8))).collect();
            if at.iter().zip(shape).any(|(at, extent)| at >= extent) {
                continue;
            }
            let (operand, from) = element(&at)?;
            let point: SmallVec<[(Dim, u32); MAX_RANK + 1]> =
                from.iter().enumerate().map(|(axis, &at)| (Dim::Axis(axis as u8), at)).collect();
            let wanted = operands[operand].outs().flatten(&point) ^ bases[operand].apply(thread);
            let found = (operand, registers[operand].express(wanted)? as u32);
            if *source.get_or_insert(found) != found {
                return None;
            }
        }
        sources.push(source.unwrap_or((0, 0)));
    }
    Some(sources)
}
