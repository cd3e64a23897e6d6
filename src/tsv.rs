//! Tab-separated text with a header, as baselines and harnesses have it.

/// The lines of a file, each with its end.
pub(crate) struct Lines<'a> {
    rest: &'a str,
    /// The number of the line that was read last.
    pub(crate) number: usize,
}

impl<'a> Lines<'a> {
    /// All lines of `text`.
    pub(crate) fn new(text: &'a str) -> Self {
        Self { rest: text, number: 0 }
    }

    /// The next line, without its end.
    pub(crate) fn next(&mut self) -> Result<Option<&'a str>, (usize, String)> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        self.number += 1;
        let whole = self.rest.split_once('\n');
        let (line, rest) = whole.ok_or((self.number, "the line is cut short".to_owned()))?;
        self.rest = rest;
        Ok(Some(line))
    }

    /// What has not been read yet.
    pub(crate) fn rest(&self) -> &'a str {
        self.rest
    }

    /// The value of the header line that comes next, which must be that of `key`.
    pub(crate) fn value(&mut self, key: &str) -> Result<&'a str, (usize, String)> {
        let wanted = |number| (number, format!("'# {key}<TAB>value' is wanted here"));
        let line = self.next()?.ok_or_else(|| wanted(self.number + 1))?;
        line.strip_prefix("# ")
            .and_then(|line| line.strip_prefix(key))
            .and_then(|line| line.strip_prefix('\t'))
            .ok_or_else(|| wanted(self.number))
    }

    /// The values of the header lines that come next, which must be those of `keys`.
    pub(crate) fn values<const N: usize>(
        &mut self,
        keys: [&str; N],
    ) -> Result<[String; N], (usize, String)> {
        let mut values = [const { String::new() }; N];
        for (key, value) in keys.into_iter().zip(&mut values) {
            self.value(key)?.clone_into(value);
        }
        Ok(values)
    }

    /// All lines that are left, a row each; no two have the same id.
    pub(crate) fn rows<R>(
        &mut self,
        parse: impl Fn(&str) -> Result<R, String>,
        id: impl Fn(&R) -> &str,
    ) -> Result<Vec<R>, (usize, String)> {
        let mut rows: Vec<R> = Vec::new();
        while let Some(line) = self.next()? {
            let row = parse(line).map_err(|reason| (self.number, reason))?;
            if rows.iter().any(|other| id(other) == id(&row)) {
                return Err((self.number, format!("{} stands here twice", id(&row))));
            }
            rows.push(row);
        }
        Ok(rows)
    }

    /// Reads a header line that must have this key and value.
    pub(crate) fn header(&mut self, key: &str, value: &str) -> Result<(), (usize, String)> {
        match self.value(key)? {
            found if found == value => Ok(()),
            found => {
                Err((self.number, format!("{key} is '{}', not '{value}'", found.escape_debug())))
            }
        }
    }
}

/// Checks that `id` could be the id of a case.
pub(crate) fn check_id(id: &str) -> Result<(), String> {
    if id.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || b"_/".contains(&c)) {
        Ok(())
    } else {
        Err(format!("'{id}' is not the id of a case"))
    }
}

/// Reads a finite number that is not negative, exactly as it is written by us.
pub(crate) fn decimal(text: &str, column: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.to_string() == text);
    let number = number.filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| format!("{column} is '{text}', not a number"))
}

/// Reads a number exactly as it is written by us: no sign, no leading zero.
pub(crate) fn number(text: &str, column: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number: &u64| number.to_string() == text);
    number.ok_or_else(|| format!("{column} is '{text}', not a count"))
}
