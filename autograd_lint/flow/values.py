"""Abstract values: which argument, gradient or fresh tensor a Python value may be, and how it is related to it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Literal

from autograd_lint.flow.conditions import FALSE, TRUE, UNKNOWN, Condition

if TYPE_CHECKING:
    import libcst as cst

# Past these, less is known of a value: lengths that a container may have, tensors that a name may be, values inside one value.
MAX_SHAPES = 4
MAX_ALIASES = 64
MAX_WEIGHT = 500


class Relation(IntEnum):
    """What an operation returns of its operand, from close to far. Doing one after the other gives the farther of both.

    What becomes of `requires_grad` in forward: kept (`IS`), that of the operand's base (`VIEW`), kept or False by layout or dtype
    (`MAY_COPY`), False with shared memory (`DETACHED`), False (`COPY`).
    """

    IS = 0
    VIEW = 1
    MAY_COPY = 2
    DETACHED = 3
    COPY = 4


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a tensor comes from.

    `index`: the position among the arguments or gradients, -1 if unknown; of a fresh one, the site that made it.
    """

    kind: Literal["input", "grad", "fresh"]
    index: int
    name: str = ""


HopKind = Literal["parameter", "decorator", "derive", "item", "save", "store"]


@dataclass(frozen=True, slots=True)
class Hop:
    """One station on the way of a value, newest first. `relation`: what this step alone makes of it; `why` says when.

    `otherwise`: what a step that may copy makes of it if it does not.
    """

    node: cst.CSTNode
    kind: HopKind
    relation: Relation = Relation.IS
    why: str = ""
    otherwise: Relation = Relation.IS
    before: Hop | None = None

    def __iter__(self) -> Iterator[Hop]:
        """From the first station to this one."""
        hops: list[Hop] = []
        hop: Hop | None = self
        while hop is not None:
            hops.append(hop)
            hop = hop.before
        return reversed(hops)


@dataclass(frozen=True, slots=True)
class Alias:
    """One tensor a value may be: `origin` under `relation`, made at `site` where `when` holds.

    `own`: its `requires_grad` can be trusted. It was set by hand or by enable_grad, or nothing needs a gradient there.
    """

    origin: Origin
    relation: Relation = Relation.IS
    site: int = 0
    own: bool = False
    when: Condition = TRUE
    trail: Hop | None = field(default=None, compare=False, hash=False)

    @property
    def order(self) -> tuple[object, ...]:
        """To look at several in the same order in every run."""
        when = tuple((atom.kind, atom.key) for atom in self.when.atoms)
        return (self.origin.kind, self.origin.index, self.relation, self.site, self.own, when, self.when.table)

    def at(self, kind: HopKind, node: cst.CSTNode) -> Alias:
        """The same tensor, one station further."""
        return Alias(self.origin, self.relation, self.site, self.own, self.when, Hop(node, kind, before=self.trail))

    @property
    def loses(self) -> bool:
        """May its flag differ from that of the argument?"""
        return self.origin.kind == "input" and self.relation is not Relation.IS and not self.own


@dataclass(frozen=True, slots=True)
class Value:
    """What is known of a value.

    `same`: the tensors it may be. `deps`: all it may be computed from. `shapes`: its elements, if it is a tuple or list, per
    known length. `head`, `elem`: the first elements, and any further one, of a container of unknown length; `mixed`: which one
    that is makes a difference; `first`: they are the arguments from this one on. `none`, `unbound`, `truth`: when it is None, not
    bound, true.
    `const`: a literal. `ref`: a function, module or class that the interpreter knows. `reads`: the flags that it comes from.
    `gate`: the test that made it depend on whether a gradient is needed. `weight`: how many values are in it.
    """

    same: frozenset[Alias] = frozenset()
    deps: frozenset[Origin] = frozenset()
    shapes: tuple[tuple[Value, ...], ...] = ()
    head: tuple[Value, ...] = ()
    elem: Value | None = None
    mixed: bool = False
    first: int | None = None
    none: Condition = FALSE
    unbound: Condition = FALSE
    truth: Condition = UNKNOWN
    const: Hashable = None
    ref: Hashable = None
    reads: frozenset[cst.CSTNode] = field(default=frozenset(), compare=False, hash=False)
    gate: cst.BaseExpression | None = field(default=None, compare=False, hash=False)
    weight: int = field(default=1, compare=False, hash=False)

    @property
    def parts(self) -> tuple[Value, ...] | None:
        """The elements, where their number is known."""
        return self.shapes[0] if len(self.shapes) == 1 else None

    @property
    def is_container(self) -> bool:
        return bool(self.shapes) or self.elem is not None

    def __or__(self, other: Value) -> Value:
        """Either of the two, with nothing known of which."""
        return self if self is other else merge(self, UNKNOWN, other, UNKNOWN, UNKNOWN)

    def aliases(self) -> list[Alias]:
        """The tensors it may be, in the same order in every run."""
        if len(self.same) < 2:
            return [*self.same]
        return sorted(self.same, key=lambda a: a.order)

    def inputs(self) -> list[Alias]:
        """The arguments it may be or derive from, in order."""
        return [a for a in self.aliases() if a.origin.kind == "input"]


