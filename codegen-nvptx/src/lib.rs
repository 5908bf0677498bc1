//! Code generation for NVIDIA GPUs: Tile IR to PTX.
