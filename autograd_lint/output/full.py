"""For people: each finding with its code, the way that the tensor took to it, and the remedy."""

from __future__ import annotations

import textwrap
import unicodedata
from typing import TYPE_CHECKING

from autograd_lint import files
from autograd_lint.output import UNSAFE, clean, place
from autograd_lint.source import SourceError, Text, decode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from autograd_lint.diagnostic import Diagnostic, Range
    from autograd_lint.output import Style

_TAB = 4
# Of a span over more lines than this, the first ones are shown.
_MOST_LINES = 4


def render(diagnostics: Iterable[Diagnostic], sources: Mapping[str, bytes], style: Style) -> str:
    """`sources`: the bytes of files, by path; others are read."""
    texts = _Texts(sources)
    return "".join("\n".join(_finding(diagnostic, texts, style)) + "\n\n" for diagnostic in diagnostics)


def _finding(found: Diagnostic, texts: _Texts, style: Style) -> Iterator[str]:
    def severity(text: str) -> str:
        return style.severity(text, found.severity)

    where, level = place(found), "" if found.severity == "error" else f" ({found.severity})"
    head = f"{where} {found.code} {found.name}{level}:"
    painted = f"{style.bold(where)} {severity(found.code)} {style.bold(found.name)}{level}:"
    yield from _paragraph(head, painted, found.message, "  ", style)

    last = max([found.range.end.line + 1, *(step.range.end.line for step in found.flow)])
    frame = _Frame(texts, style, digits=len(str(last)))
    lines = list(frame.lines(found.path, found.range, lambda n: severity("^" * n), context=1))
    if lines:
        yield from ("", *lines, "")

    if found.symbol:
        yield f"  in `{clean(found.symbol)}`" + ":" * bool(found.flow)
    for number, step in enumerate(found.flow, 1):
        where = place(step)
        painted = f"  {style.accent(f'{number}.')} {where}"
        yield from _paragraph(f"  {number}. {where}", painted, step.text, " " * 5, style)
        if (step.path, step.range) != (found.path, found.range):  # the last step often is the finding
            yield from frame.lines(step.path, step.range, lambda n: style.accent("-" * n), indent=5)
    if found.help:
        yield from _paragraph("  = help:", f"  = {style.bold('help:')}", found.help, " " * 10, style)


def _paragraph(head: str, painted: str, text: str, indent: str, style: Style) -> Iterator[str]:
    """`head` and the text after it, wrapped; `painted` is the head in colour. A long head has a line of its own."""
    room = sum(width for _, width in _cells(head)) + 1
    alone = room > style.width * 2 // 3
    body = textwrap.wrap(
        clean(text),
        style.width,
        initial_indent=indent if alone else " " * room,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    if body and not alone:
        painted += f" {body.pop(0).lstrip()}"
    yield painted
    yield from body


class _Texts:
    """The lines of files, had when they are first asked for."""

    def __init__(self, sources: Mapping[str, bytes]) -> None:
        self._sources = sources
        self._lines: dict[str, Sequence[str]] = {}

    def line(self, path: str, number: int) -> str | None:
        """Without its end; None where the file has no such line (any more)."""
        if path not in self._lines:
            try:
                source = self._sources[path] if path in self._sources else files.read(path)
                self._lines[path] = Text(decode(source)).lines
            except (OSError, SourceError):
                self._lines[path] = ()
        lines = self._lines[path]
        return lines[number - 1].rstrip("\r\n") if 1 <= number <= len(lines) else None


class _Frame:
    """Source lines with their numbers, and marks under a span of them. `digits`: the width of the numbers."""

    def __init__(self, texts: _Texts, style: Style, digits: int) -> None:
        self._texts, self._style, self._digits = texts, style, digits

    def lines(self, path: str, span: Range, mark: Callable[[int], str], *, context: int = 0, indent: int = 2) -> Iterator[str]:
        """`mark` makes that many marks; `context`: how many lines to show before and after."""
        start, end = span.start, span.end
        # The columns to show are chosen once, for the first line of the span, so that the lines stay aligned.
        first = _Line(self._texts.line(path, start.line) or "")
        stop = first.column(end.column) if end.line == start.line else first.width
        room = self._style.width - len(self._gutter("", indent))
        low, high = first.window(first.column(start.column), stop, max(room, 20))

        for number in range(start.line - context, end.line + context + 1):
            text = self._texts.line(path, number)
            if text is None:
                continue
            line = _Line(text)
            shown = line.crop(low, high)
            if not start.line <= number <= end.line:
                if shown.strip(" …"):
                    yield self._painted(str(number), indent) + shown
            elif number < start.line + _MOST_LINES:
                yield self._painted(str(number), indent) + shown
                if not text.strip():
                    continue
                left = line.column(start.column) if number == start.line else line.indent
                right = line.column(end.column) if number == end.line else line.width
                left, right = max(left, low), min(right, high)
                yield self._painted("", indent) + " " * (left - low) + mark(max(right - left, 1))
            elif number == end.line:
                yield self._painted("", indent) + "..."

    def _gutter(self, number: str, indent: int) -> str:
        return f"{' ' * indent}{number:>{self._digits}} | "

    def _painted(self, number: str, indent: int) -> str:
        return self._style.accent(self._gutter(number, indent)[:-1]) + " "


class _Line:
    """A source line as it stands on a terminal, where a character can take no column, one, two, or up to the next tab stop."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._shown: list[str] = []
        self._at = [0]
        for shown, width in _cells(text):
            self._shown.append(shown)
            self._at.append(self._at[-1] + width)

    @property
    def width(self) -> int:
        return self._at[-1]

    @property
    def indent(self) -> int:
        return self._at[len(self._text) - len(self._text.lstrip())]

    def column(self, position: int) -> int:
        """Where the code point at `position`, from 1, begins on the terminal, from 0."""
        return self._at[min(max(position - 1, 0), len(self._shown))]

    def window(self, begin: int, end: int, room: int) -> tuple[int, int]:
        """Which columns to show of this line, so that the span from `begin` to `end` is seen."""
        if self.width <= room:
            return 0, room
        if end < room:
            return 0, room
        # In the middle where it fits, else from its start on.
        left = max(begin - max(room - (end - begin), 8) // 2, 0)
        return left, left + room

    def crop(self, left: int, right: int) -> str:
        """What stands in these columns, with `…` where something is left out."""
        if left == 0 and self.width <= right:
            return "".join(self._shown)
        before, after = left > 0 and self.width > 0, self.width > right
        low, high = left + before, right - after
        kept = ""
        for shown, start, end in zip(self._shown, self._at, self._at[1:], strict=False):
            if low <= start and end <= high:
                kept += shown
            elif start < low < end:  # half of a wide character
                kept += " " * (end - low)
        return "…" * before + kept + "…" * after


def _cells(text: str) -> Iterator[tuple[str, int]]:
    """Each code point as it is shown, and how many columns it takes."""
    if text.isascii() and text.isprintable():
        yield from ((char, 1) for char in text)
        return
    column = 0
    for char in text:
        if char == "\t":
            width = _TAB - column % _TAB
            shown = " " * width
        elif UNSAFE.match(char):
            shown, width = "\N{REPLACEMENT CHARACTER}", 1
        else:
            shown, width = char, _width(char)
        yield shown, width
        column += width


def _width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
