//! Every `upshift …` that a page prints is taken by the program's own command line.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use super::markdown::pages;

/// The words of a line of a shell, without its comment: blanks part them, quotes keep them together.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut begun) = (Vec::new(), String::new(), None, false);
    for c in line.chars() {
        match quote {
            Some(mark) if c == mark => quote = None,
            Some(_) => word.push(c),
            None if matches!(c, '\'' | '"') => (quote, begun) = (Some(c), true),
            None if c == '#' && !begun => break,
            None if c.is_whitespace() => {
                if begun {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            None => {
                word.push(c);
                begun = true;
            }
        }
    }
    if begun {
        words.push(word);
    }
    words
}

/// The arguments of each call of upshift in a line: behind assignments, `cargo run --`, `run:` of a workflow, and in lists.
fn calls(line: &str) -> Vec<Vec<String>> {
    let line = words(line);
    let ends = |word: &String| matches!(word.as_str(), "&&" | "||" | "|" | ";" | ">" | ">>" | "2>");
    let simple = line.split(ends).filter_map(|command| {
        let opens =
            |word: &&String| word.contains('=') || matches!(word.as_str(), "-" | "run:" | "if" | "script:" | "sh");
        let command: Vec<_> = command.iter().skip_while(opens).map(|word| word.trim_end_matches(';')).collect();
        match command.as_slice() {
            ["upshift", rest @ ..] | ["cargo", "run", "--", rest @ ..] => {
                Some(rest.iter().map(|word| (*word).to_owned()).collect())
            }
            _ => None,
        }
    });
    simple.collect()
}

/// What the program says to a command line that ends in `--help`: it reads all before it first.
fn try_out(args: &[String]) -> Result<(), String> {
    let own = args.iter().position(|word| word == "--").unwrap_or(args.len());
    let (before, after) = args.split_at(own);
    let told = Command::new(env!("CARGO_BIN_EXE_upshift"))
        .env_clear()
        .args(before)
        .arg("--help")
        .args(after)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .output()
        .expect("the program");
    if told.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&told.stderr).into_owned()) }
}

#[test]
fn every_printed_command_line_is_taken() {
    let mut found: BTreeSet<Vec<String>> = BTreeSet::new();
    for page in pages() {
        for fence in page.fences().iter().filter(|fence| matches!(fence.language.as_str(), "sh" | "yaml" | "groovy")) {
            // A line that goes on behind a backslash is one.
            for line in fence.text.replace("\\\n", " ").lines() {
                found.extend(calls(line));
            }
        }
        // In running text a command is printed whole or by its beginning.
        for code in page.prose().split('`').skip(1).step_by(2).filter(|code| code.starts_with("upshift ")) {
            found.extend(calls(&code.replace('\n', " ")));
        }
    }
    assert!(found.len() >= 10, "{found:?}");
    let refused: Vec<_> = found.iter().filter_map(|args| try_out(args).err().map(|why| (args, why))).collect();
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn a_command_line_that_is_wrong_is_noticed() {
    for wrong in ["upshift runn", "A=b upshift run --no-such-flag", "upshift report --format yaml"] {
        let calls = calls(wrong);
        assert_eq!(calls.len(), 1, "{wrong}");
        assert!(try_out(&calls[0]).is_err(), "{wrong}");
    }
    let line = "- run: A=1 upshift run --tiers 'a > b' && upshift check > out.txt # upshift no";
    let all = [vec!["run", "--tiers", "a > b"], vec!["check"]];
    assert_eq!(calls(line), all.map(|call| call.into_iter().map(str::to_owned).collect::<Vec<_>>()));
}
