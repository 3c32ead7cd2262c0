from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from cli import standin
from cli.standin import Lint
from click.testing import CliRunner, Result

from autograd_lint import engine, prefilter, registry
from autograd_lint.cli import cli


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to be in, and the stand-ins."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(registry, "load", lambda: standin.RULES)
    monkeypatch.setattr(engine, "check", standin.check)
    monkeypatch.setattr(prefilter, "is_candidate", lambda source, settings: b"#" in source)
    return tmp_path


@pytest.fixture
def lint() -> Lint:

    def run(*args: str, stdin: bytes | None = None) -> Result:
        # Since click 8.2 the two streams are always kept apart.
        apart: dict[str, Any] = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}
        result = CliRunner(**apart).invoke(cli, args, input=stdin, prog_name="autograd-lint")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run
