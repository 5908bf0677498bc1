//! Arguments of kernels as text, as the runs of filetests have them.
//!
//! ```text
//! [2, 3] 1, 2, 3, 4, 5, 6
//! [2, 3] fill 0.5
//! [2, 3] arange 10 step 2
//! [2, 3] strides [4, 1] offset 2 alloc 16 1, 2, 3, 4, 5, 6
//! 7
//! ```
//!
//! First the extents; then, where they are not dense and row-major, strides, the index of element zero and the size
//! of the allocation, all in elements; then the elements in row-major order. Without elements they are zero. The
//! rest of the allocation is filled with [`GAP`], and must keep it.

use crate::exec::{HostArg, HostTensor, row_major_strides};
use crate::function::{Param, ParamKind};
use crate::literal::Literal;
use crate::numeric::eval::{from_bits, to_bits};
use crate::text::{Cursor, ParseError, ParseErrorKind, Token};
use crate::types::ScalarType;

/// What bytes between and around the elements of a tensor hold.
pub const GAP: u8 = 0xa5;

/// The most elements that a text can ask for.
const MAX_ELEMENTS: i64 = 1 << 24;

type Result<T> = std::result::Result<T, Box<ParseError>>;

/// The argument that stands at the cursor, for a parameter.
pub(crate) fn parse_arg(c: &mut Cursor, param: &Param) -> Result<HostArg> {
    match &param.kind {
        ParamKind::View { elem, .. } => Ok(HostArg::Tensor(parse_tensor(c, *elem)?)),
        ParamKind::Ptr { elem, .. } => Ok(HostArg::Ptr(parse_tensor(c, *elem)?)),
        ParamKind::Scalar { elem, .. } => Ok(HostArg::Scalar(parse_literal(c, *elem)?)),
    }
}

/// A number or truth value of a type, rounded to it.
pub(crate) fn parse_literal(c: &mut Cursor, elem: ScalarType) -> Result<Literal> {
    let pos = c.pos();
    let literal = c.raw_literal()?.of_type(elem).map_err(|m| c.error(ParseErrorKind::Number(m), pos))?;
    Ok(from_bits(elem, to_bits(elem, literal)))
}

/// Numbers separated by commas, perhaps none.
pub(crate) fn parse_literals(c: &mut Cursor, elem: ScalarType) -> Result<Vec<Literal>> {
    let mut all = Vec::new();
    while !matches!(c.token(), Token::End) {
        all.push(parse_literal(c, elem)?);
        if !c.eat(',')? {
            break;
        }
    }
    Ok(all)
}

fn parse_tensor(c: &mut Cursor, elem: ScalarType) -> Result<HostTensor> {
    let start = c.pos();
    let bad = |c: &Cursor, message: String| Err(c.error(ParseErrorKind::Number(message), start));
    let extents: Vec<i64> = c.integers("an extent")?;
    let count = extents.iter().try_fold(1i64, |n, &d| n.checked_mul(d).filter(|n| (0..=MAX_ELEMENTS).contains(n)));
    let Some(count) = count else { return bad(c, format!("no tensor has the extents {extents:?}")) };
    let mut strides = row_major_strides(&extents);
    if c.eat_word("strides")? {
        strides = c.integers("a stride")?;
        if strides.len() != extents.len() {
            return bad(c, format!("{} strides for {} axes", strides.len(), extents.len()));
        }
    }
    let offset: i64 = if c.eat_word("offset")? { c.integer("an offset")? } else { 0 };
    let indices = element_indices(&extents, &strides, offset);
    let used = indices.iter().max().map_or(0, |&last| last + 1).max(offset);
    let alloc: i64 = if c.eat_word("alloc")? { c.integer("a number of elements")? } else { used };
    if indices.iter().any(|&i| i < 0 || i >= alloc) || !(0..=MAX_ELEMENTS).contains(&alloc) || offset < 0 {
        return bad(c, format!("the elements do not lie within an allocation of {alloc}"));
    }
    let Some(bytes) = elem.memory_bytes() else { return bad(c, format!("{elem} has no form in memory")) };
    let data = vec![GAP; alloc as usize * bytes as usize];
    let mut tensor = HostTensor { elem, data, offset: offset as usize, extents, strides };
    let values = parse_elements(c, elem, count)?;
    for (index, value) in indices.into_iter().zip(values) {
        write_element(&mut tensor, index, value);
    }
    Ok(tensor)
}

