"""What the interpreter follows, one way of writing at a time.

In each source a read of `requires_grad` is marked with what the tensor may be there: `# x` is the argument itself, `# view x` a
view of it, and so on; `# ?` is something that nothing is claimed of. A mark may name several. A read that is not of an argument
has none.
"""

from __future__ import annotations

import ast
import re
import textwrap

import pytest

from autograd_lint import engine, registry
from autograd_lint.diagnostic import Failure, Report
from autograd_lint.flow.events import FlagRead
from autograd_lint.flow.values import Alias, Relation
from autograd_lint.model import Function
from autograd_lint.settings import Settings

WORDS = {
    Relation.IS: "",
    Relation.VIEW: "view ",
    Relation.MAY_COPY: "copy? ",
    Relation.DETACHED: "detached ",
    Relation.COPY: "copy ",
}


def functions(source: str) -> list[Function]:
    followed = list(engine.follow(textwrap.dedent(source).encode(), "f.py", Settings()))
    assert not any(isinstance(one, Failure) for one in followed)
    return [one for one in followed if isinstance(one, Function)]


def said(alias: Alias) -> str:
    return ("own " if alias.own else "") + WORDS[alias.relation] + alias.origin.name if alias.origin.kind == "input" else "?"


def reads(function: Function) -> dict[int, set[str]]:
    """By line, what the tensor may be whose flag is read."""
    out: dict[int, set[str]] = {}
    for read in function.of(FlagRead):
        place = next(r for s in function.segments if (r := s.range(read.node)) is not None)
        out.setdefault(place.start.line, set()).update(map(said, read.tensor.same))
    return out


def marks(source: str) -> dict[int, set[str]]:
    lines = textwrap.dedent(source).split("\n")
    found = ((number, re.search(r"# (.+)", line)) for number, line in enumerate(lines, 1))
    return {number: set(mark[1].split(", ")) for number, mark in found if mark is not None}


def forward(body: str, parameters: str = "x, y") -> str:
    return (
        "import torch\n\nclass F(torch.autograd.Function):\n    @staticmethod\n"
        f"    def forward(ctx, {parameters}):\n" + textwrap.indent(textwrap.dedent(body).strip(), "        ") + "\n"
    )


