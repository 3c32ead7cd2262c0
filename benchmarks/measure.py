"""What whole processes cost, one beside the other."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

Command = Sequence[str | Path]


@dataclass(frozen=True, slots=True)
class Cost:
    """`cpu` and `wall` in seconds; `peak`: MiB of the largest single process. A command's own children are in it."""

    cpu: float
    wall: float
    peak: float


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of what was measured, and how far it went to either side."""

    values: Sequence[float]

    def __float__(self) -> float:
        return float(median(self.values))

    def __str__(self) -> str:
        low, high = min(self.values), max(self.values)
        return f"{_digits(float(self))}" + (f" [{_digits(low)}–{_digits(high)}]" if low != high else "")


def cost(command: Command, *, status: Sequence[int] = (0,)) -> Cost:
    """Run it once. Raises RuntimeError where it ends otherwise than with one of `status`."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, ended, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(ended)
    if process.returncode not in status:
        raise RuntimeError(f"exit status {process.returncode}: {' '.join(map(str, command))}")
    return Cost(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10))


def in_turn(*commands: Command, runs: int, warm_up: int = 1, status: Sequence[int] = (0,)) -> list[tuple[Cost, ...]]:
    """A B A B …: what each costs in each round, after rounds that do not count."""
    rounds = [tuple(cost(command, status=status) for command in commands) for _ in range(warm_up + runs)]
    return rounds[warm_up:]


def _digits(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
