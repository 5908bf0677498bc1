//! What is promised of arguments whose values are not known yet.

use super::build::ArgSpec;
use tegula_ir::Function;
use tegula_ir::function::{ParamKind, ViewSpec};

/// A class of launches that code is compiled for. Each is narrower than the one before it: code for [`Class::Any`] fits
/// every launch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// Any arguments.
    Any,
    /// Tensors whose last axis is contiguous, at addresses that are multiples of 16 bytes, smaller than 2 GiB, with no
    /// output that overlaps another argument.
    Contiguous,
    /// As [`Class::Contiguous`], with extents, and strides of the other axes, that are multiples of 16.
    Aligned,
}

impl Class {
    /// All classes, the most general first.
    pub const ALL: [Self; 3] = [Self::Any, Self::Contiguous, Self::Aligned];

    /// The class's name on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Contiguous => "contiguous",
            Self::Aligned => "aligned",
        }
    }

    /// The class of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|c| c.name() == name)
    }

    /// What the class promises of the arguments of a function.
    pub fn specs(self, function: &Function) -> Vec<ArgSpec> {
        function.params.iter().map(|p| self.spec(&p.kind)).collect()
    }

    fn spec(self, kind: &ParamKind) -> ArgSpec {
        let mut spec = ArgSpec::default();
        if self == Self::Any {
            return spec;
        }
        match kind {
            ParamKind::View { rank, .. } => {
                let rank = usize::from(*rank);
                let divisor = if self == Self::Aligned { 16 } else { 1 };
                let mut strides = vec![divisor; rank];
                // The last stride is 1.
                strides.last_mut().into_iter().for_each(|s| *s = 1);
                spec.view = ViewSpec {
                    align: 16,
                    unit_inner: true,
                    extent_divisor: std::iter::repeat_n(divisor, rank).collect(),
                    stride_divisor: strides.into(),
                    fits_32: true,
                    no_alias: true,
                };
            }
            ParamKind::Ptr { .. } => spec.align = 16,
            ParamKind::Scalar { .. } => {}
        }
        spec
    }
}
