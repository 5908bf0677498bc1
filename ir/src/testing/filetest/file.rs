//! The parts of a file, and rewriting what is expected.

use std::collections::BTreeMap;

/// What a file asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command {
    /// Parse and print.
    Parse,
    /// Verify.
    Verify,
    /// Run a pass list.
    Pass(String),
    /// Execute, on the executors named or on all.
    Run(Vec<String>),
    /// Compile for these targets.
    Compile(Vec<String>),
}

impl Command {
    fn parse(text: &str) -> Result<Self, String> {
        let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
        let rest = rest.trim();
        let words = || rest.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        match name {
            "parse" if rest.is_empty() => Ok(Self::Parse),
            "verify" if rest.is_empty() => Ok(Self::Verify),
            "pass" if !rest.is_empty() => Ok(Self::Pass(rest.to_owned())),
            "run" => Ok(Self::Run(words())),
            "compile" if !rest.is_empty() => Ok(Self::Compile(words())),
            _ => Err(format!("`test {text}` is not a command of filetests")),
        }
    }

    /// The command's name in the heading of its output.
    pub fn heading(&self) -> String {
        match self {
            Self::Parse => "parse".to_owned(),
            Self::Verify => "verify".to_owned(),
            Self::Pass(list) => format!("pass {list}"),
            Self::Run(_) => "run".to_owned(),
            Self::Compile(targets) => format!("compile {}", targets.join(" ")),
        }
    }
}

/// A run as it stands in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunText {
    /// Line of its heading, from 1.
    pub line: usize,
    /// What stands behind `run`.
    pub heading: String,
    /// Its argument lines, each with its line number.
    pub args: Vec<(usize, String)>,
    /// Its lines of expected results: `%y -> ...`, `prints: ...`, `error: ...`.
    pub expected: Vec<String>,
}

/// A file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TestFile {
    /// What it asks for.
    pub commands: Vec<Command>,
    /// The text up to the first run or output: what is parsed.
    pub source: String,
    /// The runs.
    pub runs: Vec<RunText>,
    /// The expected outputs by the heading of their command.
    pub outputs: BTreeMap<String, String>,
}

const OUTPUT: &str = "; output of `";

impl TestFile {
    /// Splits a file into its parts.
    ///
    /// # Errors
    /// If it has no command, or a malformed one.
    pub fn parse(text: &str) -> Result<Self, String> {
        let is_part = |line: &str| line == "; run" || line.starts_with("; run ") || line.starts_with(OUTPUT);
        let lines: Vec<&str> = text.lines().collect();
        let end = lines.iter().position(|line| is_part(line)).unwrap_or(lines.len());
        let source: String = lines[..end].iter().flat_map(|line| [line, "\n"]).collect();
        let header = lines[..end].iter().filter_map(|line| line.strip_prefix("; test "));
        let commands = header.map(|c| Command::parse(c.trim())).collect::<Result<Vec<_>, _>>()?;
        if commands.is_empty() {
            return Err("the file has no command such as `; test parse`".into());
        }
        let mut file =
            Self { commands, source: source.trim_end().to_owned() + "\n", runs: Vec::new(), outputs: BTreeMap::new() };
        let mut at = end;
        while at < lines.len() {
            let line = lines[at];
            let number = at + 1;
            at += 1;
            if let Some(heading) = line.strip_prefix(OUTPUT) {
                let heading = heading.strip_suffix("`:").ok_or(format!("line {number}: malformed heading"))?;
                let body = lines[at..].iter().map_while(|line| line.strip_prefix(";|"));
                let body: Vec<&str> = body.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
                at += body.len();
                file.outputs.insert(heading.to_owned(), body.join("\n"));
            } else if let Some(heading) = line.strip_prefix("; run") {
                let mut run = RunText {
                    line: number,
                    heading: heading.trim().to_owned(),
                    args: Vec::new(),
                    expected: Vec::new(),
                };
                while let Some(line) = lines.get(at).and_then(|line| line.strip_prefix(";  ")) {
                    let line = line.trim();
                    if line.contains("->") || line.starts_with("prints:") || line.starts_with("error:") {
                        run.expected.push(line.to_owned());
                    } else {
                        run.args.push((at + 1, line.to_owned()));
                    }
                    at += 1;
                }
                file.runs.push(run);
            } else if !line.trim().is_empty() {
                return Err(format!("line {number}: neither part of a run nor of an output"));
            }
        }
        Ok(file)
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        let mut text = self.source.clone();
        for run in &self.runs {
            text += &format!("\n; run {}", run.heading);
            text.truncate(text.trim_end().len());
            text.push('\n');
            for line in run.args.iter().map(|(_, line)| line).chain(&run.expected) {
                text += &format!(";   {line}\n");
            }
        }
        for command in &self.commands {
            let heading = command.heading();
            let Some(output) = self.outputs.get(&heading) else { continue };
            text += &format!("\n{OUTPUT}{heading}`:\n");
            for line in output.lines() {
                text += if line.is_empty() { ";|" } else { ";| " };
                text += line;
                text.push('\n');
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
; test verify
; test pass a,b{c=1}
; test run interp cpu
kernel @k() {
  return
}

; run grid 2
;   %x = [1] 5
;   %y -> 7
;   prints: hello

; run
;   error: no

; output of `pass a,b{c=1}`:
;| kernel @k() {
;|
;|   return
;| }
";

    #[test]
    fn parts_round_trip() {
        let file = TestFile::parse(TEXT).unwrap();
        let names = ["interp", "cpu"].map(str::to_owned).to_vec();
        assert_eq!(file.commands, [Command::Verify, Command::Pass("a,b{c=1}".into()), Command::Run(names)]);
        assert_eq!(file.source.lines().last(), Some("}"));
        assert_eq!(file.runs[0].args, [(9, "%x = [1] 5".to_owned())]);
        assert_eq!(file.runs[0].expected, ["%y -> 7", "prints: hello"]);
        assert_eq!((file.runs[1].line, file.runs[1].heading.as_str()), (13, ""));
        assert_eq!(file.outputs["pass a,b{c=1}"], "kernel @k() {\n\n  return\n}");
        assert_eq!(file.text(), TEXT);
    }

    #[test]
    fn malformed_files() {
        assert!(TestFile::parse("kernel @k() { return }").is_err());
        assert!(TestFile::parse("; test fly\n").unwrap_err().contains("`test fly`"));
        assert!(TestFile::parse("; test pass\n").is_err());
        assert!(TestFile::parse("; test run\n; run\nstray\n").unwrap_err().contains("line 3"));
    }
}
