//! What voids an approval, what does not, and where a navigation may land.

use panelot_tools::descriptor::{Descriptor, Effect, Level, TargetKind};
use panelot_tools::target::{HostAccess, Target, TargetFacts};
use serde_json::{Value, json};

use super::{Approved, Drift, Refusal, recheck};
use crate::decide::tests::{on, tool};
use crate::decide::{Denial, Field, Flag, Policy, Question, Verdict, decide};
use crate::landing::{Landing, judge_landing};
use crate::permit::Permit;
use crate::rule::{Grants, Rules};

const SHOP: &str = "https://shop.test";

/// One thing that is different.
type Change<'a> = &'a dyn Fn(&mut Scene);

/// A call, its question as it was asked, and the approval that answered it.
struct Scene {
    tool: Descriptor,
    arguments: Value,
    facts: TargetFacts,
    destination: Option<&'static str>,
    field: Field,
    policy: Policy,
    rules: Rules,
    approved_tool: &'static str,
    approved_arguments: Value,
    approved_target: Option<Target>,
    origin: String,
    flags: Vec<String>,
    digest: String,
}

impl Scene {
    fn question(&self) -> Question<'_> {
        Question {
            tool: &self.tool,
            arguments: &self.arguments,
            facts: &self.facts,
            destination: self.destination,
            field: self.field,
        }
    }

    fn new(
        tool: Descriptor,
        arguments: Value,
        facts: TargetFacts,
        destination: Option<&'static str>,
    ) -> Self {
        let mut scene = Self {
            approved_tool: tool.name,
            approved_arguments: arguments.clone(),
            approved_target: facts.target.clone(),
            tool,
            arguments,
            facts,
            destination,
            field: Field::Unknown,
            policy: Policy::Untrusted,
            rules: Rules::default(),
            origin: String::new(),
            flags: Vec::new(),
            digest: String::new(),
        };
        let verdict = decide(Policy::Untrusted, &Rules::default(), &Grants::default(), &scene.question());
        let Verdict::Ask(ask) = verdict else { panic!("not a question: {verdict:?}") };
        scene.origin = ask.origin.to_string();
        scene.flags = ask.flags.iter().map(|flag| flag.as_str().to_owned()).collect();
        scene.digest = ask.digest;
        scene
    }

    fn click() -> Self {
        let click = tool("click", Effect::Write, TargetKind::Document, Level::L1);
        Self::new(click, json!({"ref": "k7q2-1"}), on(SHOP), None)
    }

    fn navigate() -> Self {
        let navigate = tool("navigate", Effect::Write, TargetKind::Destination, Level::L0);
        Self::new(
            navigate,
            json!({"url": "https://shop.test/a"}),
            on("https://old.test"),
            Some("https://shop.test/a"),
        )
    }

    fn recheck(&self) -> Result<Permit, Refusal> {
        let approved = Approved {
            tool: self.approved_tool,
            arguments: &self.approved_arguments,
            origin: &self.origin,
            flags: &self.flags,
            target: self.approved_target.as_ref(),
            digest: &self.digest,
        };
        recheck(&approved, self.policy, &self.rules, &self.question())
    }

    fn target(&mut self) -> &mut Target {
        self.facts.target.as_mut().unwrap()
    }
}

fn drift(what: Drift) -> Result<Permit, Refusal> {
    Err(Refusal::Drift { what })
}

#[test]
fn an_unchanged_call_gets_a_permit_for_what_was_approved() {
    for scene in [Scene::click(), Scene::navigate()] {
        let permit = scene.recheck().unwrap();
        assert_eq!(permit.digest(), scene.digest);
        assert_eq!(permit.target(), scene.facts.target.as_ref());
        assert_eq!(permit.destination(), scene.destination);
        assert!(permit.covers(scene.tool.name, &scene.arguments));
    }
}

