"""Functions being run, and the few things that only the interpreter knows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from autograd_lint.flow.values import Value

if TYPE_CHECKING:
    import libcst as cst

    from autograd_lint.flow.env import Env
    from autograd_lint.flow.events import MethodName
    from autograd_lint.outline import Scope
    from autograd_lint.source import Segment


@dataclass(frozen=True, slots=True)
class Marker:
    """The context object, its `needs_input_grad`, or any integer."""

    name: str


CTX = Value(ref=Marker("ctx"))
NEEDS = Marker("needs_input_grad")
INT = Marker("int")


@dataclass(frozen=True, slots=True)
class Closure:
    """A nested function or lambda, with the state it was defined in."""

    node: cst.FunctionDef | cst.Lambda
    frame: Frame = field(compare=False)
    env: Env = field(compare=False)

    def __hash__(self) -> int:
        return id(self.node)


@dataclass(slots=True, eq=False)
class Frame:
    """One function being run.

    `outer`: the states of the functions around it. `calls`: the calls that led here, `key`: the same as one number, `stack`: the
    functions they are in. `exits`, `breaks`, `continues`, `raises`: the states it was left in. `idle`: above 0 where what is read
    decides nothing, in assertions and exceptions. `guarded`: the exceptions that are caught around here.
    """

    node: cst.CSTNode
    scope: Scope
    segment: Segment
    method: MethodName
    outer: tuple[Env, ...] = ()
    calls: tuple[cst.Call, ...] = ()
    stack: tuple[int, ...] = ()
    key: int = 0
    exits: list[Env] = field(default_factory=list)
    breaks: list[list[Env]] = field(default_factory=list)
    continues: list[list[Env]] = field(default_factory=list)
    raises: list[list[Env]] = field(default_factory=list)
    idle: int = 0
    guarded: list[frozenset[str]] = field(default_factory=list)

    def jumps(self) -> int:
        """How often it was left or a loop of it was, so far."""
        return len(self.exits) + sum(map(len, self.breaks)) + sum(map(len, self.continues))