NOTHING = Value()
NONE = Value(none=TRUE, truth=FALSE)
UNBOUND = Value(unbound=TRUE)


def merge(a: Value, when_a: Condition, b: Value, when_b: Condition, care: Condition) -> Value:
    """`a` where `when_a` holds, `b` where `when_b` does; `care` is where either does."""
    if a is b or a == b:
        return a if a.reads >= b.reads else replace(a, reads=a.reads | b.reads)
    shapes = _shapes(a, when_a, b, when_b, care)
    elem = None if shapes else _elem(a, b)
    return Value(
        _union(a.same, b.same),
        a.deps if a.deps is b.deps else a.deps | b.deps,
        shapes,
        () if elem is None else tuple(_either(x, y) for x, y in zip(_start(a), _start(b), strict=False)),
        elem,
        elem is not None and (a.mixed or b.mixed or not _agree((a, b))),
        a.first if a.first == b.first else None,
        _choose(a.none, when_a, b.none, when_b, care),
        _choose(a.unbound, when_a, b.unbound, when_b, care),
        _truth(a, when_a, b, when_b, care),
        a.const if a.const == b.const and type(a.const) is type(b.const) else None,
        _ref(a.ref, b.ref),
        a.reads | b.reads,
        a.gate if a.gate is not None else b.gate,
        1 + (sum(p.weight for s in shapes for p in s) if shapes else elem.weight if elem is not None else 0),
    )


@dataclass(frozen=True, slots=True)
class Table:
    """A dict whose keys are literals. Of what is in it only flags and constants are known."""

    items: tuple[tuple[Hashable, Value], ...]


@dataclass(frozen=True, slots=True)
class GradMode:
    """A context manager that sets grad mode; `on` is None where it may be either."""

    on: bool | None


def _ref(a: Hashable, b: Hashable) -> Hashable:
    if a == b:
        return a
    return GradMode(None) if isinstance(a, GradMode) or isinstance(b, GradMode) else None


def gated(value: Value, arms: tuple[Value, ...], gate: cst.BaseExpression) -> Value:
    """Note the test at whose arms' end `value` was joined, if it now depends on it."""
    if not value.none.atoms and not value.unbound.atoms and not value.shapes:
        return value
    if any(value == arm for arm in arms):
        return value
    shapes = value.shapes
    if len(shapes) == 1 and all(len(arm.shapes) == 1 and len(arm.shapes[0]) == len(shapes[0]) for arm in arms):
        shapes = (tuple(gated(p, tuple(a.shapes[0][i] for a in arms), gate) for i, p in enumerate(shapes[0])),)
    depends = any(a.kind in ("needs", "lost", "flag") for a in (*value.none.atoms, *value.unbound.atoms))
    return replace(value, shapes=shapes, gate=gate if depends else value.gate)


def _union(a: frozenset[Alias], b: frozenset[Alias]) -> frozenset[Alias]:
    if a is b or b <= a:
        return a
    out = a | b
    if len(out) > MAX_ALIASES:
        return a
    if len(out) < len(a) + len(b):  # equal ones may have come by different ways: keep those of `a`
        return a | (b - a)
    return out


def _choose(a: Condition, when_a: Condition, b: Condition, when_b: Condition, care: Condition) -> Condition:
    if a is b or a == b:
        return a
    return ((when_a & a) | (when_b & b)).given(care)


def _truth(a: Value, when_a: Condition, b: Value, when_b: Condition, care: Condition) -> Condition:
    if a.truth is UNKNOWN or b.truth is UNKNOWN:
        return UNKNOWN
    return _choose(a.truth, when_a, b.truth, when_b, care)


def _bare(v: Value) -> bool:
    """Says nothing of elements: None, or no value at all."""
    return v.none is TRUE or v.unbound is TRUE


def _shapes(a: Value, when_a: Condition, b: Value, when_b: Condition, care: Condition) -> tuple[tuple[Value, ...], ...]:
    if a.shapes == b.shapes or _bare(b):
        return a.shapes
    if _bare(a):
        return b.shapes
    if not a.shapes or not b.shapes:
        return ()
    by_length = {len(s): s for s in a.shapes}
    for s in b.shapes:
        have = by_length.get(len(s))
        if have is None:
            by_length[len(s)] = s
        else:
            by_length[len(s)] = tuple(_either(x, y, when_a, when_b, care) for x, y in zip(have, s, strict=True))
    return tuple(by_length[n] for n in sorted(by_length)) if len(by_length) <= MAX_SHAPES else ()


