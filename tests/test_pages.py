"""Every rule against its page: the blocks that a reader sees are linted and, where the page says so, run under torch."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autograd_lint import engine, pages, registry
from autograd_lint.api import Rule
from autograd_lint.diagnostic import Diagnostic, FlowStep
from autograd_lint.pages import Block, Page
from autograd_lint.settings import Settings

RULES = registry.load()
PAGES = {code: pages.read(rule.page) for code, rule in RULES.items()}
BLOCKS = [(page, block) for page in PAGES.values() for block in page.blocks]


def each_block(wanted: Callable[[Block], object]) -> pytest.MarkDecorator:
    chosen = [(page, block) for page, block in BLOCKS if wanted(block)]
    return pytest.mark.parametrize(("page", "block"), chosen, ids=[f"{page.path.name}:{block.line}" for page, block in chosen])


each_bad_block = each_block(lambda block: block.marks)
each_good_block = each_block(lambda block: not block.marks)
each_run_block = each_block(lambda block: block.run)

MESSAGE = re.compile(r"[a-z`](?:(?![.!?] [A-Z`]).)*[^.!?\s]")  # One sentence, without its capital and its period.
SITUATIONS = {
    "strided": re.compile(r"contiguous|strid|layout|cop(?:y|ies)"),
    "based": re.compile(r"\bview\b|\bbase\b"),
    "returned": re.compile(r"\bview\b|\bbase\b"),
}


def findings(page: Page, block: Block, *rules: Rule) -> list[Diagnostic]:
    report = engine.check(block.source.encode(), page.path.name, rules, Settings())
    assert not report.failures
    return report.diagnostics


def own_findings(page: Page, block: Block) -> list[Diagnostic]:
    return findings(page, block, RULES[page.code])


@each_bad_block
def test_bad_block_is_reported_where_marked(page: Page, block: Block) -> None:
    named = sorted({code for _, code in block.marks})
    assert page.code in named
    found = findings(page, block, *(RULES[code] for code in named))
    assert sorted((d.range.start.line, d.code) for d in found) == sorted(block.marks)


@each_good_block
def test_good_block_is_clean_for_every_rule(page: Page, block: Block) -> None:
    assert [(d.range.start.line, d.code, d.message) for d in findings(page, block, *RULES.values())] == []


@each_bad_block
def test_message_is_one_short_sentence(page: Page, block: Block) -> None:
    for found in own_findings(page, block):
        assert MESSAGE.fullmatch(found.message), found.message
        assert found.message.count("`") % 2 == 0, found.message
        assert len(found.message) <= 300, found.message


@each_bad_block
def test_finding_tells_its_story_and_helps(page: Page, block: Block) -> None:
    for found in own_findings(page, block):
        assert found.help
        assert found.flow
        for steps in _by_function(block, found.flow):
            lines = [step.range.start.line for step in steps]
            assert lines == sorted(lines), [step.text for step in found.flow]


def _by_function(block: Block, flow: tuple[FlowStep, ...]) -> Iterator[list[FlowStep]]:
    """A story goes down each function that it passes through, unless a loop leads it up again."""
    functions = [n for n in ast.walk(ast.parse(block.source)) if isinstance(n, (ast.FunctionDef, ast.Lambda))]
    straight = [f for f in functions if not any(isinstance(n, (ast.For, ast.While)) for n in ast.walk(f))]
    for function in straight:
        inner = {n for f in functions if f is not function and f in ast.walk(function) for n in range(f.lineno, _end(f))}
        own = set(range(function.lineno, _end(function))) - inner
        yield [step for step in flow if step.range.start.line in own]


def _end(function: ast.FunctionDef | ast.Lambda) -> int:
    assert function.end_lineno
    return function.end_lineno + 1


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_page_has_bad_and_good_blocks_to_read_and_to_run(page: Page) -> None:
    marked = {bool(block.marks) for block in page.blocks}
    run = {bool(block.marks) for block in page.blocks if block.run}
    assert marked == run == {True, False}


@each_block(lambda block: True)
def test_block_is_valid_and_introduced(page: Page, block: Block) -> None:
    ast.parse(block.source, f"{page.path}")
    if block.section == "Cases":
        assert block.intro, "say why it must or must not be reported"
        assert not block.intro.startswith(("#", "```")), "say why it must or must not be reported"


def test_no_block_stands_twice() -> None:
    trees = {f"{page.path.name}:{block.line}": ast.dump(ast.parse(block.code)) for page, block in BLOCKS}
    seen = Counter(trees.values())
    assert [place for place, tree in trees.items() if seen[tree] > 1] == []


@each_run_block
def test_block_does_what_the_page_says(page: Page, block: Block) -> None:
    """A bad block does the harm that it names, for the producers it names and no other; a good one does none."""
    pytest.importorskip("torch")
    from gradient_contract import PRODUCERS, check_gradients

    assert block.run
    harms = check_gradients(_function(page, block), _arguments(block))
    if not block.marks:
        assert harms == []
        return
    producers = block.run.producers or frozenset(PRODUCERS)
    assert {harm.producer for harm in harms if harm.kind == block.run.harm} == producers, harms
    if block.run.producers:
        messages = " ".join(found.message for found in own_findings(page, block))
        assert not [p for p in producers if not SITUATIONS[p].search(messages)], messages


def test_restored_flag_raises_under_vmap() -> None:
    """The gradients of the Example are right, so the contract has nothing to say about it: its harm is done by `torch.vmap`."""
    torch = pytest.importorskip("torch")
    page = PAGES["AGL003"]
    bad, good = (_function(page, next(b for b in page.blocks if b.section == s)) for s in ("Example", "Use instead"))
    x = torch.randn(2, 3, 4)
    assert torch.equal(torch.vmap(torch.func.grad(good.apply))(x), 2 * x)  # type: ignore[attr-defined]
    with pytest.raises(RuntimeError, match="requires_grad_"):
        torch.vmap(bad.apply)(x)  # type: ignore[attr-defined]


def _function(page: Page, block: Block) -> type:
    """The last Function that the block defines."""
    from torch.autograd import Function

    names: dict[str, object] = {"__name__": page.name}
    exec(compile(block.source, page.path, "exec"), names)
    return [c for c in names.values() if isinstance(c, type) and issubclass(c, Function) and c.__module__ == page.name][-1]


def _arguments(block: Block) -> list[object]:
    import torch

    assert block.run
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(a, generator=generator, dtype=torch.float64) if isinstance(a, list) else a for a in block.run.args]


PAGE = """\
# AGL999: some-rule

