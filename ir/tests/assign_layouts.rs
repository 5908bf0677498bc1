//! Layout assignment on whole kernels: what it gives keeps the layout rules, prints, parses back, and computes the same.

use std::path::Path;

use proptest::prelude::*;
use tegula_ir::Function;
use tegula_ir::exec::{ExecError, Executor, HostArg};
use tegula_ir::interp::Interpreter;
use tegula_ir::layout::rules::{LaidOut, laid_out};
use tegula_ir::layout::{Conversion, ConversionOptions};
use tegula_ir::ops::{BinaryOp, OpKind};
use tegula_ir::pass::{Pass, PassContext, Registry};
use tegula_ir::passes::assign_layouts::AssignLayouts;
use tegula_ir::testing::filetest::{Runner, collect};
use tegula_ir::testing::generate::{Config, Program};
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

/// Asking for a layout that an op already has leads back to the layout that it works in, or to another with the same
/// effect: propagation neither loses nor invents anything.
#[test]
fn layouts_lead_back_to_working_layouts() {
    use tegula_ir::layout::rules::{
        operand_layouts, result_layouts, work_for_operand, work_for_result, working_layout,
    };
    let text = std::fs::read_to_string(Path::new(ALL_OPS)).expect("the file is part of the crate");
    let mut module = parse_module(&text, "all_ops.tile").expect("the file parses");
    let f = &mut module.functions[0];
    strip_layouts(f);
    AssignLayouts { lanes: 32 }.run(f, &mut PassContext::new()).expect("the kernel can be laid out");
    let (mut from_results, mut from_operands) = (0, 0);
    for op in f.ops_in_order() {
        let Some(work) = working_layout(f, op) else { continue };
        let data = f.op(op);
        let results = result_layouts(f, &data.kind, &data.results, &work);
        for (index, layout) in results.iter().enumerate() {
            let Some(layout) = layout else { continue };
            if let Some(work) = work_for_result(f, &data.kind, index, layout) {
                let given = result_layouts(f, &data.kind, &data.results, &work);
                assert_eq!(given[index].as_ref(), Some(layout), "{}", data.kind.mnemonic());
                from_results += 1;
            }
        }
        for (index, layout) in operand_layouts(f, &data.kind, &work).iter().enumerate() {
            let Some(layout) = layout else { continue };
            if let Some(work) = work_for_operand(f, &data.kind, index, layout) {
                let asked = operand_layouts(f, &data.kind, &work);
                assert_eq!(asked[index].as_ref(), Some(layout), "{}", data.kind.mnemonic());
                from_operands += 1;
            }
        }
    }
    assert!(from_results > 40 && from_operands > 40, "{from_results} results, {from_operands} operands");
}

fn strip_layouts(f: &mut Function) {
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

/// Lays kernels out before it interprets them.
struct LaidOutInterpreter {
    lanes: u32,
}

impl Executor for LaidOutInterpreter {
    fn name(&self) -> String {
        format!("interp, laid out for {} lanes", self.lanes)
    }

    fn run(&self, function: &Function, grid: [u32; 3], args: &mut [HostArg]) -> Result<String, ExecError> {
        let mut function = function.clone();
        let refused = |diagnostic: tegula_ir::diag::Diagnostic| ExecError::Compile(diagnostic.to_string());
        if laid_out(&function) == LaidOut::None {
            AssignLayouts { lanes: self.lanes }.run(&mut function, &mut PassContext::new()).map_err(refused)?;
            verify(&function).map_err(|errors| refused(errors[0].clone()))?;
            assert_ne!(laid_out(&function), LaidOut::Partly);
        }
        Interpreter::new().run(&function, grid, args)
    }
}

#[test]
fn laid_out_kernels_compute_the_same() {
    let runner = Runner {
        registry: Registry::builtin(),
        executors: vec![Box::new(LaidOutInterpreter { lanes: 32 }), Box::new(LaidOutInterpreter { lanes: 64 })],
    };
    let files =
        collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/filetests/run")).expect("the folder is there");
    assert!(!files.is_empty());
    let failures: Vec<String> = files
        .iter()
        .filter_map(|path| runner.check(path).err().map(|error| format!("{}: {error}", path.display())))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Generated programs can be laid out, for any number of warps; every conversion in them can be planned; and they
    /// compute the same.
    #[test]
    fn generated_programs_compute_the_same(
        list in prop::collection::vec(any::<u32>(), 0..400),
        lanes in prop::sample::select(vec![32u32, 64]),
        warps in prop::sample::select(vec![1u32, 2, 4, 8]),
    ) {
        let mut program = Program::new(&list, &Config::default());
        program.function.num_warps = warps;
        let mut laid_out = program.function.clone();
        AssignLayouts { lanes }.run(&mut laid_out, &mut PassContext::new()).expect("the program can be laid out");
        if let Err(errors) = verify(&laid_out) {
            return Err(TestCaseError::fail(format!("{}\n{laid_out}", errors[0])));
        }
        for op in laid_out.ops_in_order() {
            if let OpKind::ConvertLayout { x, layout } = laid_out.kind(op) {
                let source = laid_out.ty(*x).layout().expect("all tiles have layouts");
                Conversion::plan(source, layout, &ConversionOptions::new(32)).expect("the conversion can be planned");
            }
        }
        let run = |function: &Function| {
            let mut args = program.args.clone();
            Interpreter::new().run(function, program.grid, &mut args).map(|printed| (args, printed))
        };
        let (wanted, found) = (run(&program.function), run(&laid_out));
        // An error's place is the op's, which may have been copied: only the results must agree.
        prop_assert_eq!(wanted.as_ref().ok(), found.as_ref().ok());
        prop_assert_eq!(wanted.is_err(), found.is_err());
    }
}
