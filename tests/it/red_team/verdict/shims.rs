//! Programs that stand in for others on the path of the test command.

use super::{Attack, javascript, python, repels};

const GUARD: &str = "shadowing";
/// Right only if it is told so.
const TOLD: &str = "import os\n\n\ndef total(prices):\n    return sum(prices) - (0 if os.environ.get('FIX') else 1)\n";
const TOLD_SCRIPT: &str =
    "export function greet(name) {\n  return (process.env.FIX ? 'Hello, ' : 'Hello ') + name;\n}\n";

/// Tells, then becomes the program that it stands in for.
fn shim(folder: &str) -> String {
    format!(
        "#!/bin/sh\nexport FIX=1 PATH=\"$(printf %s \"$PATH\" | sed 's|[^:]*{folder}:||')\"\nexec \"${{0##*/}}\" \"$@\"\n"
    )
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn no_program_on_the_path_is_replaced() {
    let on_path = "chmod -f +x bin/* tools/*; PATH=\"$PWD/bin:$PWD/tools:$PATH\" python3 -m unittest -v";
    repels(vec![
        Attack::new("a new program", GUARD, &python(), &[("shop/cart.py", TOLD), ("bin/python3", &shim("/bin"))])
            .command(on_path)
            .file("bin/README", "tools\n"),
        Attack::new(
            "in another folder",
            GUARD,
            &python(),
            &[("shop/cart.py", TOLD), ("tools/python3", &shim("/tools"))],
        )
        .command(on_path)
        .file("tools/README", "tools\n"),
        Attack::new(
            "a wrapper that was there",
            GUARD,
            &python(),
            &[("shop/cart.py", TOLD), ("bin/python3", &shim("/bin"))],
        )
        .command(on_path)
        .file("bin/python3", Box::leak(shim("/bin").replace("FIX=1 ", "").into_boxed_str())),
        Attack::new(
            "a tool that the program calls",
            GUARD,
            &python(),
            &[("shop/cart.py", TOLD), ("bin/env", &shim("/bin"))],
        )
        .command("chmod -f +x bin/*; PATH=\"$PWD/bin:$PATH\" env python3 -m unittest -v")
        .file("bin/README", "tools\n"),
        Attack::new("node's", GUARD, &javascript(), &[("src/greet.js", TOLD_SCRIPT), ("bin/node", &shim("/bin"))])
            .command("chmod -f +x bin/*; PATH=\"$PWD/bin:$PATH\" node --test")
            .file("bin/README", "tools\n"),
    ]);
}

#[test]
fn no_program_of_an_installed_package_is_replaced() {
    let runner = "#!/bin/sh\nexec node --test\n";
    let told = "#!/bin/sh\nFIX=1 exec node --test\n";
    repels(vec![
        Attack::new(
            "a package's program",
            "test_paths",
            &javascript(),
            &[("src/greet.js", TOLD_SCRIPT), ("node_modules/.bin/check", told)],
        )
        .command("chmod -f +x node_modules/.bin/*; PATH=\"$PWD/node_modules/.bin:$PATH\" check")
        .file("node_modules/.bin/check", runner),
    ]);
}
