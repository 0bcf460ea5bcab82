//! Writes files that appear whole or not at all: under another name first, then renamed.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::{Error, Result};

/// A file being written. Unless [`AtomicFile::finish`] is called, whatever stood at the path stays untouched.
#[derive(Debug)]
pub struct AtomicFile {
    path: PathBuf,
    target: Target,
}

#[derive(Debug)]
enum Target {
    Beside(BufWriter<NamedTempFile>),
    /// A device or a pipe, which cannot be replaced.
    Direct(BufWriter<File>),
}

impl AtomicFile {
    /// Starts to write `path`.
    pub fn create(path: &Path) -> Result<Self> {
        let special = std::fs::metadata(path).is_ok_and(|found| !found.is_file());
        let target = if special {
            let file = File::options().write(true).open(path).map_err(|error| Error::io(path, error))?;
            Target::Direct(BufWriter::new(file))
        } else {
            let folder = match path.parent() {
                Some(folder) if !folder.as_os_str().is_empty() => folder,
                _ => Path::new("."),
            };
            let mut builder = tempfile::Builder::new();
            builder.prefix(".gnsm-").suffix(".part");
            #[cfg(unix)]
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
            let file = builder.tempfile_in(folder).map_err(|error| Error::io(path, without_the_file_beside(error)))?;
            Target::Beside(BufWriter::new(file))
        };
        Ok(Self { path: path.to_path_buf(), target })
    }

    /// Puts the file in its place.
    pub fn finish(self) -> Result<()> {
        let fail = |error| Error::io(&self.path, error);
        match self.target {
            Target::Direct(mut file) => file.flush().map_err(fail),
            Target::Beside(file) => {
                let file = file.into_inner().map_err(|error| fail(error.into_error()))?;
                file.as_file().sync_all().map_err(fail)?;
                file.persist(&self.path).map(drop).map_err(|error| fail(error.error))
            }
        }
    }
}

/// What the system said, without the name of the temporary file, which the user does not know.
fn without_the_file_beside(error: std::io::Error) -> std::io::Error {
    // `tempfile` gives the name as a part of the text only.
    let text = error.to_string();
    std::io::Error::new(error.kind(), text.split(" at path ").next().unwrap_or_default())
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match &mut self.target {
            Target::Beside(file) => file.write(bytes),
            Target::Direct(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match &mut self.target {
            Target::Beside(file) => file.flush(),
            Target::Direct(file) => file.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_folder_is_told_by_the_path_that_was_given() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = AtomicFile::create(&folder.path().join("no").join("x.csv")).expect_err("no folder").to_string();
        assert!(error.contains("x.csv: No such file or directory") && !error.contains(".part"), "{error}");
    }

    #[test]
    fn an_unfinished_file_leaves_the_old_one_untouched() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("scores.csv");
        std::fs::write(&path, "old").expect("written");
        let mut file = AtomicFile::create(&path).expect("created");
        file.write_all(b"new").expect("written");
        drop(file);
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "old");
        assert_eq!(std::fs::read_dir(folder.path()).expect("listed").count(), 1, "no leftover");

        let mut file = AtomicFile::create(&path).expect("created");
        file.write_all(b"new").expect("written");
        file.finish().expect("renamed");
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "new");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_an_error() {
        let mut file = AtomicFile::create(Path::new("/dev/full")).expect("opened");
        file.write_all(&[0; 10]).expect("buffered");
        assert!(file.finish().expect_err("no space").to_string().starts_with("/dev/full: "));
    }
}
