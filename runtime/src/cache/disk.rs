//! The cache on disk: look-up, writing, single flight between processes.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use tegula_artifact::Artifact;
use tegula_ir::Function;

use super::entry::{self, CacheEntry, Metadata};
use super::folder::{self, NoCache};
use super::key::{COMPILER, CacheKey, llvm_version};
use crate::backend::CodeTarget;

/// Ending of the files that hold entries.
pub(crate) const EXTENSION: &str = "kernel";
/// Start of the names of files that are being written.
pub(crate) const TEMPORARY: &str = "writing-";
/// The subfolder of the files that are locked while a kernel is compiled.
const LOCKS: &str = "locks";

/// How long to wait for another process that compiles the same kernel, before compiling it here as well. It is there
/// for processes that are stopped: the system drops the locks of those that end.
const PATIENCE: Duration = Duration::from_secs(120);

/// How much older than now the time of last use may be before it is set again, so that hits seldom write.
const TOUCH: Duration = Duration::from_secs(3600);

/// A cache on disk.
#[derive(Debug)]
pub struct DiskCache {
    /// The folder that was chosen.
    folder: PathBuf,
    /// The folder of the entries, in it.
    entries: PathBuf,
    max_bytes: u64,
    /// Bytes in the folder as far as this process knows, once it has written.
    pub(super) used: Mutex<Option<u64>>,
    complained: AtomicBool,
}

/// What a look-up came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The cache had it.
    Hit,
    /// It was made.
    Made,
}

impl DiskCache {
    /// Opens the cache in this folder, which is made if it is not there. At most about `max_bytes` are kept.
    ///
    /// # Errors
    /// If somebody else can write the folder, or it can be neither made nor read.
    pub fn open(folder: impl Into<PathBuf>, max_bytes: u64) -> Result<Self, NoCache> {
        let folder = folder.into();
        folder::prepare(&folder)?;
        let entries = folder.join(format!("kernels-v{}", entry::VERSION));
        folder::prepare(&entries)?;
        Ok(Self { folder, entries, max_bytes, used: Mutex::new(None), complained: AtomicBool::new(false) })
    }

    /// The cache that the environment chooses (see [`folder`]).
    ///
    /// # Errors
    /// As [`Self::open`], and if there is none.
    pub fn from_environment() -> Result<Self, NoCache> {
        let (folder, size) = folder::from_environment()?;
        Self::open(folder, size)
    }

    /// The cache that the environment chose when this was first called; `None` where there is none. Why, is logged.
    pub fn global() -> Option<Arc<DiskCache>> {
        static GLOBAL: OnceLock<Option<Arc<DiskCache>>> = OnceLock::new();
        let open = || match Self::from_environment() {
            Ok(cache) => Some(Arc::new(cache)),
            Err(NoCache::Off) => None,
            Err(e) => {
                tracing::warn!("no kernel cache: {e}");
                None
            }
        };
        GLOBAL.get_or_init(open).clone()
    }

    /// The folder that was chosen.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of the entries.
    pub fn entries_folder(&self) -> &Path {
        &self.entries
    }

    /// The bound of its size in bytes.
    pub fn max_bytes(&self) -> u64 {
        self.max_bytes
    }

    /// The file of a key.
    pub fn path(&self, key: &CacheKey) -> PathBuf {
        self.entries.join(format!("{key}.{EXTENSION}"))
    }

    /// The compiled kernel of this key, if it is there and undamaged.
    pub fn get(&self, key: &CacheKey) -> Option<Artifact> {
        let path = self.path(key);
        let (mut file, metadata) = match open_trusted(&path) {
            Ok(opened) => opened,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return None,
            Err(e) => {
                tracing::warn!("the kernel cache's file {} is not used: {e}", path.display());
                return None;
            }
        };
        let mut bytes = Vec::with_capacity(metadata.len() as usize);
        if let Err(e) = file.read_to_end(&mut bytes) {
            tracing::warn!("the kernel cache's file {} cannot be read: {e}", path.display());
            return None;
        }
        match entry::decode(key, &bytes) {
            Ok(entry) => {
                touch(&file, &metadata);
                Some(entry.artifact)
            }
            Err(damage) => {
                tracing::warn!("the kernel cache's file {} is not used: {damage}", path.display());
                None
            }
        }
    }

    /// Writes a compiled kernel. What goes wrong is logged once: a program runs as well without it.
    pub fn put(&self, key: &CacheKey, entry: &CacheEntry) {
        let bytes = entry::encode(key, entry);
        // It would evict everything, itself at last.
        if bytes.len() as u64 > self.max_bytes / 2 {
            return tracing::debug!("a kernel of {} bytes is too large for the cache", bytes.len());
        }
        match self.write(key, &bytes) {
            Ok(()) => self.grew(bytes.len() as u64),
            Err(e) => {
                if !self.complained.swap(true, Ordering::Relaxed) {
                    let folder = self.entries.display();
                    tracing::warn!("the kernel cache in {folder} cannot be written, kernels are not kept: {e}");
                }
            }
        }
    }

