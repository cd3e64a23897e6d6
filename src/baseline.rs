//! The baseline file: committed measurements, and the environment they were taken in.
//!
//! Format 1 is text. Header lines are `# key<TAB>value`: `format`, `lens`, the keys of the
//! [environment](Environment::KEYS), `columns`. Then comes one line a case, in table order, tab-separated: id, total
//! Ir, its four classes (zeroing, copying, allocating, code, which add up to the total) and the number of
//! allocator calls, as plain decimal integers. A change is one line of a diff. The last line ends like the others.
//!
//! Beside it, in `.functions.tsv`, stands where the instructions went, so that a red verdict can name what moved: a
//! line a case, the id and then Ir, calls and call chain of each function. It is not judged. It is a file of its own
//! because its lines are long: what is reviewed is the counts.
//!
//! [Footprints](crate::footprint) have files of their own.

mod footprint;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::failure::Failure;
use crate::files::{self, DAMAGED, damaged, read_text, write_whole};
use crate::lens::instructions::Row;
use crate::lens::profile::{Classes, Function};
use crate::tsv::{self, Lines, check_id};

/// Measurements of one environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Baseline {
    /// What the counts depend on.
    pub environment: Environment,
    /// One row a case.
    pub rows: Vec<Row>,
}

const COLUMNS: [&str; 7] =
    ["id", "total", "zeroing", "copying", "allocating", "code", "allocator_calls"];

/// Endings of the files with the counts and with the functions behind them.
const ENDING: &str = ".instructions.tsv";
const FUNCTIONS: &str = ".functions.tsv";

impl Baseline {
    /// The file for this environment in `folder`.
    #[must_use]
    pub fn path(&self, folder: &Path) -> PathBuf {
        folder.join(self.environment.file_stem() + ENDING)
    }

    /// Reads a file, and the functions from the file beside it if that is there.
    ///
    /// # Errors
    /// [`Failure`] with file and line if one of them cannot be read or is damaged.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let mut baseline =
            Self::parse(&read_text(path)?).map_err(|error| damaged(path, error, DAMAGED))?;
        if let Some(path) = Self::functions_beside(path).filter(|path| path.exists()) {
            let read = parse_functions(&read_text(&path)?, &mut baseline.rows);
            read.map_err(|error| damaged(&path, error, DAMAGED))?;
        }
        Ok(baseline)
    }

    /// The file with the functions behind the counts in `path`, if that is named as they are.
    #[must_use]
    pub fn functions_beside(path: &Path) -> Option<PathBuf> {
        let name = path.file_name()?.to_str()?.strip_suffix(ENDING)?;
        Some(path.with_file_name(name.to_owned() + FUNCTIONS))
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// The number of the first wrong line and what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, (usize, String)> {
        let mut lines = Lines::new(text);
        lines.header("format", "1")?;
        lines.header("lens", "instructions")?;
        let values = lines.values(Environment::KEYS)?;
        lines.header("columns", &COLUMNS.join(" "))?;
        let rows = lines.rows(parse_row, |row| &row.id)?;
        Ok(Self { environment: Environment::new(values), rows })
    }

    /// The text of the file.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = "# format\t1\n# lens\tinstructions\n".to_owned();
        for (key, value) in self.environment.fields() {
            let _ = writeln!(text, "# {key}\t{value}");
        }
        let _ = writeln!(text, "# columns\t{}", COLUMNS.join(" "));
        for row in &self.rows {
            let [zeroing, copying, allocating, code] = row.classes.values();
            let (id, total, calls) = (&row.id, row.total(), row.allocator_calls);
            let _ = writeln!(
                text,
                "{id}\t{total}\t{zeroing}\t{copying}\t{allocating}\t{code}\t{calls}"
            );
        }
        text
    }

    /// Writes the file, and the functions to the file beside it, each whole or not at all.
    ///
    /// # Errors
    /// [`Failure`] if one of them cannot be written; what was there before is there still.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        // The counts last: if it ends between the two, the functions do not fit them and are left out.
        if let Some(path) = Self::functions_beside(path) {
            write_whole(&path, &self.functions_text())?;
        }
        write_whole(path, &self.to_text())
    }

    fn functions_text(&self) -> String {
        let mut text =
            "# format\t1\n# lens\tfunctions\n# columns\tid (ir calls chain)*\n".to_owned();
        for row in &self.rows {
            text += &row.id;
            for Function { chain, ir, calls } in &row.functions {
                let _ = write!(text, "\t{ir}\t{calls}\t{chain}");
            }
            text.push('\n');
        }
        text
    }

    /// Reads all instruction baselines in `folder`, in the order of their names; none if there is no such folder.
    ///
    /// # Errors
    /// [`Failure`] if the folder or one of the files cannot be read.
    pub fn read_all(folder: &Path) -> Result<Vec<(PathBuf, Self)>, Failure> {
        let paths = files::of(folder, ENDING)?;
        paths.into_iter().map(|path| Ok((path.clone(), Self::read(&path)?))).collect()
    }
}

