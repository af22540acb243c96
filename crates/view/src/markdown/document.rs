//! A document that grows at its end.
//!
//! Block structure is decided line by line, so a block is final once a complete line has ended it or begun another
//! one. Final blocks, and final items of a list that still grows, are never parsed again, except when a reference that
//! they use is defined later; a growing code block is not parsed at all.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use super::build::{Definition, Definitions, TopBlock, parse};
use super::fence::Fence;
use super::tree::{Block, Item};

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

/// The final items of a list that still grows.
#[derive(Clone, Debug)]
struct GrowingList {
    start: Option<u64>,
    items: Vec<Arc<Item>>,
    labels: BTreeSet<String>,
}

/// A code block at the end whose fence is open: its code is the text after the first line.
#[derive(Clone, Debug)]
struct GrowingCode {
    fence: Fence,
    /// Where the code begins.
    start: usize,
    /// Where its last line begins.
    line: usize,
}

/// A Markdown text and its tree.
#[derive(Clone, Debug, Default)]
pub struct Document {
    text: String,
    nodes: Vec<Node>,
    /// For each of the first nodes: those that are final.
    closed: Vec<Closed>,
    /// Where the source of the first block begins that is not final.
    open_block: usize,
    /// Where the text begins that must be parsed; behind `open_block` when that is a list with final items.
    open_text: usize,
    list: Option<GrowingList>,
    code: Option<GrowingCode>,
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
        self.text.extend(clean(more));
        if !self.grow_code() {
            self.parse_open();
        }
    }

    /// Makes `text` the whole text. Costs nothing when it is that already, and little when it only continues it.
    /// Returns whether anything changed.
    pub fn set(&mut self, text: &str) -> bool {
        let clean: String = clean(text).collect();
        if let Some(more) = clean.strip_prefix(self.text.as_str()) {
            self.append(more);
            return !more.is_empty();
        }
        let revision = self.revision + 1;
        *self = Self { revision, parsed_bytes: self.parsed_bytes, ..Self::default() };
        self.append(&clean);
        true
    }

    /// Adds new text to a growing code block. Returns whether that is all there was to do.
    fn grow_code(&mut self) -> bool {
        let Some(code) = &mut self.code else { return false };
        let lines = self.text.get(code.line..).unwrap_or_default();
        let Some(node) = self.nodes.last_mut().filter(|_| !code.fence.closes_in(lines)) else {
            self.code = None;
            return false;
        };
        code.line = lines.rfind('\n').map_or(code.line, |newline| code.line + newline + 1);
        // The parser shows no last line of up to three spaces: a closing fence may follow them.
        let last = self.text.get(code.line..).unwrap_or_default();
        let end = if matches!(last, "" | " " | "  " | "   ") { code.line } else { self.text.len() };
        let content = self.text.get(code.start..end).unwrap_or_default();
        if let Block::Code { code, .. } = Arc::make_mut(&mut node.block)
            && let Some(more) = content.get(code.len()..)
        {
            code.push_str(more);
            node.revision = self.revision;
        }
        true
    }

    fn parse_open(&mut self) {
        let from = self.open_text;
        let region = self.text.get(from..).unwrap_or_default();
        let mut parsed = parse(region, &self.known);
        let (final_blocks, bytes) = count_final(region, &parsed.blocks, &self.known);
        self.parsed_bytes += (region.len() + bytes) as u64;
        let complete = region.rfind('\n').map_or(0, |newline| newline + 1);
        if let Some(list) = &self.list
            && !parsed.blocks.first_mut().is_some_and(|first| list.continue_in(&mut first.block))
        {
            // Not reached as far as is known; parsing the list as a whole is always right.
            (self.list, self.open_text) = (None, self.open_block);
            return self.parse_open();
        }
        let first_open = self.closed.len();
        for top in parsed.blocks.iter().take(final_blocks) {
            let Some(end) = block_end(region, top, &parsed.definitions) else { break };
            let end = from + end;
            let mut labels = top.labels.clone();
            labels.extend(self.list.take().into_iter().flat_map(|list| list.labels));
            self.closed.push(Closed { source: self.open_block..end, labels });
            (self.open_block, self.open_text) = (end, end);
        }
        let closed_now = self.closed.len() - first_open;
        if let Some(top) = parsed.blocks.get(closed_now) {
            if let Some(at) =
                top.items.iter().rev().find(|at| **at < complete).filter(|_| top.items.len() > 1)
            {
                self.close_items(from, *at, complete, top);
            }
            if parsed.blocks.len() == closed_now + 1 {
                self.code = self.growing_code(from + top.range.start, &top.block);
            }
        }
        let committed = self.open_text - from;
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

    /// The items before the last one that a complete line began are final.
    fn close_items(&mut self, from: usize, last: usize, complete: usize, top: &TopBlock) {
        let Block::List { start, items } = &top.block else { return };
        let open = top.items.iter().filter(|at| **at >= last || **at >= complete).count();
        let labels =
            self.list.take().into_iter().flat_map(|list| list.labels).chain(top.labels.clone()).collect();
        let items = items.iter().take(items.len().saturating_sub(open)).cloned().collect();
        self.list = Some(GrowingList { start: *start, items, labels });
        let before = self.text.get(..from + last).unwrap_or_default();
        self.open_text = before.rfind('\n').map_or(0, |newline| newline + 1).max(from);
    }

    /// Whether a code block that begins at `at` grows at the end of the text.
    fn growing_code(&self, at: usize, block: &Block) -> Option<GrowingCode> {
        let Block::Code { code, .. } = block else { return None };
        let source = self.text.get(at..)?;
        let fence = Fence::of(source)?;
        let (first, content) = source.split_once('\n')?;
        if at > 0 && !self.text.get(..at)?.ends_with('\n') || content != code || fence.closes_in(content) {
            return None;
        }
        let start = at + first.len() + 1;
        let line = content.rfind('\n').map_or(start, |newline| start + newline + 1);
        Some(GrowingCode { fence, start, line })
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
        let list_affected = self.list.as_ref().is_some_and(|list| list.labels.iter().any(changed));
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
        if list_affected {
            self.redefine_list();
        }
    }

    /// Parses the final items of a growing list again.
    fn redefine_list(&mut self) {
        let source = self.text.get(self.open_block..self.open_text).unwrap_or_default();
        self.parsed_bytes += source.len() as u64;
        let (Some(list), Some(node)) = (&mut self.list, self.nodes.get_mut(self.closed.len())) else {
            return;
        };
        let Some(top) = parse(source, &self.effective).blocks.into_iter().next() else { return };
        let (Block::List { items: now, .. }, Block::List { items, .. }) =
            (top.block, Arc::make_mut(&mut node.block))
        else {
            return;
        };
        list.labels = top.labels;
        for (shown, new) in items.iter_mut().zip(&now) {
            if shown != new {
                shown.clone_from(new);
                node.revision = self.revision;
            }
        }
        list.items = now;
    }
}

