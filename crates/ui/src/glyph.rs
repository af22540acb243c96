//! The drawn signs of the interface, one path each on a grid of 20.

use leptos::prelude::*;

/// A sign.
#[expect(missing_docs, reason = "each name says what is drawn")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Glyph {
    List,
    Plus,
    Expand,
    Gear,
    Send,
    Stop,
    Chevron,
    Down,
    Check,
    Cross,
    Clock,
    Warning,
    Read,
    Pointer,
    Keyboard,
    Choose,
    Globe,
    Tabs,
    Tool,
    Copy,
    Bin,
    Shield,
    Retry,
    Question,
    Minus,
    Spark,
    Sliders,
    Info,
    Steer,
    Queue,
    Pencil,
    More,
    Pin,
    Archive,
    Search,
    Branch,
    Hand,
    Ask,
    Timer,
    Back,
    Folder,
}

impl Glyph {
    /// The sign of a tool.
    #[must_use]
    pub fn of_tool(name: &str) -> Self {
        match name {
            "read_page" => Self::Read,
            "click" => Self::Pointer,
            "type" => Self::Keyboard,
            "select_option" => Self::Choose,
            "navigate" => Self::Globe,
            "tabs_list" => Self::Tabs,
            "ask_user" => Self::Ask,
            "request_user_action" => Self::Hand,
            "watch_page" => Self::Read,
            "schedule_resume" => Self::Timer,
            _ => Self::Tool,
        }
    }

