//! Round trips, and errors with their places.

use super::*;
use crate::function::{Function, MAX_NESTING, ViewAccess};
use crate::literal::Literal;
use crate::ops::{BinaryOp, OpKind, UnaryOp, Values};
use crate::types::{ScalarType, Type};

const LOCS: [LocStyle; 3] = [LocStyle::None, LocStyle::Inline, LocStyle::Table];

/// Parses, prints and parses again, with each style of locations; gives the text without them.
#[track_caller]
fn round_trip(text: &str) -> String {
    let module = parse_module(text, "t.tile").unwrap_or_else(|e| panic!("{e}\n{text}"));
    for locs in LOCS {
        let options = PrintOptions { locs };
        let printed = print_module(&module, &options);
        let again = parse_module(&printed, "other.tile").unwrap_or_else(|e| panic!("{e}\n{printed}"));
        assert_eq!(print_module(&again, &options), printed, "{locs:?}");
        if locs != LocStyle::None {
            // With locations in the text, everything is in it.
            let table = PrintOptions { locs: LocStyle::Table };
            assert_eq!(print_module(&again, &table), print_module(&module, &table));
        }
    }
    module.to_string()
}

/// The text is in its printed form.
#[track_caller]
fn canonical(text: &str) {
    assert_eq!(round_trip(text), text);
}

#[test]
fn every_op_round_trips() {
    canonical(include_str!("all_ops.tile"));
}

#[test]
fn written_types_are_optional_where_operands_give_them() {
    let text = "kernel @f(%x: f32, %n: i32) num_stages(1) grid() {
        %y = add %x, %x // both are f32
        %z = exp %y {} ; no attributes
        %t = splat %z : tile<3xf32>
        %a, %b = arg_reduce max %t axis 0
        %c = cmp lt %a, %y
        if %c { yield } else { yield }
        return
    }";
    assert_eq!(
        round_trip(text),
        "kernel @f(%x: f32, %n: i32) grid() {
  %y = add %x, %x : f32
  %z = exp %y : f32
  %t = splat %z : tile<3xf32>
  %a, %b = arg_reduce max %t axis 0 : f32, i32
  %c = cmp lt %a, %y : i1
  if %c {
    yield
  }
  return
}
"
    );
}

#[test]
fn names_are_made_unique_and_come_back() {
    let mut f = Function::new("odd name");
    let view = crate::function::ParamKind::View {
        elem: ScalarType::F32,
        rank: 0,
        access: ViewAccess::Read,
        spec: Default::default(),
    };
    f.add_param("x", view.clone());
    f.add_param("x", view.clone());
    f.add_param("", view);
    let names =
        [Some("x"), Some("x"), None, Some("0"), Some("a b.1"), Some("x_1"), Some(""), Some("é\"\\\n\u{1}"), None];
    for name in names {
        let kind = OpKind::Constant { value: Literal::Int(1), ty: Type::INDEX };
        let op = f.append_op(f.body, kind, [Type::INDEX], crate::loc::Loc::UNKNOWN);
        let v = f.result(op);
        f.value_mut(v).name = name.map(str::to_owned);
    }
    f.append_op(f.body, OpKind::Return, [], crate::loc::Loc::UNKNOWN);
    let text = f.to_string();
    canonical(&text);
    let g = parse_function(&text, "t").unwrap();
    assert_eq!(g.name, f.name);
    let of = |f: &Function| -> Vec<Option<String>> {
        f.block(f.body).ops.iter().flat_map(|&op| f.op(op).results.clone()).map(|v| f.value(v).name.clone()).collect()
    };
    assert_eq!(of(&g), names.map(|n| n.map(str::to_owned)).to_vec());
    assert_eq!(g.params.iter().map(|p| &p.name).collect::<Vec<_>>(), ["x", "x", ""]);
}

