# Loads files of the product one after another, without any runner, and writes beside this file what each of them changed of all that the code
# of a process shares.
import importlib
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "asked.json"), encoding="utf-8") as file:
    ASKED = json.load(file)
ROOT = os.getcwd()
sys.path[0] = ROOT
sys.argv = [ASKED["name"]]
with open(os.path.join(HERE, "prints.py"), encoding="utf-8") as file:
    exec(compile(file.read(), "prints.py", "exec"))


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
