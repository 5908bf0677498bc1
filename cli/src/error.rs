//! Errors of the command: one line each, with an exit status.

use tegula::ir::text::nearest;

/// Why a command did not do what was asked.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CliError {
    /// The command line asks for something that does not exist. Exit status 2.
    #[error("{0}")]
    Usage(String),
    /// What was asked for failed. Exit status 1.
    #[error("{0}")]
    Failed(String),
}

impl CliError {
    /// An unknown name, with the nearest known one, or all of them where none is near.
    pub fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> Self {
        let help = match nearest(name, known.clone()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("choose from: {}", known.into_iter().collect::<Vec<_>>().join(", ")),
        };
        Self::Usage(format!("there is no {what} `{name}`; {help}"))
    }

    /// The process's exit status.
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Failed(_) => 1,
        }
    }
}

/// The command's result.
pub type Result<T> = std::result::Result<T, CliError>;
