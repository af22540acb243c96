//! The tools there are, and the way from the model's words to a checked call.

use std::cell::OnceCell;

use serde_json::{Map, Value};

use crate::argument::{ArgumentError, check};
use crate::call::Call;
use crate::descriptor::{Descriptor, Effect, Level, Recovery, TargetKind};

/// Characters of the text of one `type` call. Well under the executor's limit, which counts UTF-16 units.
pub const TYPE_TEXT_CHARS_MAX: u32 = 20_000;
/// Highest page number that `read_page` takes: more than the largest page of facts can have.
pub const PAGE_NUMBER_MAX: u32 = 1_000;

/// Shortest wait, in seconds: below it a tool that waits costs more than it spares.
pub const WAIT_SECONDS_MIN: u32 = 10;
/// Longest watch of a page, in seconds: a day.
pub const WATCH_SECONDS_MAX: u32 = 86_400;
/// How long a page is watched when the call does not say, in seconds.
pub const WATCH_SECONDS_DEFAULT: u32 = 300;
/// Longest pause, in seconds: a week.
pub const SCHEDULE_SECONDS_MAX: u32 = 604_800;

/// The schema of each tool's arguments, by its name. A text of JSON is a third of the code that would build the same.
const PARAMETERS: &str = include_str!("parameters.json");

/// The tools that a model is offered.
#[derive(Clone, Debug)]
pub struct Catalogue {
    /// Made when first asked for: a worker wakes for much that needs no tool.
    descriptors: OnceCell<Vec<Descriptor>>,
}

impl Catalogue {
    /// The tools that are built in.
    #[must_use]
    pub const fn builtin() -> Self {
        Self { descriptors: OnceCell::new() }
    }

    /// All tools, in the order in which the model is told of them.
    #[must_use]
    pub fn descriptors(&self) -> &[Descriptor] {
        self.descriptors.get_or_init(|| {
            let mut parameters: Map<String, Value> = serde_json::from_str(PARAMETERS).unwrap_or_default();
            let mut all = vec![
                read_page(),
                click(),
                type_text(),
                select_option(),
                navigate(),
                tabs_list(),
                ask_user(),
                request_user_action(),
                watch_page(),
                schedule_resume(),
            ];
            for descriptor in &mut all {
                descriptor.parameters = parameters.remove(descriptor.name).unwrap_or_default();
            }
            all
        })
    }

    /// The tool of that name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Descriptor> {
        self.descriptors().iter().find(|descriptor| descriptor.name == name)
    }

    /// Checks what the model sent and makes a call of it. Empty arguments count as `{}`.
    ///
    /// # Errors
    /// [`ArgumentError`], whose text tells the model what to correct.
    pub fn parse(&self, name: &str, arguments_json: &str) -> Result<Call, ArgumentError> {
        let descriptor = self.find(name).ok_or_else(|| ArgumentError::UnknownTool {
            name: name.chars().take(80).collect(),
            known: self.descriptors().iter().map(|descriptor| descriptor.name).collect(),
        })?;
        let text = if arguments_json.trim().is_empty() { "{}" } else { arguments_json };
        let arguments: Value = serde_json::from_str(text)
            .map_err(|error| ArgumentError::NotJson { detail: error.to_string() })?;
        let problems = check(&descriptor.parameters, &arguments);
        if !problems.is_empty() {
            return Err(ArgumentError::Invalid { problems });
        }
        Call::from_arguments(descriptor, arguments)
            .map_err(|problem| ArgumentError::Invalid { problems: vec![problem] })
    }
}

impl Default for Catalogue {
    fn default() -> Self {
        Self::builtin()
    }
}

const fn read_page() -> Descriptor {
    Descriptor {
        name: "read_page",
        description: "Read what a tab shows: its text and its controls as an outline. Each control has a reference in \
            square brackets that click, type and select_option take. References stay valid while the page is open and \
            the control is in it. Long pages come in parts, the most relevant first; ask for more with page.",
        parameters: Value::Null,
        level: Level::L1,
        effect: Effect::Read,
        recovery: Recovery::RetrySafe,
        target: TargetKind::Document,
    }
}

const fn click() -> Descriptor {
    Descriptor {
        name: "click",
        description: "Click a control: a link, button, check box, tab, menu entry. Reports what changed. If the page \
            changed much, read it again before the next step.",
        parameters: Value::Null,
        level: Level::L1,
        effect: Effect::Write,
        recovery: Recovery::InspectFirst,
        target: TargetKind::Document,
    }
}

