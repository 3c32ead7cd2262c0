"""From the paths that the user named to the files to lint."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from autograd_lint.config import CONFIG_FILES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pathspec import GitIgnoreSpec

    from autograd_lint.config import Config, Resolver
    from autograd_lint.diagnostic import Failure


class File(NamedTuple):
    """`path` is how it is opened and shown: relative to the working directory where it lies below it, with forward slashes."""

    path: str
    config: Config


class Patterns:
    """The lines of a .gitignore, or of a configuration's `exclude`, and the folder that they are relative to."""

    def __init__(self, base: str, lines: Iterable[str]) -> None:
        self._base = base if base.endswith(os.sep) else base + os.sep
        rest = [line for line in lines if line.strip() and not line.startswith("#")]
        # Names without a wildcard are the usual case and need no pathspec; a `!` makes the order matter.
        plain = {line for line in rest if not any(c in line for c in "*?[]!/\\ ")}
        self._names = frozenset(() if any(line.startswith("!") for line in rest) else plain)
        rest = [line for line in rest if line not in self._names]
        self._spec = _compile(rest) if rest else None

    def ignores(self, path: str, *, folder: bool) -> bool | None:
        """Of an absolute path: True and False where a line speaks of it, the last one deciding; None where no line does."""
        if path.rpartition(os.sep)[2] in self._names:
            return True
        if self._spec is None or not path.startswith(self._base):
            return None
        relative = _posix(path[len(self._base) :])
        return self._spec.check_file(relative + "/" if folder else relative).include


def _compile(lines: list[str]) -> GitIgnoreSpec:
    """A line that is no pattern (`[z-a]`, a lone `!`) matches nothing, as in git."""
    import re

    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(lines)
    except (ValueError, re.error):
        if len(lines) == 1:
            return GitIgnoreSpec.from_lines([])
        return GitIgnoreSpec([pattern for line in lines for pattern in _compile([line]).patterns])


_SPECIAL = frozenset({".git", ".gitignore", *CONFIG_FILES})

# Lists of patterns from the outermost to the innermost; the innermost that speaks of a path decides.
Layers = tuple[Patterns, ...]


def collect(paths: Iterable[str], resolver: Resolver) -> tuple[list[File], list[Failure]]:
    """The files named and those below the folders named, in a stable order.

    A path that is named is always taken, unless `force-exclude` is on. Raises ConfigError.
    """
    files: dict[str, File] = {}
    unreadable: list[Failure] = []
    for named in paths:
        path = shown(named)
        absolute = os.path.abspath(path)
        folder = os.path.isdir(path)
        config = resolver.at(absolute if folder else os.path.dirname(absolute))
        if config.force_exclude and excluded(absolute, config, folder=folder):
            continue
        if folder:
            _walk(path, absolute, resolver, files, unreadable)
        else:
            files.setdefault(path, File(path, config))
    return list(files.values()), unreadable


def shown(path: str) -> str:
    """A path as it is shown."""
    path = os.path.normpath(path)
    if os.path.isabs(path):
        cwd = os.getcwd()
        if path.startswith(cwd + os.sep):
            path = path[len(cwd) + 1 :]
        elif path == cwd:
            path = "."
    return _posix(path)


def excluded(path: str, config: Config, *, folder: bool = False) -> bool:
    """Does `exclude` speak of this absolute path or of a folder that it lies in?"""
    layers = _exclude_layers(config)
    while True:
        if any(patterns.ignores(path, folder=folder) for patterns in layers):
            return True
        # What lies above the root of the project, and be it a `build`, is not its business.
        path, folder = os.path.dirname(path), True
        if not path.startswith(config.root.rstrip(os.sep) + os.sep):
            return False


def failure(path: str, error: OSError) -> Failure:
    from autograd_lint.diagnostic import Failure

    return Failure(path, 1, 1, error.strerror or str(error))


def read(path: str) -> bytes:
    """The whole file. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        size = os.fstat(descriptor).st_size
        data = os.read(descriptor, size + 1)
        if len(data) == size:
            return data
        parts = [data]  # a pipe, or a file that grows meanwhile
        while part := os.read(descriptor, 1 << 16):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)


def _walk(top: str, absolute: str, resolver: Resolver, files: dict[str, File], unreadable: list[Failure]) -> None:
    prefix = "" if top == "." else top.rstrip("/") + "/"
    stack = [(prefix, absolute, resolver.at(absolute), _outer_ignores(absolute))]
    while stack:
        prefix, folder, config, ignores = stack.pop()
        folders, modules, special = [], [], set()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    name = entry.name
                    if name in _SPECIAL:
                        special.add(name)
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(name)
                    elif name.endswith(".py") and _is_file(entry):
                        modules.append(name)
        except OSError as error:
            unreadable.append(failure(prefix.rstrip("/") or top, error))
            continue

        if not special.isdisjoint(CONFIG_FILES):
            config = resolver.at(folder)
        ignores = _with_own(ignores, folder, special) if config.respect_gitignore else ()
        excludes = _exclude_layers(config)
        start = folder if folder.endswith(os.sep) else folder + os.sep
        for name in sorted(modules):
            if not _skipped(start + name, excludes, ignores, folder=False):
                files.setdefault(prefix + name, File(prefix + name, config))
        stack += [
            (f"{prefix}{name}/", start + name, config, ignores)
            for name in sorted(folders, reverse=True)  # the last one in is the first one out
            if not _skipped(start + name, excludes, ignores, folder=True)
        ]


def _skipped(path: str, excludes: Layers, ignores: Layers, *, folder: bool) -> bool:
    for patterns in excludes:
        if patterns.ignores(path, folder=folder):
            return True
    return bool(ignores) and _ignored(path, ignores, folder=folder)


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Also through a link; a dangling one (editors use them as locks) is none."""
    try:
        return entry.is_file()
    except OSError:
        return False


def _ignored(path: str, layers: Layers, *, folder: bool) -> bool:
    for patterns in reversed(layers):
        verdict = patterns.ignores(path, folder=folder)
        if verdict is not None:
            return verdict
    return False


def _outer_ignores(top: str) -> Layers:
    """What the folders above `top` ignore, up to the root of its repository.

    Nothing where that would be `top` itself: somebody who names an ignored folder wants to see it.
    """
    chain = [top]
    while not os.path.exists(os.path.join(chain[-1], ".git")):
        parent = os.path.dirname(chain[-1])
        if parent == chain[-1]:
            return ()
        chain.append(parent)
    layers: Layers = ()
    for folder, inner in zip(reversed(chain[1:]), reversed(chain[:-1]), strict=True):
        layers = _with_own(layers, folder, {".gitignore", ".git"} if folder == chain[-1] else {".gitignore"})
        if _ignored(inner, layers, folder=True):
            return ()
    return layers


def _with_own(layers: Layers, folder: str, names: set[str]) -> Layers:
    """Add the ignore files of a folder that holds `names`. The root of a repository does not heed what lies above it."""
    found = []
    if ".git" in names:
        layers = ()
        found.append(os.path.join(folder, ".git", "info", "exclude"))
    if ".gitignore" in names:
        found.append(os.path.join(folder, ".gitignore"))
    for path in found:
        try:
            lines = [os.fsdecode(line) for line in read(path).splitlines()]
        except OSError:  # not there, or not ours to read: git goes on as well
            continue
        layers += (Patterns(folder, lines),)
    return layers


@cache
def _exclude_layers(config: Config) -> Layers:
    return tuple(Patterns(root, lines) for root, lines in config.excludes)


def _posix(path: str) -> str:
    return path if os.sep == "/" else path.replace(os.sep, "/")
