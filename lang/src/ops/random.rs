//! Counter-based random numbers: Philox 4x32 with ten rounds (Salmon et al., "Parallel random numbers: as easy
//! as 1, 2, 3", SC11).
//!
//! The numbers follow from the seed and the counter alone, so that a program draws the same ones on every
//! target and in any order: give each element its own counter, such as its position in the output.

use tegula_ir::ops::BinaryOp;

use super::operators::binary;
use crate::elem::Int;
use crate::literal::IntLit;
use crate::shape::Shape;
use crate::tile::{Scalar, Tile};

const ROUNDS: usize = 10;
const MULTIPLIER_A: u32 = 0xD251_1F53;
const MULTIPLIER_B: u32 = 0xCD9E_8D57;
const KEY_A: u32 = 0x9E37_79B9;
const KEY_B: u32 = 0xBB67_AE85;

/// Four words of random bits for each counter.
#[track_caller]
pub fn philox<S: Shape>(seed: Scalar<u64>, counter: [Tile<u32, S>; 4]) -> [Tile<u32, S>; 4] {
    let [mut c0, mut c1, mut c2, mut c3] = counter;
    let mut k0 = seed.cast::<u32>().broadcast::<S>();
    let mut k1 = (seed >> IntLit(32)).cast::<u32>().broadcast::<S>();
    for round in 0..ROUNDS {
        let (a, b): (Tile<u32, S>, Tile<u32, S>) =
            (super::create::full(MULTIPLIER_A), super::create::full(MULTIPLIER_B));
        let high_b = binary(BinaryOp::MulHi, c2.handle(), b.handle());
        let high_a = binary(BinaryOp::MulHi, c0.handle(), a.handle());
        let low_b = binary(BinaryOp::Mul, c2.handle(), b.handle());
        let low_a = binary(BinaryOp::Mul, c0.handle(), a.handle());
        c0 = xor(xor(Tile::new(high_b), c1), k0);
        c2 = xor(xor(Tile::new(high_a), c3), k1);
        c1 = Tile::new(low_b);
        c3 = Tile::new(low_a);
        if round + 1 < ROUNDS {
            k0 += KEY_A;
            k1 += KEY_B;
        }
    }
    [c0, c1, c2, c3]
}

#[track_caller]
fn xor<S: Shape>(a: Tile<u32, S>, b: Tile<u32, S>) -> Tile<u32, S> {
    Tile::new(binary(BinaryOp::Xor, a.handle(), b.handle()))
}

/// The counter of an element as the four words that [`philox`] takes.
#[track_caller]
fn words<I: Int, S: Shape>(counter: Tile<I, S>) -> [Tile<u32, S>; 4] {
    let wide = counter.cast::<u64>();
    let zero = super::create::zeros();
    [wide.cast::<u32>(), (wide >> IntLit(32)).cast::<u32>(), zero, zero]
}

/// Four random numbers of all of `u32` for each counter.
#[track_caller]
pub fn randint4<I: Int, S: Shape>(seed: Scalar<u64>, counter: Tile<I, S>) -> [Tile<u32, S>; 4] {
    philox(seed, words(counter))
}

/// A random number of all of `u32` for each counter.
#[track_caller]
pub fn randint<I: Int, S: Shape>(seed: Scalar<u64>, counter: Tile<I, S>) -> Tile<u32, S> {
    randint4(seed, counter)[0]
}

/// A number in `[0, 1)` from the upper 24 bits.
#[track_caller]
fn unit<S: Shape>(bits: Tile<u32, S>) -> Tile<f32, S> {
    (bits >> IntLit(8)).cast::<f32>() * (1.0 / 16_777_216.0)
}

/// A random number for each counter, evenly distributed in `[0, 1)`: a multiple of 2⁻²⁴.
#[track_caller]
pub fn rand<I: Int, S: Shape>(seed: Scalar<u64>, counter: Tile<I, S>) -> Tile<f32, S> {
    unit(randint(seed, counter))
}

/// Four random numbers for each counter, evenly distributed in `[0, 1)`.
#[track_caller]
pub fn rand4<I: Int, S: Shape>(seed: Scalar<u64>, counter: Tile<I, S>) -> [Tile<f32, S>; 4] {
    let [a, b, c, d] = randint4(seed, counter);
    [unit(a), unit(b), unit(c), unit(d)]
}

/// A normally distributed random number for each counter (mean 0, variance 1), by the method of Box and Muller.
#[track_caller]
pub fn randn<I: Int, S: Shape>(seed: Scalar<u64>, counter: Tile<I, S>) -> Tile<f32, S> {
    let [a, b, ..] = randint4(seed, counter);
    // 1 - u lies in (0, 1], so that the logarithm is finite.
    let u = 1.0f32 - unit(a);
    let angle = unit(b) * std::f32::consts::TAU;
    (u.log() * -2.0f32).sqrt() * angle.cos()
}
