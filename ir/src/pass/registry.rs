//! Passes by name, and pass lists as text: `canonicalize,unroll{factor=4},dce`.

use std::collections::BTreeMap;
use std::fmt;

use super::{OptionInfo, Pass, PassOptions};
use crate::text::nearest;

/// What is wrong with a pass list.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PassListError {
    /// No pass has this name.
    #[error("there is no pass `{name}`{}", did_you_mean(nearest))]
    UnknownPass {
        /// The name given.
        name: String,
        /// The most similar name.
        nearest: Option<&'static str>,
    },
    /// The pass has no such option.
    #[error("pass `{pass}` has no option `{option}`; {}", options_of(options))]
    UnknownOption {
        /// The pass.
        pass: String,
        /// The option given.
        option: String,
        /// The options that it has.
        options: Vec<&'static str>,
    },
    /// The value of an option is missing or not of the right kind.
    #[error("`{value}` is not a value for option `{option}` of pass `{pass}`")]
    BadValue {
        /// The pass.
        pass: String,
        /// The option.
        option: String,
        /// The value given, empty where it is missing.
        value: String,
    },
    /// The text is not a pass list.
    #[error("{message} at column {column} of the pass list")]
    Syntax {
        /// What is wrong.
        message: String,
        /// Where, from 1, in characters.
        column: usize,
    },
}

fn did_you_mean(nearest: &Option<&'static str>) -> String {
    nearest.map_or_else(String::new, |n| format!("; did you mean `{n}`?"))
}

fn options_of(options: &[&'static str]) -> String {
    if options.is_empty() { "it has no options".to_owned() } else { format!("its options are {}", options.join(", ")) }
}

/// Makes a pass from its options.
pub type MakePass = fn(&PassOptions) -> Result<Box<dyn Pass>, PassListError>;

/// A pass that can be named in pass lists.
#[derive(Clone, Copy, Debug)]
pub struct PassInfo {
    /// The name in pass lists.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// The options that it takes.
    pub options: &'static [OptionInfo],
    /// Makes it.
    pub make: MakePass,
}

/// One pass of a pipeline, with the text that names it.
pub struct Stage {
    /// The pass.
    pub pass: Box<dyn Pass>,
    /// Its name and options as in a pass list, from which it can be made again.
    pub text: String,
}

/// Passes to be run in order.
#[derive(Default)]
pub struct Pipeline {
    /// The passes.
    pub stages: Vec<Stage>,
}

impl Pipeline {
    /// Adds a pass made in code; it is named without options.
    #[must_use]
    pub fn then(mut self, pass: impl Pass + 'static) -> Self {
        let text = pass.name().to_owned();
        self.stages.push(Stage { pass: Box::new(pass), text });
        self
    }
}

impl fmt::Display for Pipeline {
    /// The pass list that gives this pipeline.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<&str> = self.stages.iter().map(|s| s.text.as_str()).collect();
        f.write_str(&texts.join(","))
    }
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pipeline({self})")
    }
}

/// The passes that can be named.
#[derive(Clone, Default, Debug)]
pub struct Registry {
    passes: BTreeMap<&'static str, PassInfo>,
}

impl Registry {
    /// A registry without passes.
    pub fn empty() -> Self {
        Self::default()
    }

    /// The passes of this crate.
    pub fn builtin() -> Self {
        let mut registry = Self::empty();
        crate::passes::register(&mut registry);
        registry
    }

    /// Adds a pass.
    ///
    /// # Panics
    /// If a pass of this name is there already: names are fixed when the compiler is built.
    pub fn register(&mut self, info: PassInfo) {
        let before = self.passes.insert(info.name, info);
        assert!(before.is_none(), "two passes are named {}", info.name);
    }

    /// All passes, by name.
    pub fn iter(&self) -> impl Iterator<Item = &PassInfo> {
        self.passes.values()
    }

    /// The pass of this name.
    pub fn get(&self, name: &str) -> Option<&PassInfo> {
        self.passes.get(name)
    }

    /// Makes the pipeline that a pass list names. Spaces and line ends between its parts do not matter; an empty
    /// list is an empty pipeline.
    ///
    /// # Errors
    /// If the list is malformed, or a pass or an option does not exist.
    pub fn pipeline(&self, list: &str) -> Result<Pipeline, PassListError> {
        let mut pipeline = Pipeline::default();
        for options in parse_list(list)? {
            let Some(info) = self.get(&options.pass) else {
                let nearest = nearest(&options.pass, self.passes.keys().copied());
                return Err(PassListError::UnknownPass { name: options.pass, nearest });
            };
            if let Some(option) = options.keys().find(|key| info.options.iter().all(|o| o.name != *key)) {
                return Err(PassListError::UnknownOption {
                    pass: options.pass.clone(),
                    option: option.to_owned(),
                    options: info.options.iter().map(|o| o.name).collect(),
                });
            }
            let pass = (info.make)(&options)?;
            pipeline.stages.push(Stage { pass, text: format!("{}{options}", info.name) });
        }
        Ok(pipeline)
    }
}

