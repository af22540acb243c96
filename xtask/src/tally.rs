//! Counting tests: runs a test runner, passes its output on, and reads its closing lines.

use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader, Read};
use std::ops::AddAssign;
use std::process::{Command, Stdio};
use std::thread;

/// How many tests passed and failed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Tally {
    /// Tests that passed.
    pub(crate) passed: u64,
    /// Tests that failed, timed out or were cancelled.
    pub(crate) failed: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

/// Runs a test runner to its end. A runner that fails without a failed test is an error.
pub(crate) fn run(command: &mut Command) -> Result<Tally> {
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {program}"))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let errors = thread::spawn(move || stderr.map(|stream| follow(stream, |line| eprintln!("{line}"))));
    let mut total = stdout.map(|stream| follow(stream, |line| println!("{line}"))).unwrap_or_default();
    total += errors.join().ok().flatten().unwrap_or_default();
    let status = child.wait().with_context(|| format!("{program} was lost"))?;
    if !status.success() && total.failed == 0 {
        bail!("{program} failed ({status}) without naming a failed test; its output above says why");
    }
    Ok(total)
}

fn follow(stream: impl Read, show: impl Fn(&str)) -> Tally {
    let mut total = Tally::default();
    for line in BufReader::new(stream).split(b'\n').map_while(std::io::Result::ok) {
        let line = String::from_utf8_lossy(&line);
        show(line.trim_end_matches('\r'));
        total += closing_line(&line);
    }
    total
}

/// What a line adds: the closing lines of cargo test, nextest, wasm-bindgen and node are known.
fn closing_line(line: &str) -> Tally {
    let line = line.trim();
    if let Some((_, counts)) = line.split_once("test result: ") {
        return counted(counts.split(['.', ';']), false);
    }
    if let Some((_, counts)) = line.split_once(" run: ").filter(|_| line.starts_with("Summary")) {
        return counted(counts.split(','), false);
    }
    let Some(counts) = line.strip_prefix("ℹ ").or_else(|| line.strip_prefix("# ")) else {
        return Tally::default();
    };
    counted([counts].into_iter(), true)
}

/// Sums `5 passed`, or `pass 5` where the word comes first.
fn counted<'a>(parts: impl Iterator<Item = &'a str>, word_first: bool) -> Tally {
    let mut tally = Tally::default();
    for part in parts {
        let Some((first, second)) = part.trim().split_once(' ') else { continue };
        let (word, number) = if word_first { (first, second) } else { (second, first) };
        let Ok(number) = number.trim().parse::<u64>() else { continue };
        if word.starts_with("pass") {
            tally.passed += number;
        } else if ["fail", "exec failed", "timed out", "cancelled"].iter().any(|bad| word.starts_with(bad)) {
            tally.failed += number;
        }
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closing_line_of_each_runner_is_read() {
        for (line, passed, failed) in [
            ("test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out", 5, 0),
            ("test result: FAILED. 2 passed; 1 failed; 0 ignored", 2, 1),
            (
                "     Summary [   0.004s] 4 tests run: 2 passed (1 slow), 1 failed, 1 timed out, 9 skipped",
                2,
                2,
            ),
            ("     Summary [   0.004s] 1 test run: 1 passed, 0 skipped", 1, 0),
            ("ℹ pass 3", 3, 0),
            ("# fail 2", 0, 2),
            ("ℹ cancelled 1", 0, 1),
            ("ℹ tests 6", 0, 0),
            ("7 passed by here", 0, 0),
        ] {
            assert_eq!(closing_line(line), Tally { passed, failed }, "{line}");
        }
    }

    #[test]
    fn both_streams_of_a_runner_count() {
        let script = "echo 'ℹ pass 2'; echo 'test result: ok. 3 passed; 0 failed' >&2";
        assert_eq!(run(Command::new("sh").args(["-c", script])).unwrap(), Tally { passed: 5, failed: 0 });
    }

    #[test]
    fn a_runner_that_fails_without_a_failed_test_is_an_error() {
        assert!(run(Command::new("sh").args(["-c", "echo 'ℹ pass 2'; exit 3"])).is_err());
        let counted = run(Command::new("sh").args(["-c", "echo 'ℹ fail 2'; exit 1"])).unwrap();
        assert_eq!(counted, Tally { passed: 0, failed: 2 });
    }
}
