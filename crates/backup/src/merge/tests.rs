//! Nothing is overwritten, nothing is loosened, and the same file twice brings nothing new.

use panelot_base::{ConnectionId, RuleId, Timestamp};
use panelot_records::run::ModelChoice;
use panelot_records::{Record, Rule, Settings};

use super::{Kept, Present, Verdict, decide};

fn rule(id: &str, verdict: &str) -> Record {
    Rule {
        id: RuleId::new(id).unwrap(),
        verdict: verdict.to_owned(),
        tool: "*".to_owned(),
        origin: "*".to_owned(),
        created_at: Timestamp(1),
    }
    .into()
}

fn choice(connection: &str) -> Option<ModelChoice> {
    Some(ModelChoice { connection: ConnectionId::new(connection).unwrap(), model: "m".to_owned() })
}

#[test]
fn what_is_there_stays_and_the_same_file_brings_nothing_the_second_time() {
    let mut present = Present::default();
    assert_eq!(decide(&mut present, rule("r", "deny")), Verdict::Take(rule("r", "deny")));
    assert_eq!(decide(&mut present, rule("r", "ask")), Verdict::Keep(Kept::Here));
    let settings = Settings { prompt: "Be brief.".to_owned(), ..Settings::default() };
    assert!(matches!(decide(&mut present, settings.clone().into()), Verdict::Take(_)));
    assert_eq!(decide(&mut present, settings.into()), Verdict::Keep(Kept::Here));
}

#[test]
fn a_rule_that_allows_needs_the_persons_word() {
    let mut present = Present::default();
    assert_eq!(decide(&mut present, rule("r", "allow")), Verdict::Keep(Kept::Loosens));
    present.takes_allowances = true;
    assert_eq!(decide(&mut present, rule("r", "allow")), Verdict::Take(rule("r", "allow")));
}

#[test]
fn choices_are_taken_where_there_are_none_and_a_policy_only_where_it_asks_more() {
    let own = Settings { language: "en".to_owned(), revision: 4, ..Settings::default() };
    let file = Settings {
        language: "zh-CN".to_owned(),
        theme: "dark".to_owned(),
        policy: "auto".to_owned(),
        default_model: choice("gone"),
        ..Settings::default()
    };
    let mut present = Present { settings: own, ..Present::default() };
    let Verdict::Take(Record::Settings(taken)) = decide(&mut present, file.into()) else { panic!() };
    assert_eq!(taken.language, "en");
    assert_eq!(taken.theme, "dark");
    assert_eq!(taken.policy, "");
    assert_eq!(taken.default_model, None, "its connection is not there");
    assert_eq!(taken.revision, 5);
    let stricter = Settings { policy: "always".to_owned(), ..Settings::default() };
    let Verdict::Take(Record::Settings(taken)) = decide(&mut present, stricter.into()) else { panic!() };
    assert_eq!(taken.policy, "always");
}