#[test]
fn literals_are_exact() {
    let floats = [
        0.0,
        -0.0,
        1.0,
        0.1,
        -1.5e300,
        f64::MIN_POSITIVE,
        5e-324,
        f64::MAX,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        -f64::NAN,
        f64::from_bits(0x7ff0_0000_0000_0001),
        f64::from_bits(0xffff_ffff_ffff_ffff),
        f64::from_bits(0x7ff8_0000_0000_0001),
    ];
    let mut literals: Vec<(Literal, ScalarType)> = floats.map(|v| (Literal::Float(v), ScalarType::F64)).to_vec();
    for t in ScalarType::ALL.into_iter().filter(|t| t.is_int()) {
        let bits = t.bits();
        let (min, max) = match (bits, t.is_signed_int()) {
            (64, true) => (i64::MIN, i64::MAX),
            (64, false) => (0, -1),
            (_, true) => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            (_, false) => (0, (1 << bits) - 1),
        };
        literals.extend([min, max, 0, 1].map(|v| (Literal::Int(v), t)));
        for outside in [min.wrapping_sub(1), max.wrapping_add(1)] {
            assert_eq!(Literal::Int(outside).in_range(t), bits == 64, "{outside} {t}");
        }
    }
    literals.extend([true, false].map(|b| (Literal::Bool(b), ScalarType::Bool)));
    for (value, t) in literals {
        let mut f = Function::new("f");
        let ty = Type::shaped([2], t);
        let kind = OpKind::Constant { value, ty: ty.clone() };
        f.append_op(f.body, kind.clone(), [ty], crate::loc::Loc::UNKNOWN);
        let text = f.to_string();
        let g = parse_function(&text, "t").unwrap_or_else(|e| panic!("{e}: {text}"));
        assert_eq!(*g.kind(g.block(g.body).ops[0]), kind, "{text}");
    }
}

