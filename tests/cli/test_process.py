"""The command as a process of its own, with the real engine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "autograd_lint"]
ROOT = Path(__file__).parents[2]
FUNCTION = """\
import torch


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor if ctx.needs_input_grad[0] else None, None
"""


def run(*args: str, python: tuple[str, ...] = (), stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, *python, "-m", "autograd_lint", *args], input=stdin, capture_output=True, env=environment, check=False
    )


def imported(*args: str, stdin: bytes = b"") -> set[str]:
    """The modules that such a run imports."""
    done = run(*args, python=("-X", "importtime"), stdin=stdin)
    assert done.returncode == 0, done.stderr
    return {line.rpartition(b"|")[2].strip().decode() for line in done.stderr.splitlines() if line.startswith(b"import time:")}


HEAVY = {
    "libcst",
    "pathspec",
    "json",
    "difflib",
    "multiprocessing",
    "torch",
    "pickle",
    "tempfile",
    "textwrap",
    "typing_extensions",
}
RULES = {"autograd_lint.engine", "autograd_lint.api", "autograd_lint.rules", "autograd_lint.diagnostic"}
TOML = {"tomllib", "tomli"}


def test_what_a_run_without_candidates_imports() -> None:
    Path("a.py").write_text("import os\n")
    Path("pyproject.toml").write_text("[project]\nname = 'x'\n")
    modules = imported("a.py") | imported(".") | imported("-", stdin=b"x = 1\n")
    assert "autograd_lint.runner" in modules
    assert not modules & (HEAVY | RULES | TOML)


def test_what_a_candidate_imports() -> None:
    Path("a.py").write_text(FUNCTION)
    modules = imported("a.py")
    assert "libcst" in modules
    assert not modules & {"torch", "pathspec", "difflib", "multiprocessing", "libcst.matchers", "libcst.codemod"}


@pytest.mark.parametrize("args", [("--help",), ("check", "--help"), ("--version",)])
def test_what_help_imports(args: tuple[str, ...]) -> None:
    assert not imported(*args) & (HEAVY - {"textwrap"} | RULES | TOML)


def test_what_the_pages_of_the_rules_import() -> None:
    assert not imported("rule", "--all") & {"libcst", "torch", "pathspec"}


def test_pathspec_is_imported_where_there_is_something_to_ignore() -> None:
    Path(".gitignore").write_text("*.log\n")
    Path("a.py").touch()
    assert "pathspec" in imported(".")
    assert "pathspec" not in imported("a.py")


def test_exit_codes() -> None:
    Path("good.py").write_text(FUNCTION)
    Path("bad.py").write_text(FUNCTION + "  oops\n")
    assert run("good.py").returncode == 0
    assert run("--no-such-option").returncode == 2
    both = run("good.py", "bad.py", "missing.py")
    assert both.returncode == 2
    assert b"bad.py:13:" in both.stderr
    assert b"missing.py:1:1: error: No such file or directory" in both.stderr
    assert b"Traceback" not in both.stderr


@pytest.mark.skipif(os.name != "posix", reason="pipes break differently elsewhere")
def test_a_reader_that_goes_away() -> None:
    for number in range(3000):
        Path(f"a_file_with_a_rather_long_name_{number}.py").touch()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([*COMMAND, "--show-files"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


@pytest.mark.skipif(os.name != "posix", reason="signals differ elsewhere")
def test_an_interrupt() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [*COMMAND, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        assert process.stderr is not None
        try:
            process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        assert process.wait() == 130
        assert process.stderr.read() == b""


def test_module_and_script_are_the_same() -> None:
    assert run("--version").stdout.startswith(b"autograd-lint ")


def test_inspect() -> None:
    Path("good.py").write_text(FUNCTION)
    Path("none.py").write_text("class Function: ...\n")
    Path("bad.py").write_text(FUNCTION + "  oops\n")
    assert b"Scale" in run("inspect", "good.py").stdout
    assert run("inspect", "none.py").stdout == b""
    assert [table["symbol"] for table in json.loads(run("inspect", ".", "--output-format", "json").stdout)] == ["Scale"]
    assert json.loads(run("inspect", "none.py", "--output-format", "json").stdout) == []
    bad = run("inspect", "bad.py", "good.py", "missing.py")
    assert (bad.returncode, b"Scale" in bad.stdout) == (2, True)
    assert b"bad.py:13:" in bad.stderr
    assert b"missing.py:1:1: error: No such file" in bad.stderr


def test_a_deep_but_legal_chain() -> None:
    Path("deep.py").write_text(FUNCTION.replace("x * factor", "x" + ".abs()" * 1000))
    done = run("deep.py")
    assert (done.returncode, done.stderr) == (0, b"")


def test_hostile_files_do_not_stop_the_run() -> None:
    for name, text in {
        "sum": "x" + " + x" * 10_000,
        "parens": "(" * 3000 + "x" + ")" * 3000,
        "chain": "x" + ".a()" * 5000,
    }.items():
        Path(f"{name}.py").write_text(FUNCTION.replace("x * factor", text))
    Path("zero.py").write_bytes(FUNCTION.encode() + b"\0")
    Path("bytes.py").write_bytes(FUNCTION.encode() + b"# \xff\n")
    Path("good.py").write_text(FUNCTION)
    done = run("-v", ".")
    assert done.returncode == 2
    assert {line.split(b":")[0] for line in done.stderr.splitlines()[:-1]} == {
        b"bytes.py",
        b"chain.py",
        b"parens.py",
        b"sum.py",
        b"zero.py",
    }
    assert b"Traceback" not in done.stderr