impl GrowingList {
    /// Puts the final items before those of a block. Returns whether it is a list.
    fn continue_in(&self, block: &mut Block) -> bool {
        let Block::List { start, items } = block else { return false };
        *start = self.start;
        items.splice(..0, self.items.iter().cloned());
        true
    }
}

fn clean(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|c| *c != '\r').map(|c| if c == '\0' { '\u{fffd}' } else { c })
}

/// How many of a text's first blocks can no longer change, and how many bytes it cost to find out.
///
/// A line that is not complete yet may still turn out to go on with the block before it, so only complete lines count.
fn count_final(text: &str, blocks: &[TopBlock], known: &Definitions) -> (usize, usize) {
    let complete = text.rfind('\n').map_or(0, |newline| newline + 1);
    let lines = text.get(..complete).unwrap_or_default();
    let sealed = blocks.iter().rposition(|top| is_sealed(lines, top)).map_or(0, |last| last + 1);
    if complete == text.len() {
        return (blocks.len().saturating_sub(1).max(sealed), 0);
    }
    if blocks.get(sealed + 1).is_none_or(|next| next.range.start >= complete) {
        return (sealed, 0);
    }
    let ended = parse(lines, known).blocks.len().saturating_sub(1).min(blocks.len());
    (ended.max(sealed), complete)
}

/// Whether complete lines have ended a block, whatever comes next.
fn is_sealed(lines: &str, top: &TopBlock) -> bool {
    let Range { start, end } = top.range;
    let (Some(source), Some(before)) = (lines.get(start..), lines.get(..start)) else { return false };
    match &top.block {
        Block::Heading { .. } | Block::Rule => {
            lines.get(..end).is_some() && boundary(lines, end) <= lines.len()
        }
        Block::Paragraph(_) | Block::Table { .. } | Block::Quote(_) => {
            let after = lines.get(boundary(lines, end)..).unwrap_or_default();
            after.lines().any(|line| line.trim().is_empty())
        }
        Block::Code { .. } => {
            let at_line_start = before.is_empty() || before.ends_with('\n');
            let content = source.split_once('\n').map_or("", |(_, content)| content);
            at_line_start && Fence::of(source).is_some_and(|fence| fence.closes_in(content))
        }
        Block::List { .. } => false,
    }
}

/// Where a final block ends; none when that cannot be told.
///
/// To a list or a quotation the parser counts definitions of references that follow it. They begin a paragraph that
/// may go on with the next block, so the block must end before them.
fn block_end(text: &str, top: &TopBlock, definitions: &[(String, Definition, usize)]) -> Option<usize> {
    let end = boundary(text, top.range.end);
    let content = match &top.block {
        Block::List { .. } => top.items.last().copied().unwrap_or(top.range.start),
        Block::Quote(_) => top.range.start,
        _ => return Some(end),
    };
    let mut line_start = text.get(..content)?.rfind('\n').map_or(0, |newline| newline + 1);
    let mut after_blank = false;
    for line in text.get(line_start..end)?.split_inclusive('\n') {
        let marks = line.trim_start_matches(' ');
        if marks.starts_with('[') && marks.contains("]:") {
            let indent = line.len() - marks.len();
            let is_definition = definitions.iter().any(|(_, _, at)| *at == line_start + indent);
            // The content of a list's item is indented by two columns at least, that of a quotation has its mark; only
            // a line right after another one may go on with its paragraph without them.
            let outside = after_blank && (indent < 2 || matches!(top.block, Block::Quote(_)));
            return (is_definition && outside).then_some(line_start);
        }
        after_blank = marks.trim().is_empty();
        line_start += line.len();
    }
    Some(end)
}

/// Where the line begins after a block that ends at `end`. The parser counts the indentation of the next line to some.
fn boundary(text: &str, end: usize) -> usize {
    let before = text.get(..end).unwrap_or(text);
    let line = before.rfind('\n').map_or(0, |newline| newline + 1);
    if before.get(line..).unwrap_or_default().trim().is_empty() {
        return line;
    }
    let rest = text.get(before.len()..).unwrap_or_default();
    rest.find('\n').map_or(text.len(), |newline| before.len() + newline + 1)
}

#[cfg(test)]
mod tests;
