//! What is exported imports as the same kernel.

mod common;

use common::anonymous_text;
use tegula_ir::text::parse_module;
use tegula_mlir::export::export;
use tegula_mlir::import::import;
use tegula_mlir::session::Session;

#[test]
fn every_op_round_trips() {
    // The file has every op of Tile IR; laid-out values have no interchange form.
    let source = include_str!("../../ir/src/text/all_ops.tile");
    let source: Vec<_> = source.lines().filter(|l| !l.contains("#l")).collect();
    let source = source.join("\n").replace(", %80", "");
    let module = parse_module(&source, "all_ops.tile").expect("valid text");
    let session = Session::new().expect("MLIR loads");
    let mut checked = 0;
    for f in module.functions {
        let mlir = export(&f).unwrap_or_else(|e| panic!("{}: {e}", f.name));
        let back = import(&session, &mlir).unwrap_or_else(|e| panic!("{}: {e}\n{mlir}", f.name));
        assert_eq!(anonymous_text(&back), anonymous_text(&f));
        checked += 1;
    }
    assert!(checked > 0);
}
