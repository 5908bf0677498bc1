//! dev
use std::time::Instant;
use tegula_codegen::session::Timings;
use tegula_codegen_cpu::*;
fn main() {
    let mut a = std::env::args().skip(1);
    let file = a.next().unwrap();
    let what = a.next().unwrap_or("time".into());
    let fuse = std::env::var("NOFUSE").is_err();
    let text = std::fs::read_to_string(&file).unwrap();
    let f = tegula_ir::text::parse_function(&text, &file).unwrap_or_else(|e| panic!("{e}"));
    let c = CpuCompiler::new(CpuOptions { fuse, ..Default::default() });
    let emit = match what.as_str() { "llvm" => Some(Emit::LlvmIr), "opt" => Some(Emit::OptimizedLlvmIr), "asm" => Some(Emit::Assembly), _ => None };
    if let Some(e) = emit { println!("{}", String::from_utf8_lossy(&c.emit(&f, e).unwrap())); return; }
    if what == "plan" { println!("{:#?}", tegula_codegen_cpu::plan::Plan::new(&f, fuse)); return; }
    for _ in 0..3 {
    let mut t = Timings::default();
    let s = Instant::now();
    let k = c.compile_timed(&f, &mut t);
    println!("{:?} total {:?} {:?}", k.map(|k| k.arena_bytes()).map_err(|e| e.to_string()), s.elapsed(), t.phases());
    }
}
