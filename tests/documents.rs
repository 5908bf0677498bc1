//! The documents agree with the repository: links lead somewhere, and the paths, commands, examples and targets that they
//! name are there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use tegula::runtime::compiler::Target;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn root() -> &'static Path {
    Path::new(ROOT)
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Every document, by its path from the root.
fn documents() -> Vec<PathBuf> {
    fn visit(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a folder of the repository").map(|e| e.expect("an entry").path()) {
            let name = entry.file_name().and_then(|n| n.to_str()).unwrap_or_default();
            // What is built, and what is hidden. `target-*` are further folders for the same.
            if name.starts_with('.') || name.starts_with("target") {
                continue;
            }
            if entry.is_dir() {
                visit(&entry, found);
            } else if name.ends_with(".md") {
                found.push(entry.strip_prefix(ROOT).expect("it is below the root").to_owned());
            }
        }
    }
    let mut found = Vec::new();
    visit(root(), &mut found);
    found.sort();
    assert!(found.len() > 20, "{found:?}");
    found
}

/// The lines of a document outside fenced blocks, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(i, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence).then_some((i + 1, line))
    })
}

/// The lines of a document inside fenced blocks.
fn fenced(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        fenced && !fence
    })
}

/// What stands between single backticks in a line.
fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// The targets of a line's links.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}

/// The name under which a heading is linked.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    text.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Runs a check over every document, and reports all problems together.
fn check(mut problems_of: impl FnMut(&Path, &str) -> Vec<String>) {
    let problems: Vec<String> = documents()
        .iter()
        .flat_map(|d| problems_of(d, &read(d)).into_iter().map(|p| format!("{}: {p}", d.display())).collect::<Vec<_>>())
        .collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn links_lead_somewhere() {
    check(|document, text| {
        let mut problems = Vec::new();
        for (number, line) in prose(text) {
            for link in links(line).filter(|l| !l.contains("://")) {
                let (path, heading) = link.split_once('#').unwrap_or((link, ""));
                let folder = document.parent().unwrap_or(Path::new(""));
                let target = if path.is_empty() { document.to_owned() } else { folder.join(path) };
                if !root().join(&target).exists() {
                    problems.push(format!("line {number}: there is no {}", target.display()));
                } else if !heading.is_empty()
                    && !prose(&read(&target)).any(|(_, l)| l.starts_with('#') && anchor(l) == heading)
                {
                    problems.push(format!("line {number}: {} has no heading #{heading}", target.display()));
                }
            }
        }
        problems
    });
}

/// `a/{b,c}/d` as `a/b/d` and `a/c/d`.
fn alternatives(pattern: &str) -> Vec<String> {
    match pattern.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?))) {
        None => vec![pattern.to_owned()],
        Some((before, (list, after))) => {
            list.split(',').flat_map(|item| alternatives(&format!("{before}{item}{after}"))).collect()
        }
    }
}

/// Whether a path is there, whose parts may hold `*` or `<name>` for anything.
fn exists(folder: &Path, path: &str) -> bool {
    let Some((part, rest)) = path.split_once('/').or((!path.is_empty()).then_some((path, ""))) else { return true };
    let open = part.find(['*', '<']);
    let Some(open) = open else { return folder.join(part).exists() && exists(&folder.join(part), rest) };
    let end = part.rfind(['*', '>']).expect("what is opened ends") + 1;
    fs::read_dir(folder).is_ok_and(|mut entries| {
        entries.any(|entry| {
            let entry = entry.expect("an entry").path();
            let name = entry.file_name().and_then(|n| n.to_str()).unwrap_or_default().to_owned();
            name.starts_with(&part[..open]) && name.ends_with(&part[end..]) && exists(&entry, rest)
        })
    })
}

