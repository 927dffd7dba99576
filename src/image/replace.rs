//! New content for a file, such that others see the old content or the new and never a part: written under a temporary
//! name in the same folder, then renamed over the file. Knows nothing of pictures.

use crate::error::{Error, Result};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The complete new content of a file, not yet in its place. Dropped, it leaves everything as it was. Several files that
/// belong together are all prepared before the first takes its place.
///
/// ```no_run
/// use cyanotype::image::Replacement;
///
/// let (left, right) = (Replacement::prepare("left.json", b"[1]")?, Replacement::prepare("right.json", b"[2]")?);
/// left.commit()?;
/// right.commit()?;
/// # Ok::<(), cyanotype::Error>(())
/// ```
#[derive(Debug)]
pub struct Replacement<'b> {
    path: PathBuf,
    content: Content<'b>,
}

#[derive(Debug)]
enum Content<'b> {
    /// In a file beside the target.
    Beside { temporary: Temporary, target: PathBuf },
    /// For a pipe or a device, which cannot be replaced, only written to. (A folder refuses.)
    Bytes(&'b [u8]),
}

impl<'b> Replacement<'b> {
    /// Writes the new content beside the file, with the permissions that the file has. The file itself need not exist,
    /// its folder must. A link stays a link: what it points to is replaced.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn prepare(path: impl AsRef<Path>, bytes: &'b [u8]) -> Result<Replacement<'b>> {
        let path = path.as_ref().to_path_buf();
        let content = Content::prepare(&path, bytes).map_err(|error| failed(&path, &error))?;
        Ok(Replacement { path, content })
    }

    /// Puts it in its place.
    ///
    /// # Errors
    /// [`Error::Io`]; then the old file is as it was.
    pub fn commit(self) -> Result<()> {
        let written = match self.content {
            Content::Beside { temporary, target } => temporary.rename(&target),
            Content::Bytes(bytes) => {
                OpenOptions::new().write(true).open(&self.path).and_then(|mut file| file.write_all(bytes))
            }
        };
        written.map_err(|error| failed(&self.path, &error))
    }

    /// Removes what all replacements of this process have written and not put in place; their commits fail. For a program
    /// that is told to end at once, which drops nothing.
    pub fn abandon_all() {
        for path in std::mem::take(&mut *UNFINISHED.lock()) {
            let _ = fs::remove_file(path); // there is nobody left to tell
        }
    }
}

/// Temporary files that there are.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A temporary file, removed when dropped.
#[derive(Debug)]
struct Temporary(PathBuf);

impl Temporary {
    /// Takes the place of another file.
    fn rename(self, target: &Path) -> io::Result<()> {
        fs::rename(&self.0, target)?;
        UNFINISHED.lock().remove(&self.0);
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if UNFINISHED.lock().remove(&self.0) {
            let _ = fs::remove_file(&self.0); // whatever made it go unused is the error to report
        }
    }
}

impl<'b> Content<'b> {
    fn prepare(path: &Path, bytes: &'b [u8]) -> io::Result<Content<'b>> {
        // Asked of the path itself: where /dev/stdout is a pipe, what its links spell leads nowhere.
        let old = fs::metadata(path).ok();
        if old.as_ref().is_some_and(|old| !old.is_file()) {
            return Ok(Content::Bytes(bytes));
        }
        let target = followed(path)?;
        let (temporary, mut file) = create_beside(&target)?;
        file.write_all(bytes)?;
        if let Some(old) = old {
            fs::set_permissions(&temporary.0, old.permissions())?;
        }
        Ok(Content::Beside { temporary, target })
    }
}

/// Where the links of a path lead, whether there is a file yet or not.
fn followed(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Ok(target) => Ok(target),
        // A link to nothing yet. Of links in a circle the system itself says that they are, with another error.
        Err(error) if error.kind() == ErrorKind::NotFound => match fs::read_link(path) {
            Ok(next) => followed(&path.with_file_name(next)),
            Err(_) => Ok(path.to_path_buf()),
        },
        Err(error) => Err(error),
    }
}

fn failed(path: &Path, error: &io::Error) -> Error {
    Error::Io { path: path.to_path_buf(), message: error.to_string() }
}

/// A new file in the target's folder. Only there can it be renamed over the target in one step.
fn create_beside(target: &Path) -> io::Result<(Temporary, File)> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        // A short name of its own: one made from the target's could become longer than the file system allows.
        let temporary = target.with_file_name(format!(".cyanotype-{}-{number}.tmp", std::process::id()));
        // Listed as long as it is there.
        let mut unfinished = UNFINISHED.lock();
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            // A leftover of a process that had our number and was killed.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            opened => {
                let file = opened?;
                unfinished.insert(temporary.clone());
                return Ok((Temporary(temporary), file));
            }
        }
    }
}
