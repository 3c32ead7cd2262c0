"""AGL006: a name is bound only where a gradient is needed, and used elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_lint.api import FALSE, TRUE, Condition, Finding, Function, Step, Use, rule, story


@rule("AGL006", severity="error", mentions=("needs_input_grad", "requires_grad"))
def check(fn: Function) -> Iterator[Finding]:
    for use in fn.of(Use):
        if use.name == "saved_tensors":
            continue  # empty rather than unbound
        missing = use.place.path & use.value.unbound
        if use.place.method == "backward":
            missing = missing & _some_gradient_is_needed(fn)
        # Would it be bound if only other arguments needed a gradient? Otherwise the gap has another cause.
        bound_for_others = (~use.value.unbound).forget(("none", "missing", "test"))
        for index in {a.key for a in missing.atoms if a.kind == "none"}:
            missing = missing & ~(story.needs(index) & story.is_none(index))  # None needs no gradient
        if any(a.kind in ("flag", "lost") for a in missing.atoms):
            continue  # of flags that cannot be told apart, or that AGL001 and AGL002 speak of
        if missing.known and bound_for_others.known and (missing & bound_for_others).possible:
            yield _finding(fn, use)


def _some_gradient_is_needed(fn: Function) -> Condition:
    """Backward runs only then."""
    given = [p.index for p in fn.params if fn.gradient_given(p.index).possible]
    some = FALSE
    for index in given:
        some = some | story.needs(index)
    return some if some.known and not fn.open_ended and given else TRUE


def _finding(fn: Function, use: Use) -> Finding:
    bound = (~use.value.unbound).given(use.place.path)
    shown = story.code(use.node)
    error = "AttributeError" if shown != use.name else "UnboundLocalError"
    gate = use.value.gate
    steps = [Step(gate, f"`{shown}` is bound only under this test")] if gate is not None else []
    return Finding(
        use.node,
        f"`{shown}` is bound only where `{fn.say(bound)}` is true: elsewhere this use raises {error}",
        (*steps, Step(use.node, "used here")),
        f"bind `{shown} = None` before the test, and use it only under the test",
    )
