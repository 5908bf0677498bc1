//! Generated programs: each is valid, comes back from its text, and means the same after the passes that every target
//! runs.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tegula_ir::exec::Executor;
use tegula_ir::interp::Interpreter;
use tegula_ir::pass::{PassManager, Registry};
use tegula_ir::testing::generate::{Config, Program};
use tegula_ir::text::parse_function;
use tegula_ir::verify::verify;

fuzz_target!(|list: Vec<u32>| {
    let program = Program::new(&list, &Config::default());
    assert_eq!(verify(&program.function), Ok(()));
    let text = program.function.to_string();
    let mut function = parse_function(&text, "generated.tile").expect("printed text parses");
    assert_eq!(function.to_string(), text);
    let mut wanted = program.args.clone();
    Interpreter::new().run(&program.function, program.grid, &mut wanted).expect("generated programs run");
    let pipeline = Registry::builtin().pipeline("canonicalize,cse,licm,unroll,if-convert,canonicalize,cse,dce");
    let mut manager = PassManager::new(pipeline.expect("the passes exist"));
    manager.verify = true;
    manager.run(&mut function).expect("passes accept valid programs");
    let mut found = program.args.clone();
    Interpreter::new().run(&function, program.grid, &mut found).expect("optimised programs run");
    program.compare(&wanted, &found).expect("passes keep the meaning");
});
