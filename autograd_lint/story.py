"""Say in words how a tensor got where it is, and what to write instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autograd_lint.finding import Step
from autograd_lint.flow.conditions import Condition, atom
from autograd_lint.flow.events import FlagRead, Place, Return
from autograd_lint.flow.values import Alias, Hop, Relation
from autograd_lint.model import Function
from autograd_lint.model import code as whole

if TYPE_CHECKING:
    import libcst as cst

MAX_CODE = 60


def code(node: cst.CSTNode) -> str:
    """The source of a node on one line, cut where it is long."""
    text = whole(node)
    return text if len(text) <= MAX_CODE else f"{text[: MAX_CODE - 1]}…"


def nodes_of(node: cst.CSTNode) -> set[cst.CSTNode]:
    """A node and all that is inside it."""
    from autograd_lint.tree import descendants

    return set(descendants(node))


def names_of(node: cst.CSTNode) -> set[str]:
    """The names that occur in it, attributes included."""
    return {name for one in nodes_of(node) if isinstance(name := getattr(one, "value", None), str)}


@dataclass(frozen=True, slots=True)
class LostFlag:
    """A `requires_grad` read that need not be what the argument's is. `aliases`: all arguments the tensor may be or derive from.

    `worst`: the derivation that loses the flag most surely.
    """

    read: FlagRead
    aliases: tuple[Alias, ...]
    worst: Alias

    @property
    def losing_hop(self) -> Hop:
        """The step that loses it: the first that is as far as the whole way is."""
        assert self.worst.trail is not None
        return next(hop for hop in self.worst.trail if hop.relation == self.worst.relation)


def lost_flags(fn: Function) -> Iterator[LostFlag]:
    """Each read of a flag that a derivation may have lost and that something depends on, once per place and chain of calls."""
    by_place: dict[tuple[int, tuple[int, ...]], list[FlagRead]] = {}
    for read in fn.of(FlagRead):
        if read.node in fn.used and _losing(fn, read):
            by_place.setdefault((id(read.node), tuple(map(id, read.place.calls))), []).append(read)
    for reads in by_place.values():
        aliases = sorted({a for read in reads for a in read.tensor.inputs()}, key=lambda a: a.order)
        losing = [a for read in reads for a in _losing(fn, read)]
        yield LostFlag(reads[0], tuple(aliases), max(losing, key=lambda a: a.relation))


def _losing(fn: Function, read: FlagRead) -> list[Alias]:
    """The tensors it may be whose flag need not be that of the argument, where that makes a difference."""
    path = read.place.path
    return [
        a
        for a in read.tensor.inputs()
        if a.loses and fn.is_tensor(a) and (a.when & path).possible and (path & needs(a.origin.index)).possible
    ]


def right_form(fn: Function, aliases: Iterable[Alias], place: Place) -> str:
    """What to test instead: `ctx.needs_input_grad[0]`, or several of them."""
    method = fn.methods.get(place.method)
    ctx = method.ctx if method is not None and not (place.method == "forward" and "setup_context" in fn.methods) else "ctx"
    indices = sorted({a.origin.index for a in aliases})
    if any(i < 0 for i in indices):
        return f"`{ctx}.needs_input_grad` at that argument's position"
    return "`" + " or ".join(f"{ctx}.needs_input_grad[{i}]" for i in indices) + "`"


def advice(fn: Function, aliases: Iterable[Alias], place: Place) -> str:
    """The right form as a piece of advice, which in a helper is an argument to pass."""
    form = right_form(fn, aliases, place)
    if place.calls:
        return f"pass {form} to this function and test that instead"
    if place.method == "forward" and "setup_context" in fn.methods:
        return f"test {form} in `setup_context` or `backward` instead"
    return f"test {form} instead"


def argument(alias: Alias) -> str:
    """`argument 0` by its position in apply."""
    return f"argument {alias.origin.index}" if alias.origin.index >= 0 else f"an element of `*{alias.origin.name}`"


def way(alias: Alias) -> list[Step]:
    """The stations of a tensor, from the parameter on."""
    steps: list[Step] = []
    for hop in alias.trail or ():
        text = _station(alias, hop)
        if text and not (steps and steps[-1].node is hop.node):
            steps.append(Step(hop.node, text))
    return steps


def _station(alias: Alias, hop: Hop) -> str:
    if hop.kind == "parameter":
        return f"`{alias.origin.name}` is {argument(alias)} of `apply`"
    if hop.kind == "decorator":
        return f"`{code(hop.node)}` passes on a copy {hop.why}".rstrip()
    if hop.kind in ("derive", "item"):
        return f"`{code(hop.node)}` {becomes(hop)}"
    if hop.kind == "save":
        return "saved for backward"
    return "kept on `ctx`"


def becomes(hop: Hop) -> str:
    """What a step makes of the tensor: "is a copy when …"."""
    if hop.relation is Relation.VIEW:
        return f"is a view {hop.why}".rstrip()
    if hop.relation is Relation.MAY_COPY:
        return f"is a copy {hop.why}".rstrip()
    if hop.relation is Relation.DETACHED:
        return "is detached"
    return "is a new tensor"


def dropped_gradient(fn: Function, lost: LostFlag) -> Return | None:
    """The return at which the gradient is None because of a flag like this one, as far as that is known."""
    index = lost.worst.origin.index
    for back in fn.of(Return, "backward"):
        parts = fn.gradients(back)
        if parts is None or not 0 <= index < len(parts):
            continue
        value = parts[index]
        depends = any(a.kind in ("needs", "lost") and a.key == index for a in (back.place.path & value.none).atoms)
        asked = fn.asked.get(value.gate, frozenset()) if value.gate is not None else frozenset()
        if depends and any(read.node in asked and _losing(fn, read) for read in fn.of(FlagRead)) and _decides(fn, lost, asked):
            return back
    return None


def _decides(fn: Function, lost: LostFlag, asked: frozenset[cst.CSTNode]) -> bool:
    """Is it this read that is asked there, or one of the same method like it?"""
    return lost.read.node in asked or lost.read.place.method == "backward"


def lost_flag_steps(fn: Function, lost: LostFlag) -> tuple[Step, ...]:
    """From the parameter to the read and the gradient that is dropped."""
    steps = way(lost.worst)
    steps.append(Step(lost.read.node, f"`{code(lost.read.node)}` is read"))
    back = dropped_gradient(fn, lost)
    if back is not None:
        steps.append(Step(back.slot(lost.worst.origin.index), f"None is returned for {argument(lost.worst)}"))
    return tuple(steps)


def consequence(fn: Function, lost: LostFlag) -> str:
    """What a False flag leads to."""
    if dropped_gradient(fn, lost) is not None:
        return f"`backward` returns None for {argument(lost.worst)}"
    name = lost.worst.origin.name
    return f"what depends on it goes the wrong way although `{name}` may need a gradient"


def needs(index: int) -> Condition:
    """`ctx.needs_input_grad[index]`"""
    return atom("needs", index)


def is_none(index: int) -> Condition:
    """Argument `index` is None."""
    return atom("none", index)
