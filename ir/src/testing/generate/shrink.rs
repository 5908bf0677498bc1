//! Shrinking a list of decisions to a smaller one that still fails.

/// Gives a smaller list for which `fails` still holds, after at most `tries` calls of it. `list` itself must fail.
///
/// First the end is cut off and runs of decisions are left out, long runs before short ones; then decisions are made
/// 0, the simplest, or smaller. All is repeated until nothing helps.
pub fn shrink(list: &[u32], mut tries: usize, mut fails: impl FnMut(&[u32]) -> bool) -> Vec<u32> {
    let mut best = list.to_vec();
    let mut attempt = |candidate: Vec<u32>, best: &mut Vec<u32>| -> bool {
        if tries == 0 || candidate == *best {
            return false;
        }
        tries -= 1;
        let smaller = fails(&candidate);
        if smaller {
            *best = candidate;
        }
        smaller
    };
    loop {
        let before = best.clone();
        // Decisions behind the end are 0, so that cutting often changes little.
        let mut cut = best.len() / 2;
        while cut > 0 {
            let shorter = best[..best.len() - cut].to_vec();
            if !attempt(shorter, &mut best) {
                cut /= 2;
            }
            cut = cut.min(best.len());
        }
        let mut run = (best.len() / 2).max(1);
        loop {
            let mut at = 0;
            while at < best.len() {
                let end = (at + run).min(best.len());
                let without: Vec<u32> = best[..at].iter().chain(&best[end..]).copied().collect();
                let mut zeroed = best.clone();
                zeroed[at..end].fill(0);
                if !attempt(without, &mut best) {
                    attempt(zeroed, &mut best);
                    at += run;
                }
            }
            if run == 1 {
                break;
            }
            run /= 2;
        }
        for at in 0..best.len() {
            // Decisions are taken modulo the number of cases, of which there are few.
            for small in [1, 2, 3, 5, 8, 13, 21, 34] {
                if best.get(at).is_some_and(|&v| v > small) {
                    let mut smaller = best.clone();
                    smaller[at] = small;
                    if attempt(smaller, &mut best) {
                        break;
                    }
                }
            }
        }
        while best.last() == Some(&0) {
            best.pop();
        }
        if best == before {
            return best;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shrinks_to_what_matters() {
        let list: Vec<u32> = (0..300).map(|i| i * 7919 + 3).collect();
        // Fails where some decision is odd modulo 10 = 7 before another that is 2.
        let fails = |l: &[u32]| {
            let first = l.iter().position(|v| v % 10 == 7);
            first.is_some_and(|i| l[i..].iter().any(|v| v % 10 == 2))
        };
        assert!(fails(&list));
        let small = shrink(&list, 10_000, fails);
        assert!(fails(&small) && small.len() == 2, "{small:?}");
    }

    #[test]
    fn the_number_of_tries_is_kept() {
        let list = vec![5; 100];
        let mut calls = 0;
        let small = shrink(&list, 20, |_| {
            calls += 1;
            true
        });
        assert!(calls <= 20 && small.len() < 100);
        assert_eq!(shrink(&list, 0, |_| true), list);
    }
}