def _either(x: Value, y: Value, when_x: Condition = UNKNOWN, when_y: Condition = UNKNOWN, care: Condition = UNKNOWN) -> Value:
    """What stands in one place of two tuples. If that is different arguments, nothing can be said of either."""
    both = merge(x, when_x, y, when_y, care)
    mine, other = ({a.origin for a in v.inputs()} for v in (x, y))
    return both if mine & other or not mine or not other or _agree((x, y)) else unclaimed(both)


def _elem(a: Value, b: Value) -> Value | None:
    x, y = element(a), element(b)
    if x is None or y is None:
        return (x or y) if any(_bare(v) or v.shapes == ((),) for v in (a, b)) else None
    return x | y


def _start(v: Value) -> tuple[Value, ...]:
    """The elements whose places are known."""
    return v.shapes[0] if len(v.shapes) == 1 else v.head


def _agree(values: Iterable[Value]) -> bool:
    """Do all lose their flag, or none?"""
    return len({frozenset(a.loses for a in v.same if a.origin.kind == "input") for v in values}) <= 1


def unclaimed(v: Value) -> Value:
    """The same with nothing claimed about it."""
    return Value(deps=v.deps, none=UNKNOWN, reads=v.reads)


def element(v: Value) -> Value | None:
    """Any one element of a container that is looked at as a whole, None where nothing is known of them."""
    if v.elem is not None:
        return _all_of((v.elem, *v.head)) if v.head else v.elem
    parts = [p for s in v.shapes for p in s]
    return _all_of(parts) if parts else None


def _all_of(values: Sequence[Value]) -> Value:
    """Any of these, each of which is looked at in its turn."""
    rows = [v.parts for v in values if v.parts is not None]
    if len(rows) == len(values) and len({len(row) for row in rows}) == 1 and rows[0]:
        return sequence(_all_of(column) for column in zip(*rows, strict=True))
    return join(values)


def one_element(v: Value) -> Value | None:
    """A certain element, whose place is not known. Of elements that differ nothing can be said."""
    item = element(v)
    if item is None:
        return None
    mixed = v.mixed or not _agree([*v.head, *(p for s in v.shapes for p in s), *([v.elem] if v.elem is not None else [])])
    return unclaimed(item) if mixed else item


def join(values: Iterable[Value]) -> Value:
    out: Value | None = None
    for v in values:
        out = v if out is None else out | v
    return NOTHING if out is None else out


def sequence(parts: Iterable[Value]) -> Value:
    """A tuple or list of exactly these."""
    ps = tuple(parts)
    weight = 1 + sum(p.weight for p in ps)
    if weight > MAX_WEIGHT:
        return bag(*ps)
    deps: frozenset[Origin] = frozenset().union(*(p.deps for p in ps)) if ps else frozenset()
    return Value(deps=deps, shapes=(ps,), truth=TRUE if ps else FALSE, weight=weight)


def bag(*items: Value, head: tuple[Value, ...] = (), first: int | None = None) -> Value:
    """A container of unknown length that begins with `head` and goes on with such items."""
    elem = join(items)
    deps = elem.deps.union(*(v.deps for v in head))
    weight = 1 + elem.weight + sum(v.weight for v in head)
    if weight > MAX_WEIGHT:
        return Value(deps=deps)
    return Value(deps=deps, head=head, elem=elem, mixed=not _agree(items), first=first, weight=weight)


def pour(*containers: Value, extra: tuple[Value, ...] = (), head: tuple[Value, ...] = ()) -> Value:
    """A container of unknown length that holds what these hold, and more."""
    items = [
        p for v in containers for p in (*(p for s in v.shapes for p in s), *v.head, *((v.elem,) if v.elem is not None else ()))
    ]
    out = bag(*items, *extra, head=head)
    return replace(out, mixed=True) if any(v.mixed for v in containers) else out


def beginning(v: Value) -> tuple[tuple[Value, ...], Value | None]:
    """The elements whose places are known, and the container of those that follow, None if there are none."""
    if len(v.shapes) == 1:
        return v.shapes[0], None
    if v.shapes:
        short = min(len(s) for s in v.shapes)
        head = v.shapes[0][:short]
        for s in v.shapes[1:]:
            head = tuple(_either(x, y) for x, y in zip(head, s, strict=False))
        rest = bag(*(p for s in v.shapes for p in s[short:]))
        return head, replace(rest, mixed=rest.mixed or len(v.shapes[-1]) > short + 1)
    if v.elem is None:
        return (), None
    return v.head, replace(v, head=(), same=frozenset(), none=FALSE, unbound=FALSE)


def source(
    kind: Literal["input", "grad", "fresh"], index: int, name: str = "", *, trail: Hop | None = None, none: Condition = FALSE
) -> Value:
    o = Origin(kind, index, name)
    return Value(frozenset({Alias(o, trail=trail)}), frozenset({o}), none=none)


def boolean(truth: Condition, deps: frozenset[Origin] = frozenset(), reads: frozenset[cst.CSTNode] = frozenset()) -> Value:
    return Value(deps=deps, truth=truth, reads=reads)
