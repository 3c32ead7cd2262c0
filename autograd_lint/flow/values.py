"""Abstract values: which argument, gradient or fresh tensor a Python value may be, and how it is related to it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Literal

from autograd_lint.flow.conditions import FALSE, TRUE, UNKNOWN, Condition

if TYPE_CHECKING:
    import libcst as cst

MAX_SHAPES = 4
MAX_ALIASES = 64


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


HopKind = Literal["parameter", "decorator", "derive", "item", "argument", "save", "store", "own"]


@dataclass(frozen=True, slots=True)
class Hop:
    """One station on the way of a value, newest first. `relation`: what this step alone makes of it; `why` says when."""

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
    """One tensor a value may be: `origin` under `relation`, made at `site`.

    `own`: its `requires_grad` was set by hand or by enable_grad, and so is not what the relation says.
    """

    origin: Origin
    relation: Relation = Relation.IS
    site: int = 0
    own: bool = False
    trail: Hop | None = field(default=None, compare=False, hash=False)

    def at(self, kind: HopKind, node: cst.CSTNode) -> Alias:
        """The same tensor, one station further."""
        return Alias(self.origin, self.relation, self.site, self.own, Hop(node, kind, before=self.trail))


@dataclass(frozen=True, slots=True)
class Value:
    """What is known of a value.

    `same`: the tensors it may be. `deps`: all it may be computed from. `shapes`: its elements, if it is a tuple or list, per
    known length. `elem`: any element of a container of unknown length. `none`, `unbound`, `truth`: when it is None, not bound,
    true. `const`: a literal. `ref`: a function, module or class that the interpreter knows. `gate`: the test that made it depend
    on whether a gradient is needed.
    """

    same: frozenset[Alias] = frozenset()
    deps: frozenset[Origin] = frozenset()
    shapes: tuple[tuple[Value, ...], ...] = ()
    elem: Value | None = None
    none: Condition = FALSE
    unbound: Condition = FALSE
    truth: Condition = UNKNOWN
    const: Hashable = None
    ref: Hashable = None
    gate: cst.BaseExpression | None = field(default=None, compare=False, hash=False)

    @property
    def parts(self) -> tuple[Value, ...] | None:
        """The elements, where their number is known."""
        return self.shapes[0] if len(self.shapes) == 1 else None

    def __or__(self, other: Value) -> Value:
        """Either of the two, with nothing known of which."""
        return self if self is other else merge(self, UNKNOWN, other, UNKNOWN, UNKNOWN)

    def inputs(self, *, at_least: Relation = Relation.IS) -> list[Alias]:
        return sorted(
            (a for a in self.same if a.origin.kind == "input" and a.relation >= at_least),
            key=lambda a: (a.origin.index, a.relation, a.site),
        )


NOTHING = Value()
NONE = Value(none=TRUE, truth=FALSE)
UNBOUND = Value(unbound=TRUE)


def merge(a: Value, when_a: Condition, b: Value, when_b: Condition, care: Condition) -> Value:
    """`a` where `when_a` holds, `b` where `when_b` does; `care` is where either does."""
    if a is b or a == b:
        return a
    return Value(
        _union(a.same, b.same),
        a.deps if a.deps is b.deps else a.deps | b.deps,
        _shapes(a, b),
        _elem(a, b),
        _choose(a.none, when_a, b.none, when_b, care),
        _choose(a.unbound, when_a, b.unbound, when_b, care),
        _truth(a, when_a, b, when_b, care),
        a.const if a.const == b.const and type(a.const) is type(b.const) else None,
        a.ref if a.ref == b.ref else None,
        a.gate if a.gate is not None else b.gate,
    )


def gated(value: Value, arms: tuple[Value, ...], gate: cst.BaseExpression) -> Value:
    """Note the test at whose arms' end `value` was joined, if it now depends on it."""
    if not value.none.atoms and not value.unbound.atoms and not value.shapes:
        return value
    if any(value == arm for arm in arms):
        return value
    shapes = value.shapes
    if len(shapes) == 1 and all(len(arm.shapes) == 1 and len(arm.shapes[0]) == len(shapes[0]) for arm in arms):
        shapes = (tuple(gated(p, tuple(a.shapes[0][i] for a in arms), gate) for i, p in enumerate(shapes[0])),)
    depends = any(a.kind == "needs" for a in (*value.none.atoms, *value.unbound.atoms))
    return replace(value, shapes=shapes, gate=gate if depends else value.gate)


def _union(a: frozenset[Alias], b: frozenset[Alias]) -> frozenset[Alias]:
    if a is b or b <= a:
        return a
    out = a | b
    return out if len(out) <= MAX_ALIASES else a


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


def _shapes(a: Value, b: Value) -> tuple[tuple[Value, ...], ...]:
    if a.shapes == b.shapes or _bare(b):
        return a.shapes
    if _bare(a):
        return b.shapes
    if not a.shapes or not b.shapes:
        return ()
    by_length = {len(s): s for s in a.shapes}
    for s in b.shapes:
        have = by_length.get(len(s))
        by_length[len(s)] = s if have is None else tuple(x | y for x, y in zip(have, s, strict=True))
    return tuple(by_length[n] for n in sorted(by_length)) if len(by_length) <= MAX_SHAPES else ()


def _elem(a: Value, b: Value) -> Value | None:
    if a.shapes and b.shapes and len({*map(len, a.shapes), *map(len, b.shapes)}) <= MAX_SHAPES:
        return None
    x, y = element(a), element(b)
    if x is None or y is None:
        return (x or y) if _bare(a) or _bare(b) else None
    return x | y


def element(v: Value) -> Value | None:
    """Any one element of a container, None where nothing is known of them."""
    if v.elem is not None:
        return v.elem
    if v.shapes:
        return join(p for s in v.shapes for p in s)
    return None


def join(values: Iterable[Value]) -> Value:
    out: Value | None = None
    for v in values:
        out = v if out is None else out | v
    return NOTHING if out is None else out


def sequence(parts: Iterable[Value]) -> Value:
    """A tuple or list of exactly these."""
    ps = tuple(parts)
    deps: frozenset[Origin] = frozenset().union(*(p.deps for p in ps)) if ps else frozenset()
    return Value(deps=deps, shapes=(ps,), truth=TRUE if ps else FALSE)


def bag(elem: Value) -> Value:
    """A container of unknown length."""
    return Value(deps=elem.deps, elem=elem)


def source(
    kind: Literal["input", "grad", "fresh"], index: int, name: str = "", *, trail: Hop | None = None, none: Condition = FALSE
) -> Value:
    o = Origin(kind, index, name)
    return Value(frozenset({Alias(o, trail=trail)}), frozenset({o}), none=none)


def boolean(truth: Condition, deps: frozenset[Origin] = frozenset()) -> Value:
    return Value(deps=deps, truth=truth)
