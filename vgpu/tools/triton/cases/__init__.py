"""Cases by subject: which kernels run with what, and what must come out."""

from . import atomics, attention, elementwise, matmul, normalisation, reductions
from .registry import CASES, Definition

__all__ = ["CASES", "Definition", "atomics", "attention", "elementwise", "matmul", "normalisation", "reductions"]
