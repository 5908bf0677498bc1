//! Listing, verifying, eviction.

use std::fs;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::PoisonError;
use std::time::{Duration, SystemTime};

use super::disk::{DiskCache, EXTENSION, TEMPORARY, open_trusted};
use super::entry::{self, CacheEntry};
use super::key::{COMPILER, CacheKey, llvm_version};

/// How old a file that is being written must be to count as left behind by a process that was killed.
const ABANDONED: Duration = Duration::from_secs(3600);

/// A file of the cache.
#[derive(Debug)]
pub struct Listed {
    /// The key, where the file's name is one.
    pub key: Option<CacheKey>,
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// When it was last used, as well as it is known.
    pub used: SystemTime,
    /// What it holds, or why that is not used.
    pub entry: Result<CacheEntry, String>,
}

impl Listed {
    /// Whether this program could use the entry: its compiler made it.
    pub fn is_current(&self) -> bool {
        self.entry.as_ref().is_ok_and(|e| e.metadata.compiler == COMPILER && e.metadata.llvm == llvm_version())
    }
}

/// What is in the folder.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Usage {
    /// Compiled kernels.
    pub entries: usize,
    /// Their size in bytes.
    pub bytes: u64,
    /// Files that are being written, or were when their process was killed.
    pub unfinished: usize,
}

/// What was removed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Removed {
    /// Files.
    pub files: usize,
    /// Their size in bytes.
    pub bytes: u64,
}

/// A file as the folder shows it, without its contents.
struct Found {
    path: PathBuf,
    name: String,
    bytes: u64,
    used: SystemTime,
}

impl Found {
    fn is_entry(&self) -> bool {
        self.path.extension().is_some_and(|e| e == EXTENSION)
    }

    fn is_unfinished(&self) -> bool {
        self.name.starts_with(TEMPORARY)
    }

    /// How long ago it was used; nothing where a clock was set back.
    fn age(&self, now: SystemTime) -> Duration {
        now.duration_since(self.used).unwrap_or_default()
    }
}

impl DiskCache {
    /// How much there is.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn usage(&self) -> io::Result<Usage> {
        let mut usage = Usage::default();
        for file in self.files()? {
            if file.is_entry() {
                usage.entries += 1;
                usage.bytes += file.bytes;
            } else if file.is_unfinished() {
                usage.unfinished += 1;
            }
        }
        Ok(usage)
    }

    /// Every compiled kernel, each read and verified, least recently used first.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn list(&self) -> io::Result<Vec<Listed>> {
        let mut files = self.files()?;
        files.retain(Found::is_entry);
        files.sort_by(|a, b| (a.used, &a.name).cmp(&(b.used, &b.name)));
        let mut listed = Vec::with_capacity(files.len());
        for file in files {
            let key = file.path.file_stem().and_then(|s| CacheKey::from_hex(s.to_str()?));
            let entry = match key {
                None => Err("its name is not a key".to_owned()),
                Some(key) => match read(&file) {
                    // It was evicted meanwhile.
                    Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
                    Err(e) => Err(e.to_string()),
                    Ok(bytes) => entry::decode(&key, &bytes).map_err(|e| e.to_string()),
                },
            };
            listed.push(Listed { key, path: file.path, bytes: file.bytes, used: file.used, entry });
        }
        Ok(listed)
    }

    /// Removes the least recently used kernels until at most `max_bytes` are left, and what killed processes left
    /// unfinished.
    ///
    /// # Errors
    /// If the folder cannot be read. A file that cannot be removed is left.
    pub fn prune(&self, max_bytes: u64) -> io::Result<Removed> {
        let now = SystemTime::now();
        let mut removed = Removed::default();
        let mut files = self.files()?;
        for file in files.extract_if(.., |f| f.is_unfinished()) {
            if file.age(now) > ABANDONED {
                remove(&file, &mut removed);
            }
        }
        files.retain(Found::is_entry);
        // Ages, not times: what was used in the future was used now. The name makes the order certain.
        files.sort_by(|a, b| (b.age(now), &a.name).cmp(&(a.age(now), &b.name)));
        let mut total: u64 = files.iter().map(|f| f.bytes).sum();
        for file in &files {
            if total <= max_bytes {
                break;
            }
            if remove(file, &mut removed) {
                total -= file.bytes;
            }
        }
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Some(total);
        Ok(removed)
    }

    /// Removes what this program cannot use: damaged files, and kernels of other compilers.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn prune_stale(&self) -> io::Result<Removed> {
        let mut removed = Removed::default();
        for listed in self.list()?.into_iter().filter(|l| !l.is_current()) {
            let file = Found { name: String::new(), path: listed.path, bytes: listed.bytes, used: listed.used };
            remove(&file, &mut removed);
        }
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(removed)
    }

    /// Removes everything.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn clear(&self) -> io::Result<Removed> {
        let mut removed = Removed::default();
        for file in self.files()? {
            if file.is_entry() || file.is_unfinished() {
                remove(&file, &mut removed);
            }
        }
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(removed)
    }

    /// Notes that a file of this size was written, and evicts where the bound is passed.
    pub(super) fn grew(&self, bytes: u64) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let total = match *used {
            // Other processes write as well: the sum is an estimate, and made anew whenever it reaches the bound.
            Some(before) => before.saturating_add(bytes),
            None => self.usage().map_or(0, |u| u.bytes),
        };
        *used = Some(total);
        drop(used);
        if total <= self.max_bytes() {
            return;
        }
        // One process evicts; where locks do not work, several do, which does no harm.
        let lock = self.lock_file("prune").ok();
        if lock.as_ref().is_some_and(|l| matches!(l.try_lock(), Err(fs::TryLockError::WouldBlock))) {
            return;
        }
        // Some room, so that the next kernel does not evict again.
        let target = self.max_bytes() - self.max_bytes() / 10;
        match self.prune(target) {
            Ok(removed) => tracing::debug!("evicted {} kernels from the cache", removed.files),
            Err(e) => tracing::debug!("cannot evict from the kernel cache: {e}"),
        }
    }

    fn files(&self) -> io::Result<Vec<Found>> {
        let mut files = Vec::new();
        for file in fs::read_dir(self.entries_folder())? {
            let file = file?;
            // Files come and go while the folder is read.
            let Ok(metadata) = file.metadata() else { continue };
            if !metadata.is_file() {
                continue;
            }
            files.push(Found {
                path: file.path(),
                name: file.file_name().to_string_lossy().into_owned(),
                bytes: metadata.len(),
                used: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
            });
        }
        Ok(files)
    }
}

fn read(file: &Found) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(file.bytes as usize);
    open_trusted(&file.path)?.0.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Removes a file; one that is gone already was removed by somebody else.
fn remove(file: &Found, removed: &mut Removed) -> bool {
    match fs::remove_file(&file.path) {
        Ok(()) => {
            removed.files += 1;
            removed.bytes += file.bytes;
            true
        }
        Err(e) => {
            if e.kind() != io::ErrorKind::NotFound {
                tracing::debug!("cannot remove {}: {e}", file.path.display());
            }
            e.kind() == io::ErrorKind::NotFound
        }
    }
}
