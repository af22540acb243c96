//! What a page shows, as plain facts in reading order. `snapshot` turns them into text for the model.

use panelot_base::json::{FromJson, ToJson};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::action::ElementRef;
use crate::limits;

/// What a document shows at one moment. All text in it is foreign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PageFacts {
    /// The document's address.
    #[schemars(length(max = limits::URL_UNITS_MAX))]
    pub url: String,
    /// Its title.
    #[schemars(length(max = limits::NAME_UNITS_MAX))]
    pub title: String,
    /// Whether it is still loading.
    pub loading: bool,
    /// What part of it is on screen.
    pub viewport: Viewport,
    /// The flat tree in reading order; `depth` gives the nesting.
    #[schemars(length(max = limits::NODES_MAX))]
    pub nodes: Vec<Node>,
    /// Text blocks and structure left out because there were too many.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u32,
    /// Controls left out because there were too many.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub controls_left_out: u32,
}

/// The visible part of a document, in CSS pixels.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema,
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Viewport {
    /// Width of the visible part.
    pub width: u32,
    /// Height of the visible part.
    pub height: u32,
    /// How far it is scrolled down.
    pub scroll_y: u32,
    /// Height of the whole document.
    pub page_height: u32,
}

/// One element or text block.
#[expect(
    clippy::large_enum_variant,
    reason = "most nodes are elements, and a page of facts lives for one rendering"
)]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Node {
    /// A block of text that belongs to no control.
    Text {
        /// Nesting; the body's children have 0.
        #[schemars(range(max = limits::DEPTH_MAX))]
        depth: u32,
        /// The text, white space collapsed.
        #[schemars(length(max = limits::TEXT_UNITS_MAX))]
        text: String,
        /// Whether part of it is on screen.
        #[serde(default, skip_serializing_if = "is_false")]
        in_viewport: bool,
    },
    /// A control, or an element that gives structure.
    Element {
        /// Nesting; the body's children have 0.
        #[schemars(range(max = limits::DEPTH_MAX))]
        depth: u32,
        /// ARIA role, explicit or implied by the tag.
        #[schemars(length(max = 40))]
        role: String,
        /// The handle for actions; only controls have one.
        #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
        element_ref: Option<ElementRef>,
        /// Accessible name.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        #[schemars(length(max = limits::NAME_UNITS_MAX))]
        name: String,
        /// Accessible description, when it says more than the name.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        #[schemars(length(max = limits::NAME_UNITS_MAX))]
        description: String,
        /// What the field holds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<FieldValue>,
        /// Kind of an input when it is not plain text (`email`, `date`, `file`), level of a heading (`2`).
        #[serde(default, skip_serializing_if = "String::is_empty")]
        #[schemars(length(max = 40))]
        kind: String,
        /// Where a link leads.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        #[schemars(length(max = limits::URL_UNITS_MAX))]
        href: String,
        /// States that differ from the usual.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[schemars(length(max = 16))]
        states: Vec<State>,
        /// Options of a select box, in order, up to a limit.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[schemars(length(max = limits::OPTIONS_MAX))]
        options: Vec<OptionFacts>,
        /// Options beyond those listed.
        #[serde(default, skip_serializing_if = "is_zero")]
        options_left_out: u32,
        /// Where it is, in CSS pixels of the top viewport; only controls have one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rect: Option<Rect>,
        /// Whether part of it is on screen.
        #[serde(default, skip_serializing_if = "is_false")]
        in_viewport: bool,
        /// For a frame: whether its content follows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        frame: Option<FrameFacts>,
    },
}

/// A box in CSS pixels, relative to the top viewport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rect {
    /// Left edge.
    pub x: i32,
    /// Top edge.
    pub y: i32,
    /// Width.
    pub width: u32,
    /// Height.
    pub height: u32,
}

/// What a field holds. The executor never reads the value of a secret field into a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", deny_unknown_fields)]
pub enum FieldValue {
    /// Its text.
    Text {
        /// The text, possibly cut.
        #[schemars(length(max = limits::VALUE_UNITS_MAX))]
        text: String,
    },
    /// A password, a one-time code or payment data: only whether something is in it.
    Secret {
        /// Whether the field is not empty.
        filled: bool,
    },
}

/// An option of a select box.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OptionFacts {
    /// What it shows.
    #[schemars(length(max = limits::NAME_UNITS_MAX))]
    pub label: String,
    /// Its value, when that differs from the label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::OPTION_UNITS_MAX))]
    pub value: Option<String>,
    /// Whether it is chosen.
    #[serde(default, skip_serializing_if = "is_false")]
    pub selected: bool,
    /// Whether it cannot be chosen.
    #[serde(default, skip_serializing_if = "is_false")]
    pub disabled: bool,
}

/// How far the inside of a frame could be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FrameFacts {
    /// Its content follows, one level deeper.
    Read,
    /// It belongs to another origin.
    OtherOrigin,
    /// Frames are nested too deeply.
    TooDeep,
}

/// One thing that is true of an element.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, FromJson, ToJson, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// A check box, radio button or switch is on.
    Checked,
    /// It is off.
    Unchecked,
    /// It is neither on nor off.
    Mixed,
    /// A tab, row or option is chosen.
    Selected,
    /// A toggle button is pressed.
    Pressed,
    /// A toggle button is not pressed.
    NotPressed,
    /// What it controls is open.
    Expanded,
    /// What it controls is closed.
    Collapsed,
    /// It cannot be operated.
    Disabled,
    /// It cannot be edited.
    ReadOnly,
    /// It must be filled.
    Required,
    /// Its value is refused by the page.
    Invalid,
    /// It has the keyboard focus.
    Focused,
    /// It stands for the current page, step or date.
    Current,
    /// It holds several lines.
    Multiline,
    /// A modal dialog: the rest of the page is out of reach.
    Modal,
    /// It is there but cannot be seen (transparent, no size, outside what can be scrolled to).
    NotVisible,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

impl Node {
    /// Nesting; the body's children have 0.
    #[must_use]
    pub const fn depth(&self) -> u32 {
        match self {
            Self::Text { depth, .. } | Self::Element { depth, .. } => *depth,
        }
    }

    /// The handle for actions, when it is a control.
    #[must_use]
    pub const fn element_ref(&self) -> Option<&ElementRef> {
        match self {
            Self::Text { .. } => None,
            Self::Element { element_ref, .. } => element_ref.as_ref(),
        }
    }
}
