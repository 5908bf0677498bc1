//! The kernel library, written only in the public language.