BODIES = {
    "a name": "x.requires_grad  # x",
    "another name": "z = x\nz.requires_grad  # x",
    "two names at once": "a = b = x.t()\nb.requires_grad  # view x",
    "an annotated name": "z: torch.Tensor = x.t()\nz.requires_grad  # view x",
    "a view": "x.view(-1).requires_grad  # view x",
    "a view of a view": "x.t()[0].requires_grad  # view x",
    "a copy of a view": "x.t().clone().requires_grad  # copy x",
    "a view of a copy": "x.clone().t().requires_grad  # copy x",
    "what may be a copy": "x.contiguous().t().requires_grad  # copy? x",
    "detached": "x.detach().requires_grad  # detached x",
    "data": "x.data.requires_grad  # detached x",
    "the same object": "x.requires_grad_(True).requires_grad  # own x",
    "an operator": "(x + y).requires_grad  # copy x, copy y",
    "a function of torch": "torch.flatten(x, 0, 1).requires_grad  # copy? x",
    "a keyword of a function": "torch.flatten(input=x, start_dim=0).requires_grad  # copy? x",
    "a list of tensors": "torch.cat([x, y]).requires_grad  # copy x, copy y",
    "a branch": "if ctx.n:\n    x = x.t()\nx.requires_grad  # x, view x",
    "both branches": "if ctx.n:\n    z = x\nelse:\n    z = y.t()\nz.requires_grad  # x, view y",
    "elif": "if ctx.n:\n    z = x\nelif ctx.m:\n    z = y\nelse:\n    z = x.t()\nz.requires_grad  # x, y, view x",
    "a branch that returns": "if ctx.n:\n    x = x.t()\n    return x\nx.requires_grad  # x",
    "a branch that raises": "if ctx.n:\n    x = x.t()\n    raise ValueError\nx.requires_grad  # x",
    "a conditional expression": "z = x if ctx.n else y.t()\nz.requires_grad  # x, view y",
    "or": "z = None or x.t()\nz.requires_grad  # view x",
    "a walrus": "if (z := x.t()).requires_grad:  # view x\n    z.requires_grad  # view x",
    "a swap": "x, y = y, x\nx.requires_grad  # y",
    "a tuple": "pair = x, y.t()\npair[1].requires_grad  # view y",
    "an index from the end": "pair = x, y.t()\npair[-1].requires_grad  # view y",
    "a slice": "a, b = (x, y, x.t())[1:]\nb.requires_grad  # view x",
    "a star": "a, *rest = x, y, x.t()\nrest[1].requires_grad  # view x",
    "a star in front": "*rest, a = x, y, x.t()\na.requires_grad  # view x",
    "a nested tuple": "(a, b), c = (x, y.t()), x\nb.requires_grad  # view y",
    "a list": "xs = [x, y.t()]\nxs[1].requires_grad  # view y",
    "a star in a list": "xs = [x]\nys = [y, *xs]\nys[1].requires_grad  # x",
    "append": "xs = []\nxs.append(x.t())\nxs[0].requires_grad  # view x",
    "append in a loop": "xs = []\nfor z in (x, y):\n    xs.append(z.t())\nxs[1].requires_grad  # view x, view y",
    "a sum of lists": "xs = [x] + [y.t()]\nxs[1].requires_grad  # view y",
    "an item that is set": "xs = [x, y]\nxs[0] = y.t()\nxs[0].requires_grad  # view y",
    "an augmented assignment": "x = x.t()\nx += y\nx.requires_grad  # view x",
    "a loop over a tuple": "for z in (x, y.t()):\n    z.requires_grad  # x, view y",
    "a loop that carries": "z = x\nfor _ in range(3):\n    z.requires_grad  # x, view x\n    z = z.t()",
    "a while loop": "z = x\nwhile ctx.n:\n    z = z.contiguous()\nz.requires_grad  # x, copy? x",
    "a loop that breaks": "z = x\nfor _ in range(3):\n    if ctx.n:\n        z = y\n        break\nz.requires_grad  # x, y",
    "a loop that goes on": "z = x\nfor _ in range(3):\n    if ctx.n:\n        continue\n    z = y\nz.requires_grad  # x, y",
    "the else of a loop": "z = x\nfor _ in range(3):\n    pass\nelse:\n    z = y\nz.requires_grad  # y",
    "with": "with torch.no_grad() as z:\n    x = x.t()\nx.requires_grad  # view x",
    "try": "z = x\ntry:\n    z = y\nexcept ValueError:\n    pass\nz.requires_grad  # x, y",
    "a state between two statements of try": (
        "z = x\ntry:\n    z = x.t()\n    ctx.f()\n    z = y\nexcept ValueError:\n    z.requires_grad  # x, view x"
    ),
    "finally": "z = x\ntry:\n    z = y\nfinally:\n    z.requires_grad  # x, y\nz.requires_grad  # y",
    "match": "match ctx.n:\n    case 1:\n        z = x\n    case _:\n        z = y.t()\nz.requires_grad  # x, view y",
    "a comprehension": "xs = [z.contiguous() for z in (x, y)]\nxs[1].requires_grad  # copy? y",
    "a filtered comprehension": "for z in [z.t() for z in (x, y) if ctx.n]:\n    z.requires_grad  # view x, view y",
    "a generator": "for z in (z.t() for z in (x, y)):\n    z.requires_grad  # view x, view y",
    "a comprehension unpacked": "x, y = [z.t() for z in (x, y)]\ny.requires_grad  # view y",
    "zip": "for a, b in zip((x, y), (y, x.t())):\n    b.requires_grad  # y, view x",
    "enumerate": "for i, z in enumerate((x, y.t())):\n    z.requires_grad  # x, view y",
    "map": "a, b = map(lambda z: z.t(), (x, y))\nb.requires_grad  # view y",
    "map of a function of torch": "a, b = map(torch.flatten, (x, y))\nb.requires_grad  # copy? y",
    "reversed": "a, b = reversed((x, y))\na.requires_grad  # y",
    "list and tuple": "xs = list(tuple([x, y]))\nxs[1].requires_grad  # y",
    "chunks": "a, b = x.chunk(2)\nb.requires_grad  # view x",
    "any": "any(z.requires_grad for z in (x, y.t()))  # x, view y",
    "all": "all([z.requires_grad for z in (x, y)])  # x, y",
    "getattr": 'getattr(x.t(), "requires_grad", False)  # view x',
    "a lambda": "f = lambda z: z.t()\nf(x).requires_grad  # view x",
    "a lambda's own read": "f = lambda z: z.requires_grad  # view x\nf(x.t())",
    "a nested function": "def f(z):\n    return z.t()\nf(x).requires_grad  # view x",
    "a nested function that sees outside": "def f():\n    return x.t()\nf().requires_grad  # view x",
    "a nested function that is defined first": "def f():\n    return z\nz = y\nf().requires_grad  # y",
    "enable_grad": "with torch.enable_grad():\n    z = x.detach().requires_grad_()\n    z.t().requires_grad  # own detached x",
    "set_grad_enabled": "with torch.set_grad_enabled(True):\n    (x * 2).requires_grad  # own copy x",
    "a flag set by assignment": "z = x.detach()\nz.requires_grad = True\nz.requires_grad  # own detached x",
    "a flag set by another name": "z = x.detach()\nu = z\nu.requires_grad_()\nz.requires_grad  # own detached x",
    "deleted and bound again": "z = x\ndel z\nz = y\nz.requires_grad  # y",
    # Where nothing can be claimed.
    "an unknown function": "z = kernel(x)\nz.requires_grad",
    "an unknown method": "z = x.frobnicate()\nz.requires_grad",
    "an unknown function on one branch": "z = x.t()\nif ctx.n:\n    z = kernel(x)\nz.requires_grad  # view x, ?",
    "a new tensor": "z = torch.zeros_like(x)\nz.requires_grad",
}


