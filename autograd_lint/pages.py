"""Rule pages: one Markdown file is a rule's documentation, what `autograd-lint rule CODE` prints, and the rule's test cases.

Python blocks are the cases. A comment `# error: AGL001` at the end of a line marks a finding that starts there; a block without
marks must be clean. What stands behind `python` on the fence is invisible to readers:

    ```python run ([2, 3], [5, 3], 1.0) harm=lost in=strided,returned

says that the block can be executed. `run` gives the arguments of `apply`, where a list is the shape of a random tensor. A marked
block names the `harm` that is done and the producers of arguments for which it is, all of them unless it says
(`tests/gradient_contract.py`).
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

HEADINGS = (
    "What it does",
    "Why is this bad?",
    "Example",
    "Use instead",
    "Fix safety",
    "When not to use it",
    "Known limitations",
    "References",
    "Cases",
)
PRELUDE = "import torch"

_TITLE = re.compile(r"# (?P<code>[A-Z]+[0-9]+): (?P<name>[a-z0-9-]+)")
_FENCE = re.compile(r"```(?P<language>\w*) ?(?P<info>.*)")
_RUN = re.compile(r"run (?P<args>\(.*\))(?: harm=(?P<harm>\w+))?(?: in=(?P<producers>[\w,]+))?")
_MARK = re.compile(r"\s*# error: (?P<codes>[A-Z]+[0-9]+(?:, [A-Z]+[0-9]+)*)$", re.MULTILINE)
_IMPORTS_TORCH = re.compile(r"^\s*(?:import|from) torch\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Run:
    """How a block is executed, and the harm it must do; `producers` is empty where the harm is there for all of them."""

    args: tuple[object, ...]
    harm: str | None
    producers: frozenset[str]


@dataclass(frozen=True, slots=True)
class Block:
    """A Python block. `line` is that of the fence, `intro` the paragraph above it; the lines of `marks` are the page's, too."""

    line: int
    section: str
    intro: str
    code: str
    marks: tuple[tuple[int, str], ...]
    run: Run | None

    @property
    def source(self) -> str:
        """A module to lint or to run. The code stands on the lines that it has in the page, so that every report points there."""
        prelude = "" if _IMPORTS_TORCH.search(self.code) else PRELUDE
        return prelude + "\n" * self.line + self.code


@dataclass(frozen=True, slots=True)
class Page:
    """`sections` are the texts under the H2 headings, in the order of the page."""

    path: Path
    code: str
    name: str
    sections: dict[str, str]
    blocks: tuple[Block, ...]

    @property
    def title(self) -> str:
        return f"{self.code}: {self.name}"

    @property
    def summary(self) -> str:
        """The first paragraph, on one line."""
        return " ".join(self.sections[HEADINGS[0]].split("\n\n")[0].split())


def readable(path: Path) -> str:
    """The text of a page as a reader of the rendered page sees it, without what says how to run its blocks."""
    return re.sub(r"^```python .*$", "```python", path.read_text("utf-8"), flags=re.MULTILINE)


def read(path: Path) -> Page:
    return parse(path.read_text(encoding="utf-8"), path)


def parse(text: str, path: Path) -> Page:
    """Raises ValueError, with the place, where there is no title, a fence stays open or says what nobody understands."""
    lines = text.splitlines()
    title = _TITLE.fullmatch(lines[0]) if lines else None
    if title is None:
        raise ValueError(f"{path}:1: expected a title like '# AGL001: name-of-the-rule'")
    blocks: list[Block] = []
    sections: dict[str, list[str]] = {}
    heading, at = "", 1
    while at < len(lines):
        line = lines[at]
        end = at + 1
        if line.startswith("## "):
            heading = line[3:]
            if heading in sections:
                raise ValueError(f"{path}:{at + 1}: a second section '{heading}'")
            sections[heading] = []
        else:
            if fence := _FENCE.fullmatch(line):
                if "```" not in lines[end:]:
                    raise ValueError(f"{path}:{at + 1}: the fence is left open")
                end = lines.index("```", end) + 1
                if fence["language"] == "python":
                    intro = "\n".join(sections.get(heading, [])).rstrip().rpartition("\n\n")[2].strip()
                    run = _run(fence["info"], f"{path}:{at + 1}")
                    blocks.append(_block(lines[at + 1 : end - 1], at + 1, heading, intro, run))
            sections.setdefault(heading, []).extend(lines[at:end])
        at = end
    return Page(path, title["code"], title["name"], {h: "\n".join(ls).strip() for h, ls in sections.items() if h}, tuple(blocks))


def _block(lines: list[str], fence: int, section: str, intro: str, run: Run | None) -> Block:
    marks = tuple(
        (number, code)
        for number, line in enumerate(lines, start=fence + 1)
        if (mark := _MARK.search(line))
        for code in mark["codes"].split(", ")
    )
    code = "".join(_MARK.sub("", line) + "\n" for line in lines)
    return Block(fence, section, intro, code, marks, run)


def _run(info: str, where: str) -> Run | None:
    if not info:
        return None
    match = _RUN.fullmatch(info)
    if match is None:
        raise ValueError(f"{where}: expected 'python' or 'python run (ARGS) harm=KIND in=PRODUCERS', found {info!r}")
    args = ast.literal_eval(match["args"])
    if not isinstance(args, tuple):
        raise ValueError(f"{where}: the arguments of `run` must be a tuple")
    producers = frozenset((match["producers"] or "").split(",")) - {""}
    return Run(args, match["harm"], producers)
