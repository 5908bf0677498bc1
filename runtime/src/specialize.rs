//! Classes of arguments: what is promised to the compiler of each argument of a launch.
//!
//! Few classes, so that a size which changes from launch to launch does not compile the kernel again and again. An
//! extent or stride is a multiple of 16 or it is nothing special; an address is a multiple of 16 bytes or of the
//! element's size. Sizes 1, 3, 16 and 17 give two classes.

use tegula_ir::function::ViewSpec;
use tegula_ir::types::ScalarType;
use tegula_lang::kernel::build::ArgSpec;

use crate::backend::{Arg, Memory};

/// Extents, strides and integers that are multiples of this are worth knowing.
const DIVISOR: u32 = 16;

/// What can be promised of each argument. `written` tells which ones the kernel writes.
pub fn specialize(args: &[Arg], written: &[bool]) -> Vec<ArgSpec> {
    (0..args.len())
        .map(|i| match &args[i] {
            Arg::View { memory, offset, elem, extents, strides } => {
                let mut spec = view_spec(&**memory, *offset, *elem, extents, strides);
                spec.no_alias =
                    (0..args.len()).all(|j| i == j || !(written[i] || written[j]) || apart(&args[i], &args[j]));
                ArgSpec { view: spec, ..ArgSpec::default() }
            }
            Arg::Scalar(_) => ArgSpec::default(),
            Arg::Ptr { memory, offset } => {
                ArgSpec { align: alignment(memory.address() + *offset as u64), ..ArgSpec::default() }
            }
        })
        .collect()
}

fn view_spec(memory: &dyn Memory, offset: usize, elem: ScalarType, extents: &[i64], strides: &[i64]) -> ViewSpec {
    let size = i64::from(elem.memory_bytes().unwrap_or(1));
    let class = |v: &i64| if v % i64::from(DIVISOR) == 0 { DIVISOR } else { 1 };
    // The furthest element in either direction.
    let reach = |sign: i64| -> i64 {
        extents.iter().zip(strides).map(|(e, s)| ((e - 1).max(0) * s * sign).max(0)).fold(0, i64::saturating_add)
    };
    ViewSpec {
        align: alignment(memory.address() + offset as u64),
        unit_inner: strides.last().is_none_or(|&s| s == 1),
        extent_divisor: extents.iter().map(class).collect(),
        stride_divisor: strides.iter().map(class).collect(),
        fits_32: reach(1).saturating_mul(size) < 1 << 31 && reach(-1).saturating_mul(size) < 1 << 31,
        no_alias: false,
    }
}

/// 16 where the address is a multiple of it; 0, for the natural alignment, otherwise.
fn alignment(address: u64) -> u32 {
    if address.is_multiple_of(16) { 16 } else { 0 }
}

/// Whether two tensors certainly share no element: they lie in different blocks, or in separate ranges of one.
fn apart(a: &Arg, b: &Arg) -> bool {
    match (range(a), range(b)) {
        (Some((s, e)), Some((t, f))) => e <= t || f <= s,
        // A raw pointer may point anywhere into its block.
        (None, _) | (_, None) => match (block(a), block(b)) {
            (Some(x), Some(y)) => x != y,
            _ => true,
        },
    }
}

fn block(a: &Arg) -> Option<u64> {
    match a {
        Arg::View { memory, .. } | Arg::Ptr { memory, .. } => Some(memory.address()),
        Arg::Scalar(_) => None,
    }
}

/// Addresses from the first to behind the last byte of a tensor; empty for an empty tensor.
fn range(a: &Arg) -> Option<(u64, u64)> {
    let Arg::View { memory, offset, elem, extents, strides } = a else { return None };
    let base = memory.address() + *offset as u64;
    if extents.contains(&0) {
        return Some((base, base));
    }
    let size = i64::from(elem.memory_bytes().unwrap_or(1));
    let span = |sign: i64| extents.iter().zip(strides).map(|(e, s)| ((e - 1) * s * sign).max(0)).sum::<i64>() * size;
    Some((base - span(-1) as u64, base + (span(1) + size) as u64))
}
