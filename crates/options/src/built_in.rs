//! The card of the browser's own model: whether it is there, its download, and the connection to it.

use leptos::prelude::*;
use panelot_base::ConnectionId;
use panelot_protocol::Text;
use panelot_protocol::settings::{ModelChoice, ProviderWire, SettingsChange};
use panelot_ui::glyph::{Glyph, glyph};
use panelot_ui::i18n::Messages;
use panelot_ui::session::{Part, Session};
use panelot_view::Command;
use wasm_bindgen::prelude::{Closure, wasm_bindgen};
use wasm_bindgen::{JsCast as _, JsValue};

/// The name of the model, as the worker's side lists it (`extension/built-in.js`).
const MODEL: &str = "gemini-nano";
/// Connections have an address; nothing is ever sent to this one.
const ADDRESS: &str = "http://localhost";

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = panelotLanguageModel, catch)]
    async fn availability() -> Result<JsValue, JsValue>;
    #[wasm_bindgen(js_namespace = panelotLanguageModel, catch)]
    async fn download(progress: &js_sys::Function) -> Result<JsValue, JsValue>;
}

/// How things stand with the model.
#[derive(Clone, Debug, PartialEq)]
enum State {
    Unknown,
    Missing,
    Unavailable,
    Downloadable,
    /// How much is there, from 0 to 1; none while another page downloads it.
    Downloading(Option<f64>),
    Available,
    /// The download ended so.
    Failed(String),
}

async fn look() -> State {
    let said = availability().await.ok().and_then(|it| it.as_string());
    match said.as_deref() {
        Some("available") => State::Available,
        Some("downloadable") => State::Downloadable,
        Some("downloading") => State::Downloading(None),
        Some("unavailable") => State::Unavailable,
        _ => State::Missing,
    }
}

async fn fetch(state: RwSignal<State>) {
    let told = Closure::<dyn FnMut(f64)>::new(move |share| {
        let _ = state.try_set(State::Downloading(Some(share)));
    });
    let ended = download(told.as_ref().unchecked_ref()).await;
    let now = match ended {
        Ok(_) => look().await,
        Err(error) => {
            let error: Option<&js_sys::Error> = error.dyn_ref();
            State::Failed(error.map(|it| String::from(it.message())).unwrap_or_default())
        }
    };
    let _ = state.try_set(now);
}

/// The card.
#[component]
pub(crate) fn BuiltIn() -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let state = RwSignal::new(State::Unknown);
    wasm_bindgen_futures::spawn_local(async move {
        let now = look().await;
        let _ = state.try_set(now);
    });
    let connected = Memo::new(move |_| {
        session.read(Part::Settings, |model| {
            let all = model.settings.as_ref().map(|it| it.connections.as_slice()).unwrap_or_default();
            all.iter().any(|it| it.wire == ProviderWire::BuiltIn)
        })
    });
    let start = move |_| {
        state.set(State::Downloading(Some(0.0)));
        wasm_bindgen_futures::spawn_local(fetch(state));
    };
    let words = move || match state.get() {
        State::Unknown => String::new(),
        State::Missing => t.built_in_missing().to_owned(),
        State::Unavailable => t.built_in_unavailable().to_owned(),
        State::Downloadable => t.built_in_downloadable().to_owned(),
        State::Downloading(_) => t.built_in_downloading().to_owned(),
        State::Available if connected.get() => t.built_in_connected().to_owned(),
        State::Available => t.built_in_available().to_owned(),
        State::Failed(why) => t.built_in_failed(&why),
    };
    view! {
        <div class="field" role="group" aria-labelledby="built-in-title">
            <h3 id="built-in-title">{t.built_in_title()}</h3>
            <p class="hint">{t.built_in_text()}</p>
            <p class="section-text" role="status">{words}</p>
            <div>{move || match state.get() {
                State::Downloadable | State::Failed(_) => view! {
                    <button type="button" class="button" on:click=start>{t.built_in_download()}</button>
                }.into_any(),
                State::Downloading(share) => view! {
                    <progress aria-label=t.built_in_downloading() max="1" value=share.map(|it| it.to_string())></progress>
                }.into_any(),
                State::Available if !connected.get() => view! {
                    <button type="button" class="button" on:click=move |_| connect(session, t)>{glyph(Glyph::Plus)} {t.built_in_connect()}</button>
                }.into_any(),
                _ => ().into_any(),
            }}</div>
        </div>
    }
}

/// Keeps a connection to the model; the default where there is none yet.
fn connect(session: Session, t: Messages) {
    let id = session.mint(ConnectionId::mint);
    let none_yet = session.peek(|model| model.settings.as_ref().is_some_and(|it| it.default_model.is_none()));
    let model_id = || Text::clipped(MODEL);
    let mut changes = vec![SettingsChange::PutConnection {
        id: id.clone(),
        name: Text::clipped(t.built_in_title()),
        wire: ProviderWire::BuiltIn,
        base_url: Text::clipped(ADDRESS),
        models: vec![model_id()],
        key: None,
        add_keys: Vec::new(),
        remove_keys: Vec::new(),
        headers: None,
        quirks: None,
        keyless: None,
    }];
    if none_yet {
        let model = Some(ModelChoice { connection_id: id, model_id: model_id() });
        changes.push(SettingsChange::SetDefaultModel { model });
    }
    session.command(Command::UpdateSettings { changes });
}
