//! What came of an action: what was seen to happen, or why it was refused.

use panelot_base::json::{FromJson, ToJson};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::facts::{FieldValue, OptionFacts, PageFacts, State};
use crate::limits;

/// What came of an action.
pub type Outcome = Result<ActionResult, ActionFailure>;

/// An action that was carried out, with what was observed afterwards. Never what was hoped for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", deny_unknown_fields)]
pub enum ActionResult {
    /// What the page shows.
    Page {
        /// The facts.
        page: PageFacts,
    },
    /// The click was dispatched.
    Clicked {
        /// What was seen to happen.
        observed: Observed,
    },
    /// The text was entered.
    Typed {
        /// What the field holds now.
        value: FieldValue,
        /// Whether that is what was to be entered; a field may rewrite (`12` to `12.00`) or shorten.
        exact: bool,
        /// What pressing Enter led to.
        submission: Submission,
        /// What was seen to happen.
        observed: Observed,
    },
    /// The option is chosen.
    Selected {
        /// The option that is chosen now.
        option: OptionFacts,
        /// What was seen to happen.
        observed: Observed,
    },
}

/// What pressing Enter in a field led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Submission {
    /// It was not asked for.
    NotAsked,
    /// The form was submitted.
    Submitted,
    /// The page took the key for itself.
    TakenByPage,
    /// The form's own checks refused to submit it.
    Refused,
    /// The field belongs to no form, and the page did not take the key.
    NoForm,
}

/// What was seen to happen after an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Observed {
    /// The element that was acted on.
    pub subject: Subject,
    /// Its states afterwards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub states: Vec<State>,
    /// What changed, in the order of [`EffectSeen`]; empty when nothing was seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub effects: Vec<EffectSeen>,
    /// The document's address afterwards.
    #[schemars(length(max = limits::URL_UNITS_MAX))]
    pub url: String,
    /// Whether the page came to rest within the time for it.
    pub settled: bool,
    /// Text that appeared in an alert, a status line or a dialog.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8), inner(length(max = limits::NAME_UNITS_MAX)))]
    pub announcements: Vec<String>,
}

/// Something that changed after an action.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, FromJson, ToJson, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum EffectSeen {
    /// The document is being left for another one.
    NavigationStarted,
    /// The address changed within the document.
    AddressChanged,
    /// A form was submitted.
    FormSubmitted,
    /// A form's own checks refused to submit it.
    FormRefused,
    /// The element's own state or value changed.
    StateChanged,
    /// Content was added, removed or changed.
    ContentChanged,
    /// The keyboard focus moved elsewhere.
    FocusMoved,
    /// The element left the page.
    SubjectRemoved,
}

/// An element, named so that a person would know which one. Foreign text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Subject {
    /// Its role.
    #[schemars(length(max = 40))]
    pub role: String,
    /// Its accessible name, or the beginning of its text.
    #[schemars(length(max = limits::NAME_UNITS_MAX))]
    pub name: String,
}

/// An action that was refused or did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActionFailure {
    /// What went wrong.
    pub code: FailureCode,
    /// Detail in a few technical words. It may hold text from the page.
    #[schemars(length(max = limits::MESSAGE_UNITS_MAX))]
    pub message: String,
    /// Whether something may have happened all the same.
    pub reach: Reach,
    /// The element that was meant, when it was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Subject>,
    /// What covers it, for [`FailureCode::Covered`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covered_by: Option<Subject>,
    /// The options there are, for [`FailureCode::NoSuchOption`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::OPTIONS_MAX))]
    pub options: Vec<OptionFacts>,
    /// What the field holds, for [`FailureCode::NotEffective`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<FieldValue>,
}

/// Why an action was refused or did not succeed.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, FromJson, ToJson, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FailureCode {
    /// The reference belongs to an earlier document, or was never given.
    StaleRef,
    /// The element is no longer in the page.
    Detached,
    /// The element cannot be seen, or has no size.
    NotVisible,
    /// The element does not stay in one place.
    NotStable,
    /// Something else lies over the element.
    Covered,
    /// The element cannot be operated.
    Disabled,
    /// The element takes no text.
    NotEditable,
    /// The field cannot be changed.
    ReadOnly,
    /// The field is for a password, a one-time code or payment data; a person must fill it.
    SecretField,
    /// The element is not a select box.
    NotASelect,
    /// The select box has no such option.
    NoSuchOption,
    /// Several options show that text.
    AmbiguousOption,
    /// The option cannot be chosen.
    OptionDisabled,
    /// The field or select box did not keep what was put in.
    NotEffective,
    /// The element is in a frame whose place on screen cannot be told.
    UnsupportedFrame,
    /// The document is no longer of the expected origin.
    OriginChanged,
    /// The message is of another version, for another document, or not a message.
    ProtocolMismatch,
    /// It took too long.
    Timeout,
    /// It was cancelled.
    Cancelled,
    /// The executor itself failed.
    Internal,
}

/// How far a failed action got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Reach {
    /// Nothing was dispatched.
    NotStarted,
    /// Events were dispatched: the page may have reacted.
    MayHaveHappened,
}
