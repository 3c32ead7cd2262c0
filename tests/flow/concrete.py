"""What really happens: run a method on tensors that know where they come from.

A `Tensor` here has no numbers in it. It knows the arguments it derives from and how far it is from each of them, by the same
measure as `autograd_lint.flow.values.Relation`, but without its doubt: where an operation returns its operand, a view or a copy
depending on the layout, a random choice decides.
"""

from __future__ import annotations

import ast
import contextlib
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from autograd_lint.flow.values import Relation

IS, VIEW, MAY_COPY, DETACHED, COPY = Relation
Origin = tuple[str, int]
What = Literal["return", "flag", "store"]
Place = tuple[int, int]  # Line and column, both from 1.


class World:
    """One run: which arguments need a gradient, and how every coin falls."""

    def __init__(self, needs: tuple[bool, ...], seed: int) -> None:
        self.needs = needs
        self.random = random.Random(seed)
        self.seen: list[Seen] = []
        self.read: set[tuple[int, str]] = set()
        self.fuel = 300

    def tensor(self, links: dict[Origin, Relation]) -> Tensor:
        return Tensor(self, links)


@dataclass(eq=False)
class Tensor:
    world: World
    links: dict[Origin, Relation] = field(default_factory=dict)

    def _at(self, *outcomes: Relation, others: tuple[object, ...] = ()) -> Tensor:
        """What an operation with these outcomes returns."""
        outcome = self.world.random.choice(outcomes)
        if outcome is IS:
            return self
        links: dict[Origin, Relation] = {}
        for operand in (self, *others):
            if isinstance(operand, Tensor):
                for origin, relation in operand.links.items():
                    links[origin] = min(links.get(origin, COPY), max(relation, outcome))
        return Tensor(self.world, links)

    @property
    def requires_grad(self) -> bool:
        """As if no derivation lost the flag, which is how conditions have it; that it may be lost is a matter of relations."""
        return any(self.world.needs[index] for kind, index in self.links if kind == "input")

    def requires_grad_(self, flag: bool = True) -> Tensor:
        return self

    @property
    def shape(self) -> tuple[int, int]:
        return (2, 3)

    def view(self, *shape: object) -> Tensor:
        return self._at(VIEW)

    def t(self) -> Tensor:
        return self._at(VIEW)

    def conj(self) -> Tensor:
        return self._at(IS, VIEW)

    def contiguous(self) -> Tensor:
        return self._at(IS, COPY)

    def flatten(self, start: int = 0, end: int = -1) -> Tensor:
        return self._at(IS, VIEW, COPY)

    def float(self) -> Tensor:
        return self._at(IS, COPY)

    def detach(self) -> Tensor:
        return self._at(DETACHED)

    def clone(self) -> Tensor:
        return self._at(COPY)

    def add_(self, other: object) -> Tensor:
        return self

    def chunk(self, count: int) -> tuple[Tensor, ...]:
        return tuple(self._at(VIEW) for _ in range(count))

    def __add__(self, other: object) -> Tensor:
        if not isinstance(other, (Tensor, int)):
            raise TypeError("no tensor")
        return self._at(COPY, others=(other,))

    __mul__ = __add__

    def __iadd__(self, other: object) -> Tensor:
        _ = self + other
        return self

    def __neg__(self) -> Tensor:
        return self._at(COPY)

    def __pos__(self) -> Tensor:
        return self

    def __getitem__(self, at: object) -> Tensor:
        return self._at(VIEW)


class Torch:
    """The module, as far as the generated programs use it."""

    def __init__(self, world: World) -> None:
        self._world = world

    def cat(self, tensors: list[Tensor]) -> Tensor:
        return tensors[0]._at(COPY, others=tuple(tensors[1:]))

    def zeros_like(self, tensor: object) -> Tensor:
        return Tensor(self._world)

    def flatten(self, tensor: object, start: int = 0, end: int = -1) -> Tensor:
        """Also of None, so that a program can be written that never fails for another reason than the one in question."""
        return tensor.flatten(start, end) if isinstance(tensor, Tensor) else Tensor(self._world)

    @staticmethod
    @contextlib.contextmanager
    def no_grad() -> Iterator[None]:
        yield


