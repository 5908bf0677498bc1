//! The text of layouts: no text leads to a panic, and what parses prints to a text that parses to the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tegula_ir::layout::LinearLayout;

fuzz_target!(|text: &str| {
    let Ok(layout) = text.parse::<LinearLayout>() else { return };
    let printed = layout.to_string();
    let again: LinearLayout = printed.parse().expect("printed text parses");
    assert_eq!(again, layout);
    assert_eq!(again.to_string(), printed);
    // The algebra holds for every layout that can be written.
    let _ = layout.is_surjective();
    if let Some(inverse) = layout.inverse() {
        let back = layout.then(&inverse).expect("an inverse composes");
        assert_eq!(back.kernel(), layout.kernel());
    }
});
