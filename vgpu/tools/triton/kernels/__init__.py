"""Triton kernels that the virtual GPUs are checked with, by subject."""
