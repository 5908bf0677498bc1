//! Texts of seeded faults: the mistake and what would be right stand side by side, `<<wrong||right>>`.

/// The text with the mistakes, or without.
///
/// # Panics
/// If a choice does not end or has one side only.
pub fn choose(text: &str, wrong: bool) -> String {
    let mut chosen = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("<<") {
        let (choice, after) = behind.split_once(">>").expect("a choice ends");
        let (bad, good) = choice.split_once("||").expect("a choice has two sides");
        chosen.push_str(before);
        chosen.push_str(if wrong { bad } else { good });
        rest = after;
    }
    chosen + rest
}
