//! The tools there are, and the way from the model's words to a checked call.

use std::cell::OnceCell;

use serde_json::{Value, json};

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
            vec![
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
            ]
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

fn tab_id_schema() -> Value {
    json!({"type": "integer", "minimum": 0, "maximum": i32::MAX,
        "description": "The tab, as tabs_list names it. Leave it out for the tab that this task is about."})
}

fn ref_schema(what: &str) -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": 40,
        "description": format!("The {what}'s reference from read_page, such as k7q2-14.")})
}

fn object(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn read_page() -> Descriptor {
    Descriptor {
        name: "read_page",
        description: "Read what a tab shows: its text and its controls as an outline. Each control has a reference in \
            square brackets that click, type and select_option take. References stay valid while the page is open and \
            the control is in it. Long pages come in parts, the most relevant first; ask for more with page.",
        parameters: object(
            json!({
                "tabId": tab_id_schema(),
                "page": {"type": "integer", "minimum": 1, "maximum": PAGE_NUMBER_MAX,
                    "description": "Which part of a long page. The first when left out."},
                "filter": {"type": "string", "enum": ["all", "interactive"],
                    "description": "all (the default): text and controls. interactive: controls only."},
            }),
            &[],
        ),
        level: Level::L1,
        effect: Effect::Read,
        recovery: Recovery::RetrySafe,
        target: TargetKind::Document,
    }
}

fn click() -> Descriptor {
    Descriptor {
        name: "click",
        description: "Click a control: a link, button, check box, tab, menu entry. Reports what changed. If the page \
            changed much, read it again before the next step.",
        parameters: object(json!({"ref": ref_schema("control"), "tabId": tab_id_schema()}), &["ref"]),
        level: Level::L1,
        effect: Effect::Write,
        recovery: Recovery::InspectFirst,
        target: TargetKind::Document,
    }
}

fn type_text() -> Descriptor {
    Descriptor {
        name: "type",
        description: "Put text into a text field or editor, and report what it holds afterwards. Password, one-time \
            code and payment fields are refused: the person fills them.",
        parameters: object(
            json!({
                "ref": ref_schema("field"),
                "text": {"type": "string", "maxLength": TYPE_TEXT_CHARS_MAX,
                    "description": "The text. Dates as 2026-11-30, times as 14:05."},
                "clear": {"type": "boolean",
                    "description": "true (the default): replace what is there. false: add to its end."},
                "submit": {"type": "boolean", "description": "true: press Enter afterwards. false is the default."},
                "tabId": tab_id_schema(),
            }),
            &["ref", "text"],
        ),
        level: Level::L1,
        effect: Effect::Write,
        recovery: Recovery::InspectFirst,
        target: TargetKind::Document,
    }
}

fn select_option() -> Descriptor {
    let text = |what: &str| json!({"type": "string", "maxLength": 500, "description": what});
    Descriptor {
        name: "select_option",
        description: "Choose an option of a select box. Give either value or label, not both. For lists that are not \
            select boxes, click the entries.",
        parameters: object(
            json!({
                "ref": ref_schema("select box"),
                "label": text("The text that the option shows."),
                "value": text("The option's value, when read_page gives one."),
                "tabId": tab_id_schema(),
            }),
            &["ref"],
        ),
        level: Level::L1,
        effect: Effect::Write,
        recovery: Recovery::InspectFirst,
        target: TargetKind::Document,
    }
}

fn navigate() -> Descriptor {
    Descriptor {
        name: "navigate",
        description: "Open a web address in a tab and wait for its page. Only http and https.",
        parameters: object(
            json!({
                "url": {"type": "string", "minLength": 1, "maxLength": 8_000,
                    "description": "The whole address, such as https://example.com/path."},
                "newTab": {"type": "boolean",
                    "description": "true: open it in a new tab. false (the default): in the tab named by tabId."},
                "tabId": tab_id_schema(),
            }),
            &["url"],
        ),
        level: Level::L0,
        effect: Effect::Write,
        recovery: Recovery::InspectFirst,
        target: TargetKind::Destination,
    }
}

fn tabs_list() -> Descriptor {
    Descriptor {
        name: "tabs_list",
        description: "List the open tabs with their number, title and address.",
        parameters: object(json!({}), &[]),
        level: Level::L0,
        effect: Effect::Read,
        recovery: Recovery::RetrySafe,
        target: TargetKind::Browser,
    }
}

/// A tool of the engine's own, which touches nothing: the engine waits.
fn waiting(name: &'static str, description: &'static str, parameters: Value) -> Descriptor {
    Descriptor {
        name,
        description,
        parameters,
        level: Level::Builtin,
        effect: Effect::Read,
        recovery: Recovery::RetrySafe,
        target: TargetKind::Browser,
    }
}

fn text_schema(characters: u32, what: &str) -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": characters, "description": what})
}

fn seconds_schema(maximum: u32, what: &str) -> Value {
    json!({"type": "integer", "minimum": WAIT_SECONDS_MIN, "maximum": maximum, "description": what})
}

fn ask_user() -> Descriptor {
    let option = object(
        json!({
            "value": text_schema(80, "What you get back."),
            "label": text_schema(80, "What the person reads."),
            "description": text_schema(240, "What it means."),
        }),
        &["value", "label"],
    );
    let question = object(
        json!({
            "id": text_schema(64, "Your name for the question, such as size."),
            "question": text_schema(500, "The question, in the person's language."),
            "options": {"type": "array", "minItems": 2, "maxItems": 6, "items": option,
                "description": "Answers to choose from. The person may write another one."},
        }),
        &["id", "question"],
    );
    waiting(
        "ask_user",
        "Ask the person and wait for the answer. Only for what you cannot find out and must not guess. Never ask for \
            passwords, codes or payment data.",
        object(
            json!({"questions": {"type": "array", "minItems": 1, "maxItems": 3, "items": question}}),
            &["questions"],
        ),
    )
}

fn request_user_action() -> Descriptor {
    waiting(
        "request_user_action",
        "Ask the person to do something by hand, such as signing in, solving a captcha or filling a password, and wait \
            until they say that it is done. Read the page afterwards.",
        object(
            json!({
                "instruction": text_schema(1000, "What to do, in the person's language."),
                "tabId": tab_id_schema(),
            }),
            &["instruction"],
        ),
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
            object(
                json!({
                    "tabId": tab_id_schema(),
                    "condition": {"type": "string", "enum": ["text", "text_gone", "url"],
                        "description": "What is waited for."},
                    "value": text_schema(1000, "The text."),
                    "timeoutSeconds": seconds_schema(WATCH_SECONDS_MAX, "How long. 300 when left out."),
                }),
                &["condition", "value"],
            ),
        )
    }
}

fn schedule_resume() -> Descriptor {
    waiting(
        "schedule_resume",
        "Pause the task and go on after a while.",
        object(
            json!({
                "delaySeconds": seconds_schema(SCHEDULE_SECONDS_MAX, "How long to pause."),
                "reason": text_schema(500, "Why, for the person, in their language."),
            }),
            &["delaySeconds", "reason"],
        ),
    )
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
