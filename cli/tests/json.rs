//! The JSON of each command has the form that the book documents: in `docs/book/src/command.md`, behind "`tegula X --json`", an
//! example of it.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use clap::CommandFactory;
use serde_json::Value;
use tegula_cli::args::Cli;

const BOOK: &str = include_str!("../../docs/book/src/command.md");

/// The examples by command: the JSON block behind its name.
fn examples() -> BTreeMap<String, Value> {
    let mut examples = BTreeMap::new();
    let mut commands: Vec<String> = Vec::new();
    let mut lines = BOOK.lines();
    while let Some(line) = lines.next() {
        let spans = line.split('`').skip(1).step_by(2);
        commands.extend(spans.filter_map(|s| Some(s.strip_prefix("tegula ")?.strip_suffix(" --json")?.to_owned())));
        if line == "```json" {
            let text: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            let example: Value =
                serde_json::from_str(&text.join("\n")).unwrap_or_else(|e| panic!("{commands:?}: {e}: {text:?}"));
            examples.extend(commands.drain(..).map(|command| (command, example.clone())));
        }
    }
    assert!(commands.is_empty(), "no example of {commands:?}");
    examples
}

/// Whether a value has the form of the example: the same keys, and values of the same kinds. `null` stands for a value that is
/// absent, an empty array for one of any elements. Gives where it has not.
fn differs(path: &str, example: &Value, real: &Value) -> Option<String> {
    match (example, real) {
        (Value::Null, _) | (_, Value::Null) => None,
        (Value::Object(e), Value::Object(r)) => {
            let (documented, there): (Vec<_>, Vec<_>) = (e.keys().collect(), r.keys().collect());
            if documented != there {
                return Some(format!("{path} has {there:?}, documented are {documented:?}"));
            }
            e.iter().find_map(|(key, value)| differs(&format!("{path}.{key}"), value, &r[key]))
        }
        (Value::Array(e), Value::Array(_)) if e.is_empty() => None,
        (Value::Array(e), Value::Array(r)) => {
            // A pair of a name and a value, or as many of one kind as there are.
            let is_list = e.len() == 1 || e.windows(2).all(|w| kind(&w[0]) == kind(&w[1]));
            let of = |i: usize| if is_list { &e[0] } else { &e[i.min(e.len() - 1)] };
            r.iter().enumerate().find_map(|(i, v)| differs(&format!("{path}[{i}]"), of(i), v))
        }
        _ if kind(example) == kind(real) => None,
        _ => Some(format!("{path} is {real}, documented is {example}")),
    }
}

fn kind(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

#[test]
fn every_json_has_the_documented_form() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("a path in UTF-8").to_owned();
    let file = path("k.tile");
    std::fs::write(&file, "kernel @k(%x: i32) {\n  %y = add %x, %x : i32\n  return\n}\n").expect("the file");
    let cache = path("cache");
    std::fs::create_dir_all(path("cache/kernels-v1")).expect("a folder");
    let (object, records, demo, export) = (path("add.co"), path("records.toml"), path("demo"), path("export"));
    let calls: Vec<(&str, Vec<Vec<&str>>)> = vec![
        ("kernels", vec![vec![]]),
        (
            "compile",
            vec![
                vec!["add", "--target", "gfx942", "--emit", "object", "-o", &object],
                vec!["softmax", "--emit", "tile"],
                vec!["softmax", "--target", "sm_80", "--emit", "layout"],
            ],
        ),
        ("opt", vec![vec![&file, "--passes", "canonicalize,dce"]]),
        ("opt --list", vec![vec![]]),
        ("run", vec![vec!["softmax", "--size", "M=3", "--size", "N=65"], vec!["add", "--size", "N=7", "--check"]]),
        ("check", vec![vec!["copy", "--targets", "cpu,sm_80"]]),
        ("tune", vec![vec!["transpose", "--size", "M=9", "--size", "N=9", "--launches", "1", "--records", &records]]),
        ("demo", vec![vec!["--small", "--output", &demo]]),
        ("doctor", vec![vec![]]),
        ("export", vec![vec!["add", "--targets", "cpu,sm_80", "-o", &export]]),
        ("cache info", vec![vec![]]),
        ("cache list", vec![vec![]]),
        ("cache verify", vec![vec![]]),
        ("cache prune", vec![vec![]]),
        ("cache clear", vec![vec![]]),
    ];
    let examples = examples();
    let (documented, called): (BTreeSet<&str>, BTreeSet<&str>) =
        (examples.keys().map(String::as_str).collect(), calls.iter().map(|(command, _)| *command).collect());
    assert_eq!(documented, called, "documented, and called here");
    for (command, calls) in &calls {
        for call in calls {
            let words = command.split(' ').chain(call.iter().copied()).chain(["--json"]);
            let mut program = Command::new(env!("CARGO_BIN_EXE_tegula"));
            let output = program.args(words).env("TEGULA_CACHE_DIR", &cache).env_remove("TEGULA_CACHE").output();
            let output = output.expect("the command starts");
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{command} {call:?}: {error}");
            let real: Value = serde_json::from_slice(&output.stdout).expect("one JSON value");
            if let Some(difference) = differs(command, &examples[*command], &real) {
                panic!("{difference}");
            }
        }
    }
}

/// `session` writes a file, which its own test reads.
const NOT_ON_STANDARD_OUTPUT: &str = "session";

#[test]
fn every_command_has_json_and_documents_it() {
    fn visit(command: &clap::Command, name: &str, found: &mut Vec<String>) {
        if command.get_subcommands().next().is_some() {
            for sub in command.get_subcommands().filter(|c| !c.is_hide_set()) {
                visit(sub, format!("{name} {}", sub.get_name()).trim(), found);
            }
        } else {
            assert!(command.get_arguments().any(|a| a.get_id() == "json"), "`{name}` has no --json");
            found.push(name.to_owned());
        }
    }
    let mut commands = Vec::new();
    visit(&Cli::command(), "", &mut commands);
    let documented = examples();
    for command in commands.iter().filter(|c| *c != NOT_ON_STANDARD_OUTPUT) {
        assert!(documented.contains_key(command), "the JSON of `{command}` is not documented");
    }
}
