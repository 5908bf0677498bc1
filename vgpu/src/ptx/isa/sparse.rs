//! Structured sparsity: where the elements of a packed A belong, for `mma.sp` and `wgmma.mma_async.sp`.
//!
//! A row of A comes in chunks, of which half is stored. Four bits of metadata to a chunk say which half: two numbers of what is
//! there, the first in the lower bits. Chunks have four elements; of 4-bit integers eight, that go in pairs; of `tf32` two, and the
//! four bits name the halves of the one that is there.
//!
//! In each group of four lanes some hold metadata. For elements of 16 bits and more a lane has four chunks of row `g` in its lower half
//! and the same of row `g + 8` in its upper one, so that the next four chunks are the next lane's. For smaller ones a lane has eight
//! chunks of row `g` (even lanes) or `g + 8` (odd lanes). Where fewer than four lanes are needed the selector says which.

use crate::error::Result;
use crate::finding::FindingKind;
use crate::ptx::decode::{Decoder, Ty};
use crate::ptx::exec::Cx;
use crate::ptx::program::L32;
use crate::ptx::syntax::ast::Operand;

/// Rows of A that a warp has.
const ROWS: usize = 16;

/// The sparsity of an instruction's A.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sparsity {
    /// The register of the metadata.
    pub metadata: u32,
    selector: usize,
    /// Whether the numbers of a chunk must ascend.
    ordered: bool,
    ty: Ty,
    chunks: usize,
}

impl Sparsity {
    /// Decodes the metadata and the selector of a product over `k` elements of a type.
    pub fn decode(
        d: &mut Decoder,
        (metadata, selector): (&Operand, &Operand),
        ty: Ty,
        k: usize,
        ordered: bool,
    ) -> Result<Self> {
        let selector = d.immediate(selector)?;
        let mut sparsity = Self { metadata: 0, selector: 0, ordered, ty, chunks: k / chunk(ty) };
        let most = 4 / sparsity.lanes();
        if !(0..most as i64).contains(&selector) {
            return Err(d.bad(format!("the sparsity selector must be below {most} for this shape")));
        }
        sparsity.selector = selector as usize;
        sparsity.metadata = d.word(metadata, Ty::B32)?;
        Ok(sparsity)
    }

    /// Lanes of four that hold metadata.
    fn lanes(&self) -> usize {
        // 4 bits a chunk, 16 rows, 8 groups of lanes, 32 bits a lane.
        (4 * self.chunks * ROWS / 8 / 32).max(1)
    }

    /// The four bits of a chunk.
    fn bits(&self, metadata: &L32, row: usize, chunk: usize) -> u32 {
        let (g, upper) = (row % 8, row / 8);
        let (lane, shift) = if self.ty.bits() >= 16 {
            (chunk / 4, 16 * upper + chunk % 4 * 4)
        } else {
            (chunk / 8 * 2 + upper, chunk % 8 * 4)
        };
        (metadata[4 * g + self.selector * self.lanes() + lane] >> shift) & 15
    }

    /// Which of a chunk's units the two stored ones are; the second is missing where there is one. None for bits without a meaning.
    fn units(&self, bits: u32) -> Option<(usize, Option<usize>)> {
        let (first, second) = ((bits & 3) as usize, (bits >> 2) as usize);
        if self.ty == Ty::TF32 {
            return match bits {
                0b0100 => Some((0, None)),
                0b1110 => Some((1, None)),
                _ => None,
            };
        }
        let meaningful = if self.ordered { first < second } else { first != second };
        meaningful.then_some((first, Some(second)))
    }

    /// The first chunk whose bits mean nothing, and the bits.
    fn meaningless(&self, metadata: &L32) -> Option<(usize, usize, u32)> {
        (0..ROWS).flat_map(|row| (0..self.chunks).map(move |chunk| (row, chunk))).find_map(|(row, chunk)| {
            let bits = self.bits(metadata, row, chunk);
            self.units(bits).is_none().then_some((row, chunk, bits))
        })
    }

    /// Puts the elements of a packed A (16 rows) where they belong. Chunks whose metadata means nothing stay empty.
    pub fn expand<T: Copy + Default>(&self, metadata: &L32, packed: &[T]) -> Vec<T> {
        let dense = chunk(self.ty);
        let stored = dense / 2;
        let unit = if self.ty.bits() == 4 { 2 } else { 1 };
        let k = self.chunks * dense;
        let mut out = vec![T::default(); ROWS * k];
        for row in 0..ROWS {
            for chunk in 0..self.chunks {
                let Some((first, second)) = self.units(self.bits(metadata, row, chunk)) else { continue };
                let from = &packed[row * k / 2 + chunk * stored..][..stored];
                let to = &mut out[row * k + chunk * dense..][..dense];
                to[first * unit..][..unit].copy_from_slice(&from[..unit]);
                if let Some(second) = second {
                    to[second * unit..][..unit].copy_from_slice(&from[unit..]);
                }
            }
        }
        out
    }

    /// Reports metadata that means nothing.
    pub fn check(&self, cx: &Cx, metadata: &L32) {
        if cx.l.sanitize
            && let Some((row, chunk, bits)) = self.meaningless(metadata)
        {
            let message =
                format!("the sparsity metadata of row {row}, chunk {chunk} is {bits:#06b}, which has no meaning");
            cx.find(FindingKind::BadDescriptor, None, None, None, message);
        }
    }
}

/// Elements of a chunk.
fn chunk(ty: Ty) -> usize {
    match ty.bits() {
        32 => 2,
        4 => 8,
        _ => 4,
    }
}
