//! A call whose arguments were checked, and what the browser must do for it.

use panelot_page_protocol::{Action, ElementRef, OptionChoice};
use serde::Serialize;
use serde_json::{Value, json};

use crate::address::normalise;
use crate::catalogue::WATCH_SECONDS_DEFAULT;
use crate::command::Command;
use crate::descriptor::{Descriptor, Effect, Recovery, TargetKind};
use crate::target::{Target, TargetError};

/// What `read_page` shows.
pub use panelot_snapshot::Filter as PageFilter;

/// A tool call that can be judged and carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    name: &'static str,
    effect: Effect,
    recovery: Recovery,
    target_kind: TargetKind,
    arguments: Value,
    kind: CallKind,
}

/// The call's tool with its arguments, defaults filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// Report what a page shows.
    ReadPage {
        /// The tab; `None` for the task's own.
        tab_id: Option<u32>,
        /// Which part, from 1.
        page: u32,
        /// What of it.
        filter: PageFilter,
    },
    /// Click an element.
    Click {
        /// The tab; `None` for the task's own.
        tab_id: Option<u32>,
        /// The element.
        element: ElementRef,
    },
    /// Put text into a field.
    Type {
        /// The tab; `None` for the task's own.
        tab_id: Option<u32>,
        /// The field.
        element: ElementRef,
        /// The text.
        text: String,
        /// Whether it replaces what is there.
        clear: bool,
        /// Whether Enter is pressed afterwards.
        submit: bool,
    },
    /// Choose an option.
    SelectOption {
        /// The tab; `None` for the task's own.
        tab_id: Option<u32>,
        /// The select box.
        element: ElementRef,
        /// The option.
        choice: OptionChoice,
    },
    /// Go to an address.
    Navigate {
        /// The tab; `None` for the task's own, or a new one.
        tab_id: Option<u32>,
        /// The address in its normal form.
        url: String,
        /// Whether it goes into a new tab.
        new_tab: bool,
    },
    /// List the tabs.
    TabsList,
    /// Ask the person; the questions are in the arguments.
    AskUser,
    /// Have the person do something; the instruction is in the arguments.
    RequestUserAction,
    /// Wait for a change of a page.
    WatchPage {
        /// The tab; `None` for the task's own.
        tab_id: Option<u32>,
        /// What is waited for.
        condition: Condition,
        /// How long, in seconds.
        seconds: u32,
    },
    /// Go on later.
    ScheduleResume {
        /// When, in seconds from now.
        seconds: u32,
    },
}

/// What a watched page is watched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// It shows this text.
    Text(String),
    /// It does not show this text any more.
    TextGone(String),
    /// Its address contains this text.
    Url(String),
}

/// What a card shows of a call: facts only, the view owns the words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// The element's reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub element: Option<String>,
    /// The text that is typed, whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The option that is chosen: its label or value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// The address that is opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The tab that is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tab_id: Option<u32>,
    /// Whether Enter is pressed after typing.
    pub submit: bool,
    /// Whether typing adds to what is there instead of replacing it.
    pub append: bool,
    /// Whether a new tab is opened.
    pub new_tab: bool,
}

impl Call {
    /// Makes a call of arguments that passed the tool's schema; the error is `path: problem`.
    pub(crate) fn from_arguments(descriptor: &Descriptor, mut arguments: Value) -> Result<Self, String> {
        let kind = CallKind::read(descriptor.name, &arguments)?;
        if let CallKind::Navigate { url, .. } = &kind
            && let Some(field) = arguments.get_mut("url")
        {
            // What is approved and what is opened are the same text.
            *field = json!(url);
        }
        Ok(Self {
            name: descriptor.name,
            effect: descriptor.effect,
            recovery: descriptor.recovery,
            target_kind: descriptor.target,
            arguments,
            kind,
        })
    }

    /// The tool's name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The tool and its typed arguments.
    #[must_use]
    pub const fn kind(&self) -> &CallKind {
        &self.kind
    }

    /// Whether it can change something.
    #[must_use]
    pub const fn effect(&self) -> Effect {
        self.effect
    }

    /// What a crash in the middle means.
    #[must_use]
    pub const fn recovery(&self) -> Recovery {
        self.recovery
    }

