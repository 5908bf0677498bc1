//! Prints the PTX, or with `--llvm` the LLVM IR, of the kernels of a `.tile` file:
//! `cargo run -p tegula-codegen-nvptx --example emit -- kernel.tile sm_90a [--llvm]`.

use tegula_codegen_nvptx::{Options, compile};
use tegula_ir::text::parse_module;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (Some(file), Some(target)) = (args.first(), args.get(1)) else {
        return Err("usage: emit FILE TARGET [--llvm]".into());
    };
    let keep_llvm = args.iter().any(|a| a == "--llvm");
    for function in parse_module(&std::fs::read_to_string(file)?, file)?.functions {
        let compiled = compile(&function, target, &Options { keep_llvm, ..Options::default() })?;
        match compiled.llvm {
            Some(llvm) => println!("{}", llvm.lowered),
            None => println!("{}", compiled.ptx),
        }
    }
    Ok(())
}
