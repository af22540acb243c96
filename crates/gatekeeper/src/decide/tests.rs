//! The order of decision, case by case, and what must hold for every case.

use panelot_tools::descriptor::{Descriptor, Effect, Level, Recovery, TargetKind};
use panelot_tools::target::{HostAccess, Target, TargetFacts};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Denial, Field, Flag, Policy, Question, Verdict, decide};
use crate::rule::{Grant, Grants, Rules};

const SHOP: &str = "https://shop.test";
const BANK: &str = "https://www.chase.com";
/// One thing that is different.
type Change<'a> = &'a dyn Fn(&mut Case);

const POLICIES: [Policy; 3] = [Policy::Always, Policy::Untrusted, Policy::Auto];

pub(crate) fn tool(name: &'static str, effect: Effect, target: TargetKind, level: Level) -> Descriptor {
    let recovery = Recovery::NeverRetry;
    Descriptor { name, description: "", parameters: json!({}), level, effect, recovery, target }
}

fn click() -> Descriptor {
    tool("click", Effect::Write, TargetKind::Document, Level::L1)
}

fn read_page() -> Descriptor {
    tool("read_page", Effect::Read, TargetKind::Document, Level::L1)
}

fn navigate() -> Descriptor {
    tool("navigate", Effect::Write, TargetKind::Destination, Level::L0)
}

fn tabs_list() -> Descriptor {
    tool("tabs_list", Effect::Read, TargetKind::Browser, Level::L0)
}

pub(crate) fn on(origin: &str) -> TargetFacts {
    let target = Target {
        tab_id: 7,
        frame_id: 0,
        document_id: Some("D1".into()),
        url: format!("{origin}/page"),
        origin: origin.into(),
        title: "T".into(),
    };
    TargetFacts { target: Some(target), host_access: HostAccess::Granted }
}

fn grants(list: &[(&str, &str)]) -> Grants {
    list.iter().map(|(tool, origin)| Grant { tool: (*tool).into(), origin: (*origin).into() }).collect()
}

fn with_access(origin: &str, host_access: HostAccess) -> TargetFacts {
    TargetFacts { host_access, ..on(origin) }
}

#[derive(Clone, Debug)]
struct Case {
    policy: Policy,
    rules: Rules,
    grants: Grants,
    tool: Descriptor,
    arguments: Value,
    facts: TargetFacts,
    destination: Option<&'static str>,
    field: Field,
}

impl Case {
    fn new(tool: Descriptor, origin: &str) -> Self {
        Self {
            policy: Policy::Untrusted,
            rules: Rules::default(),
            grants: Grants::default(),
            tool,
            arguments: json!({}),
            facts: on(origin),
            destination: None,
            field: Field::Unknown,
        }
    }

    fn decide(&self) -> Verdict {
        let question = Question {
            tool: &self.tool,
            arguments: &self.arguments,
            facts: &self.facts,
            destination: self.destination,
            field: self.field,
        };
        decide(self.policy, &self.rules, &self.grants, &question)
    }

