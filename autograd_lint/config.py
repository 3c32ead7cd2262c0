"""What holds for a file: the nearest configuration file, and the command line over it."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

from autograd_lint.registry import Selection, did_you_mean
from autograd_lint.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

# Of the two in one folder, the first counts.
CONFIG_FILES = ("autograd-lint.toml", "pyproject.toml")
FORMATS = ("auto", "full", "concise", "json")

DEFAULT_EXCLUDE = (
    ".bzr",
    ".direnv",
    ".eggs",
    ".git",
    ".git-rewrite",
    ".hg",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".nox",
    ".pants.d",
    ".pyenv",
    ".pytest_cache",
    ".pytype",
    ".ruff_cache",
    ".svn",
    ".tox",
    ".venv",
    ".vscode",
    "__pypackages__",
    "_build",
    "buck-out",
    "build",
    "dist",
    "node_modules",
    "site-packages",
    "third_party",
    "venv",
)


class ConfigError(Exception):
    """A configuration that cannot be used; the message names the file and the key."""


@dataclass(frozen=True, slots=True)
class Options:
    """What one place says. None or empty: nothing. The fields are the keys of a configuration file, with `_` for `-`."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    preview: bool | None = None
    output_format: str | None = None
    exclude: tuple[str, ...] | None = None
    extend_exclude: tuple[str, ...] = ()
    force_exclude: bool | None = None
    respect_gitignore: bool | None = None
    extend_function_bases: tuple[str, ...] = ()
    copying_decorators: tuple[str, ...] | None = None

    @classmethod
    def parse(cls, table: Mapping[str, Any], where: str) -> Options:
        """Check the keys and types of a TOML table. Raises ConfigError, whose message begins with `where`."""
        known = {field.name.replace("_", "-"): str(field.type) for field in fields(cls)}
        values: dict[str, Any] = {}
        for key, value in table.items():
            if key not in known:
                raise ConfigError(f"{where}: unknown key `{key}`{did_you_mean(key, list(known))}")
            if known[key].startswith("tuple"):
                if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
                    raise ConfigError(f"{where}: `{key}` must be a list of strings")
                value = tuple(value)
            elif known[key].startswith("bool") and not isinstance(value, bool):
                raise ConfigError(f"{where}: `{key}` must be true or false")
            elif known[key].startswith("str") and value not in FORMATS:
                raise ConfigError(f"{where}: `{key}` must be one of {', '.join(FORMATS)}")
            values[key.replace("-", "_")] = value
        return cls(**values)

    @property
    def selection(self) -> Selection:
        return Selection(self.select, self.ignore, self.extend_select)


@dataclass(frozen=True, eq=False)
class Config:
    """A file's options and the command line's over them. `root`: where the file's patterns start from; `file` may be ""."""

    root: str
    file: str
    base: Options
    line: Options

    @property
    def selections(self) -> tuple[Selection, ...]:
        return self.base.selection, self.line.selection

    @property
    def preview(self) -> bool:
        return bool(self._first("preview"))

    @property
    def output_format(self) -> str:
        return self._first("output_format") or "auto"

    @property
    def force_exclude(self) -> bool:
        return bool(self._first("force_exclude"))

    @property
    def respect_gitignore(self) -> bool:
        return self._first("respect_gitignore") is not False

    @cached_property
    def excludes(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Patterns as in a .gitignore, each list with the folder that they are relative to."""
        cwd = os.getcwd()
        if self.line.exclude is not None:
            main = (cwd, self.line.exclude)
        else:
            main = (self.root, DEFAULT_EXCLUDE if self.base.exclude is None else self.base.exclude)
        more = (self.root, self.base.extend_exclude), (cwd, self.line.extend_exclude)
        return main, *((root, patterns) for root, patterns in more if patterns)

    @cached_property
    def settings(self) -> Settings:
        return Settings.extended(self.base.extend_function_bases, self.base.copying_decorators)

    def _first(self, name: str) -> Any:
        said = getattr(self.line, name)
        return getattr(self.base, name) if said is None else said


class Resolver:
    """Finds the configuration of each folder, and remembers it. `line`: what the command line says."""

    def __init__(self, line: Options, *, file: str | None = None, isolated: bool = False) -> None:
        self._line = line
        self._cwd = os.getcwd()
        self._none = Config(self._cwd, "", Options(), line)
        self._fixed = self._none if isolated else None
        self._known: dict[str, Config] = {}
        if file is not None:
            found = self._read(file, required=True)
            self._fixed = Config(self._cwd, file, found or Options(), line)

    def at(self, folder: str) -> Config:
        """What holds for the files in `folder`, an absolute path. Raises ConfigError."""
        if self._fixed is not None:
            return self._fixed
        config = self._known.get(folder)
        if config is None:
            config = self._known[folder] = self._look(folder)
        return config

    def _look(self, folder: str) -> Config:
        for name in CONFIG_FILES:
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                options = self._read(path)
                if options is not None:
                    return Config(folder, path, options, self._line)
        parent = os.path.dirname(folder)
        return self._none if parent == folder else self.at(parent)

    def _read(self, path: str, *, required: bool = False) -> Options | None:
        """None for a `pyproject.toml` that does not speak of us."""
        where = os.path.relpath(path, self._cwd) if path.startswith(self._cwd + os.sep) else path
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError as error:
            raise ConfigError(f"{where}: {error.strerror}") from error
        ours = os.path.basename(path) != "pyproject.toml"
        if not ours and not required and b"autograd-lint" not in data:
            return None  # most projects: spare them the import of a TOML parser

        table = _toml(data, where)
        if not ours:
            tool = table.get("tool")
            table = tool.get("autograd-lint") if isinstance(tool, dict) else None
            if table is None:
                if required:
                    raise ConfigError(f"{where}: no table [tool.autograd-lint]")
                return None
        if not isinstance(table, dict):
            raise ConfigError(f"{where}: `tool.autograd-lint` must be a table")
        options = Options.parse(table, where)
        _check_rules(options, where)
        return options


def _toml(data: bytes, where: str) -> Any:
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib  # pyright: ignore[reportMissingImports]

    try:
        return tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{where}: {error}") from error


def _check_rules(options: Options, where: str) -> None:
    from autograd_lint.registry import UnknownRuleError, validate

    try:
        validate([options.selection])
    except UnknownRuleError as error:
        raise ConfigError(f"{where}: {error}") from error
