//! Draws a Markdown tree into the page, node by node, and on a change touches only what differs.
//!
//! Every block and every inline is exactly one DOM node, so old and new trees are compared place by place.

use std::sync::Arc;

use leptos::prelude::document;
use panelot_view::markdown::{Align, Block, Document, Inline, Item, Node};
use wasm_bindgen::{JsCast as _, UnwrapThrowExt as _};
use web_sys::{Element, Text};

use panelot_ui::i18n::Messages;

/// The drawn form of one document.
pub struct Prose {
    root: Element,
    words: Messages,
    drawn: Vec<(u64, Arc<Block>)>,
}

impl Prose {
    /// Will draw into `root`, which holds nothing else.
    #[must_use]
    pub fn new(root: Element, words: Messages) -> Self {
        // Leptos leaves a comment in an element without children, which would shift every place by one.
        root.set_text_content(None);
        Self { root, words, drawn: Vec::new() }
    }

    /// Brings the page up to date with `document`.
    pub fn update(&mut self, document: &Document) {
        let nodes = document.nodes();
        for (index, node) in nodes.iter().enumerate() {
            match self.drawn.get(index) {
                // The stored form of a message is another document, whose revisions begin anew.
                Some((revision, block)) if *revision == node.revision && Arc::ptr_eq(block, &node.block) => {}
                Some((_, before)) => self.redraw(index, &before.clone(), node),
                None => {
                    append(&self.root, &self.block(&node.block));
                    self.drawn.push((node.revision, Arc::clone(&node.block)));
                }
            }
        }
        while self.drawn.len() > nodes.len() {
            self.drawn.pop();
            remove_last(&self.root);
        }
    }

    fn redraw(&mut self, index: usize, before: &Block, node: &Node) {
        if let Some(drawn) = child(&self.root, index)
            && !self.patch(&drawn, before, &node.block)
        {
            replace(&drawn, &self.block(&node.block));
        }
        if let Some(slot) = self.drawn.get_mut(index) {
            *slot = (node.revision, Arc::clone(&node.block));
        }
    }

    /// Changes a drawn block in place; `false` when it must be drawn anew.
    fn patch(&self, drawn: &web_sys::Node, before: &Block, after: &Block) -> bool {
        match (before, after) {
            (Block::Paragraph(old), Block::Paragraph(new)) => self.patch_inlines(drawn, old, new),
            (Block::Heading { level: a, content: old }, Block::Heading { level: b, content: new })
                if a == b =>
            {
                self.patch_inlines(drawn, old, new)
            }
            (Block::Code { language: a, .. }, Block::Code { language: b, code }) if a == b => {
                let text = drawn.dyn_ref::<Element>().and_then(|it| it.query_selector("code").ok().flatten());
                let text = text.and_then(|code| code.first_child());
                set_data(text.as_ref(), code)
            }
            (Block::Quote(old), Block::Quote(new)) => self.patch_blocks(drawn, old, new),
            (Block::List { start: a, items: old }, Block::List { start: b, items: new }) if a == b => {
                self.patch_items(drawn, old, new)
            }
            _ => false,
        }
    }

    fn patch_inlines(&self, parent: &web_sys::Node, old: &[Inline], new: &[Inline]) -> bool {
        for (index, inline) in new.iter().enumerate() {
            match old.get(index) {
                Some(before) if before == inline => {}
                Some(before) => {
                    let Some(drawn) = child(parent, index) else { return false };
                    let kept = match (before, inline) {
                        (Inline::Text(_), Inline::Text(text)) => set_data(Some(&drawn), text),
                        _ => false,
                    };
                    if !kept {
                        replace(&drawn, &self.inline(inline));
                    }
                }
                None => append(parent, &self.inline(inline)),
            }
        }
        (new.len()..old.len()).for_each(|_| remove_last(parent));
        true
    }

    fn patch_blocks(&self, parent: &web_sys::Node, old: &[Block], new: &[Block]) -> bool {
        for (index, block) in new.iter().enumerate() {
            match old.get(index) {
                Some(before) if before == block => {}
                Some(before) => {
                    let Some(drawn) = child(parent, index) else { return false };
                    if !self.patch(&drawn, before, block) {
                        replace(&drawn, &self.block(block));
                    }
                }
                None => append(parent, &self.block(block)),
            }
        }
        (new.len()..old.len()).for_each(|_| remove_last(parent));
        true
    }

    fn patch_items(&self, parent: &web_sys::Node, old: &[Arc<Item>], new: &[Arc<Item>]) -> bool {
        for (index, item) in new.iter().enumerate() {
            match old.get(index) {
                Some(before) if Arc::ptr_eq(before, item) || before == item => {}
                Some(before) => {
                    let Some(drawn) = child(parent, index) else { return false };
                    let plain = before.checked.is_none() && item.checked.is_none();
                    if !(plain && self.patch_blocks(&drawn, &before.blocks, &item.blocks)) {
                        replace(&drawn, &self.item(item));
                    }
                }
                None => append(parent, &self.item(item)),
            }
        }
        (new.len()..old.len()).for_each(|_| remove_last(parent));
        true
    }

    fn block(&self, block: &Block) -> Element {
        match block {
            Block::Paragraph(content) => self.with_inlines("p", content),
            Block::Heading { level, content } => {
                // The page's own headings are of level 1 and 2.
                let tag = ["h3", "h4", "h5"].get(usize::from(level.saturating_sub(1))).unwrap_or(&"h6");
                let heading = self.with_inlines(tag, content);
                set(&heading, "data-level", &level.to_string());
                heading
            }
            Block::Code { language, code } => self.code(language, code),
            Block::Quote(blocks) => {
                let quote = element("blockquote");
                blocks.iter().for_each(|block| append(&quote, &self.block(block)));
                quote
            }
            Block::List { start, items } => {
                let list = element(if start.is_some() { "ol" } else { "ul" });
                if let Some(first) = start.filter(|first| *first != 1) {
                    set(&list, "start", &first.to_string());
                }
                items.iter().for_each(|item| append(&list, &self.item(item)));
                list
            }
            Block::Table { align, head, rows } => self.table(align, head, rows),
            Block::Rule => element("hr"),
        }
    }

