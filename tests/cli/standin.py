"""A stand-in for the engine: what the command line does must not depend on what the rules find.

A line that ends in `# AGL001` has a finding of that rule, on its text; `# broken` makes the file one that cannot be linted, and
`# deadly` kills the process that lints it, unless it is the one that runs the tests.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from click.testing import Result

from autograd_lint.api import Finding, Function, Rule
from autograd_lint.diagnostic import Diagnostic, Failure, Position, Range, Report
from autograd_lint.settings import Settings

# Runs the command line: `lint("a.py", stdin=b"...")`.
Lint = Callable[..., Result]

HERE = Path(__file__).parent
_TESTS = os.getpid()


def no_findings(_function: Function) -> Iterator[Finding]:
    return iter(())


RULES = {
    rule.code: rule
    for rule in (
        Rule("AGL001", "first-rule", no_findings, "error", False, "safe", HERE / "page.md"),
        Rule("AGL002", "second-rule", no_findings, "warning", False, None, HERE / "page.md"),
        Rule("AGL003", "third-rule", no_findings, "note", False, None, HERE / "page.md"),
        Rule("AGL101", "early-rule", no_findings, "error", True, None, HERE / "page.md"),
    )
}
_MARK = re.compile(r"^(\s*)(.*?)\s*# (AGL\d+)$")


def check(source: bytes, path: str, rules: Sequence[Rule], settings: Settings) -> Report:
    report = Report(path, functions=1)
    on = {rule.code for rule in rules}
    for number, line in enumerate(source.decode().splitlines(), 1):
        if line.endswith("# broken"):
            report.failures.append(Failure(path, number, 1, "invalid syntax"))
        if line.endswith("# deadly") and os.getpid() != _TESTS:
            os.kill(os.getpid(), signal.SIGKILL)
        if line.endswith("# interrupted"):
            raise KeyboardInterrupt
        found = _MARK.match(line)
        if found and found[3] in on:
            rule = RULES[found[3]]
            start = len(found[1]) + 1
            span = Range(Position(number, start), Position(number, start + len(found[2])))
            message = f"message of {rule.name}"
            report.diagnostics.append(
                Diagnostic(rule.code, rule.name, rule.severity, message, "", path, span, span, "Op.forward", (), None, "", "f")
            )
    return report


def write(**files: str) -> None:
    """`write(a="x  # AGL001")` makes `a.py`; `__` in a name stands for a folder."""
    for name, text in files.items():
        path = Path(name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
