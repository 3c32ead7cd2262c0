"""Which classes of a file are autograd Functions, and what its names mean."""

from __future__ import annotations

import textwrap

import pytest

from autograd_lint.outline import Definition, Outline, bases, outline
from autograd_lint.settings import Settings
from autograd_lint.source import SourceError, Text


def outlined(source: str, settings: Settings | None = None) -> Outline:
    return outline(Text(textwrap.dedent(source)), settings or Settings())


def symbols(source: str, settings: Settings | None = None) -> list[str]:
    return [made.symbol for made in outlined(source, settings).functions]


IS_ONE = {
    "by its full name": "import torch\nclass F(torch.autograd.Function): ...",
    "without an import": "class F(torch.autograd.Function): ...",
    "torch under another name": "import torch as t\nclass F(t.autograd.Function): ...",
    "a submodule": "import torch.autograd\nclass F(torch.autograd.Function): ...",
    "a submodule under another name": "import torch.autograd as ag\nclass F(ag.Function): ...",
    "from torch": "from torch import autograd\nclass F(autograd.Function): ...",
    "from torch.autograd": "from torch.autograd import Function\nclass F(Function): ...",
    "under another name": "from torch.autograd import Function as Base\nclass F(Base): ...",
    "where it is defined": "from torch.autograd.function import Function\nclass F(Function): ...",
    "InplaceFunction": "from torch.autograd.function import InplaceFunction\nclass F(InplaceFunction): ...",
    "a star import": "from torch.autograd import *\nclass F(Function): ...",
    "an assignment": "import torch\nBase = torch.autograd.Function\nclass F(Base): ...",
    "two assignments": "import torch\nA = torch.autograd\nB = A.Function\nclass F(B): ...",
    "an annotated assignment": "import torch\nBase: type = torch.autograd.Function\nclass F(Base): ...",
    "an import in try": "try:\n    from torch.autograd import Function\nexcept E:\n    Function = object\nclass F(Function): ...",
    "an import in if": "if True:\n    import torch as t\nclass F(t.autograd.Function): ...",
    "an import in a function": "def f():\n    from torch.autograd import Function\n    class F(Function): ...\n    return F",
    "among other bases": "import torch\nclass F(Mixin, torch.autograd.Function): ...",
    "a generic": "import torch\nclass F(torch.autograd.Function[int]): ...",
    "with keywords": "import torch\nclass F(torch.autograd.Function, metaclass=M): ...",
    "defined under if": "import torch\nif torch.cuda.is_available():\n    class F(torch.autograd.Function): ...",
    "defined under else of try": "import torch\ntry:\n    f()\nexcept E: ...\nelse:\n    class F(torch.autograd.Function): ...",
    "defined under except": "import torch\ntry:\n    pass\nexcept E:\n    class F(torch.autograd.Function): ...",
    "defined under with": "import torch\nwith lock:\n    class F(torch.autograd.Function): ...",
    "defined under for": "import torch\nfor i in range(3):\n    class F(torch.autograd.Function): ...",
    "defined under match": "import torch\nmatch x:\n    case 1:\n        class F(torch.autograd.Function): ...",
}


@pytest.mark.parametrize("name", IS_ONE)
def test_is_an_autograd_function(name: str) -> None:
    assert [s.rpartition(".")[2] for s in symbols(IS_ONE[name])] == ["F"]


IS_NONE = {
    "another framework": "import paddle\nclass F(paddle.autograd.PyLayer): ...",
    "another Function": "from chainer import Function\nclass F(Function): ...",
    "a module": "import torch\nclass F(torch.nn.Module): ...",
    "a class of that name in the file": "class Function: ...\nclass F(Function): ...",
    "a class of that name that replaces it": "from torch.autograd import Function\nclass Function: ...\nclass F(Function): ...",
    "a keyword only": "import torch\nclass F(metaclass=torch.autograd.Function): ...",
    "a string": "import torch\nF = 'class F(torch.autograd.Function): ...'",
    "torch that is another module": "import mytorch as torch\nclass F(torch.autograd.Function): ...",
    "a name of another class": "import torch\nclass A:\n    Base = torch.autograd.Function\nclass F(Base): ...",
    "names that mean each other": "a = b\nb = a\nclass F(a): ...",
}


@pytest.mark.parametrize("name", IS_NONE)
def test_is_no_autograd_function(name: str) -> None:
    assert symbols(IS_NONE[name]) == []


def test_derived_classes_are_functions_too() -> None:
    source = """
        import torch
        class A(torch.autograd.Function): ...
        class B(A): ...
        class C(Mixin, B): ...
        class Mixin: ...
    """
    assert symbols(source) == ["A", "B", "C"]
    last = outlined(source).functions[-1]
    assert [base.name for base in bases(last)] == ["Mixin", "B", "A"]


def test_a_cycle_of_bases_ends() -> None:
    source = "import torch\nclass A(B): ...\nclass B(A): ...\nclass C(C, torch.autograd.Function): ...\n"
    assert symbols(source) == ["C"]
    assert [base.name for base in bases(outlined(source).functions[0])] == []


def test_symbols_are_dotted() -> None:
    source = """
        import torch
        class Outer:
            class F(torch.autograd.Function):
                class Inner(torch.autograd.Function): ...
        def make():
            class G(torch.autograd.Function): ...
    """
    assert symbols(source) == ["Outer.F", "Outer.F.Inner", "make.G"]


def test_more_bases_by_settings() -> None:
    source = "from mylib import Op\nclass F(Op): ...\n"
    assert symbols(source) == []
    assert symbols(source, Settings.extended(function_bases=("mylib.Op",))) == ["F"]


def test_a_function_does_not_see_the_names_of_the_class_around_it() -> None:
    source = """
        import torch
        class Outer:
            name = torch.autograd
            def method(self):
                class F(name.Function): ...
            class G(name.Function): ...
    """
    assert symbols(source) == ["Outer.G"]


def test_what_names_mean() -> None:
    scope = outlined("""
        import torch, numpy as np
        import torch.nn.functional as F
        from . import ops
        from ..lib import kernel as k
        def helper(): ...
        other = helper
    """).scope
    assert scope.lookup("torch") == "torch"
    assert scope.lookup("np") == "numpy"
    assert scope.lookup("F") == "torch.nn.functional"
    assert scope.lookup("ops") == "..ops"
    assert scope.lookup("k") == "..lib.kernel"
    assert isinstance(scope.lookup("helper"), Definition)
    assert scope.lookup("nothing") is None


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("x = (\n", 1),
        ("def f():\n    return )\n", 2),
        ("class F:\n", 1),
        ("x = 1\n y = 2\n", 2),
        ("a\0b\n", 1),
        ("(" * 500 + ")" * 500, 1),
    ],
)
def test_a_syntax_error_has_a_place(source: str, line: int) -> None:
    with pytest.raises(SourceError) as caught:
        outline(Text(source), Settings())
    assert caught.value.line == line
    assert not caught.value.message.endswith(": ")


def test_an_error_without_words_is_named() -> None:
    with pytest.raises(SourceError, match=r"cannot be parsed: \S|syntax error: \S"):
        outline(Text("lambda: " * 5000 + "x"), Settings())
