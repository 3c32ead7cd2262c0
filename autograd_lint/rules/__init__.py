"""The rules. A wheel puts them beside this file; in a checkout they are the top-level rules/ folder."""

from pathlib import Path

_root = Path(__file__).resolve().parents[2]
if (_root / "pyproject.toml").is_file() and (_root / "rules").is_dir():
    __path__.append(str(_root / "rules"))
