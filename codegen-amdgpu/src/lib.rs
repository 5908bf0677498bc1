//! Code generation for AMD GPUs: Tile IR to code objects.
