//! From the parser's events to the tree, with a bound on nesting, because the text is foreign.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use pulldown_cmark::{
    Alignment, BrokenLink, CodeBlockKind, CowStr, Event, LinkType, Options, Parser, Tag, TagEnd,
};

use super::link::{link_host, safe_link};
use super::tree::{Align, Block, Inline, Item};

/// Deepest nesting of blocks and inlines together; what is deeper is shown at this depth.
const DEPTH_MAX: usize = 48;

/// Where a reference leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Definition {
    pub(super) href: String,
    pub(super) title: String,
}

/// Definitions by their normalised label.
pub(super) type Definitions = BTreeMap<String, Definition>;

/// A block with what decides whether it must be parsed again.
#[derive(Debug)]
pub(super) struct TopBlock {
    pub(super) block: Block,
    /// Where it stands in the parsed text.
    pub(super) range: Range<usize>,
    /// The labels it refers to, defined or not.
    pub(super) labels: BTreeSet<String>,
    /// For a list: where its items begin.
    pub(super) items: Vec<usize>,
}

/// What came of parsing a text.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub(super) blocks: Vec<TopBlock>,
    /// Definitions that the text itself contains, with where they begin.
    pub(super) definitions: Vec<(String, Definition, usize)>,
}

/// The form in which labels are compared: one space between words, no case.
fn normalised(label: &str) -> String {
    label.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Parses a text. `known` definitions come from text before it and win over its own.
pub(super) fn parse(text: &str, known: &Definitions) -> Parsed {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let labels = RefCell::new(BTreeSet::new());
    let resolve = |link: BrokenLink<'_>| {
        let label = normalised(&link.reference);
        let found = known.get(&label).map(|found| (found.href.clone().into(), found.title.clone().into()));
        labels.borrow_mut().insert(label);
        found
    };
    let parser = Parser::new_with_broken_link_callback(text, options, Some(resolve));
    let mut parsed = Parsed::default();
    for (label, definition) in parser.reference_definitions().iter() {
        let title = definition.title.as_deref().unwrap_or_default().to_owned();
        let definition_text = Definition { href: definition.dest.to_string(), title };
        parsed.definitions.push((normalised(label), definition_text, definition.span.start));
    }
    // The parser keeps them in a hash map.
    parsed.definitions.sort_by_key(|(_, _, start)| *start);
    let mut builder = Builder { stack: vec![Frame::new(Kind::Root)], known, labels: &labels };
    let mut range = 0..0;
    let mut items = Vec::new();
    for (event, at) in parser.into_offset_iter() {
        match builder.stack.len() {
            1 => range = at,
            2 if matches!(event, Event::Start(Tag::Item)) => items.push(at.start),
            _ => {}
        }
        builder.event(event);
        if let [root] = builder.stack.as_mut_slice() {
            parsed.blocks.extend(root.blocks.drain(..).map(|block| TopBlock {
                block,
                range: range.clone(),
                labels: std::mem::take(&mut *labels.borrow_mut()),
                items: std::mem::take(&mut items),
            }));
        }
    }
    parsed
}

#[derive(Debug)]
enum Kind {
    Root,
    Paragraph,
    Html,
    Heading(u8),
    Quote,
    Code(String),
    List(Option<u64>),
    Item,
    Table(Vec<Align>),
    TableHead,
    TableRow,
    Cell,
    Emphasis,
    Strong,
    Strikethrough,
    Link {
        href: Option<String>,
        title: String,
    },
    Image {
        href: Option<String>,
    },
    /// Too deep or of no meaning here: its content belongs to what is around it.
    Flat,
}

/// Something begun and not yet ended, with what is in it so far.
#[derive(Debug)]
struct Frame {
    kind: Kind,
    blocks: Vec<Block>,
    inlines: Vec<Inline>,
    items: Vec<Arc<Item>>,
    checked: Option<bool>,
    cells: Vec<Vec<Inline>>,
    head: Vec<Vec<Inline>>,
    rows: Vec<Vec<Vec<Inline>>>,
}

