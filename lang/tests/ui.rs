//! Mistakes in kernels, and what the compiler says about them: `ui/*.rs`, with the messages in `ui/*.stderr`.
//!
//! `TRYBUILD=overwrite cargo test -p tegula-lang --test ui` writes the messages anew.

#[test]
fn mistakes_are_explained() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
