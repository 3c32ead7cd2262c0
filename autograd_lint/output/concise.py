"""One line for each finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autograd_lint.output import clean, place

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autograd_lint.diagnostic import Diagnostic
    from autograd_lint.output import Style


def render(diagnostics: Iterable[Diagnostic], style: Style) -> str:
    return "".join(f"{style.bold(place(d))} {style.severity(d.code, d.severity)} {clean(d.message)}\n" for d in diagnostics)
