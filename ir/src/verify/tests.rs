//! Invalid functions that no text gives: made by changing valid ones. What a text can hold is tested by the files
//! in `tests/filetests/verify`.

use super::*;
use crate::function::{Block, MAX_NESTING, Op, Value};
use crate::layout::LinearLayout;
use crate::ops::{OpKind, Values};
use crate::text::parse_function;
use crate::types::{ScalarType, Type};

const TEXT: &str = "kernel @k(%x: view<1d, f32> read, %n: i64) {
  %t = load %x[%n] : tile<4xf32>
  %c = cmp lt %n, %n : i1
  %r = if %c -> tile<4xf32> {
    %u = add %t, %t : tile<4xf32>
    yield %u
  } else {
    yield %t
  }
  return
}
";

/// The errors of the kernel above after a change.
#[track_caller]
fn errors(change: impl FnOnce(&mut Function, &[Op])) -> Vec<String> {
    let mut f = parse_function(TEXT, "k").unwrap();
    assert_eq!(verify(&f), Ok(()));
    let ops = f.ops_in_order();
    change(&mut f, &ops);
    verify(&f).expect_err("the change makes it invalid").iter().map(Diagnostic::to_string).collect()
}

#[test]
fn an_op_in_two_places() {
    let e = errors(|f, ops| {
        let body = f.body;
        f.block_mut(body).ops.insert(0, ops[0]);
    });
    assert_eq!(e, ["k:2:8: error: load stands in two places"]);
}

#[test]
fn a_block_of_two_ops() {
    let e = errors(|f, ops| {
        let OpKind::If { then_block, else_block, .. } = &mut f.op_mut(ops[2]).kind else { panic!() };
        *else_block = *then_block;
    });
    assert_eq!(e, ["k:4:8: error: block1 belongs to two ops"]);
}

#[test]
fn a_block_that_contains_itself() {
    let e = errors(|f, ops| {
        let body = f.body;
        let OpKind::If { else_block, .. } = &mut f.op_mut(ops[2]).kind else { panic!() };
        *else_block = body;
    });
    assert_eq!(e, ["k:4:8: error: block0 belongs to two ops"]);
}

#[test]
fn entities_that_do_not_exist() {
    let e = errors(|f, ops| {
        f.op_mut(ops[1]).kind.for_each_operand_mut(|v| *v = Value::from_u32(99));
    });
    assert_eq!(e[0], "k:3:8: error: lt uses v99, which does not exist".replace("lt", "cmp"));
    let e = errors(|f, ops| {
        f.op_mut(ops[2]).kind.for_each_block_mut(|b| *b = Block::from_u32(99));
    });
    assert_eq!(e[0], "k:4:8: error: block99 does not exist");
    let e = errors(|f, _| {
        let body = f.body;
        f.block_mut(body).ops[0] = Op::from_u32(99);
    });
    assert_eq!(e[0], "k:1:1: error: op99 does not exist");
}

#[test]
fn use_before_definition_and_after_the_block() {
    let e = errors(|f, _| {
        let body = f.body;
        f.block_mut(body).ops.swap(0, 2);
    });
    assert_eq!(e[0], "k:4:8: error: if uses %c (v3), which is not defined before it");
    let e = errors(|f, ops| {
        let OpKind::Yield { values } = f.kind(ops[4]).clone() else { panic!() };
        f.op_mut(ops[5]).kind = OpKind::Yield { values };
    });
    assert_eq!(e, ["k:8:5: error: yield uses %u (v4), whose block has ended"]);
}

