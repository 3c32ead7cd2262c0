"""The state of a program point: what each name holds, and what must be true to be there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from autograd_lint.flow.conditions import FALSE, TRUE, UNKNOWN, Condition
from autograd_lint.flow.values import UNBOUND, Alias, Value, gated, merge

if TYPE_CHECKING:
    import libcst as cst

# Kept among the variables, under names that Python cannot have, so that branches join them like any other.
RETURN = "<return>"
SAVED = ".saved_tensors"

# The atoms worth remembering in a path when it has too many.
LASTING = ("needs", "lost", "none", "flag")

# Those that ask whether a gradient is needed.
ASKING = ("needs", "lost", "flag")


def slot(attribute: str) -> str:
    """The variable for an attribute of ctx."""
    return f".{attribute}"


@dataclass(slots=True)
class Env:
    """`grad`: is grad mode on? forward and backward run without. `owned`: the tensors whose `requires_grad` was set."""

    vars: dict[str, Value]
    path: Condition = TRUE
    grad: bool = False
    owned: frozenset[Alias] = frozenset()

    def copy(self) -> Env:
        return Env(dict(self.vars), self.path, self.grad, self.owned)

    def where(self, test: Condition) -> Env | None:
        """The state on the arm of a branch where `test` holds; None if that cannot be."""
        if test is FALSE:
            return None
        out = self.copy()
        out.path = narrowed(self.path, test)
        return None if out.path is FALSE else out

    @property
    def dead(self) -> bool:
        return self.path is FALSE

    def ctx(self) -> dict[str, Value]:
        """What ctx holds."""
        return {name: value for name, value in self.vars.items() if name[0] == "."}

    def own_flag(self, targets: frozenset[Alias]) -> None:
        """`requires_grad` of these tensors was set: whatever name holds one of them sees it."""
        if targets:
            self.owned |= targets
            self.vars = {name: _own(value, targets) for name, value in self.vars.items()}

    def changed(self, old: Value, new: Value) -> None:
        """A list was changed in place: whatever name holds it sees it."""
        for name, value in self.vars.items():
            if value is old:
                self.vars[name] = new


def narrowed(path: Condition, test: Condition) -> Condition:
    """`path and test`; where that is too much to keep, something weaker."""
    if test is UNKNOWN:
        return path
    both = path & test
    if both is UNKNOWN and path is not UNKNOWN:
        lasting = path.forget(LASTING)
        both = lasting & test
        if both is UNKNOWN:
            both = lasting
    return both


def join_envs(a: Env | None, b: Env | None) -> Env | None:
    """Either of two states; None is one that cannot be."""
    if a is None or b is None:
        return b if a is None else a
    when_a, when_b, care = a.path, b.path, a.path | b.path
    if (when_a & when_b).possible:  # what is true does not tell which
        when_a = when_b = UNKNOWN
    out: dict[str, Value] = {}
    for name in {**a.vars, **b.vars}:
        x, y = a.vars.get(name, UNBOUND), b.vars.get(name, UNBOUND)
        out[name] = x if x is y else merge(x, when_a, y, when_b, care)
    path = care if care is not UNKNOWN else a.path.forget(LASTING) | b.path.forget(LASTING)
    return Env(out, path, a.grad or b.grad, a.owned | b.owned)


def join_arms(question: cst.BaseExpression, test: Condition, then: Env | None, other: Env | None) -> Env | None:
    """Either arm of a branch. Values that now depend on which, and so on what gradient is needed, remember the question."""
    out = join_envs(then, other)
    if out is None or then is None or other is None or not any(a.kind in ASKING for a in test.atoms):
        return out
    for name, value in out.vars.items():
        x, y = then.vars.get(name, UNBOUND), other.vars.get(name, UNBOUND)
        if x is not y:
            out.vars[name] = gated(value, (x, y), question)
    return out


def _own(value: Value, targets: frozenset[Alias]) -> Value:
    same, shapes, head, elem = value.same, value.shapes, value.head, value.elem
    if not same.isdisjoint(targets):
        same = frozenset(replace(a, own=True) if a in targets else a for a in value.aliases())
    if shapes:
        shapes = tuple(tuple(_own(p, targets) for p in s) for s in shapes)
    if elem is not None:
        head, elem = tuple(_own(p, targets) for p in head), _own(elem, targets)
    if same is value.same and shapes == value.shapes and elem == value.elem and head == value.head:
        return value
    return replace(value, same=same, shapes=shapes, head=head, elem=elem)
