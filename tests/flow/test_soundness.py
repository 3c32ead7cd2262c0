"""What the interpreter says of a program against what the program does.

Thousands of small autograd Functions are followed, and run on tensors that know where they come from. Whatever is seen in a run must
be among what the interpreter holds possible there: which argument a tensor derives from and how far it is from it, whether it is
None, whether a name is bound. Where nothing is lost on the way (no loops, no tests but of flags and of None) the reverse must hold
as well, and is asked of the rule that depends on it.

`AUTOGRAD_LINT_PROGRAMS=100000 pytest tests/flow/test_soundness.py` looks longer.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable, Iterable, Iterator

import pytest
from flow import programs
from flow.concrete import COPY, IS, MAY_COPY, VIEW, Missing, Origin, Place, Program, Seen, Tensor, World

from autograd_lint import engine, registry
from autograd_lint.flow.conditions import Condition
from autograd_lint.flow.values import Relation, Value, element
from autograd_lint.model import FlagRead, Function, Return, Store, Use
from autograd_lint.settings import Settings

PROGRAMS = int(os.environ.get("AUTOGRAD_LINT_PROGRAMS", "3000"))
SETTINGS = Settings()
NAMES = ("x", "y", "z", "n")

# What may really be seen of a tensor that is said to be so far from an argument.
ALLOWED = {
    IS: {IS},
    VIEW: {IS, VIEW},
    MAY_COPY: {IS, VIEW, COPY},
    Relation.DETACHED: {Relation.DETACHED, COPY},
    COPY: {COPY},
}


def follow(source: str) -> Function:
    (function,) = engine.functions(source.encode(), SETTINGS)
    return function


class Recorded:
    """The events of a Function by their place in the file."""

    def __init__(self, function: Function) -> None:
        self.values: dict[tuple[str, Place], list[tuple[Value, Condition]]] = {}
        self.uses: dict[tuple[int, str], list[Condition]] = {}
        kinds = {FlagRead: "flag", Return: "return", Store: "store"}
        for event in function.events:
            start = next(r for s in function.segments if (r := s.range(event.node)) is not None).start
            if isinstance(event, Use):
                missing = event.place.path & event.value.unbound
                self.uses.setdefault((start.line, event.name), []).append(missing)
            elif isinstance(event, (FlagRead, Return, Store)):
                value = event.tensor if isinstance(event, FlagRead) else event.value
                place = start.line, start.column
                self.values.setdefault((kinds[type(event)], place), []).append((value, event.place.path))


def holds(condition: Condition, needs: tuple[bool, ...], arguments: list[object]) -> bool:
    """Can it hold in a run with these arguments? What else it depends on is left open."""
    for atom in condition.atoms:
        if atom.kind == "needs":
            condition = condition.assume(atom, needs[atom.key])
        elif atom.kind == "none" and atom.key < len(arguments):
            condition = condition.assume(atom, arguments[atom.key] is None)
    return condition.possible


def covers(value: Value, seen: object, possible: Callable[[Condition], bool], path: Condition) -> bool:
    """Is what was seen among what the value stands for?"""
    if not possible(path & value.none if seen is None else path & ~value.none):
        return False
    if isinstance(seen, Tensor):
        return all(
            any(_is(a.origin.kind, a.origin.index, a.relation, o, r) for a in value.same)
            for o, r in seen.links.items()
            if _told(value)
        )
    if isinstance(seen, (tuple, list)):
        for shape in value.shapes:
            if len(shape) == len(seen):
                return all(covers(part, one, possible, path) for part, one in zip(shape, seen, strict=True))
        item = element(value)
        return not value.shapes and (item is None or all(covers(item, one, possible, path) for one in seen))
    return True


def _told(value: Value) -> bool:
    """Is anything claimed of it at all?"""
    return True


def _is(kind: str, index: int, relation: Relation, origin: Origin, seen: Relation) -> bool:
    return (kind, index) == origin and seen in ALLOWED[relation]


def arguments(world: World, optional: bool, n: int) -> list[object]:
    """`x`, `y`, `z` and `n`."""
    tensors: list[object] = [world.tensor({("input", i): IS}) for i in range(3)]
    return [*tensors[:2], tensors[2] if optional else None, n]


def runs(seed: int, count: int) -> Iterator[tuple[World, list[object]]]:
    rng = random.Random(seed)
    for _ in range(count):
        optional = rng.random() < 0.5
        world = World((rng.random() < 0.5, rng.random() < 0.5, optional and rng.random() < 0.5, False), rng.random().__hash__())
        yield world, arguments(world, optional, rng.randrange(4))


def gaps(source: str, seed: int, count: int = 4) -> str:
    """What a run showed that the interpreter had not held possible; nothing where all is well."""
    recorded, program = Recorded(follow(source)), Program(source)
    absent: dict[tuple[int, str], str] = {}
    read: set[tuple[int, str]] = set()
    for world, given in runs(seed, count):
        missing = program.run(world, given)

        def possible(condition: Condition, world: World = world, given: list[object] = given) -> bool:
            return holds(condition, world.needs, given)

        where = f"with needs_input_grad={world.needs}, z {'is None' if given[2] is None else 'given'}, n={given[3]}"
        for seen in world.seen:
            found = recorded.values.get((seen.what, seen.place), [])
            if not any(possible(path) and covers(value, seen.value, possible, path) for value, path in found):
                if seen.what == "flag" and not (
                    isinstance(seen.value, Tensor) and any(k == "input" for k, _ in seen.value.links)
                ):
                    continue  # the flag of what is no argument's is not recorded
                return f"{seen.what} at {seen.place} of {_say(seen.value)} {where}; recorded: {found}"
        if missing is not None:
            uses = recorded.uses.get((missing.line, missing.name), [])
            if not any(map(possible, uses)):
                absent[missing.line, missing.name] = f"{missing} {where}; recorded: {uses}"
        read |= world.read
    # A name that is never bound there is for other linters.
    return next((absent[name] for name in absent if name in read), "")


def _say(value: object) -> object:
    if isinstance(value, (list, tuple)):
        return [*map(_say, value)]
    return value.links if isinstance(value, Tensor) else value
