"""A file's text, and the segments of it that libcst parses.

libcst reads about 1 MB a second, so only the classes and helpers that matter are given to it; each segment is a whole class or
function of the file, and its positions are shifted back to where it stands.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from autograd_lint.diagnostic import Position, Range

if TYPE_CHECKING:
    from collections.abc import Mapping

    import libcst as cst
    from libcst.metadata import CodeRange

    from autograd_lint.outline import Definition

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=]", re.M)


class SourceError(Exception):
    """Text that cannot be linted: not decodable, not Python, or too deeply nested for the parsers."""

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.message, self.line, self.column = message, line, column


def decode(source: bytes) -> str:
    """The text of a Python file, by its byte order mark, its PEP 263 cookie, or as UTF-8.

    Raises SourceError.
    """
    encoding = "utf-8-sig"
    head = source[:2000]
    if _COOKIE.search(head):
        import tokenize

        lines = iter(head.splitlines(keepends=True))
        try:
            encoding, _ = tokenize.detect_encoding(lambda: next(lines, b""))
        except SyntaxError as error:
            raise SourceError(str(error)) from error
    try:
        return source.decode(encoding)
    except (UnicodeError, LookupError) as error:
        raise SourceError(f"cannot be decoded: {error}") from error


class Text:
    """The lines of a file, ended only where Python ends a line."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def lines(self) -> list[str]:
        """With their ends."""
        return _LINE.findall(self.text)


class Segment:
    """Lines `first` to `last` (from 1, inclusive) of a file: one class or function with its decorators."""

    def __init__(self, text: Text, first: int, last: int) -> None:
        self._text, self.first, self.last = text, first, last
        self.owner: Definition | None = None

    @cached_property
    def code(self) -> str:
        return "".join(self._text.lines[self.first - 1 : self.last])

    @cached_property
    def longest_line(self) -> int:
        return max(map(len, self.code.splitlines()), default=0)

    @cached_property
    def _nested(self) -> bool:
        return self.code[:1] in (" ", "\t", "\f")

    @cached_property
    def module(self) -> cst.Module:
        """Raises SourceError where libcst does not accept what ast accepted."""
        import libcst as cst

        try:
            # A nested definition parses as the body of an `if`, with every column right and one line more.
            return cst.parse_module("if 1:\n" + self.code if self._nested else self.code)
        except cst.ParserSyntaxError as error:
            line = self.first + error.raw_line - 1 - self._nested
            raise SourceError(f"libcst cannot parse this: {error.message}", line, error.raw_column + 1) from error

    @cached_property
    def definition(self) -> cst.ClassDef | cst.FunctionDef | cst.Lambda:
        """The class or function that the segment consists of, or the lambda that is assigned in it."""
        import libcst as cst

        from autograd_lint.tree import descendants

        body: object = self.module.body[-1]
        if isinstance(body, cst.If):
            body = body.body.body[-1]
        if isinstance(body, cst.SimpleStatementLine):
            body = next(one for one in descendants(body) if isinstance(one, cst.Lambda))
        assert isinstance(body, (cst.ClassDef, cst.FunctionDef, cst.Lambda))
        return body

    @cached_property
    def _positions(self) -> Mapping[cst.CSTNode, CodeRange]:
        from libcst.metadata import MetadataWrapper, PositionProvider

        return MetadataWrapper(self.module, unsafe_skip_copy=True).resolve(PositionProvider)

    @cached_property
    def _nodes(self) -> frozenset[cst.CSTNode]:
        """Asked before the positions, which cost ten times as much."""
        from autograd_lint.tree import descendants

        return frozenset(descendants(self.module))

    def range(self, node: cst.CSTNode) -> Range | None:
        """Where a node of this segment stands in the file; None if it is no node of it."""
        found = self._positions.get(node) if node in self._nodes else None
        if found is None:
            return None
        shift = self.first - 1 - self._nested
        return Range(
            Position(found.start.line + shift, found.start.column + 1),
            Position(found.end.line + shift, found.end.column + 1),
        )

    def statement(self, place: Range) -> tuple[Range, str]:
        """The smallest statement around a place, by its range and its text on one line; of a compound one only the header."""
        import libcst as cst

        best: tuple[Range, cst.CSTNode] | None = None
        for node in self._positions:
            if isinstance(node, (cst.SimpleStatementLine, cst.BaseCompoundStatement, cst.SimpleStatementSuite)):
                found = self.range(node)
                around = found is not None and found.start <= place.start and place.end <= found.end
                if found is not None and around and (best is None or found.start >= best[0].start):
                    best = found, node
        if best is None:
            return place, ""
        header, node = best
        if isinstance(node, cst.BaseCompoundStatement):
            body = self.range(node.cases[0] if isinstance(node, cst.Match) else node.body)
            if body is not None:
                header = Range(header.start, max(place.end, Position(body.start.line, 1)))
        last = header.end.line - (header.end.column == 1)
        lines = self._text.lines[header.start.line - 1 : last]
        return header, " ".join(" ".join(lines).split())
