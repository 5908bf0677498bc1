//! What a launcher must know of a compiled kernel besides its code.

use tegula_ir::Function;
use tegula_ir::function::{Grid, Param};

/// Name, parameters and grid of a kernel.
#[derive(Clone, Debug)]
pub struct Signature {
    /// The kernel's name.
    pub name: String,
    /// Its parameters.
    pub params: Vec<Param>,
    /// How its grid follows from the arguments.
    pub grid: Grid,
}

impl Signature {
    /// The signature of a function.
    pub fn of(function: &Function) -> Self {
        Self { name: function.name.clone(), params: function.params.clone(), grid: function.grid.clone() }
    }
}
