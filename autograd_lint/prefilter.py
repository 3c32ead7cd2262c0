"""Which files can hold an autograd Function? Decided on the bytes, before anything is parsed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from autograd_lint.settings import FUNCTION_BASES, Settings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autograd_lint.api import Rule

# A class with a base that is called Function, or another name given to something that is. The patterns begin with a literal,
# which the regex engine finds many times faster than a class of characters.
_SUBCLASS = re.compile(rb"class\s+\w+\s*(?:\[[^\]]*\]\s*)?\((?:(?:[^)]*|[^:]*)[\s(.,])?(?:Inplace)?Function\s*[,)\[#]")
_RENAMED = re.compile(rb"Function(?:\s+as\s|\s*(?:#[^\r\n]*)?(?:[\r\n;]|$))")
_ASSIGNMENT = re.compile(rb"\s*\w+\s*(?::[^=]*)?=\s*[\w.]*$")


def has_a_say(source: bytes, rules: Iterable[Rule]) -> bool:
    """False only where surely none of these rules has anything to say about the file."""
    return any(not rule.mentions or any(word.encode() in source for word in rule.mentions) for rule in rules)


def is_candidate(source: bytes, settings: Settings) -> bool:
    """False only where the file surely has no autograd Function."""
    if b"autograd" in source and b"Function" in source:
        if _SUBCLASS.search(source):
            return True
        if b"class" in source and any(_is_alias(source, found) for found in _RENAMED.finditer(source)):
            return True
    extra = settings.function_bases - FUNCTION_BASES
    return bool(extra) and any(name.rpartition(".")[2].encode() in source for name in extra)


def _is_alias(source: bytes, found: re.Match[bytes]) -> bool:
    """`import Function as F` or `F = torch.autograd.Function`"""
    if b"as" in found[0].split(b"#")[0]:
        return True
    start = max(source.rfind(b"\n", 0, found.start()), source.rfind(b";", 0, found.start())) + 1
    return _ASSIGNMENT.match(source, start, found.start()) is not None
