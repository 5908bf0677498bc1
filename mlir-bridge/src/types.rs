//! The MLIR types that Tile IR types become.

use tegula_ir::{Elem, ScalarType, Type};

/// A number format in the interchange form: signed integers are signless, unsigned ones `ui…`.
pub fn scalar(t: ScalarType) -> &'static str {
    match t {
        ScalarType::Bool => "i1",
        ScalarType::I4 => "i4",
        ScalarType::I8 => "i8",
        ScalarType::I16 => "i16",
        ScalarType::I32 => "i32",
        ScalarType::I64 => "i64",
        ScalarType::U4 => "ui4",
        ScalarType::U8 => "ui8",
        ScalarType::U16 => "ui16",
        ScalarType::U32 => "ui32",
        ScalarType::U64 => "ui64",
        ScalarType::F8E4M3 => "f8E4M3FN",
        ScalarType::F8E5M2 => "f8E5M2",
        ScalarType::F8E4M3Fnuz => "f8E4M3FNUZ",
        ScalarType::F8E5M2Fnuz => "f8E5M2FNUZ",
        ScalarType::F16 => "f16",
        ScalarType::BF16 => "bf16",
        ScalarType::F32 => "f32",
        ScalarType::F64 => "f64",
    }
}

/// The number format of an MLIR type in the interchange form.
pub fn parse_scalar(text: &str) -> Option<ScalarType> {
    ScalarType::ALL.into_iter().find(|&t| scalar(t) == text)
}

/// A number format in the executable form, where all integers are signless.
pub fn signless(t: ScalarType) -> &'static str {
    scalar(t).trim_start_matches('u')
}

/// An element in the interchange form.
pub fn elem(e: Elem) -> String {
    match e {
        Elem::Scalar(t) => scalar(t).into(),
        Elem::Ptr(t) => format!("!tegula.ptr<{}>", scalar(t)),
    }
}

/// A type in the interchange form.
pub fn ty(ty: &Type) -> String {
    match ty {
        Type::Scalar(e) => elem(*e),
        Type::Tile(t) => tensor(&t.shape, &elem(t.elem)),
        Type::View { elem, rank } => format!("!tegula.view<{rank} : i64, {}>", scalar(*elem)),
    }
}

/// A ranked tensor type; the element itself where there are no axes.
pub fn tensor(shape: &[u32], elem: &str) -> String {
    if shape.is_empty() {
        return elem.into();
    }
    let mut text = String::from("tensor<");
    for d in shape {
        text += &format!("{d}x");
    }
    text + elem + ">"
}

/// The Tile IR type behind a type in the interchange form.
pub fn parse(text: &str) -> Option<Type> {
    if let Some(inner) = text.strip_prefix("!tegula.view<") {
        let (rank, elem) = inner.strip_suffix('>')?.split_once(" : i64, ")?;
        return Some(Type::View { elem: parse_scalar(elem)?, rank: rank.parse().ok()? });
    }
    if let Some(inner) = text.strip_prefix("tensor<") {
        let mut rest = inner.strip_suffix('>')?;
        let mut shape = Vec::new();
        while rest.starts_with(|c: char| c.is_ascii_digit()) {
            let (d, tail) = rest.split_once('x')?;
            shape.push(d.parse().ok()?);
            rest = tail;
        }
        return Some(Type::shaped(shape, parse_elem(rest)?));
    }
    Some(Type::Scalar(parse_elem(text)?))
}

fn parse_elem(text: &str) -> Option<Elem> {
    match text.strip_prefix("!tegula.ptr<") {
        Some(inner) => Some(Elem::Ptr(parse_scalar(inner.strip_suffix('>')?)?)),
        None => Some(Elem::Scalar(parse_scalar(text)?)),
    }
}
