//! The environment variables that a stand-in obeys, read once a process.

use std::path::PathBuf;
use std::sync::OnceLock;

/// What the environment asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `VGPU_MODEL`: the model of device, such as `h200`.
    pub model: Option<String>,
    /// `VGPU_DEVICES`: how many devices there are, 1 to 16.
    pub devices: usize,
    /// `VGPU_MEMORY`: bytes of memory of each device; a number, with `K`, `M` or `G` behind it where wanted.
    pub memory: Option<u64>,
    /// `VGPU_SANITIZE`: whether launches are strict and sanitized. On unless it is `0`.
    pub sanitize: bool,
    /// `VGPU_REPORT`: where findings are written, one JSON object a line.
    pub report: Option<PathBuf>,
    /// `VGPU_NULL_LAUNCH`: a launch does nothing.
    pub null_launch: bool,
    /// `VGPU_SEED`: the seed of the warp scheduler.
    pub seed: u64,
    /// `VGPU_LOG`: why calls fail is told on standard error.
    pub log: bool,
}

/// The most devices: their address ranges must not reach the host's memory.
pub const MAX_DEVICES: usize = 16;

impl Settings {
    /// Reads settings by a function from a variable's name to its value. What makes no sense counts as not set.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Self {
        let number = |name| variable(name).and_then(|text| text.trim().parse::<u64>().ok());
        let flag = |name| variable(name).map(|text| !matches!(text.trim(), "" | "0" | "off" | "false"));
        Self {
            model: variable("VGPU_MODEL").filter(|name| !name.is_empty()),
            devices: number("VGPU_DEVICES").map_or(1, |n| n.clamp(1, MAX_DEVICES as u64) as usize),
            memory: variable("VGPU_MEMORY").and_then(|text| bytes(&text)),
            sanitize: flag("VGPU_SANITIZE").unwrap_or(true),
            report: variable("VGPU_REPORT").filter(|path| !path.is_empty()).map(PathBuf::from),
            null_launch: flag("VGPU_NULL_LAUNCH").unwrap_or(false),
            seed: number("VGPU_SEED").unwrap_or(1),
            log: flag("VGPU_LOG").unwrap_or(false),
        }
    }

    /// The settings of this process.
    pub fn get() -> &'static Self {
        static SETTINGS: OnceLock<Settings> = OnceLock::new();
        SETTINGS.get_or_init(|| Self::read(|name| std::env::var(name).ok()))
    }
}

/// A count of bytes such as `80G`.
fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].trim_end_matches(['b', 'B', 'i']) {
        "" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        _ => return None,
    };
    digits.trim().parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_read_and_nonsense_is_not() {
        let none = Settings::read(|_| None);
        assert!(none.sanitize && !none.null_launch && none.devices == 1 && none.memory.is_none());
        let some = Settings::read(|name| {
            let value = match name {
                "VGPU_MODEL" => "a100",
                "VGPU_DEVICES" => "99",
                "VGPU_MEMORY" => "3MiB",
                "VGPU_SANITIZE" => "0",
                "VGPU_NULL_LAUNCH" => "1",
                "VGPU_SEED" => "x",
                _ => return None,
            };
            Some(value.to_owned())
        });
        assert_eq!((some.devices, some.memory, some.seed), (MAX_DEVICES, Some(3 << 20), 1));
        assert!(!some.sanitize && some.null_launch);
        assert_eq!(some.model.as_deref(), Some("a100"));
        assert_eq!(bytes("12 parsecs"), None);
    }
}
