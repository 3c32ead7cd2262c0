"""One autograd Function as a rule sees it: its arguments, what happened in its methods, what backward gives back.

The interpreter records *events* while it follows the tensors; rules filter them, and walk no syntax trees for assignments.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from autograd_lint.flow.conditions import FALSE, TRUE, UNKNOWN, Atom, Condition
from autograd_lint.flow.events import Event, MethodName, Return
from autograd_lint.flow.values import Alias, Origin, Relation, Value

if TYPE_CHECKING:
    import libcst as cst

    from autograd_lint.outline import Definition
    from autograd_lint.source import Segment

Node: TypeAlias = "cst.CSTNode"


def code(node: cst.CSTNode) -> str:
    """The source of a node, on one line."""
    import libcst as cst

    return " ".join(cst.Module([]).code_for_node(node).split())


@dataclass(frozen=True, slots=True)
class Param:
    """One argument of `apply`: `index` is its place in `ctx.needs_input_grad` and among backward's results."""

    name: str
    index: int
    node: cst.Param
    optional: bool
    star: bool


E = TypeVar("E", bound=Event)


@dataclass(slots=True, eq=False)
class Method:
    """One method of a Function. `ctx`: the name of its context parameter, "" where it has none."""

    name: MethodName
    node: cst.FunctionDef
    definition: Definition
    ctx: str


@dataclass(slots=True, eq=False)
class Function:
    """A `torch.autograd.Function` subclass with forward, setup_context and backward followed through.

    `symbol` is its dotted name in the module. `params` are the arguments of `apply` in order; a `*args` parameter stands last
    with `star` set. `tensors`: the arguments that are surely tensors. `segments`: the parts of the file that were read. `used`:
    the reads of flags that something depends on, and at what depth of calls. `asked`: the flags that a test asks.
    `differentiated`: what is computed with under enable_grad. `texts`: the tests that conditions speak of.
    """

    name: str
    symbol: str
    line: int
    params: list[Param] = field(default_factory=list)
    methods: dict[MethodName, Method] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    tensors: set[int] = field(default_factory=set)
    segments: list[Segment] = field(default_factory=list)
    used: dict[Node, set[int]] = field(default_factory=dict)
    asked: dict[Node, frozenset[Node]] = field(default_factory=dict)
    differentiated: set[Origin] = field(default_factory=set)
    texts: dict[Atom, str | cst.CSTNode] = field(default_factory=dict)

    def of(self, kind: type[E], *methods: MethodName) -> Iterator[E]:
        """The events of one kind, in the order in which they happen, of these methods or of all."""
        for event in self.events:
            if isinstance(event, kind) and (not methods or event.place.method in methods):
                yield event

    @property
    def open_ended(self) -> bool:
        """Takes `*args`, so that the number of arguments is not known."""
        return any(p.star for p in self.params)

    def param(self, index: int) -> Param | None:
        """The parameter that argument `index` of `apply` arrives in."""
        for p in self.params:
            if p.index == index or (p.star and index >= p.index):
                return p
        return None

    @property
    def context(self) -> str:
        """What backward calls its context."""
        backward = self.methods.get("backward")
        return backward.ctx if backward is not None and backward.ctx else "ctx"

    def gradients(self, back: Return) -> tuple[Value, ...] | None:
        """What a return of backward gives, one value per argument; None where their number is not known."""
        if back.value.parts is not None:
            return back.value.parts
        alone = len(self.params) == 1 and not self.open_ended and not back.value.shapes and back.value.elem is None
        return (back.value,) if alone else None

    def gradient_given(self, index: int) -> Condition:
        """When backward returns a gradient for argument `index`; UNKNOWN where that cannot be told."""
        return self._gradient(index, given=True)

    def gradient_missing(self, index: int) -> Condition:
        """When backward returns None for argument `index`; UNKNOWN where that cannot be told."""
        return self._gradient(index, given=False)

    def _gradient(self, index: int, *, given: bool) -> Condition:
        when = FALSE
        for back in self.of(Return, "backward"):
            parts = self.gradients(back)
            if parts is None:
                return UNKNOWN
            none = parts[index].none if index < len(parts) else TRUE
            when = when | (back.place.path & (~none if given else none))
        return when

    def say(self, condition: Condition) -> str:
        """A condition in the words of the source: `needs_input_grad[0] and bias is not None`."""
        if not condition.known:
            return "unknown"
        if not condition.atoms:
            return "always" if condition.possible else "never"
        return " or ".join(" and ".join(self._say_atom(a, value) for a, value in term) for term in condition.terms())

    def _say_atom(self, atom: Atom, value: bool) -> str:
        if atom.kind == "needs":
            return f"{'' if value else 'not '}needs_input_grad[{atom.key}]"
        text = self.texts.get(atom, "?")
        text = text if isinstance(text, str) else code(text)
        if atom.kind in ("none", "missing"):
            return f"{text} is None" if value else f"{text} is not None"
        if value:
            return text
        return f"not {text}" if text.replace(".", "").isidentifier() else f"not ({text})"

    def is_tensor(self, alias: Alias) -> bool:
        """Is it known to be a tensor? An element of an argument may just as well be an element of a list."""
        if alias.relation == Relation.IS or alias.trail is None:
            return True
        for hop in alias.trail:
            if hop.kind == "item" and (hop.before is None or hop.before.kind != "derive"):
                return alias.origin.index in self.tensors
        return True