@pytest.mark.parametrize("name", BODIES)
def test_in_forward(name: str) -> None:
    source = forward(BODIES[name])
    (function,) = functions(source)
    assert reads(function) == marks(source)


SOURCES = {
    "saved": """
        import torch
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, w):
                ctx.save_for_backward(x.contiguous(), w)
                return x @ w
            @staticmethod
            def backward(ctx, g):
                x, w = ctx.saved_tensors
                x.requires_grad  # copy? x
                ctx.saved_tensors[1].requires_grad  # w
    """,
    "saved through a star": """
        import torch
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, w):
                ctx.save_for_backward(*[x.t(), w])
                return x @ w
            @staticmethod
            def backward(ctx, g):
                x, w = ctx.saved_tensors
                x.requires_grad  # view x
    """,
    "kept on ctx": """
        import torch
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, w):
                ctx.x = x.t()
                setattr(ctx, "w", w)
                return x @ w
            @staticmethod
            def backward(ctx, g):
                ctx.x.requires_grad  # view x
                ctx.w.requires_grad  # w
    """,
    "setup_context": """
        import torch
        class F(torch.autograd.Function):
            @staticmethod
            def forward(x, w):
                return x @ w
            @staticmethod
            def setup_context(ctx, inputs, output):
                x, w = inputs
                ctx.save_for_backward(x.t(), inputs[1])
            @staticmethod
            def backward(ctx, g):
                x, w = ctx.saved_tensors
                x.requires_grad  # view x
                w.requires_grad  # w
    """,
    "any name for ctx": """
        import torch
        class F(torch.autograd.Function):
            @staticmethod
            def forward(self, x):
                self.save_for_backward(x.t())
                return x
            @staticmethod
            def backward(context, g):
                x, = context.saved_tensors
                x.requires_grad  # view x
    """,
    "star arguments, indexed": """
        import torch
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, n, *args):
                args[1].t().requires_grad  # view args[1]
    """,
    "star arguments, unpacked": """
        import torch
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, *args):
                x, w = args
                w.requires_grad  # args[1]
    """,
    "star arguments, one by one": """
        import torch
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, *args):
                for a in args:
                    a.requires_grad  # args
    """,
    "star arguments, sliced": """
        import torch
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, *args):
                for a in args[1:]:
                    a.requires_grad  # args
    """,
    "a helper": """
        import torch
        def helper(a, b, scale=1, *, out=None):
            return b.t() if out is None else a
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, w):
                helper(x, w).requires_grad  # view w
                helper(b=x, a=w).requires_grad  # view x
                helper(x, w, out=x).requires_grad  # view w, x
    """,
    "the flag in a helper": """
        import torch
        def helper(a):
            return a.requires_grad  # view x
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                helper(x.t())
    """,
    "a helper that fills ctx": """
        import torch
        def keep(ctx, x):
            ctx.save_for_backward(x.t())
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                keep(ctx, x)
                return x
            @staticmethod
            def backward(ctx, g):
                x, = ctx.saved_tensors
                x.requires_grad  # view x
    """,
    "star arguments of a helper": """
        import torch
        def helper(*args):
            return args[1]
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, w):
                helper(x, w.t()).requires_grad  # view w
                helper(*(w, x)).requires_grad  # x
    """,
    "recursion": """
        import torch
        def helper(a, n):
            if n:
                return helper(a.t(), n - 1)
            return a
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, n):
                helper(x, n).requires_grad  # x, ?
    """,
    "static and class methods": """
        import torch
        class F(torch.autograd.Function):
            @staticmethod
            def one(a):
                return a.t()
            @classmethod
            def two(cls, a):
                return cls.one(a)
            @staticmethod
            def forward(ctx, x):
                F.one(x).requires_grad  # view x
                F.two(x).requires_grad  # view x
    """,
    "methods that are classmethods": """
        import torch
        class F(torch.autograd.Function):
            @classmethod
            def forward(cls, ctx, x):
                x.t().requires_grad  # view x
    """,
    "a decorator of the file": """
        import torch
        def contiguous_arguments(fn):
            def inner(ctx, *args):
                return fn(ctx, *(a.contiguous() for a in args))
            return inner
        class F(torch.autograd.Function):
            @staticmethod
            @contiguous_arguments
            def forward(ctx, x, y):
                y.requires_grad  # copy? y
    """,
    "a decorator with arguments": """
        import torch
        def contiguous_arguments(count):
            def decorate(fn):
                def inner(ctx, *args):
                    return fn(ctx, *[a.contiguous() for a in args])
                return inner
            return decorate
        class F(torch.autograd.Function):
            @staticmethod
            @contiguous_arguments(2)
            def forward(ctx, x, y):
                y.requires_grad  # copy? y
    """,
    "a decorator known by name": """
        import torch
        from elsewhere import ensure_contiguous
        class F(torch.autograd.Function):
            @staticmethod
            @ensure_contiguous
            def forward(ctx, x):
                x.requires_grad  # copy? x
    """,
    "custom_fwd": """
        import torch
        class F(torch.autograd.Function):
            @staticmethod
            @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float16)
            def forward(ctx, x):
                x.requires_grad  # copy? x
    """,
    "an unknown decorator": """
        import torch
        from elsewhere import traced
        class F(torch.autograd.Function):
            @staticmethod
            @traced(level=2)
            def forward(ctx, x):
                x.t().requires_grad  # view x
    """,
    "aliases of imports": """
        import torch as t
        from torch import flatten as flat
        from torch.autograd import Function as Base
        import torch.nn.functional as F
        class Op(Base):
            @staticmethod
            def forward(ctx, x):
                flat(x, 0, 1).requires_grad  # copy? x
                t.clone(x).requires_grad  # copy x
                F.relu(x).requires_grad  # copy x
    """,
    "a class within a class": """
        import torch
        class Outer:
            class F(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x):
                    x.t().requires_grad  # view x
    """,
    "a class within a function": """
        from torch.autograd import Function
        def make():
            class F(Function):
                @staticmethod
                def forward(ctx, x):
                    x.t().requires_grad  # view x
            return F
    """,
}


