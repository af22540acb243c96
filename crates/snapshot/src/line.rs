//! One line of the outline for one node.

use panelot_page_protocol::{FieldValue, FrameFacts, OptionFacts, State};

use crate::escape::{cost, push_plain, push_quoted};

/// Quarters of a token that one name or value takes at most.
const NAME_UNITS_MAX: usize = 240;
/// Quarters of a token that the name of a surrounding structure takes at most; it is repeated on every part.
const CONTEXT_NAME_UNITS_MAX: usize = 60;
/// Quarters of a token that the address of a link takes at most.
const HREF_UNITS_MAX: usize = 120;
/// Quarters of a token that the options of one select box take at most.
const OPTIONS_UNITS_MAX: usize = 480;
/// Quarters of a token that one option's label or value takes at most.
const OPTION_UNITS_MAX: usize = 80;

/// An element node, taken apart.
pub(crate) struct Parts<'a> {
    pub(crate) element_ref: Option<&'a str>,
    pub(crate) role: &'a str,
    pub(crate) name: &'a str,
    pub(crate) description: &'a str,
    pub(crate) value: Option<&'a FieldValue>,
    pub(crate) kind: &'a str,
    pub(crate) href: &'a str,
    pub(crate) states: &'a [State],
    pub(crate) options: &'a [OptionFacts],
    pub(crate) options_left_out: u32,
    pub(crate) frame: Option<FrameFacts>,
}

impl Parts<'_> {
    /// `[ref] role kind "name" value "…" states options … to "…"`.
    pub(crate) fn line(&self, page_url: &str) -> String {
        let mut out = String::new();
        if let Some(element_ref) = self.element_ref {
            out.push('[');
            out.push_str(element_ref);
            out.push_str("] ");
        }
        push_token(&mut out, self.role);
        if !self.kind.is_empty() {
            out.push(' ');
            push_token(&mut out, self.kind);
        }
        if !self.name.is_empty() {
            out.push(' ');
            push_quoted(&mut out, self.name, NAME_UNITS_MAX);
        }
        match self.value {
            Some(FieldValue::Text { text }) if !text.is_empty() => {
                out.push_str(" value ");
                push_quoted(&mut out, text, NAME_UNITS_MAX);
            }
            Some(FieldValue::Text { .. }) => out.push_str(" empty"),
            Some(FieldValue::Secret { filled: true }) => out.push_str(" secret, filled"),
            Some(FieldValue::Secret { filled: false }) => out.push_str(" secret, empty"),
            None => {}
        }
        for state in self.states {
            out.push(' ');
            out.push_str(state_word(*state));
        }
        if !self.options.is_empty() {
            push_options(&mut out, self.options, self.options_left_out);
        }
        if !self.description.is_empty() {
            out.push_str(" described ");
            push_quoted(&mut out, self.description, NAME_UNITS_MAX);
        }
        if !self.href.is_empty() {
            out.push_str(" to ");
            push_quoted(&mut out, short_href(self.href, page_url), HREF_UNITS_MAX);
        }
        out.push_str(match self.frame {
            Some(FrameFacts::OtherOrigin) => " (of another site, its content cannot be read)",
            Some(FrameFacts::TooDeep) => " (nested too deeply, its content was not read)",
            Some(FrameFacts::Read) | None => "",
        });
        out
    }

    /// `role "name":`, the line of a structure around others.
    pub(crate) fn context_line(&self) -> String {
        let mut out = String::new();
        push_token(&mut out, self.role);
        if !self.name.is_empty() {
            out.push(' ');
            push_quoted(&mut out, self.name, CONTEXT_NAME_UNITS_MAX);
        }
        if self.states.contains(&State::Modal) {
            out.push_str(" modal");
        }
        out.push(':');
        out
    }
}

/// The line of `outline` that stands for the element `element_ref`, without its indentation.
///
/// Text of the page cannot stand at the beginning of a line, so what is found is the outline's own line.
#[must_use]
pub fn line_of<'a>(outline: &'a str, element_ref: &str) -> Option<&'a str> {
    let start = format!("[{element_ref}] ");
    outline.lines().map(str::trim_start).find(|line| line.starts_with(&start))
}

/// Whether a line of an outline stands for a field whose value is never told. What follows the last quotation mark is
/// the outline's own, since names and values are quoted with their marks escaped.
#[must_use]
pub fn is_secret_field(line: &str) -> bool {
    line.rsplit('"').next().is_some_and(|own| own.contains(" secret, "))
}

/// Roles and kinds come from attributes: only plain letters, digits and hyphens of them are shown.
fn push_token(out: &mut String, token: &str) {
    let plain: String = token.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(40).collect();
    out.push_str(if plain.is_empty() { "element" } else { &plain });
}

