//! Another build of the program beside this one: what a change costs where the feature that it adds is off.

use std::path::Path;

use crate::machine::median;
use crate::model::SHELL;
use crate::{Court, MORE_TURNS, RUNS, fix, milliseconds, readied};

/// What one build takes, a value for each time that it was measured.
#[derive(Default)]
struct Taken {
    start_up: Vec<f64>,
    per_turn: Vec<f64>,
    cpu: Vec<f64>,
    memory: Vec<f64>,
    bytes: Vec<f64>,
}

impl Taken {
    /// Without a court, whose experiments are a feature of their own.
    fn measure(&mut self, program: &Path) {
        self.start_up.push(readied(program, SHELL.unpack().path()));
        let [short, long] = [0, MORE_TURNS].map(|more| fix(program, &SHELL, more, Court::Off));
        self.per_turn.push((long.wall_ms - short.wall_ms) / f64::from(MORE_TURNS));
        self.cpu.push(milliseconds(short.cpu));
        self.memory.push(short.memory_mb);
        self.bytes.push(short.uncached_bytes / 1_000.0);
    }
}

/// Both in turn, since a shared machine is now faster and now slower, and each first as often as the other.
pub(crate) fn compare(program: &Path, other: &Path) {
    println!(
        "medians of {RUNS} (of CPU the mean) of {} (before) and of this build (now), in turn, without a court\n",
        other.display()
    );
    // A file that a linker wrote lies in memory in other pages than a copy of it, which alone made a quarter of the start-up.
    let folder = crate::model::folder();
    let [other, program] = [("before", other), ("now", program)].map(|(name, file)| {
        let copy = folder.path().join(name);
        std::fs::copy(file, &copy).expect("a copy");
        copy
    });
    let (mut before, mut now) = (Taken::default(), Taken::default());
    for round in 0..RUNS {
        let mut both = [(&mut before, other.as_path()), (&mut now, program.as_path())];
        if round % 2 == 1 {
            both.reverse();
        }
        for (taken, program) in both {
            taken.measure(program);
        }
    }
    let of = |values: fn(&Taken) -> &Vec<f64>| [&before, &now].map(|taken| median(values(taken).clone()));
    // The kernel tells these times in ticks of 10 ms, so that one alone is too coarse.
    let cpu = [&before, &now].map(|taken| taken.cpu.iter().sum::<f64>() / f64::from(RUNS));
    for (what, unit, [before, now]) in [
        ("start-up (check: config, catalogue, plan)", "ms", of(|taken| &taken.start_up)),
        ("time per model turn, durable rows", "ms", of(|taken| &taken.per_turn)),
        ("CPU of a four-turn fix, its tests included", "ms", cpu),
        ("resident memory", "MB", of(|taken| &taken.memory)),
        ("uncached bytes sent in four turns", "kB", of(|taken| &taken.bytes)),
    ] {
        println!("      {what:<44} {before:>9.2} {unit}   now {now:>9.2} {unit}   {:>6.1} %", now / before * 100.0);
    }
}
