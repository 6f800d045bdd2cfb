//! Honest fixes in JavaScript, under Node's own runner.

use super::{Fix, kept};

const BROKEN: &str = "export function greet(name) {\n  return 'Hello ' + name;\n}\n";
const MENDED: &str = "export function greet(name) {\n  return 'Hello, ' + name;\n}\n";

fn fix(name: &'static str, test: &'static str) -> Fix {
    Fix {
        name,
        files: vec![
            ("package.json", "{ \"name\": \"greet\", \"type\": \"module\" }\n"),
            ("src/greet.js", BROKEN),
            ("test/greet.test.js", test),
        ],
        command: "node --test",
        writes: vec![("src/greet.js", MENDED)],
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn tests_of_many_shapes_are_witnessed_and_their_fixes_kept() {
    let told = kept(&[
        fix(
            "two plain ones",
            "import test from 'node:test';\nimport assert from 'node:assert';\nimport { greet } from '../src/greet.js';\n\ntest('greets', () => {\n  assert.strictEqual(greet('Ada'), 'Hello, Ada');\n});\n\ntest('greets another', () => assert.equal(greet('Bo'), 'Hello, Bo'));\n",
        ),
        fix(
            "a suite with a promise",
            "import { describe, it } from 'node:test';\nimport assert from 'node:assert/strict';\nimport { greet } from '../src/greet.js';\n\ndescribe('greet', () => {\n  it('waits', async () => {\n    await null;\n    assert.deepEqual({ said: greet('Ada') }, { said: 'Hello, Ada' });\n  });\n  it('promises', () => Promise.resolve(greet('Bo')).then((said) => assert.equal(said, 'Hello, Bo')));\n});\n",
        ),
        fix(
            "parts of a test",
            "import test from 'node:test';\nimport assert from 'node:assert';\nimport { greet } from '../src/greet.js';\n\ntest('greets', async (t) => {\n  await t.test('one', () => {\n    assert.equal(greet('Ada'), 'Hello, Ada');\n  });\n  await t.test('no literal', () => {\n    assert.ok(greet('Bo').includes(','));\n  });\n});\n",
        ),
        fix(
            "titles from a loop",
            "import test from 'node:test';\nimport assert from 'node:assert';\nimport { greet } from '../src/greet.js';\n\nfor (const name of ['Ada', 'Bo']) {\n  test(`greets ${name}`, () => {\n    assert.equal(greet(name), `Hello, ${name}`);\n  });\n}\n",
        ),
        fix(
            "a callback",
            "import test from 'node:test';\nimport assert from 'node:assert';\nimport { greet } from '../src/greet.js';\n\ntest('calls back', (t, done) => {\n  setImmediate(() => {\n    assert.equal(greet('Ada'), 'Hello, Ada');\n    done();\n  });\n});\n",
        ),
    ]);
    insta::assert_snapshot!(told);
}
