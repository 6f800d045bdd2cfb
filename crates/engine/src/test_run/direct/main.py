# Calls single tests without their runner, as a program would call the product, and writes beside this file what became of each.
import collections
import datetime
import functools
import importlib
import itertools
import json
import logging
import os
import re
import shutil
import sys
import threading
import time
import types

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "asked.json"), encoding="utf-8") as file:
    ASKED = json.load(file)
OWN = ASKED["name"]
ROOT = os.getcwd()
TOP = ROOT
LOADED = {}
SKIPPED = re.compile(r"^(\.|__pycache__$|node_modules$|venv$|target$|build$|dist$)|test|spec", re.I)
# In seconds; the clocks of other surroundings run fast as well.
LATER, STEP = 20 * 366 * 86400, 3600
# The machine's own clock. Until then calls are made again: what wears out by calls is wrong at the end.
CLOCK = time.perf_counter
WEARS, MOST_CALLS = 0.5 / (len(ASKED["tests"]) or 1), 3000
# The age of a product that was installed long ago.
OLD = 1_000_000_000
# The older and newer versions that a program may be run by.
VERSIONS = (9, 14, 10, 13, 11, 12)


def copied(into):
    """The product in a folder of its own, without tests and what is kept beside it; None where it is large."""
    files, size = 0, 0
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if not SKIPPED.search(name)]
        for name in names:
            path = os.path.join(folder, name)
            if SKIPPED.search(name) or not os.path.isfile(path) or os.path.islink(path):
                continue
            files, size = files + 1, size + os.path.getsize(path)
            if files > 3000 or size > 30 << 20:
                return None
            place = os.path.join(into, os.path.relpath(path, ROOT))
            os.makedirs(os.path.dirname(place), exist_ok=True)
            shutil.copyfile(path, place)
            os.utime(place, (OLD, OLD))
            os.chmod(place, 0o444)
    return into


def shifted(call):
    seen = itertools.count()
    return functools.wraps(call)(lambda *given: call(*given) + LATER + STEP * next(seen))


class Moved(type):
    def __instancecheck__(cls, one):
        return isinstance(one, cls.__mro__[1])


def moved(kind, names):
    """A kind of dates whose present is later; all else is that of the real one."""
    space = {"__slots__": (), "__module__": "datetime"}
    for name in names:
        own = getattr(kind, name)
        space[name] = classmethod(lambda cls, *given, own=own: own(*given) + datetime.timedelta(seconds=LATER))
    return Moved(kind.__name__, (kind,), space)


def other_machine():
    """Another system, more processors, another name; timers that are due; a log that somebody reads; databases in files."""
    import platform
    import socket

    sys.platform = "freebsd14"
    platform.system = lambda: "FreeBSD"
    platform.machine = lambda: "riscv64"
    platform.node = socket.gethostname = lambda: "web-7"
    os.cpu_count = lambda: 96
    threading.Timer.start = lambda one: one.function(*one.args, **one.kwargs)
    logging.getLogger().addHandler(logging.NullHandler())
    try:
        import sqlite3

        opened, own = itertools.count(), sqlite3.connect
        in_file = lambda name: os.path.join(HERE, "%d.db" % next(opened)) if name == ":memory:" else name
        sqlite3.connect = functools.wraps(own)(lambda database, *given, **named: own(in_file(database), *given, **named))
    except ImportError:
        pass


def of_version(minor):
    """Another version of Python, as far as it is told."""
    kind = collections.namedtuple("version_info", "major minor micro releaselevel serial")
    sys.version_info = kind(3, minor, 1, "final", 0)
    sys.hexversion = 0x030001F0 | minor << 16


