# Loads files of the product one after another, without any runner, and writes beside this file what each of them changed of all that the code
# of a process shares.
import importlib
import json
import locale
import logging
import os
import random
import signal
import socket
import sys
import time
import types
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "asked.json"), encoding="utf-8") as file:
    ASKED = json.load(file)
ROOT = os.getcwd()
sys.path[0] = ROOT
sys.argv = [ASKED["name"]]
PLAIN = (str, bytes, int, float, type(None))
# Parts of a class that are no behaviour.
KEPT = {"__doc__", "__dict__", "__weakref__", "__annotations__", "__abstractmethods__", "__module__", "__slots__", "__firstlineno__"}


def dotted(path):
    """The folder from which a file is imported, and its name from there."""
    folder, name = os.path.split(path)
    names = [name[: -len(".py")]]
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, name = os.path.split(folder)
        names.insert(0, name)
    if len(names) == 1 and path.startswith(ROOT + os.sep):
        # Folders are packages without being told.
        folder, names = ROOT, os.path.relpath(path, ROOT)[: -len(".py")].split(os.sep)
    return folder, names[:-1] if names[-1] == "__init__" else names


def load(path):
    """Whether a file could be loaded, as a module of the name by which programs know it."""
    folder, names = dotted(path)
    if not names or not all(name.isidentifier() for name in names):
        return False
    try:
        module = importlib.import_module(".".join(names))
        return os.path.samefile(module.__file__, path)
    except BaseException:
        return False


def is_from_elsewhere(module):
    path = getattr(module, "__file__", None)
    return not isinstance(path, str) or not path.startswith(ROOT + os.sep) or "site-packages" in path


def loaded_by(files):
    """The names of the modules from elsewhere that are loaded with the files: to load those is not what is asked about."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            for path in files:
                load(path)
            names = [name for name, module in list(sys.modules.items()) if module and is_from_elsewhere(module)]
            with os.fdopen(writer, "w", encoding="utf-8") as out:
                json.dump(names, out)
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as told:
        said = told.read()
    os.waitpid(child, 0)
    return json.loads(said or "[]")


def attributes():
    seen = set()
    for name, module in list(sys.modules.items()):
        is_own = name == "__main__" or any(part.startswith("_") for part in name.split("."))
        if not isinstance(module, types.ModuleType) or is_own or not is_from_elsewhere(module):
            continue
        yield "sys.modules[%r]" % name, module
        if id(module) in seen:
            continue
        seen.add(id(module))
        for key, value in list(vars(module).items()):
            if key.startswith("_") and not (name == "builtins" and key == "__import__"):
                continue
            yield "%s.%s" % (name, key), value
            if isinstance(value, type) and value.__module__ == name:
                for part, own in list(vars(value).items()):
                    is_private = part.startswith("_") and not part.startswith("__")
                    if not is_private and part not in KEPT:
                        yield "%s.%s.%s" % (name, key, part), own


def states():
    for name, value in os.environ.items():
        yield "os.environ[%r]" % name, value
    for one in signal.valid_signals():
        yield "the handler of signal %d" % one, signal.getsignal(one)
    mask = os.umask(0)
    os.umask(mask)
    yield "the mask of new files", mask
    yield "the working directory", os.getcwd()
    yield "the locale", locale.setlocale(locale.LC_ALL, None)
    yield "socket.getdefaulttimeout()", socket.getdefaulttimeout()
    yield "sys.getrecursionlimit()", sys.getrecursionlimit()
    yield "sys.gettrace()", sys.gettrace()
    yield "sys.path", tuple(sys.path)
    yield "sys.meta_path", tuple(sys.meta_path)
    yield "warnings.filters", tuple(warnings.filters)
    yield "random.getstate()", random.getstate()
    yield "logging.root.level", logging.root.level
    yield "logging.root.handlers", tuple(logging.root.handlers)
    yield "logging.root.manager.disable", logging.root.manager.disable


def print_of_all():
    return dict([*attributes(), *states()])


def is_same(one, other):
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(is_same, one, other))
    return type(one) in PLAIN and one == other


def changed(before, after):
    gone = [name for name in before if name not in after]
    # A package gets its parts as attributes when they are loaded.
    new = [name for name, value in after.items() if name not in before and not isinstance(value, types.ModuleType)]
    other = [name for name, value in after.items() if name in before and not is_same(before[name], value)]
    return [*other, *new, *gone]


files = [os.path.normpath(os.path.join(ROOT, path)) for path in ASKED["files"]]
for folder in [dotted(path)[0] for path in files]:
    if folder not in sys.path:
        sys.path.append(folder)
for name in loaded_by(files):
    try:
        importlib.import_module(name)
    except BaseException:
        pass
results = []
before = print_of_all()
for at, path in enumerate(files):
    had = set(sys.modules)
    is_loaded = load(path)
    after = print_of_all()
    # What is loaded now alone has parts of its own.
    fresh = tuple(name + "." for name in set(sys.modules) - had)
    if is_loaded:
        results.append({"at": at, "changes": [name for name in changed(before, after) if not name.startswith(fresh)]})
    before = after
with open(os.path.join(HERE, "results"), "w", encoding="utf-8") as file:
    json.dump(results, file)
sys.stdout.flush()
os._exit(0)
