"""AGL005: a gradient is gated on the wrong entry of `ctx.needs_input_grad`."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_lint.api import Atom, Condition, Finding, Function, Gate, NeedsName, NeedsRead, Param, Return, Step, rule, story

# Words in the name of a flag that do not say whose it is.
FILLERS = frozenset("calc compute do does for grad gradient grads has if is need needed needs of require required requires want".split())


@rule("AGL005", severity="warning")
def check(fn: Function) -> Iterator[Finding]:
    if "forward" in fn.methods:
        yield from _out_of_range(fn)
        yield from _named_for_another(fn)
        yield from _gated_on_another(fn)


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


def _named_for_another(fn: Function) -> Iterator[Finding]:
    told: set[int] = set()
    for name in fn.of(NeedsName):
        meant = _meant(fn, name.name)
        if meant is not None and meant.index != name.index and id(name.statement) not in told:
            told.add(id(name.statement))
            taken = fn.param(name.index)
            yield Finding(
                name.node,
                f"`{name.name}` is entry {name.index} of `needs_input_grad`, which is that of "
                f"`{taken.name if taken else '?'}`; the entry of `{meant.name}` is {meant.index}",
                (Step(meant.node, f"`{meant.name}` is argument {meant.index} of `apply`"), Step(name.node, "bound here")),
                f"use `{_ctx(fn)}.needs_input_grad[{meant.index}]`",
            )


def _meant(fn: Function, flag: str) -> Param | None:
    """The parameter that the name of a flag speaks of: `need_weight_grad` of `weight`."""
    words = [w for w in flag.lower().split("_") if w and w not in FILLERS]
    for param in fn.params:
        if words and not param.star and words == [w for w in param.name.lower().split("_") if w]:
            return param
    return None


def _gated_on_another(fn: Function) -> Iterator[Finding]:
    told: set[int] = set()
    for slot in fn.params:
        given = fn.gradient_given(slot.index)
        if slot.star or not given.known or not given.possible or _entry(given, slot.index) is not None:
            continue
        for other in fn.params:
            entry = _entry(given, other.index)
            if entry is None or not given.implies(Condition((entry,), 0b10)):
                continue
            gate = _gate(fn, slot.index, entry)
            if gate is None or id(gate.node) in told:
                continue
            told.add(id(gate.node))
            yield Finding(
                gate.node,
                f"the gradient of `{slot.name}` is computed only when `{other.name}` needs one: with `{other.name}` frozen, "
                f"`backward` returns None for argument {slot.index}",
                (Step(gate.node, f"asks about argument {other.index}"), *_given_at(fn, slot.index)),
                f"gate it on `{_ctx(fn)}.needs_input_grad[{slot.index}]`",
            )


def _entry(condition: Condition, index: int) -> Atom | None:
    return next((a for a in condition.atoms if a.kind == "needs" and a.key == index), None)


def _gate(fn: Function, slot: int, entry: Atom) -> Gate | None:
    """The test under which the gradient in this slot is bound."""
    names = {_name(node) for back in fn.of(Return, "backward") for node in back.slots[slot : slot + 1]}
    gates = [g for g in fn.of(Gate, "backward") if g.test.implies(Condition((entry,), 0b10))]
    return next((g for g in gates if g.binds & names), None)


def _name(node: object) -> str:
    value = getattr(node, "value", "")
    return value if isinstance(value, str) else ""


def _given_at(fn: Function, slot: int) -> Iterator[Step]:
    for back in fn.of(Return, "backward"):
        yield Step(back.slot(slot), f"returned for argument {slot}")
        return


def _ctx(fn: Function) -> str:
    backward = fn.methods.get("backward")
    return backward.ctx if backward is not None else "ctx"
