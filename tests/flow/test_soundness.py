"""What the interpreter says of a program against what the program does.

Thousands of small autograd Functions are followed, and run on tensors that know where they come from. Whatever is seen in a run
must be among what the interpreter holds possible there: which argument a tensor derives from and how far it is from it, whether
it is None, whether a name is bound. Where nothing is lost on the way (no loops, no tests but of flags and of None) the reverse
must hold as well, and is asked of the rule that depends on it.

`AUTOGRAD_LINT_PROGRAMS=100000 pytest tests/flow/test_soundness.py` looks longer.
"""

from __future__ import annotations

import gc
import itertools
import os
import random
import zlib
from collections.abc import Callable, Iterable, Iterator

import pytest
from flow import programs
from flow.concrete import COPY, IS, MAY_COPY, VIEW, Missing, Origin, Place, Program, Tensor, World

from autograd_lint import engine, registry
from autograd_lint.flow.conditions import Condition
from autograd_lint.flow.events import FlagRead, Return, Store, Use
from autograd_lint.flow.values import Relation, Value, element
from autograd_lint.model import Function
from autograd_lint.settings import Settings

# Two methods in each, and helpers.
PROGRAMS = int(os.environ.get("AUTOGRAD_LINT_PROGRAMS", "5000"))
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
    (function,) = engine.follow(source.encode(), "f.py", SETTINGS)
    assert isinstance(function, Function)
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
        return all(_told(value, origin, relation) for origin, relation in seen.links.items())
    if isinstance(seen, (tuple, list)):
        for shape in value.shapes:
            if len(shape) == len(seen):
                return all(covers(part, one, possible, path) for part, one in zip(shape, seen, strict=True))
        item = element(value)
        return not value.shapes and (item is None or all(covers(item, one, possible, path) for one in seen))
    return True


def _told(value: Value, origin: Origin, relation: Relation) -> bool:
    """Does the value tell of this origin? One that is not known in full tells what it may be computed from."""
    if any((a.origin.kind, a.origin.index) == origin and relation in ALLOWED[a.relation] for a in value.same):
        return True
    unknown = any(a.origin.kind == "fresh" for a in value.same)
    return unknown and any((d.kind, d.index) == origin for d in value.deps)


def arguments(world: World, given: Iterable[bool], n: int) -> list[object]:
    """`x`, `y`, `z` and `n`; a tensor that is not given is None."""
    return [*(world.tensor({("input", i): IS}) if one else None for i, one in enumerate(given)), n]


def runs(seed: int, count: int) -> Iterator[tuple[World, list[object]]]:
    rng = random.Random(seed)
    for _ in range(count):
        given = True, True, rng.random() < 0.5
        world = World((*(one and rng.random() < 0.5 for one in given), False), rng.randrange(1 << 30))
        yield world, arguments(world, given, rng.randrange(4))


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
                return f"{seen.what} at {seen.place} of {_say(seen.value)} {where}; recorded: {[_words(v) for v, _ in found]}"
        if missing is not None:
            uses = recorded.uses.get((missing.line, missing.name), [])
            in_helper = missing.line < source[: source.index("class F(")].count("\n")  # of which another call may go well
            if not any(map(possible, uses)) and not (in_helper and uses):
                absent[missing.line, missing.name] = f"{missing} {where}; recorded: {uses}"
        read |= world.read
    # A name that is never bound there is for other linters.
    return next((absent[name] for name in absent if name in read), "")


def _words(value: Value) -> str:
    """What a value is said to be, without the trails."""
    parts = [f"({', '.join(map(_words, shape))})" for shape in value.shapes]
    if value.elem is not None:
        parts.append(f"[{_words(value.elem)}, ...]")
    parts += sorted(f"{a.origin.kind} {a.origin.index} {a.relation.name}" for a in value.same)
    if value.none.possible:
        parts.append("None" if value.none.atoms == () else f"None if {value.none.terms() if value.none.known else '?'}")
    return " | ".join(parts)


def _say(value: object) -> object:
    if isinstance(value, (list, tuple)):
        return [*map(_say, value)]
    return value.links if isinstance(value, Tensor) else value


