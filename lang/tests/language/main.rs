//! Kernels in the language, built and run on the reference interpreter.

extern crate tegula_lang as tegula;

mod control;
mod examples;
mod harness;
