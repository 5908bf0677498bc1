//! The tutorials run to their end: each checks its own results.

macro_rules! tutorials {
    ($($name:ident: $path:literal),* $(,)?) => {$(
        mod $name {
            #[path = $path]
            mod program;

            #[test]
            fn runs() -> tegula::Result<()> {
                program::main()
            }
        }
    )*};
}

tutorials! {
    vector_add: "../../examples/tutorial_1_vector_add.rs",
    fused_softmax: "../../examples/tutorial_2_fused_softmax.rs",
    matmul: "../../examples/tutorial_3_matmul.rs",
    dropout: "../../examples/tutorial_4_dropout.rs",
    layernorm: "../../examples/tutorial_5_layernorm.rs",
    attention: "../../examples/tutorial_6_attention.rs",
}