fn parse_elements(c: &mut Cursor, elem: ScalarType, count: i64) -> Result<Vec<Literal>> {
    let count = count as usize;
    let pos = c.pos();
    if c.eat_word("fill")? {
        let value = parse_literal(c, elem)?;
        return Ok(vec![value; count]);
    }
    if c.eat_word("arange")? {
        let number = |c: &mut Cursor| -> Result<f64> {
            match parse_literal(c, ScalarType::F64)? {
                Literal::Float(v) => Ok(v),
                _ => unreachable!("a literal of type f64 is a float"),
            }
        };
        let start = number(c)?;
        let step = if c.eat_word("step")? { number(c)? } else { 1.0 };
        return Ok((0..count).map(|i| of_f64(elem, start + step * i as f64)).collect());
    }
    let values = parse_literals(c, elem)?;
    match values.len() {
        0 => Ok(vec![Literal::zero(elem); count]),
        n if n == count => Ok(values),
        n => Err(c.error(ParseErrorKind::Number(format!("{n} elements where the extents ask for {count}")), pos)),
    }
}

/// A number as a value of a type: rounded, and wrapped for integers.
fn of_f64(elem: ScalarType, v: f64) -> Literal {
    match elem {
        ScalarType::Bool => Literal::Bool(v != 0.0),
        t if t.is_float() => from_bits(t, to_bits(t, Literal::Float(v))),
        t => from_bits(t, v as i64 as u64),
    }
}

/// The index into the allocation of each element, in row-major order.
pub fn element_indices(extents: &[i64], strides: &[i64], offset: i64) -> Vec<i64> {
    let mut indices = vec![offset];
    for (&extent, &stride) in extents.iter().zip(strides) {
        indices = indices
            .iter()
            .flat_map(|&base| (0..extent).map(move |i| base.wrapping_add(i.wrapping_mul(stride))))
            .collect();
    }
    indices
}

/// An element by its index into the allocation.
pub fn read_element(tensor: &HostTensor, index: i64) -> Literal {
    let bytes = tensor.elem.memory_bytes().unwrap_or(1) as usize;
    let mut bits = [0; 8];
    bits[..bytes].copy_from_slice(&tensor.data[index as usize * bytes..][..bytes]);
    from_bits(tensor.elem, u64::from_le_bytes(bits))
}

/// Sets an element by its index into the allocation.
pub fn write_element(tensor: &mut HostTensor, index: i64, value: Literal) {
    let bytes = tensor.elem.memory_bytes().unwrap_or(1) as usize;
    let bits = to_bits(tensor.elem, value).to_le_bytes();
    tensor.data[index as usize * bytes..][..bytes].copy_from_slice(&bits[..bytes]);
}

/// The elements of a tensor in row-major order.
pub fn elements(tensor: &HostTensor) -> Vec<Literal> {
    let indices = element_indices(&tensor.extents, &tensor.strides, tensor.offset as i64);
    indices.into_iter().map(|i| read_element(tensor, i)).collect()
}

/// The bytes of the allocation that belong to no element, with those of the elements set to [`GAP`].
pub fn gaps(tensor: &HostTensor) -> Vec<u8> {
    let bytes = tensor.elem.memory_bytes().unwrap_or(1) as usize;
    let mut data = tensor.data.clone();
    for i in element_indices(&tensor.extents, &tensor.strides, tensor.offset as i64) {
        data[i as usize * bytes..][..bytes].fill(GAP);
    }
    data
}

/// The shortest text that parses to a value of its type.
pub fn literal_text(elem: ScalarType, value: Literal) -> String {
    let Literal::Float(v) = value else {
        return match value {
            Literal::Int(v) if elem == ScalarType::U64 => (v as u64).to_string(),
            Literal::Int(v) => v.to_string(),
            Literal::Bool(b) => b.to_string(),
            Literal::Float(_) => unreachable!("taken above"),
        };
    };
    if v.is_nan() {
        return "nan".to_owned();
    }
    if elem == ScalarType::F64 || !v.is_finite() {
        return format!("{v:?}");
    }
    let bits = to_bits(elem, value);
    for digits in 0..17 {
        let short: f64 = format!("{v:.digits$e}").parse().unwrap_or(v);
        if to_bits(elem, Literal::Float(short)) == bits {
            return format!("{short:?}");
        }
    }
    format!("{v:?}")
}

