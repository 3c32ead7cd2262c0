"""The outline of a file, by `ast`: what its names mean and which of its classes are autograd Functions.

`ast` is also the syntax check and the guard: libcst's parser can crash the process on nesting that `ast` refuses or that is
counted here.
"""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias

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
    node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
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
        return frozenset(map(_last_name, getattr(self.node, "decorator_list", ())))

    @cached_property
    def suspends(self) -> bool:
        """Is it a generator or a coroutine, whose body does not run when it is called?"""
        if isinstance(self.node, ast.AsyncFunctionDef):
            return True
        if "yield" not in self.segment.code:
            return False
        todo = list[ast.AST](ast.iter_child_nodes(self.node))
        while todo:
            one = todo.pop()
            if isinstance(one, (ast.Yield, ast.YieldFrom)):
                return True
            if not isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
                todo.extend(ast.iter_child_nodes(one))
        return False

    @cached_property
    def _named(self) -> tuple[Definition | str, ...]:
        """What is named inside: definitions of the file, and full names of what is imported."""
        out: dict[int | str, Definition | str] = {}
        for name in sorted(set(_IDENTIFIER.findall(self.segment.code))):
            found = self.inner.lookup(name)
            if isinstance(found, ast.expr):
                found = self.inner.resolve(found)
            if isinstance(found, (Definition, str)):
                out[found if isinstance(found, str) else id(found)] = found
        return tuple(out.values())

    @cached_property
    def reach(self) -> tuple[Definition, ...]:
        """This and all that it names in its file, directly or not: more than can run when it does."""
        seen: dict[int, Definition] = {id(self): self}
        todo: list[Definition] = [self]
        while todo:
            for found in todo.pop()._named:
                if isinstance(found, Definition) and id(found) not in seen:
                    seen[id(found)] = found
                    todo.append(found)
        return tuple(seen.values())

    def mentions(self, words: Iterable[str]) -> bool:
        """Does anything in its reach hold one of these words?"""
        return any(one._holds(word) for word in words for one in self.reach)

    def _holds(self, word: str) -> bool:
        known = self._words.get(word)
        if known is None:
            imported = (name for name in self._named if isinstance(name, str))
            known = self._words[word] = word in self.segment.code or any(word in name for name in imported)
        return known

    @cached_property
    def _words(self) -> dict[str, bool]:
        return {}

    @property
    def is_class(self) -> bool:
        return isinstance(self.node, ast.ClassDef)


class _Unseen(Enum):
    UNSEEN = auto()


UNSEEN: Final = _Unseen.UNSEEN
"""The meaning of a name that is bound more than once, or by something that is not followed: a loop, a parameter."""

Meaning: TypeAlias = str | Definition | ast.expr | _Unseen


@dataclass(slots=True, eq=False)
class Scope:
    """Names to what they mean: a dotted name that was imported, a definition, the expression they were assigned, or `UNSEEN`."""

    parent: Scope | None = None
    names: dict[str, Meaning] = field(default_factory=dict)
    of_class: bool = False
    owner: Definition | None = None

    @property
    def of_function(self) -> bool:
        return self.owner is not None and not self.of_class

    def bind(self, name: str, meaning: Meaning, *, again: bool = False) -> None:
        """A name is bound. What is imported counts before what stands in for it where the import fails.

        `again`: a later definition in the same block replaces an earlier one.
        """
        old = self.names.get(name)
        if old is None or again or (isinstance(meaning, str) and isinstance(old, ast.Constant)):
            self.names[name] = meaning
        elif not isinstance(old, str) or isinstance(meaning, Definition):
            self.names[name] = old if isinstance(old, str) else UNSEEN

    def lookup(self, name: str) -> Meaning | None:
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
            if found is UNSEEN:
                return None
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
        raise SourceError(f"cannot be parsed: {str(error) or type(error).__name__}") from error
    scope = Scope()
    classes: list[Definition] = []
    _collect(tree.body, scope, text, classes)
    return Outline(scope, _functions(classes, settings))


def _last_name(node: ast.expr) -> str:
    while isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else "?"


