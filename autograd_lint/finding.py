"""What a rule yields: where, what happens, along which path, and how to mend it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import libcst as cst

Severity = Literal["error", "warning", "note"]
Safety = Literal["safe", "unsafe"]


@dataclass(frozen=True, slots=True)
class Step:
    """One station of a tensor on its way to a finding."""

    node: cst.CSTNode
    text: str


@dataclass(frozen=True, slots=True)
class Edit:
    """Put `text` in the place of a node's source."""

    node: cst.CSTNode
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that are applied together or not at all. `safe` keeps what the program means; `unsafe` needs a look."""

    title: str
    edits: tuple[Edit, ...]
    safety: Safety


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule yields. `message`: one sentence, what happens and when. `help`: the right form, ready to type."""

    node: cst.CSTNode
    message: str
    steps: tuple[Step, ...] = ()
    help: str = ""
    fix: Fix | None = None