/// Adds the functions to the rows they are of. Those that do not add up to the total of their row are of
/// another recording and are left out.
fn parse_functions(text: &str, rows: &mut [Row]) -> Result<(), (usize, String)> {
    let mut lines = Lines::new(text);
    lines.header("format", "1")?;
    lines.header("lens", "functions")?;
    lines.value("columns")?;
    while let Some(line) = lines.next()? {
        let mut fields = line.split('\t');
        let id = fields.next().unwrap_or_default();
        let fields: Vec<_> = fields.collect();
        let function = |fields: &[&str]| match *fields {
            [ir, calls, chain] => Some(Function {
                chain: chain.to_owned(),
                ir: ir.parse().ok()?,
                calls: calls.parse().ok()?,
            }),
            _ => None,
        };
        let functions: Option<Vec<_>> = fields.chunks(3).map(function).collect();
        let functions =
            functions.ok_or_else(|| (lines.number, format!("not functions of a case: '{id}'")))?;
        let total = functions.iter().try_fold(0_u64, |sum, function| sum.checked_add(function.ir));
        if let Some(row) = rows.iter_mut().find(|row| row.id == id && Some(row.total()) == total) {
            row.functions = functions;
        }
    }
    Ok(())
}

fn parse_row(line: &str) -> Result<Row, String> {
    let fields: Vec<_> = line.split('\t').collect();
    let [id, counts @ ..] = &fields[..] else { unreachable!("split yields at least one field") };
    check_id(id)?;
    if counts.len() + 1 != COLUMNS.len() {
        return Err(format!("{} columns, not {}", fields.len(), COLUMNS.len()));
    }
    let mut numbers = [0; COLUMNS.len() - 1];
    for ((count, column), number) in counts.iter().zip(&COLUMNS[1..]).zip(&mut numbers) {
        *number = tsv::number(count, column)?;
    }
    let [total, zeroing, copying, allocating, code, allocator_calls] = numbers;
    let classes = Classes { zeroing, copying, allocating, code };
    if classes.total() != Some(total) {
        return Err(format!("the classes of {id} do not add up to its total"));
    }
    if total == 0 {
        return Err(format!("the total of {id} is 0"));
    }
    Ok(Row { id: (*id).to_owned(), classes, allocator_calls, functions: Vec::new() })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn baseline() -> Baseline {
        let row = |id: &str, code| Row {
            id: id.to_owned(),
            classes: Classes { zeroing: 1, copying: 2, allocating: 3, code },
            allocator_calls: 2,
            functions: Vec::new(),
        };
        let environment = Environment::new(Environment::KEYS.map(|key| format!("a {key}")));
        let rows = vec![row("zeroed/alloc_zeroed/8", 4), row("zeroed/vec_zeroed/8", 5)];
        Baseline { environment, rows }
    }

    #[test]
    fn text_is_read_back_equal() {
        let baseline = baseline();
        assert_eq!(Baseline::parse(&baseline.to_text()), Ok(baseline));
    }

    #[test]
    fn rows_are_lines_of_plain_integers() {
        let text = baseline().to_text();
        assert!(text.starts_with("# format\t1\n# lens\tinstructions\n# target\ta target\n"));
        assert!(text.ends_with("\nzeroed/vec_zeroed/8\t11\t1\t2\t3\t5\t2\n"));
    }

    #[test]
    fn damage_is_refused_with_its_line() {
        let text = baseline().to_text();
        let last = text.lines().count();
        let error = |text: &str| Baseline::parse(text).unwrap_err();
        let changed = |from: &str, to: &str| {
            assert!(text.contains(from));
            error(&text.replace(from, to))
        };
        assert_eq!(error(""), (1, "'# format<TAB>value' is wanted here".into()));
        assert_eq!(changed("format\t1", "format\t2"), (1, "format is '2', not '1'".into()));
        assert_eq!(changed("# rustc", "# rust"), (4, "'# rustc<TAB>value' is wanted here".into()));
        let classes = "the classes of zeroed/vec_zeroed/8 do not add up to its total";
        assert_eq!(changed("\t11\t", "\t12\t"), (last, classes.into()));
        assert_eq!(
            changed("\t5\t2\n", "\t5\t2 word\n").1,
            "allocator_calls is '2 word', not a count"
        );
        assert_eq!(changed("\t5\t2\n", "\t5\t2\tword\n"), (last, "8 columns, not 7".into()));
        assert_eq!(changed("\t5\t2\n", "\t5\t2\nword\n"), (last + 1, "1 columns, not 7".into()));
        let id = "'word zeroed/vec_zeroed/8' is not the id of a case";
        assert_eq!(changed("zeroed/vec", "word zeroed/vec"), (last, id.into()));
        assert_eq!(changed("\t5\t2\n", "\t05\t2\n").1, "code is '05', not a count");
        assert_eq!(changed("\t5\t2\n", "\t+5\t2\n").1, "code is '+5', not a count");
        let twice = "zeroed/alloc_zeroed/8 stands here twice";
        assert_eq!(changed("vec_zeroed", "alloc_zeroed"), (last, twice.into()));
        let huge = format!("\t{}\t1\t2\t3\t{}\t", u64::MAX, u64::MAX);
        assert_eq!(changed("\t11\t1\t2\t3\t5\t", &huge), (last, classes.into()));
        let zero = "the total of zeroed/vec_zeroed/8 is 0";
        assert_eq!(changed("\t11\t1\t2\t3\t5\t", "\t0\t0\t0\t0\t0\t"), (last, zero.into()));
        assert_eq!(error(&text[..text.len() - 1]), (last, "the line is cut short".into()));
        for end in 0..text.len() {
            let cut = Baseline::parse(&text[..end]);
            assert!(cut.as_ref().map_or(true, |cut| cut.rows.len() < 2), "{cut:?}");
        }
    }

    #[test]
    fn files_are_written_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = baseline().path(&folder.path().join("made"));
        baseline().write(&path).unwrap();
        assert_eq!(Baseline::read(&path), Ok(baseline()));
        let in_the_way = folder.path().join("made");
        let error = baseline().write(&in_the_way).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{}: cannot be written: ", in_the_way.display())));
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }

    #[test]
    fn functions_stand_beside_the_counts() {
        let folder = tempfile::tempdir().unwrap();
        let mut baseline = baseline();
        let function = |chain: &str, ir| Function { chain: chain.to_owned(), ir, calls: 1 };
        baseline.rows[0].functions = vec![function("memset < calloc", 7), function("f", 3)];
        let path = baseline.path(folder.path());
        baseline.write(&path).unwrap();
        assert_eq!(Baseline::read(&path), Ok(baseline.clone()));

        let beside = Baseline::functions_beside(&path).unwrap();
        let text = fs::read_to_string(&beside).unwrap();
        let line = "zeroed/alloc_zeroed/8\t7\t1\tmemset < calloc\t3\t1\tf\n";
        assert!(text.contains(line), "{text}");
        // Functions of another recording are left out; damage is refused; none are no fault.
        fs::write(&beside, text.replace("\t7\t1\t", "\t8\t1\t")).unwrap();
        assert!(Baseline::read(&path).unwrap().rows[0].functions.is_empty());
        fs::write(&beside, text.replace("\t7\t1\t", "\t7\t")).unwrap();
        let error = Baseline::read(&path).unwrap_err().to_string();
        assert!(
            error.contains(":4: not functions of a case: 'zeroed/alloc_zeroed/8'; "),
            "{error}"
        );
        fs::remove_file(&beside).unwrap();
        assert!(Baseline::read(&path).unwrap().rows[0].functions.is_empty());
    }

    #[test]
    fn all_baselines_of_a_folder_are_read_in_order() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Baseline::read_all(&folder.path().join("none")), Ok(Vec::new()));
        for name in ["b.instructions.tsv", "a.instructions.tsv"] {
            baseline().write(&folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("notes.txt"), "no baseline").unwrap();
        let names = |all: Vec<(PathBuf, Baseline)>| -> Vec<_> {
            all.into_iter().map(|(path, _)| path.file_name().unwrap().to_owned()).collect()
        };
        let all = Baseline::read_all(folder.path()).unwrap();
        assert_eq!(names(all), ["a.instructions.tsv", "b.instructions.tsv"]);
    }
}
