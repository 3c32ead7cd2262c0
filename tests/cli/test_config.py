from __future__ import annotations

from pathlib import Path

import pytest
from cli.standin import Lint, write

from autograd_lint.config import Options, Resolver


def configure(text: str, name: str = "pyproject.toml") -> None:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"[tool.autograd-lint]\n{text}\n" if path.name == "pyproject.toml" else text)


def codes(output: str) -> list[str]:
    return [word for word in output.split() if word.startswith("AGL")]


@pytest.mark.parametrize("name", ["pyproject.toml", "autograd-lint.toml"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('select = ["AGL001"]', ["AGL001"]),
        ('ignore = ["second-rule"]', ["AGL001", "AGL101"]),
        ('extend-select = ["AGL101"]', ["AGL001", "AGL002", "AGL101"]),
        ("preview = true", ["AGL001", "AGL002", "AGL101"]),
    ],
)
def test_rules(lint: Lint, name: str, text: str, expected: list[str]) -> None:
    if "ignore" in text:
        text += "\npreview = true"
    configure(text, name)
    write(a="a  # AGL001\nb  # AGL002\nc  # AGL101")
    assert codes(lint().stdout) == expected


@pytest.mark.parametrize(
    ("text", "args", "expected"),
    [
        ('ignore = ["AGL001"]', ["--select", "AGL001"], ["AGL001"]),
        ('select = ["AGL001"]', ["--extend-select", "AGL002"], ["AGL001", "AGL002"]),
        ('select = ["AGL001", "AGL002"]', ["--ignore", "AGL002"], ["AGL001"]),
        ("preview = true", ["--no-preview"], ["AGL001", "AGL002"]),
        ("preview = true", ["--isolated"], ["AGL001", "AGL002"]),
        ('exclude = ["a.py"]', ["--exclude", "b.py"], ["AGL001", "AGL002"]),
        ('extend-exclude = ["a.py"]', ["--exclude", "b.py"], []),
    ],
)
def test_the_command_line_wins(lint: Lint, text: str, args: list[str], expected: list[str]) -> None:
    configure(text)
    write(a="a  # AGL001\nb  # AGL002\nc  # AGL101")
    assert codes(lint(*args).stdout) == expected


def test_the_nearest_file_wins_for_each_folder(lint: Lint) -> None:
    configure('select = ["AGL001"]')
    configure('select = ["AGL002"]', "lib/autograd-lint.toml")
    Path("lib/deep").mkdir()
    Path("lib/deep/pyproject.toml").write_text("[project]\nname = 'none of ours'\n")
    write(a="a  # AGL001\nb  # AGL002", lib__a="a  # AGL001\nb  # AGL002", lib__deep__a="a  # AGL001\nb  # AGL002")
    assert lint("-q").stdout.splitlines() == [
        "a.py:1:1: AGL001 message of first-rule",
        "lib/a.py:2:1: AGL002 message of second-rule",
        "lib/deep/a.py:2:1: AGL002 message of second-rule",
    ]


def test_our_own_file_comes_before_pyproject(lint: Lint) -> None:
    configure('select = ["AGL001"]')
    configure('select = ["AGL002"]', "autograd-lint.toml")
    write(a="a  # AGL001\nb  # AGL002")
    assert codes(lint().stdout) == ["AGL002"]


def test_a_file_for_all(lint: Lint) -> None:
    configure('select = ["AGL001"]')
    configure('select = ["AGL002"]', "other/settings.toml")
    write(a="a  # AGL001\nb  # AGL002")
    assert codes(lint("--config", "other/settings.toml").stdout) == ["AGL002"]


def test_output_format(lint: Lint) -> None:
    configure('output-format = "json"')
    write(a="a")
    assert lint().stdout == "[]\n"
    assert lint("--output-format", "concise").stdout == "All checks passed!\n"


def test_what_the_engine_is_told(project: Path) -> None:
    configure('extend-function-bases = ["mylib.Function"]\ncopying-decorators = ["contiguous_args"]')
    settings = Resolver(Options()).at(str(project)).settings
    assert "mylib.Function" in settings.function_bases
    assert "torch.autograd.Function" in settings.function_bases
    assert "contiguous_args" in settings.copying_decorators


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("selct = []", "pyproject.toml: unknown key `selct`; did you mean `select`?"),
        ("root = 'x'", "pyproject.toml: unknown key `root`"),
        ("extend_select = []", "did you mean `extend-select`?"),
        ('select = "AGL001"', "pyproject.toml: `select` must be a list of strings"),
        ("exclude = [1]", "pyproject.toml: `exclude` must be a list of strings"),
        ("preview = 1", "pyproject.toml: `preview` must be true or false"),
        ("respect-gitignore = 'no'", "pyproject.toml: `respect-gitignore` must be true or false"),
        ("output-format = 'xml'", "pyproject.toml: `output-format` must be one of auto, full, concise, json"),
        ("output-format = []", "pyproject.toml: `output-format` must be one of"),
        ("ignore = ['AGL9']", "pyproject.toml: unknown rule `AGL9`"),
        ("select = [", "pyproject.toml: "),
    ],
)
def test_mistakes(lint: Lint, text: str, says: str) -> None:
    configure(text)
    write(a="a  # AGL001")
    result = lint()
    assert (result.exit_code, result.stdout) == (2, "")
    assert says in result.stderr


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("pyproject.toml", "tool.autograd-lint = 1", "`tool.autograd-lint` must be a table"),
        ("autograd-lint.toml", "[tool.autograd-lint]", "unknown key `tool`"),
        ("autograd-lint.toml", "select = ['\udcff']", "autograd-lint.toml: "),
    ],
)
def test_mistakes_in_the_whole_file(lint: Lint, name: str, text: str, says: str) -> None:
    Path(name).write_bytes(text.encode("utf-8", "surrogateescape"))
    result = lint()
    assert result.exit_code == 2
    assert says in result.stderr


@pytest.mark.parametrize(
    ("text", "says"), [(None, "other/pyproject.toml: No such file"), ("tool = 1", "other/pyproject.toml: no table")]
)
def test_a_named_file_must_be_one(lint: Lint, text: str | None, says: str) -> None:
    Path("other").mkdir()
    if text is not None:
        Path("other/pyproject.toml").write_text(text)
    result = lint("--config", "other/pyproject.toml")
    assert result.exit_code == 2
    assert says in result.stderr


def test_a_mistake_far_down_ends_the_run_before_it_begins(lint: Lint) -> None:
    write(a="a  # AGL001")
    configure("oops = 1", "lib/autograd-lint.toml")
    result = lint()
    assert (result.exit_code, result.stdout) == (2, "")
    assert "lib/autograd-lint.toml: unknown key `oops`" in result.stderr
