//! What a kernel author sees: tiles, tensors, dims and operations; each call appends to Tile IR.
