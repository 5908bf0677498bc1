//! The most similar known name to one that is not known, for error messages.

/// The candidate that differs least from `name`, if it is similar enough to be what was meant: at most a third of
/// the letters differ. Exchanged neighbours count as one difference; of equally similar ones the first is taken.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // The time is quadratic in the length; no name that was meant is this long.
    if name.len() > 64 {
        return None;
    }
    let limit = name.chars().count().max(3) / 3;
    candidates
        .into_iter()
        .map(|c| (distance(name, c), c))
        .filter(|&(d, _)| d <= limit)
        .min_by_key(|&(d, _)| d)
        .map(|(_, c)| c)
}

/// Edit distance in insertions, deletions, substitutions and exchanges of neighbours.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    // Rows of the table for the prefixes of `a` of length i - 2, i - 1 and i.
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let substituted = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = substituted.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, d) in [("", "", 0), ("", "abc", 3), ("splat", "slpat", 1), ("lod", "load", 1), ("exp", "erf", 2)] {
            assert_eq!(distance(a, b), d, "{a} {b}");
            assert_eq!(distance(b, a), d, "{b} {a}");
        }
    }

    #[test]
    fn only_similar_names_are_suggested() {
        let names = ["broadcast", "bitcast", "load", "store"];
        assert_eq!(nearest("brodcast", names), Some("broadcast"));
        assert_eq!(nearest("laod", names), Some("load"));
        assert_eq!(nearest("cast", names), None);
        assert_eq!(nearest("quantize", names), None);
        assert_eq!(nearest(&"x".repeat(1000), names), None);
    }
}
