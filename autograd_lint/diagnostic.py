"""What a run reports: findings with their places in the file, and files that could not be read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autograd_lint.finding import Safety, Severity


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """Both count from 1; columns are code points."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, order=True)
class Range:
    """The end is exclusive."""

    start: Position
    end: Position


@dataclass(frozen=True, slots=True)
class FlowStep:
    path: str
    range: Range
    text: str


@dataclass(frozen=True, slots=True)
class TextEdit:
    range: Range
    content: str


@dataclass(frozen=True, slots=True)
class TextFix:
    title: str
    safety: Safety
    edits: tuple[TextEdit, ...]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. `path` is as the user named it, with forward slashes; `symbol` is like `MyOp.forward`.

    `fingerprint` has no line number in it, so it survives edits elsewhere in the file.
    """

    code: str
    name: str
    severity: Severity
    message: str
    help: str
    path: str
    range: Range
    statement: Range
    symbol: str
    flow: tuple[FlowStep, ...]
    fix: TextFix | None
    url: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Failure:
    """A file, or a part of one, that was not linted, and why."""

    path: str
    line: int
    column: int
    message: str


@dataclass(slots=True)
class Report:
    """Of one file. `functions` counts the autograd Functions that were followed."""

    path: str
    diagnostics: list[Diagnostic] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    functions: int = 0
