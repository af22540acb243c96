//! The suite that every store must pass: one list of cases, run wherever a [`Harness`] can open a store.
//!
//! A store's tests define a macro that makes a test of one name, and hand it to [`crate::each_conformance_case`].

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test suite, compiled for tests only")]

use panelot_records::{Key, Row};

use crate::store::Store;

mod commits;
mod heads;
mod sample;
mod scans;
mod secrets;

/// How a kind of store is opened in a test, and how a test gets behind it.
#[expect(async_fn_in_trait, reason = "as for the trait Store")]
pub trait Harness {
    /// The store under test.
    type Store: Store;

    /// A store over an empty place of its own.
    async fn fresh(&self) -> Self::Store;

    /// Closes a store and opens the same place again.
    async fn reopen(&self, store: Self::Store) -> Self::Store;

    /// Writes a row past every check.
    async fn put_row(&self, store: &Self::Store, key: &Key, row: &Row);

    /// A row as it lies there.
    async fn row(&self, store: &Self::Store, key: &Key) -> Option<Row>;
}

/// Makes one public function of each case, and the macro that hands their names out. A case that is missing here is
/// dead code, which the compiler reports.
macro_rules! cases {
    ($dollar:tt $($module:ident: $($name:ident),+;)+) => {
        $($(
            #[doc = concat!("Case `", stringify!($name), "`.")]
            pub async fn $name<H: Harness>(harness: &H) {
                $module::$name(harness).await;
            }
        )+)+

        /// Calls `$each!(name)` with the name of every case of [`crate::conformance`].
        #[macro_export]
        macro_rules! each_conformance_case {
            ($dollar each:ident) => { $($( $dollar each!($name); )+)+ };
        }
    };
}

cases! { $
    commits:
        a_commit_makes_its_writes_in_order,
        a_failed_precondition_leaves_everything_as_it_was,
        a_precondition_compares_absence_and_revision,
        a_precondition_looks_at_what_was_there_before_the_commit,
        a_precondition_holds_for_a_row_whose_body_cannot_be_read,
        of_two_commits_at_once_with_one_precondition_exactly_one_is_applied,
        deleting_removes_one_record_and_what_is_not_there_is_no_error,
        a_threads_records_go_from_one_table_and_nobody_elses,
        an_empty_commit_is_no_transaction,
        every_commit_is_one_transaction,
        relaxed_commits_are_read_back,
        what_was_committed_is_there_after_reopening,
        a_record_of_a_mebibyte_is_kept,
        keys_may_hold_any_text;
    scans:
        a_scan_keeps_to_its_prefix_in_both_directions,
        a_scan_ends_before_its_bound_and_at_its_limit,
        numbers_sort_as_numbers_and_before_texts_which_sort_by_utf_16,
        a_row_that_cannot_be_read_spoils_itself_only,
        what_is_not_there_is_none;
    secrets:
        a_sealed_secret_opens_again_and_does_not_lie_in_the_clear,
        a_sealed_secret_opens_for_no_other_connection,
        a_changed_secret_does_not_open,
        a_failed_commit_seals_nothing,
        a_secret_is_replaced_deleted_and_kept_across_reopening,
        a_passphrase_locks_what_was_sealed_before_it_and_what_is_sealed_after,
        another_passphrase_takes_the_place_of_the_first_and_its_removal_opens_all,
        a_change_of_the_passphrase_that_fails_leaves_the_old_one;
    heads:
        a_thread_that_is_absent_or_deleted_has_no_head,
        a_head_holds_the_open_runs_in_order_and_their_approvals,
        a_head_holds_the_newest_page_of_the_active_branch,
        a_page_reaches_back_to_the_message_whose_calls_are_open,
        a_broken_node_spoils_only_the_branches_it_lies_on,
        what_a_head_refers_to_must_be_there,
        what_can_be_read_of_a_damaged_branch_is_read_and_the_damage_told,
        an_unreadable_approval_matters_only_while_a_call_waits_for_it,
        a_parent_that_is_not_older_cuts_the_branch_and_never_makes_an_endless_loop,
        a_path_is_read_in_pages_to_its_root;
}
