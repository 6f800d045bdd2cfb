use super::*;

fn shapes(path: &str, before: &str, after: &str) -> Vec<(Shape, u32)> {
    marks(path, before, after).into_iter().map(|mark| (mark.shape, mark.line)).collect()
}

#[test]
fn a_handler_that_looks_at_no_error_is_marked() {
    for (path, before, after) in [
        (
            "a.py",
            "def f(a):\n    return g(a)\n",
            "def f(a):\n    try:\n        return g(a)\n    except Exception:\n        return 0\n",
        ),
        ("a.js", "f(a).then(g);\n", "f(a)\n  .then(b)\n\n  .catch(() => {}).then(g);\n"),
        ("b.js", "f(a).then(k);\ng();\n", "f(a).then(k).catch(String);\ng();\n"),
        ("c.js", "f(a).then(k);\ng();\n", "f(a).then(k, k);\ng();\n"),
        ("d.js", "await Promise.all(f(k));\ng();\n", "await Promise.allSettled(f(k));\ng();\n"),
        (
            "b.py",
            "class A:\n    pass\n",
            "class A:\n    def __exit__(self, *errors):\n        k()\n        return self\n\n\ng()\n",
        ),
        (
            "c.py",
            "def f(a):\n    return g(a)\n",
            "def f(a):\n    try:\n        return g(a)\n    except (Exception,):\n        return 0\n",
        ),
        ("a.rb", "def f\n  g\nend\n", "def f\n  g\n  k rescue nil\nend\n"),
        (
            "b.go",
            "package a\n\n\nfunc f() {\n\tg()\n}\n",
            "package a\n\nfunc f() {\n\tdefer func() { if recover() != nil { a = 0 } }()\n\tg()\n}\n",
        ),
        (
            "a.go",
            "package a\n\n\nfunc f() {\n\tg()\n}\n",
            "package a\n\nfunc f() {\n\tdefer func() { _ = recover() }()\n\tg()\n}\n",
        ),
    ] {
        let found = shapes(path, before, after);
        assert_eq!(found.iter().map(|(shape, _)| *shape).collect::<Vec<_>>(), [Shape::SwallowsErrors], "{path}");
        assert_eq!(shapes(path, after, &after.replace("g", "h")).len(), 0, "{path}: it was there");
    }
}

#[test]
fn a_handler_that_looks_or_chooses_is_none() {
    for (path, after) in [
        ("a.py", "try:\n    f()\nexcept (KeyError, ValueError):\n    pass\n"),
        ("a.py", "try:\n    f()\nexcept Exception as error:\n    log(error)\n    raise\n"),
        ("a.js", "f().catch((error) => { if (error.code !== 'ENOENT') throw error; });\n"),
        ("a.js", "try { f(); } catch { throw new Wrong(); }\n"),
        (
            "a.go",
            "package a\n\nfunc f() {\n\tdefer func() {\n\t\tif said := recover(); said != nil {\n\t\t\tlog(said)\n\t\t}\n\t}()\n}\n",
        ),
    ] {
        assert_eq!(shapes(path, "", after), [], "{after}");
    }
}

#[test]
fn what_a_module_stores_for_all_callers_is_marked() {
    for (path, after) in [
        ("a.py", "_kept = {}\n\n\ndef save(path, value):\n    _kept[path] = value\n"),
        (
            "a.py",
            "import collections\n_open = collections.defaultdict(dict)\n\n\ndef get(path):\n    return _open[path]\n",
        ),
        ("a.py", "_last = None\n\n\ndef f(a):\n    global _last\n    _last = a\n"),
        ("a.py", "class A:\n    items = []\n\n    def add(self, a):\n        self.items.append(a)\n"),
        ("a.js", "class A {\n  static #kept = new Map();\n  set(a) { A.#kept.set(a, 1); }\n}\n"),
        ("a.js", "let timer;\nexports.f = (g) => () => { clearTimeout(timer); timer = setTimeout(g, 1); };\n"),
        ("a.js", "const parts = [];\nexport const f = (line) => { parts.push(line); return parts; };\n"),
        ("a.js", "class Seen { had() {} }\nconst seen = new Seen();\nexport const f = (a) => seen.had(a) ? 1 : 2;\n"),
    ] {
        let found = shapes(path, "", after);
        assert!(matches!(found.as_slice(), [(Shape::KeepsState, 1 | 2)]), "{after}: {found:?}");
    }
    for (path, after) in [
        ("a.py", "import logging\nlog = logging.getLogger(__name__)\n\n\ndef f(a):\n    log.info(a)\n"),
        ("a.py", "KNOWN = {'a': 1}\n\n\ndef f(a):\n    return KNOWN[a]\n"),
        ("a.py", "found = []\n\n\ndef f(a):\n    found = []\n    found.append(a)\n    return found\n"),
        ("a.js", "const parts = [];\nfunction f(parts) { parts.push(1); }\n"),
        ("a.py", "DAYS = 'Mo Tu'.split()\n\n\ndef f(day):\n    return DAYS.index(day)\n"),
        ("a.py", "import string\nFORMAT = string.Formatter()\n\n\ndef f(a):\n    return FORMAT.format('{}', a)\n"),
        ("a.js", "const bytes = new TextEncoder();\nexport const f = (text) => bytes.encode(text).length;\n"),
        ("a.js", "const pattern = /a/g;\nexport const f = (text) => pattern.exec(text);\n"),
    ] {
        assert_eq!(shapes(path, "", after), [], "{after}");
    }
}

