"""Files to reports, in one process or several."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from autograd_lint import files, prefilter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from autograd_lint.api import Rule
    from autograd_lint.config import Config, Resolver
    from autograd_lint.diagnostic import Failure, Report

# A chain of a thousand calls takes several frames for each of them; much beyond this the C stack is the limit.
_RECURSION_LIMIT = 10_000
# A second process pays for itself from about this many bytes of candidates on.
_SHARE = 50_000
_MOST_JOBS = 8


class Candidate(NamedTuple):
    path: str
    source: bytes
    config: Config


@dataclass(slots=True)
class Run:
    """What came out: a report for each file that could not be read, then one for each candidate, in the order of the files."""

    reports: list[Report] = field(default_factory=list)
    sources: dict[str, bytes] = field(default_factory=dict)
    files: int = 0
    candidates: int = 0


def run(paths: Iterable[str], resolver: Resolver, *, jobs: int = 0) -> Run:
    """Lint files and folders. `jobs`: how many processes at most; 0 decides by the work there is. Raises ConfigError."""
    with undisturbed():
        found, unreadable = files.collect(paths, resolver)
        candidates = candidates_of(found, unreadable)
        result = _lint(candidates, jobs)
    result.files = len(found)
    if unreadable:
        from autograd_lint.diagnostic import Report

        result.reports[:0] = [Report(failure.path, failures=[failure]) for failure in unreadable]
    return result


def run_text(source: bytes, path: str, config: Config) -> Run:
    """Lint a text that is in no file, under a name."""
    with undisturbed():
        result = _lint([Candidate(path, source, config)] if prefilter.is_candidate(source, config.settings) else [], jobs=1)
    result.files = 1
    return result


def _lint(candidates: Sequence[Candidate], jobs: int) -> Run:
    if not candidates:
        return Run()
    rules = _rules(candidates)
    concerned = [c for c in candidates if prefilter.has_a_say(c.source, rules[c.config])]
    if not concerned:
        return Run(candidates=len(candidates))
    check = _checker(rules)
    result = _reports(check, concerned, jobs)
    result.candidates = len(candidates)
    return result


def _reports(check: Callable[[Candidate], Report], candidates: Sequence[Candidate], jobs: int) -> Run:
    jobs = min(jobs or _jobs_for(candidates), len(candidates))
    if jobs > 1 and hasattr(os, "fork"):
        reports = _in_processes(check, candidates, jobs)
    else:
        reports = [check(candidate) for candidate in candidates]
    return Run(reports, {candidate.path: candidate.source for candidate in candidates})


def candidates_of(found: Iterable[files.File], unreadable: list[Failure]) -> list[Candidate]:
    """The files that may hold an autograd Function, each once. Adds to `unreadable` those that cannot be read."""
    candidates: list[Candidate] = []
    seen: set[tuple[int, int] | str] = set()
    read, is_candidate = files.read, prefilter.is_candidate
    for path, config in found:
        try:
            source = read(path)
            if not is_candidate(source, config.settings):
                continue
            status = os.stat(path)
        except OSError as error:
            unreadable.append(files.failure(path, error))
            continue
        # A file may be reached by several links. Hard links are files of their own.
        identity = (status.st_dev, status.st_ino) if status.st_nlink == 1 else os.path.realpath(path)
        if identity not in seen:
            seen.add(identity)
            candidates.append(Candidate(path, source, config))
    return candidates


def _rules(candidates: Iterable[Candidate]) -> dict[Config, tuple[Rule, ...]]:
    from autograd_lint import registry

    configs = {candidate.config for candidate in candidates}
    return {config: registry.select(config.selections, preview=config.preview) for config in configs}


def _checker(rules: dict[Config, tuple[Rule, ...]]) -> Callable[[Candidate], Report]:
    """Everything that is worth having before a fork: the engine, the rules, the settings."""
    from autograd_lint import engine

    def check(candidate: Candidate) -> Report:
        return engine.check(candidate.source, candidate.path, rules[candidate.config], candidate.config.settings)

    return check


def _jobs_for(candidates: Sequence[Candidate]) -> int:
    work = sum(len(candidate.source) for candidate in candidates)
    return max(1, min(_processors(), _MOST_JOBS, work // _SHARE))


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _in_processes(check: Callable[[Candidate], Report], candidates: Sequence[Candidate], jobs: int) -> list[Report]:
    """This process takes the first share, children the others; what a child that dies leaves behind is tried file by file."""
    shares = _shares(candidates, jobs)
    reports: dict[int, Report] = {}
    children: list[_Child] = []
    gc.freeze()
    try:
        for share in shares[1:]:
            try:
                children.append(_Child(check, candidates, share))
            except OSError:  # no more processes to be had
                shares[0] += share
        for index in shares[0]:
            reports[index] = check(candidates[index])
        for child in children:
            answer = child.answer()
            if isinstance(answer, list):
                reports.update(zip(child.share, answer, strict=True))
        for child in children:
            for index in child.share:
                if index not in reports:
                    reports[index] = _alone(check, candidates, index)
    finally:
        for child in children:
            child.stop()
    return [reports[index] for index in range(len(candidates))]


def _shares(candidates: Sequence[Candidate], jobs: int) -> list[list[int]]:
    """Split by size: the largest first, each to the share that has least so far."""
    shares: list[list[int]] = [[] for _ in range(jobs)]
    sizes = [0] * jobs
    for index in sorted(range(len(candidates)), key=lambda i: -len(candidates[i].source)):
        least = sizes.index(min(sizes))
        shares[least].append(index)
        sizes[least] += len(candidates[index].source)
    return shares


def _alone(check: Callable[[Candidate], Report], candidates: Sequence[Candidate], index: int) -> Report:
    """Lint one file in a process of its own, which may die of it."""
    from autograd_lint.diagnostic import Failure, Report

    try:
        child = _Child(check, candidates, [index])
    except OSError as error:
        answer: list[Report] | str = f"could not be started: {error.strerror}"
    else:
        try:
            answer = child.answer()
        finally:
            child.stop()
    if isinstance(answer, list):
        return answer[0]
    path = candidates[index].path
    return Report(path, failures=[Failure(path, 1, 1, f"the process that linted this file {answer}")])


class _Child:
    """A forked process that lints its share and sends the reports back."""

    def __init__(self, check: Callable[[Candidate], Report], candidates: Sequence[Candidate], share: list[int]) -> None:
        self.share = share
        read, write = os.pipe()
        self._pid = os.fork()
        if self._pid:
            os.close(write)
            self._pipe = read
            return
        status = 1
        try:
            import pickle

            os.close(read)
            with open(write, "wb") as pipe:
                pickle.dump([check(candidates[index]) for index in share], pipe)
            status = 0
        except KeyboardInterrupt:
            pass
        except BaseException:  # never let a child go on as if it were the parent
            import traceback

            traceback.print_exc()
        finally:
            os._exit(status)

    def answer(self) -> list[Report] | str:
        """The reports in the order of the share, or how the process ended without them."""
        import pickle

        pipe, self._pipe = self._pipe, -1
        with open(pipe, "rb") as file:
            data = file.read()
        status = self._wait()
        if status == 0:
            reports: list[Report] = pickle.loads(data)
            return reports
        return f"ended with status {status}" if status > 0 else f"was killed by {_signal_name(-status)}"

    def stop(self) -> None:
        """Leave nothing behind, whatever happened."""
        if self._pipe >= 0:
            os.close(self._pipe)
        if self._pid:
            os.kill(self._pid, 9)
            self._wait()

    def _wait(self) -> int:
        _, status = os.waitpid(self._pid, 0)
        self._pid = 0
        return os.waitstatus_to_exitcode(status)


def _signal_name(number: int) -> str:
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


@contextmanager
def undisturbed() -> Iterator[None]:
    """Without garbage collection (four fifths of the time it takes with it) and with room for deep syntax trees."""
    limit, collecting = sys.getrecursionlimit(), gc.isenabled()
    gc.disable()
    sys.setrecursionlimit(max(limit, _RECURSION_LIMIT))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
        if collecting:
            gc.freeze()  # or the next allocation looks through all that the run has made
            gc.enable()
