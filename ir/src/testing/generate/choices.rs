//! The decisions that a program is made of.

/// A list of decisions, read from the front. Behind its end every decision is 0, which is always the simplest:
/// a shorter or smaller list gives a simpler program, so that a failure is shrunk by shrinking the list.
#[derive(Clone, Debug)]
pub(super) struct Choices<'a> {
    rest: &'a [u32],
}

impl<'a> Choices<'a> {
    pub(super) fn new(list: &'a [u32]) -> Self {
        Self { rest: list }
    }

    /// The next decision as it stands.
    pub(super) fn raw(&mut self) -> u32 {
        match self.rest.split_first() {
            Some((&first, rest)) => {
                self.rest = rest;
                first
            }
            None => 0,
        }
    }

    /// A number below `n`; 0 where `n` is 0.
    pub(super) fn below(&mut self, n: usize) -> usize {
        let raw = self.raw() as usize;
        if n == 0 { 0 } else { raw % n }
    }

    /// A number in `min..=max`; the least is the simplest.
    pub(super) fn between(&mut self, min: i64, max: i64) -> i64 {
        min + self.below((max - min + 1) as usize) as i64
    }

    /// True in one of `n` cases; false is the simplest.
    pub(super) fn one_in(&mut self, n: u32) -> bool {
        self.raw() % n == n - 1
    }

    /// One of these; the first is the simplest.
    pub(super) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// A stream of numbers for the data of tensors, from one decision.
pub(in crate::testing) struct Stream(u64);

impl Stream {
    pub(in crate::testing) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// SplitMix64.
    pub(in crate::testing) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