/// Splits a pass list into passes with their options.
fn parse_list(list: &str) -> Result<Vec<PassOptions>, PassListError> {
    let mut passes = Vec::new();
    let mut rest = list.trim_start();
    let column = |rest: &str| list[..list.len() - rest.len()].chars().count() + 1;
    let syntax = |rest: &str, message: &str| PassListError::Syntax { message: message.into(), column: column(rest) };
    while !rest.is_empty() {
        let (name, after) = word(rest);
        if name.is_empty() {
            return Err(syntax(rest, "expected the name of a pass"));
        }
        let mut options = PassOptions { pass: name.to_owned(), entries: Vec::new() };
        rest = after.trim_start();
        if let Some(inside) = rest.strip_prefix('{') {
            rest = inside.trim_start();
            while !rest.starts_with('}') {
                let (key, after) = word(rest);
                if key.is_empty() {
                    return Err(syntax(rest, "expected an option or `}`"));
                }
                rest = after.trim_start();
                let mut value = None;
                if let Some(after) = rest.strip_prefix('=') {
                    let end = after.find([',', '}']).unwrap_or(after.len());
                    value = Some(after[..end].trim().to_owned());
                    rest = &after[end..];
                }
                if options.keys().any(|k| k == key) {
                    return Err(syntax(rest, &format!("option `{key}` is given twice")));
                }
                options.entries.push((key.to_owned(), value));
                match rest.strip_prefix(',') {
                    Some(after) => rest = after.trim_start(),
                    None if rest.starts_with('}') => {}
                    None => return Err(syntax(rest, "expected `,` or `}`")),
                }
            }
            rest = rest[1..].trim_start();
        }
        passes.push(options);
        match rest.strip_prefix(',') {
            Some(after) if !after.trim_start().is_empty() => rest = after.trim_start(),
            Some(after) => return Err(syntax(after, "expected the name of a pass")),
            None if rest.is_empty() => {}
            None => return Err(syntax(rest, "expected `,`")),
        }
    }
    Ok(passes)
}

/// The identifier at the start of a text (dashes allowed), and what follows it.
fn word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-')).unwrap_or(text.len());
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Diagnostic;
    use crate::function::Function;
    use crate::pass::{Changed, PassContext};

    struct Nop(&'static str);

    impl Pass for Nop {
        fn name(&self) -> &'static str {
            self.0
        }

        fn run(&self, _: &mut Function, _: &mut PassContext) -> Result<Changed, Diagnostic> {
            Ok(Changed::No)
        }
    }

    fn registry() -> Registry {
        let mut r = Registry::empty();
        r.register(PassInfo { name: "dce", summary: "", options: &[], make: |_| Ok(Box::new(Nop("dce"))) });
        r.register(PassInfo {
            name: "unroll",
            summary: "",
            options: &[OptionInfo { name: "factor", help: "" }, OptionInfo { name: "full", help: "" }],
            make: |o| {
                o.get("factor", 4u32)?;
                o.flag("full")?;
                Ok(Box::new(Nop("unroll")))
            },
        });
        r
    }

    #[test]
    fn pass_lists_round_trip() {
        let r = registry();
        for (list, printed) in [
            ("", ""),
            ("dce", "dce"),
            ("dce,unroll{factor=4}", "dce,unroll{factor=4}"),
            (" unroll { factor = 4 , full } ,\n dce ", "unroll{factor=4,full},dce"),
            ("unroll{}", "unroll"),
            ("unroll{full=false}", "unroll{full=false}"),
        ] {
            let pipeline = r.pipeline(list).unwrap();
            assert_eq!(pipeline.to_string(), printed);
            assert_eq!(r.pipeline(printed).unwrap().to_string(), printed);
        }
    }

    #[test]
    fn pass_list_errors_help() {
        let r = registry();
        for (list, error) in [
            ("dse", "there is no pass `dse`; did you mean `dce`?"),
            ("quantum", "there is no pass `quantum`"),
            ("dce{x}", "pass `dce` has no option `x`; it has no options"),
            ("unroll{by=2}", "pass `unroll` has no option `by`; its options are factor, full"),
            ("unroll{factor=two}", "`two` is not a value for option `factor` of pass `unroll`"),
            ("unroll{factor}", "`` is not a value for option `factor` of pass `unroll`"),
            ("unroll{full=3}", "`3` is not a value for option `full` of pass `unroll`"),
            ("unroll{factor=2", "expected `,` or `}` at column 16 of the pass list"),
            ("unroll{full,full}", "option `full` is given twice at column 17 of the pass list"),
            ("dce,", "expected the name of a pass at column 5 of the pass list"),
            ("dce dce", "expected `,` at column 5 of the pass list"),
            ("dce,,dce", "expected the name of a pass at column 5 of the pass list"),
        ] {
            assert_eq!(r.pipeline(list).unwrap_err().to_string(), error, "{list}");
        }
    }
}
