//! Instructions of the PTX machine, family by family, against references written here.

mod harness;
mod instructions;
mod table;
