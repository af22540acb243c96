//! A document that grows at its end.
//!
//! Block structure is decided line by line, so a top-level block is final once a complete line has begun another one.
//! Final blocks are never parsed again, except when a reference that they use is defined later.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use super::build::{Definitions, TopBlock, parse};
use super::tree::Block;

/// A top-level block as a renderer keys it.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its place in the document, which is its identity.
    pub key: usize,
    /// Grows with every change of the block.
    pub revision: u64,
    /// The block.
    pub block: Arc<Block>,
}

/// What is kept of a final block, beside its node.
#[derive(Clone, Debug)]
struct Closed {
    source: Range<usize>,
    labels: BTreeSet<String>,
}

/// A Markdown text and its tree.
#[derive(Clone, Debug, Default)]
pub struct Document {
    text: String,
    nodes: Vec<Node>,
    /// For each of the first nodes: those that are final.
    closed: Vec<Closed>,
    /// Where the text begins that may still change its meaning.
    open_start: usize,
    /// Definitions in text that is final.
    known: Definitions,
    /// Those, and the ones after them.
    effective: Definitions,
    revision: u64,
    parsed_bytes: u64,
}

impl PartialEq for Document {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
            && self.nodes.iter().map(|node| &node.block).eq(other.nodes.iter().map(|node| &node.block))
    }
}

impl Document {
    /// The document of a whole text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut document = Self::default();
        document.append(text);
        document
    }

    /// The source. Carriage returns are left out.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether there is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The blocks in order.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// How many of the first nodes are final (a late definition of a reference apart).
    #[must_use]
    pub fn closed(&self) -> usize {
        self.closed.len()
    }

    /// Bytes handed to the parser in the life of this document: its cost, for tests.
    #[must_use]
    pub fn parsed_bytes(&self) -> u64 {
        self.parsed_bytes
    }

    /// Adds text at the end.
    pub fn append(&mut self, more: &str) {
        if more.is_empty() {
            return;
        }
        self.revision += 1;
        self.text.extend(more.chars().filter(|c| *c != '\r').map(|c| if c == '\0' { '\u{fffd}' } else { c }));
        self.parse_open();
    }

    /// Makes `text` the whole text. Costs nothing when it is that already, and little when it only continues it.
    /// Returns whether anything changed.
    pub fn set(&mut self, text: &str) -> bool {
        let clean: String =
            text.chars().filter(|c| *c != '\r').map(|c| if c == '\0' { '\u{fffd}' } else { c }).collect();
        if let Some(more) = clean.strip_prefix(self.text.as_str()) {
            self.append(more);
            return !more.is_empty();
        }
        let revision = self.revision + 1;
        *self = Self { revision, parsed_bytes: self.parsed_bytes, ..Self::default() };
        self.append(&clean);
        true
    }

    fn parse_open(&mut self) {
        let region = self.text.get(self.open_start..).unwrap_or_default();
        let parsed = parse(region, &self.known);
        let (final_blocks, bytes) = count_final(region, &parsed.blocks, &self.known);
        self.parsed_bytes += (region.len() + bytes) as u64;
        let first_open = self.closed.len();
        let region_start = self.open_start;
        for top in parsed.blocks.iter().take(final_blocks) {
            let end = region_start + line_end(region, top.range.end);
            self.closed.push(Closed { source: self.open_start..end, labels: top.labels.clone() });
            self.open_start = end;
        }
        let committed = self.open_start - region_start;
        self.place(first_open, parsed.blocks);
        let mut effective = self.known.clone();
        for (label, definition, start) in parsed.definitions {
            if start < committed {
                self.known.entry(label.clone()).or_insert_with(|| definition.clone());
            }
            effective.entry(label).or_insert(definition);
        }
        self.redefine(effective);
    }

    /// Puts blocks in place from a node on; equal ones keep their revision.
    fn place(&mut self, from: usize, blocks: Vec<TopBlock>) {
        self.nodes.truncate(from + blocks.len());
        for (offset, top) in blocks.into_iter().enumerate() {
            let key = from + offset;
            match self.nodes.get_mut(key) {
                Some(node) if *node.block == top.block => {}
                Some(node) => {
                    node.block = Arc::new(top.block);
                    node.revision = self.revision;
                }
                None => {
                    self.nodes.push(Node { key, revision: self.revision, block: Arc::new(top.block) });
                }
            }
        }
    }

    /// Parses final blocks again whose references lead elsewhere now.
    fn redefine(&mut self, effective: Definitions) {
        if effective == self.effective {
            return;
        }
        let changed = |label: &String| self.effective.get(label) != effective.get(label);
        let affected: Vec<_> = self.closed.iter().map(|closed| closed.labels.iter().any(changed)).collect();
        self.effective = effective;
        for ((closed, node), _) in
            self.closed.iter_mut().zip(&mut self.nodes).zip(affected).filter(|(_, affected)| *affected)
        {
            let source = self.text.get(closed.source.clone()).unwrap_or_default();
            self.parsed_bytes += source.len() as u64;
            if let Some(top) = parse(source, &self.effective).blocks.into_iter().next() {
                closed.labels = top.labels;
                if *node.block != top.block {
                    node.block = Arc::new(top.block);
                    node.revision = self.revision;
                }
            }
        }
    }
}

/// How many of a text's first blocks can no longer change, and how many bytes it cost to find out.
///
/// A line that is not complete yet may still turn out to go on with the block before it, so only complete lines count.
fn count_final(text: &str, blocks: &[TopBlock], known: &Definitions) -> (usize, usize) {
    let complete = text.rfind('\n').map_or(0, |newline| newline + 1);
    if complete == text.len() {
        return (blocks.len().saturating_sub(1), 0);
    }
    if !blocks.get(1).is_some_and(|second| second.range.start < complete) {
        return (0, 0);
    }
    let lines = text.get(..complete).unwrap_or_default();
    (parse(lines, known).blocks.len().saturating_sub(1).min(blocks.len()), complete)
}

/// The end of the line in which `at` stands; `at` itself when a line begins there.
fn line_end(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or(text);
    if before.is_empty() || before.ends_with('\n') {
        return before.len();
    }
    let rest = text.get(before.len()..).unwrap_or_default();
    rest.find('\n').map_or(text.len(), |newline| before.len() + newline + 1)
}
