"""The outline of a file, by `ast`: what its names mean and which of its classes are autograd Functions.

`ast` is also the syntax check and the guard: libcst's parser can crash the process on nesting that `ast` refuses or that is
counted here.
"""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from autograd_lint.source import Segment, SourceError, Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from autograd_lint.settings import Settings

# libcst's parser needs stack for each level, and time that grows with their square. 5,000 levels crash it; 2,200 let a chain of a
# thousand calls pass. Real code stays below 100.
MAX_DEPTH = 2200

_IDENTIFIER = re.compile(r"[^\W\d]\w*")


@dataclass(eq=False)
class Definition:
    """A class or function of the file. `scope` is the one it stands in, `inner` the one it opens."""

    name: str
    node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    scope: Scope
    inner: Scope
    segment: Segment

    @property
    def symbol(self) -> str:
        """The dotted name within the module."""
        names: list[str] = []
        made: Definition | None = self
        while made is not None:
            names.append(made.name)
            made = made.scope.owner
        return ".".join(reversed(names))

    @cached_property
    def decorators(self) -> frozenset[str]:
        """Their last names."""
        return frozenset(map(_last_name, self.node.decorator_list))

    @cached_property
    def suspends(self) -> bool:
        """Is it a generator or a coroutine, whose body does not run when it is called?"""
        if isinstance(self.node, ast.AsyncFunctionDef):
            return True
        if "yield" not in self.segment.code:
            return False
        todo: list[ast.AST] = list(self.node.body)
        while todo:
            one = todo.pop()
            if isinstance(one, (ast.Yield, ast.YieldFrom)):
                return True
            if not isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
                todo.extend(ast.iter_child_nodes(one))
        return False

    @cached_property
    def reach(self) -> str:
        """The text of this and of all that it names in its file, directly or not: more than can run when it does."""
        seen: dict[int, Definition] = {}
        todo = [self]
        while todo:
            one = todo.pop()
            if id(one) in seen:
                continue
            seen[id(one)] = one
            for name in set(_IDENTIFIER.findall(one.segment.code)):
                found = one.inner.lookup(name)
                if isinstance(found, ast.expr):
                    found = one.inner.resolve(found)
                if isinstance(found, Definition):
                    todo.append(found)
        return "\n".join(one.segment.code for one in seen.values())

    @property
    def is_class(self) -> bool:
        return isinstance(self.node, ast.ClassDef)


@dataclass(slots=True, eq=False)
class Scope:
    """Names to what they mean: a dotted name that was imported, a definition, or the expression they were assigned."""

    parent: Scope | None = None
    names: dict[str, str | Definition | ast.expr] = field(default_factory=dict)
    of_class: bool = False
    owner: Definition | None = None

    def lookup(self, name: str) -> str | Definition | ast.expr | None:
        """As Python would from inside: scopes of enclosing classes are not seen."""
        scope: Scope | None = self
        first = True
        while scope is not None:
            if (first or not scope.of_class) and name in scope.names:
                return scope.names[name]
            scope, first = scope.parent, False
        return None

    def resolve(self, node: ast.expr, fuel: int = 20) -> str | Definition | None:
        """What a name, dotted name or subscripted generic stands for."""
        if fuel == 0:
            return None
        if isinstance(node, ast.Name):
            found = self.lookup(node.id)
            if isinstance(found, ast.expr):
                return self.resolve(found, fuel - 1)
            # A bare `torch` that is bound nowhere (a snippet, a star import) can only be torch.
            return "torch" if found is None and node.id == "torch" else found
        if isinstance(node, ast.Attribute):
            base = self.resolve(node.value, fuel - 1)
            if isinstance(base, str):
                return f"{base}.{node.attr}"
            if isinstance(base, Definition):
                inner = base.inner.names.get(node.attr)
                return inner if isinstance(inner, (str, Definition)) else None
        if isinstance(node, ast.Subscript):
            return self.resolve(node.value, fuel - 1)
        return None