const fn type_text() -> Descriptor {
    Descriptor {
        name: "type",
        description: "Put text into a text field or editor, and report what it holds afterwards. Password, one-time \
            code and payment fields are refused: the person fills them.",
        parameters: Value::Null,
        level: Level::L1,
        effect: Effect::Write,
        recovery: Recovery::InspectFirst,
        target: TargetKind::Document,
    }
}

const fn select_option() -> Descriptor {
    Descriptor {
        name: "select_option",
        description: "Choose an option of a select box. Give either value or label, not both. For lists that are not \
            select boxes, click the entries.",
        parameters: Value::Null,
        level: Level::L1,
        effect: Effect::Write,
        recovery: Recovery::InspectFirst,
        target: TargetKind::Document,
    }
}

const fn navigate() -> Descriptor {
    Descriptor {
        name: "navigate",
        description: "Open a web address in a tab and wait for its page. Only http and https.",
        parameters: Value::Null,
        level: Level::L0,
        effect: Effect::Write,
        recovery: Recovery::InspectFirst,
        target: TargetKind::Destination,
    }
}

const fn tabs_list() -> Descriptor {
    Descriptor {
        name: "tabs_list",
        description: "List the open tabs with their number, title and address.",
        parameters: Value::Null,
        level: Level::L0,
        effect: Effect::Read,
        recovery: Recovery::RetrySafe,
        target: TargetKind::Browser,
    }
}

/// A tool of the engine's own, which touches nothing: the engine waits.
const fn waiting(name: &'static str, description: &'static str) -> Descriptor {
    Descriptor {
        name,
        description,
        parameters: Value::Null,
        level: Level::Builtin,
        effect: Effect::Read,
        recovery: Recovery::RetrySafe,
        target: TargetKind::Browser,
    }
}

const fn ask_user() -> Descriptor {
    waiting(
        "ask_user",
        "Ask the person and wait for the answer. Only for what you cannot find out and must not guess. Never ask for \
            passwords, codes or payment data.",
    )
}

const fn request_user_action() -> Descriptor {
    waiting(
        "request_user_action",
        "Ask the person to do something by hand, such as signing in, solving a captcha or filling a password, and wait \
            until they say that it is done. Read the page afterwards.",
    )
}

fn watch_page() -> Descriptor {
    Descriptor {
        level: Level::L1,
        target: TargetKind::Document,
        ..waiting(
            "watch_page",
            "Wait until a page shows a text, shows it no more, or its address contains a text. It is looked at when it \
                changes, and now and then. For waits of more than a few seconds; then read the page.",
        )
    }
}

const fn schedule_resume() -> Descriptor {
    waiting("schedule_resume", "Pause the task and go on after a while.")
}

#[cfg(test)]
mod tests {
    use super::Catalogue;
    use crate::argument::{ArgumentError, KEYWORDS};
    use crate::call::{CallKind, PageFilter};
    use serde_json::{Value, json};

    fn keywords_of(schema: &Value, found: &mut Vec<String>) {
        let Value::Object(fields) = schema else { return };
        for (key, value) in fields {
            found.push(key.clone());
            if key == "properties" {
                value.as_object().unwrap().values().for_each(|property| keywords_of(property, found));
            } else if key == "items" {
                keywords_of(value, found);
            }
        }
    }

    #[test]
    fn every_tool_has_its_parameters_and_their_bounds_are_those_of_the_code() {
        let catalogue = Catalogue::builtin();
        let of = |tool: &str, path: &str| catalogue.find(tool).unwrap().parameters.pointer(path).cloned();
        let written: serde_json::Map<String, Value> = serde_json::from_str(super::PARAMETERS).unwrap();
        assert_eq!(written.len(), catalogue.descriptors().len());
        assert!(catalogue.descriptors().iter().all(|it| it.parameters["type"] == "object"));
        assert_eq!(of("type", "/properties/text/maxLength"), Some(json!(super::TYPE_TEXT_CHARS_MAX)));
        assert_eq!(of("read_page", "/properties/page/maximum"), Some(json!(super::PAGE_NUMBER_MAX)));
        assert_eq!(of("click", "/properties/tabId/maximum"), Some(json!(i32::MAX)));
        let seconds = "/properties/timeoutSeconds/maximum";
        assert_eq!(of("watch_page", seconds), Some(json!(super::WATCH_SECONDS_MAX)));
        for bound in [("minimum", super::WAIT_SECONDS_MIN), ("maximum", super::SCHEDULE_SECONDS_MAX)] {
            let path = format!("/properties/delaySeconds/{}", bound.0);
            assert_eq!(of("schedule_resume", &path), Some(json!(bound.1)));
        }
    }

