# Calls each test once, and writes what that changed of all that the code of a process shares: while its body ran, and in the end, when the test
# had undone what is its own. What moves by itself is left out, and so is what the test's own words ask for.
import inspect

# The words of a test that asks for a setting, where they are not the last of the setting's name.
WORDS = {
    "the mask of new files": "umask",
    "the working directory": "cwd|chdir",
    "the handler of signal": "signal",
    "warnings.filters": "warnings",
    "logging.getLevelName": "(add|get)LevelName",
}
REPLACES = re.compile(r"mock|patch|freez|stub|fake|spy", re.I)


def is_behaviour(value):
    return callable(value) or hasattr(type(value), "__get__")


def is_tests_own(value):
    """Whether a value is one of the test's file, of a file beside it, or one that stands in for another."""
    value = getattr(value, "__func__", getattr(value, "func", value))
    kinds = [*type(value).__mro__, type(getattr(value, "mock", None)), value if isinstance(value, type) else type(value)]
    if any(str(kind.__module__).startswith(("unittest.mock", "mock.", OWN)) for kind in kinds):
        return True
    path = getattr(getattr(value, "__code__", None), "co_filename", "")
    is_beside = path.startswith(ROOT + os.sep) and bool(SKIPPED.search(os.path.relpath(path, ROOT)))
    return os.path.basename(path).startswith(OWN) or is_beside


def body_of(test):
    """The text of a test; that of its file where it is not found."""
    path = os.path.normpath(os.path.join(ROOT, test["file"]))
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines(True)
    try:
        function = LOADED[path]
        for name in test["names"]:
            function = getattr(function, name)
        return "".join(inspect.getblock(lines[inspect.unwrap(function).__code__.co_firstlineno - 1 :]))
    except BaseException:
        return "".join(lines)


def whole_print():
    return dict(attributes()), dict(states())


def parts_changed(before, after, body):
    names = changed(before, after)
    replaced = tuple(name[len("sys.modules['") : -2] + "." for name in names if name.startswith("sys.modules["))
    for name in names:
        old, new = before.get(name), after.get(name)
        word = re.findall(r"\w+", name)[-1]
        if name.startswith("sys.modules["):
            is_meant = isinstance(old, types.ModuleType) and new is not None
        elif name in before:
            is_meant = is_behaviour(old) or isinstance(old, types.ModuleType)
        else:
            # Parts of modules are made when they are first asked for; those of classes are not.
            holder = before.get(name.rpartition(".")[0])
            is_meant = is_behaviour(new) and (isinstance(holder, type) or name.startswith("builtins."))
        is_asked_for = re.search(r"[.'\"]%s\b(?!\s*[(.])" % re.escape(word), body)
        if is_meant and not is_asked_for and not is_tests_own(new) and not name.startswith(replaced):
            yield name


def states_changed(before, after, body):
    for name in changed(before, after):
        old, new = before.get(name), after.get(name)
        own = [words for beginning, words in WORDS.items() if name.startswith(beginning)]
        words = own[0] if own else re.escape(re.findall(r"\w+", name)[-1])
        # Whoever logs by the module's functions gets a handler.
        is_first_handler = name == "logging.root.handlers" and not old and [type(one) for one in new] == [logging.StreamHandler]
        if name != "random.getstate()" and not is_first_handler and not re.search(words, body, re.I):
            yield name


def told(before, after, body):
    return [*parts_changed(before[0], after[0], body), *states_changed(before[1], after[1], body)]


def watch(test):
    """Whether a test passes, what changed, and the modules that its call loaded."""
    changes, passes, had = set(), True, set()
    for steps in calls_of(test):
        body = body_of(test)
        kinds = [isinstance(step, functools.partial) for step in steps]
        at = kinds.index(True) if True in kinds else len(steps) // 3
        had = had or set(sys.modules)
        first = whole_print()
        for number, step in enumerate(steps):
            before = whole_print() if number == at else None
            try:
                step()
            except BaseException:
                passes = False
                if number < at:
                    break
            if before and not REPLACES.search(body):
                changes.update(told(before, whole_print(), body))
        undo(raises=False)
        changes.update(told(first, whole_print(), body))
    loaded = [name for name in set(sys.modules) - had if is_from_elsewhere(sys.modules[name])] if had else []
    return {"at": test["at"], "passed": passes, "changes": sorted(changes), "loaded": loaded}


for name in ASKED["preload"]:
    try:
        importlib.import_module(name)
    except BaseException:
        pass
results = []
for test in ASKED["tests"]:
    try:
        results.append(watch(test))
    except BaseException:
        results.append({"at": test["at"], "passed": False, "changes": None, "loaded": []})
