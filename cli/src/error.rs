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
    pub fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let known: Vec<&str> = known.into_iter().collect();
        let help = match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.is_empty() => "there are none".into(),
            None => format!("choose from: {}", known.join(", ")),
        };
        // Whatever was given, the message is one line.
        Self::Usage(format!("there is no {what} `{}`; {help}", name.escape_debug()))
    }

    /// A device that cannot be opened: one that does not exist anywhere is a mistake on the command line, one that is missing
    /// here is not.
    pub fn of_device(error: &tegula::Error) -> Self {
        match error {
            tegula::Error::UnknownDevice { .. } => Self::Usage(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
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
