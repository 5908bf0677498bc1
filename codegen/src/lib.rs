//! What the targets share: the LLVM session, capability tables and the lowering of laid-out tiles.
