//! Attributes of reductions and scans.

use super::arith::{BinaryOp, named_enum};

named_enum! {
    /// Functions of [`super::OpKind::Reduce`].
    ReduceKind {
        /// Sum (integers wrapping).
        Sum = "sum",
        /// Product (integers wrapping).
        Prod = "prod",
        /// Least; NaN passed over, NaN where all are.
        Min = "min",
        /// Greatest; NaN passed over, NaN where all are.
        Max = "max",
        /// Least; NaN where any is.
        MinNan = "min_nan",
        /// Greatest; NaN where any is.
        MaxNan = "max_nan",
        /// Bitwise and; for `Bool` whether all are true.
        And = "and",
        /// Bitwise or; for `Bool` whether any is true.
        Or = "or",
        /// Bitwise exclusive or; for `Bool` whether an odd number is true.
        Xor = "xor",
    }
}

named_enum! {
    /// Functions of [`super::OpKind::ArgReduce`].
    ArgReduceKind {
        /// Least value.
        Min = "min",
        /// Greatest value.
        Max = "max",
    }
}

named_enum! {
    /// Functions of [`super::OpKind::Scan`]; 8- and 16-bit floats accumulate in `f32` and round each result.
    ScanKind {
        /// Prefix sums.
        Sum = "sum",
        /// Prefix products.
        Prod = "prod",
        /// Prefix minima (NaN passed over).
        Min = "min",
        /// Prefix maxima (NaN passed over).
        Max = "max",
    }
}

impl ReduceKind {
    /// The binary function that the reduction repeats.
    pub fn combiner(self) -> BinaryOp {
        match self {
            Self::Sum => BinaryOp::Add,
            Self::Prod => BinaryOp::Mul,
            Self::Min => BinaryOp::Min,
            Self::Max => BinaryOp::Max,
            Self::MinNan => BinaryOp::MinNan,
            Self::MaxNan => BinaryOp::MaxNan,
            Self::And => BinaryOp::And,
            Self::Or => BinaryOp::Or,
            Self::Xor => BinaryOp::Xor,
        }
    }
}

impl ScanKind {
    /// The reduction whose partial results the scan gives.
    pub fn reduction(self) -> ReduceKind {
        match self {
            Self::Sum => ReduceKind::Sum,
            Self::Prod => ReduceKind::Prod,
            Self::Min => ReduceKind::Min,
            Self::Max => ReduceKind::Max,
        }
    }
}
