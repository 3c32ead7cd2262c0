from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from cli.standin import Lint, write

ALL = "a  # AGL001\nb  # AGL002\nc  # AGL003\nd  # AGL101"


@pytest.mark.parametrize(
    ("text", "args", "code"),
    [
        ("x", [], 0),
        ("x  # fine", [], 0),
        ("x  # AGL001", [], 1),
        ("x  # AGL002", [], 1),
        ("x  # AGL003", [], 0),
        ("x  # AGL001", ["--exit-zero"], 0),
        ("x  # broken", [], 2),
        ("x  # broken", ["--exit-zero"], 2),
        ("x  # broken\ny  # AGL001", [], 2),
    ],
)
def test_exit_codes(lint: Lint, text: str, args: list[str], code: int) -> None:
    write(a=text)
    assert lint("a.py", *args).exit_code == code


@pytest.mark.parametrize(
    ("args", "codes"),
    [
        ([], "AGL001 AGL002 AGL003"),
        (["--preview"], "AGL001 AGL002 AGL003 AGL101"),
        (["--select", "AGL001"], "AGL001"),
        (["--select", "first-rule,AGL003"], "AGL001 AGL003"),
        (["--select", "AGL001", "--select", "AGL002"], "AGL001 AGL002"),
        (["--select", "AGL0"], "AGL001 AGL002 AGL003"),
        (["--select", "AGL"], "AGL001 AGL002 AGL003"),
        (["--select", "ALL"], "AGL001 AGL002 AGL003"),
        (["--select", "ALL", "--preview"], "AGL001 AGL002 AGL003 AGL101"),
        (["--select", "AGL1"], ""),
        (["--select", "AGL1", "--preview"], "AGL101"),
        (["--select", "AGL101"], "AGL101"),
        (["--select", "early-rule"], "AGL101"),
        (["--extend-select", "AGL101"], "AGL001 AGL002 AGL003 AGL101"),
        (["--ignore", "AGL002"], "AGL001 AGL003"),
        (["--preview", "--ignore", "AGL1"], "AGL001 AGL002 AGL003"),
        (["--select", "AGL001", "--ignore", "AGL0"], "AGL001"),
        (["--select", "AGL0", "--ignore", "second-rule"], "AGL001 AGL003"),
        (["--select", "AGL0", "--ignore", "AGL0"], ""),
    ],
)
def test_selection(lint: Lint, args: list[str], codes: str) -> None:
    write(a=ALL)
    found = json.loads(lint("a.py", "--output-format", "json", *args).stdout)
    assert [finding["code"] for finding in found] == codes.split()


@pytest.mark.parametrize("option", ["--select", "--ignore", "--extend-select"])
@pytest.mark.parametrize("selector", ["AGL9", "AG", "first_rule", "AGL0011"])
def test_an_unknown_rule_is_no_rule(lint: Lint, option: str, selector: str) -> None:
    result = lint(option, selector)
    assert result.exit_code == 2
    assert f"unknown rule `{selector}`" in result.stderr


def test_a_file_that_cannot_be_linted_does_not_stop_the_others(lint: Lint) -> None:
    write(a="x  # broken", b="x  # AGL001")
    result = lint("missing.py", "a.py", "b.py")
    assert result.exit_code == 2
    assert result.stdout == "b.py:1:1: AGL001 message of first-rule\nFound 1 error; 2 files not linted in full.\n"
    assert result.stderr == "missing.py:1:1: error: No such file or directory\na.py:1:1: error: invalid syntax\n"


def test_nothing_to_lint(lint: Lint) -> None:
    result = lint()
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "warning: no Python files to lint\n")
    assert lint("-q").stderr == ""
    assert lint("--output-format", "json").stdout == "[]\n"


def test_all_is_well(lint: Lint) -> None:
    write(a="x")
    assert lint().stdout == "All checks passed!\n"
    assert lint("--quiet").stdout == ""
    assert lint("--output-format", "json").stdout == "[]\n"


