//! Records of a thread as the engine would have left them: questions and answers by turns, all of one branch.

use panelot_base::{ConnectionId, InvalidId, ItemId, SubmissionId, ThreadId, Timestamp, TurnId};
use panelot_records::thread::{Stats, TitleSource};
use panelot_records::{Body, Node, NoticeKind, Record, Thread};
use serde_json::{Map, json};

/// When the conversation began, in ms since 1970.
const BEGAN: u64 = 1_700_000_000_000;
/// Nodes that a summary does not stand for.
const TAIL: u64 = 200;
/// What a summary says and repeats at most, in bytes.
const SUMMARY_BYTES: (usize, usize) = (4_000, 12_000);

const QUESTION: &str = "What did the second chapter say about firing temperatures?";
const ANSWER: &str = "Earthenware is fired at about 1,000 °C and stays porous; stoneware needs 1,200 °C or more and \
becomes dense. The chapter adds that a slow rise through 573 °C keeps the clay from cracking.";

/// The records of a thread at rest. With `summarized` all but the newest two hundred nodes stand behind a summary, which
/// was written in the middle of those.
pub(crate) fn thread(id: &ThreadId, size: u64, summarized: bool) -> Result<Vec<Record>, InvalidId> {
    let mut records: Vec<Record> = vec![head(id, size).into()];
    let summary_at = summarized.then(|| size - TAIL / 2);
    for seq in 1..=size {
        let body = match summary_at {
            Some(at) if seq == at => summary(size - TAIL),
            _ if seq % 2 == 1 => question(seq)?,
            _ => answer(seq)?,
        };
        let turn = TurnId::new(format!("turn-{}", seq.div_ceil(2)))?;
        let parent = (seq > 1).then(|| seq - 1);
        let at = Timestamp(BEGAN + seq * 1_000);
        records.push(Node { thread: id.clone(), seq, parent, chain: 0, at, turn, body }.into());
    }
    Ok(records)
}

fn head(id: &ThreadId, size: u64) -> Thread {
    Thread {
        id: id.clone(),
        revision: size,
        title: format!("{size} nodes"),
        title_source: TitleSource::FirstLine,
        created_at: Timestamp(BEGAN),
        updated_at: Timestamp(BEGAN + size * 1_000),
        leaf: Some(size),
        chain: 0,
        chains: Vec::new(),
        next_seq: size + 1,
        next_order: size / 2 + 1,
        open_runs: Vec::new(),
        pinned: false,
        archived: false,
        folder: None,
        preset: None,
        model: None,
        effort: None,
        tags: Vec::new(),
        forked_from: None,
        stats: Stats { turns: size / 2, total_tokens: size * 50, ..Stats::default() },
        fence_seed: "bench".to_owned(),
        deleted_at: None,
    }
}

fn question(seq: u64) -> Result<Body, InvalidId> {
    let submission = SubmissionId::new(format!("bench-{seq}"))?;
    Ok(Body::User { text: format!("{QUESTION} ({seq})"), default_tab: None, submission, steered: false })
}

fn answer(seq: u64) -> Result<Body, InvalidId> {
    Ok(Body::Assistant {
        item: ItemId::new(format!("item-{seq}"))?,
        text: format!("{ANSWER} ({seq})"),
        reasoning: String::new(),
        calls: Vec::new(),
        vendor: Map::new(),
        connection: ConnectionId::new("bench")?,
        model: "echo".to_owned(),
        usage: None,
        incomplete: false,
        stop: None,
        cost: None,
    })
}

fn summary(up_to: u64) -> Body {
    let of = |text: &str, bytes: usize| text.repeat(bytes / text.len());
    let details = json!({
        "upTo": up_to,
        "text": of("They spoke of clay. ", SUMMARY_BYTES.0),
        "requests": of("- What of the clay?\n", SUMMARY_BYTES.1),
    });
    Body::Notice { kind: NoticeKind::Summarized, details }
}
