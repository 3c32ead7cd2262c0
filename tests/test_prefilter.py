"""No file that the outline finds an autograd Function in may be passed over on its bytes."""

from __future__ import annotations

import itertools

import pytest

from autograd_lint import registry
from autograd_lint.outline import outline
from autograd_lint.prefilter import has_a_say, is_candidate
from autograd_lint.settings import Settings
from autograd_lint.source import Text

IMPORTS = {
    "import torch\n": "torch.autograd.Function",
    "from torch import autograd\n": "autograd.Function",
    "import torch.autograd as ag\n": "ag.Function",
    "import torch.autograd.function as f\n": "f.Function",
    "from torch.autograd import Function\n": "Function",
    "from torch.autograd import *\n": "Function",
    "from torch.autograd import (\n    Function as F,  # the base\n)\n": "F",
    "from torch.autograd.function import InplaceFunction\n": "InplaceFunction",
    "import torch\nBase = torch.autograd.Function\n": "Base",
    "import torch\nBase: type = torch.autograd.Function  # ours\n": "Base",
    "import torch; Base = torch.autograd.Function; x = 1\n": "Base",
    "import torch\nBase = torch.autograd.Function": "Base",
}
HEADERS = [
    "class A({}):\n    pass\n",
    "class A( {} ):\n    pass\n",
    "class A(object, {}):\n    pass\n",
    "class A({}, metaclass=type):\n    pass\n",
    "class A(\n    # a comment: with a colon\n    {},\n):\n    pass\n",
    "class A(\n    {}  # the base\n):\n    pass\n",
    "def make():\n\tclass A({}): pass\n",
    "class B({}):\n    pass\nclass A(B):\n    pass\n",
]


@pytest.mark.parametrize(("imports", "header"), list(itertools.product(IMPORTS, HEADERS)))
def test_functions_are_candidates(imports: str, header: str) -> None:
    source = imports + ("" if imports.endswith("\n") else "\n") + header.format(IMPORTS[imports])
    assert outline(Text(source), Settings()).functions
    assert is_candidate(source.encode(), Settings())
    assert is_candidate(source.replace("\n", "\r\n").encode(), Settings())


@pytest.mark.parametrize(
    "source",
    [
        "import torch\nclass M(torch.nn.Module):\n    pass\n",
        "class Mode(TorchFunctionMode):\n    '''like autograd'''\n",
        "# torch.autograd.Function\nclass A:\n    pass\n",
        "def f():\n    '''Returns an autograd Function\n    '''\nclass A:\n    pass\n",
    ],
)
def test_others_are_not(source: str) -> None:
    assert not is_candidate(source.encode(), Settings())


def test_named_bases_count_too() -> None:
    settings = Settings.extended(function_bases=("my.Base",))
    source = "from my import Base\nclass A(Base):\n    pass\n"
    assert outline(Text(source), settings).functions
    assert is_candidate(source.encode(), settings)
    assert not is_candidate(source.encode(), Settings())


def test_rules_say_what_they_look_for() -> None:
    rules = registry.load().values()
    assert has_a_say(b"x.requires_grad", rules)
    assert not has_a_say(b"x.shape", rules)
    assert has_a_say(b"is_grad_enabled()", [registry.find("AGL004")])
    assert not has_a_say(b"x.requires_grad", [registry.find("AGL004")])


@pytest.mark.parametrize(
    "text",
    [
        b"class A(" * 100_000,
        b"class A(" + b" " * 500_000,
        b"class " + b"Function " * 100_000,
        b"A = " + b"Function\n" * 100_000,
        b"class A[(" * 100_000 + b"Function)" * 100_000,
    ],
    ids=lambda text: text[:12].decode(),
)
def test_no_text_is_slow(text: bytes) -> None:
    """It would take minutes if the time grew with the square of the size."""
    is_candidate(b"autograd Function class\n" + text, Settings())
