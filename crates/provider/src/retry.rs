//! When a failed model call is tried again, and after how long.

use crate::error::{ErrorKind, ProviderError};

/// Attempts of one call, the first included.
pub const ATTEMPTS_MAX: u32 = 4;
/// Longest computed delay before the second attempt; it doubles with each further one…
pub const DELAY_FIRST_MS: u64 = 1000;
/// …up to this.
pub const DELAY_MAX_MS: u64 = 32_000;
/// Longest wait that a provider may ask for. Beyond it the person is told instead of left waiting.
pub const RETRY_AFTER_MAX_MS: u64 = 60_000;

/// Whether anything of the answer was already shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Nothing was seen: trying again is invisible.
    None,
    /// Something was seen: a second answer would contradict it, so the person decides.
    Seen,
}

/// How many milliseconds to wait before trying again, or `None` to give up.
///
/// `attempt` counts from 1 and is the one that failed. `jitter` is any random number: the delay is spread over the
/// upper half of its range, so that many clients do not come back at once. A wait that the provider asked for is kept
/// exactly, since coming back earlier would be refused again.
#[must_use]
pub fn next(attempt: u32, error: &ProviderError, output: Output, jitter: u64) -> Option<u64> {
    if !error.retryable || output == Output::Seen || attempt == 0 || attempt >= ATTEMPTS_MAX {
        return None;
    }
    if let (Some(wait), ErrorKind::RateLimit | ErrorKind::Overloaded) = (error.retry_after_ms, error.kind) {
        return (wait <= RETRY_AFTER_MAX_MS).then_some(wait);
    }
    let ceiling = DELAY_FIRST_MS.saturating_mul(1 << (attempt - 1)).min(DELAY_MAX_MS);
    Some(ceiling / 2 + jitter % (ceiling / 2 + 1))
}

/// What to do after an attempt failed, when a connection has several keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Ask again at once with the key at this place.
    Key(usize),
    /// Ask again with the same key after so many milliseconds.
    Wait(u64),
    /// Tell the person.
    GiveUp,
}

/// The keys of one call: which is used, and which have failed. The one that worked last comes first, so the caller
/// remembers [`Keys::current`] of a call that succeeded and begins the next with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keys {
    count: usize,
    current: usize,
    /// Keys in a row that failed since the last wait, this one included.
    failed: usize,
    /// Waits so far, counted as attempts.
    attempt: u32,
}

impl Keys {
    /// `count` keys, beginning with the one at `first` (counted on from the start when there are fewer). No key at all
    /// counts as one, for servers that need none.
    #[must_use]
    pub fn new(count: usize, first: usize) -> Self {
        let count = count.max(1);
        Self { count, current: first % count, failed: 0, attempt: 1 }
    }

    /// The place of the key to use.
    #[must_use]
    pub const fn current(&self) -> usize {
        self.current
    }

