//! The files of footprints: the text that the harness prints, without what is not compared.

use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::files::{self, DAMAGED, damaged, read_text, write_whole};
use crate::lens::footprint::Footprint;

/// Ending of the files.
const ENDING: &str = ".footprint.tsv";

impl Footprint {
    /// The file for these conditions in `folder`.
    #[must_use]
    pub fn path(&self, folder: &Path) -> PathBuf {
        let [width, allocator, libc, page] = self.conditions.values();
        let name = format!("{width}-bit_{allocator}_{libc}_page-{page}{ENDING}");
        folder.join(name.replace(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c)), "-"))
    }

    /// Whether that file begins as one of a footprint.
    ///
    /// # Errors
    /// [`Failure`] if it cannot be read.
    pub fn is_in(path: &Path) -> Result<bool, Failure> {
        Ok(read_text(path)?.lines().nth(1) == Some("# lens\tfootprint"))
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`Failure`] with file and line if it cannot be read or is damaged.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        Self::parse(&read_text(path)?).map_err(|error| damaged(path, error, DAMAGED))
    }

    /// Writes the file, whole or not at all.
    ///
    /// # Errors
    /// [`Failure`] if it cannot be written; what was there before is there still.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        write_whole(path, &self.to_text())
    }

    /// Reads all footprints in `folder`, in the order of their names; none if there is no such folder.
    ///
    /// # Errors
    /// [`Failure`] if the folder or one of the files cannot be read.
    pub fn read_all(folder: &Path) -> Result<Vec<(PathBuf, Self)>, Failure> {
        let paths = files::of(folder, ENDING)?;
        paths.into_iter().map(|path| Ok((path.clone(), Self::read(&path)?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::footprint::Conditions;

    #[test]
    fn a_footprint_is_read_from_the_file_that_it_was_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let values = ["64", "system", "glibc 2.36", "4096"].map(str::to_owned);
        let footprint = Footprint { conditions: Conditions::new(values), rows: Vec::new() };
        let path = footprint.path(folder.path());
        assert!(path.ends_with("64-bit_system_glibc-2.36_page-4096.footprint.tsv"), "{path:?}");
        footprint.write(&path).unwrap();
        assert_eq!(Footprint::is_in(&path), Ok(true));
        assert_eq!(Footprint::read_all(folder.path()), Ok(vec![(path.clone(), footprint)]));
        std::fs::write(&path, "# format\t1\n").unwrap();
        assert_eq!(Footprint::is_in(&path), Ok(false));
        assert!(Footprint::read(&path).unwrap_err().to_string().contains(".tsv:2: "));
    }
}
