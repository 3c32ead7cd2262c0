"""`autograd-lint inspect`: what was found out about each argument of each Function, as a table that a reviewer can read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

from autograd_lint import engine, story
from autograd_lint.diagnostic import Failure
from autograd_lint.flow.events import FlagRead, NeedsRead, Return, Save, Store
from autograd_lint.flow.values import Alias, Value
from autograd_lint.model import Function, Param
from autograd_lint.settings import Settings

HEADINGS = ("argument", "index", "becomes", "saved", "gated on", "gradient given", "returned")


@dataclass(frozen=True, slots=True)
class ArgumentRow:
    """One argument of `apply`.

    `becomes`: the operations between it and what is saved. `saved`: where backward finds it. `gates`: the flags that are asked
    for its gradient. `given`: when backward returns one. `returned`: what stands in its slot, once per return.
    """

    argument: str
    index: int
    becomes: tuple[str, ...]
    saved: tuple[str, ...]
    gates: tuple[str, ...]
    given: str
    returned: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FunctionTable:
    """`symbol` is the dotted name of the class in its module."""

    path: str
    line: int
    symbol: str
    arguments: tuple[ArgumentRow, ...]


def inspect(source: bytes, path: str, settings: Settings) -> Iterator[FunctionTable | Failure]:
    """The table of each Function of a file, or why there is none."""
    for one in engine.follow(source, path, settings):
        yield one if isinstance(one, Failure) else _table(one, path)


def to_json(tables: Iterable[FunctionTable]) -> list[dict[str, object]]:
    return [asdict(table) for table in tables]


def render_text(tables: Iterable[FunctionTable]) -> str:
    return "\n".join(map(_render, tables))


def _table(fn: Function, path: str) -> FunctionTable:
    return FunctionTable(path, fn.line, fn.symbol, tuple(_row(fn, param) for param in fn.params))


def _row(fn: Function, param: Param) -> ArgumentRow:
    becomes: dict[str, None] = {}
    saved: dict[str, None] = {}
    for event in fn.of(Save):
        for position, value in enumerate(event.values or ()):
            for alias in _of(value, param):
                saved[f"saved_tensors[{position}]"] = None
                becomes.update(dict.fromkeys(_operations(alias)))
    for store in fn.of(Store, "forward", "setup_context"):
        for alias in _of(store.value, param):
            saved[f"ctx.{store.name}"] = None
            becomes.update(dict.fromkeys(_operations(alias)))
    given = fn.gradient_given(param.index)
    backs = list(fn.of(Return, "backward"))
    return ArgumentRow(
        f"*{param.name}" if param.star else param.name,
        param.index,
        tuple(becomes),
        tuple(saved),
        tuple(_gates(fn, param)),
        "unknown" if param.star or not backs else fn.say(given),
        tuple(dict.fromkeys(_returned(fn, back, param) for back in backs)),
    )


def _of(value: Value, param: Param) -> list[Alias]:
    return [a for a in value.inputs() if a.origin.index == param.index or (param.star and not 0 <= a.origin.index < param.index)]


def _operations(alias: Alias) -> Iterable[str]:
    for hop in alias.trail or ():
        if hop.kind in ("derive", "item", "decorator"):
            yield f"{story.code(hop.node)} ({_briefly(hop.relation.name)})"


def _briefly(relation: str) -> str:
    return {"IS": "itself", "VIEW": "a view", "MAY_COPY": "may copy", "DETACHED": "detached", "COPY": "a copy"}[relation]


def _gates(fn: Function, param: Param) -> Iterable[str]:
    seen: set[str] = set()
    for read in fn.of(NeedsRead):
        if read.index == param.index:
            seen.add(story.code(read.node))
    for flag in fn.of(FlagRead):
        if _of(flag.tensor, param):
            seen.add(f"{story.code(flag.node)} in {flag.place.method}")
    return sorted(seen)


def _returned(fn: Function, back: Return, param: Param) -> str:
    if param.index < len(back.slots):
        return story.code(back.slots[param.index])
    parts = fn.gradients(back)
    if parts is not None and param.index >= len(parts):
        return "nothing"
    return story.code(back.node).removeprefix("return").strip() or "None"


def _render(table: FunctionTable) -> str:
    rows: list[tuple[str, ...]] = [HEADINGS]
    for row in table.arguments:
        cells = (row.argument, str(row.index), row.becomes, row.saved, row.gates, (row.given,), row.returned)
        lines = [c if isinstance(c, tuple) else (c,) for c in cells]
        height = max(1, *map(len, lines))
        rows.extend(tuple(line[i] if i < len(line) else "" for line in lines) for i in range(height))
    widths = [max(len(row[k]) for row in rows) for k in range(len(HEADINGS))]
    body = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    return "\n".join([f"{table.path}:{table.line}: {table.symbol}", *(f"  {line}" for line in body)]) + "\n"
