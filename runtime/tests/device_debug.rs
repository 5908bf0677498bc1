//! Prints and assertions in code for GPUs, as the virtual GPUs run it: by the drivers' conventions.

use tegula_ir::exec::{ExecError, Executor, HostArg, HostTensor};
use tegula_ir::interp::Interpreter;
use tegula_ir::literal::Literal;
use tegula_ir::text::parse_function;
use tegula_ir::types::ScalarType;
use tegula_runtime::virtual_gpu::VirtualGpu;

const TARGETS: [&str; 4] = ["sm_80", "sm_90a", "gfx942", "gfx1100"];

fn run(target: &str, text: &str, grid: [u32; 3], args: &mut [HostArg]) -> Result<String, ExecError> {
    let function = parse_function(text, "kernel.rs").unwrap_or_else(|e| panic!("{e}"));
    VirtualGpu::new(target).unwrap_or_else(|| panic!("{target}")).run(&function, grid, args)
}

#[test]
fn prints_lines_in_the_order_of_programs() {
    let text = "kernel @f(%x: view<1d, f32> read, %n: i32) {
      %zero = constant 0 : i64
      %p = program_id 0 : i64
      %t = load %x[%zero] : tile<4xf32>
      %small = cast %n : i8
      %is = cmp gt %p, %zero : i1
      print \"100% of: program\", %p, %t, %small
      print \"first?\", %is
      return
    }";
    let x: Vec<u8> = [1.0f32, 2.5, -0.1, f32::INFINITY].iter().flat_map(|v| v.to_le_bytes()).collect();
    let x = HostTensor::from_bytes(ScalarType::F32, &[4], x);
    for target in TARGETS {
        let mut args = [HostArg::Tensor(x.clone()), HostArg::Scalar(Literal::Int(-3))];
        let printed = run(target, text, [12, 1, 1], &mut args).unwrap_or_else(|e| panic!("{target}: {e}"));
        let expected: String = (0..12)
            .flat_map(|p| {
                [
                    format!("program ({p}, 0, 0): 100% of: program {p} [1, 2.5, -0.100000001, inf] -3\n"),
                    format!("program ({p}, 0, 0): first? {}\n", p > 0),
                ]
            })
            .collect();
        assert_eq!(printed, expected, "{target}");
    }
}

/// What the interpreter prints, whatever the number of values and where they stand on their lines.
#[test]
fn prints_tiles_longer_than_one_record_holds() {
    let text = "kernel @f() {
      %p = program_id 0 : i64
      %yes = constant true : i1
      %a = arange axis 0 : tile<COUNTxi32>
      %b = cast %a : tile<COUNTxf16>
      print \"all\", %yes, %a, %p, %b
      return
    }";
    for count in [1, 22, 23, 24, 25, 47, 48, 72, 73, 300] {
        let text = text.replace("COUNT", &count.to_string());
        let function = parse_function(&text, "kernel.rs").unwrap_or_else(|e| panic!("{e}"));
        let expected = Interpreter::new().run(&function, [3, 1, 1], &mut []).unwrap_or_else(|e| panic!("{e}"));
        for target in TARGETS {
            let printed = run(target, &text, [3, 1, 1], &mut []).unwrap_or_else(|e| panic!("{target}: {e}"));
            assert_eq!(printed, expected, "{target}, {count} elements");
        }
    }
}

#[test]
fn a_failed_assertion_names_its_message_and_line() {
    let text = "kernel @f(%n: i32) {
      %j = arange axis 0 : tile<4xi32>
      %limit = splat %n : tile<4xi32>
      %four = constant 4 : tile<4xi32>
      %low = cmp le %limit, %four : tile<4xi1>
      assert %low, \"at most 100%\"
      %ok = cmp lt %j, %limit : tile<4xi1>
      assert %ok, \"index out of range\"
      return
    }";
    let function = parse_function(text, "kernel.rs").unwrap_or_else(|e| panic!("{e}"));
    for n in [3, 4, 5] {
        let mut args = [HostArg::Scalar(Literal::Int(n))];
        let expected = Interpreter::new().run(&function, [1; 3], &mut args).map_err(|e| e.to_string());
        assert_eq!(expected.is_ok(), n == 4);
        for target in TARGETS {
            let found = run(target, text, [1; 3], &mut args).map_err(|e| e.to_string());
            assert_eq!(found, expected, "{target}, {n}");
        }
    }
}
