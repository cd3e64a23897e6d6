//! What all documents with markup have in common.

use minijinja::{AutoEscape, Environment, Value};

/// A template of this program, filled in; what is put in is text, whatever stands in it.
pub(crate) fn render(template: &str, values: Value) -> String {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    let text = environment.render_str(template, values);
    text.unwrap_or_else(|error| unreachable!("a template of ours takes its values: {error}"))
}

/// Whether a character would be invisible in a text or turn it around: control characters, marks of direction.
pub(super) fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}
