"""What the interpreter records while it follows the tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import libcst as cst

    from autograd_lint.flow.conditions import Condition
    from autograd_lint.flow.values import Value

MethodName = Literal["forward", "setup_context", "backward"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where an event happened: the method, the calls that led into a helper, and what was known there."""

    method: MethodName
    path: Condition
    calls: tuple[cst.Call, ...] = ()
    grad_enabled: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """Something happened at a node."""

    node: cst.CSTNode
    place: Place


@dataclass(frozen=True, slots=True, eq=False)
class FlagRead(Event):
    """`tensor.requires_grad` is read."""

    tensor: Value


@dataclass(frozen=True, slots=True, eq=False)
class FlagWrite(Event):
    """`tensor.requires_grad_(flag)` or `tensor.requires_grad = flag`."""

    tensor: Value
    flag: Value


@dataclass(frozen=True, slots=True, eq=False)
class GradModeRead(Event):
    """`torch.is_grad_enabled()` is called."""


@dataclass(frozen=True, slots=True, eq=False)
class NeedsRead(Event):
    """`ctx.needs_input_grad[index]` is read. A negative index is counted from the front, one out of range is as written."""

    index: int


@dataclass(frozen=True, slots=True, eq=False)
class NeedsName(Event):
    """A name is bound to `ctx.needs_input_grad[index]`; `statement` binds it."""

    name: str
    index: int
    statement: cst.CSTNode


@dataclass(frozen=True, slots=True, eq=False)
class Creation(Event):
    """A tensor is created with `requires_grad=flag`; `value` is the tensor."""

    flag: Value
    value: Value


@dataclass(frozen=True, slots=True, eq=False)
class Use(Event):
    """A name or ctx attribute is read that may not be bound there; `value.unbound` says when."""

    name: str
    value: Value


@dataclass(frozen=True, slots=True, eq=False)
class Save(Event):
    """`ctx.save_for_backward(...)`; `values` is None where a star hides their number."""

    values: tuple[Value, ...] | None


@dataclass(frozen=True, slots=True, eq=False)
class Store(Event):
    """`ctx.name = value`."""

    name: str
    value: Value


@dataclass(frozen=True, slots=True, eq=False)
class Return(Event):
    """A return of the method itself (not of a helper). `slots`: the nodes of a literal tuple's elements."""

    value: Value
    slots: tuple[cst.BaseExpression, ...]

    def slot(self, index: int) -> cst.CSTNode:
        """Where the value for one argument stands."""
        return self.slots[index] if index < len(self.slots) else self.node
