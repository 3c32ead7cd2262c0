"""The built distributions as a user has them, and what a run imports."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

import autograd_lint

ROOT = Path(__file__).resolve().parents[1]

BUGGY = """\
import torch


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.contiguous()
        ctx.need_x = x.requires_grad
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2 if ctx.need_x else None
"""


def run(*command: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True)


def build(target: str, source: Path, folder: Path) -> Path:
    made = run(sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", folder, cwd=source)
    assert made.returncode == 0, made.stderr
    (path,) = folder.iterdir()
    return path


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `autograd-lint` of a virtual environment that holds the wheel, and sees this one's packages as its dependencies."""
    environment = tmp_path_factory.mktemp("environment")
    made = run(sys.executable, "-m", "venv", "--without-pip", environment)
    assert made.returncode == 0, made.stderr
    python = environment / "bin" / "python"
    made = run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel)
    assert made.returncode == 0, made.stderr
    packages = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip()
    Path(packages, "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n{sysconfig.get_path('platlib')}\n")
    return environment / "bin" / "autograd-lint"


@pytest.fixture
def buggy(tmp_path: Path) -> Path:
    path = tmp_path / "buggy.py"
    path.write_text(BUGGY)
    return path


def test_wheel_holds_the_package_alone(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    version = autograd_lint.__version__
    assert {name.partition("/")[0] for name in names} == {"autograd_lint", f"autograd_lint-{version}.dist-info"}
    assert "autograd_lint/py.typed" in names
    pairs = [path.name for path in (ROOT / "rules").iterdir() if path.suffix in (".py", ".md")]
    assert {f"autograd_lint/rules/{name}" for name in pairs} <= set(names)
    assert not [name for name in names if "__pycache__" in name]


def test_source_distribution_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    archive = build("sdist", ROOT, tmp_path / "sdist")
    with tarfile.open(archive) as members:
        assert f"autograd_lint-{autograd_lint.__version__}/tests/test_package.py" in members.getnames()
        members.extractall(tmp_path, filter="data")
    again = build("wheel", tmp_path / archive.name.removesuffix(".tar.gz"), tmp_path / "wheel")
    assert zipfile.ZipFile(again).namelist() == zipfile.ZipFile(wheel).namelist()


def test_installed_linter_has_the_same_rules(installed: Path) -> None:
    ours = run(sys.executable, "-m", "autograd_lint", "rule", "--all")
    theirs = run(installed, "rule", "--all", cwd=Path("/"))
    assert theirs.returncode == 0, theirs.stderr
    assert theirs.stdout == ours.stdout
    assert "AGL001" in theirs.stdout


def test_installed_linter_finds_the_same(installed: Path, buggy: Path) -> None:
    ours = run(sys.executable, "-m", "autograd_lint", "check", "--output-format", "json", buggy)
    theirs = run(installed, "check", "--output-format", "json", buggy, cwd=Path("/"))
    assert (theirs.returncode, theirs.stdout) == (1, ours.stdout), theirs.stderr
    assert "AGL001" in theirs.stdout


def test_version_is_that_of_the_changelog(installed: Path) -> None:
    said = run(installed, "--version", cwd=Path("/")).stdout.split()
    newest = re.search(r"^## \[?(\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert [said[-1], newest[1]] == [autograd_lint.__version__] * 2


def imported(*arguments: str | Path) -> set[str]:
    """The top-level packages that a run imports."""
    process = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "autograd_lint", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    lines = [line for line in process.stderr.splitlines() if line.startswith("import time:")]
    assert lines, process.stderr
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}


def test_help_imports_no_parser() -> None:
    assert imported("--help").isdisjoint({"torch", "libcst", "pathspec"})


def test_file_without_functions_imports_no_parser(tmp_path: Path) -> None:
    path = tmp_path / "plain.py"
    path.write_text("import torch\n\n\ndef double(x):\n    return x * 2\n")
    assert imported("check", path).isdisjoint({"torch", "libcst", "pathspec"})


def test_linter_never_imports_torch(buggy: Path) -> None:
    packages = imported("check", buggy)
    assert "libcst" in packages
    assert "torch" not in packages
