"""AGL004: grad mode is asked where it is always off."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_lint.api import Finding, Function, GradModeRead, Step, rule, story


@rule("AGL004", severity="error", mentions=("is_grad_enabled",))
def check(fn: Function) -> Iterator[Finding]:
    for read in fn.of(GradModeRead, "forward", "setup_context"):
        # A helper may ask for its other callers. What counts is what the method itself makes of the answer.
        depths = fn.used.get(read.node, set())
        if not read.place.grad_enabled and (0 in depths if read.place.calls else depths):
            asked, where = story.code(read.node), read.place.method
            yield Finding(
                read.node,
                f"`{asked}` is always False in `{where}`, which runs without grad mode, so what depends on it goes one way",
                (
                    *(Step(call, f"called from `{where}`") for call in read.place.calls),
                    Step(read.node, "grad mode is asked here"),
                ),
                f"ask where `{fn.name}.apply` is called and pass the answer as an argument",
            )
