//! Code generation for the host CPU: Tile IR to native code, just in time.
