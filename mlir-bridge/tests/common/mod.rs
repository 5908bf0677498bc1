//! What the tests share.

use tegula_ir::Function;
use tegula_ir::text::{LocStyle, PrintOptions, print_function};

/// The kernel as text, without the names of its values, which the interchange form does not carry.
pub fn anonymous_text(function: &Function) -> String {
    let mut function = function.clone();
    for v in (0..function.num_values()).map(|i| tegula_ir::Value::from_u32(i as u32)) {
        function.value_mut(v).name = None;
    }
    print_function(&function, &PrintOptions { locs: LocStyle::Inline })
}