    /// What must be resolved before it can be judged. A navigation into a new tab needs no tab.
    #[must_use]
    pub const fn target_kind(&self) -> TargetKind {
        self.target_kind
    }

    /// The arguments as they are judged and shown: what the model sent, with addresses in their normal form.
    #[must_use]
    pub const fn arguments(&self) -> &Value {
        &self.arguments
    }

    /// The tab that the model named.
    #[must_use]
    pub const fn tab_id(&self) -> Option<u32> {
        match &self.kind {
            CallKind::ReadPage { tab_id, .. }
            | CallKind::Click { tab_id, .. }
            | CallKind::Type { tab_id, .. }
            | CallKind::SelectOption { tab_id, .. }
            | CallKind::Navigate { tab_id, .. }
            | CallKind::WatchPage { tab_id, .. } => *tab_id,
            CallKind::TabsList
            | CallKind::AskUser
            | CallKind::RequestUserAction
            | CallKind::ScheduleResume { .. } => None,
        }
    }

    /// The address that a navigation leads to.
    #[must_use]
    pub fn destination(&self) -> Option<&str> {
        match &self.kind {
            CallKind::Navigate { url, .. } => Some(url),
            _ => None,
        }
    }

    /// Whether it opens a tab of its own, so that no existing tab is its target.
    #[must_use]
    pub const fn opens_tab(&self) -> bool {
        matches!(self.kind, CallKind::Navigate { new_tab: true, .. })
    }

    /// The element that it acts on.
    #[must_use]
    pub const fn element(&self) -> Option<&ElementRef> {
        match &self.kind {
            CallKind::Click { element, .. }
            | CallKind::Type { element, .. }
            | CallKind::SelectOption { element, .. } => Some(element),
            _ => None,
        }
    }

    /// What a card shows of it.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let mut summary = Summary {
            element: self.element().map(|element| element.as_str().to_owned()),
            tab_id: self.tab_id(),
            ..Summary::default()
        };
        match &self.kind {
            CallKind::Type { text, clear, submit, .. } => {
                summary.text = Some(text.clone());
                summary.submit = *submit;
                summary.append = !clear;
            }
            CallKind::SelectOption { choice, .. } => {
                summary.option = Some(match choice {
                    OptionChoice::Value { value } => value.clone(),
                    OptionChoice::Label { label } => label.clone(),
                });
            }
            CallKind::Navigate { url, new_tab, .. } => {
                summary.url = Some(url.clone());
                summary.new_tab = *new_tab;
            }
            _ => {}
        }
        summary
    }

    /// What the browser must do.
    ///
    /// # Errors
    /// [`TargetError`] when the call needs a document or a tab and `target` is none, or is no page that a script may
    /// reach.
    pub fn command(&self, target: Option<&Target>) -> Result<Command, TargetError> {
        let action = match &self.kind {
            CallKind::TabsList => return Ok(Command::ListTabs),
            CallKind::Navigate { tab_id, url, new_tab } => {
                let tab_id = if *new_tab { None } else { target.map(|target| target.tab_id).or(*tab_id) };
                return match (tab_id, new_tab) {
                    (None, false) => Err(TargetError::NoDefaultTab),
                    (tab_id, _) => Ok(Command::Navigate { tab_id, url: url.clone() }),
                };
            }
            // A look at a page that is watched.
            CallKind::ReadPage { .. } | CallKind::WatchPage { .. } => Action::ReadPage {},
            // The engine waits; the browser has no part in it.
            CallKind::AskUser | CallKind::RequestUserAction | CallKind::ScheduleResume { .. } => {
                return Err(TargetError::NoDefaultTab);
            }
            CallKind::Click { element, .. } => Action::Click { target: element.clone() },
            CallKind::Type { element, text, clear, submit, .. } => {
                Action::Type { target: element.clone(), text: text.clone(), clear: *clear, submit: *submit }
            }
            CallKind::SelectOption { element, choice, .. } => {
                Action::SelectOption { target: element.clone(), choice: choice.clone() }
            }
        };
        let target = target.ok_or_else(|| match self.tab_id() {
            Some(tab_id) => TargetError::TabGone { tab_id },
            None => TargetError::NoDefaultTab,
        })?;
        if target.document_id.is_none() {
            return Err(TargetError::NotAWebPage { tab_id: target.tab_id, url: target.url.clone() });
        }
        Ok(Command::Page { target: target.clone(), action })
    }
}

