//! Growing documents against the same text parsed at once by the parser alone.

use std::sync::Arc;

use proptest::prelude::*;

use super::super::build::{Definitions, parse};
use super::super::{Align, Block, Inline};
use super::Document;

/// The tree of a text without anything incremental.
fn whole(text: &str) -> Vec<Block> {
    parse(text, &Definitions::new()).blocks.into_iter().map(|top| top.block).collect()
}

fn blocks(document: &Document) -> Vec<Block> {
    document.nodes().iter().map(|node| (*node.block).clone()).collect()
}

fn text(text: &str) -> Inline {
    Inline::Text(text.into())
}

/// Appends pieces and compares after each with the whole text so far.
fn grow(pieces: &[&str]) {
    let mut document = Document::default();
    let mut so_far = String::new();
    for piece in pieces {
        document.append(piece);
        so_far.push_str(piece);
        assert_eq!(blocks(&document), whole(&so_far), "after {piece:?} of {pieces:?}");
    }
}

/// Every way to cut a text in two, and one character at a time.
fn grow_every_way(text: &str) {
    let cuts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    for cut in &cuts {
        let (before, after) = text.split_at(*cut);
        grow(&[before, after]);
    }
    let characters: Vec<String> = text.chars().map(String::from).collect();
    grow(&characters.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn difficult_boundaries_give_the_tree_of_the_whole_text() {
    let cases = [
        "para\n===\nmore\n---\nend",
        "para\n#\n#foo\n# bar",
        "a\n\n```rust\nfn x() {\n\n}\n``\n```\nafter\n~~~\nopen\n```\nstill",
        "````md\n```\ninner\n```\n````\nx",
        "- a\n\n- b\n\n  more b\n\npara\n- c\n* d\n+ e",
        "1. a\n2. b\n   - c\n\n     d\n3. e\n1) f\n\n    code",
        "- [ ] open\n- [x] done\n- [x]not",
        "> quote\nlazy\n> more\n\n> other\n\n    code\n\n\n    code on\npara",
        "| a | b |\n|---|:-:|\n| 1 | 2 |\n| `|` | 3\n\nafter | x",
        "para\n| a |\n|---|\n| 1 |",
        "<div>\n*raw*\n\n*em*\n\n<!-- a\n\nb --> c\n\nd<br>e <b>f</b>",
        "see [late] and [x][late] and ![img][late]\n\npara\n\n[late]: https://a.example/ \"t\"\n\nend [late]",
        "[dup]: https://one.example/\n\npara [dup]\n\n[dup]: https://two.example/\n\nlast [dup]",
        "[a]:\n/not-a-url\n'ti\ntle'\n\n[a] [A] [ a ]\n\n[multi\nline]: https://m.example/\n\n[multi line]",
        "[foo]: https://a.example/\n'open title\n\nthen [foo]\n\n[foo]: https://b.example/\n",
        "line  \nbreak\\\nhere\n\n***\n- - -\n* * *\n\n  indented\n\n\ttab code\n",
        "**bold *both* rest** ~~gone~~ `code` <https://auto.example> <me@mail.example>\n\nx",
        "10. ten\n\n    in ten\n\n   out\n-\n\n  x\n- y",
        "- ```\n  code\n\n  more\n  ```\n- z\n\n```\n\n\nlast",
        "a\r\nb\r\n\r\n- c\r\n",
        "- a\n - b\n  - c\n   - d\n    - e\n\nx",
        "- \n[a]: https://a.example\n\t```rust\n\n",
        "- [a]: https://a.example\n[b]: /x\n\"y\n\n===\n\n[b]",
        "```rust\n```\t\n\n",
        "- see [1]\n- and [2]\n\n[1]: https://a.example\n[2]: https://b.example\nand text\n\nmore\n\nend",
        "> q [1]\n\n[1]: https://a.example\n    lazy\n\nend\n",
        "- a\n\n  [1]: https://a.example\n\nb [1]\n\nc",
        "```\n\n    \n  \nx\n   \n",
        "* a\n\n  > q\n  lazy\n\n  1. n\n\n     deep\n* b\n\ntail",
    ];
    for case in cases {
        let case: String = case.chars().filter(|c| *c != '\r').collect();
        grow_every_way(&case);
    }
}

#[test]
fn carriage_returns_make_no_difference() {
    assert_eq!(Document::new("a\r\n\r\n- b\r\n"), Document::new("a\n\n- b\n"));
}

fn fragment() -> impl Strategy<Value = String> {
    let pieces = vec![
        "\n",
        "\n\n",
        "\n",
        "\n    ",
        "\n  ",
        "- ",
        "* ",
        "1. ",
        "2) ",
        "> ",
        "# ",
        "```",
        "~~~",
        "```rust\n",
        "|",
        "| a | b |\n",
        "|---|---|\n",
        "---\n",
        "===\n",
        "[a]",
        "[b][a]",
        "[a]: https://a.example\n",
        "[a]: https://c.example 'x'\n",
        "[b]: /x\n\"y",
        "*",
        "**",
        "_",
        "`",
        "<b>",
        "<div>\n",
        "<!--",
        "-->",
        "<pre>",
        "![i](https://i.example)",
        "[l](https://l.example)",
        "~~",
        "[ ] ",
        "[x] ",
        "\\",
        " ",
        "  ",
        "\t",
        "word",
        "a b",
        "中文",
        "é",
        "&amp;",
        ":",
        "!",
        "(",
        ")",
        "<br>",
        "-",
        "+",
        "1",
        ".",
    ];
    prop_oneof![8 => prop::sample::select(pieces).prop_map(str::to_owned), 1 => "[a-c \n]{1,6}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn any_chunking_gives_the_tree_of_the_whole_text(pieces in prop::collection::vec(fragment(), 1..30)) {
        let mut document = Document::default();
        let mut so_far = String::new();
        for piece in &pieces {
            document.append(piece);
            so_far.push_str(piece);
            prop_assert_eq!(blocks(&document), whole(&so_far), "{:?}", so_far);
        }
        let together = Document::new(&so_far);
        prop_assert!(together == document);
    }
}

#[test]
fn blocks_that_are_final_keep_their_revision_and_their_allocation() {
    let mut document = Document::new("# Title\n\nfirst\n\nsecond\nline ");
    let before = document.nodes().to_vec();
    assert_eq!((document.closed(), before.len()), (2, 3));
    document.append("goes on");
    for (old, new) in before.iter().zip(document.nodes()).take(2) {
        assert_eq!(old.revision, new.revision);
        assert!(Arc::ptr_eq(&old.block, &new.block));
    }
    assert!(document.nodes()[2].revision > before[2].revision);
}

#[test]
fn setting_the_same_text_changes_nothing_and_a_longer_one_parses_only_the_rest() {
    let mut document = Document::new("one\n\ntwo\n\nthree");
    let cost = document.parsed_bytes();
    assert!(!document.set("one\n\ntwo\n\nthree"));
    assert_eq!(document.parsed_bytes(), cost);
    assert!(document.set("one\n\ntwo\n\nthree!"));
    assert!(document.parsed_bytes() < cost + 20);
    let seen = document.nodes()[0].revision;
    assert!(document.set("other"));
    assert_eq!(blocks(&document), whole("other"));
    assert!(document.nodes()[0].revision > seen);
}

#[test]
fn html_is_text_and_links_and_images_are_harmless() {
    let source = "<script>x</script>\n\n[a](javascript:x) [b](https://b.example) ![alt *t*](https://i.example/p.png) ![no](data:x) <i>";
    let Block::Paragraph(html) = &whole(source)[0] else { unreachable!() };
    assert_eq!(html, &[text("<script>x</script>")]);
    let Block::Paragraph(inlines) = &whole(source)[1] else { unreachable!() };
    assert_eq!(
        inlines,
        &[
            text("a "),
            Inline::Link { href: "https://b.example".into(), title: String::new(), content: vec![text("b")] },
            text(" "),
            Inline::Image {
                href: Some("https://i.example/p.png".into()),
                host: "i.example".into(),
                alt: "alt t".into(),
            },
            text(" "),
            Inline::Image { href: None, host: String::new(), alt: "no".into() },
            text(" <i>"),
        ]
    );
}

#[test]
fn tables_tasks_and_code_have_their_parts() {
    let tree = whole("| a | b |\n|:--|--:|\n| 1 | 2 |\n\n- [x] done\n\n```Rust,ignore\nx\n```\n");
    let cell = |s: &str| vec![text(s)];
    assert_eq!(
        tree[0],
        Block::Table {
            align: vec![Align::Start, Align::End],
            head: vec![cell("a"), cell("b")],
            rows: vec![vec![cell("1"), cell("2")]],
        }
    );
    let Block::List { start: None, items } = &tree[1] else { unreachable!() };
    assert_eq!(items[0].checked, Some(true));
    assert_eq!(tree[2], Block::Code { language: "rust".into(), code: "x\n".into() });
}

#[test]
fn nesting_without_end_is_shown_flat_and_loses_no_text() {
    for source in [">".repeat(5000) + " deep", "- ".repeat(3000) + "deep", "*a ".repeat(3000) + "deep"] {
        let document = Document::new(&source);
        assert!(format!("{:?}", blocks(&document)).contains("deep"));
    }
}

/// 60 kB in 2,000 pieces, of a kind of text that models write.
fn cost_of(text: &str) -> f64 {
    let mut document = Document::default();
    let mut rest = text;
    while !rest.is_empty() {
        let mut end = rest.len().min(30);
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        let (piece, after) = rest.split_at(end);
        document.append(piece);
        rest = after;
    }
    assert_eq!(blocks(&document), whole(text));
    document.parsed_bytes() as f64 / text.len() as f64
}

#[test]
fn streaming_costs_a_bounded_number_of_passes_over_the_text() {
    let prose =
        "Some words of a paragraph that a model writes, with **emphasis** and `code` in it.\n\n".repeat(730);
    let list = "- **Point.** What it means, in about one line of text.\n".repeat(1050);
    let numbered = "1. First\n   - with *details*\n   - and more\n\n   and a paragraph\n".repeat(900);
    let code = format!("```rust\n{}```\n", "    let value = compute(&input, 42)?;\n".repeat(1600));
    let sections = "## A section\n\nText under it.\n\n- one\n- two\n\n```js\nlet x = 1;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
        .repeat(600);
    for (name, text) in
        [("prose", prose), ("list", list), ("numbered", numbered), ("code", code), ("sections", sections)]
    {
        let passes = cost_of(&text);
        assert!(passes < 6.0, "{name}: {passes} passes");
    }
}
