//! Properties of the emitted PTX: what must be there, and what must not.

use tegula_codegen::CodegenError;
use tegula_codegen_nvptx::{CompiledPtx, Options, compile};
use tegula_ir::function::Function;
use tegula_ir::ops::UnaryOp;
use tegula_ir::passes::expand_math::is_expanded;
use tegula_ir::text::parse_function;

fn function(text: &str) -> Function {
    parse_function(text, "kernel.tile").unwrap_or_else(|e| panic!("{e}"))
}

fn ptx(text: &str) -> CompiledPtx {
    compile(&function(text), "sm_90a", &Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn count(text: &str, what: &str) -> usize {
    text.matches(what).count()
}

const VIEW: &str = "{align = 16, unit_inner, extent_divisor = [16], fits_32, no_alias}";

/// A kernel over one-dimensional `f32` views `x`, `y` and `out`, with this body on `%a` and `%b`.
fn elementwise(body: &str) -> String {
    format!(
        "kernel @k(%x: view<1d, f32> read {VIEW}, %y: view<1d, f32> read {VIEW}, %out: view<1d, f32> write {VIEW}) \
         num_warps(4) {{
  %p = program_id 0 : i64
  %size = constant 1024 : i64
  %i = mul %p, %size : i64
  %a = load %x[%i] : tile<1024xf32>
  %b = load %y[%i] : tile<1024xf32>
{body}
  store %r, %out[%i]
  return
}}"
    )
}

#[test]
fn whole_vectors_are_loaded_and_stored() {
    let compiled = ptx(&elementwise("  %r = add %a, %b : tile<1024xf32>"));
    // 8 elements a thread, 4 a vector.
    assert_eq!(count(&compiled.ptx, "ld.global.nc.v4.b32"), 4, "{}", compiled.ptx);
    assert_eq!(count(&compiled.ptx, "st.global.v4.b32"), 2, "{}", compiled.ptx);
    assert_eq!((compiled.info.threads, compiled.info.static_shared), (128, 0));
    assert!(!compiled.ptx.contains("bar.sync"), "{}", compiled.ptx);
}

/// `x * y + x * y` rounds three times: neither LLVM nor `ptxas` may fuse it.
#[test]
fn products_and_sums_are_not_contracted() {
    let compiled = ptx(&elementwise(
        "  %m = mul %a, %b : tile<1024xf32>\n  %n = mul %b, %b : tile<1024xf32>\n  %r = add %m, %n : tile<1024xf32>",
    ));
    assert!(!compiled.ptx.contains("fma"), "{}", compiled.ptx);
    assert!(compiled.ptx.contains("mul.rn.f32") && compiled.ptx.contains("add.rn.f32"), "{}", compiled.ptx);
}

/// Every function is made of instructions: nothing is called, and there is nothing to link with.
#[test]
fn no_function_of_a_library_is_called() {
    let mut body = String::from("  %v0 = add %a, %b : tile<1024xf32>\n");
    let functions: Vec<UnaryOp> = UnaryOp::ALL.iter().copied().filter(|op| is_expanded(*op)).collect();
    for (i, op) in functions.iter().enumerate() {
        body += &format!("  %f{i} = {op} %a\n  %v{} = add %v{i}, %f{i}\n", i + 1);
    }
    body += &format!("  %p{0} = pow %a, %v{0}\n  %r = atan2 %p{0}, %b", functions.len());
    let compiled = ptx(&elementwise(&body));
    assert!(!compiled.ptx.contains("call") && !compiled.ptx.contains(".extern"), "{}", compiled.ptx);
}

#[test]
fn an_asked_for_fma_is_one_instruction() {
    let compiled = ptx(&elementwise("  %r = fma %a, %b, %a : tile<1024xf32>"));
    assert_eq!(count(&compiled.ptx, "fma.rn.f32"), 8, "{}", compiled.ptx);
}

