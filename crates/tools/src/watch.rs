//! Whether what a page is watched for has come about.

use panelot_page_protocol::{ActionResult, FieldValue, Node, PageFacts};

use crate::call::Condition;
use crate::command::Report;

/// Whether a look at the page found the condition. A look that failed, or that cannot tell, did not.
///
/// Text is compared as the page's facts have it, white space collapsed, without regard to the case of ASCII letters.
#[must_use]
pub fn came_about(condition: &Condition, report: &Report) -> bool {
    let Report::Page(Ok(ActionResult::Page { page })) = report else { return false };
    match condition {
        Condition::Text(text) => shows(page, text),
        // A page that is still loading, or whose facts are not whole, may show it in a moment or out of sight.
        Condition::TextGone(text) => {
            !page.loading && page.left_out == 0 && page.controls_left_out == 0 && !shows(page, text)
        }
        Condition::Url(text) => page.url.contains(text.as_str()),
    }
}

fn shows(page: &PageFacts, text: &str) -> bool {
    let mut wanted = String::new();
    push_folded(&mut wanted, text);
    let mut shown = String::new();
    push_folded(&mut shown, &page.title);
    for node in &page.nodes {
        match node {
            Node::Text { text, .. } => push_folded(&mut shown, text),
            Node::Element { name, description, value, .. } => {
                push_folded(&mut shown, name);
                push_folded(&mut shown, description);
                if let Some(FieldValue::Text { text }) = value {
                    push_folded(&mut shown, text);
                }
            }
        }
    }
    // Without the space before it: scripts without spaces have no words to begin at.
    shown.contains(wanted.trim_start())
}

/// Adds the words of a text, each after a space.
fn push_folded(to: &mut String, text: &str) {
    for word in text.split_ascii_whitespace() {
        to.push(' ');
        to.extend(word.chars().map(|c| c.to_ascii_lowercase()));
    }
}

#[cfg(test)]
mod tests {
    use super::came_about;
    use crate::call::Condition;
    use crate::command::{Failure, FailureKind, Reach, Report};
    use panelot_page_protocol::ActionResult;
    use serde_json::{Value, json};

    fn report(change: impl FnOnce(&mut Value)) -> Report {
        let mut page = json!({"url": "https://a.test/cart", "title": "Cart", "loading": false,
            "viewport": {"width": 1, "height": 1, "scrollY": 0, "pageHeight": 1}, "nodes": [
                {"type": "text", "depth": 0, "text": "Your order"},
                {"type": "text", "depth": 0, "text": "has arrived. 订单已完成"},
                {"type": "element", "depth": 0, "role": "button", "name": "Track it"},
                {"type": "element", "depth": 0, "role": "textbox", "name": "Code",
                    "value": {"type": "text", "text": "A 7"}}]});
        change(&mut page);
        Report::Page(Ok(ActionResult::Page { page: serde_json::from_value(page).unwrap() }))
    }

    #[test]
    fn a_text_is_found_wherever_the_page_shows_it() {
        let shown = report(|_| {});
        for text in ["order  has", "ARRIVED", "已完成", "track it", "a 7", "cart"] {
            assert!(came_about(&Condition::Text(text.into()), &shown), "{text}");
            assert!(!came_about(&Condition::TextGone(text.into()), &shown), "{text}");
        }
        for text in ["arrived your", "refund"] {
            assert!(!came_about(&Condition::Text(text.into()), &shown), "{text}");
            assert!(came_about(&Condition::TextGone(text.into()), &shown), "{text}");
        }
        assert!(came_about(&Condition::Url("/cart".into()), &shown));
    }

    #[test]
    fn a_text_is_not_gone_while_the_page_was_not_seen_whole() {
        let gone = Condition::TextGone("refund".into());
        for (field, value) in [("loading", json!(true)), ("leftOut", json!(1)), ("controlsLeftOut", json!(1))]
        {
            assert!(!came_about(&gone, &report(|page| page[field] = value)), "{field}");
        }
        let failure = Failure { kind: FailureKind::Timeout, reach: Reach::NotStarted, detail: String::new() };
        assert!(!came_about(&gone, &Report::Failed(failure)));
    }
}
