//! The `#[kernel]` and `#[device]` attributes: they rewrite Rust syntax into staging calls and know no target.
