//! Every elementwise op on every element type it takes, with any bits, against the interpreter.

use crate::common::{Values, check_with, parse, tensor_of, zeros};
use std::fmt::Write;
use tegula_ir::exec::HostArg;
use tegula_ir::function::Function;
use tegula_ir::literal::Literal;
use tegula_ir::ops::{BinaryOp, CmpOp, Rounding, UnaryOp};
use tegula_ir::passes::expand_math::is_expanded;
use tegula_ir::text::parse_function;
use tegula_ir::types::ScalarType;

/// Elements of the test tensors: not a multiple of any vector.
const N: i64 = 37;

/// Types that tensors can hold.
fn stored_types() -> impl Iterator<Item = ScalarType> {
    ScalarType::ALL.into_iter().filter(|t| t.memory_bytes().is_some())
}

/// A kernel that applies each of `lines` (of `%p` and `%q`, giving elements of the type) to `t`.
fn kernel(t: ScalarType, lines: &[(String, ScalarType)]) -> String {
    let mut text = format!("kernel @ops(%x: view<1d, {t}> read, %y: view<1d, {t}> read");
    for (i, (_, out)) in lines.iter().enumerate() {
        write!(text, ", %o{i}: view<1d, {out}> write").unwrap();
    }
    write!(
        text,
        ") {{ %zero = constant 0 : i64\n %p = load %x[%zero] : tile<{N}x{t}>\n %q = load %y[%zero] : tile<{N}x{t}>\n"
    )
    .unwrap();
    for (i, (line, _)) in lines.iter().enumerate() {
        write!(text, " %r{i} = {line}\n store %r{i}, %o{i}[%zero]\n").unwrap();
    }
    text + " return }"
}

fn is_valid(t: ScalarType, line: &(String, ScalarType)) -> bool {
    parse_function(&kernel(t, std::slice::from_ref(line)), "ops.tile").is_ok()
}

/// Runs all lines that are defined on the type.
fn run(t: ScalarType, lines: Vec<(String, ScalarType)>, exact: bool, mut value: impl FnMut() -> Literal) {
    let lines: Vec<_> = lines.into_iter().filter(|l| is_valid(t, l)).collect();
    for group in lines.chunks(8) {
        let func: Function = parse(&kernel(t, group));
        let mut args: Vec<HostArg> = vec![tensor_of(t, &[N], &mut value), tensor_of(t, &[N], &mut value)];
        args.extend(group.iter().map(|(_, out)| zeros(*out, &[N])));
        check_with(&func, [1, 1, 1], &args, exact);
    }
}

/// Bits of a type that tests the edges often: zeros, ones, extremes, small numbers, anything.
fn edgy(t: ScalarType, values: &mut Values) -> Literal {
    match values.next() % 4 {
        0 => values.any(t),
        1 => values.small(t),
        2 => {
            let bits = t.bits();
            let all = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
            let edges = [0, 1, all, all >> 1, 1 << (bits - 1), (1 << (bits - 1)) | 1];
            tegula_ir::numeric::eval::from_bits(t, edges[(values.next() % 6) as usize])
        }
        _ => Literal::small(t, (values.next() % 70) as i32),
    }
}

#[test]
fn binary_ops() {
    for t in stored_types() {
        let mut values = Values::new(11);
        let skip = [BinaryOp::Pow, BinaryOp::Atan2];
        let lines = BinaryOp::ALL
            .iter()
            .filter(|op| !skip.contains(op))
            .map(|op| (format!("{op} %p, %q : tile<{N}x{t}>"), t))
            .collect();
        run(t, lines, true, || edgy(t, &mut values));
    }
}

#[test]
fn unary_ops() {
    for t in stored_types() {
        let mut values = Values::new(12);
        let lines: Vec<_> = UnaryOp::ALL
            .iter()
            .filter(|op| !is_expanded(**op))
            .map(|op| {
                let out = if op.is_predicate() { ScalarType::Bool } else { t };
                (format!("{op} %p : tile<{N}x{out}>"), out)
            })
            .collect();
        // rsqrt is two roundings: as exact as stated, not the nearest.
        let (rough, exact): (Vec<_>, Vec<_>) = lines.into_iter().partition(|(l, _)| l.starts_with("rsqrt"));
        run(t, exact, true, || edgy(t, &mut values));
        run(t, rough, false, || values.small(t));
    }
}

#[test]
fn comparisons_selects_and_fma() {
    for t in stored_types() {
        let mut values = Values::new(13);
        let mut lines: Vec<_> =
            CmpOp::ALL.iter().map(|op| (format!("cmp {op} %p, %q : tile<{N}xi1>"), ScalarType::Bool)).collect();
        let c = format!("cmp lt %p, %q : tile<{N}xi1>\n %s");
        for (i, then) in ["select %c0, %p, %q", "select %c1, %q, %p"].iter().enumerate() {
            let text = c.replace("%s", &format!("%t{i} = {then} : tile<{N}x{t}>"));
            // A line of its own would name its result: the comparison is repeated inside.
            lines.push((format!("add %p, %q : tile<{N}x{t}>\n %c{i} = {text}"), t));
        }
        run(t, lines, true, || edgy(t, &mut values));
        // The sum of a 16-bit fma is rounded through f64.
        let exact = !matches!(t, ScalarType::F16 | ScalarType::BF16);
        run(t, vec![(format!("fma %p, %q, %p : tile<{N}x{t}>"), t)], exact, || edgy(t, &mut values));
    }
}

#[test]
fn conversions() {
    for t in stored_types() {
        let mut values = Values::new(14);
        let mut lines = Vec::new();
        for (i, to) in stored_types().enumerate() {
            lines.push((format!("cast %p : tile<{N}x{to}>"), to));
            // The shared conversions are tested in full by their own crate: here one other way for each pair.
            let rounding = Rounding::ALL[1 + i % 3];
            lines.push((format!("cast %p {{rounding = {rounding}, saturate}} : tile<{N}x{to}>"), to));
            lines.push((format!("bitcast %p : tile<{N}x{to}>"), to));
        }
        run(t, lines, true, || edgy(t, &mut values));
    }
}

#[test]
fn four_bit_integers() {
    for (narrow, wide) in [("i4", ScalarType::I8), ("u4", ScalarType::U8)] {
        let mut values = Values::new(15);
        for op in
            ["add", "sub", "mul", "div", "rem", "floor_div", "floor_rem", "min", "max", "mul_hi", "shl", "shr", "xor"]
        {
            let text = format!(
                "kernel @four(%x: view<1d, {wide}> read, %y: view<1d, {wide}> read, %o: view<1d, {wide}> write) {{
                   %zero = constant 0 : i64
                   %p = load %x[%zero] : tile<{N}x{wide}>
                   %q = load %y[%zero] : tile<{N}x{wide}>
                   %a = cast %p : tile<{N}x{narrow}>
                   %b = cast %q : tile<{N}x{narrow}>
                   %c = {op} %a, %b : tile<{N}x{narrow}>
                   %d = popcount %c : tile<{N}x{narrow}>
                   %e = xor %c, %d : tile<{N}x{narrow}>
                   %r = cast %e : tile<{N}x{wide}>
                   store %r, %o[%zero]
                   return
                 }}"
            );
            let mut value = || values.any(wide);
            let args = [tensor_of(wide, &[N], &mut value), tensor_of(wide, &[N], &mut value), zeros(wide, &[N])];
            check_with(&parse(&text), [1, 1, 1], &args, true);
        }
    }
}
