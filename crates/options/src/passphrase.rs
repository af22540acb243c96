//! The passphrase that protects the keys: set, change, remove, unlock, lock, and forget.
//!
//! A passphrase is read from its field once, turned into a key in this page, and the field is emptied. It is in no signal, no
//! attribute and no message.

use leptos::html;
use leptos::prelude::*;
use panelot_protocol::settings::{IncomingKey, SecretsChange, VaultView};
use panelot_protocol::{KDF_ITERATIONS, Text};
use panelot_ui::glyph::{Glyph, glyph};
use panelot_ui::i18n::Messages;
use panelot_ui::session::{Part, Session};
use panelot_ui::{platform, words};
use panelot_view::Command;
use panelot_view::model::CommandKind;

/// Characters that a new passphrase has at least (NIST SP 800-63B, 5.1.1.2).
const CHARS_MIN: usize = 8;
/// Characters from which a passphrase is called strong whatever it is made of.
const CHARS_STRONG: usize = 20;

/// What the form is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Set,
    Change,
    Remove,
    Unlock,
}

impl Task {
    const fn asks_current(self) -> bool {
        !matches!(self, Self::Set)
    }

    const fn asks_next(self) -> bool {
        matches!(self, Self::Set | Self::Change)
    }
}

/// How hard a passphrase is to guess, at a glance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strength {
    Short,
    Weak,
    Fair,
    Strong,
}

fn strength(passphrase: &str) -> Strength {
    let length = passphrase.chars().count();
    let kinds: [fn(char) -> bool; 4] = [
        |it| it.is_lowercase() || (it.is_alphabetic() && !it.is_uppercase()),
        char::is_uppercase,
        char::is_numeric,
        |it| !it.is_alphanumeric(),
    ];
    let kinds = kinds.iter().filter(|kind| passphrase.chars().any(kind)).count();
    let mut distinct: Vec<char> = passphrase.chars().collect();
    distinct.sort_unstable();
    distinct.dedup();
    if length < CHARS_MIN {
        Strength::Short
    } else if distinct.len() < CHARS_MIN / 2 + 1 || (length < 12 && kinds < 2) {
        Strength::Weak
    } else if length >= CHARS_STRONG || (length >= 14 && kinds >= 3) {
        Strength::Strong
    } else {
        Strength::Fair
    }
}

/// The section of the options.
#[component]
pub(crate) fn Passphrase() -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let vault = Memo::new(move |_| {
        session.read(Part::Settings, |model| model.settings.as_ref().and_then(|it| it.vault.clone()))
    });
    let chosen = RwSignal::new(None::<Task>);
    let forgetting = RwSignal::new(false);
    let locked = Memo::new(move |_| vault.with(|it| it.as_ref().is_some_and(|it| !it.unlocked)));
    // What is shown is of a state that may be over: another page may have unlocked, or removed the passphrase.
    Effect::new(move |_| {
        vault.track();
        chosen.set(None);
    });
    let task =
        Memo::new(
            move |_| if locked.get() && chosen.get().is_none() { Some(Task::Unlock) } else { chosen.get() },
        );
    let state = move || match vault.get() {
        None => t.passphrase_none(),
        Some(VaultView { unlocked: true, .. }) => t.passphrase_unlocked(),
        Some(_) => t.passphrase_locked(),
    };
    let choose = move |task| move |_| chosen.set(Some(task));
    view! {
        <section class="section" id="passphrase" aria-labelledby="passphrase-title">
            <h2 id="passphrase-title">{t.passphrase_title()}</h2>
            <p class="section-text">{t.passphrase_text()}</p>
            <p class="section-text" role="status" id="passphrase-state">{glyph(Glyph::Shield)} " " {state}</p>
            {move || task.get().map(|task| view! { <PassphraseForm task vault chosen /> })}
            <div class="card-actions">
                <Show when=move || vault.with(Option::is_none) && task.get().is_none()>
                    <button type="button" class="button primary" on:click=choose(Task::Set)>{t.passphrase_set()}</button>
                </Show>
                <Show when=move || vault.with(|it| it.as_ref().is_some_and(|it| it.unlocked)) && task.get().is_none()>
                    <button type="button" class="button" on:click=move |_| session.command(Command::Lock)>{t.passphrase_lock()}</button>
                    <button type="button" class="button" on:click=choose(Task::Change)>{t.passphrase_change()}</button>
                    <button type="button" class="button" on:click=choose(Task::Remove)>{t.passphrase_remove()}</button>
                </Show>
                <Show when=move || vault.with(Option::is_some)>
                    <button type="button" class="button danger-quiet" on:click=move |_| forgetting.set(true)>{t.passphrase_forgotten()}</button>
                </Show>
            </div>
            <ForgetDialog forgetting />
        </section>
    }
}

