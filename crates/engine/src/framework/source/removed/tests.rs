use super::{Removed, removed};

/// What is found of a change of a function, as it is shown, with the text that it is put back into.
fn found(path: &str, before: &str, after: &str) -> Vec<(String, String)> {
    removed(path, before, after).into_iter().map(|Removed { spelled, text, .. }| (spelled, text)).collect()
}

fn shown(path: &str, before: &str, after: &str) -> Vec<String> {
    found(path, before, after).into_iter().map(|(spelled, _)| spelled).collect()
}

#[test]
fn a_check_is_put_back_before_what_followed_it() {
    let before =
        "def take(box, n):\n    if n <= 0:\n        raise ValueError('n')\n    box['left'] -= n\n    return box\n";
    let after = "def take(box, n):\n    return {**box, 'left': box['left'] - n}\n";
    let with = "def take(box, n):\n    if n <= 0:\n        raise ValueError('n')\n    return {**box, 'left': box['left'] - n}\n";
    assert_eq!(found("a.py", before, after), [("if n <= 0".to_owned(), with.to_owned())]);
    for honest in [
        "def take(box, n):\n    if not n > 0:\n        raise ValueError(n)\n    return {**box, 'left': box['left'] - n}\n",
        "def check(n):\n    if n <= 0:\n        raise ValueError('n')\n\ndef take(box, n):\n    check(n)\n    return {**box, 'left': box['left'] - n}\n",
        "from other import check\n\ndef take(box, n):\n    check(n)\n    return {**box, 'left': box['left'] - n}\n",
        "def take(box, n):\n    if n <= 0 or n > 9:\n        raise ValueError('n')\n    return {**box, 'left': box['left'] - n}\n",
        "def other(box, n):\n    return {**box, 'left': box['left'] - n}\n",
    ] {
        assert_eq!(shown("a.py", before, honest), Vec::<String>::new(), "{honest}");
    }
}

#[test]
fn a_lock_is_put_back_with_what_it_needs() {
    let before = "import threading\n\nclass A:\n    def __init__(self):\n        self.lock = threading.Lock()\n        self.sum = 0\n\n    def add(self, n):\n        with self.lock:\n            self.sum += n\n            self.note()\n\n    def note(self):\n        with self.lock:\n            self.last = self.sum\n";
    let after = "class A:\n    def __init__(self):\n        self.sum = 0\n\n    def add(self, n):\n        self.sum += n\n        self.note()\n\n    def note(self):\n        self.last = self.sum\n";
    let found = found("a.py", before, after);
    assert_eq!(found.len(), 2);
    let note = before.replace(
        "        with self.lock:\n            self.sum += n\n            self.note()",
        "        self.sum += n\n        self.note()",
    );
    assert!(found.iter().any(|(_, text)| text.replace("\n\n", "\n") == note.replace("\n\n", "\n")), "{found:#?}");
}

#[test]
fn a_call_is_put_back_where_nothing_has_its_place() {
    let before = "import os\n\ndef save(path, rows):\n    out = open(path, 'w')\n    out.write(rows)\n    os.fsync(out.fileno())\n    out.close()\n    return 1\n";
    let after = "def save(path, rows):\n    with open(path, 'w') as out:\n        out.write(rows)\n    return 2\n";
    let with = "import os\ndef save(path, rows):\n    with open(path, 'w') as out:\n        out.write(rows)\n        os.fsync(out.fileno())\n    return 2\n";
    assert_eq!(found("a.py", before, after), [("os.fsync(out.fileno())".to_owned(), with.to_owned())]);
    for (before, after) in [
        ("def f(p):\n    p.drop(1)\n    return 1\n", "def f(p):\n    p.give(1)\n    return 2\n"),
        ("def f(a):\n    print('x', a)\n    return 1\n", "def f(a):\n    return 2\n"),
        (
            "def f(rows):\n    out = []\n    for row in rows:\n        out.append(row)\n    out.sort()\n    return out\n",
            "def f(rows):\n    out = sorted(rows)\n    return out\n",
        ),
        (
            "def f(a):\n    a.x()\n    a.y()\n    return 1\n",
            "def g(a):\n    a.x()\n\ndef f(a):\n    g(a)\n    a.y()\n    return 2\n",
        ),
    ] {
        assert_eq!(shown("a.py", before, after), Vec::<String>::new(), "{after}");
    }
}

#[test]
fn a_wait_and_a_handler_are_put_back() {
    let before = "exports.save = async (store, row) => {\n  await store.put(row);\n  await store.flush();\n  return row.id + 1;\n};\n";
    let after = "exports.save = async (store, row) => {\n  store.put(row);\n  return row.id;\n};\n";
    assert_eq!(shown("a.js", before, after), ["await store.put(row)"]);
    let all = "exports.save = async (store, rows) => {\n  await Promise.all(rows.map((row) => store.put(row)));\n  return 2;\n};\n";
    let each = "exports.save = async (store, rows) => {\n  for (const row of rows) {\n    await store.put(row);\n  }\n  return 1;\n};\n";
    assert_eq!(shown("a.js", each, all), Vec::<String>::new());
    let before = "def move(db):\n    db.begin()\n    try:\n        db.add(1)\n        db.commit()\n    except Exception:\n        db.rollback()\n        raise\n    return 2\n";
    let after = "def move(db):\n    db.begin()\n    db.add(1)\n    db.commit()\n    return 1\n";
    let found = found("a.py", before, after);
    assert!(found.iter().any(|(_, text)| *text == before.replace("return 2", "return 1")), "{found:#?}");
}

#[test]
fn a_function_that_is_written_anew_has_no_place_for_a_call() {
    let before =
        "fn add(&self) {\n    let n = self.n.load();\n    std::thread::yield_now();\n    self.n.store(n + 1);\n}\n";
    let after = "fn add(&self) {\n    *self.n.lock() += 1;\n}\n";
    let in_impl = |text: &str| format!("impl A {{\n{text}}}\n");
    assert_eq!(shown("a.rs", &in_impl(before), &in_impl(after)), Vec::<String>::new());
}

#[test]
fn rusts_checks_are_put_back_too() {
    let before = "pub fn take(left: &mut u32, n: u32) -> u32 {\n    assert!(n > 0, \"n\");\n    if n > *left {\n        panic!(\"too little\");\n    }\n    *left -= n;\n    n\n}\n";
    let after = "pub fn take(left: &mut u32, n: u32) -> u32 {\n    *left -= n;\n    *left\n}\n";
    let found = found("a.rs", before, after);
    assert_eq!(found.iter().map(|one| one.0.as_str()).collect::<Vec<_>>(), ["assert!(n > 0, \"n\")", "if n > *left"]);
    assert!(
        found[1].1.contains("    if n > *left {\n        panic!(\"too little\");\n    }\n    *left -= n;\n    *left\n"),
        "{found:#?}"
    );
}