## What it does

Checks for
this.

## Cases

A case:

```python run ([2], 1.0) harm=lost in=op,leaf
x = 1
y = 2  # why  # error: AGL999, AGL998
```
"""


def test_lines_of_a_block_are_those_of_its_page() -> None:
    page = pages.parse(PAGE, Path("some_rule.md"))
    (block,) = page.blocks
    assert (page.title, page.summary) == ("AGL999: some-rule", "Checks for this.")
    assert (block.section, block.intro, block.line) == ("Cases", "A case:", 12)
    assert block.marks == ((14, "AGL999"), (14, "AGL998"))
    assert block.source.splitlines() == ["import torch", *[""] * 11, "x = 1", "y = 2  # why"]
    assert block.run == pages.Run(([2], 1.0), "lost", frozenset({"op", "leaf"}))


def test_block_that_imports_torch_gets_no_prelude() -> None:
    text = "# AGL999: some-rule\n```python\nfrom torch import nn\n```\n"
    (block,) = pages.parse(text, Path("some_rule.md")).blocks
    assert block.source.splitlines() == ["", "", "from torch import nn"]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "some_rule.md:1: expected a title"),
        ("# Some rule\n", "some_rule.md:1: expected a title"),
        ("# AGL999: some-rule\n## Cases\n## Cases\n", "some_rule.md:3: a second section 'Cases'"),
        ("# AGL999: some-rule\n```python\n", "some_rule.md:2: the fence is left open"),
        ("# AGL999: some-rule\n```python ran (1,)\n```\n", "some_rule.md:2: expected 'python'"),
        ("# AGL999: some-rule\n```python run (1)\n```\n", "some_rule.md:2: the arguments of `run` must be a tuple"),
    ],
)
def test_page_that_makes_no_sense(text: str, error: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(error)}"):
        pages.parse(text, Path("some_rule.md"))