@pytest.mark.parametrize("name", SOURCES)
def test_across_functions(name: str) -> None:
    source = SOURCES[name]
    (function,) = functions(source)
    assert reads(function) == marks(source)


def test_a_derived_function_runs_what_it_inherits() -> None:
    source = """
        import torch
        class Base(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x.t())
                return x
            @staticmethod
            def backward(ctx, g):
                x, = ctx.saved_tensors
                x.requires_grad
        class Derived(Base):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x.clone())
                return x
    """
    assert [reads(function) for function in functions(source)] == [{11: {"view x"}}, {11: {"copy x"}}]


NOT_OURS = {
    "paddle": "from paddle.autograd import PyLayer as Function",
    "chainer": "from chainer import Function",
    "HIPS autograd": "from autograd.core import Function",
    "the file's own class": "class Function:\n    pass",
    "nothing": "",
}


@pytest.mark.parametrize("name", NOT_OURS)
def test_functions_of_others_are_not_ours(name: str) -> None:
    source = f"{NOT_OURS[name]}\nclass F(Function):\n    @staticmethod\n    def forward(ctx, x):\n        x.t().requires_grad\n"
    assert functions(source) == []


# Rules, for what shows only in conditions ------------------------------------------------------------------------------------


def check(source: str) -> Report:
    return engine.check(textwrap.dedent(source).encode(), "f.py", [*registry.load().values()], Settings())


