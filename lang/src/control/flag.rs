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

    /// Whether no jump has been taken of these two.
    #[track_caller]
    #[must_use]
    pub fn nor(self, other: Flag) -> Go {
        match (self, other) {
            (Self::Known(true), _) | (_, Self::Known(true)) => Go(Self::Known(false)),
            (Self::Known(false), f) | (f, Self::Known(false)) => f.go(),
            (Self::Device(a), Self::Device(b)) => Go(Self::Device(!(a | b))),
        }
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

