"""Which rules there are, and which of them a run uses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from autograd_lint.api import Rule


@dataclass(frozen=True, slots=True)
class Selection:
    """What one place (a configuration file, the command line) says about rules: codes, prefixes of codes, names, or `ALL`."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.select or self.ignore or self.extend_select)


class UnknownRuleError(ValueError):
    """A selector that stands for no rule."""


@cache
def load() -> dict[str, Rule]:
    """Every rule by its code, in the order of the codes."""
    import importlib
    import pkgutil

    from autograd_lint import rules
    from autograd_lint.api import RULES

    for name in sorted(module.name for module in pkgutil.iter_modules(rules.__path__)):
        importlib.import_module(f"{rules.__name__}.{name}")
    return dict(sorted(RULES.items()))


def find(selector: str) -> Rule:
    """The rule with this code or name. Raises UnknownRuleError."""
    for rule in load().values():
        if selector in (rule.code, rule.name):
            return rule
    raise _unknown(selector)


def select(selections: Iterable[Selection], *, preview: bool) -> tuple[Rule, ...]:
    """The rules to run, in the order of their codes. Raises UnknownRuleError.

    A later selection goes on from what the earlier ones left; its `select`, where given, starts afresh. Within one selection the
    more exact selector wins, and `ignore` wins between equals. A preview rule is on if `preview` is, or if it is named exactly.
    """
    rules = load()
    chosen = {code for code, rule in rules.items() if preview or not rule.preview}
    for selection in selections:
        if selection.select:
            chosen = set()
        wanted = [(s, True) for s in (*selection.select, *selection.extend_select)] + [(s, False) for s in selection.ignore]
        for selector, add in sorted(wanted, key=lambda item: _exactness(item[0])):
            codes = _expand(selector, preview=preview or not add)
            chosen = chosen | codes if add else chosen - codes
    return tuple(rule for code, rule in rules.items() if code in chosen)


def validate(selections: Iterable[Selection]) -> None:
    """Raises UnknownRuleError; loads no rule where nothing is selected."""
    for selection in selections:
        for selector in (*selection.select, *selection.ignore, *selection.extend_select):
            _expand(selector, preview=True)


def _exactness(selector: str) -> int:
    """`ALL`, then prefixes by length, then codes and names."""
    if selector == "ALL":
        return 0
    return 1000 if any(selector in (rule.code, rule.name) for rule in load().values()) else len(selector)


def _expand(selector: str, *, preview: bool) -> set[str]:
    rules = load().values()
    exact = {rule.code for rule in rules if selector in (rule.code, rule.name)}
    if exact:
        return exact
    found = [rule for rule in rules if selector == "ALL" or _is_prefix(selector, rule.code)]
    if not found and selector != "ALL":
        raise _unknown(selector)
    return {rule.code for rule in found if preview or not rule.preview}


def _is_prefix(selector: str, code: str) -> bool:
    """The letters whole, then as many digits as one likes."""
    digits = "0123456789"
    return code.startswith(selector) and selector.rstrip(digits) == code.rstrip(digits)


def _unknown(selector: str) -> UnknownRuleError:
    names = [name for rule in load().values() for name in (rule.code, rule.name)]
    return UnknownRuleError(f"unknown rule `{selector}`{did_you_mean(selector, names)}")


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """What to add to a message about an unknown word: "; did you mean `…`?", or nothing where nothing is close."""
    import difflib

    folded = {name.casefold(): name for name in known}
    close = difflib.get_close_matches(word.casefold(), folded, n=1)
    return f"; did you mean `{folded[close[0]]}`?" if close else ""