    #[test]
    fn every_descriptor_uses_only_keywords_that_are_checked_and_closes_its_object() {
        for descriptor in Catalogue::builtin().descriptors() {
            let mut found = Vec::new();
            keywords_of(&descriptor.parameters, &mut found);
            for keyword in found {
                assert!(KEYWORDS.contains(&keyword.as_str()), "{}: {keyword}", descriptor.name);
            }
            assert_eq!(descriptor.parameters["additionalProperties"], json!(false), "{}", descriptor.name);
            assert!(descriptor.name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'));
        }
    }

    #[test]
    fn empty_arguments_count_as_an_empty_object() {
        let catalogue = Catalogue::builtin();
        for empty in ["", "  ", "{}"] {
            let call = catalogue.parse("read_page", empty).unwrap();
            assert_eq!(
                call.kind(),
                &CallKind::ReadPage { tab_id: None, page: 1, filter: PageFilter::All },
                "{empty:?}"
            );
            assert_eq!(call.arguments(), &json!({}));
        }
    }

    #[test]
    fn what_the_model_got_wrong_is_told_to_it() {
        let catalogue = Catalogue::builtin();
        let problem = |name, arguments| catalogue.parse(name, arguments).unwrap_err().to_string();
        let cases = [
            ("fly", "{}", "There is no tool named \"fly\". Tools: read_page, click"),
            ("click", "{\"ref\":", "The arguments are not valid JSON"),
            ("click", "[]", "- arguments: must be an object, not an array"),
            ("click", "{}", "- ref: is missing"),
            ("click", r#"{"ref":"button 3"}"#, "- ref: is not an element reference"),
            ("click", r#"{"ref":"k7q2-1","force":true}"#, "- force: is not known here (known: ref, tabId)"),
            ("type", r#"{"ref":"k7q2-1","text":5}"#, "- text: must be a string, not a number"),
            ("select_option", r#"{"ref":"k7q2-1"}"#, "- label: give label or value"),
            (
                "select_option",
                r#"{"ref":"k7q2-1","label":"a","value":"b"}"#,
                "- label: give label or value, not both",
            ),
            ("read_page", r#"{"page":0}"#, "- page: must be at least 1"),
            ("read_page", r#"{"filter":"links"}"#, "- filter: must be one of \"all\", \"interactive\""),
            ("navigate", r#"{"url":"javascript:alert(1)"}"#, "- url: must start with http:// or https://"),
            (
                "navigate",
                r#"{"url":"https://a.test","newTab":true,"tabId":3}"#,
                "- tabId: a new tab has no number yet",
            ),
            ("tabs_list", r#"{"tabId":-1}"#, "- tabId: is not known here (known: none)"),
            ("ask_user", r#"{"questions":[]}"#, "- questions: has 0 items; at least 1 are needed"),
            (
                "ask_user",
                r#"{"questions":[{"id":"a","question":"?"},{"id":"a","question":"!"}]}"#,
                "- questions: two have the id \"a\"",
            ),
            (
                "ask_user",
                r#"{"questions":[{"id":"a","question":"?","options":[{"value":"1"}]}]}"#,
                "- questions[0].options[0].label: is missing",
            ),
            ("watch_page", r#"{"condition":"colour","value":"x"}"#, "- condition: must be one of"),
            ("schedule_resume", r#"{"delaySeconds":5,"reason":"x"}"#, "- delaySeconds: must be at least 10"),
        ];
        for (name, arguments, want) in cases {
            let text = problem(name, arguments);
            assert!(text.contains(want), "{name} {arguments}: {text}");
        }
        let both = problem("type", r#"{"ref":7,"clear":"yes"}"#);
        assert_eq!(
            both,
            "The arguments were refused:\n- text: is missing\n- clear: must be a boolean, not a string\n- ref: must be a \
             string, not a number"
        );
        assert!(matches!(catalogue.parse("nope", ""), Err(ArgumentError::UnknownTool { .. })));
    }

    #[test]
    fn a_whole_number_written_with_a_point_is_a_tab_number() {
        let call = Catalogue::builtin()
            .parse("read_page", r#"{"tabId":12.0,"filter":"interactive","page":2}"#)
            .unwrap();
        assert_eq!(
            call.kind(),
            &CallKind::ReadPage { tab_id: Some(12), page: 2, filter: PageFilter::Interactive }
        );
        assert_eq!(call.tab_id(), Some(12));
    }
}