impl Frame {
    const fn new(kind: Kind) -> Self {
        Self {
            kind,
            blocks: Vec::new(),
            inlines: Vec::new(),
            items: Vec::new(),
            checked: None,
            cells: Vec::new(),
            head: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Running text directly in a container (an item of a tight list) is a paragraph there.
    fn close_paragraph(&mut self) {
        if matches!(self.kind, Kind::Root | Kind::Item | Kind::Quote) && !self.inlines.is_empty() {
            self.blocks.push(Block::Paragraph(std::mem::take(&mut self.inlines)));
        }
    }

    fn text(&mut self, text: &str) {
        if let Some(Inline::Text(last)) = self.inlines.last_mut() {
            last.push_str(text);
        } else if !text.is_empty() {
            self.inlines.push(Inline::Text(text.to_owned()));
        }
    }
}

struct Builder<'a> {
    stack: Vec<Frame>,
    known: &'a Definitions,
    labels: &'a RefCell<BTreeSet<String>>,
}

impl Builder<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(end) => self.end(end),
            Event::Text(text) | Event::InlineMath(text) | Event::DisplayMath(text) => self.text(&text),
            Event::Code(code) => self.inline(Inline::Code(code.into_string())),
            Event::Html(html) => self.html_lines(&html),
            Event::InlineHtml(html) => {
                let tag = html.trim_matches(['<', '>', '/', ' ']);
                if tag.eq_ignore_ascii_case("br") {
                    self.inline(Inline::LineBreak);
                } else {
                    self.text(&html);
                }
            }
            Event::FootnoteReference(label) => self.text(&label),
            Event::SoftBreak => self.inline(Inline::SoftBreak),
            Event::HardBreak => self.inline(Inline::LineBreak),
            Event::Rule => {
                if let Some(top) = self.stack.last_mut() {
                    top.close_paragraph();
                    top.blocks.push(Block::Rule);
                }
            }
            Event::TaskListMarker(checked) => {
                let item = self.stack.iter_mut().rev().find(|frame| matches!(frame.kind, Kind::Item));
                if let Some(item) = item {
                    item.checked = Some(checked);
                }
            }
        }
    }

    fn text(&mut self, text: &str) {
        if let Some(top) = self.stack.last_mut() {
            top.text(text);
        }
    }

    fn inline(&mut self, inline: Inline) {
        if let Some(top) = self.stack.last_mut() {
            top.inlines.push(inline);
        }
    }

    /// Raw HTML comes line by line, with the line breaks.
    fn html_lines(&mut self, html: &str) {
        let Some(top) = self.stack.last_mut() else { return };
        for line in html.split_inclusive('\n') {
            top.text(line.trim_end_matches('\n'));
            if line.ends_with('\n') {
                top.inlines.push(Inline::LineBreak);
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        let mut kind = match tag {
            Tag::Paragraph => Kind::Paragraph,
            Tag::HtmlBlock => Kind::Html,
            Tag::Heading { level, .. } => Kind::Heading(level as u8),
            Tag::BlockQuote(_) => Kind::Quote,
            Tag::CodeBlock(kind) => Kind::Code(language(&kind)),
            Tag::List(start) => Kind::List(start),
            Tag::Item => Kind::Item,
            Tag::Table(columns) => Kind::Table(columns.into_iter().map(align).collect()),
            Tag::TableHead => Kind::TableHead,
            Tag::TableRow => Kind::TableRow,
            Tag::TableCell => Kind::Cell,
            Tag::Emphasis => Kind::Emphasis,
            Tag::Strong => Kind::Strong,
            Tag::Strikethrough => Kind::Strikethrough,
            Tag::Link { link_type, dest_url, title, id } => {
                let Definition { href, title } = self.target(link_type, dest_url, title, &id);
                Kind::Link { href: safe_link(&href).map(str::to_owned), title }
            }
            Tag::Image { link_type, dest_url, title, id } => {
                let Definition { href, .. } = self.target(link_type, dest_url, title, &id);
                let href = safe_link(&href).filter(|href| !link_host(href).is_empty()).map(str::to_owned);
                Kind::Image { href }
            }
            Tag::Superscript
            | Tag::Subscript
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::MetadataBlock(_) => Kind::Flat,
        };
        // Lists and tables need room for their parts.
        let parts = match kind {
            Kind::List(_) => 1,
            Kind::Table(_) => 2,
            _ => 0,
        };
        if self.stack.len() + parts >= DEPTH_MAX {
            kind = Kind::Flat;
        }
        let is_block = matches!(
            kind,
            Kind::Paragraph
                | Kind::Html
                | Kind::Heading(_)
                | Kind::Quote
                | Kind::Code(_)
                | Kind::List(_)
                | Kind::Table(_)
        );
        if is_block && let Some(top) = self.stack.last_mut() {
            top.close_paragraph();
        }
        self.stack.push(Frame::new(kind));
    }

    /// Where a link leads: a definition from earlier text wins over one that the parser found here.
    fn target(&self, link_type: LinkType, href: CowStr<'_>, title: CowStr<'_>, id: &str) -> Definition {
        let by_label = matches!(
            link_type,
            LinkType::Reference
                | LinkType::ReferenceUnknown
                | LinkType::Collapsed
                | LinkType::CollapsedUnknown
                | LinkType::Shortcut
                | LinkType::ShortcutUnknown
        );
        if by_label {
            let label = normalised(id);
            let found = self.known.get(&label).cloned();
            self.labels.borrow_mut().insert(label);
            if let Some(found) = found {
                return found;
            }
        }
        let href = if link_type == LinkType::Email { format!("mailto:{href}") } else { href.into_string() };
        Definition { href, title: title.into_string() }
    }

    fn end(&mut self, end: TagEnd) {
        if self.stack.len() < 2 {
            return;
        }
        let Some(mut frame) = self.stack.pop() else { return };
        let Some(parent) = self.stack.last_mut() else { return };
        frame.close_paragraph();
        let inlines = std::mem::take(&mut frame.inlines);
        match frame.kind {
            Kind::Root => {}
            Kind::Paragraph => parent.blocks.push(Block::Paragraph(inlines)),
            Kind::Html => parent.blocks.push(Block::Paragraph(without_last_break(inlines))),
            Kind::Heading(level) => parent.blocks.push(Block::Heading { level, content: inlines }),
            Kind::Quote => parent.blocks.push(Block::Quote(frame.blocks)),
            Kind::Code(language) => parent.blocks.push(Block::Code { language, code: plain(&inlines) }),
            Kind::List(start) => parent.blocks.push(Block::List { start, items: frame.items }),
            Kind::Item => {
                parent.items.push(Arc::new(Item { checked: frame.checked, blocks: frame.blocks }));
            }
            Kind::Table(align) => {
                parent.blocks.push(Block::Table { align, head: frame.head, rows: frame.rows });
            }
            Kind::TableHead => parent.head = frame.cells,
            Kind::TableRow => parent.rows.push(frame.cells),
            Kind::Cell => parent.cells.push(inlines),
            Kind::Emphasis => parent.inlines.push(Inline::Emphasis(inlines)),
            Kind::Strong => parent.inlines.push(Inline::Strong(inlines)),
            Kind::Strikethrough => parent.inlines.push(Inline::Strikethrough(inlines)),
            Kind::Link { href: Some(href), title } => {
                parent.inlines.push(Inline::Link { href, title, content: inlines });
            }
            Kind::Link { href: None, .. } => parent.inlines.extend(inlines),
            Kind::Image { href } => {
                let host = href.as_deref().map(link_host).unwrap_or_default().to_owned();
                parent.inlines.push(Inline::Image { href, host, alt: plain(&inlines) });
            }
            Kind::Flat => {
                parent.blocks.extend(frame.blocks);
                parent.inlines.extend(inlines);
                if matches!(end, TagEnd::Paragraph | TagEnd::CodeBlock | TagEnd::Heading(_) | TagEnd::Item) {
                    parent.inlines.push(Inline::SoftBreak);
                }
            }
        }
    }
}

fn align(alignment: Alignment) -> Align {
    match alignment {
        Alignment::None | Alignment::Left => Align::Start,
        Alignment::Center => Align::Center,
        Alignment::Right => Align::End,
    }
}

fn language(kind: &CodeBlockKind<'_>) -> String {
    match kind {
        CodeBlockKind::Indented => String::new(),
        CodeBlockKind::Fenced(info) => language_of(info),
    }
}

/// The language that a fence's info text names.
fn language_of(info: &str) -> String {
    info.split(|c: char| c.is_whitespace() || c == ',').next().unwrap_or_default().to_lowercase()
}

fn without_last_break(mut inlines: Vec<Inline>) -> Vec<Inline> {
    if inlines.last() == Some(&Inline::LineBreak) {
        inlines.pop();
    }
    inlines
}

/// The text of inlines without their form.
fn plain(inlines: &[Inline]) -> String {
    let mut text = String::new();
    let mut pending: Vec<_> = inlines.iter().rev().collect();
    while let Some(inline) = pending.pop() {
        match inline {
            Inline::Text(part) | Inline::Code(part) | Inline::Image { alt: part, .. } => text.push_str(part),
            Inline::Emphasis(content)
            | Inline::Strong(content)
            | Inline::Strikethrough(content)
            | Inline::Link { content, .. } => pending.extend(content.iter().rev()),
            Inline::SoftBreak | Inline::LineBreak => text.push(' '),
        }
    }
    text
}
