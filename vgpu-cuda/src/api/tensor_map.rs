//! Tensor maps, in the form that the PTX machine reads.

use crate::entry::{In, Out, c_interface};
use crate::status::{CUresult, Outcome};
use std::ffi::{c_int, c_uint};
use tegula_vgpu::ptx::{Element, Interleave, Mode, Swizzle, TensorMap};
use tegula_vgpu_driver::error::Error;

/// The 128 bytes of a map, which C keeps aligned.
type Bytes = [u8; 128];
const ALIGN: usize = 64;

fn invalid() -> CUresult {
    CUresult::ERROR_INVALID_VALUE
}

/// Copies within L2's lines are a hint; all the rest is in the map.
#[derive(Clone, Copy)]
struct Kinds {
    rank: c_uint,
    element: c_uint,
    interleave: c_uint,
    swizzle: c_uint,
    promotion: c_uint,
    fill: c_uint,
}

fn encode(
    out: Out<Bytes>,
    kinds: Kinds,
    address: usize,
    extents: In<u64>,
    strides: In<u64>,
    element_strides: In<c_uint>,
    shape: impl FnOnce(&mut TensorMap, usize) -> Outcome,
) -> Outcome {
    out.check()?;
    if !(out.pointer() as usize).is_multiple_of(ALIGN) || !(1..=5).contains(&kinds.rank) || kinds.promotion > 3 {
        return Err(invalid().into());
    }
    let rank = kinds.rank as usize;
    let mut map = TensorMap {
        address: address as u64,
        element: *Element::ALL.get(kinds.element as usize).ok_or(invalid())?,
        extents: extents.values(rank)?,
        strides: strides.values(rank - 1)?,
        box_extents: vec![1; rank],
        element_strides: element_strides.values(rank)?,
        swizzle: match kinds.swizzle {
            0 => Swizzle::None,
            1 => Swizzle::B32,
            2 => Swizzle::B64,
            3 => Swizzle::B128,
            _ => return Err(invalid().into()),
        },
        interleave: match kinds.interleave {
            0 => Interleave::None,
            1 => Interleave::B16,
            2 => Interleave::B32,
            _ => return Err(invalid().into()),
        },
        fill_nan: match kinds.fill {
            0 => false,
            1 => true,
            _ => return Err(invalid().into()),
        },
        mode: Mode::Tile,
    };
    shape(&mut map, rank)?;
    out.set(map.encode().map_err(|error| Error::value(error.to_string()))?)
}

/// Corners of the box of pixels: one for each spatial dimension, the innermost first.
fn corners(corners: In<c_int>, spatial: usize) -> Outcome<[i16; 3]> {
    let mut all = [0; 3];
    for (own, given) in all.iter_mut().zip(corners.values(spatial)?) {
        *own = i16::try_from(given).map_err(|_| invalid())?;
    }
    Ok(all)
}

c_interface! {
    /// A map of a tensor that is copied in boxes.
    fn cuTensorMapEncodeTiled(
        out: Out<Bytes>,
        element: c_uint,
        rank: c_uint,
        address: usize,
        extents: In<u64>,
        strides: In<u64>,
        box_extents: In<c_uint>,
        element_strides: In<c_uint>,
        interleave: c_uint,
        swizzle: c_uint,
        promotion: c_uint,
        fill: c_uint,
    ) {
        let kinds = Kinds { rank, element, interleave, swizzle, promotion, fill };
        encode(out, kinds, address, extents, strides, element_strides, |map, rank| {
            map.box_extents = box_extents.values(rank)?;
            Ok(())
        })
    }

    /// A map of a tensor that is copied by the columns of a convolution's input.
    fn cuTensorMapEncodeIm2col(
        out: Out<Bytes>,
        element: c_uint,
        rank: c_uint,
        address: usize,
        extents: In<u64>,
        strides: In<u64>,
        lower: In<c_int>,
        upper: In<c_int>,
        channels: c_uint,
        pixels: c_uint,
        element_strides: In<c_uint>,
        interleave: c_uint,
        swizzle: c_uint,
        promotion: c_uint,
        fill: c_uint,
    ) {
        let kinds = Kinds { rank, element, interleave, swizzle, promotion, fill };
        encode(out, kinds, address, extents, strides, element_strides, |map, rank| {
            if rank < 3 || channels == 0 || channels > 256 || pixels == 0 || pixels > 1024 {
                return Err(invalid().into());
            }
            map.mode = Mode::Im2col {
                lower: corners(lower, rank - 2)?,
                upper: corners(upper, rank - 2)?,
                channels: channels as u16,
                pixels: pixels as u16,
            };
            Ok(())
        })
    }

    /// Changes the address of a map's tensor.
    fn cuTensorMapReplaceAddress(out: Out<Bytes>, address: usize) {
        let mut map = TensorMap::decode(&out.get()?).map_err(Error::InvalidValue)?;
        map.address = address as u64;
        out.set(map.encode().map_err(|error| Error::value(error.to_string()))?)
    }
}