/// Reads a field and empties it.
fn take(field: NodeRef<html::Input>) -> String {
    field.get_untracked().map_or_else(String::new, |field| {
        let text = field.value();
        field.set_value("");
        text
    })
}

/// The command that a task becomes; none when the browser cannot derive a key.
async fn command(task: Task, vault: Option<VaultView>, current: String, next: String) -> Option<Command> {
    let current = match vault.filter(|_| task.asks_current()) {
        Some(vault) => {
            let key = platform::derive_key(&current, &vault.salt, vault.iterations).await.ok()?;
            Some(IncomingKey::new(&key))
        }
        None => None,
    };
    Some(match task {
        Task::Unlock => Command::Unlock { key: current? },
        Task::Remove => Command::ChangeSecrets { change: SecretsChange::Unprotect { current: current? } },
        Task::Set | Task::Change => {
            let salt = platform::random_salt();
            let key = platform::derive_key(&next, &salt, KDF_ITERATIONS).await.ok()?;
            let change =
                SecretsChange::Protect { salt: Text::clipped(&salt), key: IncomingKey::new(&key), current };
            Command::ChangeSecrets { change }
        }
    })
}

#[component]
fn PassphraseForm(
    task: Task,
    vault: Memo<Option<VaultView>>,
    chosen: RwSignal<Option<Task>>,
) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let (current, next, again) = (NodeRef::new(), NodeRef::new(), NodeRef::new());
    let fault = RwSignal::new(None::<String>);
    let measured = RwSignal::new(None::<Strength>);
    let deriving = RwSignal::new(false);
    let busy = move || {
        deriving.get() || session.read(Part::Pending, |model| model.is_pending(&CommandKind::Secrets))
    };
    let forget =
        move || session.settled.update_untracked(|all| all.retain(|(kind, _)| *kind != CommandKind::Secrets));
    // What was done before this form was opened is no answer to it.
    forget();
    Effect::new(move |_| {
        let settled = session.settled.get();
        let Some((_, refusal)) = settled.iter().rev().find(|(kind, _)| *kind == CommandKind::Secrets) else {
            return;
        };
        match refusal {
            None => chosen.set(None),
            Some(refusal) => {
                let words = words::refusal_words(t, refusal);
                fault.set(Some(format!("{}. {}", words.title, words.next)));
            }
        }
        forget();
    });
    let measure = move |event: web_sys::Event| {
        let typed = event_target_value(&event);
        measured.set((!typed.is_empty()).then(|| strength(&typed)));
    };
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        if busy() {
            return;
        }
        measured.set(None);
        let (given, wanted, repeated) = (take(current), take(next), take(again));
        fault.set(if task.asks_next() && strength(&wanted) == Strength::Short {
            Some(t.passphrase_short(&CHARS_MIN.to_string()))
        } else if task.asks_next() && wanted != repeated {
            Some(t.passphrase_differ().to_owned())
        } else if task.asks_current() && given.is_empty() {
            Some(t.passphrase_missing().to_owned())
        } else {
            None
        });
        if fault.with_untracked(Option::is_some) {
            return;
        }
        deriving.set(true);
        let vault = vault.get_untracked();
        wasm_bindgen_futures::spawn_local(async move {
            match command(task, vault, given, wanted).await {
                Some(command) => session.command(command),
                None => fault.set(Some(t.error_internal().to_owned())),
            }
            deriving.set(false);
        });
    };
    let (title, action) = match task {
        Task::Set => (t.passphrase_set(), t.passphrase_set()),
        Task::Change => (t.passphrase_change(), t.passphrase_change()),
        Task::Remove => (t.passphrase_remove(), t.passphrase_remove()),
        Task::Unlock => (t.unlock(), t.unlock()),
    };
    let strength_words = move || {
        measured.get().map(|it| match it {
            Strength::Short => t.passphrase_short(&CHARS_MIN.to_string()),
            Strength::Weak => t.passphrase_weak().to_owned(),
            Strength::Fair => t.passphrase_fair().to_owned(),
            Strength::Strong => t.passphrase_strong().to_owned(),
        })
    };
    view! {
        <form class="card" aria-label=title on:submit=submit>
            {task.asks_current().then(|| view! {
                <div class="field">
                    <label for="passphrase-current">{t.passphrase_current()}</label>
                    <input id="passphrase-current" class="input" type="password" autocomplete="current-password" node_ref=current />
                </div>
            })}
            {task.asks_next().then(|| view! {
                <div class="field">
                    <label for="passphrase-new">{t.passphrase_new()}</label>
                    <input id="passphrase-new" class="input" type="password" autocomplete="new-password" aria-describedby="passphrase-strength"
                        node_ref=next on:input=measure />
                    <p id="passphrase-strength" class="hint" role="status">{strength_words}</p>
                </div>
                <div class="field">
                    <label for="passphrase-again">{t.passphrase_again()}</label>
                    <input id="passphrase-again" class="input" type="password" autocomplete="new-password" node_ref=again />
                    <p class="hint">{t.passphrase_warning()}</p>
                </div>
            })}
            {move || fault.get().map(|text| view! { <p class="field-error" role="alert">{text}</p> })}
            <div class="card-actions">
                <button type="submit" class="button primary" disabled=busy>{move || if busy() { t.passphrase_working() } else { action }}</button>
                {(task != Task::Unlock).then(|| view! {
                    <button type="button" class="button quiet" on:click=move |_| chosen.set(None)>{t.cancel()}</button>
                })}
            </div>
        </form>
    }
}