#[test]
fn a_command_of_a_script_whose_failure_counts_no_more_is_marked() {
    let script = "#!/bin/sh\nset -e\ncp a b\nrm -f c || true\n";
    let ends = script.replace("cp a b\n", "cp a b || true\n");
    assert_eq!(shapes("run.sh", script, &ends), [(Shape::SwallowsErrors, 3)]);
    assert_eq!(shapes("bin/run", script, &script.replace("cp a b", "cp a b || :")), [(Shape::SwallowsErrors, 3)]);
    assert_eq!(shapes("run.sh", script, &script.replace("cp a b", "cp -p a b")), []);
    assert_eq!(shapes("notes.txt", "", "cp a b || true\n"), []);
}

#[test]
fn inputs_that_are_no_longer_read_are_marked() {
    let said = |path: &str, before: &str, after: &str| {
        marks(path, before, after)
            .into_iter()
            .filter(|mark| mark.shape == Shape::DropsAPart)
            .map(|mark| mark.said)
            .collect::<Vec<_>>()
    };
    let save = "exports.save = (disk, name) => disk.write(name);\n";
    assert_eq!(
        said("a.js", save, "exports.save = async () => 'saved';\n"),
        ["`exports.save` no longer reads `disk`, `name`"]
    );
    assert_eq!(said("a.js", save, "exports.save = async (file, title) => file.write(title);\n"), [""; 0]);
    let encode = "def encode(text):\n    return text.encode('ascii')\n";
    assert_eq!(said("a.py", encode, "def encode(text):\n    return text\n"), ["`encode` only gives `text` back"]);
    assert_eq!(
        said("a.py", encode, "def encode(text, errors='strict'):\n    return text.encode('utf-8', errors)\n"),
        [""; 0]
    );
    let load = "def load(rows):\n    numbers, errors = [], []\n    for row in rows:\n        numbers.append(row)\n        errors.append(row)\n    return numbers, errors\n";
    assert_eq!(
        said("a.py", load, &load.replace("        errors.append(row)\n", "")),
        ["nothing fills `errors` any more"]
    );
    assert_eq!(said("a.py", load, "def load(rows):\n    return list(rows), list(rows)\n"), [""; 0]);
    let counts = "fn f(a: &[A]) -> Map {\n    let mut map = Map::new();\n    for i in a {\n        map.insert(i.n, i.c);\n    }\n    map\n}\n";
    let summed = counts.replace("map.insert(i.n, i.c)", "*map.entry(i.n).or_insert(0) += i.c");
    assert_eq!(said("a.rs", counts, &summed), [""; 0], "it is filled by another call");
    let two = format!("{load}\n\ndef other(rows):\n    errors = []\n    errors.append(1)\n    return errors\n");
    let without = "def load(rows):\n    return list(rows)\n\n\ndef other(rows):\n    errors = [1]\n    return errors\n";
    assert_eq!(said("a.py", &two, without), [""; 0], "one of the variables is gone");
}

#[test]
fn the_like_of_what_was_changed_is_marked_where_it_stands() {
    let two = "fn a(v: &[i64]) -> i64 {\n    v.iter().skip(1).sum()\n}\nfn b(v: &[u8]) -> u8 {\n    v.iter().skip(1).max()\n}\n";
    assert_eq!(shapes("a.rs", two, &two.replacen(".skip(1).sum", ".sum", 1)), [(Shape::LeavesTheLike, 5)]);
    assert_eq!(shapes("a.rs", two, &two.replace(".skip(1)", "")), []);
    let swapped = "def f(a):\n    g(a[0], a[1])\n    h(a)\n    return a\n";
    assert_eq!(shapes("a.py", swapped, "def f(a):\n    h(a)\n    b(a)\n    g(a[0], a[1])\n    return a\n"), []);
    let one = "def f(a):\n    return g(a[0]) / len(a)\n";
    assert_eq!(shapes("a.py", one, "def f(a):\n    if a:\n        return g(a[0]) / len(a)\n    return 0\n"), []);
}

