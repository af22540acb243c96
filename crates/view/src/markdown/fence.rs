//! The fences of code blocks (CommonMark 0.31, section 4.5), as far as a growing document needs them.

/// An opening fence at the beginning of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    /// The fence at the beginning of a text that the parser found to be a code block.
    pub(super) fn of(source: &str) -> Option<Self> {
        let mark = source.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let length = source.chars().take_while(|c| *c == mark).count();
        (length >= 3).then_some(Self { mark, length })
    }

    /// Whether one of some lines, the last of which need not be complete, is the closing fence.
    pub(super) fn closes_in(self, lines: &str) -> bool {
        lines.split('\n').any(|line| self.closes(line))
    }

    /// At most three spaces, at least as many marks as at the beginning, and nothing but spaces after them (the parser
    /// does not take tabs there).
    fn closes(self, line: &str) -> bool {
        let marks = line.trim_start_matches(' ');
        let after = marks.trim_start_matches(self.mark);
        line.len() - marks.len() <= 3
            && marks.len() - after.len() >= self.length
            && after.trim_matches(' ').is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::Fence;

    #[test]
    fn a_fence_is_closed_by_its_own_kind_and_at_least_its_length() {
        let fence = Fence::of("````rust\n").expect("a fence");
        for closing in ["````", "   `````  ", "x\n````  ", "````\nx"] {
            assert!(fence.closes_in(closing), "{closing:?}");
        }
        for open in ["", "```", "    ````", "~~~~", "```` x", "x ````", "````\t"] {
            assert!(!fence.closes_in(open), "{open:?}");
        }
        assert_eq!(Fence::of("``"), None);
    }
}
