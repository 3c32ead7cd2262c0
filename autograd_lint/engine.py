"""One file: source in, report out."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from autograd_lint.analysis import analyse
from autograd_lint.diagnostic import Diagnostic, Failure, FlowStep, Range, Report, TextEdit, TextFix
from autograd_lint.outline import outline
from autograd_lint.source import Segment, SourceError, Text, decode

if TYPE_CHECKING:
    import libcst as cst

    from autograd_lint.api import Finding, Rule
    from autograd_lint.model import Function
    from autograd_lint.settings import Settings

URL = "https://github.com/autograd-lint/autograd-lint/blob/main/rules/{page}"


def check(source: bytes, path: str, rules: Sequence[Rule], settings: Settings) -> Report:
    """Lint the text of one file. What cannot be read becomes a failure of the report; nothing is raised."""
    report = Report(path)
    everything = any(not rule.mentions for rule in rules)
    mentions = frozenset() if everything else frozenset(word for rule in rules for word in rule.mentions)
    found: dict[tuple[str, Range], _Placed] = {}
    for one in follow(source, path, settings, mentions):
        if isinstance(one, Failure):
            report.failures.append(one)
            continue
        report.functions += 1
        for rule in rules:
            try:
                for finding in rule.check(one):
                    placed = _Placed(rule, one, finding, path)
                    found.setdefault((rule.code, placed.range), placed)
            except Exception as error:  # a bug of ours must not hide what the other rules have
                message = f"{rule.code} {rule.name} failed on `{one.name}`: {_say(error)}"
                report.failures.append(Failure(path, one.line, 1, message))
    seen: Counter[str] = Counter()
    for placed in sorted(found.values(), key=lambda p: (p.range, p.rule.code)):
        report.diagnostics.append(placed.diagnostic(path, seen))
    return report


def follow(source: bytes, path: str, settings: Settings, mentions: frozenset[str] = frozenset()) -> Iterator[Function | Failure]:
    """The Functions of a file, each followed through, or why it could not be.

    `mentions`: words, one of which a Function must be able to reach to be worth following; none: all are.
    """
    try:
        functions = outline(Text(decode(source)), settings).functions
    except SourceError as error:
        yield Failure(path, error.line, error.column, error.message)
        return
    for made in functions:
        if mentions and not made.mentions(mentions):
            continue
        try:
            yield analyse(made, settings, mentions)
        except SourceError as error:
            yield Failure(path, error.line, error.column, error.message)
        except RecursionError:
            yield Failure(path, made.segment.first, 1, f"`{made.name}` is nested too deeply to be followed")
        except Exception as error:  # nor what the other Functions have
            yield Failure(path, made.segment.first, 1, f"`{made.name}` could not be followed: {_say(error)}")


def _say(error: Exception) -> str:
    return f"internal error, {type(error).__name__}: {error}"


class _Placed:
    """A finding with its place in the file."""

    def __init__(self, rule: Rule, function: Function, finding: Finding, path: str) -> None:
        """Raises LookupError where a node of the finding is none of the file."""
        self.rule, self.function, self.finding = rule, function, finding
        self.segment, self.range = self._locate(finding.node)
        self.steps = tuple(FlowStep(path, self._locate(s.node)[1], s.text) for s in finding.steps)
        self.fix = None
        if finding.fix is not None:
            edits = tuple(TextEdit(self._locate(e.node)[1], e.text) for e in finding.fix.edits)
            self.fix = TextFix(finding.fix.title, finding.fix.safety, edits)

    def _locate(self, node: cst.CSTNode) -> tuple[Segment, Range]:
        for segment in self.function.segments:
            place = segment.range(node)
            if place is not None:
                return segment, place
        raise LookupError("a finding must stand at a node of the file")

    def diagnostic(self, path: str, seen: Counter[str]) -> Diagnostic:
        rule, finding = self.rule, self.finding
        statement, code = self.segment.statement(self.range)
        owner = self.segment.owner
        symbol = owner.symbol if owner is not None else self.function.symbol
        identity = "\0".join((rule.code, path, symbol, code))
        seen[identity] += 1
        digest = hashlib.sha256(f"{identity}\0{seen[identity]}".encode("utf-8", "surrogateescape")).hexdigest()
        url = URL.format(page=rule.page.name)
        return Diagnostic(
            rule.code,
            rule.name,
            rule.severity,
            finding.message,
            finding.help,
            path,
            self.range,
            statement,
            symbol,
            self.steps,
            self.fix,
            url,
            digest[:32],
        )