def _collect(body: Iterable[ast.stmt], scope: Scope, text: Text, classes: list[Definition]) -> None:
    """One pass over the statements, without recursion into most expressions."""
    here: set[str] = set()
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            inner = Scope(scope, of_class=isinstance(node, ast.ClassDef))
            made = Definition(node.name, node, scope, inner, Segment(text, first, node.end_lineno or first))
            inner.owner = made.segment.owner = made
            scope.bind(node.name, made, again=node.name in here)
            here.add(node.name)
            if isinstance(node, ast.ClassDef):
                classes.append(made)
            else:
                _bind_parameters(node.args, inner)
            _collect(node.body, inner, text, classes)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                here.add(name)
                scope.bind(name, alias.name if alias.asname else name)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            for alias in node.names:
                if alias.name == "*" and module == "torch.autograd":
                    scope.bind("Function", "torch.autograd.Function")
                elif alias.name != "*":
                    here.add(alias.asname or alias.name)
                    scope.bind(alias.asname or alias.name, f"{module}.{alias.name}")
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            for target in node.targets if isinstance(node, ast.Assign) else (node.target,):
                if isinstance(target, ast.Name) and not isinstance(node, ast.AugAssign):
                    if isinstance(node.value, ast.Lambda) and (isinstance(node, ast.AnnAssign) or len(node.targets) == 1):
                        scope.bind(target.id, _lambda(target.id, node.value, node, scope, text))
                    elif node.value is not None:
                        scope.bind(target.id, node.value)
                else:
                    _bind_unseen(target, scope)
        else:
            for part in _targets(node):
                _bind_unseen(part, scope)
            for block in _blocks(node):
                _collect(block, scope, text, classes)


def _lambda(name: str, node: ast.Lambda, statement: ast.stmt, scope: Scope, text: Text) -> Definition:
    """`name = lambda …` is as good as a function."""
    inner = Scope(scope)
    made = Definition(name, node, scope, inner, Segment(text, statement.lineno, statement.end_lineno or statement.lineno))
    inner.owner = made.segment.owner = made
    _bind_parameters(node.args, inner)
    return made


def _bind_parameters(arguments: ast.arguments, scope: Scope) -> None:
    for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        if one is not None:
            scope.names[one.arg] = UNSEEN


def _targets(node: ast.stmt) -> Iterator[ast.AST]:
    """What a loop, a `with`, a handler or a `case` binds."""
    if isinstance(node, (ast.For, ast.AsyncFor)):
        yield node.target
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        yield from (item.optional_vars for item in node.items if item.optional_vars is not None)
    elif isinstance(node, ast.Match):
        yield from (case.pattern for case in node.cases)
    yield from (h for h in getattr(node, "handlers", ()))


def _bind_unseen(node: ast.AST, scope: Scope) -> None:
    names: list[str | None] = []
    if isinstance(node, ast.ExceptHandler):
        names = [node.name]
    else:
        for one in ast.walk(node):
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
                names.append(one.id)
            elif isinstance(one, (ast.MatchAs, ast.MatchStar, ast.MatchMapping)):
                names.append(one.rest if isinstance(one, ast.MatchMapping) else one.name)
    for name in names:
        if name is not None:
            scope.bind(name, UNSEEN)


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def _functions(classes: Iterable[Definition], settings: Settings) -> list[Definition]:
    """The classes that derive from `torch.autograd.Function`, directly or through others of the file."""
    known: dict[int, bool] = {}
    out: list[Definition] = []
    for made in classes:
        todo = [made]
        while todo:  # bases before the classes that derive from them; a class that derives from itself is none
            one = todo[-1]
            known.setdefault(id(one), False)
            found = [one.scope.resolve(b) for b in one.node.bases] if isinstance(one.node, ast.ClassDef) else []
            unknown = [b for b in found if isinstance(b, Definition) and id(b) not in known]
            if unknown:
                todo += unknown
                continue
            todo.pop()
            known[id(one)] = any(known[id(b)] if isinstance(b, Definition) else b in settings.function_bases for b in found)
        if known[id(made)]:
            out.append(made)
    return out


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


def _flat(statement: ast.stmt | ast.Lambda, width: int) -> Iterator[ast.stmt | ast.expr]:
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
