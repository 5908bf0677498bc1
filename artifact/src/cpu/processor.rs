//! Which processor this is, for code that is made for it alone.
//!
//! LLVM can say it as well, and takes most of a millisecond for it: kernels that were compiled before are taken up without.

/// Everything by which code for this processor can differ from code for another one of its architecture: its vendor, model
/// and features. It is the same on all its cores. `None` where a program cannot ask the processor itself.
pub fn fingerprint() -> Option<String> {
    #[cfg(target_arch = "x86_64")]
    return Some(x86_64::fingerprint());
    #[cfg(not(target_arch = "x86_64"))]
    None
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::{__cpuid_count, __get_cpuid_max, _xgetbv};
    use std::fmt::Write;

    /// What a leaf tells that is worth knowing.
    struct Leaf {
        leaf: u32,
        subleaf: u32,
        /// Which of `eax`, `ebx`, `ecx`, `edx`. The others tell of the core, or of what the system has turned on.
        registers: [bool; 4],
    }

    const fn leaf(leaf: u32, subleaf: u32, registers: [bool; 4]) -> Leaf {
        Leaf { leaf, subleaf, registers }
    }

    const ALL: [bool; 4] = [true; 4];
    const EAX: [bool; 4] = [true, false, false, false];
    const EBX: [bool; 4] = [false, true, false, false];

    /// The leaves that features are in.
    const LEAVES: &[Leaf] = &[
        leaf(0, 0, [false, true, true, true]),
        // Family and model; `ebx` is the number of the core.
        leaf(1, 0, [true, false, true, true]),
        leaf(7, 0, ALL),
        leaf(7, 1, ALL),
        leaf(0xd, 1, EAX),
        leaf(0x14, 0, EBX),
        leaf(0x19, 0, EBX),
        leaf(0x1e, 1, EAX),
        leaf(0x24, 0, EBX),
        leaf(0x8000_0001, 0, [false, false, true, true]),
        leaf(0x8000_0008, 0, EBX),
    ];

    /// In `ecx` of leaf 1: the system saves and restores the registers that `xgetbv` names.
    const OSXSAVE: u32 = 1 << 27;

    pub(super) fn fingerprint() -> String {
        let mut text = format!("{} {}", std::env::consts::ARCH, std::env::consts::OS);
        let most = [0, 0x8000_0000].map(|range| __get_cpuid_max(range).0);
        for part in LEAVES {
            if part.leaf > most[usize::from(part.leaf >= 0x8000_0000)] {
                continue;
            }
            let told = __cpuid_count(part.leaf, part.subleaf);
            let values = [told.eax, told.ebx, told.ecx, told.edx];
            let _ = write!(text, " {:x}.{:x}", part.leaf, part.subleaf);
            for (value, _) in values.iter().zip(part.registers).filter(|(_, wanted)| *wanted) {
                let _ = write!(text, ":{value:x}");
            }
        }
        if __cpuid_count(1, 0).ecx & OSXSAVE != 0 {
            // SAFETY: the processor has the instruction, and the system has turned it on.
            let _ = write!(text, " xcr0:{:x}", unsafe { xcr0() });
        }
        text
    }

    /// Which registers the system keeps for each thread: vectors of 512 bits are of no use without.
    ///
    /// # Safety
    /// The processor has `xgetbv`.
    #[target_feature(enable = "xsave")]
    unsafe fn xcr0() -> u64 {
        // SAFETY: as the caller promises; register 0 is always there.
        unsafe { _xgetbv(0) }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_same_on_every_core_and_has_the_features() {
        let here = fingerprint().expect("this is x86-64");
        assert!(here.starts_with("x86_64 ") && here.contains(" 7.0:"), "{here}");
        let threads: Vec<_> = (0..64).map(|_| std::thread::spawn(fingerprint)).collect();
        assert!(threads.into_iter().all(|t| t.join().expect("no panic").as_ref() == Some(&here)));
        // `ebx` of leaf 7 has AVX2 in bit 5.
        let leaf_7: Vec<u32> = here
            .split(" 7.0:")
            .nth(1)
            .and_then(|rest| rest.split(' ').next())
            .map(|values| values.split(':').map(|v| u32::from_str_radix(v, 16).expect("a number")).collect())
            .expect("it is in there");
        assert_eq!(leaf_7[1] & 1 << 5 != 0, std::arch::is_x86_feature_detected!("avx2"), "{here}");
    }
}
