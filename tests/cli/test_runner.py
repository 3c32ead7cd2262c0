from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import pytest
from cli import standin
from cli.standin import Lint

from autograd_lint import engine, runner
from autograd_lint.diagnostic import Report

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


def many(count: int = 30) -> None:
    for number in range(count):
        Path(f"f{number:02}.py").write_text("# x\n" * (7 * number % 11) + "x  # AGL001\n")


@pytest.mark.parametrize("jobs", ["0", "2", "3", "64"])
def test_the_outcome_does_not_depend_on_the_number_of_processes(lint: Lint, jobs: str) -> None:
    many()
    Path("f07.py").write_text("x  # broken\n")
    alone, together = lint("-j", "1"), lint("-j", jobs)
    assert (together.exit_code, together.stdout, together.stderr) == (alone.exit_code, alone.stdout, alone.stderr)
    assert alone.stdout.count("AGL001") == 29


@needs_fork
def test_a_worker_that_dies_loses_one_file_only(lint: Lint) -> None:
    many()
    Path("f07.py").write_text("# x\n" * 100 + "x  # deadly\n" + "# x\n" * 50)
    Path("f08.py").write_text("# x\n" * 100 + "# x\n" * 500)  # so that another share begins with the largest file
    result = lint("-j", "3")
    assert result.exit_code == 2
    assert result.stdout.count("AGL001") == 28
    assert result.stderr == "f07.py:1:1: error: the process that linted this file was killed by SIGKILL\n"


@needs_fork
def test_no_more_processes_to_be_had(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    def fork() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    many()
    expected = lint("-j", "1").stdout
    monkeypatch.setattr(os, "fork", fork)
    assert lint("-j", "4").stdout == expected


def test_where_there_is_no_fork(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    many()
    expected = lint("-j", "1").stdout
    monkeypatch.delattr(os, "fork", raising=False)
    assert lint("-j", "4").stdout == expected


@needs_fork
def test_an_error_of_ours_in_a_worker(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    tests = os.getpid()

    def check(source: bytes, path: str, rules: object, settings: object) -> Report:
        if os.getpid() != tests and path == "f07.py":
            os._exit(3)
        return Report(path)

    many()
    Path("f08.py").write_text("# x\n" * 1000)
    Path("f07.py").write_text("# x\n" * 500)
    monkeypatch.setattr(engine, "check", check)
    assert lint("-j", "2").stderr == "f07.py:1:1: error: the process that linted this file ended with status 3\n"


@needs_fork
def test_an_interrupt_ends_the_children(lint: Lint) -> None:
    many()
    Path("f08.py").write_text("# x\n" * 1000 + "x  # interrupted\n")
    assert lint("-j", "3").exit_code == 130
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_small_work_stays_in_one_process(monkeypatch: pytest.MonkeyPatch, lint: Lint) -> None:
    def fork() -> int:
        raise AssertionError("not worth it")

    many()
    monkeypatch.setattr(os, "fork", fork, raising=False)
    assert lint().exit_code == 1


def test_shares_are_of_equal_size() -> None:
    sizes = [9, 1, 1, 1, 5, 4]
    candidates = [runner.Candidate(str(size), b"x" * size, None) for size in sizes]  # type: ignore[arg-type]
    shares = runner._shares(candidates, 2)
    assert sorted(index for share in shares for index in share) == list(range(6))
    assert sorted(sum(sizes[index] for index in share) for share in shares) == [10, 11]


def test_the_interpreter_is_left_as_it_was(lint: Lint) -> None:
    Path("a.py").write_text("x  # AGL001\n")
    limit = sys.getrecursionlimit()
    assert gc.isenabled()
    lint()
    assert gc.isenabled()
    assert sys.getrecursionlimit() == limit


def test_reports_name_the_functions_that_were_followed(lint: Lint) -> None:
    many(3)
    assert "3 files, 3 of them parsed, 3 autograd Functions" in lint("-v").stderr


def test_standins_are_in_place() -> None:
    assert engine.check is standin.check