@dataclass(slots=True)
class Outline:
    """`functions`: the autograd Functions of the file, outermost first, in order."""

    scope: Scope
    functions: list[Definition]


def outline(text: Text, settings: Settings) -> Outline:
    """Raises SourceError with the place of a syntax error, or where the file is nested too deeply."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.text)
    except SyntaxError as error:
        raise SourceError(f"syntax error: {error.msg}", error.lineno or 1, error.offset or 1) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise SourceError(f"cannot be parsed: {error or type(error).__name__}") from error
    scope = Scope()
    classes: list[Definition] = []
    _collect(tree.body, scope, text, classes)
    return Outline(scope, [c for c in classes if _is_function(c, settings)])


def _last_name(node: ast.expr) -> str:
    while isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else "?"


def _collect(body: Iterable[ast.stmt], scope: Scope, text: Text, classes: list[Definition]) -> None:
    """One pass over the statements, without recursion into expressions."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            inner = Scope(scope, of_class=isinstance(node, ast.ClassDef))
            made = Definition(node.name, node, scope, inner, Segment(text, first, node.end_lineno or first))
            inner.owner = made.segment.owner = made
            scope.names[node.name] = made
            if inner.of_class:
                classes.append(made)
            _collect(node.body, inner, text, classes)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                scope.names.setdefault(name, alias.name if alias.asname else name)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            for alias in node.names:
                if alias.name == "*" and module == "torch.autograd":
                    scope.names.setdefault("Function", "torch.autograd.Function")
                elif alias.name != "*":
                    scope.names.setdefault(alias.asname or alias.name, f"{module}.{alias.name}")
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            for target in node.targets if isinstance(node, ast.Assign) else (node.target,):
                if isinstance(target, ast.Name) and node.value is not None:
                    scope.names.setdefault(target.id, node.value)
        else:
            for block in _blocks(node):
                _collect(block, scope, text, classes)


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def _is_function(made: Definition, settings: Settings, seen: frozenset[int] = frozenset()) -> bool:
    if id(made) in seen or not isinstance(made.node, ast.ClassDef):
        return False
    for base in made.node.bases:
        found = made.scope.resolve(base)
        if isinstance(found, str) and found in settings.function_bases:
            return True
        if isinstance(found, Definition) and _is_function(found, settings, seen | {id(made)}):
            return True
    return False


def bases(made: Definition) -> Iterator[Definition]:
    """The classes of this file that a class derives from, nearest first."""
    seen = {id(made)}
    queue = [made]
    while queue:
        one = queue.pop(0)
        if isinstance(one.node, ast.ClassDef):
            for base in one.node.bases:
                found = one.scope.resolve(base)
                if isinstance(found, Definition) and id(found) not in seen:
                    seen.add(id(found))
                    queue.append(found)
                    yield found


def check_depth(made: Definition) -> None:
    """Raises SourceError where a definition is nested more deeply than libcst's parser can take."""
    for node in _flat(made.node, made.segment.longest_line):
        todo: list[tuple[ast.AST, int]] = [(node, 1)]
        while todo:
            one, depth = todo.pop()
            if depth > MAX_DEPTH:
                raise SourceError(
                    f"`{made.name}` is nested more than {MAX_DEPTH} levels deep", getattr(one, "lineno", node.lineno)
                )
            todo.extend((child, depth + 1) for child in ast.iter_child_nodes(one))


def _flat(statement: ast.stmt, width: int) -> Iterator[ast.stmt | ast.expr]:
    """The statements and headers of blocks that are long enough for deep nesting: a level takes a character at least."""
    blocks = list(_blocks(statement))
    parts: Iterable[ast.stmt | ast.expr] = [statement]
    if blocks:
        parts = (child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.expr))
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            parts = [*parts, *statement.args.defaults, *(d for d in statement.args.kw_defaults if d is not None)]
    for part in parts:
        if ((part.end_lineno or part.lineno) - part.lineno + 1) * width >= MAX_DEPTH:
            yield part
    for block in blocks:
        for inner in block:
            yield from _flat(inner, width)