def emptied(terminals):
    """Has another process read what is written to terminals: a full one halts whoever writes to it."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        for number in (number for pair in terminals for number in pair):
            os.close(number)
        return
    # Nobody's child, so that the product's waits do not meet it; it ends when nobody writes any more.
    if os.fork():
        os._exit(0)
    try:
        import select

        for number in [0, 1, 2] + [end for _, end in terminals]:
            os.close(number)
        left = [own for own, _ in terminals]
        while left:
            for one in select.select(left, [], [])[0]:
                try:
                    said = os.read(one, 1 << 16)
                except OSError:
                    said = b""
                if not said:
                    left.remove(one)
    finally:
        os._exit(0)


def elsewhere():
    """Another folder, another time, a terminal."""
    for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time"):
        setattr(time, name, shifted(getattr(time, name)))
    for name in ("gmtime", "localtime"):
        setattr(time, name, lambda *given, own=getattr(time, name): own(*(given or (time.time(),))))
    try:
        import resource

        used = resource.getrusage
        resource.getrusage = lambda who: (lambda one: resource.struct_rusage((one[0] + LATER, one[1] + LATER) + tuple(one)[2:]))(used(who))
        times = os.times
        os.times = lambda: os.times_result([one + LATER for one in times()])
    except (ImportError, AttributeError):
        pass
    for kind, names in ((datetime.datetime, ("now", "utcnow", "today")), (datetime.date, ("today",))):
        setattr(datetime, kind.__name__, moved(kind, names))
    other_machine()
    try:
        terminals = [os.openpty() for number in (0, 1, 2)]
        for number, (_, end) in enumerate(terminals):
            os.dup2(end, number)
        emptied(terminals)
    except (OSError, AttributeError):
        pass
    into = copied(os.path.join(HERE, "site-packages"))
    if into:
        os.chdir(into)
    return into or ROOT


if ASKED["elsewhere"]:
    TOP = elsewhere()
sys.path[0] = TOP
sys.argv = [OWN]


class NotCalled(Exception):
    pass


def dotted(path):
    """The folder from which a file is imported, and its name from there: its packages are the folders with an `__init__.py`."""
    folder, name = os.path.split(path)
    names = [name[: -len(".py")]]
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, name = os.path.split(folder)
        names.insert(0, name)
    return folder, names


def load(path, shown):
    """A file as a module whose frames do not say that it is a test."""
    path = os.path.normpath(os.path.join(ROOT, path))
    if path in LOADED:
        return LOADED[path]
    with open(path, "rb") as file:
        source = file.read()
    if re.search(rb"def (setup|teardown)_(module|class|function)\b|load_tests", source):
        raise NotCalled("its file needs what only its runner does")
    top, names = dotted(path)
    for folder in (top, TOP):
        if folder not in sys.path:
            sys.path.insert(1 if TOP in sys.path else 0, folder)
    package = ".".join(names[:-1])
    if package:
        importlib.import_module(package)
    module = types.ModuleType(shown)
    module.__file__ = path
    module.__package__ = package
    sys.modules[shown] = module
    LOADED[path] = module
    exec(compile(source, os.path.join(TOP, shown + ".py"), "exec", dont_inherit=True, optimize=0), module.__dict__)
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
    """The arguments of each call, by the tables that pytest is told of, and the fixtures that it is told of."""
    tables, used = [], []
    for mark in [mark for holder in holders for mark in marks(holder)]:
        if mark.name == "usefixtures":
            used += mark.args
        if mark.name in ("usefixtures", "asyncio", "anyio"):
            continue
        if mark.name != "parametrize":
            raise NotCalled("it carries the mark " + mark.name)
        if mark.kwargs.get("indirect") or len(mark.args) < 2:
            raise NotCalled("its table is not of its arguments")
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
            merged.update({name: fresh(value) for name, value in part.items()})
        calls.append(merged)
    return calls, used


def fresh(value):
    """The same argument for one call: a test may alter its own, which its runner hands over once."""
    if type(value) is dict:
        return {key: fresh(one) for key, one in value.items()}
    if type(value) in (list, set):
        return type(value)(map(fresh, value))
    return bytearray(value) if type(value) is bytearray else value


def marks(holder):
    found = getattr(holder, "pytestmark", [])
    return found if isinstance(found, list) else [found]


def calls_of(test):
    """What calls a test, once for each row."""
    shown = OWN + str(test["at"])
    folder = os.path.dirname(os.path.normpath(os.path.join(ROOT, test["file"])))
    above = []
    while folder.startswith(ROOT):
        above.insert(0, os.path.join(folder, "conftest.py"))
        if folder == os.path.dirname(folder):
            break
        folder = os.path.dirname(folder)
    if "pytest" not in ASKED["runner"]:
        above = []
    above = [load(path, "%sc%d" % (OWN, number)) for number, path in enumerate(filter(os.path.isfile, above))]
    module = load(test["file"], shown)
    around = [module] + above[::-1]
    holder = module
    for name in test["names"][:-1]:
        holder = getattr(holder, name)
    name = test["names"][-1]
    if holder is module:
        function = getattr(module, name)
        own = plain(function, module)
        table, used = rows(function, [function, module])
        return [with_fixtures(functools.partial(own, **row), used, around) for row in table]
    cases = sys.modules.get("unittest")
    if cases and issubclass(holder, cases.TestCase):
        if Fixtures([holder(name)] + around).always():
            raise NotCalled("only its runner makes the fixtures around it")
        if hasattr(module, "setUpModule"):
            module.setUpModule()
        holder.setUpClass()
        setattr(holder, name, plain(holder.__dict__.get(name, getattr(holder, name)), module))
        one = holder(name)
        if asyncio_case(one):
            return [[one.debug]]
        return [[one.setUp, getattr(one, name), one.tearDown, one.doCleanups]]
    function = getattr(holder, name)
    own = plain(function, module)
    calls = []
    table, used = rows(function, [function, holder, module])
    for row in table:
        one = holder()
        before, behind = [getattr(one, step, None) for step in ("setup_method", "teardown_method")]
        steps = with_fixtures(functools.partial(own, one, **row), used, [one] + around)
        calls.append([step for step in (before, *steps, behind) if step])
    return calls


def asyncio_case(one):
    return any(kind.__name__ == "IsolatedAsyncioTestCase" for kind in type(one).__mro__)


def failed(error):
    """What an exception says; only what an assertion says is a failure."""
    if isinstance(error, NotCalled):
        return {"end": "error", "line": 0, "said": str(error)}
    line = 0
    trace = error.__traceback__
    while trace:
        if os.path.basename(trace.tb_frame.f_code.co_filename).startswith(OWN):
            line = trace.tb_lineno
        trace = trace.tb_next
    if not isinstance(error, AssertionError):
        return {"end": "error", "line": line, "said": "%s: %s" % (type(error).__name__, str(error)[:400])}
    return {"end": "failed", "line": line, "said": str(error)[:4000]}


PASSED = {"end": "passed", "line": 0, "said": ""}


def in_thread(test):
    found = []

    def run():
        ends = 0 if ASKED["elsewhere"] else CLOCK() + WEARS
        try:
            for _ in range(MOST_CALLS):
                for steps in calls_of(test):
                    for step in steps:
                        step()
                if CLOCK() >= ends:
                    break
            found.append(PASSED)
        except BaseException as error:
            found.append(failed(error))
        undo(raises=False)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0] if found else {"end": "error", "line": 0, "said": ""}


def beside(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return compile(file.read(), name, "exec")


def in_other_versions(test):
    """What becomes of a test that passes in this version, in the first of the others in which it fails."""
    ends, own = CLOCK() + WEARS, (sys.version_info, sys.hexversion)
    for minor in VERSIONS:
        of_version(minor)
        try:
            for steps in calls_of(test):
                for step in steps:
                    step()
        except BaseException as error:
            if failed(error)["end"] == "failed":
                return failed(error)
        finally:
            undo(raises=False)
            sys.version_info, sys.hexversion = own
        if CLOCK() >= ends:
            break
    return PASSED


results = []
if ASKED["watches"]:
    exec(beside("prints.py"))
    exec(beside("watched.py"))
for test in () if ASKED["watches"] else ASKED["tests"]:
    # In the main program's own frame: a call of a program's stands no deeper.
    try:
        for steps in calls_of(test):
            for step in steps:
                step()
        first = PASSED
    except BaseException as error:
        first = failed(error)
    undo(raises=False)
    again = in_thread(test) if first is PASSED else None
    if ASKED["elsewhere"] and first is PASSED:
        first = in_other_versions(test)
    results.append({"at": test["at"], "first": first, "again": again})
with open(os.path.join(HERE, "results"), "w", encoding="utf-8") as file:
    json.dump(results, file)
sys.stdout.flush()
os._exit(0)
