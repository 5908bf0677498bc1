//! Layout assignment on whole kernels: what it gives keeps the layout rules, prints, and parses back.

use std::path::Path;
use tegula_ir::layout::rules::{LaidOut, laid_out};
use tegula_ir::ops::{BinaryOp, OpKind};
use tegula_ir::pass::{Pass, PassContext};
use tegula_ir::passes::assign_layouts::AssignLayouts;
use tegula_ir::text::{parse_module, print_module};
use tegula_ir::verify::verify;

/// Every op of the language, in every family, and control flow that carries tiles.
const ALL_OPS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/text/all_ops.tile");

#[test]
fn every_op_can_be_laid_out() {
    let text = std::fs::read_to_string(Path::new(ALL_OPS)).expect("the file is part of the crate");
    for lanes in [32, 64] {
        let mut module = parse_module(&text, "all_ops.tile").expect("the file parses");
        // The second kernel shows names that need quotes, with a parameter that cannot be passed.
        module.functions.truncate(1);
        for function in &mut module.functions {
            // The file shows layouts in types too; assignment starts from IR without them.
            strip_layouts(function);
            AssignLayouts { lanes }.run(function, &mut PassContext::new()).expect("the kernel can be laid out");
            assert_eq!(laid_out(function), LaidOut::All);
            verify(function).expect("the rules hold");
        }
        let printed = print_module(&module, &Default::default());
        let parsed = parse_module(&printed, "printed.tile").expect("laid-out IR parses");
        assert_eq!(print_module(&parsed, &Default::default()), printed);
    }
}

fn strip_layouts(f: &mut tegula_ir::Function) {
    for op in f.ops_in_order() {
        for value in f.op(op).results.clone() {
            f.value_mut(value).ty = f.ty(value).without_layout();
        }
        if let OpKind::ConvertLayout { x, .. } = *f.kind(op) {
            // The greater of a value and itself: a result like the conversion's.
            f.op_mut(op).kind = OpKind::Binary { op: BinaryOp::Max, a: x, b: x };
        }
    }
}
