//! The text format: no text leads to a panic, and what parses prints to a text that parses to the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tegula_ir::testing::filetest::TestFile;
use tegula_ir::text::{LocStyle, PrintOptions, parse_module, print_module};
use tegula_ir::verify::verify_module;

fuzz_target!(|text: &str| {
    // The comments of a filetest have a syntax of their own.
    let _ = TestFile::parse(text);
    let module = match parse_module(text, "fuzz.tile") {
        Ok(module) => module,
        Err(error) => {
            let _ = error.diagnostic().render();
            return;
        }
    };
    for locs in [LocStyle::None, LocStyle::Table] {
        let options = PrintOptions { locs };
        let printed = print_module(&module, &options);
        let again = parse_module(&printed, "printed.tile").expect("printed text parses");
        assert_eq!(print_module(&again, &options), printed);
    }
    if let Err(errors) = verify_module(&module) {
        assert!(!errors.is_empty());
    }
});
