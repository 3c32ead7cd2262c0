"""The output formats, one module each. A renderer turns reports into text; it prints nothing."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from autograd_lint.diagnostic import Diagnostic, Failure, FlowStep, Report

# What would move the cursor, end the line or turn the direction of writing.
UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class Style:
    """How text looks on its way to a person. `width` in columns."""

    color: bool = False
    width: int = 80

    def bold(self, text: str) -> str:
        return self._paint(text, "1")

    def accent(self, text: str) -> str:
        return self._paint(text, "1;34")

    def severity(self, text: str, severity: str) -> str:
        # No yellow: it cannot be read on a light ground.
        return self._paint(text, {"error": "1;31", "warning": "1;35"}.get(severity, "1;36"))

    def _paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.color and text else text


def render(
    output_format: str, reports: Sequence[Report], sources: Mapping[str, bytes], style: Style, *, summary: bool = True
) -> str:
    """The findings in one of the formats. `sources`: the text of files, by path, where it is at hand."""
    if output_format == "json":
        from autograd_lint.output import json

        return json.render(reports)
    found = [diagnostic for report in reports for diagnostic in report.diagnostics]
    if output_format == "full":
        from autograd_lint.output import full

        text = full.render(found, sources, style)
    else:
        from autograd_lint.output import concise

        text = concise.render(found, style)
    return text + total(reports) if summary else text


def failure_line(of: Failure) -> str:
    """As a line for stderr."""
    return f"{clean(of.path)}:{of.line}:{of.column}: error: {clean(of.message)}"


def total(reports: Sequence[Report]) -> str:
    """`Found 3 errors, 1 warning.` and the like, as a line."""
    count = Counter(diagnostic.severity for report in reports for diagnostic in report.diagnostics)
    failed = sum(bool(report.failures) for report in reports)
    if not count and not failed:
        return "All checks passed!\n"
    found = ", ".join(plural(count[level], level) for level in ("error", "warning", "note") if count[level])
    rest = f"; {plural(failed, 'file')} not linted in full" if failed else ""
    return f"Found {found or 'nothing'}{rest}.\n"


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def place(of: Diagnostic | FlowStep) -> str:
    """`path:line:column:`"""
    return f"{clean(of.path)}:{of.range.start.line}:{of.range.start.column}:"


def clean(text: str) -> str:
    """Without control characters, which file names and source text can hold and a terminal would obey."""
    return text if text.isprintable() else UNSAFE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
