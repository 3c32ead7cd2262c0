"""All that a rule may import: `from autograd_lint.api import ...`.

Nothing here imports libcst at run time, so that the list of rules can be had without it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from autograd_lint import story
from autograd_lint.finding import Edit, Finding, Fix, Safety, Severity, Step
from autograd_lint.flow.conditions import FALSE, TRUE, Atom, Condition
from autograd_lint.flow.events import (
    Creation,
    Event,
    FlagRead,
    FlagWrite,
    GradModeRead,
    NeedsName,
    NeedsRead,
    Place,
    Return,
    Save,
    Store,
    Use,
)
from autograd_lint.flow.values import Alias, Hop, Origin, Relation, Value
from autograd_lint.model import Function, Node, Param
from autograd_lint.story import LostFlag

Check = Callable[[Function], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A check and what is said about it; `page` is the Markdown file beside it.

    `mentions`: words of which a file has at least one if the rule has anything to say about it; none: any file.
    """

    code: str
    name: str
    check: Check
    severity: Severity
    preview: bool
    fix: Safety | None
    page: Path
    mentions: tuple[str, ...] = ()


RULES: dict[str, Rule] = {}


def rule(
    code: str,
    *,
    severity: Severity = "error",
    preview: bool = False,
    fix: Safety | None = None,
    mentions: tuple[str, ...] = (),
) -> Callable[[Check], Check]:
    """Register a check. The module's name is the rule's name, the `.md` file beside it is its page.

    Raises ValueError where the code is taken by another module.
    """

    def register(check: Check) -> Check:
        file = Path(sys.modules[check.__module__].__file__ or "")
        name = file.stem.replace("_", "-")
        if code in RULES and RULES[code].name != name:
            raise ValueError(f"{code} is taken by {RULES[code].name}")
        RULES[code] = Rule(code, name, check, severity, preview, fix, file.with_suffix(".md"), mentions)
        return check

    return register


__all__ = [
    "FALSE",
    "TRUE",
    "Alias",
    "Atom",
    "Condition",
    "Creation",
    "Edit",
    "Event",
    "Finding",
    "Fix",
    "FlagRead",
    "FlagWrite",
    "Function",
    "GradModeRead",
    "Hop",
    "LostFlag",
    "NeedsName",
    "NeedsRead",
    "Node",
    "Origin",
    "Param",
    "Place",
    "Relation",
    "Return",
    "Rule",
    "Safety",
    "Save",
    "Severity",
    "Step",
    "Store",
    "Use",
    "Value",
    "rule",
    "story",
]
