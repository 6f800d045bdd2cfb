# The fixtures of pytest's that a test asks for, made for one call of it and undone behind it.
import collections
import functools
import importlib
import inspect
import io
import pathlib
import shutil
import sys
import tempfile
import types

# What undoes the fixtures that were made, the last one first.
UNDONE = []


def undo(raises=True):
    """Undoes what fixtures left, each of them whatever becomes of the others."""
    wrong = None
    while UNDONE:
        try:
            UNDONE.pop()()
        except BaseException as error:
            wrong = wrong or error
    if wrong and raises:
        raise wrong


def temporary():
    folder = tempfile.mkdtemp()
    UNDONE.append(functools.partial(shutil.rmtree, folder, True))
    return pathlib.Path(folder).resolve()


def patches():
    had = set(sys.modules)
    own = importlib.import_module("_pytest.monkeypatch").MonkeyPatch()
    # Nobody is to learn from this that there is a runner.
    for name in set(sys.modules) - had:
        if name.partition(".")[0] in ("_pytest", "pytest", "pluggy", "iniconfig"):
            del sys.modules[name]
    UNDONE.append(own.undo)
    return own


class Captured:
    """What is printed while a test runs."""

    Read = collections.namedtuple("CaptureResult", ["out", "err"])

    def __init__(self):
        self.had = sys.stdout, sys.stderr
        UNDONE.append(self.ended)
        self.begun()

    def begun(self):
        self.own = sys.stdout, sys.stderr = io.StringIO(), io.StringIO()

    def readouterr(self):
        read = self.Read(*[one.getvalue() for one in self.own])
        for one in self.own:
            one.seek(0)
            one.truncate()
        return read

    def ended(self):
        sys.stdout, sys.stderr = self.had


BUILT_IN = {"tmp_path": temporary, "monkeypatch": patches, "capsys": Captured}


def fixture_of(held):
    """The function of a fixture and what it was declared with; versions of pytest keep both in other places."""
    for kept in ("_fixture_function_marker", "_pytestfixturefunction"):
        marker = inspect.getattr_static(held, kept, None)
        if type(marker).__name__ == "FixtureFunctionMarker":
            inner = getattr(held, "_fixture_function", None) or getattr(getattr(held, "__pytest_wrapped__", None), "obj", None)
            return (inner, marker) if inner else None
    return None


def asks_for(function, follow=True):
    """The names of the arguments that a function cannot be called without."""
    takes = inspect.signature(function, follow_wrapped=follow).parameters.values()
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [one.name for one in takes if one.kind in kinds and one.default is one.empty]


class Fixtures:
    """The fixtures around a test, the nearest first: of its class, its module, and the files above."""

    def __init__(self, holders):
        self.around = [self.declared(holder) for holder in holders] + [{}]
        self.made = {}

    @staticmethod
    def declared(holder):
        # Of a class what its bases declare as well; the nearest of one name counts.
        parts = [vars(one) for one in type(holder).__mro__] if not isinstance(holder, types.ModuleType) else [vars(holder)]
        found = {}
        for names in parts:
            for name, held in list(names.items()):
                fixture = fixture_of(held)
                if fixture and (fixture[1].name or name) not in found:
                    found[fixture[1].name or name] = (*fixture, holder)
        return found

    def always(self):
        """The names of those that are made without being asked for, the farthest first."""
        return [name for around in reversed(self.around) for name, (_, marker, _) in around.items() if marker.autouse]

    def value(self, name, nearest=0):
        for level, around in list(enumerate(self.around))[nearest:]:
            if name in around:
                if (name, level) not in self.made:
                    self.made[name, level] = self.make(name, level, *around[name])
                return self.made[name, level]
        if name not in BUILT_IN:
            raise NotCalled("it asks for the fixture " + name)
        if name not in self.made:
            self.made[name] = BUILT_IN[name]()
        return self.made[name]

    def make(self, name, level, function, marker, holder):
        if marker.params is not None or inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            raise NotCalled("only its runner makes the fixture " + name)
        if not isinstance(holder, types.ModuleType) and not hasattr(function, "__self__"):
            function = function.__get__(holder)
        # One that asks for its own name means the one that it stands in for.
        given = {asked: self.value(asked, level + 1 if asked == name else 0) for asked in asks_for(function)}
        made = function(**given)
        if not inspect.isgenerator(made):
            return made
        value = next(made)
        UNDONE.append(functools.partial(next, made, None))
        return value


def with_fixtures(call, used, holders):
    """The steps of a call: its fixtures are made into its arguments, it is made, and they are undone."""
    fixtures = Fixtures(holders)
    asked = [name for name in asks_for(call.func, follow=False)[len(call.args) :] if name not in call.keywords]
    wanted = fixtures.always() + used + asked
    run = functools.partial(awaited, call) if inspect.iscoroutinefunction(call.func) else call
    if not wanted:
        return [run]

    def made():
        values = {name: fixtures.value(name) for name in wanted}
        call.keywords.update((name, values[name]) for name in asked)

    return [made, run, undo]


def awaited(call):
    importlib.import_module("asyncio").run(call())
