//! Kernels that the tests share.

#![allow(dead_code)]

/// `axpy(y, x, a, n)`: y[i] += a * x[i]; `wait(flag)`: spins until a flag is set; `stray(p)`: writes where it is told; `race(p)`:
/// blocks write one element; `quit()`: traps; `count()`: counts in a variable; `shared(p)`: has 40 KiB of shared memory.
pub const PTX: &str = include_str!("kernels.ptx");