#[test]
fn lines_are_those_of_the_source() {
    let compiled = ptx(&elementwise("  %r = add %a, %b : tile<1024xf32>"));
    // The second load is on line 6 of the text, the addition on line 7.
    for line in [" 6 ", " 7 ", " 8 "] {
        assert!(compiled.ptx.contains(&format!("\t.loc\t1{line}")), "{line}: {}", compiled.ptx);
    }
    assert!(compiled.ptx.contains(".file\t1 \"kernel.tile\""), "{}", compiled.ptx);
    assert!(compiled.ptx.contains(".target sm_90a\n"), "{}", compiled.ptx);
}

#[test]
fn without_lines_there_are_none() {
    let text = elementwise("  %r = add %a, %b : tile<1024xf32>");
    let options = Options { line_table: false, ..Options::default() };
    let compiled = compile(&function(&text), "sm_80", &options).unwrap();
    assert!(!compiled.ptx.contains(".loc"), "{}", compiled.ptx);
}

#[test]
fn the_same_input_gives_the_same_text() {
    let text = elementwise("  %s = scan sum %a axis 0 : tile<1024xf32>\n  %r = add %s, %b : tile<1024xf32>");
    assert_eq!(ptx(&text).ptx, ptx(&text).ptx);
}

#[test]
fn parameters_are_listed_with_their_places() {
    let compiled = ptx("kernel @k(%n: i32, %x: view<2d, f16> read, %f: i1, %p: ptr<f64>) num_warps(1) {
  return
}");
    let places: Vec<(u32, u32, u32)> = compiled.info.params.iter().map(|p| (p.param, p.offset, p.size)).collect();
    let view = [8, 16, 24, 32, 40].map(|offset| (1, offset, 8));
    let mut expected = vec![(0, 0, 4)];
    expected.extend(view);
    expected.extend([(2, 48, 1), (3, 56, 8)]);
    assert_eq!(places, expected);
    assert_eq!(compiled.info.params_size, 64);
}

/// Offsets are computed in 64 bits unless 32 are promised to be enough.
#[test]
fn large_offsets_do_not_wrap() {
    let compiled = ptx("kernel @k(%x: view<2d, f32> read {unit_inner}, %out: view<1d, f32> write) num_warps(1) {
  %i = program_id 0 : i64
  %z = constant 0 : i64
  %t = load %x[%i, %z] : tile<1x32xf32>
  %r = reshape %t : tile<32xf32>
  store %r, %out[%z]
  return
}");
    assert!(compiled.ptx.contains("mul.lo.s64") || compiled.ptx.contains("mad.lo.s64"), "{}", compiled.ptx);
}

#[test]
fn what_is_written_is_read_after_a_barrier() {
    let text = |permuted: bool| {
        let second =
            if permuted { "%q = permute %p [1, 0] : tile<32x32xi32>" } else { "%q = add %p, %p : tile<32x32xi32>" };
        format!(
            "kernel @k(%x: view<2d, i32> read_write) num_warps(4) {{
  %z = constant 0 : i64
  %p = load %x[%z, %z] : tile<32x32xi32>
  {second}
  store %q, %x[%z, %z]
  return
}}"
        )
    };
    // Each thread stores where it loaded: no barrier. Transposed, others must have loaded first.
    let in_place = ptx(&text(false));
    assert!(!in_place.ptx.contains("bar.sync"), "{}", in_place.ptx);
    let transposed = ptx(&text(true));
    assert!(transposed.ptx.contains("bar.sync"), "{}", transposed.ptx);
}

#[test]
fn an_unknown_target_names_the_nearest() {
    let error = compile(&function("kernel @k() {\n  return\n}"), "sm_90b", &Options::default()).unwrap_err();
    assert_eq!(error.to_string(), "unknown target `sm_90b`; did you mean `sm_90a`?");
    let error = compile(&function("kernel @k() {\n  return\n}"), "gfx942", &Options::default()).unwrap_err();
    assert!(matches!(error, CodegenError::InvalidOption { option: "target", .. }), "{error}");
}

