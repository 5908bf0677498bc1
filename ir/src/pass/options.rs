//! Options of a pass: `unroll{factor=4, full}`.

use std::fmt;
use std::str::FromStr;

use super::PassListError;

/// An option that a pass takes.
#[derive(Clone, Copy, Debug)]
pub struct OptionInfo {
    /// The key.
    pub name: &'static str,
    /// What it does, with its default.
    pub help: &'static str,
}

/// The options given to one pass, in order.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct PassOptions {
    /// Name of the pass, for errors.
    pub(super) pass: String,
    pub(super) entries: Vec<(String, Option<String>)>,
}

impl PassOptions {
    /// The value of an option, or `default` where it is not given.
    ///
    /// # Errors
    /// If the value is missing or is not a `T`.
    pub fn get<T: FromStr>(&self, name: &str, default: T) -> Result<T, PassListError> {
        Ok(self.find(name)?.unwrap_or(default))
    }

    /// The value of an option, if it is given.
    ///
    /// # Errors
    /// If the value is missing or is not a `T`.
    pub fn find<T: FromStr>(&self, name: &str) -> Result<Option<T>, PassListError> {
        let Some((_, value)) = self.entries.iter().find(|(key, _)| key == name) else { return Ok(None) };
        let value = value.as_deref().unwrap_or_default();
        value.parse().map(Some).map_err(|_| PassListError::BadValue {
            pass: self.pass.clone(),
            option: name.to_owned(),
            value: value.to_owned(),
        })
    }

    /// Whether a flag is given: `{name}` or `{name=true}`.
    ///
    /// # Errors
    /// If it has a value other than `true` and `false`.
    pub fn flag(&self, name: &str) -> Result<bool, PassListError> {
        match self.entries.iter().find(|(key, _)| key == name) {
            Some((_, None)) => Ok(true),
            _ => self.get(name, false),
        }
    }

    /// The keys given.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(key, _)| key.as_str())
    }
}

impl fmt::Display for PassOptions {
    /// The options as written in a pass list, or nothing where there are none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (key, value)) in self.entries.iter().enumerate() {
            f.write_str(if i == 0 { "{" } else { "," })?;
            f.write_str(key)?;
            if let Some(value) = value {
                write!(f, "={value}")?;
            }
        }
        f.write_str(if self.entries.is_empty() { "" } else { "}" })
    }
}
