//! Tile IR: types, operations, text format, verifier, passes, analyses, linear layouts and the reference interpreter.
