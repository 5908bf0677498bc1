//! Kernels at the edges of what can be written, compiled for each target: they give code that runs as on the interpreter, or
//! an error that says why not. Neither Tegula nor LLVM ends the process.

use tegula_ir::Function;
use tegula_ir::exec::{ExecError, HostArg, HostTensor};
use tegula_ir::text::parse_function;
use tegula_ir::types::ScalarType;
use tegula_runtime::executors;

const EXECUTORS: [&str; 4] = ["cpu", "vgpu:sm_80", "vgpu:sm_90a", "vgpu:gfx942"];

fn parse(text: &str) -> Function {
    parse_function(text, "extreme.tile").unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// What each executor makes of a kernel: the same as the interpreter, or the error of its compiler.
fn outcomes(f: &Function, args: &[HostArg]) -> Vec<(&'static str, Result<(), String>)> {
    let run = |name: &str| {
        let executor = executors::by_name(name).unwrap_or_else(|e| panic!("{e}"));
        let mut args = args.to_vec();
        executor.run(f, [1, 1, 1], &mut args).map(|printed| (printed, args))
    };
    let wanted = run("interp").unwrap_or_else(|e| panic!("{e}"));
    let outcome = |name| match run(name) {
        Ok(found) => {
            assert!(found == wanted, "{name} gives something else");
            (name, Ok(()))
        }
        Err(ExecError::Compile(message)) => {
            // An error of the user's kernel, not one of the compiler's.
            assert!(!message.is_empty() && !message.contains("bug in Tegula"), "{name}: {message}");
            (name, Err(message))
        }
        Err(e) => panic!("{name}: {e}"),
    };
    EXECUTORS.map(outcome).into()
}

/// Every executor runs the kernel.
fn runs(text: &str, args: &[HostArg]) {
    for (name, outcome) in outcomes(&parse(text), args) {
        outcome.unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

/// The CPU runs the kernel, and GPUs refuse it with each of these words.
fn is_refused(text: &str, args: &[HostArg], words: &[&str]) {
    for (name, outcome) in outcomes(&parse(text), args) {
        match outcome {
            Ok(()) => assert_eq!(name, "cpu", "it is not refused"),
            Err(message) => {
                assert_ne!(name, "cpu", "{message}");
                let target = name.trim_start_matches("vgpu:");
                let missing = words.iter().chain([&target]).find(|word| !message.contains(**word));
                assert_eq!(missing, None, "{message}");
            }
        }
    }
}

fn numbers(extents: &[i64]) -> HostArg {
    let count: i64 = extents.iter().product();
    let data = (0..count).flat_map(|i| ((i % 251) as i32 - 100).to_le_bytes()).collect();
    HostArg::Tensor(HostTensor::from_bytes(ScalarType::I32, extents, data))
}

#[test]
fn the_largest_tile() {
    let text = "
kernel @largest(%x: view<2d, i32> read, %y: view<1d, i32> write) num_warps(16) {
  %z = constant 0 : i64
  %t = load %x[%z, %z] : tile<1024x1024xi32>
  %s = reduce xor %t axes [1] : tile<1024xi32>
  store %s, %y[%z]
  return
}";
    is_refused(text, &[numbers(&[1000, 1001]), numbers(&[1024])], &["extreme.tile:4:", "elements a thread"]);
}

#[test]
fn more_shared_memory_than_there_is() {
    let text = "
kernel @shuffled(%x: view<2d, i32> read, %y: view<2d, i32> write) num_warps(16) {
  %z = constant 0 : i64
  %t = load %x[%z, %z] : tile<256x256xi32>
  %s = gather_axis %t, %t axis 1 : tile<256x256xi32>
  store %s, %y[%z, %z]
  return
}";
    is_refused(text, &[numbers(&[256, 256]), numbers(&[256, 256])], &["`shuffled`", "bytes of shared memory"]);
}

#[test]
fn single_elements_in_many_axes() {
    let text = "
kernel @single(%x: view<5d, i32> read, %y: view<1d, i32> write) num_warps(8) {
  %z = constant 0 : i64
  %t = load %x[%z, %z, %z, %z, %z] : tile<1x1x1x1x1xi32>
  %p = permute %t [4, 2, 0, 1, 3]
  %s = scan sum %p axis 2
  %m, %i = arg_reduce max %s axis 0
  %a = reshape %m : tile<1xi32>
  %b = reshape %i : tile<1xi32>
  %c = add %a, %b
  store %c, %y[%z]
  return
}";
    runs(text, &[numbers(&[1, 1, 1, 1, 1]), numbers(&[1])]);
}

#[test]
fn blocks_nested_as_deep_as_they_may_be() {
    // The body of the kernel is one of the 64.
    let (n, mut body) = (63, String::new());
    for i in 0..n {
        body += &format!("%c{i} = cmp gt %n, %k{i}\n%r{i} = if %c{i} -> i32 {{\n%k{} = add %k{i}, %one\n", i + 1);
    }
    for i in (0..n).rev() {
        let inner = if i + 1 == n { format!("%k{n}") } else { format!("%r{}", i + 1) };
        body += &format!("yield {inner}\n}} else {{\nyield %k{i}\n}}\n");
    }
    let text = format!(
        "kernel @deep(%n: i32, %y: view<0d, i32> write) {{\n%one = constant 1 : i32\n%k0 = constant 0 : i32\n{body}\
         store %r0, %y[]\nreturn\n}}"
    );
    let n = HostArg::Scalar(tegula_ir::literal::Literal::Int(40));
    runs(&text, &[n, numbers(&[])]);
}

#[test]
fn a_long_straight_line() {
    let mut body = String::from("%v0 = load %x[%z] : tile<64xi32>\n");
    for i in 0..1500 {
        let op = ["add", "xor", "mul", "sub"][i % 4];
        body += &format!("%v{} = {op} %v{i}, %v{}\n", i + 1, i / 2);
    }
    let text = format!(
        "kernel @long(%x: view<1d, i32> read, %y: view<1d, i32> write) {{\n%z = constant 0 : i64\n{body}\
         store %v1500, %y[%z]\nreturn\n}}"
    );
    runs(&text, &[numbers(&[64]), numbers(&[64])]);
}

/// 120 tensors of rank 2 are 4800 bytes of arguments; PTX for sm_80 has room for 4352.
#[test]
fn more_arguments_than_a_launch_passes() {
    let params: String = (0..120).map(|i| format!("%x{i}: view<2d, i32> read, ")).collect();
    let text = format!(
        "kernel @many({params}%y: view<2d, i32> write) {{\n%z = constant 0 : i64\n%a = load %x0[%z, %z] : tile<2x2xi32>\n\
         %b = load %x119[%z, %z] : tile<2x2xi32>\n%s = add %a, %b\nstore %s, %y[%z, %z]\nreturn\n}}"
    );
    let args: Vec<HostArg> = (0..121).map(|_| numbers(&[2, 2])).collect();
    for (name, outcome) in outcomes(&parse(&text), &args) {
        match outcome {
            Ok(()) => assert_ne!(name, "vgpu:sm_80"),
            Err(message) => {
                let wanted = "kernel `many` takes 4840 bytes of arguments, but a launch on sm_80 passes at most 4352";
                assert!(name == "vgpu:sm_80" && message.contains(wanted), "{name}: {message}");
            }
        }
    }
}

/// Rust allows letters that assemblers do not.
#[test]
fn names_that_assemblers_do_not_take() {
    for name in ["größe", "2 plus 2", "a.b/c\\\"d", "", "数"] {
        let quoted = name.replace('\\', "\\\\").replace('"', "\\\"");
        let text = format!(
            "kernel @\"{quoted}\"(%x: view<1d, i32> read_write) {{\n%z = constant 0 : i64\n\
             %t = load %x[%z] : tile<8xi32> loc(\"ordner/größe \\\"1\\\".rs\":3:5)\n%s = add %t, %t\nstore %s, %x[%z]\nreturn\n}}"
        );
        runs(&text, &[numbers(&[7])]);
    }
}

/// What stands in a message is not a format.
#[test]
fn messages_with_any_characters() {
    let text = r#"
kernel @messages(%x: view<1d, i32> read) {
  %z = constant 0 : i64
  %t = load %x[%z] : tile<3xi32>
  %c = cmp eq %t, %t
  print "100 % of %s %n %d, \"größe\": 7:8", %t
  assert %c, "%s : \"never\" 100 %"
  return
}"#;
    runs(text, &[numbers(&[3])]);
}