impl CallKind {
    fn read(name: &str, arguments: &Value) -> Result<Self, String> {
        let tab_id = number(arguments, "tabId");
        let flag = |field: &str, default| arguments.get(field).and_then(Value::as_bool).unwrap_or(default);
        let text = |field: &str| arguments.get(field).and_then(Value::as_str);
        let element = || {
            ElementRef::new(text("ref").unwrap_or_default()).map_err(|_| {
                "ref: is not an element reference; take one from read_page, such as k7q2-14".to_owned()
            })
        };
        match name {
            "read_page" => Ok(Self::ReadPage {
                tab_id,
                page: number(arguments, "page").unwrap_or(1),
                filter: if text("filter") == Some("interactive") {
                    PageFilter::Interactive
                } else {
                    PageFilter::All
                },
            }),
            "click" => Ok(Self::Click { tab_id, element: element()? }),
            "type" => Ok(Self::Type {
                tab_id,
                element: element()?,
                text: text("text").unwrap_or_default().to_owned(),
                clear: flag("clear", true),
                submit: flag("submit", false),
            }),
            "select_option" => {
                let choice = match (text("label"), text("value")) {
                    (Some(label), None) => OptionChoice::Label { label: label.to_owned() },
                    (None, Some(value)) => OptionChoice::Value { value: value.to_owned() },
                    (None, None) => return Err("label: give label or value".to_owned()),
                    (Some(_), Some(_)) => return Err("label: give label or value, not both".to_owned()),
                };
                Ok(Self::SelectOption { tab_id, element: element()?, choice })
            }
            "navigate" => {
                let new_tab = flag("newTab", false);
                if new_tab && tab_id.is_some() {
                    return Err("tabId: a new tab has no number yet; give newTab or tabId".to_owned());
                }
                let url =
                    normalise(text("url").unwrap_or_default()).map_err(|error| format!("url: {error}"))?;
                Ok(Self::Navigate { tab_id, url, new_tab })
            }
            "tabs_list" => Ok(Self::TabsList),
            "ask_user" => match repeated_id(arguments) {
                Some(id) => Err(format!("questions: two have the id {id}")),
                None => Ok(Self::AskUser),
            },
            "request_user_action" => Ok(Self::RequestUserAction),
            "watch_page" => {
                let value = text("value").unwrap_or_default().to_owned();
                let condition = match text("condition") {
                    Some("url") => Condition::Url(value),
                    Some("text_gone") => Condition::TextGone(value),
                    _ => Condition::Text(value),
                };
                let seconds = number(arguments, "timeoutSeconds").unwrap_or(WATCH_SECONDS_DEFAULT);
                Ok(Self::WatchPage { tab_id, condition, seconds })
            }
            "schedule_resume" => {
                Ok(Self::ScheduleResume { seconds: number(arguments, "delaySeconds").unwrap_or_default() })
            }
            other => Err(format!("arguments: no reader for {other}")),
        }
    }
}

/// The id that two questions have.
fn repeated_id(arguments: &Value) -> Option<&Value> {
    let questions = arguments.get("questions")?.as_array()?;
    let mut ids = questions.iter().enumerate().filter_map(|(at, question)| Some((at, question.get("id")?)));
    let taken = |at: usize, id: &Value| questions.iter().take(at).any(|other| other.get("id") == Some(id));
    ids.find(|(at, id)| taken(*at, id)).map(|(_, id)| id)
}

/// A whole number that the schema has already bounded.
fn number(arguments: &Value, field: &str) -> Option<u32> {
    let value = arguments.get(field)?;
    let whole = value.as_u64().or_else(|| value.as_f64().map(|float| float as u64))?;
    u32::try_from(whole).ok()
}

#[cfg(test)]
mod tests {
    use crate::catalogue::Catalogue;
    use crate::command::Command;
    use crate::target::{Target, TargetError};
    use panelot_page_protocol::{Action, ElementRef, OptionChoice};
    use serde_json::json;

