//! Compiled kernels: in memory, on disk, and embedded in the program.
//!
//! A launch looks in memory, by the kernel's type and options; then, by the content of its Tile IR, among the kernels
//! embedded in the program and in the cache on disk; only then it compiles. Each kernel is compiled once, however many
//! threads and processes ask for it at a time.
//!
//! | module | subject |
//! |---|---|
//! | [`memory`] | the kernels of a device in this process; the order in which all the places are asked |
//! | [`key`] | what tells compiled kernels apart on disk |
//! | [`entry`] | the format of a file of the cache |
//! | [`folder`] | where the cache is, and whether that folder can be trusted |
//! | [`disk`] | the cache on disk: look-up, writing, single flight between processes |
//! | [`maintenance`] | listing, verifying, eviction |
//!
//! # Invariants
//! - Nothing that happens to the cache stops a program: a damaged, truncated or foreign file is a miss with a warning,
//!   and a cache that cannot be read or written is no cache.
//! - A file is complete as soon as its name is there: it is written under another name and renamed. What a crash of
//!   the machine leaves behind, the checksum finds; nothing waits for the disk.
//! - Code is machine code that will run with this user's rights, so only files are read that nobody else can write.

pub mod disk;
pub mod entry;
pub mod folder;
pub mod key;
pub mod maintenance;
pub mod memory;

pub use disk::DiskCache;
pub use key::CacheKey;
pub use memory::{Compiled, KernelCache, Key, Origins};
