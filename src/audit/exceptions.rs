//! Sites that may waste: a small file with a reason each.

use std::path::Path;

use super::verdict::Site;
use crate::failure::Failure;

/// Exceptions from `--max-wasted`: one a line, a part of a function or of `file:line` on the stack of the site, then
/// `#` and the reason. Empty lines and lines that begin with `#` are left out.
#[derive(Debug, Clone, Default)]
pub struct Exceptions(Vec<(String, String)>);

impl Exceptions {
    /// Reads a file.
    ///
    /// # Errors
    /// [`Failure`] if it cannot be read, or a line has no pattern or no reason.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path).map_err(|error| Failure::at(path, error))?;
        let mut exceptions = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = || {
                Failure::at(path, format!("line {}: an exception is `PATTERN # reason`", index + 1))
            };
            let (pattern, reason) = line.split_once('#').ok_or_else(wrong)?;
            let (pattern, reason) = (pattern.trim(), reason.trim());
            if pattern.is_empty() || reason.is_empty() {
                return Err(wrong());
            }
            exceptions.push((pattern.to_owned(), reason.to_owned()));
        }
        Ok(Self(exceptions))
    }

    /// The reason why a site may waste, if it may.
    #[must_use]
    pub fn reason(&self, site: &Site) -> Option<&str> {
        self.0.iter().find(|(pattern, _)| site.matches(pattern)).map(|(_, reason)| &**reason)
    }
}
