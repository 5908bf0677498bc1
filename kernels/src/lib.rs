//! The kernel library, written only in the public language, each kernel with a host reference.
//!
//! | module | kernels |
//! |---|---|
//! | [`elementwise`] | `add`, `copy`, `gelu`, `silu` |
//! | [`softmax`] | `softmax`, `softmax_long` |
//! | [`norm`] | `layernorm`, `rmsnorm` |
//! | [`matmul`] | `matmul`, `matmul_nt`, `matmul_bias`, `matmul_batched`, `matmul_split_k` |
//! | [`attention`] | `attention` |
//! | [`rows`] | `cumsum`, `argmax`, `cross_entropy` |
//! | [`movement`] | `transpose`, `embedding`, `rope` |
//! | [`dropout`] | `dropout` |
//!
//! [`launch`] has kernels that do hardly anything, whose launch is measured.
//!
//! [`reference`] computes the same on the host in `f64`; [`problem`] and [`cases`] make test data of any size.

pub mod attention;
pub mod cases;
pub mod dropout;
pub mod elementwise;
pub mod launch;
pub mod matmul;
pub mod movement;
pub mod norm;
pub mod problem;
pub mod reference;
pub mod rows;
pub mod softmax;

use tegula::lang::kernel::KernelInfo;

/// What is known of each kernel, and how to build it by name.
pub fn library() -> Vec<&'static KernelInfo> {
    use crate::attention::attention;
    use crate::dropout::dropout;
    use crate::elementwise::{add, copy, gelu, silu};
    use crate::matmul::{matmul, matmul_batched, matmul_bias, matmul_nt, matmul_split_k};
    use crate::movement::{embedding, rope, transpose};
    use crate::norm::{layernorm, rmsnorm};
    use crate::rows::{argmax, cross_entropy, cumsum};
    use crate::softmax::{softmax, softmax_long};
    tegula::kernel_list![
        add,
        copy,
        gelu,
        silu,
        softmax,
        softmax_long,
        layernorm,
        rmsnorm,
        matmul,
        matmul_nt,
        matmul_bias,
        matmul_batched,
        matmul_split_k,
        attention,
        cumsum,
        argmax,
        cross_entropy,
        transpose,
        embedding,
        rope,
        dropout,
    ]
    .to_vec()
}
