//! The lines of a page in reading order, each with what surrounds it and how much it matters.

use panelot_page_protocol::{FrameFacts, Node, PageFacts, State};
use serde::{Deserialize, Serialize};

use crate::escape::{cost, pieces};
use crate::line::Parts;

/// What of a page is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Filter {
    /// Text and controls.
    #[default]
    All,
    /// Controls only.
    Interactive,
}

/// Quarters of a token that one line of text takes at most; a longer block takes several lines.
const TEXT_UNITS_MAX: usize = 400;
/// Surrounding structures that are named around a line, the nearest ones.
pub(crate) const CONTEXT_MAX: usize = 4;
/// Deepest indentation, in steps.
const INDENT_STEPS_MAX: usize = 6;

/// How much a line matters for what comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    /// In an open dialog or an alert, or holding the focus.
    Urgent,
    /// On screen.
    OnScreen,
    /// Part of a form.
    Form,
    /// Everything else.
    Rest,
}

impl Rank {
    /// All of them, the most relevant first.
    pub(crate) const ALL: [Self; 4] = [Self::Urgent, Self::OnScreen, Self::Form, Self::Rest];
}

/// A line that stands on exactly one part.
pub(crate) struct Entry {
    pub(crate) rank: Rank,
    pub(crate) line: String,
    /// Cost with indentation and line end.
    pub(crate) units: usize,
    /// Surrounding structures, outermost first: indices of [`Outline::contexts`].
    pub(crate) contexts: Vec<usize>,
    pub(crate) is_control: bool,
}

/// A structure around lines; it is named again on every part that needs it.
pub(crate) struct Context {
    pub(crate) line: String,
    pub(crate) units: usize,
    depth: u32,
    role: String,
    named: bool,
    entries: usize,
}

pub(crate) struct Outline {
    pub(crate) entries: Vec<Entry>,
    pub(crate) contexts: Vec<Context>,
}

impl Outline {
    pub(crate) fn of(facts: &PageFacts, filter: Filter) -> Self {
        let mut outline = Self { entries: Vec::new(), contexts: Vec::new() };
        let mut open: Vec<usize> = Vec::new();
        for node in &facts.nodes {
            while open.last().is_some_and(|last| {
                outline.contexts.get(*last).is_none_or(|context| context.depth >= node.depth())
            }) {
                open.pop();
            }
            outline.add(node, facts, filter, &mut open);
        }
        outline.finish();
        outline
    }

    fn add(&mut self, node: &Node, facts: &PageFacts, filter: Filter, open: &mut Vec<usize>) {
        match node {
            Node::Text { text, in_viewport, .. } => {
                if filter == Filter::Interactive {
                    return;
                }
                for piece in pieces(text, TEXT_UNITS_MAX) {
                    self.push(format!("\"{piece}\""), self.rank(*in_viewport, false, "", open), open, false);
                }
            }
            Node::Element { role, states, in_viewport, frame, name, .. } => {
                let Some(parts) = parts(node) else { return };
                let is_control = parts.element_ref.is_some();
                if !is_control && (is_container(role) || *frame == Some(FrameFacts::Read)) {
                    self.contexts.push(Context {
                        line: parts.context_line(),
                        units: 0,
                        depth: node.depth(),
                        role: role.clone(),
                        named: !name.is_empty(),
                        entries: 0,
                    });
                    open.push(self.contexts.len() - 1);
                    return;
                }
                if is_control || filter == Filter::All {
                    let focused = states.contains(&State::Focused);
                    let rank = self.rank(*in_viewport, focused, role, open);
                    self.push(parts.line(&facts.url), rank, open, is_control);
                }
            }
        }
    }

    fn push(&mut self, line: String, rank: Rank, open: &[usize], is_control: bool) {
        for index in open {
            if let Some(context) = self.contexts.get_mut(*index) {
                context.entries += 1;
            }
        }
        self.entries.push(Entry { rank, line, units: 0, contexts: open.to_vec(), is_control });
    }

    fn rank(&self, in_viewport: bool, focused: bool, role: &str, open: &[usize]) -> Rank {
        let mut inside =
            open.iter().filter_map(|index| self.contexts.get(*index)).map(|context| context.role.as_str());
        let (mut urgent, mut form) = (focused || is_urgent(role), is_field(role));
        for role in inside.by_ref() {
            urgent |= is_urgent(role);
            form |= matches!(role, "form" | "search");
        }
        match (urgent, in_viewport, form) {
            (true, _, _) => Rank::Urgent,
            (false, true, _) => Rank::OnScreen,
            (false, false, true) => Rank::Form,
            (false, false, false) => Rank::Rest,
        }
    }

    /// Drops structures that say nothing, and works out indentation and costs.
    fn finish(&mut self) {
        let keep: Vec<bool> = self
            .contexts
            .iter()
            .map(|context| context.named || context.entries > 1 || !is_weak_container(&context.role))
            .collect();
        for entry in &mut self.entries {
            entry.contexts.retain(|index| keep.get(*index).copied().unwrap_or(false));
            let excess = entry.contexts.len().saturating_sub(CONTEXT_MAX);
            let depth = entry.contexts.len();
            for (step, index) in entry.contexts.iter().enumerate() {
                if let Some(context) = self.contexts.get_mut(*index).filter(|context| context.units == 0) {
                    context.line.insert_str(0, &indent(step));
                    context.units = cost(&context.line) + 1;
                }
            }
            entry.contexts.drain(..excess);
            entry.line.insert_str(0, &indent(depth));
            entry.units = cost(&entry.line) + 1;
        }
    }
}

fn indent(steps: usize) -> String {
    "  ".repeat(steps.min(INDENT_STEPS_MAX))
}

fn parts(node: &Node) -> Option<Parts<'_>> {
    match node {
        Node::Text { .. } => None,
        Node::Element {
            role,
            element_ref,
            name,
            description,
            value,
            kind,
            href,
            states,
            options,
            options_left_out,
            frame,
            ..
        } => Some(Parts {
            element_ref: element_ref.as_ref().map(panelot_page_protocol::ElementRef::as_str),
            role,
            name,
            description,
            value: value.as_ref(),
            kind,
            href,
            states,
            options,
            options_left_out: *options_left_out,
            frame: *frame,
        }),
    }
}

/// Roles that surround other lines. They are named as context and never stand alone.
fn is_container(role: &str) -> bool {
    is_urgent(role)
        || is_weak_container(role)
        || matches!(
            role,
            "form"
                | "search"
                | "navigation"
                | "main"
                | "banner"
                | "contentinfo"
                | "complementary"
                | "article"
                | "table"
                | "grid"
                | "treegrid"
                | "tree"
                | "tablist"
                | "toolbar"
                | "menu"
                | "menubar"
                | "listbox"
                | "radiogroup"
                | "tabpanel"
                | "feed"
                | "log"
                | "status"
        )
}

/// Roles that are worth a line only when they hold several others or have a name.
fn is_weak_container(role: &str) -> bool {
    matches!(
        role,
        "list" | "listitem" | "row" | "rowgroup" | "group" | "region" | "figure" | "cell" | "gridcell"
    )
}

fn is_urgent(role: &str) -> bool {
    matches!(role, "dialog" | "alertdialog" | "alert")
}

fn is_field(role: &str) -> bool {
    matches!(
        role,
        "textbox"
            | "searchbox"
            | "combobox"
            | "listbox"
            | "checkbox"
            | "radio"
            | "switch"
            | "slider"
            | "spinbutton"
    )
}