class Context:
    """`ctx`; an attribute that was never set raises AttributeError, as it should."""

    needs_input_grad: tuple[bool, ...]
    saved_tensors: tuple[object, ...] = ()

    def save_for_backward(self, *tensors: object) -> None:
        self.saved_tensors = tensors


@dataclass(frozen=True)
class Seen:
    """A value at a place of the source that something was recorded about."""

    what: What
    place: Place
    value: object


@dataclass(frozen=True)
class Missing:
    """A name that was read before it was bound."""

    line: int
    name: str


class Program:
    """A file with one autograd Function `F`, ready to be run many times."""

    def __init__(self, source: str) -> None:
        tree = ast.fix_missing_locations(_Instrument().visit(ast.parse(source)))
        self._code = compile(tree, "<program>", "exec")

    def run(self, world: World, arguments: list[object]) -> Missing | None:
        """forward, then backward; what was seen is in `world.seen`."""
        namespace: dict[str, Any] = {"torch": _TorchModule(world), "_see": _see(world), "_read": _read(world)}
        ctx = Context()
        ctx.needs_input_grad = world.needs
        # What the program raises, what it does by mistake, and a list that grows while it is gone through.
        with contextlib.suppress(ValueError, TypeError, IndexError, _EndlessError):
            try:
                exec(self._code, namespace)
                made = namespace["F"]
                made.forward(ctx, *arguments)
                made.backward(ctx, world.tensor({("grad", 0): IS}))
            except (NameError, AttributeError) as error:
                return _missing(error)
        return None


def _see(world: World) -> Callable[[What, int, int, Any], Any]:
    def see(what: What, line: int, column: int, value: Any) -> Any:
        world.seen.append(Seen(what, (line, column), list(value) if isinstance(value, list) else value))
        return value

    return see


def _read(world: World) -> Callable[[int, str, Any], Any]:
    def read(line: int, name: str, value: Any) -> Any:
        world.read.add((line, name))
        world.fuel -= 1
        if world.fuel < 0:
            raise _EndlessError
        return value

    return read


class _EndlessError(Exception):
    pass


class _Base:
    pass


class _TorchModule(Torch):
    class autograd:  # noqa: N801
        Function = _Base


class _Instrument(ast.NodeTransformer):
    """`return e` of a method, `e.requires_grad` and `ctx.a = e` report `e` as they are reached."""

    _inside: tuple[str, ...] = ()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self._inside = (*self._inside, node.name)
        self.generic_visit(node)
        self._inside = self._inside[:-1]
        return node

    def _seen(self, what: str, node: ast.stmt | ast.expr, value: ast.expr) -> ast.expr:
        place = [ast.Constant(part) for part in (what, node.lineno, node.col_offset + 1)]
        return ast.copy_location(ast.Call(ast.Name("_see", ast.Load()), [*place, value], []), value)

    def visit_Import(self, node: ast.Import) -> None:
        """`torch` is ours."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if not isinstance(node.ctx, ast.Load):
            return node
        place = ast.Constant(node.lineno), ast.Constant(node.id)
        return ast.copy_location(ast.Call(ast.Name("_read", ast.Load()), [*place, node], []), node)

    def visit_Return(self, node: ast.Return) -> ast.AST:
        self.generic_visit(node)
        if self._inside not in (("forward",), ("backward",)):
            return node
        node.value = self._seen("return", node, node.value or ast.copy_location(ast.Constant(None), node))
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if node.attr == "requires_grad" and isinstance(node.ctx, ast.Load):
            node.value = self._seen("flag", node, node.value)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        target = node.targets[0]
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "ctx":
            node.value = self._seen("store", node, node.value)
        return node


_UNBOUND = re.compile(r"(?:local variable|free variable|^name) '(\w+)'|'Context' object has no attribute '(\w+)'")


def _missing(error: Exception) -> Missing | None:
    found = _UNBOUND.search(str(error))
    if found is None:
        return None
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    assert trace is not None
    return Missing(trace.tb_lineno, found[1] or found[2])
