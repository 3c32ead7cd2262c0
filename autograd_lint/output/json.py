"""A list with an object for each finding and each failure; the keys that ruff has too mean the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autograd_lint.diagnostic import Diagnostic, Failure, Position, Range, Report, TextFix


def render(reports: Iterable[Report]) -> str:
    """In ASCII: whatever a file is called, every consumer can read it."""
    items: list[dict[str, Any]] = []
    for report in reports:
        items += map(_finding, report.diagnostics)
        items += map(_failure, report.failures)
    return json.dumps(items, indent=2) + "\n"


def _finding(diagnostic: Diagnostic) -> dict[str, Any]:
    return {
        "code": diagnostic.code,
        "name": diagnostic.name,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        "help": diagnostic.help,
        "filename": diagnostic.path,
        **_range(diagnostic.range),
        "statement": _range(diagnostic.statement),
        "symbol": diagnostic.symbol,
        "flow": [{"filename": step.path, **_range(step.range), "message": step.text} for step in diagnostic.flow],
        "fix": _fix(diagnostic.fix) if diagnostic.fix else None,
        "url": diagnostic.url,
        "fingerprint": diagnostic.fingerprint,
    }


def _failure(failure: Failure) -> dict[str, Any]:
    """The same keys, so that nobody has to ask which kind it is; `code` is null."""
    point = {"row": failure.line, "column": failure.column}
    place = {"location": point, "end_location": point}
    return {
        "code": None,
        "name": None,
        "severity": "error",
        "message": failure.message,
        "help": "",
        "filename": failure.path,
        **place,
        "statement": place,
        "symbol": None,
        "flow": [],
        "fix": None,
        "url": None,
        "fingerprint": None,
    }


def _fix(fix: TextFix) -> dict[str, Any]:
    edits = [{"content": edit.content, **_range(edit.range)} for edit in fix.edits]
    return {"applicability": fix.safety, "message": fix.title, "edits": edits}


def _range(span: Range) -> dict[str, Any]:
    return {"location": _position(span.start), "end_location": _position(span.end)}


def _position(position: Position) -> dict[str, int]:
    return {"row": position.line, "column": position.column}
