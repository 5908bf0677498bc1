//! The tutorials and the other examples run to their end: each checks its own results.

macro_rules! tutorials {
    ($($test:ident: $program:ident = $path:literal),* $(,)?) => {$(
        #[path = $path]
        mod $program;

        #[test]
        fn $test() -> tegula::Result<()> {
            $program::main()
        }
    )*};
}

tutorials! {
    vector_add_runs: vector_add = "../examples/tutorial_1_vector_add.rs",
    fused_softmax_runs: fused_softmax = "../examples/tutorial_2_fused_softmax.rs",
    matmul_runs: matmul = "../examples/tutorial_3_matmul.rs",
    dropout_runs: dropout = "../examples/tutorial_4_dropout.rs",
    layernorm_runs: layernorm = "../examples/tutorial_5_layernorm.rs",
    attention_runs: attention = "../examples/tutorial_6_attention.rs",
}

#[path = "../examples/dlpack.rs"]
mod dlpack;

#[test]
fn dlpack_runs() {
    dlpack::main().expect("it runs");
}
