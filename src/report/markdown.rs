//! A gate's verdict for a pull request: what moved first, the rest folded.

use super::markup::is_hidden;

/// The most characters that a comment on GitHub may have.
const MOST: usize = 65_536;

/// Room for what stands around the parts that are cut.
const FRAME: usize = 2_000;

/// What a comment says.
#[derive(Debug, Default)]
pub struct Comment {
    /// The verdict in a few words.
    pub verdict: String,
    /// Summaries and notes, a line each.
    pub notes: Vec<String>,
    /// What moved, with its cause: a line or more each.
    pub moved: Vec<String>,
    /// Every case with its value in the baseline and now.
    pub all: Vec<[String; 3]>,
}

impl Comment {
    /// The comment as Markdown, no longer than GitHub takes; what does not fit is counted.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let notes: String =
            self.notes.iter().map(|note| format!("{}  \n", escaped(note))).collect();
        let mut text = format!("## writeonce: {}\n\n{notes}\n", escaped(&self.verdict));
        let mut room = MOST.saturating_sub(FRAME + text.chars().count());
        if !self.moved.is_empty() {
            let fence = fence(&self.moved);
            let (shown, more) = fitting(self.moved.iter().map(|lines| format!("{lines}\n")), room);
            room -= shown.chars().count();
            text += &format!("{fence}text\n{shown}{fence}\n\n{}", rest(more, "case", "that moved"));
        }
        if !self.all.is_empty() {
            let line = |[id, before, now]: &[String; 3]| {
                format!("| {} | {} | {} |\n", escaped(id), escaped(before), escaped(now))
            };
            let (shown, more) = fitting(self.all.iter().map(line), room);
            text += &format!(
                "<details><summary>all {} cases</summary>\n\n| case | baseline, Ir | now, Ir |\n| --- | ---: | ---: |\n{shown}\n{}</details>\n",
                self.all.len(),
                rest(more, "case", "in the log")
            );
        }
        text
    }
}

/// The parts that have room, and how many have not.
fn fitting(parts: impl Iterator<Item = String>, mut room: usize) -> (String, usize) {
    let (mut shown, mut more) = (String::new(), 0);
    for part in parts {
        let length = part.chars().count();
        if more > 0 || length > room {
            more += 1;
        } else {
            room -= length;
            shown += &part;
        }
    }
    (shown, more)
}

fn rest(more: usize, what: &str, which: &str) -> String {
    match more {
        0 => String::new(),
        1 => format!("and 1 {what} more {which}\n\n"),
        more => format!("and {more} {what}s more {which}\n\n"),
    }
}

/// A fence that no line of the text ends.
fn fence(texts: &[String]) -> String {
    let longest = texts.iter().flat_map(|text| text.split(|c| c != '`')).map(str::len).max();
    "`".repeat(longest.unwrap_or(0).max(2) + 1)
}

/// Text in which Markdown and HTML see nothing of theirs, on one line.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '#' | '|' | '~' | '!' => {
                escaped.push('\\');
                escaped.push(letter);
            }
            letter if is_hidden(letter) => escaped.extend(letter.escape_unicode()),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comment(moved: usize, all: usize) -> Comment {
        Comment {
            verdict: "1 of 2 cases regressed".to_owned(),
            notes: vec!["gate: 2 cases: 1 ok, 1 regressed".to_owned()],
            moved: (0..moved)
                .map(|n| format!("regressed: case/{n}: 1 -> 2 Ir\n    +1 Ir  memset <- f"))
                .collect(),
            all: (0..all).map(|n| [format!("case/{n}"), "1".to_owned(), "2".to_owned()]).collect(),
        }
    }

    #[test]
    fn the_verdict_comes_first_then_what_moved_then_the_rest_folded() {
        let text = comment(1, 2).to_markdown();
        let places: Vec<_> = [
            "## writeonce: 1 of 2",
            "gate: 2 cases",
            "```text\nregressed: case/0",
            "+1 Ir  memset <- f\n```",
            "<details>",
            "| case/1 | 1 | 2 |",
            "</details>",
        ]
        .map(|part| text.find(part).unwrap_or_else(|| panic!("no {part} in {text}")))
        .into();
        assert!(places.is_sorted(), "{text}");
    }

    #[test]
    fn it_fits_a_comment_whatever_the_size_of_the_table() {
        for (moved, all) in [(2000, 2000), (0, 20_000), (5000, 0)] {
            let text = comment(moved, all).to_markdown();
            assert!(text.chars().count() <= MOST, "{} characters", text.chars().count());
            assert!(text.contains("cases more"), "{}", &text[text.len() - 200..]);
        }
        assert!(!comment(3, 3).to_markdown().contains("more"));
    }

    #[test]
    fn hostile_names_stay_text() {
        let name = "<script>|\n\u{202e}*x*_`".to_owned();
        let all = vec![[name.clone(), "1".to_owned(), "2".to_owned()]];
        let text = Comment {
            verdict: name.clone(),
            moved: vec!["a ``` b ```` c".to_owned()],
            all,
            ..Comment::default()
        }
        .to_markdown();
        assert!(!text.contains("<script>") && !text.contains('\u{202e}'), "{text}");
        assert!(
            text.contains("| &lt;script&gt;\\|\\u{a}\\u{202e}\\*x\\*\\_\\` | 1 | 2 |"),
            "{text}"
        );
        assert!(text.contains("\n`````text\na ``` b ```` c\n`````\n"), "{text}");
    }
}
