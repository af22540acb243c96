//! The simulator: seeded lives of the engine with clients, models, tools and every kind of fault.
//!
//! `cargo xtask sim` builds and runs it; docs/simulator.md says what it shows. Open `life.rs` for what happens in a
//! life, `driver.rs` for the law that it keeps, and `shadow.rs` for what must never be.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program reports on its streams"
)]

mod bugs;
mod chance;
mod coverage;
mod driver;
#[cfg(feature = "bugs")]
mod hunt;
mod invariant;
mod ledger;
mod life;
mod lives;
mod ops;
mod outside;
mod person;
mod secrets;
mod shadow;
mod shrink;
mod view;
mod wire;
mod world;

use std::process::ExitCode;
use std::time::Instant;

use life::{Look, Plan, live};
use lives::{Failure, guarded};

/// A life is little else than small pieces of memory that come and go.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What was asked on the command line.
#[derive(Debug)]
struct Wish {
    seeds: u64,
    seed: Option<u64>,
    /// Inputs of a life.
    steps: u64,
    only: Option<Vec<u64>>,
    bugs: bool,
    keep_going: bool,
    trace: bool,
}

fn wish(arguments: &[String]) -> Result<Wish, String> {
    let mut wish =
        Wish { seeds: 200, seed: None, steps: 300, only: None, bugs: false, keep_going: false, trace: false };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut number = || {
            let value = words.next().and_then(|text| text.parse().ok());
            value.ok_or_else(|| format!("{word} needs a number"))
        };
        match word.as_str() {
            "--seeds" => wish.seeds = number()?,
            "--seed" => wish.seed = Some(number()?),
            "--steps" => wish.steps = number()?,
            "--keep-going" => wish.keep_going = true,
            "--bugs" => wish.bugs = true,
            "--trace" => wish.trace = true,
            "--only" => {
                let list = words.next().ok_or("--only needs a list of steps")?;
                let steps: Result<Vec<u64>, _> = list.split(',').map(str::parse).collect();
                wish.only = Some(steps.map_err(|_| "--only needs numbers with commas between them")?);
            }
            other => return Err(format!("there is no option {other:?}")),
        }
    }
    Ok(wish)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wish = match wish(&arguments) {
        Ok(wish) => wish,
        Err(why) => {
            eprintln!("sim: {why}; say --seeds N [--seed S] [--steps K] [--only LIST] [--trace] or --bugs");
            return ExitCode::FAILURE;
        }
    };
    lives::catch_panics();
    let fine = if wish.bugs { hunt(&wish) } else { simulate(&wish) };
    if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(feature = "bugs")]
fn hunt(wish: &Wish) -> bool {
    hunt::hunt(wish.seeds.max(2000), wish.steps)
}

#[cfg(not(feature = "bugs"))]
fn hunt(_: &Wish) -> bool {
    eprintln!("sim: this build has no bugs in it; `cargo xtask sim --bugs` builds one that has");
    false
}

fn simulate(wish: &Wish) -> bool {
    if wish.only.is_some() || wish.trace {
        let plan = Plan { seed: wish.seed.unwrap_or(1), inputs: wish.steps, only: wish.only.clone() };
        return show(&plan);
    }
    let started = Instant::now();
    let (first, seeds) = match wish.seed {
        Some(seed) => (seed, if wish.seeds == 200 { 1 } else { wish.seeds }),
        None => (1, wish.seeds),
    };
    let enough = if wish.keep_going { usize::MAX } else { 1 };
    let summary = lives::run(first, seeds, wish.steps, enough, &lives::live_twice);
    let coverage = &summary.coverage;
    let (table, missing) = coverage.report(seeds);
    println!("{table}");
    println!(
        "{} lives, each lived twice; {} inputs and {} commits in one pass; {:.1} s",
        coverage.lives,
        coverage.inputs,
        coverage.commits,
        started.elapsed().as_secs_f32()
    );
    if wish.keep_going {
        for failure in &summary.failures {
            let what: String = failure.violation.what.chars().take(300).collect();
            println!("seed {} breaks {}: {what}", failure.plan.seed, failure.violation.invariant.name());
        }
        println!("{} of {} seeds fail", summary.failures.len(), seeds);
    }
    if let Some(failure) = summary.failures.first() {
        explain(failure);
        return false;
    }
    for gap in &missing {
        println!("not reached often enough: {gap}");
    }
    if missing.is_empty() {
        println!("no violation");
    }
    missing.is_empty()
}

/// Shows a life step by step.
fn show(plan: &Plan) -> bool {
    let lived = guarded(|| live(plan, Look::Log));
    for line in
        lived.log.iter().filter(|line| !line.contains(" ping ") && !line.contains("\"type\":\"pong\""))
    {
        println!("{line}");
    }
    println!("hash {:016x}", lived.hash);
    match lived.violation {
        Some(violation) => {
            println!("{}: {}", violation.invariant.name(), violation.what);
            false
        }
        None => true,
    }
}

/// Shortens a failing life, shows it, and says how to see it again.
fn explain(failure: &Failure) {
    let (seed, violation) = (failure.plan.seed, &failure.violation);
    println!("\nseed {seed} breaks {}:\n{}", violation.invariant.name(), violation.what);
    let short = shrink::shrink(&failure.plan, failure.steps);
    let steps: Vec<String> = short.only.iter().flatten().map(u64::to_string).collect();
    println!("\nthe shortest trace found has {} of {} steps:", steps.len(), failure.steps);
    show(&short);
    println!("\nsee it again: cargo xtask sim --seed {seed} --only {}", steps.join(","));
}