#[test]
fn too_many_warps_are_refused() {
    let error = compile(&function("kernel @k() num_warps(64) {\n  return\n}"), "sm_90a", &Options::default());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("64 warps") && error.contains("from 1 to 32"), "{error}");
}

/// Wound 16: a tile of 4 x 65536 is refused with a reason, at once.
#[test]
fn a_tile_beyond_all_registers_is_refused() {
    let text = "kernel @k(%x: view<2d, f32> read, %o: view<1d, f32> write) num_warps(4) {
  %z = constant 0 : i64
  %t = load %x[%z, %z] : tile<4x65536xf32>
  %m = reduce max %t axes [1] : tile<4xf32>
  store %m, %o[%z]
  return
}";
    let start = std::time::Instant::now();
    let error = compile(&function(text), "sm_90a", &Options::default()).unwrap_err().to_string();
    assert!(error.contains("2048 elements a thread") && error.contains("use more warps"), "{error}");
    assert!(start.elapsed().as_secs() < 10);
}

/// Wound 17: the need, the limit and the kernel are named.
#[test]
fn too_much_shared_memory_is_refused() {
    let text = "kernel @flipped(%x: view<1d, f64> read, %o: view<1d, f64> write) num_warps(32) {
  %z = constant 0 : i64
  %t = load %x[%z] : tile<65536xf64>
  %f = flip %t axis 0 : tile<65536xf64>
  store %f, %o[%z]
  return
}";
    let error = compile(&function(text), "sm_80", &Options::default()).unwrap_err().to_string();
    assert_eq!(
        error,
        "kernel `flipped` needs 524288 bytes of shared memory with 32 warps, but sm_80 has 166912 a program; use \
         smaller tiles or fewer stages"
    );
}

/// More than a static array may have is asked for at launch.
#[test]
fn large_scratch_is_dynamic() {
    let text = "kernel @k(%x: view<1d, f64> read, %o: view<1d, f64> write) num_warps(8) {
  %z = constant 0 : i64
  %t = load %x[%z] : tile<8192xf64>
  %f = flip %t axis 0 : tile<8192xf64>
  store %f, %o[%z]
  return
}";
    let compiled = ptx(text);
    assert_eq!((compiled.info.static_shared, compiled.info.dynamic_shared), (0, 65536));
    assert!(compiled.ptx.contains(".extern .shared .align 16 .b8 scratch[];"), "{}", compiled.ptx);
}

/// What waits for the kernel before it waits before its first access to memory, also to what only it reads, which LLVM
/// may otherwise move. Older architectures have no such launches.
#[test]
fn dependent_launches_wait_before_they_touch_memory() {
    let kernels = [
        elementwise("  %r = add %a, %b : tile<1024xf32>"),
        elementwise("  %s = scan sum %a axis 0 : tile<1024xf32>\n  %r = add %s, %b : tile<1024xf32>"),
        "kernel @k(%p: ptr<i32>, %x: view<1d, i32> read) num_warps(1) {
  %z = constant 0 : i64
  %a = load %x[%z] : tile<32xi32>
  print \"a\", %a
  return
}"
        .to_owned(),
    ];
    for text in kernels {
        let compiled = ptx(&text).ptx;
        let at = |what: &str| compiled.find(what).unwrap_or_else(|| panic!("no {what} in {compiled}"));
        let (wait, launch) = (at("griddepcontrol.wait;"), at("griddepcontrol.launch_dependents;"));
        assert!(wait < launch && wait < at("ld.global"), "{compiled}");
        assert_eq!(count(&compiled, "griddepcontrol"), 2, "{compiled}");
        for old in ["sm_80", "sm_89"] {
            let compiled = compile(&function(&text), old, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
            assert!(!compiled.ptx.contains("griddepcontrol"), "{}", compiled.ptx);
        }
    }
}