#[test]
fn recorded_types() {
    let e = errors(|f, ops| {
        let v = f.result(ops[3]);
        f.value_mut(v).ty = Type::shaped([5], ScalarType::F32);
    });
    assert_eq!(e, ["k:5:10: error: add gives tile<4xf32>, but its result is recorded as tile<5xf32>"]);
    let e = errors(|f, ops| f.op_mut(ops[3]).results.clear());
    assert_eq!(e[0], "k:5:10: error: add gives 1 values, but 0 results are recorded");
    let e = errors(|f, ops| {
        let v = f.result(ops[3]);
        let layout: LinearLayout = "8: reg d0[1 2 4]".parse().unwrap();
        f.value_mut(v).ty = f.ty(v).with_layout(layout.into());
    });
    assert_eq!(e, ["k:5:10: error: tile<4xf32> has a layout of another shape: 8: reg d0[1 2 4]"]);
    let e = errors(|f, ops| {
        let v = f.result(ops[3]);
        let layout: LinearLayout = "4: reg d0[1]".parse().unwrap();
        f.value_mut(v).ty = f.ty(v).with_layout(layout.into());
    });
    assert_eq!(e, ["k:5:10: error: the layout of tile<4xf32> does not reach every element: 4: reg d0[1]"]);
}

#[test]
fn typing_rules_are_checked_again() {
    let e = errors(|f, ops| {
        let OpKind::Binary { b, .. } = &mut f.op_mut(ops[3]).kind else { panic!() };
        *b = Value::from_u32(1);
    });
    assert_eq!(e, ["k:5:10: error: add's operands differ in type: tile<4xf32> and i64"]);
}

#[test]
fn endings() {
    let e = errors(|f, _| {
        let body = f.body;
        f.block_mut(body).ops.pop();
    });
    assert_eq!(e, ["k:4:8: error: this block must end in return"]);
    let e = errors(|f, ops| f.op_mut(ops[4]).kind = OpKind::Return);
    assert_eq!(e, ["k:6:5: error: this block must end in yield, not return"]);
    let e = errors(|f, ops| f.op_mut(ops[6]).kind = OpKind::Yield { values: Values::new() });
    assert_eq!(e, ["k:10:3: error: this block must end in return, not yield"]);
    let e = errors(|f, ops| f.op_mut(ops[1]).kind = OpKind::Return);
    assert_eq!(e[0], "k:3:8: error: return must be the last op of its block");
}

#[test]
fn definitions_agree_with_their_places() {
    let e = errors(|f, ops| {
        let v = f.result(ops[3]);
        f.value_mut(v).def = crate::function::ValueDef::Param(0);
    });
    assert_eq!(e[0], "k:5:10: error: result 0 is defined as Param(0)");
}

#[test]
fn two_kernels_of_one_name() {
    let f = parse_function(TEXT, "k").unwrap();
    let m = Module { functions: vec![f.clone(), f] };
    let e = verify_module(&m).unwrap_err();
    assert_eq!(e.len(), 1);
    assert_eq!(e[0].to_string(), "k:1:1: error: two kernels are named k");
}

#[test]
fn blocks_nested_too_deep() {
    let n = MAX_NESTING - 1;
    let text = format!("kernel @k(%b: i1) {{\n{}{}return }}", "if %b {\n".repeat(n), "yield }\n".repeat(n));
    let mut f = parse_function(&text, "k").unwrap();
    assert_eq!(verify(&f), Ok(()));
    let innermost = f.ops_in_order().into_iter().rfind(|&op| matches!(f.kind(op), OpKind::If { .. })).unwrap();
    let (kind, loc) = (f.kind(innermost).clone(), f.op(innermost).loc);
    let OpKind::If { cond, then_block, .. } = kind else { unreachable!() };
    let blocks = [(); 2].map(|()| f.make_block([]));
    for block in blocks {
        f.append_op(block, OpKind::Yield { values: Values::new() }, [], loc);
    }
    f.append_op(then_block, OpKind::If { cond, then_block: blocks[0], else_block: blocks[1] }, [], loc);
    f.block_mut(then_block).ops.swap(0, 1);
    let errors = verify(&f).unwrap_err();
    let message = "error: blocks are nested more than 64 deep; an early `return`";
    assert!(errors.len() == 2 && errors[0].to_string().contains(message), "{errors:?}");
}