/// Values separated by commas, each in its shortest form.
pub fn literals_text(elem: ScalarType, values: &[Literal]) -> String {
    let texts: Vec<String> = values.iter().map(|&v| literal_text(elem, v)).collect();
    texts.join(", ")
}

/// An argument as text, which gives the same argument but for the bytes between elements.
pub fn arg_text(arg: &HostArg, param: &Param) -> String {
    match (arg, &param.kind) {
        (HostArg::Scalar(v), ParamKind::Scalar { elem, .. }) => literal_text(*elem, *v),
        (HostArg::Scalar(v), _) => format!("{v:?}"),
        (HostArg::Tensor(t) | HostArg::Ptr(t), _) => {
            let mut text = format!("{:?}", t.extents);
            if t.strides != row_major_strides(&t.extents) {
                text += &format!(" strides {:?}", t.strides);
            }
            if t.offset != 0 {
                text += &format!(" offset {}", t.offset);
            }
            let bytes = t.elem.memory_bytes().unwrap_or(1) as usize;
            text += &format!(" alloc {}", t.data.len() / bytes);
            let values = literals_text(t.elem, &elements(t));
            if values.is_empty() { text } else { format!("{text} {values}") }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(text: &str, elem: ScalarType) -> Result<HostTensor> {
        parse_tensor(&mut Cursor::new(text, "v")?, elem)
    }

    #[test]
    fn tensors() {
        let t = tensor("[2, 3] strides [4, 1] offset 1 alloc 9 1, 2, 3, 4, 5, 6", ScalarType::I8).unwrap();
        let g = GAP;
        assert_eq!(t.data, [g, 1, 2, 3, g, 4, 5, 6, g]);
        assert_eq!(gaps(&t), [g; 9]);
        assert_eq!(elements(&t), [1, 2, 3, 4, 5, 6].map(Literal::Int));
        assert_eq!(tensor("[2, 0]", ScalarType::F32).unwrap().data, [0u8; 0]);
        assert_eq!(tensor("[] 3", ScalarType::I16).unwrap().data, [3, 0]);
        assert_eq!(tensor("[3] arange 1 step 2", ScalarType::U8).unwrap().data, [1, 3, 5]);
        assert_eq!(tensor("[2] strides [-1] offset 1 1, 2", ScalarType::U8).unwrap().data, [2, 1]);
        assert_eq!(tensor("[3] strides [0] 7, 7, 7", ScalarType::U8).unwrap().data, [7]);
    }

    #[test]
    fn malformed_tensors() {
        for (text, message) in [
            ("[2] 1", "v:1:5: error: 1 elements where the extents ask for 2"),
            ("[-1]", "v:1:1: error: no tensor has the extents [-1]"),
            ("[9999999, 9999999]", "v:1:1: error: no tensor has the extents [9999999, 9999999]"),
            ("[2] strides [1, 1]", "v:1:1: error: 2 strides for 1 axes"),
            ("[2] offset -1", "v:1:1: error: the elements do not lie within an allocation of 1"),
            ("[2] alloc 1 1, 2", "v:1:1: error: the elements do not lie within an allocation of 1"),
            ("[2] 1, 300", "v:1:8: error: 300 does not fit u8"),
            ("2", "v:1:1: error: expected `[`, found `2`"),
        ] {
            assert_eq!(tensor(text, ScalarType::U8).unwrap_err().to_string(), message, "{text}");
        }
    }

    #[test]
    fn shortest_texts() {
        for (elem, v, text) in [
            (ScalarType::F16, 0.0999755859375, "0.1"),
            (ScalarType::F16, 65504.0, "65500.0"),
            (ScalarType::BF16, 3.140625, "3.14"),
            (ScalarType::F32, 0.1f32 as f64, "0.1"),
            (ScalarType::F64, 0.1, "0.1"),
            (ScalarType::F8E4M3, 1.125, "1.1"),
            (ScalarType::F32, -0.0, "-0.0"),
            (ScalarType::F32, f64::NEG_INFINITY, "-inf"),
            (ScalarType::F32, f64::NAN, "nan"),
        ] {
            assert_eq!(literal_text(elem, Literal::Float(v)), text, "{elem}");
        }
        assert_eq!(literals_text(ScalarType::U64, &[Literal::Int(-1), Literal::Int(1)]), "18446744073709551615, 1");
    }
}
