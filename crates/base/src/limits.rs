//! Every number that bounds something, with the reason for it.

/// Queued runs of one thread, beyond the one that runs: enough for a burst of thoughts, few enough to read in the dock.
pub const QUEUED_RUNS_MAX: usize = 8;
/// Messages that may be added to a turn before the model has read them; the run's row holds them until then.
pub const STEERS_MAX: usize = 16;
/// Operations of one thread that may wait for the engine before further ones are refused as `overloaded`.
pub const WAITING_OPS_MAX: usize = 32;
/// How long deltas of one item are gathered before one event is sent: one frame at 60 Hz.
pub const DELTA_MERGE_MS: u64 = 16;
/// How long an approval stays open. Stored as a deadline, so a restart does not extend it.
pub const APPROVAL_TIMEOUT_MS: u64 = 5 * 60 * 1000;
/// How long a question of the model's, or a request to do something by hand, stays open: the person may be away for the
/// night, and nothing waits for ever.
pub const INTERACTION_TIMEOUT_MS: u64 = 24 * 60 * 60 * 1000;
/// How long a question of an MCP server stays open: its call is under way meanwhile.
pub const ELICITATION_TIMEOUT_MS: u64 = 5 * 60 * 1000;
/// Bytes of an answer to an interaction, as JSON: it goes to the model whole.
pub const INTERACTION_VALUE_BYTES_MAX: usize = 32_000;
/// How often a watched page is looked at when nothing happens in its tab. Twice the shortest alarm, so that the worker
/// sleeps in between; after ten times this, a tenth of the time waited…
pub const LOOK_INTERVAL_MS: u64 = 60_000;
/// …up to this.
pub const LOOK_INTERVAL_MAX_MS: u64 = 5 * 60 * 1000;
/// How long after a sign of change a watched page is looked at: a page that changes says so several times.
pub const LOOK_DELAY_MS: u64 = 1000;
/// Default deadline of one request to the page executor.
pub const PAGE_REQUEST_TIMEOUT_MS: u64 = 10_000;
/// Deadline of a navigation, until the destination's document is there.
pub const NAVIGATION_TIMEOUT_MS: u64 = 30_000;
/// Partial model output is written at most this often while it streams…
pub const CHECKPOINT_INTERVAL_MS: u64 = 1000;
/// …or whenever this many bytes of it are not yet stored.
pub const CHECKPOINT_BYTES: usize = 4096;
/// Longest wait for the first byte of a model's answer. Local models may load for minutes.
pub const MODEL_FIRST_BYTE_TIMEOUT_MS: u64 = 10 * 60 * 1000;
/// Longest silence inside a model's answer.
pub const MODEL_IDLE_TIMEOUT_MS: u64 = 2 * 60 * 1000;
/// While work is outstanding the worker makes an extension call this often; Chrome stops a worker after 30 s without one.
pub const KEEP_ALIVE_MS: u64 = 20_000;
/// Chrome does not fire alarms sooner than this (`chrome.alarms` documentation, Chrome 120 and later).
pub const ALARM_MIN_MS: u64 = 30_000;
/// How often a view asks `ping`, and how long it waits for any sign of life before it reconnects.
pub const PING_INTERVAL_MS: u64 = 20_000;
/// First reconnect delay of a view; it doubles…
pub const RECONNECT_MIN_MS: u64 = 500;
/// …up to this.
pub const RECONNECT_MAX_MS: u64 = 8000;
/// Newest nodes of a thread that a snapshot carries; older ones come page by page.
pub const SNAPSHOT_PAGE_NODES: usize = 60;
/// Consecutive failed tool calls after which the model is told to change its approach.
pub const FAILURES_REMIND: u32 = 3;
/// Consecutive failed tool calls after which the turn ends with a summary.
pub const FAILURES_STOP: u32 = 5;
/// Times that the same call, or the same few in turn, may bring the same before the model is told…
pub const LOOP_REMIND: u32 = 3;
/// …and before the turn ends with a summary.
pub const LOOP_STOP: u32 = 5;
/// Newest calls of a run that are compared; enough for [`LOOP_STOP`] times three calls in turn.
pub const TRAIL_CALLS_MAX: usize = 15;
/// Bytes of one tool result that reach the model (about 10,000 tokens).
pub const TOOL_RESULT_BYTES_MAX: usize = 40_000;
/// Bytes of one operation on the wire.
pub const OP_BYTES_MAX: usize = 1024 * 1024;
/// Bytes of one message on the wire. Chrome ends a Port at 64 MiB.
pub const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Branches of one thread: its head lists them and is rewritten with each change.
pub const BRANCHES_MAX: usize = 200;
/// Nodes that are read after a message to find the results of its calls.
pub const RESULTS_WINDOW_NODES: usize = 128;
/// Bytes of one message of the person that go on beside a summary, word for word.
pub const SUMMARY_REQUEST_BYTES: usize = 2000;
/// Bytes of all of them together; the newest are kept.
pub const SUMMARY_REQUESTS_BYTES: usize = 12_000;
/// Characters of a thread title.
pub const TITLE_CHARS_MAX: usize = 60;
/// Characters of the first line that serves as a title until a better one is there.
pub const TITLE_FALLBACK_CHARS_MAX: usize = 40;
/// Characters of the first message from which a model makes a title.
pub const TITLE_SOURCE_CHARS_MAX: usize = 2000;
/// Tokens of a title's answer, for models that think before they write.
pub const TITLE_TOKENS_MAX: u32 = 512;
/// How long a model may take for a title.
pub const TITLE_TIMEOUT_MS: u64 = 20_000;
/// First turns of a thread that try to get a title from a model.
pub const TITLE_TURNS_MAX: u64 = 3;
/// Saved permission rules.
pub const RULES_MAX: usize = 1000;
/// Configured model connections.
pub const CONNECTIONS_MAX: usize = 50;
/// Characters of a note that goes with a declined approval.
pub const NOTE_CHARS_MAX: usize = 2000;
/// How long a receipt is kept: no view sends a command again after a week. Finished runs and their questions go with it.
pub const RECEIPT_AGE_MS: u64 = 7 * 24 * 60 * 60 * 1000;
/// Receipts that are kept however young they are.
pub const RECEIPTS_MAX: usize = 10_000;
/// One life of the worker in so many sweeps: it starts many times an hour, and a sweep reads whole tables.
pub const SWEEP_LIVES: u64 = 16;
/// Records that a sweep reads at once: a few milliseconds.
pub const SWEEP_SLICE_RECORDS: usize = 250;
/// How long after a start a sweep begins, so that it is in nobody's way.
pub const SWEEP_DELAY_MS: u64 = 10_000;
/// The pause between two slices.
pub const SWEEP_PAUSE_MS: u64 = 50;
/// Traps of one thread after which it is set aside.
pub const THREAD_TRAPS_MAX: u32 = 2;
