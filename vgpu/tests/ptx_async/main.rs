//! What moves data asynchronously or between the programs of a cluster, with exact results: clusters and distributed shared memory,
//! bulk copies and reductions, tensor copies in all modes, and tensor maps changed on the device.

mod bulk;
mod clusters;
mod harness;
mod im2col;
mod maps;
mod tensor;
