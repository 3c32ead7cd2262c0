"""Walk libcst nodes without its visitors, whose generality costs about ten times as much."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import fields
from functools import cache

import libcst as cst

# What holds nothing but layout and punctuation.
_LAYOUT = frozenset(
    """asynchronous comma dot equal first_line footer header indent leading_lines lines_after_decorators lbracket lbrace lpar
    rbracket rbrace rpar semicolon star trailing_whitespace""".split()
)


@cache
def _fields(kind: type[cst.CSTNode]) -> tuple[str, ...]:
    return tuple(f.name for f in fields(kind) if f.name not in _LAYOUT and not f.name.startswith("whitespace"))


_KNOWN: dict[tuple[type, type], bool] = {}


def _is_a(thing: object, base: type) -> bool:
    """`isinstance`, which is slow for libcst's abstract classes."""
    key = (type(thing), base)
    known = _KNOWN.get(key)
    if known is None:
        known = _KNOWN[key] = isinstance(thing, base)
    return known


def is_expression(node: cst.CSTNode) -> bool:
    return _is_a(node, cst.BaseExpression)


def children(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes right below, layout and punctuation left out."""
    for name in _fields(type(node)):
        value = getattr(node, name)
        if isinstance(value, (tuple, list)):
            yield from (one for one in value if _is_a(one, cst.CSTNode))
        elif _is_a(value, cst.CSTNode):
            yield value


def shape(node: cst.CSTNode) -> Hashable:
    """The same for two nodes that read the same, layout aside."""
    parts: list[Hashable] = [type(node)]
    for name in _fields(type(node)):
        value = getattr(node, name)
        if isinstance(value, (tuple, list)):
            parts.append(tuple(shape(one) for one in value if _is_a(one, cst.CSTNode)))
        elif _is_a(value, cst.CSTNode):
            parts.append(shape(value))
        elif isinstance(value, str):
            parts.append(value)
    return tuple(parts)


def descendants(node: cst.CSTNode, *, into: bool = True) -> Iterator[cst.CSTNode]:
    """A node and all below it; `into=False` stays out of functions, lambdas and classes inside."""
    todo = [node]
    while todo:
        one = todo.pop()
        yield one
        if into or one is node or not isinstance(one, (cst.FunctionDef, cst.Lambda, cst.ClassDef)):
            todo.extend(children(one))


def last_name(node: cst.BaseExpression) -> str:
    """`c` of `a.b.c` and of `a.b.c(…)`."""
    while isinstance(node, cst.Call):
        node = node.func
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else "?"
