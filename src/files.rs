//! Files of text: read with a failure that names them, written whole or not at all.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// What to do about a damaged file.
pub(crate) const DAMAGED: &str = "take the file from version control again, or measure anew";

/// Writes `text` to `path`, whole or not at all: to a file beside it that then takes its place. A link stays one, and
/// what is no file, as a device or a pipe, is written to.
///
/// # Errors
/// [`Failure`] if that cannot be done; what was there before is there still.
pub(crate) fn write_whole(path: &Path, text: &str) -> Result<(), Failure> {
    let write = || -> std::io::Result<()> {
        let old = fs::metadata(path).ok();
        if old.as_ref().is_some_and(|old| !old.is_file() && !old.is_dir()) {
            return File::options().write(true).open(path)?.write_all(text.as_bytes());
        }
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".writing-");
        #[cfg(unix)]
        {
            // A temporary file is private; this one is as the user has it for all files (umask).
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let mut file = builder.tempfile_in(folder)?;
        file.write_all(text.as_bytes())?;
        if let Some(old) = old {
            file.as_file().set_permissions(old.permissions())?;
        }
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    write().map_err(|error| Failure::at(path, format!("cannot be written: {error}")))
}

/// The files in `folder` whose names have this ending, in the order of their names; none if there is no such folder.
pub(crate) fn of(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, Failure> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|error| Failure::at(folder, error))?,
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| Failure::at(folder, error))?.path();
        let ours = path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(ending));
        if ours && !path.is_file() {
            return Err(Failure::at(&path, format!("it is not a file; {DAMAGED}")));
        }
        if ours {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// The failure of a damaged file: the number of its first wrong line, what is wrong with it, and what to do.
pub(crate) fn damaged(path: &Path, (line, reason): (usize, String), cure: &str) -> Failure {
    Failure::new(format!("{}:{line}: {reason}; {cure}", path.display()))
}

/// The text of a file.
///
/// # Errors
/// [`Failure`] if it cannot be read or is not UTF-8.
pub(crate) fn read_text(path: &Path) -> Result<String, Failure> {
    let bytes = fs::read(path).map_err(|error| Failure::at(path, error))?;
    String::from_utf8(bytes).map_err(|_| Failure::at(path, format!("it is not UTF-8; {DAMAGED}")))
}

/// Bytes that must fit where something is to be written: more than the files of a baseline have.
const ROOM: usize = 1 << 20;

/// Finds out whether a file could be written in `folder`, which is made if it is not there.
///
/// # Errors
/// [`Failure`] if not.
pub(crate) fn check_writable(folder: &Path) -> Result<(), Failure> {
    let write = || {
        fs::create_dir_all(folder)?;
        tempfile::tempfile_in(folder)?.write_all(&vec![0; ROOM])
    };
    write().map_err(|error| Failure::at(folder, format!("nothing can be written there: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn links_stay_links_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("file", &link).unwrap();
        write_whole(&link, "new").unwrap();
        assert_eq!(fs::read_link(&link).unwrap(), Path::new("file"));
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    }
}
