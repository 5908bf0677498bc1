//! Names of kernels in emitted code.

use std::fmt::Write;

/// The name of a kernel in emitted code: its own, where assemblers, linkers and C take it. What they do not take, such as
/// the letters beyond ASCII that Rust allows, is written as its number: `größe` becomes `gr_uf6__udf_e`.
pub fn symbol_name(kernel: &str) -> String {
    let mut symbol = String::with_capacity(kernel.len());
    if !kernel.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        symbol.push('_');
    }
    for c in kernel.chars() {
        if c.is_ascii_alphanumeric() || c == '_' {
            symbol.push(c);
        } else {
            // Writing to a string cannot fail.
            let _ = write!(symbol, "_u{:x}_", u32::from(c));
        }
    }
    symbol
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_assemblers_take_stay() {
        assert_eq!(symbol_name("softmax_2"), "softmax_2");
        assert_eq!(symbol_name("größe"), "gr_uf6__udf_e");
        assert_eq!(symbol_name("2 a\0"), "_2_u20_a_u0_");
        assert_eq!(symbol_name(""), "_");
    }
}