#[test]
fn paths_that_are_named_are_there() {
    let folders_in = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").path());
        entries.filter(|p| p.is_dir()).collect()
    };
    let folders = folders_in(root());
    // Crates: in the root, and the examples that are workspaces of their own.
    let crates: Vec<PathBuf> = folders.iter().cloned().chain(folders_in(&root().join("examples"))).collect();
    let name = |p: &PathBuf| p.file_name().expect("a name").to_string_lossy().into_owned();
    let top: BTreeSet<String> =
        folders.iter().map(name).filter(|n| !n.starts_with('.') && !n.starts_with("target")).collect();
    let mut seen = 0;
    check(|_, text| {
        let mut problems = Vec::new();
        for (number, line) in prose(text) {
            for span in code_spans(line) {
                // The first word of a command, and its arguments.
                for word in span.split_whitespace() {
                    let Some((first, _)) = word.split_once('/') else { continue };
                    if !top.contains(first) {
                        continue;
                    }
                    seen += 1;
                    for path in alternatives(word) {
                        // From the root, or, where a page is on one crate, from that.
                        if !exists(root(), &path) && !crates.iter().any(|c| exists(c, &path)) {
                            problems.push(format!("line {number}: there is no {path}"));
                        }
                    }
                }
            }
        }
        problems
    });
    assert!(seen > 30, "only {seen} paths were found in all documents");
}

#[test]
fn commands_of_the_task_runner_are_there() {
    let runner = read("x");
    let commands: BTreeSet<&str> = runner
        .lines()
        .skip_while(|line| !line.starts_with("case \"$command\""))
        .filter_map(|line| line.trim().split_once(") ").map(|(name, _)| name))
        .collect();
    assert!(commands.contains("test") && commands.contains("demo"), "{commands:?}");
    check(|_, text| {
        let spans = prose(text).flat_map(|(_, line)| code_spans(line));
        let lines = spans.chain(fenced(text));
        let called = lines.flat_map(|line| line.split("./x ").skip(1));
        called
            .map(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next().unwrap_or_default())
            .filter(|name| !name.is_empty() && !commands.contains(name))
            .map(|name| format!("there is no ./x {name}"))
            .collect()
    });
}

#[test]
fn examples_that_are_named_are_there() {
    let mut seen = 0;
    check(|document, text| {
        // Of the root, or of the crate that the page belongs to.
        let folders = [root().to_owned(), root().join(document.parent().unwrap_or(Path::new("")))];
        let named = text.split("--example ").skip(1);
        named
            .map(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default())
            .inspect(|_| seen += 1)
            .filter(|name| !folders.iter().any(|f| f.join(format!("examples/{name}.rs")).exists()))
            .map(|name| format!("there is no example {name}"))
            .collect()
    });
    assert!(seen > 6);
}

#[test]
fn every_page_of_the_book_is_in_its_summary() {
    let summary = read("docs/book/src/SUMMARY.md");
    let listed: BTreeSet<PathBuf> =
        summary.lines().flat_map(links).map(|page| Path::new("docs/book/src").join(page)).collect();
    let pages: BTreeSet<PathBuf> =
        documents().into_iter().filter(|d| d.starts_with("docs/book/src") && !d.ends_with("SUMMARY.md")).collect();
    assert_eq!(listed, pages);
    check(|document, text| {
        let included = text.split("{{#include ").skip(1).filter_map(|rest| rest.split("}}").next());
        included
            .filter(|path| !root().join(document).parent().expect("a folder").join(path).exists())
            .map(|path| format!("there is no {path} to include"))
            .collect()
    });
}

#[test]
fn every_crate_has_its_room() {
    let architecture = read("ARCHITECTURE.md");
    let rooms = architecture.split("## The rooms").nth(1).and_then(|t| t.split("\n## ").next()).expect("the section");
    let rooms: BTreeSet<&str> =
        rooms.lines().filter_map(|l| l.strip_prefix("| ")?.split(" |").next()).flat_map(code_spans).collect();
    for entry in fs::read_dir(root()).expect("the root").map(|e| e.expect("an entry").path()) {
        if entry.join("Cargo.toml").exists() {
            let name = format!("{}/", entry.file_name().expect("a name").to_string_lossy());
            assert!(rooms.contains(name.as_str()), "ARCHITECTURE.md gives {name} no room");
        }
    }
}

#[test]
fn the_readme_has_the_targets_that_there_are() {
    let readme = read("README.md");
    let table = readme.split("| target |").nth(1).and_then(|t| t.split("\n\n").next()).expect("the table of targets");
    let named: BTreeSet<&str> =
        table.lines().filter_map(|l| l.strip_prefix("| ")?.split(" | ").next()).flat_map(code_spans).collect();
    let there: BTreeSet<&str> = Target::names().into_iter().filter(|n| *n != "cpu").collect();
    assert_eq!(named, there);
}
