//! A file that was written is read back, and every other one is refused.

use panelot_base::{ConnectionId, RuleId, SafeUrl, SubmissionId, ThreadId, Timestamp, TurnId};
use panelot_records::{
    Body, Connection, Node, ProviderWire, Record, Rule, SealedSecret, Settings, Thread, Vault,
};
use proptest::prelude::*;
use serde_json::json;

use super::{Contents, Damage, Reader, Why, Writer};

fn thread(id: &str) -> Thread {
    let json = json!({"id": id, "revision": 7, "title": "A chat", "titleSource": "person", "createdAt": 1, "updatedAt": 2,
        "leaf": 2, "nextSeq": 3, "nextOrder": 2, "openRuns": ["run"], "pinned": false, "archived": false, "tags": [],
        "stats": {"turns": 1, "totalTokens": 0}, "fenceSeed": "seed"});
    panelot_base::json::FromJson::from_json(json).unwrap()
}

fn node(thread: &str, seq: u64, text: &str) -> Node {
    Node {
        thread: ThreadId::new(thread).unwrap(),
        seq,
        parent: seq.checked_sub(1).filter(|it| *it > 0),
        chain: 0,
        at: Timestamp(3),
        turn: TurnId::new("turn").unwrap(),
        body: Body::User {
            text: text.to_owned(),
            default_tab: None,
            steered: false,
            submission: SubmissionId::new("s").unwrap(),
        },
    }
}

fn records(text: &str) -> Vec<Record> {
    let connection = Connection {
        revision: 3,
        name: "Mine".to_owned(),
        models: vec!["m".to_owned()],
        has_key: true,
        ..Connection::new(
            ConnectionId::new("c").unwrap(),
            ProviderWire::Openai,
            SafeUrl::new("https://api.example.com/v1"),
            Timestamp(1),
        )
    };
    let rule = Rule {
        id: RuleId::new("r").unwrap(),
        verdict: "deny".to_owned(),
        tool: "*".to_owned(),
        origin: "https://bank.test".to_owned(),
        created_at: Timestamp(1),
    };
    vec![
        connection.into(),
        rule.into(),
        Settings { prompt: text.to_owned(), ..Settings::default() }.into(),
        thread("t").into(),
        node("t", 1, text).into(),
        node("t", 2, "And?").into(),
        thread("u").into(),
        node("u", 5, text).into(),
    ]
}

fn written(records: &[Record]) -> String {
    let (mut writer, mut file) = Writer::begin(Timestamp(9));
    records.iter().filter_map(|it| writer.record(it)).for_each(|line| file.push_str(&line));
    file + &writer.end()
}

fn read(file: &str) -> Result<(Vec<Record>, Contents), Damage> {
    let mut reader = Reader::default();
    let mut found = Vec::new();
    for line in file.lines() {
        found.extend(reader.line(line)?);
    }
    reader.end().map(|contents| (found, contents))
}

#[test]
fn a_file_is_read_back_without_what_belongs_to_one_profile() {
    let (found, contents) = read(&written(&records("Hello\nyou"))).unwrap();
    assert_eq!(contents, Contents { exported_at: 9, threads: 2, nodes: 3, connections: 1, rules: 1 });
    let Record::Connection(connection) = &found[0] else { panic!() };
    assert!(!connection.has_key);
    let Record::Thread(thread) = &found[3] else { panic!() };
    assert!(thread.open_runs.is_empty() && thread.revision == 0);
    assert_eq!(found[4], Record::from(node("t", 1, "Hello\nyou")));
}

#[test]
fn no_secret_is_ever_written_or_read() {
    let (mut writer, _) = Writer::begin(Timestamp(9));
    let text = || "sealed".to_owned();
    let secret = SealedSecret { connection: ConnectionId::new("c").unwrap(), iv: text(), sealed: text() };
    let vault = Vault { id: text(), salt: text(), iterations: 1, iv: text(), wrapped: text() };
    assert_eq!(writer.record(&secret.clone().into()), None);
    assert_eq!(writer.record(&vault.into()), None);
    let row = Record::from(secret).to_row();
    let mut reader = Reader::default();
    reader.line(r#"{"format":"panelot-backup","version":1,"exportedAt":1}"#).unwrap();
    let line = format!(r#"{{"table":"secrets","version":1,"record":{}}}"#, row.json);
    assert_eq!(reader.line(&line), Err(Damage { line: 2, why: Why::Broken }));
}

#[test]
fn what_is_no_backup_or_a_newer_one_is_told_apart_from_a_damaged_one() {
    let why = |file: &str| read(file).unwrap_err().why;
    assert_eq!(why(""), Why::Foreign);
    assert_eq!(why("a recipe for soup\n"), Why::Foreign);
    assert_eq!(why("{\"version\":2,\"threads\":[]}\n"), Why::Foreign);
    assert_eq!(why("{\"format\":\"panelot-backup\",\"version\":2,\"exportedAt\":1}\n"), Why::Newer);
    let file = written(&records("x"));
    assert_eq!(why(&file.replace("Mine", "Yours")), Why::Changed);
    assert_eq!(why(&(file.clone() + "{}")), Why::AfterEnd);
    let short: String = file.lines().take(5).map(|line| format!("{line}\n")).collect();
    assert_eq!(why(&short), Why::CutOff);
}

#[test]
fn entries_stand_behind_their_conversation_in_their_order_and_nothing_comes_twice() {
    let why = |records: &[Record]| read(&written(records)).unwrap_err().why;
    let all = records("x");
    assert_eq!(why(&[all[4].clone()]), Why::Misplaced);
    assert_eq!(why(&[all[3].clone(), all[7].clone()]), Why::Misplaced);
    assert_eq!(why(&[all[3].clone(), all[5].clone(), all[4].clone()]), Why::Misplaced);
    assert_eq!(why(&[all[3].clone(), all[4].clone(), all[4].clone()]), Why::Misplaced);
    assert_eq!(why(&[all[3].clone(), all[3].clone()]), Why::Twice);
    assert_eq!(why(&[all[2].clone(), all[2].clone()]), Why::Twice);
    let loops = Node { parent: Some(1), ..node("t", 1, "x") };
    assert_eq!(why(&[all[3].clone(), loops.into()]), Why::Misplaced);
}

proptest! {
    #[test]
    fn any_text_is_read_back(text in ".{0,200}") {
        let file = written(&records(&text));
        let (found, _) = read(&file).unwrap();
        prop_assert_eq!(&found[4], &Record::from(node("t", 1, &text)));
        prop_assert_eq!(written(&found), file, "what was read is written the same");
    }

    #[test]
    fn a_change_anywhere_is_noticed(at in any::<prop::sample::Index>(), by in 1_u8..=255) {
        let file = written(&records("Hello"));
        let mut bytes = file.clone().into_bytes();
        let at = at.index(bytes.len() - 1);
        bytes[at] ^= by;
        if let Ok(changed) = String::from_utf8(bytes)
            && !file.lines().eq(changed.lines())
        {
            prop_assert!(read(&changed).is_err(), "{}", changed);
        }
    }

    #[test]
    fn a_missing_line_is_noticed(at in 0_usize..10) {
        let file = written(&records("Hello"));
        let kept = file.lines().enumerate().filter(|(line, _)| *line != at).map(|(_, line)| format!("{line}\n"));
        prop_assert!(read(&kept.collect::<String>()).is_err());
    }

    #[test]
    fn no_bytes_make_the_reader_panic(lines in prop::collection::vec(".{0,80}", 0..6)) {
        let mut reader = Reader::default();
        for line in lines {
            let _ = reader.line(&line);
        }
        let _ = reader.end();
    }
}
