"""Any Python at all: the linter reports or says why it cannot, and says the same each time.

The programs are put together from a grammar that knows every statement and expression of the language and nothing of what makes
sense, and from real sources (the blocks of the rules' pages) that were damaged byte by byte.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograd_lint import engine, pages, registry
from autograd_lint.diagnostic import Position, Range, Report
from autograd_lint.settings import Settings

RULES = tuple(registry.load().values())
COUNT = int(os.environ.get("AUTOGRAD_LINT_PROGRAMS", "5000")) // 5

NAMES = "x w g ctx xs f need torch ctx.saved_tensors ctx.needs_input_grad ctx.n self _ helper F K.requires_grad".split()
ATOMS = [*NAMES, *NAMES, *"0 1 -1 None True False ... 'a' b'a' f'{x}' f'{x!r:>{w}}' 1.5 2j () [] {}".split()]

# `E` is an expression, `T` a target, `N` a name, `S` a block.
EXPRESSIONS = (
    """
E + E|E @ E|E ** E|-E|not E|~E|E and E|E or E|E if E else E|E < E|E is None|E is not E|E not in E|E == E < E|(N := E)|(E)
E.requires_grad|E.t()|E.view(-1)|E.contiguous()|E.clone()|E.detach()|E.data|E.requires_grad_(E)|E.flatten(E, E)|E.append(E)
E[E]|E[E:E]|E[::E]|E[E, ...]|E[E, None, :]|E(E)|E(E, *E)|E(**E)|E(N=E, **E)|E(*E, N=E)|E()|torch.flatten(E, 0, 1)|E.shape
torch.cat([E, E])|torch.is_grad_enabled()|torch.zeros_like(E, requires_grad=E)|helper(E)|helper(E, N=E)|F.apply(E, E)
(E, E)|(E,)|[E, *E]|[*E]|{E, E}|{E: E, **E}|[E for T in E]|[E for T in E if E for T in E]|{E for T in E}|{E: E for T in E}
(E for T in E)|any(E for T in E)|all(E)|lambda: E|lambda N, *args, k=E: E|(lambda N: E)(E)|(yield E)|(yield from E)|(yield)
map(E, E)|zip(E, E)|enumerate(E)|list(E)|len(E)|getattr(E, 'requires_grad', E)|setattr(ctx, 'N', E)|isinstance(E, E)|super().N(E)
f'{E!s} {E:{E}}'|E[-1]|E[0]|ctx.needs_input_grad[E]|ctx.needs_input_grad[0]|ctx.N|E.N|sum(E)|reversed(E)|sorted(E, key=E)
bool(E)|ctx.save_for_backward(E, *E)
""".strip()
    .replace("\n", "|")
    .split("|")
)
TARGETS = "N|N|N|ctx.N|E.requires_grad|E[E]|(T, T)|[T, *N]|T, T|*N, T".split("|")
STATEMENTS = (
    r"""
