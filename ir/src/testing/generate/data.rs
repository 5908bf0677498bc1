//! Tensors and scalars as arguments.

use super::choices::Stream;
use super::{Gen, Info};
use crate::exec::{HostArg, HostTensor};
use crate::function::{ParamKind, Value, ViewAccess, ViewSpec};
use crate::literal::Literal;
use crate::numeric::eval::{from_bits, to_bits};
use crate::testing::value::{GAP, element_indices, write_element};
use crate::types::ScalarType;

/// What the elements of a tensor are like.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::testing) enum DataKind {
    /// Small whole numbers.
    Whole,
    /// Small numbers with a fraction; for integers the whole range.
    Fraction,
    /// Infinities, NaN, zeros of both signs, the largest and smallest; for integers the extremes.
    Special,
    /// Any bits.
    Bits,
}

impl Gen<'_> {
    /// A kind of data; with `bounded` one without infinities and NaN.
    pub(super) fn data_kind(&mut self, bounded: bool) -> DataKind {
        use DataKind::{Bits, Fraction, Special, Whole};
        if bounded { self.c.of(&[Whole, Whole, Fraction]) } else { self.c.of(&[Whole, Fraction, Special, Bits]) }
    }

    /// Values of a type and what is known of them.
    pub(super) fn data(&mut self, elem: ScalarType, count: usize, kind: DataKind) -> (Vec<Literal>, Info) {
        let mut stream = Stream::new(self.c.raw().into());
        let info = match kind {
            DataKind::Whole => Info::whole(8.0),
            DataKind::Fraction => Info::bounded(4.0),
            DataKind::Special | DataKind::Bits => Info::ANY,
        };
        ((0..count).map(|_| element(elem, kind, stream.next())).collect(), info)
    }

    /// A dense or strided tensor with these extents. All is left as [`GAP`] but its elements.
    pub(super) fn tensor(&mut self, elem: ScalarType, extents: &[i64], kind: DataKind) -> (HostTensor, Info) {
        let strides = self.strides(extents);
        let lowest: i64 = extents.iter().zip(&strides).map(|(&e, &s)| ((e - 1).max(0) * s).min(0)).sum();
        let offset = -lowest + self.c.of(&[0, 0, 0, 1, 5]);
        let indices = element_indices(extents, &strides, offset);
        let used = indices.iter().max().map_or(offset, |&i| i + 1);
        let alloc = used + self.c.of(&[0, 0, 3]);
        let bytes = elem.memory_bytes().unwrap_or(1) as usize;
        let mut tensor = HostTensor {
            elem,
            data: vec![GAP; alloc as usize * bytes],
            offset: offset as usize,
            extents: extents.to_vec(),
            strides,
        };
        let (values, info) = self.data(elem, indices.len(), kind);
        for (index, value) in indices.into_iter().zip(values) {
            write_element(&mut tensor, index, value);
        }
        (tensor, info)
    }

    /// Strides without overlap: dense, with gaps, with the axes in another order, or backwards.
    fn strides(&mut self, extents: &[i64]) -> Vec<i64> {
        let rank = extents.len();
        let (gap, order, backwards) = match self.c.below(6) {
            0..=2 => (0, false, false),
            3 => (self.c.between(1, 5), false, false),
            4 => (0, true, false),
            _ => (self.c.between(0, 3), self.c.one_in(2), true),
        };
        let mut axes: Vec<usize> = (0..rank).collect();
        if order && rank > 1 {
            axes.rotate_left(1 + self.c.below(rank - 1));
        }
        let mut strides = vec![1; rank];
        let mut next = 1;
        for (i, &axis) in axes.iter().rev().enumerate() {
            strides[axis] = next;
            next = next * extents[axis].max(1) + if i == 0 { gap } else { 0 };
        }
        if backwards && rank > 0 {
            let axis = self.c.below(rank);
            strides[axis] = -strides[axis];
        }
        strides
    }

    /// What may be promised of a tensor: part of what is true.
    fn spec(&mut self, t: &HostTensor) -> ViewSpec {
        let mut spec = ViewSpec::default();
        let rank = t.extents.len();
        spec.unit_inner = rank > 0 && t.strides[rank - 1] == 1 && self.c.one_in(2);
        if self.c.one_in(3) {
            let power = |n: i64| if n == 0 { 16 } else { 1 << n.trailing_zeros().min(4) };
            spec.extent_divisor = t.extents.iter().map(|&n| power(n)).collect();
            spec.stride_divisor = t.strides.iter().map(|&n| power(n)).collect();
        }
        spec.fits_32 = self.c.one_in(3) && t.strides.iter().all(|&s| s >= 0);
        spec.no_alias = self.c.one_in(3);
        spec
    }

    /// A new tensor parameter that is read. The view is not offered as an operand.
    pub(super) fn input(&mut self, elem: ScalarType, extents: &[i64], kind: DataKind) -> Value {
        let (tensor, info) = self.tensor(elem, extents, kind);
        self.view_param(tensor, ViewAccess::Read, info)
    }

    /// A new tensor parameter.
    pub(super) fn view_param(&mut self, tensor: HostTensor, access: ViewAccess, info: Info) -> Value {
        let kind =
            ParamKind::View { elem: tensor.elem, rank: tensor.extents.len() as u8, access, spec: self.spec(&tensor) };
        self.param(kind, HostArg::Tensor(tensor), info)
    }

    /// A new scalar parameter, offered as an operand.
    pub(super) fn scalar_param(&mut self, elem: ScalarType) -> Value {
        let kind = self.data_kind(false);
        let (values, info) = self.data(elem, 1, kind);
        let v = self.param(ParamKind::Scalar { elem, divisor: 1 }, HostArg::Scalar(values[0]), info);
        self.offer(v, info);
        v
    }
}

/// A value of a type from a random number.
pub(in crate::testing) fn element(elem: ScalarType, kind: DataKind, random: u64) -> Literal {
    match elem {
        ScalarType::Bool => Literal::Bool(random & 1 != 0),
        t if t.is_float() => float_element(t, kind, random),
        t => int_element(t, kind, random),
    }
}

fn int_element(t: ScalarType, kind: DataKind, random: u64) -> Literal {
    let (min, max) = match (t.is_signed_int(), t.bits()) {
        (true, bits) => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        (false, bits) => (0, (1i128 << bits) - 1),
    };
    let bits = match kind {
        DataKind::Whole => (random % 17) as i64 - if t.is_signed_int() { 8 } else { 0 },
        DataKind::Special => [0, 1, -1, min, max, min + 1, max - 1, 7][(random % 8) as usize] as i64,
        DataKind::Fraction | DataKind::Bits => random as i64,
    };
    from_bits(t, bits as u64)
}

fn float_element(t: ScalarType, kind: DataKind, random: u64) -> Literal {
    let v = match kind {
        DataKind::Whole => (random % 17) as f64 - 8.0,
        DataKind::Fraction => (random % 65) as f64 / 8.0 - 4.0,
        DataKind::Bits => return from_bits(t, random),
        DataKind::Special => {
            let format = crate::numeric::FloatFormat::of(t);
            let (max, tiny) = (format.max_finite(), format.min_normal());
            [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, max, -max, tiny, tiny / 2.0, 1.0, -1.5, 0.1]
                [(random % 12) as usize]
        }
    };
    from_bits(t, to_bits(t, Literal::Float(v)))
}