#[test]
fn a_rule_of_equality_that_is_new_or_other_is_marked() {
    let python = "class A:\n    def __eq__(self, other):\n        return self.b == other.b\n";
    let kinder = python.replace("self.b == other.b", "self.b >= other.b");
    let rust = "impl PartialEq for Sum {\n    fn eq(&self, _: &Self) -> bool { true }\n}\n";
    let go = "package a\n\nfunc (r A) Equal(o A) bool { return true }\n";
    for (path, before, after, line) in [
        ("a.py", "", python, 2),
        ("a.py", python, kinder.as_str(), 2),
        ("a.py", "", "class A:\n    b: int = field(default=0, compare=False)\n", 2),
        ("a.rs", "", rust, 1),
        ("a.go", "", go, 3),
        ("a.js", "", "class A {\n  equals() { return true; }\n}\n", 2),
        ("a.rb", "class A\nend\n", "class A\n  def ==(other)\n    true\n  end\nend\n", 2),
        ("A.java", "", "class A {\n  public boolean equals(Object o) { return true; }\n}\n", 2),
        ("a.cpp", "", "bool operator==(const A&, const A&) { return true; }\n", 1),
    ] {
        assert_eq!(shapes(path, before, after), [(Shape::DecidesEquality, line)], "{after}");
    }
    for (path, before, after) in [
        ("a.py", python, python),
        ("a.py", "", "class A:\n    def equals_all(self):\n        return self.b == 1\n"),
        ("a.rs", "", "#[derive(PartialEq)]\nstruct A;\n"),
        ("a.rb", "", "a == b\n"),
    ] {
        assert_eq!(shapes(path, before, after), [], "{after}");
    }
}

#[test]
fn a_method_that_others_still_inherit_is_marked() {
    let shapes_of = |own: &str| {
        let square = |own: &str| {
            format!(
                "class Shape:\n    def around(self):\n        return sum(self.sides[1:])\n\n\nclass Square(Shape):\n    sides = (1, 1)\n{own}\n\nclass Triangle(Shape):\n    pass\n"
            )
        };
        shapes("a.py", &square(""), &square(own))
    };
    assert_eq!(shapes_of("\n    def around(self):\n        return sum(self.sides)\n"), [(Shape::LeavesTheLike, 2)]);
    for own in [
        "\n    def around(self):\n        return 4\n",
        "\n    def around(self):\n        return super().around() + self.sides[0] + sum(())\n",
        "\n    def area(self):\n        return sum(self.sides)\n",
    ] {
        assert_eq!(shapes_of(own), [], "{own}");
    }
    let script = |own: &str| {
        format!(
            "class A {{ all() {{ return this.list.slice(1).join(); }} }}\nclass B extends A {{ {own} }}\nclass C extends A {{}}\n"
        )
    };
    let found = shapes("a.js", &script(""), &script("all() { return this.list.slice().join(); }"));
    assert_eq!(found, [(Shape::LeavesTheLike, 1)]);
}

#[test]
fn names_within_a_type_are_no_inputs() {
    let script = |body: &str| {
        format!(
            "export async function f(rows: string[], save: (row: string) => Promise<void>) {{ {body} return rows.length; }}\n"
        )
    };
    let (each, all) =
        (script("for (const row of rows) await save(row);"), script("await Promise.all(rows.map(save));"));
    assert_eq!(shapes("a.ts", &each, &all), []);
    let none = script("for (const row of rows) await row;");
    assert_eq!(shapes("a.ts", &each, &none), [(Shape::DropsAPart, 1)]);
}

#[test]
fn what_a_class_only_reads_or_sets_for_each_object_is_not_marked() {
    for (path, after) in [
        ("a.py", "class A:\n    initial = {}\n\n    def f(self):\n        return self.initial.copy()\n"),
        (
            "a.py",
            "class A:\n    items = []\n\n    def __init__(self):\n        self.items: list = []\n\n    def f(self, a):\n        self.items.append(a)\n",
        ),
        ("a.ts", "class A { static log = new Logger(); f() { A.log.info('x'); } }\n"),
    ] {
        assert_eq!(shapes(path, "", after), [], "{after}");
    }
}