T = E|T = T = E|N: E = E|N: E|N += E|E.N -= E|E[E] *= E|E|E|del N|del (N, E.N)|assert E, E|raise|raise E from E|return|pass
return E|return E, E|return E if E else E, None|import N|import torch.N as N|from N import N as N|break|continue
if E:S|if E:Selse:S|if E:Selif E:Selse:S|for T in E:S|for T in E:Selse:S|while E:S|while True:S|with E as N:S
with E, E as (N, N):S|with torch.no_grad():S|with torch.enable_grad():S|try:Sexcept E as N:S|try:Sfinally:S
try:Sexcept:Selse:Sfinally:S|try:Sexcept* E:S|def N(N, *args, k=E, **kw):S|@E\ndef N():S|async def N():S|class N(E):S
def helper(N, /, k=E):S|class F(torch.autograd.Function):S|async def N():\n    async with E as N:    await E
match E:\n    case [N, *_]:    T = E\n    case {'a': N, **kw} if E:    return E\n    case N(2):    N = E\n    case _:    E
""".strip()
    .replace("\n", "|")
    .split("|")
)
STATEMENTS = [form.replace(r"\n", "\n") for form in STATEMENTS]


class Grammar:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def fill(self, form: str, fuel: int) -> str:
        """Put something in the place of each capital letter that stands for something."""

        def one(match: re.Match[str]) -> str:
            kind = match[0]
            if kind == "N":
                return self.random.choice("x w g n a b xs need k".split())
            if kind == "S":
                return "\n" + textwrap.indent(self.block(fuel - 1), "    ") + "\n"
            if kind == "T":
                return self.fill(self.random.choice(TARGETS[:4] if fuel <= 0 else TARGETS), fuel - 1)
            return self.expression(fuel - 1)

        return re.sub(r"\b[ENT]\b|(?<=:)S", one, form)

    def expression(self, fuel: int) -> str:
        if fuel <= 0 or self.random.random() < 0.3:
            return self.random.choice(ATOMS)
        return f"({self.fill(self.random.choice(EXPRESSIONS), fuel)})"

    def block(self, fuel: int) -> str:
        return "\n".join(self.statement(fuel) for _ in range(self.random.randint(1, 4)))

    def statement(self, fuel: int) -> str:
        forms = STATEMENTS if fuel > 0 else [s for s in STATEMENTS if ":S" not in s]
        for _ in range(8):
            made = self.fill(self.random.choice(forms), min(fuel, 3))
            if compiles("def f():\n while x:\n" + textwrap.indent(made, "  ")):
                return made
        return "pass"

    def file(self) -> str:
        """A file with a Function; now and then one that Python does not accept, which is as well."""
        return "import torch\n" + "".join(
            f"{header}\n{textwrap.indent(self.block(3), indent)}\n"
            for header, indent in (
                (self.random.choice(("def helper(a, *b, k=None):", "helper = lambda a: a\ndef other():")), "    "),
                ("class F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x, w=None, *xs):", "        "),
                (self.random.choice(("    @staticmethod\n", "    @deco\n", "")) + "    def backward(ctx, g, *gs):", "        "),
            )
        )


def compiles(source: str) -> bool:
    try:
        compile(source, "<fuzz>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def check(source: bytes) -> Report:
    return engine.check(source, "f.py", RULES, Settings())


def assert_sound(report: Report, source: bytes) -> None:
    """Its places are in the file, and nothing went wrong inside."""
    for failure in report.failures:
        assert "internal error" not in failure.message, failure.message
        assert failure.line >= 1
        assert failure.column >= 1
        assert failure.message.strip(": ")
    lines = re.split(r"\r\n|\r|\n", source.decode("utf-8-sig")) if report.diagnostics else []

    def inside(place: Range) -> bool:
        return place.start <= place.end and all(_exists(p, lines) for p in (place.start, place.end))

    for found in report.diagnostics:
        assert inside(found.range), found
        assert inside(found.statement), found
        assert found.statement.start <= found.range.start <= found.range.end <= found.statement.end, found
        assert all(inside(step.range) for step in found.flow), found
        assert found.message
        assert len(found.fingerprint) == 32
    assert len({d.fingerprint for d in report.diagnostics}) == len(report.diagnostics)


def _exists(at: Position, lines: list[str]) -> bool:
    return 1 <= at.line <= len(lines) and 1 <= at.column <= len(lines[at.line - 1]) + 1


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_any_program_is_followed() -> None:
    valid = 0
    for seed in range(COUNT):
        source = Grammar(seed).file()
        report = check(source.encode())
        assert_sound(report, source.encode())
        if compiles(source):
            valid += 1
            assert not report.failures, f"{report.failures}\n{source}"
    assert valid > COUNT // 4


# Damage ---------------------------------------------------------------------------------------------------------------------

REAL = [block.source.encode() for rule in RULES for block in pages.read(rule.page).blocks]
COOKIES = """utf-8 latin-1 iso-8859-15 ascii cp1252 klingon utf-16 utf-7 idna
punycode rot13 zlib hex undefined unicode_escape utf-8-sig""".split()
SNIPPETS = [
    b"\0",
    b"\r",
    b"\r\n",
    b"\x0c",
    b"\t",
    b"\xef\xbb\xbf",
    b"\xe9",
    b"\xff\xfe",
    "\u2028".encode(),
    "\u00e9".encode(),
    b"\\\n",
    b"'''",
    b"(",
    b"\x1a",
]


def damaged(seed: int) -> bytes:
    rng = random.Random(seed)
    source = rng.choice(REAL)
    for _ in range(rng.randint(1, 3)):
        at, lines = rng.randrange(len(source) + 1), source.splitlines(keepends=True)
        match rng.randrange(9):
            case 0:
                source = source[:at]
            case 1 if lines:
                del lines[rng.randrange(len(lines))]
                source = b"".join(lines)
            case 2:
                source = source[:at] + rng.choice(SNIPPETS) + source[at:]
            case 3:
                source = source.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\x0c")))
            case 4:
                source = b"\xef\xbb\xbf" + source
            case 5:
                source = source.replace(b"    ", b"\t")
            case 6:
                source = f"# -*- coding: {rng.choice(COOKIES)} -*-\n".encode() + source
            case 7 if lines:
                rng.shuffle(lines)
                source = b"".join(lines)
            case _:
                source = source[:at] + bytes([rng.randrange(256)]) + source[at + 1 :]
    return source


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_damaged_files_are_reported_or_refused() -> None:
    for seed in range(COUNT):
        source = damaged(seed)
        report = check(source)
        try:
            source.decode("utf-8-sig")
        except UnicodeDecodeError:
            continue  # a file in another encoding; its places count other characters
        if b"coding:" not in source:
            assert_sound(report, source)


def inputs() -> Iterator[bytes]:
    yield from REAL
    yield from (Grammar(seed).file().encode() for seed in range(40))


SCRIPT = """
import sys
sys.path[:0] = {path!r}
from flow import test_fuzz
print([test_fuzz.check(source) for source in test_fuzz.inputs()])
"""


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_the_same_is_said_each_time() -> None:
    """Here twice, and in processes that hash strings otherwise."""
    assert [check(source) for source in inputs()] == [check(source) for source in inputs()]
    script = SCRIPT.format(path=[str(Path(__file__).parents[1]), str(Path(__file__).parents[2])])
    told: list[list[str]] = []
    for seed in "0123":
        command = [sys.executable, "-W", "ignore", "-c", script]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        told.append(subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.split("Report("))
    for reports in zip(*told, strict=True):
        assert len({*reports}) == 1, "\n".join({*reports})
