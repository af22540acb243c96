//! What is asked of the person, as fields: the questions of `ask_user`, and the flat schemas of a server's request.
//!
//! Invariant: foreign parameters never fail here; what is no question is left out.

use panelot_protocol::snapshot::InteractionKind;
use serde_json::Value;

/// A field of a form.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Under which name its answer is given.
    pub id: String,
    /// What is asked.
    pub label: String,
    /// How it is answered.
    pub kind: FieldKind,
    /// Whether it may stay empty.
    pub optional: bool,
    /// What it holds at first.
    pub initial: String,
}

/// How a field is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// By one of these, or with own words where it is open.
    Choice {
        /// The choices.
        options: Vec<Choice>,
        /// Whether own words may be given.
        open: bool,
    },
    /// In words.
    Text,
    /// By a number.
    Number,
    /// By yes or no.
    Yes,
}

/// A choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What is answered.
    pub value: String,
    /// What is shown.
    pub label: String,
    /// What is said of it.
    pub description: Option<String>,
}

impl Field {
    /// Whether a text answers it.
    #[must_use]
    pub fn is_answered(&self, text: &str) -> bool {
        let text = text.trim();
        if text.is_empty() {
            return self.optional || self.kind == FieldKind::Yes;
        }
        self.kind != FieldKind::Number || number(text).is_some()
    }

    /// The answer that a text is; none when nothing was answered.
    #[must_use]
    pub fn value_of(&self, text: &str) -> Option<Value> {
        match self.kind {
            FieldKind::Yes => Some(Value::Bool(text == "true")),
            FieldKind::Number => number(text.trim()).map(Value::Number),
            FieldKind::Choice { .. } | FieldKind::Text => {
                (!text.trim().is_empty()).then(|| Value::from(text.trim()))
            }
        }
    }
}

fn number(text: &str) -> Option<serde_json::Number> {
    serde_json::from_str(text).ok()
}

fn text(value: &Value, name: &str) -> Option<String> {
    let text = value.get(name)?.as_str()?;
    (!text.trim().is_empty()).then(|| text.to_owned())
}

/// The fields of an interaction; empty for the kinds that ask nothing.
#[must_use]
pub fn form_of(kind: InteractionKind, params: &Value) -> Vec<Field> {
    match kind {
        InteractionKind::AskUser => {
            let questions = params.get("questions").and_then(Value::as_array).into_iter().flatten();
            questions.filter_map(question).collect()
        }
        InteractionKind::McpElicitation => {
            params.get("requestedSchema").map(schema_fields).unwrap_or_default()
        }
        InteractionKind::UserAction | InteractionKind::WatchPage | InteractionKind::Schedule => Vec::new(),
    }
}

fn question(value: &Value) -> Option<Field> {
    let id = text(value, "id")?;
    let label = text(value, "question").unwrap_or_else(|| id.clone());
    let options = value.get("options").and_then(Value::as_array).into_iter().flatten();
    let options: Vec<Choice> = options
        .filter_map(|option| {
            let value = text(option, "value").or_else(|| text(option, "label"))?;
            let label = text(option, "label").unwrap_or_else(|| value.clone());
            Some(Choice { value, label, description: text(option, "description") })
        })
        .collect();
    let kind = match options.is_empty() {
        true => FieldKind::Text,
        false => FieldKind::Choice { options, open: true },
    };
    Some(Field { id, label, kind, optional: false, initial: String::new() })
}

fn schema_fields(schema: &Value) -> Vec<Field> {
    let required = |name: &String| {
        let names = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        names.filter_map(Value::as_str).any(|it| it == name)
    };
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    properties
        .map(|(name, property)| {
            let label = text(property, "title").or_else(|| text(property, "description"));
            let options = property.get("enum").and_then(Value::as_array).into_iter().flatten();
            let options: Vec<Choice> = options
                .filter_map(Value::as_str)
                .map(|value| Choice { value: value.to_owned(), label: value.to_owned(), description: None })
                .collect();
            let kind = match property.get("type").and_then(Value::as_str) {
                _ if !options.is_empty() => FieldKind::Choice { options, open: false },
                Some("boolean") => FieldKind::Yes,
                Some("number" | "integer") => FieldKind::Number,
                _ => FieldKind::Text,
            };
            let initial = match property.get("default") {
                Some(Value::String(text)) => text.clone(),
                Some(Value::Null) | None => String::new(),
                Some(other) => other.to_string(),
            };
            Field {
                id: name.clone(),
                label: label.unwrap_or_else(|| name.clone()),
                kind,
                optional: !required(name),
                initial,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use panelot_protocol::snapshot::InteractionKind;
    use serde_json::{Value, json};

    use super::{FieldKind, form_of};

    #[test]
    fn a_question_with_choices_is_answered_by_one_of_them_or_in_own_words() {
        let fields = form_of(
            InteractionKind::AskUser,
            &json!({"questions": [
                {"id": "size", "question": "Which size?", "options": [
                    {"value": "s", "label": "Small", "description": "0.2 l"}, {"label": "Large"}, {"odd": 1}]},
                {"id": "why"}, {"question": "no id"}, 7]}),
        );
        assert_eq!(fields.iter().map(|it| it.label.as_str()).collect::<Vec<_>>(), ["Which size?", "why"]);
        let FieldKind::Choice { options, open: true } = &fields[0].kind else { unreachable!() };
        assert_eq!(options.iter().map(|it| it.value.as_str()).collect::<Vec<_>>(), ["s", "Large"]);
        assert_eq!(options[0].description.as_deref(), Some("0.2 l"));
        assert_eq!(fields[1].kind, FieldKind::Text);
        assert!(!fields[0].is_answered(" ") && fields[0].is_answered("s") && fields[0].is_answered("mine"));
        assert_eq!(fields[0].value_of(" s "), Some(json!("s")));
    }

    #[test]
    fn a_servers_schema_becomes_fields_with_values_of_its_types() {
        let fields = form_of(
            InteractionKind::McpElicitation,
            &json!({"requestedSchema": {"type": "object", "required": ["count"], "properties": {
                "count": {"type": "integer", "title": "How many", "default": 3},
                "gift": {"type": "boolean"}, "plan": {"enum": ["a", "b"]}, "note": {"type": "string"}}}}),
        );
        let by = |id: &str| fields.iter().find(|it| it.id == id).expect(id);
        assert_eq!((by("count").label.as_str(), by("count").initial.as_str()), ("How many", "3"));
        assert_eq!(by("count").value_of("4"), Some(json!(4)));
        assert!(
            !by("count").is_answered("four") && !by("count").is_answered("") && by("note").is_answered("")
        );
        assert_eq!((by("gift").value_of(""), by("note").value_of(" ")), (Some(json!(false)), None));
        assert!(matches!(by("plan").kind, FieldKind::Choice { open: false, .. }));
    }

    #[test]
    fn foreign_parameters_never_fail() {
        for params in [Value::Null, json!([]), json!({"questions": 3}), json!({"requestedSchema": "x"})] {
            for kind in [InteractionKind::AskUser, InteractionKind::McpElicitation, InteractionKind::Schedule]
            {
                assert_eq!(form_of(kind, &params), []);
            }
        }
    }
}
