//! What is fused, what is kept in place, what shares memory.

use tegula_ir::function::{Function, Value};
use tegula_ir::text::parse_function;

use super::{Group, Place, Plan, Step};

fn plan(text: &str) -> (Function, Plan) {
    let func = parse_function(text, "plan.tile").unwrap_or_else(|e| panic!("{e}"));
    let plan = Plan::new(&func, true);
    (func, plan)
}

fn value(func: &Function, name: &str) -> Value {
    (0..func.num_values() as u32)
        .map(Value::from_u32)
        .find(|&v| func.value(v).name.as_deref() == Some(name))
        .unwrap_or_else(|| panic!("no value {name}"))
}

fn groups<'p>(func: &Function, plan: &'p Plan) -> Vec<&'p Group> {
    plan.steps[&func.body].iter().filter_map(|s| if let Step::Group(g) = s { Some(g) } else { None }).collect()
}

const SOFTMAX: &str = "kernel @softmax(%x: view<2d, f32> read, %y: view<2d, f32> write) {
    %zero = constant 0 : i64
    %v = load %x[%zero, %zero] : tile<8x100xf32>
    %m = reduce max %v axes [1] : tile<8xf32>
    %m1 = reshape %m : tile<8x1xf32>
    %mb = broadcast %m1 : tile<8x100xf32>
    %d = sub %v, %mb : tile<8x100xf32>
    %e = div %d, %mb : tile<8x100xf32>
    %s = reduce sum %e axes [1] : tile<8xf32>
    %s1 = reshape %s : tile<8x1xf32>
    %sb = broadcast %s1 : tile<8x100xf32>
    %q = mul %e, %sb : tile<8x100xf32>
    store %q, %y[%zero, %zero]
    return
  }";

#[test]
fn softmax_is_three_passes_over_a_row() {
    let (func, plan) = plan(SOFTMAX);
    let groups = groups(&func, &plan);
    let [group] = groups[..] else { panic!("{} groups", groups.len()) };
    assert_eq!(group.rows[..], [8]);
    // The maximum; the terms and their sum; the quotients.
    let roots: Vec<usize> = group.nests.iter().map(|n| n.roots.len()).collect();
    assert_eq!(roots, [1, 2, 1]);
    assert_eq!(plan.place(value(&func, "v")), Place::Inline);
    assert_eq!(plan.place(value(&func, "m")), Place::Row { buffer: None });
    // Only a row of the terms is kept.
    let Place::Buffer { buffer, dropped: 1 } = plan.place(value(&func, "e")) else { panic!("terms have a row buffer") };
    assert_eq!(plan.buffer(buffer).shape[..], [100]);
}

#[test]
fn without_fusion_every_op_has_a_buffer() {
    let func = parse_function(SOFTMAX, "plan.tile").unwrap_or_else(|e| panic!("{e}"));
    let plan = Plan::new(&func, false);
    for name in ["v", "m", "d", "e", "s", "q"] {
        let place = plan.place(value(&func, name));
        assert!(
            matches!(place, Place::Buffer { dropped: 0, .. } | Place::Row { buffer: Some(_) }),
            "{name}: {place:?}"
        );
    }
    assert!(groups(&func, &plan).iter().all(|g| g.nests.len() == 1 && g.nests[0].roots.len() == 1));
}

#[test]
fn an_accumulator_stays_in_place() {
    let (func, plan) = plan(
        "kernel @matmul(%a: view<2d, f16> read, %b: view<2d, f16> read, %c: view<2d, f32> write, %k: i64) {
           %zero = constant 0 : i64
           %step = constant 32 : i64
           %start = constant 0.0 : tile<16x48xf32>
           %sum = for %i = %zero to %k step %step iter(%acc = %start) -> tile<16x48xf32> {
             %x = load %a[%zero, %i] : tile<16x32xf16>
             %y = load %b[%i, %zero] : tile<32x48xf16>
             %next = dot %x, %y, %acc : tile<16x48xf32>
             yield %next
           }
           store %sum, %c[%zero, %zero]
           return
         }",
    );
    let place = plan.place(value(&func, "acc"));
    assert_eq!(plan.place(value(&func, "next")), place);
    assert_eq!(plan.place(value(&func, "sum")), place);
    assert_eq!(plan.place(value(&func, "x")), Place::Inline);
    assert_eq!(plan.place(value(&func, "y")), Place::Inline);
    assert_eq!(plan.buffers.len(), 1);
}

#[test]
fn a_scaled_accumulator_stays_in_place() {
    let (func, plan) = plan(
        "kernel @rescale(%a: view<2d, f32> read, %b: view<2d, f32> read, %c: view<2d, f32> write, %k: i64) {
           %zero = constant 0 : i64
           %step = constant 32 : i64
           %start = constant 0.0 : tile<16x48xf32>
           %half = constant 0.5 : tile<16x48xf32>
           %sum = for %i = %zero to %k step %step iter(%acc = %start) -> tile<16x48xf32> {
             %x = load %a[%zero, %i] : tile<16x32xf32>
             %y = load %b[%i, %zero] : tile<32x48xf32>
             %less = mul %acc, %half : tile<16x48xf32>
             %next = dot %x, %y, %less : tile<16x48xf32>
             yield %next
           }
           store %sum, %c[%zero, %zero]
           return
         }",
    );
    assert_eq!(plan.place(value(&func, "next")), plan.place(value(&func, "acc")));
    assert_eq!(plan.buffers.len(), 1);
}

#[test]
fn a_carried_tile_that_is_still_read_is_not_overwritten() {
    let (func, plan) = plan(
        "kernel @shift(%x: view<1d, f32> read, %o: view<1d, f32> write, %k: i64) {
           %zero = constant 0 : i64
           %one = constant 1 : i64
           %a = load %x[%zero] : tile<64xf32>
           %b = load %x[%one] : tile<64xf32>
           %p, %q = for %i = %zero to %k step %one iter(%u = %a, %v = %b) -> tile<64xf32>, tile<64xf32> {
             %f = flip %u axis 0 : tile<64xf32>
             %w = add %f, %v : tile<64xf32>
             yield %v, %w
           }
           %r = sub %p, %q : tile<64xf32>
           store %r, %o[%zero]
           return
         }",
    );
    // `w` is not written over `u`, which it reads backwards, nor over `v`, which is yielded after it.
    let next = plan.place(value(&func, "w"));
    assert_ne!(next, plan.place(value(&func, "u")));
    assert_ne!(next, plan.place(value(&func, "v")));
}

#[test]
fn buffers_that_are_not_live_together_share_memory() {
    let (_, plan) = plan(
        "kernel @chain(%x: view<2d, f32> read, %o: view<2d, f32> write) {
           %zero = constant 0 : i64
           %a = load %x[%zero, %zero] : tile<32x32xf32>
           %b = scan sum %a axis 0 : tile<32x32xf32>
           %c = scan sum %b axis 1 : tile<32x32xf32>
           %d = scan sum %c axis 0 : tile<32x32xf32>
           store %d, %o[%zero, %zero]
           return
         }",
    );
    assert_eq!(plan.buffers.len(), 3);
    let one = super::buffers::buffer_bytes(plan.buffers[0].elem, &plan.buffers[0].shape);
    assert_eq!(plan.arena_bytes, 2 * one);
}
