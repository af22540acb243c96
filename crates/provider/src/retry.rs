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

#[cfg(test)]
mod tests {
    use super::{ATTEMPTS_MAX, Output, RETRY_AFTER_MAX_MS, next};
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
}
