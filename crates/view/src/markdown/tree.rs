//! The tree that a renderer draws. It holds text and structure only: no markup, no unchecked address.

use std::sync::Arc;

/// How the cells of a table's column are aligned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Align {
    /// As the direction of the text has it.
    #[default]
    Start,
    /// In the middle.
    Center,
    /// At the right.
    End,
}

/// A block of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// A paragraph. Raw HTML blocks are paragraphs of their own source.
    Paragraph(Vec<Inline>),
    /// A heading of level 1 to 6.
    Heading {
        /// 1 to 6.
        level: u8,
        /// Its text.
        content: Vec<Inline>,
    },
    /// A code block.
    Code {
        /// The first word after the fence, lower-case; empty when there is none.
        language: String,
        /// The code, without the fences, with its last line break.
        code: String,
    },
    /// A quotation.
    Quote(Vec<Block>),
    /// A list. Whether its source had blank lines between the items makes no difference.
    List {
        /// The number of the first item of an ordered list.
        start: Option<u64>,
        /// The items; those that can no longer change are shared with the previous version of the tree.
        items: Vec<Arc<Item>>,
    },
    /// A table. Every row has as many cells as `align`.
    Table {
        /// The columns.
        align: Vec<Align>,
        /// The cells of the head.
        head: Vec<Vec<Inline>>,
        /// The rows below it.
        rows: Vec<Vec<Vec<Inline>>>,
    },
    /// A line across.
    Rule,
}

/// An item of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// For a task: whether it is done.
    pub checked: Option<bool>,
    /// What it holds.
    pub blocks: Vec<Block>,
}

/// A piece of running text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inline {
    /// Text, raw HTML included.
    Text(String),
    /// Code.
    Code(String),
    /// Emphasis.
    Emphasis(Vec<Inline>),
    /// Strong emphasis.
    Strong(Vec<Inline>),
    /// Text struck out.
    Strikethrough(Vec<Inline>),
    /// A link whose scheme is allowed; other links are their content alone.
    Link {
        /// An `http`, `https` or `mailto` address.
        href: String,
        /// Its tooltip; often empty.
        title: String,
        /// What is shown.
        content: Vec<Inline>,
    },
    /// An image, which is never loaded by itself: something to click, with the place it would come from.
    Image {
        /// An `http` or `https` address; none when its scheme is not allowed.
        href: Option<String>,
        /// The host it would be loaded from; empty without an address.
        host: String,
        /// What it shows, in words.
        alt: String,
    },
    /// A line break of the source, shown as a space.
    SoftBreak,
    /// A line break that is meant.
    LineBreak,
}