fn push_options(out: &mut String, options: &[OptionFacts], left_out: u32) {
    out.push_str(" options ");
    let start = out.len();
    for (index, option) in options.iter().enumerate() {
        let mut one = String::new();
        push_quoted(&mut one, &option.label, OPTION_UNITS_MAX);
        if let Some(value) = &option.value {
            one.push('=');
            push_quoted(&mut one, value, OPTION_UNITS_MAX);
        }
        one.push_str(if option.selected { " (chosen)" } else { "" });
        one.push_str(if option.disabled { " (disabled)" } else { "" });
        let rest = u32::try_from(options.len() - index).unwrap_or(u32::MAX).saturating_add(left_out);
        if out.get(start..).map_or(0, cost) + cost(&one) > OPTIONS_UNITS_MAX {
            out.push_str(&format!(" and {rest} more"));
            push_chosen_of_rest(out, options.get(index..).unwrap_or_default());
            return;
        }
        out.push_str(if index > 0 { ", " } else { "" });
        out.push_str(&one);
    }
    if left_out > 0 {
        out.push_str(&format!(" and {left_out} more"));
    }
}

/// The first chosen option must be seen even when the list is cut before it.
fn push_chosen_of_rest(out: &mut String, rest: &[OptionFacts]) {
    if let Some(option) = rest.iter().find(|option| option.selected) {
        out.push_str(", among them ");
        push_quoted(out, &option.label, OPTION_UNITS_MAX);
        out.push_str(" (chosen)");
    }
}

const fn state_word(state: State) -> &'static str {
    match state {
        State::Checked => "checked",
        State::Unchecked => "unchecked",
        State::Mixed => "mixed",
        State::Selected => "selected",
        State::Pressed => "pressed",
        State::NotPressed => "not-pressed",
        State::Expanded => "expanded",
        State::Collapsed => "collapsed",
        State::Disabled => "disabled",
        State::ReadOnly => "read-only",
        State::Required => "required",
        State::Invalid => "invalid",
        State::Focused => "focused",
        State::Current => "current",
        State::Multiline => "multiline",
        State::Modal => "modal",
        State::NotVisible => "not-visible",
    }
}

/// A link within the page's own origin is shown by its path.
fn short_href<'a>(href: &'a str, page_url: &str) -> &'a str {
    let origin_end = page_url.find("://").and_then(|at| {
        let host = at + 3;
        page_url.get(host..)?.find('/').map(|slash| host + slash)
    });
    let Some(origin) = origin_end.and_then(|end| page_url.get(..end)) else { return href };
    href.strip_prefix(origin).filter(|path| path.starts_with('/')).unwrap_or(href)
}

/// The two lines that open every part: title and address.
pub(crate) fn header(title: &str, url: &str, notes: &str) -> String {
    let mut out = String::from("Page ");
    push_quoted(&mut out, title, NAME_UNITS_MAX);
    out.push_str("\nAddress ");
    push_plain(&mut out, url, NAME_UNITS_MAX);
    out.push('\n');
    out.push_str(notes);
    out
}

#[cfg(test)]
mod tests {
    use super::{is_secret_field, line_of, short_href};

    #[test]
    fn a_link_of_the_same_origin_is_shown_by_its_path() {
        let page = "https://a.test/x/y";
        assert_eq!(short_href("https://a.test/cart?x=1", page), "/cart?x=1");
        assert_eq!(short_href("https://a.test.evil.test/cart", page), "https://a.test.evil.test/cart");
        assert_eq!(short_href("mailto:me@a.test", page), "mailto:me@a.test");
        assert_eq!(short_href("https://a.test/", "about:blank"), "https://a.test/");
    }

    #[test]
    fn a_secret_field_is_known_by_the_outlines_own_words_and_no_name_can_feign_it() {
        for (line, secret) in [
            ("[k7q2-1] textbox \"Password\" secret, empty", true),
            ("[k7q2-1] textbox secret, filled, required", true),
            ("[k7q2-1] textbox \"my secret, filled\" empty", false),
            ("[k7q2-1] textbox \"Name\" value \"a secret, b\"", false),
            ("[k7q2-1] button \"Place order\"", false),
        ] {
            assert_eq!(is_secret_field(line), secret, "{line}");
        }
    }

    #[test]
    fn the_line_of_a_reference_is_found_and_nothing_else() {
        let outline = "Page \"x\"\n  [k7q2-1] button \"[k7q2-2] button\"\n\"[k7q2-3] text\"\n[k7q2-11] link";
        assert_eq!(line_of(outline, "k7q2-1"), Some("[k7q2-1] button \"[k7q2-2] button\""));
        assert_eq!(line_of(outline, "k7q2-2"), None);
        assert_eq!(line_of(outline, "k7q2-3"), None);
    }
}
