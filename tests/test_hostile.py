"""Sources that nobody writes and that generators do: deep, long, endless.

Each is followed or reported as not followed. The linter runs as a process of its own, since what is at stake is a crash of the
parser or a run without an end, and it runs as a user starts it.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

# Several times what the slowest of them takes on a slow machine; those without an end take years.
TIMEOUT = 15


def function(backward: str = "", forward: str = "", helpers: str = "", decorators: str = "", methods: str = "") -> str:
    """A file with one Function that loses a gradient (AGL001), and this in it."""
    return (
        f"import torch\n\n{helpers}\n\nclass F(torch.autograd.Function):\n"
        + textwrap.indent(f"{methods}\n@staticmethod\n{decorators}\ndef forward(ctx, x, w):\n", "    ")
        + textwrap.indent(f"{forward}\nctx.save_for_backward(x.contiguous(), w)\nreturn x @ w\n", "        ")
        + textwrap.indent("@staticmethod\ndef backward(ctx, g):\n", "    ")
        + textwrap.indent(f"x, w = ctx.saved_tensors\n{backward}\nneed = x.requires_grad\n", "        ")
        + textwrap.indent("return g @ w if need else None, None\n", "        ")
    )


def nested(header: Callable[[int], str], count: int, body: str = "y = x") -> str:
    """Blocks in blocks."""
    return "".join("  " * i + header(i) + "\n" for i in range(count)) + "  " * count + body + "\n"


def joined(form: str, count: int, by: str = "\n") -> str:
    """`form` with 0, 1, 2 … in the place of its braces."""
    return by.join(form.format(i) for i in range(count))


EXPRESSIONS = {
    "90 parentheses": "(" * 90 + "x" + ")" * 90,
    "3,000 parentheses": "(" * 3000 + "x" + ")" * 3000,
    "1,000 terms": "+".join(["x"] * 1000),
    "10,000 terms": "+".join(["x"] * 10_000),
    "50,000 terms": "+".join(["x"] * 50_000),
    "1,000 calls in a chain": "x" + ".t()" * 1000,
    "5,000 calls in a chain": "x" + ".t()" * 5000,
    "1,000 attributes": "x" + ".T" * 1000,
    "3,000 subscripts": "x" + "[0]" * 3000,
    "90 subscripts in subscripts": "x[" * 90 + "0" + "]" * 90,
    "900 times not": "not " * 900 + "x",
    "3,000 times not": "not " * 3000 + "x",
    "3,000 signs": "-" * 3000 + "x",
    "900 lambdas": "lambda: " * 900 + "x",
    "3,000 lambdas": "lambda: " * 3000 + "x",
    "3,000 conditional expressions": "1 if x else " * 3000 + "2",
    "3,000 times and": " and ".join(["x"] * 3000),
    "3,000 comparisons": " < ".join(["x"] * 3000),
    "a list of 50,000": "[" + ", ".join(["x"] * 50_000) + "]",
    "a dictionary of 10,000": "{" + joined("{}: x", 10_000, ", ") + "}",
    "3,000 strings in a row": " ".join(['"a"'] * 3000),
    "5,000 fields in a string": "f'" + "{x}" * 5000 + "'",
    "fields in fields": "f'{x:{x:{x}}}'",
    "comprehensions in comprehensions": "[" * 20 + "x" + "".join(f" for a{i} in [1, 2]]" for i in range(20)),
    "a comprehension with 12 loops": "[x " + " ".join(f"for a{i} in [1, 2, 3, 4]" for i in range(12)) + "]",
    "a comprehension with 60 loops": "[x " + " ".join(f"for a{i} in x" for i in range(60)) + "]",
}

STATEMENTS = {
    "500 elifs": "if x.ndim == 0:\n  a = x\n" + joined("elif x.ndim == {0}:\n  a = x + {0}", 500),
    "2,000 elifs": "if x.ndim == 0:\n  a = x\n" + joined("elif x.ndim == {0}:\n  a = x + {0}", 2000),
    "90 ifs in ifs": nested("if x{}:".format, 90),
    "15 loops in loops": nested("for a{} in x:".format, 15, "x = x.t()"),
    "15 while loops in while loops": nested("while a{}:".format, 15, "x = x.t()"),
    "15 try in try": nested(lambda i: "try:", 15) + "\n".join("  " * i + "except E: x = w" for i in reversed(range(15))),
    "15 with in with": nested(lambda i: "with x:", 15),
    "90 functions in functions": nested("def f{}():".format, 90, "return x") + "f0()",
    "10,000 lines": joined("a{0} = x + {0}", 10_000),
    "10,000 lines about one name": joined("y = x + {}", 10_000),
    "2,000 branches": joined("if x.ndim == {}:\n  x = x.contiguous()", 2000),
    "1,000 names bound in branches": joined("if x.ndim == {0}:\n  a{0} = x", 1000),
    "a loop with 200 branches": "for i in x:\n" + joined("  if i == {}:\n    x = x.contiguous()", 200),
    "a list that doubles": "xs = [x, w]\n" + "xs = xs + xs\n" * 300,
    "a list that doubles by stars": "xs = [x, w]\n" + "xs = [*xs, *xs]\n" * 30,
    "a list in itself": "xs = [x, w]\n" + "xs.append(xs)\n" * 300,
    "lists in lists": "xs = x\n" + "xs = [xs, xs]\n" * 40 + "ctx.a = xs\n",
    "lists in lists, some of them": "xs = x\n" + "xs = (xs, xs)\nif x.ndim == 3:\n  xs = (w, xs)\n" * 25,
    "64 times 64 times 64": "xs = [x] * 64\nfor i in range(3):\n  xs = [xs] * 64\n"
    + "ys = [[[a + b for a in xs] for b in xs] for c in xs]",
    "maps in maps": "xs = [x] * 60\nf = lambda a: list(map(lambda b: list(map(lambda c: c + a, xs)), xs))\nlist(map(f, xs))",
    "lambdas that double": "f0 = lambda a: a\n"
    + "".join(f"f{i} = lambda a: f{i - 1}(f{i - 1}(a))\n" for i in range(1, 30))
    + "y = f29(x)",
    "300 times or": "y = x\n" + "y = y or w\n" * 300,
    "500 cases": "match x:\n" + joined("  case {0}:\n    y = {0}", 500),
}

IDENTITY = "def f0(x):\n  return x\n"
HELPERS = {
    "helpers that double": (
        IDENTITY + "".join(f"def f{i}(x):\n  return f{i - 1}(f{i - 1}(x))\n" for i in range(1, 31)),
        "f30(x)",
    ),
    "helpers that call ten": (
        IDENTITY + "".join(f"def f{i}(x):\n  return [{', '.join([f'f{i - 1}(x)'] * 10)}]\n" for i in range(1, 9)),
        "f8(x)",
    ),
    "ten that call all others": (
        "".join(f"def f{i}(x):\n  return {' + '.join(f'f{j}(x)' for j in range(10) if j != i)}\n" for i in range(10)),
        "f0(x)",
    ),
    "a calls b calls a": ("def a(x):\n  return b(b(x))\ndef b(x):\n  return a(a(x))\n", "a(x)"),
    "a thousand in a row": (IDENTITY + "".join(f"def f{i}(x):\n  return f{i - 1}(x)\n" for i in range(1, 1000)), "f999(x)"),
    "a default that calls": ("def h(x, k=lambda: h(1)):\n  return k()\n", "h(x)"),
    "a thousand decorators": (
        "def deco(f):\n  def inner(*a, **k):\n    return f(*a, **k)\n  return inner\n"
        + "@deco\n" * 1000
        + "def h(x):\n  return x\n",
        "h(x)",
    ),
    "names that mean each other": ("a = b\nb = a\nc = c\nd = d.e\n", "a(x), c(x), d(x)"),
}

TOPLEVEL = {
    "classes in a cycle": (
        "class A(B): pass\nclass B(A): pass\nclass C(C, torch.autograd.Function): pass\n"
        "class D(E, torch.autograd.Function): pass\nclass E(D): pass\n"
    ),
    "a thousand classes in a row": "class C0(torch.autograd.Function): pass\n"
    + "".join(f"class C{i}(C{i - 1}): pass\n" for i in range(1, 1000)),
    "24 diamonds": "class C0: pass\n"
    + "".join(f"class A{i}(C{i}): pass\nclass B{i}(C{i}): pass\nclass C{i + 1}(A{i}, B{i}): pass\n" for i in range(24)),
    "300 Functions": joined("class K{}(torch.autograd.Function):\n  @staticmethod\n  def forward(ctx, x):\n    return x", 300),
    "90 Functions in Functions": nested("class N{}(torch.autograd.Function):".format, 90, "pass"),
}

DECORATED = "def deco(f):\n  def inner(*a, **k):\n    return f(*a, **k)\n  return inner\n"

SOURCES: dict[str, str] = {
    **{f"{name}, in backward": function(f"y = {text}") for name, text in EXPRESSIONS.items()},
    **{
        f"{name}, in a helper": function("h(x, w)", helpers=f"def h(x, w):\n  return {text}\n")
        for name, text in EXPRESSIONS.items()
    },
    **{f"{name}, elsewhere": function() + f"\nz = {text}\n" for name, text in EXPRESSIONS.items()},
    **{f"{name}, in backward": function(text) for name, text in STATEMENTS.items()},
    **{f"{name}, in forward": function(forward=text) for name, text in STATEMENTS.items()},
    **{name: function(f"y = {call}", helpers=text) for name, (text, call) in HELPERS.items()},
    **{name: function(helpers=text) for name, text in TOPLEVEL.items()},
    "a thousand decorators of forward": function(helpers=DECORATED, decorators="@deco\n" * 1000),
    "a thousand parameters": function(helpers="").replace("(ctx, x, w)", f"(ctx, x, w, {joined('a{}', 1000, ', ')})"),
}


def _frugal() -> None:
    """What doubles without an end shall not take the machine with it."""
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))


def lint(source: str, folder: Path) -> subprocess.CompletedProcess[str]:
    file = folder / "hostile.py"
    file.write_text(source)
    command = [sys.executable, "-m", "autograd_lint", "check", "--isolated", "--output-format", "concise", str(file)]
    root = Path(__file__).parents[1]
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False, cwd=root, preexec_fn=_frugal)


@pytest.mark.parametrize("name", SOURCES)
def test_is_followed_or_reported(name: str, tmp_path: Path) -> None:
    result = lint(SOURCES[name], tmp_path)
    assert result.returncode in (0, 1, 2), result.stderr
    assert "Traceback" not in result.stderr
    assert "internal error" not in result.stdout + result.stderr
    if result.returncode == 0:  # it was followed, so it has to find what is in every one of them
        pytest.fail(f"no finding and no failure:\n{result.stdout}")


# What others may write must not stop the linter from reading the rest.
READABLE: Mapping[str, str] = {
    name: SOURCES[name]
    for name in (
        "1,000 calls in a chain, in backward",
        "500 elifs, in forward",
        "a list of 50,000, in backward",
        "10,000 lines, in backward",
        "90 ifs in ifs, in backward",
        "10,000 terms, elsewhere",
        "helpers that double",
        "a calls b calls a",
    )
}


@pytest.mark.parametrize("name", READABLE)
def test_is_followed(name: str, tmp_path: Path) -> None:
    result = lint(READABLE[name], tmp_path)
    assert (result.returncode, result.stderr) == (1, "")
    assert "AGL001" in result.stdout
