//! Flags that stand for `break`, `continue` and `return` under a condition.

use crate::context::Handle;
use crate::control::carry::Staged;
use crate::literal::typed;
use crate::tile::Scalar;

/// Whether a jump has been taken: known at build time as long as only build-time conditions decide.
#[derive(Clone, Copy, Debug)]
pub enum Flag {
    /// Decided at build time.
    Known(bool),
    /// Decided on the device.
    Device(Scalar<bool>),
}

impl Flag {
    /// Not taken.
    #[must_use]
    pub fn new() -> Self {
        Self::Known(false)
    }

    /// The jump is taken here.
    pub fn set(&mut self) {
        *self = Self::Known(true);
    }

    /// The condition under which the code after the jump runs.
    #[track_caller]
    #[must_use]
    pub fn go(self) -> Go {
        Go(match self {
            Self::Known(b) => Self::Known(!b),
            Self::Device(b) => Self::Device(!b),
        })
    }

    /// The condition under which the jump was taken.
    #[must_use]
    pub fn taken(self) -> Go {
        Go(self)
    }

    /// Whether the jump was taken at build time, out of a loop that runs there; reports one that the device
    /// decides.
    #[track_caller]
    #[must_use]
    pub fn left_at_build(self) -> bool {
        match self {
            Self::Known(taken) => taken,
            Self::Device(_) => {
                crate::context::report(
                    "this loop runs at build time, but a condition of the device leaves it",
                    "let the device run it: `for i in 0..n` with a scalar `n`, or `while` with a `Scalar<bool>`",
                );
                true
            }
        }
    }

    /// The flag as a value of the kernel.
    #[track_caller]
    pub(crate) fn scalar(self) -> Scalar<bool> {
        match self {
            Self::Known(b) => typed(b),
            Self::Device(b) => b,
        }
    }
}

impl Default for Flag {
    fn default() -> Self {
        Self::new()
    }
}

#[diagnostic::do_not_recommend]
impl Staged for Flag {
    /// A flag that is carried becomes a value of the kernel.
    fn visit(&mut self, f: &mut dyn FnMut(&mut Handle)) {
        let mut value = self.scalar();
        f(value.handle_mut());
        *self = Self::Device(value);
    }
}

/// The condition of code that is skipped after a jump.
#[derive(Clone, Copy, Debug)]
pub struct Go(pub(crate) Flag);