    fn item(&self, item: &Item) -> Element {
        let drawn = element("li");
        if let Some(checked) = item.checked {
            set(&drawn, "class", "task");
            let mark = element("span");
            set(&mark, "class", "task-mark");
            mark.set_text_content(Some(if checked { "☑" } else { "☐" }));
            append(&drawn, &mark);
        }
        item.blocks.iter().for_each(|block| append(&drawn, &self.block(block)));
        drawn
    }

    fn code(&self, language: &str, code: &str) -> Element {
        let (block, head, name, copy) = (element("div"), element("div"), element("span"), element("button"));
        set(&block, "class", "code-block");
        set(&head, "class", "code-head");
        name.set_text_content(Some(if language.is_empty() { self.words.code() } else { language }));
        set(&copy, "type", "button");
        set(&copy, "data-copy", "");
        copy.set_text_content(Some(self.words.copy()));
        let (pre, inner) = (element("pre"), element("code"));
        // It scrolls, so the keyboard must reach it.
        set(&pre, "tabindex", "0");
        append(&inner, &document().create_text_node(code));
        append(&pre, &inner);
        append(&head, &name);
        append(&head, &copy);
        append(&block, &head);
        append(&block, &pre);
        block
    }

    fn table(&self, align: &[Align], head: &[Vec<Inline>], rows: &[Vec<Vec<Inline>>]) -> Element {
        let (scroll, table, thead, tbody) =
            (element("div"), element("table"), element("thead"), element("tbody"));
        set(&scroll, "class", "table-scroll");
        set(&scroll, "tabindex", "0");
        let row = |tag: &str, cells: &[Vec<Inline>]| {
            let row = element("tr");
            for (cell, align) in cells.iter().zip(align) {
                let drawn = self.with_inlines(tag, cell);
                match align {
                    Align::Start => {}
                    Align::Center => set(&drawn, "data-align", "center"),
                    Align::End => set(&drawn, "data-align", "right"),
                }
                append(&row, &drawn);
            }
            row
        };
        append(&thead, &row("th", head));
        rows.iter().for_each(|cells| append(&tbody, &row("td", cells)));
        append(&table, &thead);
        append(&table, &tbody);
        append(&scroll, &table);
        scroll
    }

    fn with_inlines(&self, tag: &str, content: &[Inline]) -> Element {
        let drawn = element(tag);
        content.iter().for_each(|inline| append(&drawn, &self.inline(inline)));
        drawn
    }

    fn inline(&self, inline: &Inline) -> web_sys::Node {
        match inline {
            Inline::Text(text) => document().create_text_node(text).into(),
            Inline::SoftBreak => document().create_text_node(" ").into(),
            Inline::LineBreak => element("br").into(),
            Inline::Code(code) => {
                let drawn = element("code");
                drawn.set_text_content(Some(code));
                drawn.into()
            }
            Inline::Emphasis(content) => self.with_inlines("em", content).into(),
            Inline::Strong(content) => self.with_inlines("strong", content).into(),
            Inline::Strikethrough(content) => self.with_inlines("s", content).into(),
            Inline::Link { href, title, content } => {
                let link = self.with_inlines("a", content);
                lead_to(&link, href);
                // Where it leads is told before it is followed.
                set(&link, "title", if title.is_empty() { href } else { title });
                link.into()
            }
            Inline::Image { href, host, alt } => {
                let text = match (alt.is_empty(), host.is_empty()) {
                    (true, _) => self.words.image_from(host),
                    (false, true) => self.words.image(alt),
                    (false, false) => format!("{} ({host})", self.words.image(alt)),
                };
                let drawn = element(if href.is_some() { "a" } else { "span" });
                set(&drawn, "class", "image-link");
                if let Some(href) = href {
                    lead_to(&drawn, href);
                }
                drawn.set_text_content(Some(&text));
                drawn.into()
            }
        }
    }
}

fn element(tag: &str) -> Element {
    document().create_element(tag).expect_throw("the tag names here are valid")
}

fn set(element: &Element, name: &str, value: &str) {
    element.set_attribute(name, value).expect_throw("the attribute names here are valid");
}

fn lead_to(link: &Element, href: &str) {
    set(link, "href", href);
    set(link, "target", "_blank");
    set(link, "rel", "noopener noreferrer");
}

fn append(parent: &web_sys::Node, node: &web_sys::Node) {
    parent.append_child(node).expect_throw("a fresh node can be appended");
}

fn child(parent: &web_sys::Node, index: usize) -> Option<web_sys::Node> {
    parent.child_nodes().get(u32::try_from(index).ok()?)
}

fn remove_last(parent: &web_sys::Node) {
    if let Some(last) = parent.last_child() {
        let _ = parent.remove_child(&last);
    }
}

fn replace(before: &web_sys::Node, after: &web_sys::Node) {
    if let Some(parent) = before.parent_node() {
        let _ = parent.replace_child(after, before);
    }
}

fn set_data(node: Option<&web_sys::Node>, text: &str) -> bool {
    let Some(node) = node.and_then(|node| node.dyn_ref::<Text>()) else { return false };
    let data = node.data();
    match text.strip_prefix(data.as_str()) {
        Some("") => {}
        // Appending keeps a selection inside the text.
        Some(more) => return node.append_data(more).is_ok(),
        None => node.set_data(text),
    }
    true
}
