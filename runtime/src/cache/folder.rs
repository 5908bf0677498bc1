//! Where the cache is, and whether that folder can be trusted.
//!
//! | variable | meaning |
//! |---|---|
//! | `TEGULA_CACHE` | `off`: no cache on disk |
//! | `TEGULA_CACHE_DIR` | the folder; otherwise `tegula` in the user's cache folder (`XDG_CACHE_HOME`, `~/.cache`) |
//! | `TEGULA_CACHE_SIZE` | the bound of its size, such as `500M` or `4G`; otherwise 2 GiB |

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use thiserror::Error;

/// The bound of the cache's size where nothing else is chosen.
pub const DEFAULT_SIZE: u64 = 2 << 30;

/// Why there is no cache on disk.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum NoCache {
    /// It was turned off.
    #[error("it is turned off by TEGULA_CACHE")]
    Off,
    /// The user has no home folder.
    #[error("there is no home folder to put it in; set TEGULA_CACHE_DIR")]
    NoHome,
    /// Somebody else can write the folder, and so have this program run any code.
    #[error("{path} {why}; choose another folder with TEGULA_CACHE_DIR")]
    Untrusted {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The folder cannot be made or read.
    #[error("{path}: {message}")]
    Io {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        message: String,
    },
}

/// The folder and the bound of its size that the environment chooses.
///
/// # Errors
/// [`NoCache::Off`] and [`NoCache::NoHome`].
pub fn from_environment() -> Result<(PathBuf, u64), NoCache> {
    if std::env::var_os("TEGULA_CACHE").is_some_and(|v| v == "off" || v == "0") {
        return Err(NoCache::Off);
    }
    let size = match std::env::var("TEGULA_CACHE_SIZE") {
        Ok(text) => parse_size(&text).unwrap_or_else(|| {
            tracing::warn!("TEGULA_CACHE_SIZE={text} is not a size such as 500M or 4G; taking 2G");
            DEFAULT_SIZE
        }),
        Err(_) => DEFAULT_SIZE,
    };
    let folder = match std::env::var_os("TEGULA_CACHE_DIR").filter(|v| !v.is_empty()) {
        Some(folder) => folder.into(),
        None => etcetera::choose_base_strategy().map_err(|_| NoCache::NoHome)?.cache_dir().join("tegula"),
    };
    Ok((folder, size))
}

/// Reads a size in bytes, with `K`, `M`, `G` or `T` for powers of 1024.
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        "T" | "TB" | "TIB" => 40,
        _ => return None,
    };
    digits.trim_end().parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// Makes a folder that only this user can write, if it is not there, and looks whether it can be trusted.
///
/// # Errors
/// [`NoCache::Untrusted`] and [`NoCache::Io`].
pub fn prepare(path: &Path) -> Result<(), NoCache> {
    let failed = |e: io::Error| NoCache::Io { path: path.to_owned(), message: e.to_string() };
    match fs::metadata(path) {
        Ok(_) => {}
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            let mut builder = fs::DirBuilder::new();
            builder.recursive(true);
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(path).map_err(failed)?;
        }
        Err(e) => return Err(failed(e)),
    }
    let metadata = fs::metadata(path).map_err(failed)?;
    if !metadata.is_dir() {
        return Err(NoCache::Io { path: path.to_owned(), message: "it is not a folder".into() });
    }
    match distrust(&metadata) {
        Some(why) => Err(NoCache::Untrusted { path: path.to_owned(), why }),
        None => Ok(()),
    }
}

/// Why a file or folder cannot be trusted: somebody but this user (and root, who can do anything) can change it.
#[cfg(unix)]
pub fn distrust(metadata: &Metadata) -> Option<String> {
    use std::os::unix::fs::MetadataExt;

    let user = rustix::process::geteuid().as_raw();
    if metadata.uid() != user {
        return Some(format!("belongs to user {}, this program runs as user {user}", metadata.uid()));
    }
    if metadata.mode() & 0o002 != 0 {
        return Some("can be written by everybody".into());
    }
    // Many systems give each user a group of their own, and let it write by default.
    if metadata.mode() & 0o020 != 0 && metadata.gid() != rustix::process::getegid().as_raw() {
        return Some(format!("can be written by group {}", metadata.gid()));
    }
    None
}

/// Elsewhere the user's folders are taken to be the user's.
#[cfg(not(unix))]
pub fn distrust(_: &Metadata) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        for (text, size) in [
            ("0", Some(0)),
            ("123", Some(123)),
            ("4k", Some(4096)),
            ("500M", Some(500 << 20)),
            ("2 GiB", Some(2 << 30)),
            ("1TB", Some(1 << 40)),
            ("99999999T", None),
            ("", None),
            ("-1", None),
            ("big", None),
            ("1.5G", None),
        ] {
            assert_eq!(parse_size(text), size, "{text}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_others_can_write_is_not_trusted() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b");
        prepare(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        prepare(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        let Err(NoCache::Untrusted { why, .. }) = prepare(&path) else { panic!("it is trusted") };
        assert!(why.contains("everybody"), "{why}");
        // Not a folder at all.
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(matches!(prepare(&file), Err(NoCache::Io { .. })));
    }
}
