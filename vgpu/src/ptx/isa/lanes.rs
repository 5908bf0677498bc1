//! Lane-wise operations: a function over whole registers, chosen once at decoding, and the slots it works on.
//!
//! Immediates and most special registers are slots like any other, filled when the warp starts, so that an operation's shape is given
//! by the files of its operands alone. Functions compute all 32 lanes, which vectorises; the mask is applied when the result is written.

use super::super::program::{L32, L64};

/// The registers of a warp.
pub(crate) struct Registers {
    pub words: Vec<L32>,
    pub doubles: Vec<L64>,
    pub predicates: Vec<u32>,
    /// The carry flag of `.cc` instructions.
    pub carry: u32,
}

impl Registers {
    #[inline(always)]
    pub fn w(&self, slot: u32) -> &L32 {
        &self.words[slot as usize]
    }

    #[inline(always)]
    pub fn d(&self, slot: u32) -> &L64 {
        &self.doubles[slot as usize]
    }

    #[inline(always)]
    pub fn p(&self, slot: u32) -> u32 {
        self.predicates[slot as usize]
    }

    #[inline(always)]
    pub fn set_w(&mut self, slot: u32, value: &L32, mask: u32) {
        let to = &mut self.words[slot as usize];
        if mask == u32::MAX {
            *to = *value;
        } else {
            for lane in 0..32 {
                let keep = ((mask >> lane) & 1).wrapping_sub(1);
                to[lane] = (to[lane] & keep) | (value[lane] & !keep);
            }
        }
    }

    #[inline(always)]
    pub fn set_d(&mut self, slot: u32, value: &L64, mask: u32) {
        let to = &mut self.doubles[slot as usize];
        if mask == u32::MAX {
            *to = *value;
        } else {
            for lane in 0..32 {
                let keep = u64::from((mask >> lane) & 1).wrapping_sub(1);
                to[lane] = (to[lane] & keep) | (value[lane] & !keep);
            }
        }
    }

    #[inline(always)]
    pub fn set_p(&mut self, slot: u32, value: u32, mask: u32) {
        let to = &mut self.predicates[slot as usize];
        *to = (*to & !mask) | (value & mask);
    }
}

macro_rules! shapes {
    ($($(#[$doc:meta])* $name:ident ( $($source:ident : $kind:ident),* ) -> $result:ident;)*) => {
        /// A lane-wise operation by the shape of its operands (`W`: 32 bits, `D`: 64 bits, `P`: predicate; the result first).
        // The names are shapes, not words.
        #[allow(clippy::upper_case_acronyms, clippy::type_complexity)]
        pub(crate) enum LaneOp {
            $($(#[$doc])* $name { f: fn(&mut shapes!(@ty $result), $(&shapes!(@ty $kind)),*), d: u32, $($source: u32),* },)*
        }

        impl LaneOp {
            #[inline(always)]
            pub fn execute(&self, registers: &mut Registers, mask: u32) {
                match *self {
                    $(Self::$name { f, d, $($source),* } => {
                        let mut result: shapes!(@ty $result) = shapes!(@zero $result);
                        f(&mut result, $(shapes!(@get registers $kind $source)),*);
                        shapes!(@set registers $result d result mask);
                    })*
                }
            }
        }
    };
    (@ty W) => { L32 };
    (@ty D) => { L64 };
    (@ty P) => { u32 };
    (@zero W) => { [0; 32] };
    (@zero D) => { [0; 32] };
    (@zero P) => { 0 };
    (@get $registers:ident W $slot:ident) => { $registers.w($slot) };
    (@get $registers:ident D $slot:ident) => { $registers.d($slot) };
    (@get $registers:ident P $slot:ident) => { &$registers.p($slot) };
    (@set $registers:ident W $slot:ident $value:ident $mask:ident) => { $registers.set_w($slot, &$value, $mask) };
    (@set $registers:ident D $slot:ident $value:ident $mask:ident) => { $registers.set_d($slot, &$value, $mask) };
    (@set $registers:ident P $slot:ident $value:ident $mask:ident) => { $registers.set_p($slot, $value, $mask) };
}

shapes! {
    WW(a: W) -> W;
    WWW(a: W, b: W) -> W;
    WWWW(a: W, b: W, c: W) -> W;
    WWWWW(a: W, b: W, c: W, e: W) -> W;
    DD(a: D) -> D;
    DDD(a: D, b: D) -> D;
    DDDD(a: D, b: D, c: D) -> D;
    DDW(a: D, b: W) -> D;
    DDWW(a: D, b: W, c: W) -> D;
    DDDW(a: D, b: D, c: W) -> D;
    DDDWW(a: D, b: D, c: W, e: W) -> D;
    DWW(a: W, b: W) -> D;
    DWWD(a: W, b: W, c: D) -> D;
    DW(a: W) -> D;
    WD(a: D) -> W;
    WWWP(a: W, b: W, c: P) -> W;
    DDDP(a: D, b: D, c: P) -> D;
    PW(a: W) -> P;
    PD(a: D) -> P;
    PWW(a: W, b: W) -> P;
    PDD(a: D, b: D) -> P;
    PP(a: P) -> P;
    PPP(a: P, b: P) -> P;
}

/// A function over registers from one over lanes: `lanes!(W(a: W, b: W), a.wrapping_add(b))`.
macro_rules! lanes {
    (W($($x:ident : $k:ident),*), $body:expr) => {{
        fn over(d: &mut $crate::ptx::program::L32, $($x: &lanes!(@ty $k)),*) {
            for (lane, d) in d.iter_mut().enumerate() {
                $(let $x = lanes!(@get $x $k lane);)*
                *d = $body;
            }
        }
        over
    }};
    (D($($x:ident : $k:ident),*), $body:expr) => {{
        fn over(d: &mut $crate::ptx::program::L64, $($x: &lanes!(@ty $k)),*) {
            for (lane, d) in d.iter_mut().enumerate() {
                $(let $x = lanes!(@get $x $k lane);)*
                *d = $body;
            }
        }
        over
    }};
    (P($($x:ident : $k:ident),*), $body:expr) => {{
        fn over(d: &mut u32, $($x: &lanes!(@ty $k)),*) {
            let mut result = 0_u32;
            for lane in 0..32 {
                $(let $x = lanes!(@get $x $k lane);)*
                result |= u32::from($body) << lane;
            }
            *d = result;
        }
        over
    }};
    (@ty W) => { $crate::ptx::program::L32 };
    (@ty D) => { $crate::ptx::program::L64 };
    (@ty P) => { u32 };
    (@get $x:ident W $lane:ident) => { $x[$lane] };
    (@get $x:ident D $lane:ident) => { $x[$lane] };
    (@get $x:ident P $lane:ident) => { (*$x >> $lane) & 1 == 1 };
}
pub(crate) use lanes;
