"""Bytes to text, and nodes to places in the file."""

from __future__ import annotations

import textwrap

import libcst as cst
import pytest

from autograd_lint.diagnostic import Position, Range
from autograd_lint.outline import Definition, outline
from autograd_lint.settings import Settings
from autograd_lint.source import SourceError, Text, decode
from autograd_lint.tree import descendants

CLASS = "class F(torch.autograd.Function):\n    def forward(ctx, x):\n        return x.requires_grad\n"


def test_decoding() -> None:
    assert decode("é = 1\n".encode()) == "é = 1\n"
    assert decode(b"\xef\xbb\xbfx = 1\n") == "x = 1\n"
    assert decode(b"# -*- coding: latin-1 -*-\nx = '\xe9'\n").endswith("'é'\n")
    assert decode(b"#!/bin/sh\n# vim: set fileencoding=cp1252 :\n'\x80'\n").endswith("'€'\n")
    assert decode(b"x = 'coding: klingon'\n") == "x = 'coding: klingon'\n"
    assert decode(b"") == ""


@pytest.mark.parametrize("source", [b"x = '\xe9'\n", b"# coding: klingon\n", b"# coding: ascii\n\xff\n", b"\xff\xfex\0"])
def test_what_cannot_be_decoded(source: bytes) -> None:
    with pytest.raises(SourceError):
        decode(source)


@pytest.mark.parametrize(
    "cookie",
    ["idna", "punycode", "rot13", "hex", "base64", "zlib", "undefined", "unicode_escape", "utf-16", "utf-7", "mbcs", "x" * 500],
)
def test_a_cookie_that_names_no_text_encoding(cookie: str) -> None:
    """Python refuses some of them and reads others; here nothing but a SourceError may come of it."""
    try:
        decode(f"# coding: {cookie}\nx = 1\n".encode())
    except SourceError as error:
        told = error.message
    else:
        told = "read"
    assert told


def test_lines_end_only_where_python_ends_them() -> None:
    assert Text("a\nb\r\nc\rd").lines == ["a\n", "b\r\n", "c\r", "d"]
    assert Text("a\x0cb\x0bc\x85d\u2028e\n").lines == ["a\x0cb\x0bc\x85d\u2028e\n"]


def definition(source: str) -> Definition:
    (made,) = outline(Text(source), Settings()).functions
    return made


def places(source: str) -> list[Range | None]:
    """Where `x.requires_grad` stands."""
    segment = definition(source).segment
    return [
        segment.range(node)
        for node in descendants(segment.module)
        if isinstance(node, cst.Attribute) and node.attr.value == "requires_grad"
    ]


def expected(source: str) -> list[Range]:
    lines = Text(source).lines
    found = [(n, line.index("x.requires_grad")) for n, line in enumerate(lines, 1) if "x.requires_grad" in line]
    return [Range(Position(n, c + 1), Position(n, c + 16)) for n, c in found]


SITUATIONS = {
    "at the top": CLASS,
    "below other things": "import torch\n\n\n" + CLASS,
    "in a class": "class Outer:\n" + textwrap.indent(CLASS, "    "),
    "in a class, after other lines of it": "class Outer:\n    a = 1\n\n" + textwrap.indent(CLASS, "    "),
    "three deep": "class A:\n  class B:\n    def c():\n" + textwrap.indent(CLASS, "      "),
    "indented by tabs": "class Outer:\n" + textwrap.indent(CLASS, "\t"),
    "tabs all over": "class Outer:\n" + textwrap.indent(CLASS, "\t").replace("    ", "\t"),
    "in a block": "if torch:\n " + CLASS.replace("\n", "\n ").rstrip(" "),
    "decorated": "@decorated(\n    1\n)\n@again\n" + CLASS,
    "decorated and nested": "class Outer:\n    @decorated\n" + textwrap.indent(CLASS, "    "),
    "under a comment": "# é\n# 𐍈\n" + CLASS,
    "behind wide letters": CLASS.replace("return x", "return '𐍈é', x"),
    "with a string over lines": CLASS.replace("return x", "'''\n  a\n'''; return x"),
    "with a backslash": CLASS.replace("return x", "return 1 + \\\n    x"),
    "with a comment in the body, not indented": CLASS.replace("        return", "# here\n        return"),
    "without a newline at the end": CLASS.rstrip("\n"),
    "with more behind it": CLASS + "\n\n# end\nx = 1\n",
    "after a form feed": "import torch\n\x0c\n" + CLASS,
    "after a separator that is no newline": "s = '\u2028\x85\x0b'\n" + CLASS,
    "on one line": "class F(torch.autograd.Function): x.requires_grad\n",
    "in CRLF": ("import torch\nclass Outer:\n" + textwrap.indent(CLASS, "    ")).replace("\n", "\r\n"),
    "in CR": ("import torch\n" + CLASS).replace("\n", "\r"),
    "in a mixture": "import torch\r\n\r" + CLASS,
}


@pytest.mark.parametrize("name", SITUATIONS)
def test_places(name: str) -> None:
    source = SITUATIONS[name]
    assert places(source) == expected(source)


def test_a_node_of_another_segment_has_no_place() -> None:
    assert definition(CLASS).segment.range(cst.Name("x")) is None


STATEMENTS = {
    "return x.requires_grad": "return x.requires_grad",
    "if x.requires_grad:\n            y = 1": "if x.requires_grad:",
    "while x.requires_grad: y = 1": "while x.requires_grad: y = 1",
    "y = f(\n            x.requires_grad,\n        )": "y = f( x.requires_grad, )",
    "if (\n            x.requires_grad\n        ):\n            y = 1": "if ( x.requires_grad ):",
    "a = 1; b = x.requires_grad": "a = 1; b = x.requires_grad",
    "for a in b:\n            c = x.requires_grad": "c = x.requires_grad",
    "if a:\n            b = 1\n        elif x.requires_grad:\n            c = 1": "elif x.requires_grad:",
    "with f(x.requires_grad) as g:\n            pass": "with f(x.requires_grad) as g:",
    "def g(a=x.requires_grad):\n            pass": "def g(a=x.requires_grad):",
    "assert x.requires_grad, 'no'": "assert x.requires_grad, 'no'",
}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_the_statement_around_a_place(statement: str) -> None:
    source = CLASS.replace("return x.requires_grad", statement)
    (place,) = places(source)
    assert place is not None
    around, text = definition(source).segment.statement(place)
    assert text == STATEMENTS[statement]
    assert around.start <= place.start
    assert place.end <= around.end