    fn target(document_id: Option<&str>) -> Target {
        Target {
            tab_id: 7,
            frame_id: 0,
            document_id: document_id.map(str::to_owned),
            url: "https://shop.test/order".to_owned(),
            origin: "https://shop.test".to_owned(),
            title: "Order".to_owned(),
        }
    }

    fn element() -> ElementRef {
        ElementRef::new("k7q2-3").unwrap()
    }

    #[test]
    fn a_page_call_is_sent_to_the_document_that_was_resolved() {
        let catalogue = Catalogue::builtin();
        let cases = [
            ("read_page", json!({}), Action::ReadPage {}),
            ("click", json!({"ref": "k7q2-3"}), Action::Click { target: element() }),
            (
                "type",
                json!({"ref": "k7q2-3", "text": "Zoë"}),
                Action::Type { target: element(), text: "Zoë".to_owned(), clear: true, submit: false },
            ),
            (
                "type",
                json!({"ref": "k7q2-3", "text": "", "clear": false, "submit": true}),
                Action::Type { target: element(), text: String::new(), clear: false, submit: true },
            ),
            (
                "select_option",
                json!({"ref": "k7q2-3", "value": ""}),
                Action::SelectOption {
                    target: element(),
                    choice: OptionChoice::Value { value: String::new() },
                },
            ),
        ];
        for (name, arguments, action) in cases {
            let call = catalogue.parse(name, &arguments.to_string()).unwrap();
            let there = target(Some("D1"));
            assert_eq!(call.command(Some(&there)), Ok(Command::Page { target: there, action }), "{name}");
        }
    }

    #[test]
    fn a_call_without_a_page_to_work_on_is_refused() {
        let catalogue = Catalogue::builtin();
        let call = catalogue.parse("click", r#"{"ref":"k7q2-3"}"#).unwrap();
        assert_eq!(call.command(None), Err(TargetError::NoDefaultTab));
        let refused = TargetError::NotAWebPage { tab_id: 7, url: "https://shop.test/order".to_owned() };
        assert_eq!(call.command(Some(&target(None))), Err(refused));
        let named = catalogue.parse("click", r#"{"ref":"k7q2-3","tabId":9}"#).unwrap();
        assert_eq!(named.command(None), Err(TargetError::TabGone { tab_id: 9 }));
    }

    #[test]
    fn a_navigation_goes_to_the_tab_it_names_the_tasks_own_or_a_new_one() {
        let catalogue = Catalogue::builtin();
        let command = |arguments: &str, target: Option<&Target>| {
            catalogue.parse("navigate", arguments).unwrap().command(target)
        };
        let to = |tab_id| Ok(Command::Navigate { tab_id, url: "https://a.test/".to_owned() });
        assert_eq!(command(r#"{"url":"https://A.test"}"#, Some(&target(None))), to(Some(7)));
        assert_eq!(command(r#"{"url":"https://a.test","tabId":9}"#, None), to(Some(9)));
        assert_eq!(command(r#"{"url":"https://a.test","newTab":true}"#, Some(&target(None))), to(None));
        assert_eq!(command(r#"{"url":"https://a.test"}"#, None), Err(TargetError::NoDefaultTab));
    }

    #[test]
    fn what_is_shown_for_approval_is_what_will_be_opened() {
        let call = Catalogue::builtin().parse("navigate", r#"{"url":"HTTP://Shop.TEST:80/a b"}"#).unwrap();
        assert_eq!(call.arguments(), &json!({"url": "http://shop.test/a%20b"}));
        assert_eq!(call.destination(), Some("http://shop.test/a%20b"));
        assert_eq!(call.summary().url.as_deref(), Some("http://shop.test/a%20b"));
    }

    #[test]
    fn a_summary_holds_what_is_typed_where() {
        let call =
            Catalogue::builtin().parse("type", r#"{"ref":"k7q2-3","text":"two","submit":true}"#).unwrap();
        let summary = serde_json::to_value(call.summary()).unwrap();
        assert_eq!(
            summary,
            json!({"element": "k7q2-3", "text": "two", "submit": true, "append": false, "newTab": false})
        );
    }
}
