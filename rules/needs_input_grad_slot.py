"""AGL005: a gradient is gated on the wrong entry of `ctx.needs_input_grad`."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_lint.api import Atom, Finding, FlagRead, Function, NeedsName, NeedsRead, Node, Param, Return, Step, rule, story

# Words in the name of a flag that do not say whose it is.
FILLERS = frozenset(
    "calc compute do does for grad gradient grads has if is need needed needs of require required requires want".split()
)


@rule("AGL005", severity="warning", mentions=("needs_input_grad", "requires_grad"))
def check(fn: Function) -> Iterator[Finding]:
    if "forward" in fn.methods:
        told: set[Node] = set()
        yield from _out_of_range(fn)
        yield from _named_for_another(fn, told)
        yield from _gated_on_another(fn, told)


def _out_of_range(fn: Function) -> Iterator[Finding]:
    count = len(fn.params)
    if fn.open_ended:
        return
    for read in fn.of(NeedsRead):
        if not -count <= read.index < count:
            yield Finding(
                read.node,
                f"`forward` takes {count} argument{'s' * (count != 1)}, so there is no entry {read.index} and reading it raises "
                "IndexError",
                (Step(read.node, f"entry {read.index} is read here"),),
                "use the position of the argument among those of `apply`, `ctx` not counted",
            )


def _named_for_another(fn: Function, told: set[Node]) -> Iterator[Finding]:
    """One finding for a line, however many names it binds wrongly. What forward saves may depend on any entry."""
    for name in fn.of(NeedsName, "backward"):
        meant, taken = _meant(fn, name.name), fn.param(name.index)
        if meant is not None and taken is not None and meant is not taken and name.statement not in told:
            told.add(name.statement)
            yield Finding(
                name.node,
                f"`{name.name}` is entry {name.index} of `needs_input_grad`, which is that of `{taken.name}`; the entry of "
                f"`{meant.name}` is {meant.index}",
                (Step(meant.node, f"`{meant.name}` is argument {meant.index} of `apply`"), Step(name.node, "bound here")),
                f"use `{fn.context}.needs_input_grad[{meant.index}]`",
            )


def _meant(fn: Function, flag: str) -> Param | None:
    """The only parameter that the name of a flag speaks of: `need_weight_grad` of `weight`, but `need_dx` of `dx` or of `x`."""
    words = _words(flag)
    whole = [p for p in fn.params if not p.star and _is_inside(_words(p.name), words)]
    meant = max(whole, key=lambda p: len(_words(p.name)), default=None)
    if meant is None:
        return None
    name = meant.name.lower()
    others = {p.name.lower() for p in fn.params} - {name}
    return None if name.removeprefix("d") in others or name.removeprefix("grad_") in others else meant


def _words(name: str) -> list[str]:
    return [word for word in name.lower().split("_") if word]


def _is_inside(part: list[str], words: list[str]) -> bool:
    """Do these words stand in a row, with at least one filler and nothing else around them?"""
    for start in range(len(words) - len(part) + 1):
        rest = words[:start] + words[start + len(part) :]
        if part and words[start : start + len(part)] == part and rest and FILLERS.issuperset(rest):
            return True
    return False


def _gated_on_another(fn: Function, told: set[Node]) -> Iterator[Finding]:
    for slot in fn.params:
        if slot.star or not fn.gradient_given(slot.index).possible:
            continue
        # Given that this argument needs a gradient: does it still depend on another's need whether it gets one?
        given = fn.gradient_given(slot.index).assume(Atom("needs", slot.index), True)
        missing = fn.gradient_missing(slot.index) & story.needs(slot.index)
        for other in fn.params:
            entry = Atom("needs", other.index)
            if entry not in given.atoms or other is slot:
                continue
            only_with, only_without = given.implies(story.needs(other.index)), given.implies(~story.needs(other.index))
            frozen = missing & (~story.needs(other.index) if only_with else story.needs(other.index))
            if not (only_with or only_without) or not frozen.possible:
                continue
            back, read = _read(fn, slot, other)
            if read is None:
                continue
            line = read.statement if isinstance(read, NeedsName) else read.node
            if line not in told:
                told.add(line)
                when = f"only when `{other.name}` needs one: with `{other.name}` frozen" if only_with else ""
                when = when or f"only when `{other.name}` needs none: with both trainable"
                yield Finding(
                    read.node,
                    f"the gradient of `{slot.name}` is computed {when}, `backward` returns None for argument {slot.index}",
                    (
                        Step(read.node, f"asks about argument {other.index}"),
                        *([Step(back.slot(slot.index), f"returned for argument {slot.index}")] if back is not None else []),
                    ),
                    f"gate it on `{fn.context}.needs_input_grad[{slot.index}]`",
                )


Read = NeedsRead | NeedsName | FlagRead


def _read(fn: Function, slot: Param, other: Param) -> tuple[Return | None, Read | None]:
    """Where the flag of the other argument is read that the gradient in this slot depends on."""
    reads: list[Read] = [
        *(r for r in fn.of(NeedsRead, "backward") if r.index == other.index),
        *(n for n in fn.of(NeedsName) if n.index == other.index),
        *(f for f in fn.of(FlagRead) if any(a.origin.index == other.index for a in f.tensor.inputs())),
    ]
    for back in fn.of(Return, "backward"):
        gate = (fn.gradients(back) or ())[slot.index].gate
        if gate is None:
            continue
        inside = story.nodes_of(gate)
        for read in reads:
            if read.node in inside or (isinstance(read, NeedsName) and read.name in story.names_of(gate)):
                return back, read
    return None, reads[0] if reads else None
