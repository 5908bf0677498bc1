//! Properties of the emitted assembly: what must be there, and what must not.

use tegula_codegen_amdgpu::{Options, compile};
use tegula_ir::ops::UnaryOp;
use tegula_ir::passes::expand_math::is_expanded;
use tegula_ir::text::parse_function;

fn assembly(text: &str, target: &str) -> String {
    let function = parse_function(text, "kernel.tile").unwrap_or_else(|e| panic!("{e}"));
    let options = Options { keep_assembly: true, ..Options::default() };
    let compiled = compile(&function, target, &options).unwrap_or_else(|e| panic!("{e}"));
    compiled.assembly.expect("the assembly was asked for")
}

fn count(text: &str, what: &str) -> usize {
    text.matches(what).count()
}

const VIEW: &str = "{align = 16, unit_inner, extent_divisor = [16], fits_32, no_alias}";

/// A kernel over one-dimensional `f32` views `x` and `out`, with this body from `%a` to `%r`.
fn elementwise(body: &str) -> String {
    format!(
        "kernel @k(%x: view<1d, f32> read {VIEW}, %out: view<1d, f32> write {VIEW}) num_warps(4) {{
  %p = program_id 0 : i64
  %size = constant 1024 : i64
  %i = mul %p, %size : i64
  %a = load %x[%i] : tile<1024xf32>
{body}
  store %r, %out[%i]
  return
}}"
    )
}

#[test]
fn whole_vectors_are_loaded_and_stored() {
    let text = assembly(&elementwise("  %r = add %a, %a : tile<1024xf32>"), "gfx942");
    // 4 elements a thread, one vector.
    assert_eq!(count(&text, "load_dwordx4"), 1, "{text}");
    assert_eq!(count(&text, "store_dwordx4"), 1, "{text}");
    assert!(!text.contains("s_barrier") && !text.contains("scratch_"), "{text}");
}

#[test]
fn products_and_sums_are_not_contracted() {
    let text =
        assembly(&elementwise("  %m = mul %a, %a : tile<1024xf32>\n  %r = add %m, %a : tile<1024xf32>"), "gfx942");
    assert!(!text.contains("v_fma") && !text.contains("v_pk_fma") && !text.contains("v_mac"), "{text}");
}

/// Within a row of 16 lanes by DPP, which takes no trip through the LDS; a whole row of the tile stays in one wave.
#[test]
fn sums_of_a_row_stay_in_the_wave() {
    let text = "
kernel @k(%x: view<2d, f32> read {align = 16, unit_inner}, %y: view<1d, f32> write) num_warps(4) {
  %z = constant 0 : i64
  %t = load %x[%z, %z] : tile<16x64xf32>
  %s = reduce sum %t axes [1] : tile<16xf32>
  store %s, %y[%z]
  return
}";
    for target in ["gfx942", "gfx1201"] {
        let text = assembly(text, target);
        assert!(text.contains("quad_perm") || text.contains("row_"), "{target}: {text}");
        assert!(!text.contains("s_barrier"), "{target}: {text}");
    }
}

/// Operands of products come from the LDS in whole vectors.
#[test]
fn operands_are_read_from_the_lds_in_vectors() {
    let text = "
kernel @k(%a: view<2d, f32> read {align = 16, unit_inner, stride_divisor = [16]},
          %b: view<2d, f32> read {align = 16, unit_inner, stride_divisor = [16]}, %c: view<2d, f32> write) num_warps(4) {
  %z = constant 0 : i64
  %x = load %a[%z, %z] : tile<64x32xf32>
  %y = load %b[%z, %z] : tile<32x64xf32>
  %o = constant 0.0 : tile<64x64xf32>
  %d = dot %x, %y, %o : tile<64x64xf32>
  store %d, %c[%z, %z]
  return
}";
    let text = assembly(text, "gfx942");
    assert!(text.contains("ds_read_b128") || text.contains("ds_read2_b64"), "{text}");
    assert!(text.contains("v_fma") || text.contains("v_pk_fma"), "{text}");
}

/// Every function is made of instructions: nothing is called, and there is nothing to link with.
#[test]
fn no_function_of_a_library_is_called() {
    let mut body = String::from("  %v0 = add %a, %a : tile<1024xf32>\n");
    let functions: Vec<UnaryOp> = UnaryOp::ALL.iter().copied().filter(|op| is_expanded(*op)).collect();
    for (i, op) in functions.iter().enumerate() {
        body += &format!("  %f{i} = {op} %a\n  %v{} = add %v{i}, %f{i}\n", i + 1);
    }
    body += &format!("  %p{0} = pow %a, %v{0}\n  %r = atan2 %p{0}, %a", functions.len());
    let text = assembly(&elementwise(&body), "gfx942");
    assert!(!text.contains("s_swappc") && !text.contains("s_setpc"), "{text}");
    assert!(!text.contains("__ocml") && !text.contains("rel32"), "{text}");
}

#[test]
fn the_same_input_gives_the_same_code() {
    let kernel = elementwise("  %r = tanh %a : tile<1024xf32>");
    assert_eq!(assembly(&kernel, "gfx942"), assembly(&kernel, "gfx942"));
}