/// Asks before everything that the passphrase protects is forgotten.
#[component]
fn ForgetDialog(forgetting: RwSignal<bool>) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let dialog = NodeRef::<html::Dialog>::new();
    Effect::new(move |_| {
        let Some(dialog) = dialog.get() else { return };
        if forgetting.get() {
            let _ = dialog.show_modal();
        } else {
            dialog.close();
        }
    });
    let forget = move |_| {
        session.command(Command::ChangeSecrets { change: SecretsChange::Reset {} });
        forgetting.set(false);
    };
    view! {
        <dialog class="small" node_ref=dialog aria-labelledby="forget-title" on:close=move |_| forgetting.set(false)>
            <h2 id="forget-title">{t.passphrase_forget_title()}</h2>
            <p>{t.passphrase_forget_text()}</p>
            <div class="dialog-actions">
                <button type="button" class="button" autofocus on:click=move |_| forgetting.set(false)>{t.cancel()}</button>
                <button type="button" class="button danger" on:click=forget>{t.passphrase_forget()}</button>
            </div>
        </dialog>
    }
}

#[cfg(test)]
mod tests {
    use super::{Strength, strength};

    #[test]
    fn a_passphrase_is_measured_by_its_length_and_variety() {
        let cases = [
            ("", Strength::Short),
            ("Ab1!xyz", Strength::Short),
            ("aaaaaaaaaaaaaaaaaaaaaaaa", Strength::Weak),
            ("password", Strength::Weak),
            ("passw0rd", Strength::Fair),
            ("correct horse battery staple", Strength::Strong),
            ("Tr0ub4dor&3-again", Strength::Strong),
            ("一二三四五六七八九十一二三四", Strength::Fair),
        ];
        for (passphrase, expected) in cases {
            assert_eq!(strength(passphrase), expected, "{passphrase}");
        }
    }
}
