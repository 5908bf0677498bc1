//! Linear layouts: where each element of a tile lives.

/// A linear map from hardware coordinates to tile coordinates.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LinearLayout {}