    /// What to do after `error`. Every key is tried once before anything waits: a wrong key, an exhausted account and a
    /// rate limit are that key's own trouble. Only then [`next`] decides, about the last error; keys that were refused
    /// are never asked again.
    #[must_use]
    pub fn after(&mut self, error: &ProviderError, output: Output, jitter: u64) -> Step {
        if output == Output::Seen {
            return Step::GiveUp;
        }
        let is_keys_own =
            matches!(error.kind, ErrorKind::Auth | ErrorKind::RateLimit | ErrorKind::Overloaded);
        self.failed += 1;
        if is_keys_own && self.failed < self.count {
            self.current = (self.current + 1) % self.count;
            return Step::Key(self.current);
        }
        match next(self.attempt, error, output, jitter) {
            Some(wait) => {
                self.failed = 0;
                self.attempt += 1;
                Step::Wait(wait)
            }
            None => Step::GiveUp,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ATTEMPTS_MAX, Keys, Output, RETRY_AFTER_MAX_MS, Step, next};
    use crate::error::{ErrorKind, ProviderError, Reason};

    #[test]
    fn delays_double_and_stay_in_the_upper_half_of_their_range() {
        let error = ProviderError::new(ErrorKind::Network, None);
        for (attempt, ceiling) in [(1, 1000), (2, 2000), (3, 4000)] {
            let delays: Vec<_> =
                (0..5000).map(|jitter| next(attempt, &error, Output::None, jitter).unwrap()).collect();
            assert_eq!(delays.iter().min(), Some(&(ceiling / 2)));
            assert_eq!(delays.iter().max(), Some(&ceiling));
        }
        assert_eq!(next(ATTEMPTS_MAX, &error, Output::None, 0), None);
        assert!(next(1, &error, Output::None, u64::MAX).is_some());
    }

    #[test]
    fn a_wait_that_was_asked_for_is_kept_exactly_unless_it_is_too_long() {
        let mut error = ProviderError::new(ErrorKind::RateLimit, None);
        error.retry_after_ms = Some(7000);
        assert_eq!(next(1, &error, Output::None, 99), Some(7000));
        error.retry_after_ms = Some(RETRY_AFTER_MAX_MS + 1);
        assert_eq!(next(1, &error, Output::None, 99), None);
    }

    #[test]
    fn nothing_is_repeated_that_was_seen_or_cannot_succeed() {
        let network = ProviderError::new(ErrorKind::Network, Some(Reason::Truncated));
        assert!(next(1, &network, Output::None, 0).is_some());
        assert_eq!(next(1, &network, Output::Seen, 0), None);
        for kind in
            [ErrorKind::Auth, ErrorKind::ContextTooLong, ErrorKind::ContentFilter, ErrorKind::Protocol]
        {
            assert_eq!(next(1, &ProviderError::new(kind, None), Output::None, 0), None, "{kind:?}");
        }
        let quota = ProviderError::new(ErrorKind::RateLimit, Some(Reason::QuotaExceeded));
        assert_eq!(next(1, &quota, Output::None, 0), None);
    }

    #[test]
    fn every_key_is_tried_before_anything_waits_and_a_good_one_is_found_beyond_the_attempts() {
        let auth = ProviderError::new(ErrorKind::Auth, Some(Reason::InvalidKey));
        let mut keys = Keys::new(6, 4);
        let tried: Vec<_> = (0..6).map(|_| keys.after(&auth, Output::None, 0)).collect();
        assert_eq!(
            tried,
            [Step::Key(5), Step::Key(0), Step::Key(1), Step::Key(2), Step::Key(3), Step::GiveUp]
        );
        let limited = ProviderError::new(ErrorKind::RateLimit, None);
        let mut keys = Keys::new(2, 0);
        assert_eq!(keys.after(&limited, Output::None, 0), Step::Key(1));
        assert_eq!(keys.after(&limited, Output::None, 0), Step::Wait(500));
        assert_eq!(keys.after(&limited, Output::None, 0), Step::Key(0));
        assert_eq!(keys.after(&limited, Output::None, 0), Step::Wait(1000));
    }

    #[test]
    fn a_quota_moves_on_to_the_next_key_and_ends_at_the_last() {
        let quota = ProviderError::new(ErrorKind::RateLimit, Some(Reason::QuotaExceeded));
        let mut keys = Keys::new(2, 7);
        assert_eq!((keys.current(), keys.after(&quota, Output::None, 0)), (1, Step::Key(0)));
        assert_eq!(keys.after(&quota, Output::None, 0), Step::GiveUp);
    }

    #[test]
    fn without_keys_there_is_one_try_at_a_time_and_nothing_after_output() {
        let network = ProviderError::new(ErrorKind::Network, None);
        let mut keys = Keys::new(0, 3);
        assert_eq!((keys.current(), keys.after(&network, Output::None, 0)), (0, Step::Wait(500)));
        let wrong = ProviderError::new(ErrorKind::Protocol, None);
        assert_eq!(keys.after(&wrong, Output::None, 0), Step::GiveUp);
        let busy = ProviderError::new(ErrorKind::Overloaded, None);
        assert_eq!(Keys::new(3, 0).after(&busy, Output::Seen, 0), Step::GiveUp);
    }
}