#[test]
fn text_locations_are_given_and_kept() {
    let text = "kernel @f() {
  %a = constant 1 : i32
    %b = constant 2 : i32 loc(\"src/k.rs\":40:9)
  return loc(unknown)
}
";
    let f = parse_function(text, "dir/t.tile").unwrap();
    let places: Vec<String> = f.block(f.body).ops.iter().map(|&op| f.locs.get(f.op(op).loc).to_string()).collect();
    assert_eq!(places, ["dir/t.tile:2:8", "src/k.rs:40:9", "<unknown>"]);
    assert_eq!(f.locs.get(f.loc).to_string(), "dir/t.tile:1:1");
    assert_eq!(
        print_function(&f, &PrintOptions { locs: LocStyle::Table }),
        "#loc0 = loc(\"dir/t.tile\":1:1)
#loc1 = loc(\"dir/t.tile\":2:8)
#loc2 = loc(\"src/k.rs\":40:9)

kernel @f() loc(#loc0) {
  %a = constant 1 : i32 loc(#loc1)
  %b = constant 2 : i32 loc(#loc2)
  return loc(unknown)
}
"
    );
}

#[test]
fn invalid_functions_still_print() {
    let mut f = Function::new("f");
    let other = f.make_block([Type::INDEX]);
    let stray = f.block(other).args[0];
    f.append_op(f.body, OpKind::Yield { values: Values::from_slice(&[stray]) }, [], crate::loc::Loc::UNKNOWN);
    assert_eq!(f.to_string(), "kernel @f() {\n  yield %?v0\n}\n");
    assert!(parse_function(&f.to_string(), "t").is_err());
}

/// The first error of a text.
#[track_caller]
fn error(text: &str) -> String {
    parse_module(text, "t").expect_err(text).to_string()
}

/// The first error of an op in a kernel with some parameters; the op starts at line 2, column 1.
#[track_caller]
fn op_error(op: &str) -> String {
    error(&format!("kernel @k(%x: f32, %i: i64, %v: view<2d, f32> read, %p: ptr<f32>, %b: i1) {{\n{op}\nreturn\n}}"))
}

#[test]
fn errors_in_modules() {
    for (text, message) in [
        ("kernel", "t:1:7: error: expected the kernel's name, such as `@add`, found the end of the text"),
        (
            "func @f() {}",
            "t:1:1: error: expected `kernel`, an alias such as `#l0`, or the end of the text, found `func`",
        ),
        ("kernel @f( {}", "t:1:12: error: expected a value, found `{`"),
        ("kernel @f() {", "t:1:14: error: expected an op or `}`, found the end of the text"),
        ("kernel @f() { } kernel @f() { }", "t:1:17: error: kernel @f is defined twice"),
        ("kernel @f() dim(M = 1) { }", "t:1:13: error: `dim` is not part of a kernel's header; did you mean `dims`?"),
        ("kernel @f() num_warps(-1) { }", "t:1:23: error: -1 does not fit here, as a number of warps"),
        ("kernel @f() num_warps(1) num_warps(1) { }", "t:1:26: error: num_warps is defined twice"),
        ("kernel @f() dims(A = 1, B = 2, A = 3) { }", "t:1:32: error: dim A is defined twice"),
        ("kernel @f(%x: f32, %x: f32) { }", "t:1:20: error: %x is defined twice"),
        ("kernel @f(%x: view<2d, f32>) { }", "t:1:28: error: expected an access, found `)`"),
        ("kernel @f(%x: view<2d, f32> wr) { }", "t:1:29: error: `wr` is not an access; one of read, write, read_write"),
        ("kernel @f(%x: view<6d, f32> read) { }", "t:1:15: error: a view has at most 5 axes, found 6"),
        (
            "kernel @f(%x: tile<4xf32>) { }",
            "t:1:15: error: expected a view, scalar or pointer as a parameter, found tile<4xf32>",
        ),
        ("kernel @f(%x: f31) { }", "t:1:15: error: `f31` is not a type; did you mean `f32`?"),
        (
            "kernel @f(%x: float) { }",
            "t:1:15: error: `float` is not a type; one of i1, i4, i8, i16, i32, i64, u4, u8, u16, u32, u64, f8e4m3, f8e5m2, f8e4m3fnuz, f8e5m2fnuz, f16, bf16, f32, f64",
        ),
        (
            "kernel @f(%x: ptr<f32> {aling = 4}) { }",
            "t:1:25: error: `aling` is not an attribute here; did you mean `align`?",
        ),
        (
            "#l0 = layout<8: reg d1[1]>",
            "t:1:21: error: malformed layout: `d1` is not an output dimension of the layout",
        ),
        ("#l0 = layout<8: reg d0[1]", "t:1:14: error: expected `>` at the end of the layout"),
        ("#a = loc(\"f\":1:2) #a = loc(\"f\":1:2)", "t:1:19: error: #a is defined twice"),
        ("#a = 3", "t:1:6: error: expected `layout<...>` or `loc(...)`, found `3`"),
        ("kernel @f() loc(#a) { }", "t:1:17: error: #a is not defined"),
        ("kernel @f() { $ }", "t:1:15: error: unexpected character '$'"),
        ("kernel @f() { print \"a\n\" }", "t:1:21: error: this string does not end on its line"),
        ("kernel @f() { print \"\\q\" }", "t:1:22: error: unknown escape; there are \\n \\t \\\" \\\\ \\u{...}"),
        (
            "kernel @f() { %a.b = return }",
            "t:1:15: error: the `.` in the name of a value is followed by a number; quote other names",
        ),
        ("", ""),
    ] {
        match parse_module(text, "t") {
            Err(e) => assert_eq!(e.to_string(), message, "{text}"),
            Ok(_) => assert_eq!(message, "", "{text}"),
        }
    }
}

#[test]
fn errors_in_ops() {
    for (op, message) in [
        ("%r = lod %p : f32", "t:2:6: error: there is no op `lod`; did you mean `load`?"),
        ("%r = quantize %p : f32", "t:2:6: error: there is no op `quantize`"),
        ("%r = add %x, %y : f32", "t:2:14: error: no value %y is visible here; did you mean %b?"),
        ("%r = add %x %x : f32", "t:2:13: error: expected `,`, found `%x`"),
        ("%r = add %x, %i : f32", "t:2:6: error: add's operands differ in type: f32 and i64"),
        ("%r = add %x, %x : f64", "t:2:19: error: add gives f32, but f64 is written"),
        ("%r, %s = add %x, %x", "t:2:10: error: add has 1 result, but 2 names written"),
        ("%r = add %x, %x : f32, f32", "t:2:19: error: add has 1 result, but 2 types written"),
        ("add %x, %x", "t:2:1: error: add has 1 result, but no name written"),
        ("%x = add %x, %x", "t:2:1: error: %x is defined twice"),
        ("%r = constant 300 : u8", "t:2:15: error: 300 does not fit u8"),
        ("%r = constant -1 : u64", "t:2:15: error: -1 does not fit u64"),
        ("%r = constant 1.5 : i32", "t:2:15: error: 1.5 is not an integer, as i32 needs"),
        ("%r = constant 1e999 : f32", "t:2:15: error: 1e999 is beyond all floats; write inf for infinity"),
        ("%r = constant 1 : i1", "t:2:15: error: 1 is not a truth value; write true or false"),
        ("%r = constant true : i8", "t:2:15: error: true is not a number, as i8 needs"),
        ("%r = constant nan : i8", "t:2:15: error: i8 has no NaN"),
        (
            "%r = constant 1",
            "t:3:1: error: expected `:` and the type of the result, which constant needs, found `return`",
        ),
        ("%r = constant 0 : tile<99999999999xi8>", "t:2:24: error: 99999999999 is too large for an extent"),
        (
            "%r = constant 0 : tile<4096x4096xi8>",
            "t:2:19: error: tile [4096, 4096] has 16777216 elements; the limit is 1048576; use a smaller tile and a loop over it",
        ),
        ("%r = constant 0 : tile<1x1x1x1x1x1xi8>", "t:2:19: error: a tile has at most 5 axes, found 6"),
        (
            "%r = constant 0 : tile<i8>",
            "t:2:24: error: expected an extent, found `i8`; a tile without axes is a scalar: write its element type",
        ),
        (
            "%r = constant 0 : tile<4xi8, #l9>",
            "t:2:30: error: #l9 is not defined; define it above: `#l9 = layout<...>`",
        ),
        (
            "%r = load %v[%i] : tile<4xf32>",
            "t:2:6: error: a tile of a 2-dimensional view needs 2 offsets and extents, found 1 and 1",
        ),
        (
            "%r = load %v[%i, %i]",
            "t:3:1: error: expected `:`, found `return`; write the type that is read, such as `: tile<4xf32>`; it gives the box's extents",
        ),
        ("%r = load %v", "t:3:1: error: expected `[` and offsets, or `gather`, found `return`"),
        ("%r = load %p {cach = keep}", "t:2:15: error: `cach` is not an attribute here; did you mean `cache`?"),
        ("%r = load %p {volatile, volatile}", "t:2:25: error: attribute volatile is defined twice"),
        ("%r = load %v[%i, %i] in_bounds [8] : tile<1x1xf32>", "t:2:22: error: there is no axis 8"),
        ("%r = cmp le_than %x, %x", "t:2:10: error: `le_than` is not a comparison; one of eq, ne, lt, le, gt, ge"),
        ("assert %b, hello", "t:2:12: error: expected the message in quotes, found `hello`"),
        (
            "for %k = %i to %i step %i { %q = add %k, %k yield } %z = neg %q",
            "t:2:62: error: no value %q is visible here; pass it out of the block with yield",
        ),
        (
            "if %x { yield }",
            "t:2:1: error: the condition of an if must be a scalar i1, found f32; for a choice per element use select",
        ),
        ("while { return } do { yield }", "t:2:1: error: the condition block of a while must end in `condition`"),
        ("%r = splat %x : f32", "t:2:17: error: expected a tile type, found f32"),
        ("%r = bitcast %i : ptr<f32>", "t:2:19: error: expected a type of numbers, found ptr<f32>"),
        ("%r = convert_layout %x : f32", "t:2:26: error: expected a tile type with a layout, found f32"),
    ] {
        assert_eq!(op_error(op), message, "{op}");
    }
}

#[test]
fn nesting_is_bounded() {
    let nested = |n: usize| format!("kernel @k(%b: i1) {{ {} {} return }}", "if %b { ".repeat(n), "yield }".repeat(n));
    assert!(parse_module(&nested(MAX_NESTING - 1), "t").is_ok());
    assert!(error(&nested(MAX_NESTING)).contains("blocks are nested more than 64 deep"));
    assert!(error(&nested(100_000)).contains("blocks are nested more than 64 deep"));
}

/// Other tests take the file for a list of all ops. Of the functions of one and of two operands it has some.
#[test]
fn the_file_of_all_ops_has_all() {
    let text = include_str!("all_ops.tile");
    let words: std::collections::HashSet<&str> = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let is_function = |m: &str| UnaryOp::from_name(m).is_some() || BinaryOp::from_name(m).is_some();
    let missing: Vec<&str> = super::mnemonics().filter(|m| !is_function(m) && !words.contains(m)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn truncated_texts_are_errors() {
    let text = include_str!("all_ops.tile");
    let whole = parse_module(text, "t").map(|m| m.to_string()).ok();
    for (end, _) in text.char_indices() {
        // Some prefixes are whole modules; none may panic.
        if let Ok(m) = parse_module(&text[..end], "t") {
            assert!(m.functions.len() <= 1 || Some(m.to_string()) == whole);
        }
    }
}
