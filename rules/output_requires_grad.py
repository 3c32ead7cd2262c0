"""AGL009: an output is created with `requires_grad` in forward."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from autograd_lint.api import Alias, Creation, Finding, FlagWrite, Function, Relation, Return, Step, Value, rule, story

# Of a detached or copied tensor the flag does not go along.
KEEPING = (Relation.IS, Relation.VIEW, Relation.MAY_COPY)


@rule("AGL009", severity="warning", mentions=("requires_grad",))
def check(fn: Function) -> Iterator[Finding]:
    for event in fn.of(Creation, "forward"):
        yield from _report(fn, event, event.value, event.flag)
    for write in fn.of(FlagWrite, "forward"):
        yield from _report(fn, write, write.tensor, write.flag)


def _report(fn: Function, event: Creation | FlagWrite, tensor: Value, flag: Value) -> Iterator[Finding]:
    if event.place.grad_enabled or flag.const is False:
        return
    unset = {a.origin for write in fn.of(FlagWrite, "forward") if write.flag.const is False for a in write.tensor.aliases()}
    flagged = [a for a in tensor.aliases() if a.origin.kind == "fresh" and a.origin not in fn.differentiated | unset]
    itself = {replace(a, own=own) for a in flagged for own in (False, True)}
    for back, alias in _returned(fn):
        made = next((a for a in flagged if a.origin == alias.origin), None)
        if made is None:
            continue
        does = (
            "has no effect, since `apply` decides whether an output requires grad"
            if alias in itself
            else "leaks through the view that is returned: under no_grad or with frozen inputs the output requires grad"
        )
        yield Finding(
            event.node,
            f"`requires_grad` on a tensor that `forward` returns {does}",
            (*_way(event, made, alias), Step(back.node, "returned here")),
            "leave out `requires_grad`",
        )
        return


def _way(event: Creation | FlagWrite, made: Alias, returned: Alias) -> Iterator[Step]:
    """What was done to the tensor until its flag was set, and what after that."""
    before = [] if isinstance(event, Creation) else story.way(made)
    yield from before
    yield Step(event.node, "set here")
    yield from (step for step in story.way(returned) if step.node not in {s.node for s in before})


def _returned(fn: Function) -> Iterator[tuple[Return, Alias]]:
    """What forward returns, farthest from what was created first."""
    out: list[tuple[Return, Alias]] = []
    for back in fn.of(Return, "forward"):
        for value in back.value.parts if back.value.parts is not None else (back.value,):
            out.extend((back, alias) for alias in value.aliases() if alias.relation in KEEPING)
    yield from sorted(out, key=lambda pair: -pair[1].relation)
