"""The README shows what the linter really prints, and names what there really is."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from autograd_lint import registry
from autograd_lint.cli import cli

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.M | re.S)


def test_the_picture_is_what_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    command, _, output = blocks("text")[0].partition("\n")
    program, name, *options = shlex.split(command.removeprefix("$ "))
    Path(name).write_text(blocks("python")[0], encoding="utf-8")
    result = CliRunner().invoke(cli, [name, *options, "--isolated"])
    assert program == "autograd-lint"
    assert result.exit_code == 1
    assert result.stdout == output


def test_every_rule_is_listed() -> None:
    rows = re.findall(r"^\| (AGL\d{3}) \| \[([a-z-]+)\]\(rules/([a-z_]+)\.md\) \|", README, re.M)
    assert rows == [(rule.code, rule.name, rule.page.stem) for rule in registry.load().values()]


def test_the_configuration_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").write_text(blocks("toml")[0], encoding="utf-8")
    result = CliRunner().invoke(cli, ["."])
    assert result.exit_code == 0, result.output


def test_ci_runs_the_test_command() -> None:
    install, run = blocks("sh")[1].strip().split(" && ")
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert install.replace("python -m pip", '"$python" -m pip') in script
    assert run.replace("python", '"$python"', 1) in script
