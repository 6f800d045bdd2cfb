# What all code of a process shares, as it is now, for the programs beside this file.
import decimal
import locale
import logging
import random
import signal
import socket
import types
import warnings

PLAIN = (str, bytes, int, float, type(None))
# Parts of a class that are no behaviour.
KEPT = {"__doc__", "__dict__", "__weakref__", "__annotations__", "__abstractmethods__", "__module__", "__slots__", "__firstlineno__"}


def is_from_elsewhere(module):
    path = getattr(module, "__file__", None)
    return not isinstance(path, str) or not path.startswith(ROOT + os.sep) or "site-packages" in path


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
        # A package that hands on what its parts define when it is first asked for it: the parts themselves are looked at.
        parts = name + "." if "__getattr__" in vars(module) else None
        for key, value in list(vars(module).items()):
            if key.startswith("_") and not (name == "builtins" and key == "__import__"):
                continue
            if parts and str(getattr(value, "__module__", "")).startswith(parts):
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
    for level in (10, 20, 30, 40, 50):
        yield "logging.getLevelName(%d)" % level, logging.getLevelName(level)
    for name, context in (("decimal.getcontext()", decimal.getcontext()), ("decimal.DefaultContext", decimal.DefaultContext)):
        for part in ("prec", "rounding", "Emin", "Emax", "capitals", "clamp"):
            yield "%s.%s" % (name, part), getattr(context, part)
        yield name + ".traps", tuple(kind.__name__ for kind, is_on in context.traps.items() if is_on)


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
