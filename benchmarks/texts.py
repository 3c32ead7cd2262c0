"""What the benchmarks read: pinned packages from PyPI, as folders of Python files in a cache outside the repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "autograd-lint-benchmarks"


def fetch(requirement: str, cache: Path) -> Path:
    """The Python files of `name==version`. Raises CalledProcessError where pip cannot have it."""
    folder = cache / "texts" / requirement.replace("==", "-")
    if not folder.is_dir():
        print(f"fetching {requirement}", file=sys.stderr)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            files = _installed(requirement) or _downloaded(requirement, Path(scratch))
            write(Path(scratch, "text"), files)
            Path(scratch, "text").rename(folder)
    return folder


def without(word: bytes, folders: list[Path], cache: Path) -> Path:
    """The files of `folders` in which `word` does not occur, as hard links."""
    target = cache / "texts" / f"no-{word.decode()}-{'-'.join(folder.name for folder in folders)}"
    if not target.is_dir():
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            for folder in folders:
                for file in folder.rglob("*.py"):
                    if word not in file.read_bytes():
                        link = Path(scratch, "text", folder.name, file.relative_to(folder))
                        link.parent.mkdir(parents=True, exist_ok=True)
                        link.hardlink_to(file)
            Path(scratch, "text").rename(target)
    return target


def write(folder: Path, files: Iterator[tuple[str, bytes]]) -> None:
    for name, data in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def environment(folder: Path, *requirements: str) -> Path:
    """The programs of a virtual environment with these packages, made on first use."""
    programs = folder / "bin"
    if not folder.is_dir():
        print(f"making {folder}", file=sys.stderr)
        try:
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
            if requirements:
                install(programs, *requirements)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    return programs


def install(programs: Path, *requirements: str) -> None:
    _pip(programs / "python", "install", *requirements)


def _installed(requirement: str) -> Iterator[tuple[str, bytes]] | None:
    """Saves the download of a large package that is installed in just this version."""
    name, _, version = requirement.partition("==")
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None
    if found.version.partition("+")[0] != version or found.files is None:
        return None
    files = [file for file in found.files if file.suffix == ".py" and ".." not in file.parts]
    return ((str(file), Path(str(file.locate())).read_bytes()) for file in files)


def _downloaded(requirement: str, scratch: Path) -> Iterator[tuple[str, bytes]]:
    _pip(sys.executable, "download", "--no-deps", "--dest", str(scratch), requirement)
    (archive,) = (path for path in scratch.iterdir() if path.is_file())
    return _unzip(archive) if archive.suffix in (".whl", ".zip") else _untar(archive)


def _unzip(archive: Path) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(archive) as members:
        for name in members.namelist():
            if name.endswith(".py") and ".." not in name.split("/"):
                yield name, members.read(name)


def _untar(archive: Path) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(archive) as members:
        for member in members:
            if member.name.endswith(".py") and ".." not in member.name.split("/"):
                stream = members.extractfile(member)
                if stream is not None:
                    yield member.name.partition("/")[2], stream.read()


def _pip(python: str | Path, *arguments: str) -> None:
    subprocess.run([python, "-m", "pip", "-qq", "--disable-pip-version-check", *arguments], check=True)