def backward(body: str) -> str:
    return (
        "import torch\n\nclass F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x, w, bias=None):\n"
        "        ctx.need = w.requires_grad\n        ctx.save_for_backward(x, w, bias)\n        return x @ w\n\n"
        "    @staticmethod\n    def backward(ctx, g):\n        x, w, bias = ctx.saved_tensors\n"
        + textwrap.indent(textwrap.dedent(body).strip(), "        ")
        + "\n"
    )


@pytest.mark.parametrize(
    "body",
    [
        "if ctx.needs_input_grad[1]:\n    gw = x\nif ctx.need:\n    use(gw)",
        "need = ctx.needs_input_grad[1]\nif need:\n    gw = x\nif need:\n    use(gw)",
        "a, b, c = ctx.needs_input_grad\nif b:\n    gw = x\nif ctx.needs_input_grad[1]:\n    use(gw)",
        "if any(ctx.needs_input_grad[:2]):\n    t = x\nif ctx.needs_input_grad[1]:\n    use(t)",
        "if not ctx.needs_input_grad[1]:\n    return g, None, g\nelse:\n    gw = x\nuse(gw)",
        "if ctx.needs_input_grad[1] is True:\n    gw = x\nif ctx.needs_input_grad[1]:\n    use(gw)",
        "if bool(ctx.needs_input_grad[1]):\n    gw = x\nuse(gw if ctx.needs_input_grad[1] else None)",
        "if bias is not None and ctx.needs_input_grad[2]:\n    gb = g\nif ctx.needs_input_grad[2]:\n    use(gb)",
    ],
)
def test_a_flag_is_known_by_any_name(body: str) -> None:
    assert check(backward(body + "\nreturn g, g, g")).diagnostics == []


@pytest.mark.parametrize(
    "body",
    [
        "if ctx.needs_input_grad[1]:\n    gw = x\nuse(gw)",
        "if ctx.need:\n    gw = x\nuse(gw)",
        "need = ctx.needs_input_grad[1] and True\nif need:\n    gw = x\nuse(gw)",
        "if all(ctx.needs_input_grad):\n    gw = x\nif ctx.needs_input_grad[1]:\n    use(gw)",
        "if w.requires_grad:\n    gw = x\nuse(gw)",
        'if getattr(w, "requires_grad", False):\n    gw = x\nuse(gw)',
        "for i in range(3):\n    if ctx.needs_input_grad[1]:\n        gw = x\n    use(gw)",
    ],
)
def test_a_flag_that_is_not_asked_again_is_reported(body: str) -> None:
    source = backward(body + "\nreturn g, g, g")
    line = next(n.lineno for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Call) and ast.unparse(n.func) == "use")
    assert [(d.code, d.range.start.line) for d in check(source).diagnostics] == [("AGL006", line)]


@pytest.mark.parametrize(
    "early",
    [
        "for i in range(n):\n    return x",
        "for i in range(n):\n    if i == 3:\n        return x",
        "for a in (x, w):\n    b = a\n    break\nx = b",
        "while n:\n    n = step(n)\n    return x",
        "\n".join(f"if n == {i}:\n    a{i} = x" for i in range(12)) + "\nif n == 20:\n    return x",
        "try:\n    n = int(n)\nexcept ValueError:\n    return x",
        "with lock:\n    if n:\n        return x",
    ],
)
def test_an_early_way_out_hides_nothing_behind_it(early: str) -> None:
    source = forward(early + "\nctx.n = n\nctx.save_for_backward(x.contiguous(), w)\nreturn x", "x, w, n") + textwrap.indent(
        "@staticmethod\ndef backward(ctx, g):\n    x, w = ctx.saved_tensors\n    n = ctx.n\n"
        "    return g if x.requires_grad else None, None, None\n",
        "    ",
    )
    assert [d.code for d in check(source).diagnostics] == ["AGL001"]
