//! A model as the value of an option of a select box.

use panelot_base::ConnectionId;
use panelot_protocol::settings::{ModelChoice, SettingsView};

/// A model as the value of an option of a select box.
#[must_use]
pub fn choice_value(connection: &ConnectionId, model: &str) -> String {
    format!("{connection} {model}")
}

/// The model of such a value, if it is one that the settings know.
#[must_use]
pub fn choice_of(settings: &SettingsView, value: &str) -> Option<ModelChoice> {
    settings.connections.iter().find_map(|connection| {
        let model = connection.models.iter().find(|model| choice_value(&connection.id, model) == value)?;
        Some(ModelChoice { connection_id: connection.id.clone(), model_id: model.clone() })
    })
}
