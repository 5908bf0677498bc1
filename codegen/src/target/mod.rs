//! Capability tables: what an architecture has, as data.
//!
//! The lowering and the passes above it ask these tables; they never compare architecture names. A new architecture
//! of a known family is a new row.

mod amd;
mod nvidia;

use tegula_ir::ops::UnaryOp;

/// A family of architectures that share an instruction set and a toolchain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// NVIDIA GPUs, programmed in PTX.
    Nvidia,
    /// AMD GPUs, programmed in machine code.
    Amd,
}

/// An element type as the tables name it. Integers have no sign here: it never matters to what a table answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Element {
    I8,
    I16,
    I32,
    I64,
    F16,
    BF16,
    F32,
    F64,
    /// OCP e4m3: no infinity, largest 448.
    F8E4M3,
    /// OCP e5m2: IEEE-like, largest 57344.
    F8E5M2,
    /// AMD's e4m3 with one NaN (0x80) and bias 8, largest 240.
    F8E4M3Fnuz,
    /// AMD's e5m2 with one NaN (0x80) and bias 16, largest 57344.
    F8E5M2Fnuz,
}

/// An atomic read-modify-write operation as the tables name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum AtomicOp {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
    Exchange,
    CompareExchange,
}

/// Integer atomics that every architecture has.
const INTEGER_ATOMICS: &[(AtomicOp, Element)] = &[
    (AtomicOp::Add, Element::I32),
    (AtomicOp::Add, Element::I64),
    (AtomicOp::Min, Element::I32),
    (AtomicOp::Min, Element::I64),
    (AtomicOp::Max, Element::I32),
    (AtomicOp::Max, Element::I64),
    (AtomicOp::And, Element::I32),
    (AtomicOp::And, Element::I64),
    (AtomicOp::Or, Element::I32),
    (AtomicOp::Or, Element::I64),
    (AtomicOp::Xor, Element::I32),
    (AtomicOp::Xor, Element::I64),
    (AtomicOp::Exchange, Element::I32),
    (AtomicOp::Exchange, Element::I64),
    (AtomicOp::CompareExchange, Element::I32),
    (AtomicOp::CompareExchange, Element::I64),
];

/// Which machine to generate code for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MachineSpec {
    /// The target triple, such as `nvptx64-nvidia-cuda`.
    pub triple: String,
    /// The processor, such as `sm_90a`.
    pub cpu: String,
    /// LLVM's feature string, such as `+ptx83`.
    pub features: String,
    /// Whether the code may be placed anywhere in the address space (shared objects).
    pub position_independent: bool,
}

/// There is no architecture of this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown target `{name}`; {}", nearest_hint(.nearest))]
pub struct UnknownTarget {
    /// What was asked for.
    pub name: String,
    /// The known name that is closest, if any is close.
    pub nearest: Option<&'static str>,
}

/// What one architecture has.
#[derive(Debug)]
pub struct Architecture {
    /// Tegula's and LLVM's name, such as `sm_90a` or `gfx942`.
    pub name: &'static str,
    /// A name that people know, such as `Hopper (H100, H200)`.
    pub description: &'static str,
    /// The family.
    pub family: Family,
    /// LLVM's triple.
    pub triple: &'static str,
    /// LLVM's feature string.
    pub features: &'static str,
    /// Threads that execute together.
    pub warp_size: u32,
    /// Most threads in a program.
    pub max_threads: u32,
    /// Most bytes of shared memory that a program may use.
    pub max_shared_bytes: u32,
    /// Most bytes of shared memory that can be declared statically; the rest is asked for at launch.
    pub max_static_shared_bytes: u32,
    /// Most bytes of arguments that a launch passes.
    pub max_argument_bytes: u32,
    /// Widest access of one thread to global or shared memory.
    pub max_access_bytes: u32,
    /// Banks of shared memory.
    pub shared_banks: u32,
    /// Bytes that one bank serves a cycle.
    pub shared_bank_bytes: u32,
    /// Conversions that are instructions, as (from, to), in groups; all round to nearest even.
    pub conversions: &'static [&'static [(Element, Element)]],
    /// Atomics on global memory that are instructions, in groups; others become compare-exchange loops.
    pub atomics: &'static [&'static [(AtomicOp, Element)]],
    /// Functions of `f32` that instructions compute within the bounds of the pass `expand-math`.
    pub native_math: &'static [UnaryOp],
    /// Functions of `f32` that instructions approximate, for ops marked `fast`.
    pub approximate_math: &'static [UnaryOp],
    /// Whether a kernel may begin before the one before it in its stream has ended, and wait for that end itself.
    pub dependent_launches: bool,
}

impl Architecture {
    /// All architectures that Tegula generates GPU code for.
    pub fn all() -> impl Iterator<Item = &'static Architecture> {
        nvidia::ARCHITECTURES.iter().chain(amd::ARCHITECTURES)
    }

    /// The architecture called `name`.
    ///
    /// # Errors
    /// With the nearest known name.
    pub fn by_name(name: &str) -> Result<&'static Architecture, UnknownTarget> {
        Self::all().find(|a| a.name == name).ok_or_else(|| UnknownTarget {
            name: name.to_owned(),
            nearest: Self::all()
                .map(|a| (edit_distance(name, a.name), a.name))
                .filter(|(distance, _)| *distance <= 3)
                .min()
                .map(|(_, name)| name),
        })
    }

    /// Whether the conversion is an instruction.
    pub fn converts(&self, from: Element, to: Element) -> bool {
        self.conversions.iter().any(|group| group.contains(&(from, to)))
    }

    /// Whether the atomic on global memory is an instruction.
    pub fn has_atomic(&self, op: AtomicOp, element: Element) -> bool {
        self.atomics.iter().any(|group| group.contains(&(op, element)))
    }

    /// What to ask LLVM for.
    pub fn machine_spec(&self) -> MachineSpec {
        MachineSpec {
            triple: self.triple.to_owned(),
            cpu: self.name.to_owned(),
            features: self.features.to_owned(),
            position_independent: self.family == Family::Amd,
        }
    }
}

fn nearest_hint(nearest: &Option<&'static str>) -> String {
    match nearest {
        Some(name) => format!("did you mean `{name}`?"),
        None => "`tegula doctor` lists the targets".to_owned(),
    }
}

/// Levenshtein distance of two short names.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let substitute = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = substitute.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        for arch in Architecture::all() {
            assert_eq!(Architecture::by_name(arch.name).unwrap().name, arch.name);
            assert_eq!(Architecture::all().filter(|a| a.name == arch.name).count(), 1);
        }
    }

    #[test]
    fn a_misspelt_name_gets_the_nearest() {
        let nearest = |name| Architecture::by_name(name).map_err(|e| e.nearest).err();
        assert_eq!(nearest("sm90a"), Some(Some("sm_90a")));
        assert_eq!(nearest("riscv64"), Some(None));
    }

    #[cfg(feature = "llvm")]
    #[test]
    fn llvm_knows_every_architecture() {
        for arch in Architecture::all() {
            crate::session::Machine::new(arch.machine_spec()).unwrap();
        }
    }
}
