"""The rules folder as a whole: pairs, titles, headings, and the index.

`AUTOGRAD_LINT_BLESS=1 pytest tests/test_catalogue.py` rewrites the index.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from autograd_lint import pages, registry
from autograd_lint.api import Rule

FOLDER = Path(__file__).parents[1] / "rules"
RULES = registry.load()
each_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)


def test_rules_and_pages_come_in_pairs() -> None:
    modules = {path.stem for path in FOLDER.glob("*.py")}
    assert modules == {path.stem for path in FOLDER.glob("*.md")} - {"README"}
    assert modules == {rule.page.stem for rule in RULES.values()}, "a module registers one rule"


def test_codes_are_unique() -> None:
    titles = [pages.read(path).code for path in FOLDER.glob("*.md") if path.stem != "README"]
    assert sorted(titles) == sorted(RULES)


@each_rule
def test_title_is_code_and_name(rule: Rule) -> None:
    assert re.fullmatch(r"AGL[0-9]{3}", rule.code)
    assert rule.name == rule.page.stem.replace("_", "-")
    assert pages.read(rule.page).title == f"{rule.code}: {rule.name}"


@each_rule
def test_headings_and_their_order(rule: Rule) -> None:
    sections = pages.read(rule.page).sections
    assert tuple(sections) == pages.HEADINGS
    assert all(sections.values()), "an empty section"


@each_rule
def test_summary_is_one_sentence_that_begins_like_the_others(rule: Rule) -> None:
    assert re.fullmatch(r"Checks for [^|]+[^.]\.", pages.read(rule.page).summary)


@each_rule
def test_page_and_rule_agree_about_the_fix(rule: Rule) -> None:
    none = pages.read(rule.page).sections["Fix safety"] == "This rule has no automatic fix."
    assert none == (rule.fix is None)


def test_links_between_pages() -> None:
    for path in FOLDER.glob("*.md"):
        for target in re.findall(r"\]\(([^):]+\.md)\)", path.read_text(encoding="utf-8")):
            assert (FOLDER / target).is_file(), f"{path.name} links to {target}"


def test_index() -> None:
    path = FOLDER / "README.md"
    text = path.read_text(encoding="utf-8")
    begin, end = "<!-- index: begin -->\n", "<!-- index: end -->\n"
    head, rest = text.split(begin)
    _, tail = rest.split(end)
    wanted = head + begin + _index() + end + tail
    if os.environ.get("AUTOGRAD_LINT_BLESS") and text != wanted:
        path.write_text(wanted, encoding="utf-8", newline="\n")
    else:
        assert text == wanted, "AUTOGRAD_LINT_BLESS=1 rewrites the index"


def _index() -> str:
    rows = ["| code | name | level | preview | what it does |", "|---|---|---|---|---|"]
    for rule in RULES.values():
        preview = "yes" if rule.preview else ""
        summary = pages.read(rule.page).summary
        rows.append(f"| {rule.code} | [{rule.name}]({rule.page.name}) | {rule.severity} | {preview} | {summary} |")
    return "\n".join(rows) + "\n"


def test_readers_do_not_see_how_blocks_are_run() -> None:
    for rule in RULES.values():
        text = pages.readable(rule.page)
        assert "```python\n" in text
        assert "```python " not in text
