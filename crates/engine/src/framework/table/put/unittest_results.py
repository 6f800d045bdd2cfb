# Runs unittest as `python -m unittest` would, and writes what became of every test beside this file, as JUnit XML.
import os
import sys

PLACE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")
if not getattr(sys.flags, "safe_path", False):
    # As `-m` has it.
    sys.path[0] = os.getcwd()

import unittest


def quoted(text):
    for plain, escaped in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(plain, escaped)
    return "".join(c if c.isprintable() else " " for c in text)


class Result(unittest.TextTestResult):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.outcomes = {}

    def became(self, test, outcome):
        # A test that failed in one part does not pass in another.
        if self.outcomes.get(test, "passed") in ("passed", "skipped"):
            self.outcomes[test] = outcome

    def addSuccess(self, test):
        super().addSuccess(test)
        self.became(test, "passed")

    def addExpectedFailure(self, test, error):
        super().addExpectedFailure(test, error)
        self.became(test, "skipped")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.became(test, "skipped")

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.became(test, "failure")

    def addError(self, test, error):
        super().addError(test, error)
        self.became(test, "error")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.became(test, "failure")

    def addSubTest(self, test, part, error):
        super().addSubTest(test, part, error)
        if error is not None:
            self.became(test, "failure" if issubclass(error[0], test.failureException) else "error")


class Runner(unittest.TextTestRunner):
    resultclass = Result

    def run(self, test):
        result = super().run(test)
        lines = []
        for one, outcome in result.outcomes.items():
            inside = {"passed": "", "skipped": "<skipped/>"}.get(outcome, '<%s message="it did"/>' % outcome)
            lines.append('<testcase classname="unittest" name="%s">%s</testcase>' % (quoted(one.id()), inside))
        counts = [list(result.outcomes.values()).count(name) for name in ("failure", "error", "skipped")]
        head = '<testsuites><testsuite name="unittest" tests="%d" failures="%d" errors="%d" skipped="%d">' % (len(lines), *counts)
        with open(PLACE, "w", encoding="utf-8") as file:
            file.write("\n".join([head, *lines, "</testsuite></testsuites>", ""]))
        return result


# Processes that a test spawns read this file, too.
if __name__ == "__main__":
    sys.argv[0] = os.path.basename(sys.executable) + " -m unittest"
    unittest.main(module=None, testRunner=Runner)