# What programs may be made of, and how many of a hundred are.
LANGUAGES = {
    "straight": (20, programs.PLAIN),
    "tests of all kinds": (10, programs.PLAIN | programs.OPAQUE),
    "containers": (10, programs.PLAIN | programs.CONTAINERS | {"comprehension"}),
    "calls": (10, programs.PLAIN | programs.CALLS),
    "loops": (10, programs.PLAIN | programs.OPAQUE | programs.LOOPS),
    "try": (5, programs.PLAIN | {"try"}),
    "everything": (5, programs.EVERYTHING - {"try", "for", "while"}),
}


@pytest.fixture(autouse=True)
def no_garbage_collection() -> Iterator[None]:
    """It would take half of the time."""
    gc.disable()
    yield
    gc.enable()


def seeds(language: str, share: int) -> Iterator[int]:
    """The same in each run."""
    for number in range(PROGRAMS * share // 100):
        yield zlib.crc32(f"{language} {number}".encode())


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_happens_was_held_possible(language: str) -> None:
    share, features = LANGUAGES[language]
    for seed in seeds(language, share):
        source = programs.program(seed, features)
        if gaps(source, seed):
            small = programs.shrunk(source, lambda text: bool(gaps(text, seed)))  # noqa: B023
            pytest.fail(f"{gaps(small, seed)}\n\n{small}")


# The reverse: what is reported happens, and what happens is reported -------------------------------------------------------


def every_run() -> Iterator[tuple[World, list[object]]]:
    """Each of the tensors is None, frozen or trained."""
    for states in itertools.product(("None", "frozen", "trained"), repeat=3):
        world = World((*(state == "trained" for state in states), False), 0)
        yield world, arguments(world, (state != "None" for state in states), 0)


def raises_and_reports(source: str) -> tuple[set[Missing], set[Missing], set[Missing]]:
    """Where a name is missing in some run; where it is missing because of what needs a gradient; where AGL006 says so."""
    program, function = Program(source), follow(source)
    ran: list[tuple[list[bool], World, Missing | None]] = []
    given: set[int] = set()
    for world, inputs in every_run():
        missing = program.run(world, inputs)
        ran.append(([one is None for one in inputs], world, missing))
        for seen in world.seen:
            if seen.what == "return" and isinstance(seen.value, tuple) and missing is None:
                given.update(i for i, gradient in enumerate(seen.value) if gradient is not None and i < 3)
    anywhere = {missing for _, _, missing in ran if missing is not None}
    reached = {Missing(*name) for _, world, _ in ran for name in world.read}
    by_needs: set[Missing] = set()
    for absent, world, missing in ran:
        # Backward runs only if something needs the gradients that it gives. The same arguments, trained otherwise, go well.
        if missing is not None and any(world.needs[i] for i in given):
            others = [other for without, other, _ in ran if without == absent]
            if any((missing.line, missing.name) in other.read for other in others):
                by_needs.add(missing)
    if anywhere - reached:
        return set(), set(), set()  # a name that is never bound there hides what comes after it
    reported: set[Missing] = set()
    for finding in registry.find("AGL006").check(function):
        place = next(r for s in function.segments if (r := s.range(finding.node)) is not None)
        name = finding.message.split("`")[1].removeprefix("ctx.")
        one = Missing(place.start.line, name)
        if one in anywhere or one in reached:  # else another name is missing before it
            reported.add(one)
    return anywhere, by_needs, reported


def false_alarm(source: str) -> set[Missing]:
    anywhere, _, reported = raises_and_reports(source)
    return reported - anywhere


def missed(source: str) -> set[Missing]:
    _, by_needs, reported = raises_and_reports(source)
    return by_needs - reported


@pytest.mark.parametrize("wrong", [false_alarm, missed])
def test_unbound_gradient_is_exact_where_nothing_is_lost(wrong: Callable[[str], set[Missing]]) -> None:
    for seed in seeds("exact", 30):
        source = programs.program(seed, programs.PLAIN - {"attribute"}, programs.HARMLESS)
        if wrong(source):
            small = programs.shrunk(source, lambda text: bool(wrong(text)))
            pytest.fail(f"{wrong.__name__}: {wrong(small)}\n\n{small}")