def test_quiet_still_has_findings_and_failures(lint: Lint) -> None:
    write(a="x  # broken", b="x  # AGL001")
    result = lint("--quiet")
    assert result.stdout == "b.py:1:1: AGL001 message of first-rule\n"
    assert result.stderr == "a.py:1:1: error: invalid syntax\n"


def test_verbose_talks_on_stderr(lint: Lint) -> None:
    write(a="x  # AGL001", b="x")
    result = lint("--verbose", "--output-format", "json")
    assert len(json.loads(result.stdout)) == 1
    assert result.stderr.startswith("2 files, 1 of them parsed, 1 autograd Function, ")


def test_output_file(lint: Lint) -> None:
    write(a="x  # AGL001")
    result = lint("--output-file", "out.txt")
    assert (result.exit_code, result.stdout) == (1, "")
    assert Path("out.txt").read_text() == "a.py:1:1: AGL001 message of first-rule\nFound 1 error.\n"

    result = lint("-o", "no/such/folder.txt")
    assert result.exit_code == 2
    assert "no/such/folder.txt: No such file or directory" in result.stderr


@pytest.mark.parametrize(
    ("option", "environment", "terminal", "colored"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", {"TERM": "dumb"}, True, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"FORCE_COLOR": "0"}, False, False),
        ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_color(
    monkeypatch: pytest.MonkeyPatch, lint: Lint, option: str, environment: dict[str, str], terminal: bool, colored: bool
) -> None:
    write(a="x  # AGL001")
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda self: terminal, raising=False)
    assert ("\x1b[" in lint("--color", option).stdout) == colored


def test_stdin(lint: Lint) -> None:
    result = lint("-", stdin=b"x  # AGL001\n")
    assert (result.exit_code, result.stdout) == (1, "-:1:1: AGL001 message of first-rule\nFound 1 error.\n")


@pytest.mark.parametrize("args", [["-"], []])
def test_stdin_with_a_name(lint: Lint, args: list[str]) -> None:
    result = lint(*args, "--stdin-filename", "./src/a.py", stdin=b"x  # AGL001\n")
    assert result.stdout.startswith("src/a.py:1:1: AGL001")


def test_the_name_of_stdin_decides_the_configuration(lint: Lint) -> None:
    Path("src").mkdir()
    Path("src/autograd-lint.toml").write_text('ignore = ["AGL001"]\nextend-exclude = ["skipped.py"]')
    text = b"x  # AGL001\n"
    assert lint("-", "--stdin-filename", "src/a.py", stdin=text).exit_code == 0
    assert lint("-", "--stdin-filename", "a.py", stdin=text).exit_code == 1

    args = ("-", "--select", "ALL", "--stdin-filename", "src/skipped.py")
    assert lint(*args, stdin=text).exit_code == 1
    assert lint(*args, "--force-exclude", stdin=text).exit_code == 0


def test_names_that_are_no_unicode(lint: Lint) -> None:
    name = b"caf\xe9.py".decode("utf-8", "surrogateescape")
    try:
        Path(name).write_text("x  # AGL001\n")
    except OSError:
        pytest.skip("this file system takes Unicode only")
    result = lint()
    assert result.stdout_bytes.startswith(b"caf\xe9.py:1:1: AGL001")
    assert json.loads(lint("--output-format", "json").stdout)[0]["filename"] == name


def test_names_that_would_move_the_cursor(lint: Lint) -> None:
    Path("a\n\x1b[2J.py").write_text("x  # AGL001\n")
    assert lint().stdout.startswith("a\\n\\x1b[2J.py:1:1: AGL001")


def test_an_output_that_cannot_hold_every_character(monkeypatch: pytest.MonkeyPatch) -> None:
    from autograd_lint.cli import _write

    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    _write("é\n")
    assert raw.getvalue() == b"\\xe9\n"


def test_an_interrupt(lint: Lint) -> None:
    write(a="x  # interrupted")
    result = lint()
    assert (result.exit_code, result.output) == (130, "")
