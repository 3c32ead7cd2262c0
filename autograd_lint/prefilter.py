"""Which files can hold an autograd Function? Decided on the bytes, before anything is parsed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from autograd_lint.settings import FUNCTION_BASES, Settings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autograd_lint.api import Rule

# A base that is called Function, or another name given to it. The patterns begin with a literal, which the regex engine finds
# many times faster than a class of characters, and nothing in them is repeated twice over, so that no text makes them slow.
_BASE = re.compile(rb"Function\s*[,)\[#]")
_HEADER = re.compile(rb"class\s+\w+\s*(?:\[[^\]]*\]\s*)?\(")
_RENAMED = re.compile(rb"Function(?:\s+as\s|[ \t]*(?:#[^\r\n]*)?(?:[\r\n;]|\Z))")
_ASSIGNMENT = re.compile(rb"\s*\w+[ \t]*(?::[^=]*)?=[ \t]*[\w.]*\Z")

# How far before a base its class may begin, and how long a line may be that gives it another name.
_HEADER_SIZE = 1000


def has_a_say(source: bytes, rules: Iterable[Rule]) -> bool:
    """False only where surely none of these rules has anything to say about the file."""
    return any(not rule.mentions or any(word.encode() in source for word in rule.mentions) for rule in rules)


def is_candidate(source: bytes, settings: Settings) -> bool:
    """False only where the file surely has no autograd Function."""
    if b"autograd" in source and b"Function" in source and b"class" in source:
        if any(_is_base(source, found.start()) for found in _BASE.finditer(source)):
            return True
        if any(_is_alias(source, found) for found in _RENAMED.finditer(source)):
            return True
    extra = settings.function_bases - FUNCTION_BASES
    return bool(extra) and any(name.rpartition(".")[2].encode() in source for name in extra)


def _is_base(source: bytes, at: int) -> bool:
    """Does it stand between the parentheses of a class?"""
    before = source[max(0, at - _HEADER_SIZE) : at].removesuffix(b"Inplace")
    header = _HEADER.match(before, start) if (start := before.rfind(b"class")) >= 0 else None
    return header is not None and before[-1:] in b" \t\r\n\f(.," and b"):" not in before[header.end() :]


def _is_alias(source: bytes, found: re.Match[bytes]) -> bool:
    """`import Function as F` or `F = torch.autograd.Function`"""
    if b"as" in found[0].split(b"#")[0]:
        return True
    first = max(0, found.start() - _HEADER_SIZE)
    start = max(first, *(source.rfind(end, first, found.start()) + 1 for end in (b"\n", b"\r", b";")))
    return _ASSIGNMENT.match(source[start : found.start()]) is not None
