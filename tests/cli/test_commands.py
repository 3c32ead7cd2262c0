from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.standin import Lint, write


@pytest.mark.parametrize(
    "args",
    [
        ["a.py", "--select", "AGL001"],
        ["--select", "AGL001", "a.py"],
        ["check", "a.py", "--select", "AGL001"],
        ["--select=AGL001"],
        [],
        ["check"],
        ["."],
        ["--", "a.py"],
    ],
)
def test_check_is_the_default_command(lint: Lint, args: list[str]) -> None:
    write(a="x  # AGL001")
    result = lint(*args)
    assert result.stdout == "a.py:1:1: AGL001 message of first-rule\nFound 1 error.\n"
    assert result.exit_code == 1


@pytest.mark.parametrize("args", [["./rule"], ["check", "rule"]])
def test_a_path_called_like_a_command(lint: Lint, args: list[str]) -> None:
    write(rule__a="x  # AGL001")
    assert lint(*args).stdout.startswith("rule/a.py:1:1: AGL001")


def test_a_bare_command_is_no_path(lint: Lint) -> None:
    write(rule__a="x  # AGL001")
    result = lint("rule")
    assert result.exit_code == 2
    assert "give a rule's code or name, or --all" in result.stderr


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help(lint: Lint, flag: str) -> None:
    assert "check " in lint(flag).stdout
    assert "--stdin-filename" in lint("check", flag).stdout


def test_version(lint: Lint) -> None:
    from autograd_lint import __version__

    assert lint("--version").stdout == f"autograd-lint {__version__}\n"


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--selct", "AGL001"], "--select"),
        (["--output-format", "xml"], "xml"),
        (["-", "a.py"], "stands alone"),
        (["a.py", "--stdin-filename", "b.py"], "goes with `-`"),
        (["-", "--show-files"], "is for paths"),
        (["--config", "c.toml", "--isolated"], "exclude each other"),
        (["-j", "-1"], "-1"),
    ],
)
def test_usage_errors(lint: Lint, args: list[str], says: str) -> None:
    result = lint(*args)
    assert result.exit_code == 2
    assert says in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("selector", ["AGL001", "first-rule"])
def test_the_page_of_a_rule(lint: Lint, selector: str) -> None:
    assert lint("rule", selector).stdout == "# a page\n\nOf a rule.\n"


def test_the_page_of_a_rule_as_json(lint: Lint) -> None:
    assert json.loads(lint("rule", "AGL001", "--output-format", "json").stdout) == {
        "code": "AGL001",
        "name": "first-rule",
        "severity": "error",
        "preview": False,
        "fix": "safe",
        "explanation": "# a page\n\nOf a rule.\n",
    }


def test_all_pages(lint: Lint) -> None:
    assert lint("rule", "--all").stdout.count("# a page\n") == 4
    assert [rule["code"] for rule in json.loads(lint("rule", "--all", "--output-format", "json").stdout)] == [
        "AGL001",
        "AGL002",
        "AGL003",
        "AGL101",
    ]


@pytest.mark.parametrize(
    ("selector", "says"),
    [
        ("agl001", "unknown rule `agl001`; did you mean `AGL001`?"),
        ("frist-rule", "did you mean `first-rule`?"),
        ("nothing-like-it", "unknown rule `nothing-like-it`\n"),
        ("AGL0", "unknown rule `AGL0`; did you mean"),
    ],
)
def test_an_unknown_rule(lint: Lint, selector: str, says: str) -> None:
    result = lint("rule", selector)
    assert result.exit_code == 2
    assert says in result.stderr


def test_a_rule_and_all(lint: Lint) -> None:
    assert lint("rule", "AGL001", "--all").exit_code == 2


def test_every_command_has_help(project: Path, lint: Lint) -> None:
    for command in ("check", "rule", "inspect"):
        assert lint(command, "--help").exit_code == 0
