"""One file in, one report out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from autograd_lint import engine, outline, registry
from autograd_lint.api import Check, Finding, Function, Return, Rule, Step
from autograd_lint.diagnostic import Diagnostic, Report
from autograd_lint.settings import Settings

RULES = tuple(registry.load().values())

SOURCE = """\
import torch


class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        x = x.contiguous()
        ctx.need = x.requires_grad
        return x @ w

    @staticmethod
    def backward(ctx, g):
        return g if ctx.need else None, None
"""


def check(source: str, *rules: Rule, path: str = "f.py") -> Report:
    return engine.check(source.encode(), path, rules or RULES, Settings())


def fingerprints(source: str, path: str = "f.py") -> list[str]:
    return [d.fingerprint for d in check(source, path=path).diagnostics]


def rule(function: Check, code: str = "AGL999") -> Rule:
    return replace(RULES[0], code=code, name="stand-in", check=function, page=Path("stand_in.md"))


def test_a_finding_has_all_that_is_shown() -> None:
    (found,) = check(SOURCE).diagnostics
    assert (found.code, found.path, found.symbol) == ("AGL001", "f.py", "F.forward")
    assert (found.range.start.line, found.range.start.column) == (8, 20)
    assert found.statement.start.line == 8
    assert [step.range.start.line for step in found.flow] == [6, 7, 8, 13]
    assert found.url.endswith("/rules/derived_requires_grad.md")


def test_a_file_without_functions() -> None:
    report = check("x = 1\n")
    assert (report.diagnostics, report.failures, report.functions) == ([], [], 0)


def test_a_syntax_error_is_a_failure() -> None:
    report = check("class F(\n")
    assert not report.diagnostics
    (failure,) = report.failures
    assert failure.line == 1
    assert failure.message.startswith("syntax error")


# Fingerprints ---------------------------------------------------------------------------------------------------------------


def test_a_fingerprint_survives_edits_elsewhere() -> None:
    before = fingerprints(SOURCE)
    assert len(before) == 1
    assert fingerprints("# one\n# two\n" + SOURCE) == before
    assert fingerprints(SOURCE.replace("        x = x.cont", "        pass\n\n        x = x.cont")) == before
    assert fingerprints(SOURCE.replace("ctx.need = x", "ctx.need  =  x")) != []
    assert fingerprints(SOURCE.replace("\n", "\r\n")) == before


def test_a_fingerprint_tells_files_and_symbols_apart() -> None:
    assert fingerprints(SOURCE, "g.py") != fingerprints(SOURCE)
    assert fingerprints(SOURCE.replace("class F", "class G")) != fingerprints(SOURCE)


def test_equal_statements_have_fingerprints_of_their_own() -> None:
    line = "        ctx.need = x.requires_grad\n"
    twice = fingerprints(SOURCE.replace(line, line + "        ctx.need = ctx.need or x.requires_grad\n" * 2))[-2:]
    assert len({*twice}) == 2


# What goes wrong in a rule --------------------------------------------------------------------------------------------------


def test_a_rule_that_raises_is_a_failure_that_names_it() -> None:
    def broken(fn: Function) -> Iterator[Finding]:
        raise KeyError("weight")
        yield

    report = check(SOURCE, rule(broken), *RULES)
    assert [d.code for d in report.diagnostics] == ["AGL001"]
    (failure,) = report.failures
    assert failure.path == "f.py"
    for word in ("AGL999", "stand-in", "`F`", "KeyError", "weight"):
        assert word in failure.message


def test_what_a_rule_found_before_it_raises_is_kept() -> None:
    def broken(fn: Function) -> Iterator[Finding]:
        yield Finding(next(fn.of(Return)).node, "something")
        raise ValueError

    report = check(SOURCE, rule(broken))
    assert len(report.diagnostics) == len(report.failures) == 1


def test_a_step_at_no_node_of_the_file_is_a_failure() -> None:
    import libcst as cst

    def lost(fn: Function) -> Iterator[Finding]:
        yield Finding(next(fn.of(Return)).node, "something", (Step(cst.Name("x"), "nowhere"),))

    report = check(SOURCE, rule(lost))
    assert [f.path for f in report.failures] == ["f.py"]


# Order and repetition -------------------------------------------------------------------------------------------------------


def test_a_finding_is_told_once() -> None:
    def twice(fn: Function) -> Iterator[Finding]:
        node = next(fn.of(Return)).node
        yield Finding(node, "first")
        yield Finding(node, "second")

    assert [d.message for d in check(SOURCE, rule(twice)).diagnostics] == ["first"]


def test_what_is_inherited_is_told_once() -> None:
    assert len(check(SOURCE + "\n\nclass G(F):\n    pass\n").diagnostics) == 1


def test_a_helper_of_two_functions_is_told_once() -> None:
    helper = "def keep(ctx, x):\n    ctx.need = x.t().requires_grad\n\n\n"
    body = SOURCE.replace("        x = x.contiguous()\n        ctx.need = x.requires_grad\n", "        keep(ctx, x)\n")
    both = helper + body + "\n\n" + body.replace("class F", "class G").replace("import torch\n", "")
    (found,) = check(both).diagnostics
    assert (found.range.start.line, found.symbol) == (2, "keep")


def test_findings_are_in_the_order_of_the_file() -> None:
    source = SOURCE + SOURCE.replace("class F", "class A")
    found = check(source).diagnostics
    assert [d.symbol for d in found] == ["F.forward", "A.forward"]
    assert found == sorted(found, key=lambda d: (d.range, d.code))


def test_a_function_that_cannot_be_parsed_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outline, "MAX_DEPTH", 50)
    deep = SOURCE.replace("class F", "class Deep").replace("x.contiguous()", "x" + ".contiguous()" * 50)
    report = check(deep + "\n\n" + SOURCE)
    assert [d.symbol for d in report.diagnostics] == ["F.forward"]
    (failure,) = report.failures
    assert (failure.line, failure.message) == (7, "`forward` is nested more than 50 levels deep")


def test_findings_do_not_depend_on_which_rules_run_beside() -> None:
    alone: list[Diagnostic] = [d for one in RULES for d in check(SOURCE, one).diagnostics]
    assert sorted(alone, key=lambda d: (d.range, d.code)) == check(SOURCE).diagnostics
