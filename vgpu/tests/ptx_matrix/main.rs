//! Matrix products: every type of `mma.sync` and `wgmma`, dense and sparse, against sums of products.

mod elements;
mod quad;
mod sparse;
mod warp;
mod warpgroup;
