//! Prints what a log says: `cargo run --example summary -- LOG [EXIT-CODE]`, or a log on standard input.
#![expect(clippy::print_stdout, reason = "a program that prints")]

use std::fs::File;
use std::io::{self, Read};

use testlog::{Exit, Report};

fn main() -> io::Result<()> {
    let mut words = std::env::args().skip(1);
    let log: Box<dyn Read> = match words.next() {
        Some(path) => Box::new(File::open(path)?),
        None => Box::new(io::stdin()),
    };
    let exit = words.next().and_then(|code| code.parse().ok()).map(|code| Exit::Code { code });
    print(&testlog::read(log, exit)?);
    Ok(())
}

fn print(report: &Report) {
    let count = |count: Option<u64>| count.map_or_else(|| "?".to_owned(), |count| count.to_string());
    println!("{}: {:?}, {:?}", report.framework, report.status, report.kind);
    println!("{} passed, {} failed, {} skipped", count(report.passed), count(report.failed), count(report.skipped));
    for test in report.failing() {
        println!("\n{}", test.name);
        if let (Some(file), Some(line)) = (&test.file, test.line) {
            println!("  at {file}:{line}");
        }
        println!("  {}", test.message.replace('\n', "\n  "));
    }
    for problem in &report.problems {
        println!("\n{:?}: {}", problem.kind, problem.message);
    }
}
