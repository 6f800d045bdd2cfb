# Calls single tests without their runner, as a program would call the product, and writes beside this file what became of each.
import importlib
import itertools
import json
import os
import re
import sys
import threading
import types

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "asked.json"), encoding="utf-8") as file:
    ASKED = json.load(file)
OWN = ASKED["name"]
ROOT = os.getcwd()
sys.path[0] = ROOT
sys.argv = [OWN]
LOADED = {}


class NotCalled(Exception):
    pass


def dotted(path):
    """The folder from which a file is imported, and its name from there: its packages are the folders with an `__init__.py`."""
    folder, name = os.path.split(os.path.abspath(path))
    names = [name[: -len(".py")]]
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, name = os.path.split(folder)
        names.insert(0, name)
    return folder, names


def load(path, shown):
    """A file as a module whose frames do not say that it is a test."""
    path = os.path.abspath(path)
    if path in LOADED:
        return LOADED[path]
    with open(path, "rb") as file:
        source = file.read()
    if re.search(rb"autouse\s*=\s*True|def setup_(module|class|function)\b|usefixtures|load_tests", source):
        raise NotCalled("its file needs what only its runner does")
    top, names = dotted(path)
    for folder in (top, ROOT):
        if folder not in sys.path:
            sys.path.insert(0, folder)
    package = ".".join(names[:-1])
    if package:
        importlib.import_module(package)
    module = types.ModuleType(shown)
    module.__file__ = path
    module.__package__ = package
    sys.modules[shown] = module
    LOADED[path] = module
    exec(compile(source, os.path.join(ROOT, shown + ".py"), "exec", dont_inherit=True), module.__dict__)
    return module


def plain(function, module):
    """A function under a name that says nothing."""
    if not isinstance(function, types.FunctionType) or hasattr(function, "__wrapped__"):
        return function
    code = function.__code__.replace(co_name=OWN)
    if hasattr(code, "co_qualname"):
        code = code.replace(co_qualname=OWN)
    twin = types.FunctionType(code, function.__globals__, OWN, function.__defaults__, function.__closure__)
    twin.__kwdefaults__ = function.__kwdefaults__
    twin.__dict__.update(function.__dict__)
    return twin


def rows(function, holders):
    """The arguments of each call, by the tables that pytest is told of."""
    tables = []
    for mark in [mark for holder in holders for mark in marks(holder)]:
        if mark.name != "parametrize":
            raise NotCalled("it carries the mark " + mark.name)
        names, values = mark.args[0], mark.args[1]
        names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
        table = []
        for value in values:
            if getattr(value, "marks", ()):
                raise NotCalled("a row of its table carries a mark")
            value = getattr(value, "values", value) if type(value).__name__ == "ParameterSet" else ((value,) if len(names) == 1 else value)
            table.append(dict(zip(names, value)))
        tables.append(table)
    calls = []
    for row in itertools.product(*tables):
        merged = {}
        for part in row:
            merged.update(part)
        calls.append(merged)
    code = function.__code__
    takes = set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]) - {"self"}
    optional = len(function.__defaults__ or ())
    given = set(calls[0]) if calls else set()
    if not takes <= given and not optional:
        raise NotCalled("it asks for a fixture")
    return calls


def marks(holder):
    found = getattr(holder, "pytestmark", [])
    return found if isinstance(found, list) else [found]


def calls_of(test):
    """What calls a test, once for each row."""
    shown = OWN + str(test["at"])
    folder = os.path.dirname(os.path.abspath(test["file"]))
    above = []
    while folder.startswith(ROOT):
        above.insert(0, os.path.join(folder, "conftest.py"))
        folder = os.path.dirname(folder)
    if "pytest" in ASKED["runner"]:
        for number, path in enumerate(path for path in above if os.path.isfile(path)):
            load(path, "%sc%d" % (OWN, number))
    module = load(test["file"], shown)
    holder = module
    for name in test["names"][:-1]:
        holder = getattr(holder, name)
    name = test["names"][-1]
    if holder is module:
        function = getattr(module, name)
        own = plain(function, module)
        return [lambda row=row: own(**row) for row in rows(function, [function, module])]
    cases = sys.modules.get("unittest")
    if cases and issubclass(holder, cases.TestCase):
        if hasattr(module, "setUpModule"):
            module.setUpModule()
        holder.setUpClass()
        setattr(holder, name, plain(holder.__dict__.get(name, getattr(holder, name)), module))
        return [lambda: holder(name).debug()]
    function = getattr(holder, name)
    own = plain(function, module)
    table = rows(function, [function, holder, module])

    def call(row):
        one = holder()
        for step in (getattr(one, "setup_method", None), lambda: own(one, **row), getattr(one, "teardown_method", None)):
            if step:
                step()

    return [lambda row=row: call(row) for row in table]


def become(calls):
    """How calls end: `passed`, or by what they failed."""
    for call in calls:
        try:
            call()
        except AssertionError as error:
            line = 0
            trace = error.__traceback__
            while trace:
                if os.path.basename(trace.tb_frame.f_code.co_filename).startswith(OWN):
                    line = trace.tb_lineno
                trace = trace.tb_next
            return {"end": "failed", "line": line, "said": str(error)[:4000]}
        except BaseException as error:
            return {"end": "error", "line": 0, "said": "%s: %s" % (type(error).__name__, str(error)[:400])}
    return {"end": "passed", "line": 0, "said": ""}


def in_thread(calls):
    found = []
    thread = threading.Thread(target=lambda: found.append(become(calls)))
    thread.start()
    thread.join()
    return found[0] if found else {"end": "error", "line": 0, "said": ""}


results = []
for test in ASKED["tests"]:
    try:
        calls = calls_of(test)
        results.append({"at": test["at"], "first": become(calls), "again": in_thread(calls)})
    except BaseException as error:
        said = "%s: %s" % (type(error).__name__, str(error)[:400])
        results.append({"at": test["at"], "first": {"end": "error", "line": 0, "said": str(error) if isinstance(error, NotCalled) else said}})
with open(os.path.join(HERE, "results"), "w", encoding="utf-8") as file:
    json.dump(results, file)
sys.stdout.flush()
os._exit(0)