    fn write(&self, key: &CacheKey, bytes: &[u8]) -> io::Result<()> {
        // Only this user may read and write the file; it is removed if anything fails.
        let mut file = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(&self.entries)?;
        file.write_all(bytes)?;
        file.persist(self.path(key)).map_err(|e| e.error)?;
        Ok(())
    }

    /// The compiled kernel of this key from the cache; where it is not there, `make` makes it, in one process at a
    /// time, and it is kept.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn get_or_make<E>(
        &self,
        key: &CacheKey,
        make: impl FnOnce() -> Result<CacheEntry, E>,
    ) -> Result<(Artifact, Outcome), E> {
        if let Some(artifact) = self.get(key) {
            return Ok((artifact, Outcome::Hit));
        }
        let lock = match self.lock(key) {
            Flight::Landed(artifact) => return Ok((artifact, Outcome::Hit)),
            Flight::Ours(lock) => lock,
        };
        let entry = make()?;
        self.put(key, &entry);
        drop(lock);
        Ok((entry.artifact, Outcome::Made))
    }

    /// Waits for the right to make an entry, or for the entry.
    ///
    /// One lock serves all keys with the same first byte, so that the number of files is bounded. A thread holds one
    /// lock at a time, so that there is no circle of waiting. Where locks do not work, as on some network file systems,
    /// several processes may do the same work; the entry is then replaced by an equal one.
    fn lock(&self, key: &CacheKey) -> Flight {
        let file = match self.lock_file(&format!("{:02x}", key.as_bytes()[0])) {
            Ok(file) => file,
            Err(e) => {
                tracing::debug!("the kernel cache cannot be locked: {e}");
                return Flight::Ours(None);
            }
        };
        let start = Instant::now();
        let mut pause = Duration::from_millis(1);
        loop {
            let locked = match file.try_lock() {
                Ok(()) => true,
                Err(TryLockError::WouldBlock) => false,
                Err(TryLockError::Error(e)) => {
                    tracing::debug!("the kernel cache cannot be locked: {e}");
                    return Flight::Ours(None);
                }
            };
            // Whoever had the lock may have written it meanwhile.
            if fs::exists(self.path(key)).unwrap_or(false)
                && let Some(artifact) = self.get(key)
            {
                return Flight::Landed(artifact);
            }
            if locked {
                return Flight::Ours(Some(file));
            }
            if start.elapsed() > PATIENCE {
                tracing::warn!("another process has held a lock of the kernel cache for {PATIENCE:?}; going on");
                return Flight::Ours(None);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }

    /// Opens a file to be locked.
    pub(super) fn lock_file(&self, name: &str) -> io::Result<LockFile> {
        let folder = self.entries.join(LOCKS);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = match options.open(folder.join(name)) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(&folder)?;
                options.open(folder.join(name))
            }
            result => result,
        };
        file.map(LockFile)
    }
}

enum Flight {
    /// Another process has made it.
    Landed(Artifact),
    /// This process makes it, with the lock where there is one.
    Ours(#[allow(dead_code, reason = "held until it is dropped")] Option<LockFile>),
}

/// A file that processes lock; dropping it releases the lock.
pub(super) struct LockFile(File);

impl LockFile {
    /// Locks it if nobody else has.
    pub(super) fn try_lock(&self) -> Result<(), TryLockError> {
        self.0.try_lock()
    }
}

impl Drop for LockFile {
    /// To close the file is not enough: a process that another thread has just forked keeps it open until it runs its own
    /// program, and the lock with it.
    fn drop(&mut self) {
        if let Err(e) = self.0.unlock() {
            tracing::debug!("a lock of the kernel cache cannot be released: {e}");
        }
    }
}

impl CacheEntry {
    /// An entry of a kernel that was just compiled, which took this long.
    pub fn new(function: &Function, target: &CodeTarget, artifact: Artifact, time: Duration) -> Self {
        let created = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let metadata = Metadata {
            dims: function.dims.clone(),
            details: target.details.clone(),
            compiler: COMPILER.into(),
            llvm: llvm_version().into(),
            created,
            seconds: time.as_secs_f64(),
        };
        Self { metadata, artifact }
    }
}

/// Opens a file that only this user can have written.
pub(super) fn open_trusted(path: &Path) -> io::Result<(File, fs::Metadata)> {
    let mut options = OpenOptions::new();
    options.read(true);
    // No link to somewhere else, and no waiting for a pipe.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits() as i32,
    );
    let file = options.open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    match folder::distrust(&metadata) {
        Some(why) => Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("it {why}"))),
        None => Ok((file, metadata)),
    }
}

/// Notes that a file was used, in its time of modification: the time of access is often not kept.
fn touch(file: &File, metadata: &fs::Metadata) {
    let now = SystemTime::now();
    let recent = match metadata.modified().map(|m| now.duration_since(m)) {
        Ok(Ok(age)) => age < TOUCH,
        // It was used in the future, by a clock that was set back since.
        Ok(Err(_)) => false,
        Err(_) => return,
    };
    if !recent && let Err(e) = file.set_modified(now) {
        tracing::debug!("the time of use of a kernel cannot be noted: {e}");
    }
}
