//! Kernels in the language, built and run on the reference interpreter.

extern crate tegula_lang as tegula;

mod arith;
mod book;
mod control;
mod errors;
mod examples;
mod forms;
mod harness;
mod memory;
mod shapes;
