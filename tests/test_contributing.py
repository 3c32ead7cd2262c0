"""The worked rule of CONTRIBUTING.md is a rule: put into a copy of the repository, it passes its tests."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_worked_rule_passes_its_tests(tmp_path: Path) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    page = re.search(r"^````markdown\n(.*?)^````$", text, re.DOTALL | re.MULTILINE)
    check = re.search(r"^```python\n(\"\"\"AGL.*?)^```$", text, re.DOTALL | re.MULTILINE)
    stem = re.search(r"`rules/(\w+)\.md`", text)
    assert page
    assert check
    assert stem

    for name in ("autograd_lint", "rules", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "rules" / f"{stem[1]}.md").write_text(page[1], encoding="utf-8")
    (tmp_path / "rules" / f"{stem[1]}.py").write_text(check[1], encoding="utf-8")
    process = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "tests/test_catalogue.py",
            "tests/test_pages.py",
            "-k",
            f"{stem[1]} or AGL101 or index",
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "AUTOGRAD_LINT_BLESS": "1"},
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stdout
    assert f"]({stem[1]}.md)" in (tmp_path / "rules" / "README.md").read_text(encoding="utf-8")