    fn rules(mut self, rules: &[(&'static str, &'static str, &'static str)]) -> Self {
        self.rules = Rules::read(rules.iter().copied());
        assert!(!self.rules.is_unreadable());
        self
    }

    fn word(&self) -> &'static str {
        match self.decide() {
            Verdict::Allow(_) => "allow",
            Verdict::Ask(_) => "ask",
            Verdict::Deny(_) => "deny",
        }
    }

    fn flags(&self) -> Vec<Flag> {
        match self.decide() {
            Verdict::Ask(ask) => ask.flags,
            other => panic!("not a question: {other:?}"),
        }
    }
}

#[test]
fn a_policy_word_that_is_not_known_means_untrusted() {
    for (text, policy) in [
        ("always", Policy::Always),
        ("untrusted", Policy::Untrusted),
        ("auto", Policy::Auto),
        ("", Policy::Untrusted),
        ("AUTO", Policy::Untrusted),
        ("never", Policy::Untrusted),
    ] {
        assert_eq!(Policy::parse(text), policy, "{text}");
    }
}

#[test]
fn without_rules_the_policy_decides() {
    for (policy, read, write) in [
        (Policy::Always, "ask", "ask"),
        (Policy::Untrusted, "allow", "ask"),
        (Policy::Auto, "allow", "allow"),
    ] {
        assert_eq!(Case { policy, ..Case::new(read_page(), SHOP) }.word(), read, "{policy:?}");
        assert_eq!(Case { policy, ..Case::new(click(), SHOP) }.word(), write, "{policy:?}");
    }
    let builtin = tool("ask_user", Effect::Read, TargetKind::Browser, Level::Builtin);
    assert_eq!(Case { policy: Policy::Always, ..Case::new(builtin, SHOP) }.word(), "allow");
}

#[test]
fn a_deny_beats_an_ask_beats_an_allow_whatever_is_more_specific() {
    for (rules, expected) in [
        (vec![("allow", "click", SHOP)], "allow"),
        (vec![("allow", "*", "*.shop.test")], "allow"),
        (vec![("allow", "click", SHOP), ("ask", "*", "*")], "ask"),
        (vec![("allow", "click", SHOP), ("deny", "*", "*")], "deny"),
        (vec![("ask", "click", SHOP), ("deny", "cl*", "*.shop.test")], "deny"),
        (vec![("deny", "*", "*"), ("allow", "click", SHOP)], "deny"),
        (vec![("deny", "click", "https://other.test")], "ask"),
        (vec![("allow", "type", SHOP)], "ask"),
    ] {
        assert_eq!(Case::new(click(), SHOP).rules(&rules).word(), expected, "{rules:?}");
    }
}

#[test]
fn reads_can_be_ruled_too() {
    assert_eq!(Case::new(read_page(), SHOP).rules(&[("deny", "read_page", SHOP)]).word(), "deny");
    assert_eq!(Case::new(read_page(), SHOP).rules(&[("ask", "*", "*")]).word(), "ask");
    let always = Case { policy: Policy::Always, ..Case::new(read_page(), SHOP) };
    assert_eq!(always.rules(&[("allow", "read_page", "*")]).word(), "allow");
}

#[test]
fn a_refusal_by_a_rule_names_the_rule() {
    let case = Case::new(click(), SHOP).rules(&[("deny", "cl*", "*.shop.test")]);
    let Verdict::Deny(denial) = case.decide() else { panic!() };
    assert_eq!(denial, Denial::Rule { tool: "cl*".into(), origin: "*.shop.test".into() });
    assert_eq!(denial.to_string(), "a permission rule denies cl* on *.shop.test");
}

#[test]
fn a_grant_covers_its_tool_on_its_origin_and_yields_to_rules() {
    let granted = |tool, origin| Case { grants: grants(&[(tool, origin)]), ..Case::new(click(), SHOP) };
    assert_eq!(granted("click", SHOP).word(), "allow");
    assert_eq!(granted("type", SHOP).word(), "ask");
    assert_eq!(granted("click", "http://shop.test").word(), "ask");
    assert_eq!(granted("click", "https://www.shop.test").word(), "ask");
    assert_eq!(granted("click", SHOP).rules(&[("ask", "click", "*")]).word(), "ask");
    assert_eq!(granted("click", SHOP).rules(&[("deny", "*", SHOP)]).word(), "deny");
    let reads =
        Case { policy: Policy::Always, grants: grants(&[("tabs_list", "")]), ..Case::new(tabs_list(), SHOP) };
    assert_eq!(reads.word(), "allow");
}

#[test]
fn what_only_the_person_sees_is_no_sensitive_payload() {
    let mut case = Case::new(tool("ask_user", Effect::Read, TargetKind::Browser, Level::Builtin), SHOP);
    case.arguments = json!({"questions": [{"id": "a", "question": "Is 4111 1111 1111 1111 your card?"}]});
    for policy in POLICIES {
        case.policy = policy;
        assert_eq!(case.word(), "allow", "{policy:?}");
    }
    assert_eq!(case.rules(&[("deny", "ask_user", "*")]).word(), "deny");
}

#[test]
fn nothing_silences_a_sensitive_payload() {
    for (tool_name, arguments, field) in [
        ("type", json!({"text": "4111 1111 1111 1111"}), Field::Plain),
        ("type", json!({"text": "hunter2"}), Field::Secret),
        (
            "navigate",
            json!({"url": "https://shop.test/?t=ghp_abcdefghijklmnopqrstuvwxyz0123456789"}),
            Field::Unknown,
        ),
    ] {
        let write = tool(tool_name, Effect::Write, TargetKind::Document, Level::L1);
        let mut case = Case::new(write, SHOP).rules(&[("allow", "*", "*")]);
        case.policy = Policy::Auto;
        case.grants = grants(&[(tool_name, SHOP)]);
        case.arguments = arguments;
        case.field = field;
        assert_eq!(case.flags(), [Flag::SensitivePayload], "{}", case.arguments);
        let Verdict::Ask(ask) = case.decide() else { panic!() };
        assert!(!ask.can_be_remembered());
    }
    let mut plain = Case::new(tool("type", Effect::Write, TargetKind::Document, Level::L1), SHOP);
    plain.policy = Policy::Auto;
    plain.arguments = json!({"text": "hello", "password": "key names say nothing"});
    assert_eq!(plain.word(), "allow");
}

#[test]
fn missing_host_access_asks_for_reads_and_writes_and_impossible_access_is_refused() {
    for tool in [read_page(), click()] {
        let mut case = Case::new(tool, SHOP).rules(&[("allow", "*", "*")]);
        case.policy = Policy::Auto;
        case.facts = with_access(SHOP, HostAccess::Missing);
        assert_eq!(case.flags(), [Flag::HostPermission]);
        case.facts = with_access(SHOP, HostAccess::Impossible);
        assert_eq!(case.decide(), Verdict::Deny(Denial::NoAccess));
    }
}

#[test]
fn the_debugger_is_flagged_but_is_no_question_by_itself() {
    let trusted_click = || tool("click_trusted", Effect::Write, TargetKind::Document, Level::L2);
    assert_eq!(Case::new(trusted_click(), SHOP).flags(), [Flag::EscalationL2]);
    assert_eq!(Case { policy: Policy::Auto, ..Case::new(trusted_click(), SHOP) }.word(), "allow");
    let deep_read = || tool("read_page_deep", Effect::Read, TargetKind::Document, Level::L2);
    assert_eq!(Case::new(deep_read(), SHOP).word(), "allow");
    let asked = Case { policy: Policy::Always, ..Case::new(deep_read(), SHOP) };
    assert_eq!(asked.flags(), [Flag::EscalationL2]);
}

#[test]
fn a_sensitive_site_is_never_written_to_and_only_read_when_somebody_says_so() {
    for policy in POLICIES {
        let write = Case { policy, ..Case::new(click(), BANK) }.rules(&[("allow", "*", "*")]);
        assert_eq!(write.decide(), Verdict::Deny(Denial::SensitiveOrigin { origin: BANK.into() }));
        assert_eq!(Case { policy, ..Case::new(read_page(), BANK) }.flags(), [Flag::SensitiveOrigin]);
        let ruled =
            Case { policy, ..Case::new(read_page(), BANK) }.rules(&[("allow", "read_page", "*.chase.com")]);
        assert_eq!(ruled.word(), "allow");
        let granted = Case { policy, grants: grants(&[("read_page", BANK)]), ..Case::new(read_page(), BANK) };
        assert_eq!(granted.word(), "allow");
    }
}

#[test]
fn a_navigation_is_judged_by_its_destination() {
    let go = |destination| Case { destination, policy: Policy::Auto, ..Case::new(navigate(), BANK) };
    assert_eq!(go(Some("https://shop.test/a?b")).word(), "allow", "leaving a sensitive site is no matter");
    assert_eq!(go(Some("https://www.paypal.com/")).word(), "deny");
    assert_eq!(go(Some("https://shop.test/")).rules(&[("deny", "navigate", SHOP)]).word(), "deny");
    assert_eq!(go(Some("https://shop.test/")).rules(&[("deny", "navigate", BANK)]).word(), "allow");
    let mut granted = go(Some("https://other.test/"));
    granted.policy = Policy::Untrusted;
    granted.grants = grants(&[("navigate", BANK), ("navigate", SHOP)]);
    assert_eq!(granted.word(), "ask", "a grant for another site does not cover this one");
}

#[test]
fn only_http_and_https_addresses_without_passwords_can_be_gone_to() {
    for bad in [
        None,
        Some(""),
        Some("shop.test"),
        Some("javascript:alert(1)"),
        Some("JavaScript:alert(1)"),
        Some("data:text/html,x"),
        Some("file:///etc/passwd"),
        Some("blob:https://shop.test/1"),
        Some("view-source:https://shop.test"),
        Some("chrome://settings"),
        Some("chrome-extension://abc/x.html"),
        Some("about:blank"),
        Some("https://me:pass@shop.test/"),
        Some("https://paypal.com@shop.test/"),
    ] {
        let mut case = Case::new(navigate(), SHOP).rules(&[("allow", "*", "*")]);
        case.policy = Policy::Auto;
        case.destination = bad;
        assert_eq!(case.decide(), Verdict::Deny(Denial::Destination), "{bad:?}");
    }
}

#[test]
fn a_call_on_a_document_without_a_document_is_refused() {
    let mut case = Case { policy: Policy::Auto, ..Case::new(click(), SHOP) };
    case.facts.target = None;
    assert_eq!(case.decide(), Verdict::Deny(Denial::NoTarget));
}

#[test]
fn an_opaque_origin_is_never_allowed_by_a_wildcard_or_a_grant() {
    for origin in ["null", "", "not an origin"] {
        let mut case = Case::new(click(), origin).rules(&[("allow", "*", "*")]);
        case.grants = grants(&[("click", "null"), ("click", "")]);
        for policy in POLICIES {
            case.policy = policy;
            assert_eq!(case.word(), "ask", "{origin} {policy:?}");
        }
        assert_eq!(Case::new(read_page(), origin).rules(&[("deny", "*", "*")]).word(), "deny");
    }
}

#[test]
fn a_rule_that_cannot_be_read_turns_every_allow_into_a_question() {
    let mut case =
        Case { policy: Policy::Auto, ..Case::new(read_page(), SHOP) }.rules(&[("allow", "*", "*")]);
    assert_eq!(case.word(), "allow");
    case.rules.mark_unreadable();
    assert_eq!(case.word(), "ask");
}

#[test]
fn a_permit_names_what_it_was_granted_for() {
    let mut case = Case { policy: Policy::Auto, ..Case::new(click(), SHOP) };
    case.arguments = json!({"ref": "k7q2-1", "element": "Buy"});
    let Verdict::Allow(permit) = case.decide() else { panic!() };
    assert_eq!(permit.tool(), "click");
    assert_eq!(permit.target(), case.facts.target.as_ref());
    assert_eq!(permit.destination(), None);
    assert!(permit.covers("click", &json!({"element": "Buy", "ref": "k7q2-1"})));
    assert!(!permit.covers("click", &json!({"element": "Buy", "ref": "k7q2-2"})));
    assert!(!permit.covers("type", &case.arguments));
}

#[test]
fn the_digest_changes_with_everything_that_was_shown() {
    let digest = |change: &dyn Fn(&mut Case)| {
        let mut case = Case::new(click(), SHOP);
        case.arguments = json!({"ref": "k7q2-1"});
        change(&mut case);
        match case.decide() {
            Verdict::Ask(ask) => ask.digest,
            other => panic!("not a question: {other:?}"),
        }
    };
    let target = |case: &mut Case| case.facts.target.take().unwrap();
    let changes: [(&str, Change<'_>); 8] = [
        ("nothing", &|_| {}),
        ("tool", &|case| case.tool.name = "press"),
        ("arguments", &|case| case.arguments = json!({"ref": "k7q2-2"})),
        ("origin", &|case| case.facts = on("https://other.test")),
        ("tab", &|case| case.facts.target = Some(Target { tab_id: 8, ..target(case) })),
        ("frame", &|case| case.facts.target = Some(Target { frame_id: 2, ..target(case) })),
        ("document", &|case| {
            case.facts.target = Some(Target { document_id: Some("D2".into()), ..target(case) })
        }),
        ("flags", &|case| case.facts.host_access = HostAccess::Missing),
    ];
    let digests: std::collections::BTreeSet<_> = changes.iter().map(|(_, change)| digest(change)).collect();
    assert_eq!(digests.len(), changes.len());
    let title_only =
        digest(&|case| case.facts.target = Some(Target { title: "other".into(), ..target(case) }));
    assert_eq!(title_only, digest(&|_| {}), "a title that changes is not what was judged");
}

fn any_rule() -> impl Strategy<Value = (&'static str, &'static str, &'static str)> {
    let verdict = prop::sample::select(vec!["allow", "ask", "deny"]);
    let tool = prop::sample::select(vec!["click", "read_page", "navigate", "c*", "*"]);
    let origin = prop::sample::select(vec![SHOP, BANK, "*.shop.test", "shop.test", "https://*.test", "*"]);
    (verdict, tool, origin)
}

fn any_case() -> impl Strategy<Value = Case> {
    let tool = prop::sample::select(vec![click as fn() -> Descriptor, read_page, navigate, tabs_list]);
    let origin = prop::sample::select(vec![SHOP, BANK, "https://a.shop.test", "null"]);
    let access = prop::sample::select(vec![HostAccess::Granted, HostAccess::Missing, HostAccess::Impossible]);
    let field = prop::sample::select(vec![Field::Unknown, Field::Plain, Field::Secret]);
    let destination =
        prop::option::of(prop::sample::select(vec!["https://shop.test/x", "javascript:1", BANK]));
    let policy = prop::sample::select(POLICIES.to_vec());
    let granted = prop::collection::vec((prop::sample::select(vec!["click", "navigate"]), Just(SHOP)), 0..3);
    let rules = prop::collection::vec(any_rule(), 0..6);
    (tool, origin, access, field, destination, policy, granted, rules).prop_map(
        |(tool, origin, access, field, destination, policy, granted, rules)| Case {
            policy,
            rules: Rules::read(rules),
            grants: grants(&granted),
            tool: tool(),
            arguments: json!({}),
            facts: with_access(origin, access),
            destination,
            field,
        },
    )
}

fn ask_or_less(verdict: &Verdict) -> u8 {
    match verdict {
        Verdict::Deny(_) => 0,
        Verdict::Ask(_) => 1,
        Verdict::Allow(_) => 2,
    }
}

proptest! {
    #[test]
    fn a_deny_rule_for_everything_always_wins(mut case in any_case(), at in 0_usize..6) {
        let mut rules = vec![("deny", "*", "*")];
        rules.insert(at.min(1), ("allow", "*", "*"));
        case.rules = Rules::read(rules);
        prop_assert_eq!(case.word(), "deny");
    }

    #[test]
    fn one_more_deny_or_ask_rule_never_loosens_a_verdict(mut case in any_case(), mut rules in prop::collection::vec(any_rule(), 0..5), (_, tool, origin) in any_rule(), deny: bool) {
        case.rules = Rules::read(rules.clone());
        let before = ask_or_less(&case.decide());
        rules.push((if deny { "deny" } else { "ask" }, tool, origin));
        case.rules = Rules::read(rules);
        prop_assert!(ask_or_less(&case.decide()) <= before);
    }

    #[test]
    fn what_goes_ahead_has_access_no_hard_flag_and_a_permit_for_this_very_target(case in any_case()) {
        if let Verdict::Allow(permit) = case.decide() {
            prop_assert_eq!(case.facts.host_access, HostAccess::Granted);
            prop_assert!(case.field != Field::Secret || case.tool.effect == Effect::Read);
            prop_assert_eq!(permit.target(), case.facts.target.as_ref());
            prop_assert!(permit.covers(case.tool.name, &case.arguments));
        }
    }

    #[test]
    fn a_stricter_policy_never_allows_more(case in any_case()) {
        let weight = |policy| ask_or_less(&Case { policy, ..case.clone() }.decide());
        prop_assert!(weight(Policy::Always) <= weight(Policy::Untrusted));
        prop_assert!(weight(Policy::Untrusted) <= weight(Policy::Auto));
    }
}
