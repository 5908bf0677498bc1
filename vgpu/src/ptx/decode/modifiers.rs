//! The modifiers of an instruction, taken one by one by whoever decodes it. What nobody took is not supported.

use super::types::Ty;
use crate::numeric::Rounding;
use crate::ptx::syntax::ast::Instruction;

/// The modifiers, and which of them were taken.
pub(crate) struct Modifiers<'a> {
    words: Vec<(&'a str, bool)>,
}

impl<'a> Modifiers<'a> {
    pub fn new(instruction: &'a Instruction) -> Self {
        Self { words: instruction.modifiers.iter().map(|word| (word.as_str(), false)).collect() }
    }

    /// The first one that nobody took.
    pub fn unused(&self) -> Option<&'a str> {
        self.words.iter().find(|(_, taken)| !taken).map(|&(word, _)| word)
    }

    /// Takes a modifier if it is there.
    pub fn take(&mut self, name: &str) -> bool {
        match self.words.iter_mut().find(|(word, taken)| !taken && *word == name) {
            Some((_, taken)) => {
                *taken = true;
                true
            }
            None => false,
        }
    }

    /// Takes the first of several that is there.
    pub fn any<'n>(&mut self, names: &[&'n str]) -> Option<&'n str> {
        names.iter().copied().find(|name| self.take(name))
    }

    /// Takes the first that a function accepts.
    pub fn map<T>(&mut self, f: impl Fn(&'a str) -> Option<T>) -> Option<T> {
        for (word, taken) in &mut self.words {
            if !*taken && let Some(value) = f(word) {
                *taken = true;
                return Some(value);
            }
        }
        None
    }

    /// Takes the next type.
    pub fn ty(&mut self) -> Option<Ty> {
        self.map(Ty::parse)
    }

    /// Takes a rounding mode for floating-point results.
    pub fn rounding(&mut self) -> Option<Rounding> {
        self.map(|word| {
            Some(match word {
                "rn" => Rounding::NearestEven,
                "rna" => Rounding::NearestAway,
                "rz" => Rounding::TowardZero,
                "rp" => Rounding::Up,
                "rm" => Rounding::Down,
                _ => return None,
            })
        })
    }

    /// Takes a rounding mode to integers.
    pub fn integer_rounding(&mut self) -> Option<Rounding> {
        self.map(|word| {
            Some(match word {
                "rni" => Rounding::NearestEven,
                "rzi" => Rounding::TowardZero,
                "rpi" => Rounding::Up,
                "rmi" => Rounding::Down,
                _ => return None,
            })
        })
    }

    /// Takes everything that says how memory is cached, which has no effect here.
    pub fn cache(&mut self) {
        const IGNORED: [&str; 28] = [
            "ca",
            "cg",
            "cs",
            "lu",
            "cv",
            "wb",
            "wt",
            "nc",
            "L1::evict_normal",
            "L1::evict_unchanged",
            "L1::evict_first",
            "L1::evict_last",
            "L1::no_allocate",
            "L2::evict_normal",
            "L2::evict_first",
            "L2::evict_last",
            "L2::64B",
            "L2::128B",
            "L2::256B",
            "L2::cache_hint",
            "L2::evict_unchanged",
            "level::cache_hint",
            "level::eviction_priority",
            "unified",
            "mmio",
            "L1::evict_unchanged",
            "L2::evict_unchanged",
            "level::prefetch_size",
        ];
        while self.any(&IGNORED).is_some() {}
    }
}
