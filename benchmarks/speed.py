"""How fast is the linter, beside the tools that its users already run?

    python benchmarks/speed.py [--only G1,G7]

Each goal runs two commands in turn, as whole processes, and prints the ratios of the pairs: median [lowest–highest]. "CPU" is
user plus system time of a process and its children. The texts and the peers come from PyPI by pinned version. Times depend on
the machine and on what else it does, so no test asserts any of this.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import inputs
import texts
from measure import Command, Cost, Spread, cost, in_turn

REPOSITORY = Path(__file__).resolve().parents[1]

TORCH = "torch==2.13.0"
TRANSFORMERS = "transformers==5.23.0"
VERL = "verl==0.9.1"
LIGER = "liger-kernel==0.8.5"
PEERS = ("ruff==0.17.6", "torchfix==0.7.0", "fixit==2.2.1")

CANDIDATE = "liger_kernel/ops/fused_linear_scaled_cross_entropy.py"  # 497 lines, with a Function
SLOW = 3  # runs, at most, where the peer takes a minute; no warm-up would change that


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of a goal: met where it is at most the `bar`; `want` is what we hope for."""

    what: str
    figure: Spread
    bar: float
    want: float


class Lab:
    """The commands and the texts, each made when it is first asked for."""

    def __init__(self, cache: Path, scratch: Path, runs: int, linter: Path | None) -> None:
        self.cache = cache
        self.scratch = scratch
        self.runs = runs
        self._linter = linter

    @cached_property
    def programs(self) -> Path:
        """Where the linter is installed: from this checkout, as a user's pip would do it."""
        if self._linter is not None:
            return self._linter.resolve().parent
        programs = texts.environment(self.cache / "linter")
        texts.install(programs, str(REPOSITORY))
        return programs

    @cached_property
    def peers(self) -> Path:
        return texts.environment(self.cache / "-".join(("peers", *PEERS)), *PEERS)

    def text(self, requirement: str) -> Path:
        return texts.fetch(requirement, self.cache)

    def file(self, name: str, text: str) -> Path:
        path = self.scratch / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def lint(self, *paths: Path) -> Command:
        return [self.programs / "autograd-lint", "check", "--isolated", "--exit-zero", *paths]

    def python(self, code: str) -> Command:
        return [self.programs / "python", "-c", code]

    def ruff(self, *paths: Path) -> Command:
        return [self.peers / "ruff", "check", "--select", "B006", "--no-cache", "--isolated", "--exit-zero", *paths]

    def torchfix(self, path: Path) -> Command:
        return [self.peers / "torchfix", "--select", "ALL", path]

    def fixit(self, path: Path) -> Command:
        return [self.peers / "fixit", "--rules", "fixit.rules.use_fstring:UseFstring", "lint", path]

    def versus(self, ours: Command, theirs: Command) -> list[tuple[Cost, ...]]:
        return in_turn(ours, theirs, runs=self.runs, status=(0, 2))

    def versus_slow(self, ours: Command, theirs: Command) -> list[tuple[Cost, ...]]:
        return in_turn(ours, theirs, runs=min(self.runs, SLOW), warm_up=0, status=(0, 2))


Goal = Callable[[Lab], Iterator[Row]]
GOALS: dict[str, Goal] = {}


def goal(function: Goal) -> Goal:
    GOALS[function.__name__.upper()] = function
    return function


def cpu(pairs: list[tuple[Cost, ...]]) -> Spread:
    return Spread([ours.cpu / theirs.cpu for ours, theirs in pairs])


def wall(pairs: list[tuple[Cost, ...]]) -> Spread:
    return Spread([ours.wall / theirs.wall for ours, theirs in pairs])


@goal
def g1(lab: Lab) -> Iterator[Row]:
    both = lab.text(TORCH) / "torch", lab.text(TRANSFORMERS)
    pairs = lab.versus(lab.lint(*both), lab.ruff(*both))
    yield Row("torch + transformers: CPU / ruff", cpu(pairs), 0.8, 0.4)
    yield Row("torch + transformers: wall / ruff", wall(pairs), 1.0, 0.6)


@goal
def g2(lab: Lab) -> Iterator[Row]:
    folder = lab.text(TRANSFORMERS)
    pairs = lab.versus(lab.lint(folder), lab.ruff(folder))
    yield Row("transformers: CPU / ruff", cpu(pairs), 0.5, 0.25)
    yield Row("transformers: wall / ruff", wall(pairs), 0.9, 0.5)


@goal
def g3(lab: Lab) -> Iterator[Row]:
    both = lab.text(VERL), lab.text(LIGER)
    yield Row("verl + Liger-Kernel: CPU / ruff", cpu(lab.versus(lab.lint(*both), lab.ruff(*both))), 5, 2.5)


@goal
def g4(lab: Lab) -> Iterator[Row]:
    folder = lab.text(LIGER)
    pairs = lab.versus_slow(lab.lint(folder), lab.torchfix(folder))
    yield Row("Liger-Kernel: CPU / TorchFix", cpu(pairs), 1 / 50, 1 / 100)


@goal
def g5(lab: Lab) -> Iterator[Row]:
    folder = lab.text(LIGER)
    pairs = lab.versus_slow(lab.lint(folder), lab.fixit(folder))
    yield Row("Liger-Kernel: CPU / Fixit with one rule", cpu(pairs), 1 / 20, 1 / 30)