    // A table, one line each.
    #[rustfmt::skip]
    const fn path(self) -> &'static str {
        match self {
            Self::List => "M3.5 5.5h13M3.5 10h13M3.5 14.5h8",
            Self::Plus => "M10 4v12M4 10h12",
            Self::Expand => "M11.5 3.5h5v5M16 4l-6 6M8.5 4.5h-3a2 2 0 0 0-2 2v8a2 2 0 0 0 2 2h8a2 2 0 0 0 2-2v-3",
            Self::Gear => "M10 7.4a2.6 2.6 0 1 0 0 5.2 2.6 2.6 0 0 0 0-5.2M10 2.8v2M10 15.2v2M17.2 10h-2M4.8 10h-2M15.1 4.9l-1.4 1.4M6.3 13.7l-1.4 1.4M15.1 15.1l-1.4-1.4M6.3 6.3 4.9 4.9",
            Self::Send => "M10 16V4.5M5 9.2l5-5 5 5",
            Self::Stop => "M6.5 5h7A1.5 1.5 0 0 1 15 6.5v7a1.5 1.5 0 0 1-1.5 1.5h-7A1.5 1.5 0 0 1 5 13.5v-7A1.5 1.5 0 0 1 6.5 5z",
            Self::Chevron => "m8 5 5 5-5 5",
            Self::Down => "M10 4v11.5M5 10.8l5 5 5-5",
            Self::Check => "m4.5 10.5 3.7 3.7 7.3-8",
            Self::Cross => "m5 5 10 10M15 5 5 15",
            Self::Clock => "M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14M10 6v4.2l2.6 1.6",
            Self::Warning => "M10 3.2 17.6 16.4H2.4zM10 8.2v3.6M10 14.1v.1",
            Self::Read => "M2.2 10S5 4.8 10 4.8 17.8 10 17.8 10 15 15.2 10 15.2 2.2 10 2.2 10M10 7.8a2.2 2.2 0 1 0 0 4.4 2.2 2.2 0 0 0 0-4.4",
            Self::Pointer => "m4.5 3.8 11.6 5-5 1.7-1.9 5z",
            Self::Keyboard => "M4 5.5h12A1.5 1.5 0 0 1 17.5 7v6a1.5 1.5 0 0 1-1.5 1.5H4A1.5 1.5 0 0 1 2.5 13V7A1.5 1.5 0 0 1 4 5.5zM5.5 8.5h.1M8.5 8.5h.1M11.5 8.5h.1M14.5 8.5h.1M7 11.5h6",
            Self::Choose => "M4 4.5h12A1.5 1.5 0 0 1 17.5 6v8a1.5 1.5 0 0 1-1.5 1.5H4A1.5 1.5 0 0 1 2.5 14V6A1.5 1.5 0 0 1 4 4.5zM7.2 9l2.8 2.8L12.8 9",
            Self::Globe => "M10 2.8a7.2 7.2 0 1 0 0 14.4 7.2 7.2 0 0 0 0-14.4M2.8 10h14.4M10 2.8c4 4.2 4 10.2 0 14.4M10 2.8c-4 4.2-4 10.2 0 14.4",
            Self::Folder => "M3 6.5A1.5 1.5 0 0 1 4.5 5H8l1.2 2.5h6.3A1.5 1.5 0 0 1 17 9v5.5a1.5 1.5 0 0 1-1.5 1.5h-11A1.5 1.5 0 0 1 3 14.5z",
            Self::Tabs => "M3 5.5A1.5 1.5 0 0 1 4.5 4h11A1.5 1.5 0 0 1 17 5.5v9a1.5 1.5 0 0 1-1.5 1.5h-11A1.5 1.5 0 0 1 3 14.5zM3 8h14M8 4v4M12.5 4v4",
            Self::Tool => "M12.8 3.4a4 4 0 0 0-4 5.3l-5.3 5.3a1.6 1.6 0 0 0 2.3 2.3l5.3-5.3a4 4 0 0 0 5.3-4.9l-2.4 2.4-2.3-.6-.6-2.3 2.4-2.4z",
            Self::Copy => "M8 7.5h7A1.5 1.5 0 0 1 16.5 9v6a1.5 1.5 0 0 1-1.5 1.5H8A1.5 1.5 0 0 1 6.5 15V9A1.5 1.5 0 0 1 8 7.5M13.5 7.5V5A1.5 1.5 0 0 0 12 3.5H5A1.5 1.5 0 0 0 3.5 5v6A1.5 1.5 0 0 0 5 12.5h1.5",
            Self::Bin => "M4 6h12M8 6V4.3h4V6M5.5 6l.7 10h7.6l.7-10M8.5 9v4.5M11.5 9v4.5",
            Self::Shield => "M10 2.8 16 5v4.6c0 3.6-2.5 6.3-6 7.6-3.5-1.3-6-4-6-7.6V5z",
            Self::Retry => "M16 10a6 6 0 1 1-1.9-4.4M16 3.5v3.2h-3.2",
            Self::Question => "M7.3 7.5a2.7 2.7 0 1 1 3.9 2.4c-.8.4-1.2 1-1.2 1.8M10 14.4v.1M10 2.8a7.2 7.2 0 1 0 0 14.4 7.2 7.2 0 0 0 0-14.4",
            Self::Minus => "M5 10h10",
            Self::Spark => "M10 3.2c.6 4 2.8 6.2 6.8 6.8-4 .6-6.2 2.8-6.8 6.8-.6-4-2.8-6.2-6.8-6.8 4-.6 6.2-2.8 6.8-6.8",
            Self::Sliders => "M3.5 6.5h7M14.5 6.5h2M12.5 4.5a2 2 0 1 0 0 4 2 2 0 0 0 0-4M3.5 13.5h2M9.5 13.5h7M7.5 11.5a2 2 0 1 0 0 4 2 2 0 0 0 0-4",
            Self::Steer => "M4 4v4.5a3 3 0 0 0 3 3h8.5M11.5 7.5l4 4-4 4",
            Self::Queue => "M4 5.5h12M4 10h12M4 14.5h6M13 14.5h4M15 12.5v4",
            Self::Pencil => "M4 16l.8-3.4L13 4.4a1.5 1.5 0 0 1 2.1 0l.5.5a1.5 1.5 0 0 1 0 2.1l-8.2 8.2zM11.8 5.6l2.6 2.6",
            Self::More => "M5 10h.1M10 10h.1M15 10h.1",
            Self::Pin => "M7.5 3.5h5l-.6 5 2.6 2.6h-9l2.6-2.6zM10 11.1v5.4",
            Self::Archive => "M3.5 4.5h13v3h-13zM4.8 7.5v8h10.4v-8M8 10.5h4",
            Self::Search => "M9 4a5 5 0 1 0 0 10A5 5 0 0 0 9 4M12.7 12.7 16.5 16.5",
            Self::Branch => "M6 5.5a1.5 1.5 0 1 0 0-.1M6 7v6M6 14.6a1.5 1.5 0 1 0 0-.1M14 7.1a1.5 1.5 0 1 0 0-.1M14 8.5c0 3-4.5 2.5-7.6 5",
            Self::Hand => "M6.5 10.5V5.6a1.2 1.2 0 0 1 2.4 0v3.6M8.9 9V4.4a1.2 1.2 0 0 1 2.4 0V9M11.3 9V5.6a1.2 1.2 0 0 1 2.4 0v5.6c0 3.3-1.8 5.6-4.7 5.6-2.3 0-3.4-1.3-4.5-3.4L3.4 11c-.3-.7.1-1.4.7-1.6.7-.2 1.2.1 1.6.7l.8 1.2",
            Self::Ask => "M4.5 4h11A1.5 1.5 0 0 1 17 5.5v7a1.5 1.5 0 0 1-1.5 1.5H10l-3.5 3v-3h-2A1.5 1.5 0 0 1 3 12.5v-7A1.5 1.5 0 0 1 4.5 4M8.6 7.4a1.5 1.5 0 1 1 2.2 1.3c-.5.3-.8.6-.8 1.1M10 11.6v.1",
            Self::Timer => "M10 5a6 6 0 1 0 0 12 6 6 0 0 0 0-12M8 2.8h4M10 8v3l2 1.3",
            Self::Back => "m12 5-5 5 5 5",
            Self::Info => "M10 2.8a7.2 7.2 0 1 0 0 14.4 7.2 7.2 0 0 0 0-14.4M10 9.2v4.3M10 6.5v.1",
        }
    }
}

/// Draws a sign. Words stand beside it or in its button's label; to assistive technology it is silent.
#[must_use]
pub fn glyph(sign: Glyph) -> impl IntoView {
    view! {
        <svg class="glyph" viewBox="0 0 20 20" aria-hidden="true">
            <path d=sign.path() />
        </svg>
    }
}

/// The sign of something that unfolds; it turns when it is open.
#[must_use]
pub fn chevron() -> impl IntoView {
    view! {
        <svg class="glyph chevron" viewBox="0 0 20 20" aria-hidden="true">
            <path d=Glyph::Chevron.path() />
        </svg>
    }
}
