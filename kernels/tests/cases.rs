//! The cases are what the other tests go by: there is one for every kernel and every element type that it can be built for,
//! with sizes that are small, odd and prime, and what they say of themselves is true.

use std::collections::BTreeSet;

use tegula::ir::exec::HostArg;
use tegula_kernels::cases::{CASES, cases_of};
use tegula_kernels::library;

/// Sizes that every kernel is tested with, along one axis or another.
const ODD: [i64; 5] = [1, 7, 63, 65, 1000];

fn is_prime(n: i64) -> bool {
    n > 1 && (2..n).take_while(|d| d * d <= n).all(|d| n % d != 0)
}

#[test]
fn every_kernel_is_tested_in_every_element_type() {
    for kernel in library() {
        let tested: BTreeSet<&str> = cases_of(kernel.name).flat_map(|c| c.elems).map(|t| t.name()).collect();
        let built: BTreeSet<&str> = (kernel.instances)().iter().map(|i| i.types[0].name()).collect();
        assert_eq!(tested, built, "{}", kernel.name);
    }
    for case in CASES {
        assert!(library().iter().any(|k| k.name == case.kernel), "{}", case.name());
    }
}

#[test]
fn every_case_has_small_odd_and_prime_sizes() {
    for case in CASES {
        let sizes: BTreeSet<i64> = case.test_sizes.iter().flat_map(|s| *s).copied().collect();
        let missing: Vec<i64> = ODD.into_iter().filter(|n| !sizes.contains(n)).collect();
        assert!(missing.is_empty(), "{} is not tested at {missing:?}", case.name());
        assert!(sizes.iter().any(|&n| n > 65 && is_prime(n)), "{} is not tested at a prime", case.name());
        for sizes in case.all_test_sizes().chain([case.default_sizes()]) {
            assert_eq!((case.requires)(&sizes), Ok(()), "{} {sizes:?}", case.name());
        }
    }
}

#[test]
fn attention_is_tested_at_sizes_of_heads_to_256() {
    for case in cases_of("attention") {
        let heads: BTreeSet<i64> = case.all_test_sizes().map(|s| s.get("D")).collect();
        for d in [1, 33, 80, 255, 256] {
            assert!(heads.contains(&d), "{} with heads of {d}", case.name());
        }
        assert!(case.all_test_sizes().any(|s| s.get("G") < s.get("H")), "{}: heads that share keys", case.name());
    }
}

#[test]
fn elements_are_those_of_the_tensors() {
    for case in CASES {
        for sizes in case.all_test_sizes() {
            let problem = (case.problem)(&sizes, case.elems[0], 1);
            let count = |arg: &HostArg| match arg {
                HostArg::Tensor(t) | HostArg::Ptr(t) => t.count(),
                HostArg::Scalar(_) => 0,
            };
            let elements: usize = problem.args.iter().map(count).sum();
            assert_eq!(case.count_elements(&sizes), elements as f64, "{} {sizes:?}", case.name());
        }
    }
}

/// As the library is what users learn from.
#[test]
fn kernels_are_written_in_the_public_language_only() {
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src")).expect("the sources") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("text");
        if !text.contains("#[kernel") {
            continue;
        }
        for line in text.lines() {
            // Tile IR, and what the macros refer to, are not for kernels.
            let inner = ["tegula::ir", "tegula::lang", "tegula_ir", "tegula_lang", "__private"];
            assert!(!inner.iter().any(|part| line.contains(part)), "{}: {line}", path.display());
        }
    }
}
