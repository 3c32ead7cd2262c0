"""What does the linter find in released packages, and what has a change made of that?

    python benchmarks/findings.py --record before.json
    python benchmarks/findings.py --compare before.json

Counts findings by package and rule, preview rules included. A finding keeps its fingerprint when lines move.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import texts

HERE = Path(__file__).resolve().parent

Findings = dict[str, dict[str, Any]]  # by fingerprint


def lint(folder: Path, linter: Path) -> Findings:
    """Raises CalledProcessError where the linter gives up; a file that it skips is named on stderr."""
    command: list[str | Path] = [linter, "check", "--isolated", "--preview", "--exit-zero", "--output-format", "json", "."]
    process = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    if process.returncode not in (0, 2) or not process.stdout:
        raise subprocess.CalledProcessError(process.returncode, command)
    return {finding["fingerprint"]: finding for finding in json.loads(process.stdout)}


def table(found: dict[str, Findings]) -> Iterable[str]:
    counts = {package: Counter(finding["code"] for finding in findings.values()) for package, findings in found.items()}
    counts["all"] = sum(counts.values(), Counter())
    codes = sorted(counts["all"])
    yield " ".join([f"{'package':28}", *codes, "   all"])
    for package, by_code in counts.items():
        yield " ".join([f"{package:28}", *(f"{by_code[code] or '':6}" for code in codes), f"{by_code.total():6}"])


def difference(before: dict[str, Findings], after: dict[str, Findings]) -> Iterable[str]:
    """Of the packages that both have."""
    for package in before.keys() & after.keys():
        old, new = before[package], after[package]
        yield from (f"gone: {_line(package, old[fingerprint])}" for fingerprint in old.keys() - new.keys())
        yield from (f"new:  {_line(package, new[fingerprint])}" for fingerprint in new.keys() - old.keys())


def _line(package: str, finding: dict[str, Any]) -> str:
    return f"{package}/{finding['filename']}:{finding['location']['row']}: {finding['code']} {finding['message']}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", metavar="FILE", type=Path, help="write the findings")
    parser.add_argument("--compare", metavar="FILE", type=Path, help="name the findings that are new or gone since --record")
    parser.add_argument("--packages", metavar="FILE", type=Path, default=HERE / "packages.txt", help="name==version, a line each")
    parser.add_argument("--cache", metavar="DIR", type=Path, default=texts.CACHE, help="where the packages are kept")
    parser.add_argument("--linter", metavar="PROGRAM", type=Path, default=Path(sys.executable).parent / "autograd-lint")
    arguments = parser.parse_args()

    found = {}
    for line in arguments.packages.read_text().splitlines():
        package = line.partition("#")[0].strip()
        if package:
            try:
                folder = texts.fetch(package, arguments.cache.expanduser().resolve())
            except subprocess.CalledProcessError:
                print(f"{package}: not to be had here, left out", file=sys.stderr)
                continue
            found[package] = lint(folder, arguments.linter.resolve())
    print(*table(found), sep="\n")
    if arguments.compare:
        print(*sorted(difference(json.loads(arguments.compare.read_text()), found)), sep="\n")
    if arguments.record:
        arguments.record.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
