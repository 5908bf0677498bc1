//! What is exported imports as the same kernel.

use tegula_ir::Module;
use tegula_ir::text::{LocStyle, PrintOptions, parse_module, print_module};
use tegula_mlir::export::export;
use tegula_mlir::import::import;
use tegula_mlir::session::Session;

/// The kernel without the names of its values, which the interchange form does not carry; as text.
fn text(module: &Module) -> String {
    let mut module = module.clone();
    for f in &mut module.functions {
        for v in (0..f.num_values()).map(|i| tegula_ir::Value::from_u32(i as u32)) {
            f.value_mut(v).name = None;
        }
    }
    print_module(&module, &PrintOptions { locs: LocStyle::Inline })
}

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
        assert_eq!(text(&back.into()), text(&f.into()));
        checked += 1;
    }
    assert!(checked > 0);
}