#[test]
fn what_the_person_saw_must_still_be_so() {
    let changes: [(Drift, Change<'_>); 7] = [
        (Drift::Tool, &|scene| scene.tool.name = "press"),
        (Drift::Arguments, &|scene| scene.arguments = json!({"ref": "k7q2-2"})),
        (Drift::Tab, &|scene| scene.target().tab_id = 8),
        (Drift::Origin, &|scene| scene.target().origin = "https://evil.test".into()),
        (Drift::Document, &|scene| scene.target().document_id = Some("D2".into())),
        (Drift::Document, &|scene| scene.target().document_id = None),
        (Drift::Document, &|scene| scene.target().frame_id = 3),
    ];
    for (what, change) in changes {
        let mut scene = Scene::click();
        change(&mut scene);
        assert_eq!(scene.recheck(), drift(what));
    }
}

#[test]
fn a_record_that_was_tampered_with_is_not_trusted() {
    let changes: [Change<'_>; 4] = [
        &|scene| scene.approved_arguments = json!({"ref": "k7q2-9"}),
        &|scene| scene.origin = "https://evil.test".into(),
        &|scene| scene.flags.push("host_permission".into()),
        &|scene| scene.digest = "0".repeat(64),
    ];
    for change in changes {
        let mut scene = Scene::click();
        change(&mut scene);
        assert_eq!(scene.recheck(), drift(Drift::Record));
    }
}

#[test]
fn what_did_not_matter_to_the_decision_voids_nothing() {
    let changes: [Change<'_>; 5] = [
        &|scene| scene.target().title = "(1) new message".into(),
        &|scene| scene.target().url = "https://shop.test/page#part".into(),
        &|scene| scene.policy = Policy::Always,
        &|scene| scene.rules = Rules::read([("ask", "click", SHOP), ("deny", "click", "https://other.test")]),
        &|scene| scene.rules = Rules::read([("allow", "click", SHOP)]),
    ];
    for change in changes {
        let mut scene = Scene::click();
        change(&mut scene);
        assert!(scene.recheck().is_ok());
    }
}

#[test]
fn a_deny_rule_that_appeared_since_wins_even_over_a_drift() {
    let mut scene = Scene::click();
    scene.rules = Rules::read([("deny", "*", "*.shop.test")]);
    let denied = || Err(Refusal::Denied(Denial::Rule { tool: "*".into(), origin: "*.shop.test".into() }));
    assert_eq!(scene.recheck(), denied());
    scene.arguments = json!({"ref": "k7q2-2"});
    assert_eq!(scene.recheck(), denied());
    let mut gone = Scene::click();
    gone.facts = TargetFacts { target: None, host_access: HostAccess::Granted };
    assert_eq!(gone.recheck(), Err(Refusal::Denied(Denial::NoTarget)));
}

#[test]
fn withdrawn_access_asks_again_and_access_that_was_granted_with_the_answer_does_not() {
    let mut withdrawn = Scene::click();
    withdrawn.facts.host_access = HostAccess::Missing;
    let Err(Refusal::AskAgain(ask)) = withdrawn.recheck() else { panic!() };
    assert_eq!(ask.flags, [Flag::HostPermission]);

    let click = tool("click", Effect::Write, TargetKind::Document, Level::L1);
    let mut granted =
        Scene::new(click, json!({}), TargetFacts { host_access: HostAccess::Missing, ..on(SHOP) }, None);
    assert!(matches!(granted.recheck(), Err(Refusal::AskAgain(_))), "agreeing did not bring the access");
    granted.facts.host_access = HostAccess::Granted;
    assert!(granted.recheck().is_ok());
}

#[test]
fn a_field_that_turned_out_to_be_secret_asks_again_unless_that_was_known() {
    let mut scene = Scene::click();
    scene.field = Field::Secret;
    let Err(Refusal::AskAgain(ask)) = scene.recheck() else { panic!() };
    assert_eq!(ask.flags, [Flag::SensitivePayload]);

    let type_tool = tool("type", Effect::Write, TargetKind::Document, Level::L1);
    let known = Scene::new(type_tool, json!({"text": "4111111111111111"}), on(SHOP), None);
    assert_eq!(known.flags, ["sensitive_payload"]);
    assert!(known.recheck().is_ok());
}

#[test]
fn a_navigation_is_bound_to_its_destination_and_tab_and_not_to_the_page_that_is_left() {
    let mut moved_on = Scene::navigate();
    moved_on.target().document_id = Some("D2".into());
    moved_on.target().origin = "https://elsewhere.test".into();
    assert!(moved_on.recheck().is_ok());
    let mut elsewhere = Scene::navigate();
    elsewhere.destination = Some("https://evil.test/");
    assert_eq!(elsewhere.recheck(), drift(Drift::Origin));
    let mut other_tab = Scene::navigate();
    other_tab.target().tab_id = 9;
    assert_eq!(other_tab.recheck(), drift(Drift::Tab));
}

#[test]
fn a_redirect_is_data_unless_something_speaks_against_its_origin() {
    let permit = Scene::navigate().recheck().unwrap();
    let land = |rules: &Rules, committed| {
        judge_landing(permit.tool(), permit.destination(), rules, "read_page", committed)
    };
    let none = Rules::default();
    assert_eq!(land(&none, "https://shop.test"), Landing::AsAsked);
    assert!(matches!(land(&none, "https://www.shop.test"), Landing::Redirected { .. }));
    assert!(matches!(land(&none, "http://shop.test"), Landing::Redirected { .. }));
    assert!(matches!(land(&none, "null"), Landing::Redirected { .. }));
    assert!(matches!(
        land(&none, "https://www.paypal.com"),
        Landing::Refused(Denial::SensitiveOrigin { .. })
    ));
    assert_eq!(land(&none, "chrome-extension://abc"), Landing::Refused(Denial::NoAccess));
    for rule in
        [("deny", "navigate", "*.evil.test"), ("deny", "read_*", "https://a.evil.test"), ("deny", "*", "*")]
    {
        let landing = land(&Rules::read([rule]), "https://a.evil.test");
        assert!(matches!(landing, Landing::Refused(Denial::Rule { .. })), "{rule:?}");
    }
    let other_tool = Rules::read([("deny", "click", "https://a.evil.test")]);
    assert!(matches!(land(&other_tool, "https://a.evil.test"), Landing::Redirected { .. }));
}