@goal
def g6(lab: Lab) -> Iterator[Row]:
    """Walk, read and reject: no file of the text has the word."""
    folder = texts.without(b"autograd", [lab.text(TORCH), lab.text(TRANSFORMERS)], lab.cache)
    grep: Command = ["sh", "-c", 'grep -rlF autograd "$0"; true', folder]
    yield Row("no candidate in torch + transformers: CPU / grep -rlF", cpu(lab.versus(lab.lint(folder), grep)), 2.5, 1.6)


@goal
def g7(lab: Lab) -> Iterator[Row]:
    """What is left of the linter's CPU when importing click is paid for, in units of a Python that does nothing."""
    file = lab.file("none.py", "def f(x):\n    return x\n")
    rounds = in_turn(lab.lint(file), lab.python("import click"), lab.python("pass"), runs=max(lab.runs, 20))
    figure = Spread([(ours.cpu - click.cpu + nothing.cpu) / nothing.cpu for ours, click, nothing in rounds])
    yield Row("one file, no candidate: CPU beyond click / python -c pass", figure, 3, 2)


@goal
def g8(lab: Lab) -> Iterator[Row]:
    file = lab.text(LIGER) / CANDIDATE
    ours = lab.lint(file)
    pairs = in_turn(ours, lab.python("import libcst"), runs=max(lab.runs, 10))
    yield Row("a candidate of 497 lines: CPU / import libcst", cpu(pairs), 1.6, 1.35)
    yield Row("a candidate of 497 lines: CPU / TorchFix", cpu(lab.versus(ours, lab.torchfix(file))), 0.5, 0.5)
    yield Row("a candidate of 497 lines: CPU / Fixit with one rule", cpu(lab.versus(ours, lab.fixit(file))), 0.5, 0.5)


@goal
def g9(lab: Lab) -> Iterator[Row]:
    for count in (200, 400):
        for i in range(count):
            lab.file(f"files{count}/op{i}.py", inputs.classes(1))
    files = lab.versus(lab.lint(lab.scratch / "files400"), lab.lint(lab.scratch / "files200"))
    yield Row("twice the files: CPU", cpu(files), 2.2, 2.1)
    classes = [lab.lint(lab.file(f"classes{count}.py", inputs.classes(count))) for count in (400, 200)]
    yield Row("twice the classes in a file: CPU", cpu(lab.versus(*classes)), 2.4, 2.2)
    lines = [lab.lint(lab.file(f"lines{count}.py", inputs.long_function(count))) for count in (4000, 2000)]
    yield Row("twice the lines of a function: CPU", cpu(lab.versus(*lines)), 2.8, 2.5)


@goal
def g10(lab: Lab) -> Iterator[Row]:
    file = lab.file("long.py", inputs.long_function(10_000))
    parse = lab.python(f"import libcst; libcst.parse_module(open({str(file)!r}).read())")
    yield Row("a function of 10,000 lines: CPU / libcst.parse_module", cpu(lab.versus(lab.lint(file), parse)), 3, 2)


@goal
def g11(lab: Lab) -> Iterator[Row]:
    command = lab.lint(lab.text(TORCH) / "torch", lab.text(TRANSFORMERS))
    peaks = [cost(command, status=(0, 2)).peak for _ in range(min(lab.runs, SLOW))]
    yield Row("torch + transformers: peak MiB of one process", Spread(peaks), 120, 60)


@goal
def g13(lab: Lab) -> Iterator[Row]:
    """Each file holds a bug: it is found, or the file is named as skipped and the exit status says so."""
    files = {"good.py": inputs.bug(), **inputs.deep()}
    for name, text in files.items():
        lab.file(f"deep/{name}", text)
    process = subprocess.run(lab.lint(lab.scratch / "deep"), capture_output=True, text=True)
    unnamed = [name for name in files if name not in process.stdout + process.stderr]
    yield Row("files with deep code: not reported", Spread([len(unnamed)]), 0, 0)
    yield Row("files with deep code: exit status is not 2", Spread([process.returncode != 2]), 0, 0)
    chain = cost(lab.lint(lab.file("chain.py", inputs.call_chain(1000))))
    yield Row("a chain of 1,000 calls: wall seconds", Spread([chain.wall]), 3, 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="G1,G7", default=",".join(GOALS), help="these goals, in this order")
    parser.add_argument("--cache", metavar="DIR", type=Path, default=texts.CACHE, help="where texts and peers are kept")
    parser.add_argument("--runs", metavar="N", type=int, default=5, help="pairs that count (default: 5)")
    parser.add_argument("--linter", metavar="PROGRAM", type=Path, help="another `autograd-lint`, instead of this checkout's")
    arguments = parser.parse_args()
    chosen = arguments.only.upper().split(",")
    if unknown := set(chosen) - set(GOALS):
        parser.error(f"no such goal: {', '.join(sorted(unknown))}; there are {', '.join(GOALS)}")

    print(f"{'goal':4}  {'what':58}  {'measured':22}  {'bar':>6}  {'want':>6}")
    with tempfile.TemporaryDirectory(prefix="autograd-lint-") as scratch:
        lab = Lab(arguments.cache.expanduser().resolve(), Path(scratch), arguments.runs, arguments.linter)
        for name in chosen:
            for row in GOALS[name](lab):
                verdict = "met" if float(row.figure) <= row.bar else "NOT MET"
                print(f"{name:4}  {row.what:58}  {row.figure!s:22}  {row.bar:6.3g}  {row.want:6.3g}  {verdict}", flush=True)


if __name__ == "__main__":
    main()
