from __future__ import annotations

import os
from pathlib import Path

import pytest
from cli.standin import Lint


def tree(*paths: str) -> None:
    for name in paths:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def ignore(where: str, *lines: str) -> None:
    path = Path(where)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def listed(lint: Lint, *args: str) -> list[str]:
    result = lint("--show-files", *args)
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


def test_a_stable_order_and_python_files_only(lint: Lint) -> None:
    tree("b.py", "a.py", "a/z.py", "a/b/c.py", "B.py", "x.pyi", "x.txt", "py", "n.ipynb")
    assert listed(lint) == ["B.py", "a.py", "b.py", "a/z.py", "a/b/c.py"]


def test_paths_are_shown_relative_to_where_one_is(lint: Lint, project: Path) -> None:
    tree("src/a.py", "src/b.py")
    assert listed(lint, "./src/") == ["src/a.py", "src/b.py"]
    assert listed(lint, str(project / "src")) == ["src/a.py", "src/b.py"]
    assert listed(lint, str(project)) == ["src/a.py", "src/b.py"]
    assert listed(lint, "src/../src/b.py") == ["src/b.py"]
    os.chdir("src")
    assert listed(lint, "../src/a.py", "..") == ["../src/a.py", "../src/b.py"]


def test_each_file_once(lint: Lint) -> None:
    tree("src/a.py")
    assert listed(lint, "src", "src/a.py", "./src/a.py", ".") == ["src/a.py"]


def test_a_file_reached_by_a_link_is_linted_once(lint: Lint) -> None:
    Path("a.py").write_text("x  # AGL001\n")
    Path("b.py").symlink_to("a.py")
    Path("c.py").hardlink_to("a.py")
    assert lint("-q").stdout.splitlines() == [
        "a.py:1:1: AGL001 message of first-rule",
        "c.py:1:1: AGL001 message of first-rule",
    ]


def test_default_excludes(lint: Lint) -> None:
    tree("a.py", "build/a.py", "x/third_party/a.py", ".venv/lib/a.py", "venv/a.py", "x/site-packages/a.py", "x/built/a.py")
    assert listed(lint) == ["a.py", "x/built/a.py"]


def test_a_named_path_is_always_taken(lint: Lint) -> None:
    ignore(".gitignore", "/gen.py", "out/")
    tree(".git/HEAD", "gen.py", "build/a.py", "out/deep/a.py", "script")
    assert listed(lint, "gen.py", "build", "out", "out/deep", "script") == ["gen.py", "build/a.py", "out/deep/a.py", "script"]


def test_force_exclude(lint: Lint) -> None:
    tree("a.py", "build/a.py", "x/build/deep/a.py", "gen/a.py")
    named = ["a.py", "build/a.py", "build", "x/build/deep", "gen/a.py"]
    assert listed(lint, "--force-exclude", *named) == ["a.py", "gen/a.py"]
    assert listed(lint, "--force-exclude", "--extend-exclude", "gen", *named) == ["a.py"]
    ignore("pyproject.toml", "[tool.autograd-lint]", "force-exclude = true")
    assert listed(lint, *named) == ["a.py", "gen/a.py"]
    assert listed(lint, "--no-force-exclude", "build/a.py") == ["build/a.py"]


def test_what_lies_above_the_project_is_not_its_business(lint: Lint) -> None:
    tree("build/project/a.py")
    os.chdir("build/project")
    assert listed(lint, "--force-exclude", "a.py", ".") == ["a.py"]


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("gen", ["a.py", "x/a.py", "x/gen.py"]),
        ("gen.py", ["a.py", "gen/a.py", "x/a.py"]),
        ("*.py", []),
        ("x/*.py", ["a.py", "gen/a.py"]),
        ("/a.py", ["gen/a.py", "x/a.py", "x/gen.py"]),
        ("**/a.py", ["x/gen.py"]),
        ("a.py,x", ["gen.py"]),
    ],
)
def test_exclude(lint: Lint, pattern: str, left: list[str]) -> None:
    tree("a.py", "gen/a.py", "x/a.py", "x/gen.py")
    if pattern == "a.py,x":
        tree("gen.py")
    assert listed(lint, "--exclude", pattern) == left


def test_patterns_start_where_their_file_lies(lint: Lint) -> None:
    tree("lib/gen/a.py", "lib/a.py", "gen/a.py")
    ignore("lib/autograd-lint.toml", 'extend-exclude = ["/gen"]')
    assert listed(lint) == ["gen/a.py", "lib/a.py"]
    assert listed(lint, "--extend-exclude", "/gen") == ["lib/a.py"]


def test_gitignore_at_every_level(lint: Lint) -> None:
    ignore(".gitignore", "# a comment", "", "*_gen.py", "out/", "name")
    ignore("x/.gitignore", "!keep_gen.py", "/b.py", "local")
    ignore("x/y/.gitignore", "b.py")
    tree("a.py", "a_gen.py", "out/a.py", "name/a.py", "x/a.py", "x/b.py", "x/keep_gen.py", "x/other_gen.py", "x/local/a.py")
    tree("x/y/b.py", "x/y/keep_gen.py", "z/b.py", "z/local/a.py", "z/out.py", "z/out/a.py")
    assert listed(lint) == ["a.py", "x/a.py", "x/keep_gen.py", "x/y/keep_gen.py", "z/b.py", "z/out.py", "z/local/a.py"]
    assert "out/a.py" in listed(lint, "--no-respect-gitignore")


def test_gitignore_above(lint: Lint) -> None:
    tree(".git/HEAD", "src/pkg/a.py", "src/pkg/a_gen.py", "src/pkg/b.py", "src/pkg/c.py")
    ignore(".gitignore", "*_gen.py")
    ignore("src/.gitignore", "pkg/b.py")
    ignore(".git/info/exclude", "c.py")
    assert listed(lint, "src/pkg") == ["src/pkg/a.py"]
    os.chdir("src")
    assert listed(lint) == ["pkg/a.py"]


def test_a_repository_does_not_heed_what_lies_above_it(lint: Lint) -> None:
    ignore(".gitignore", "*.py")
    tree("repo/.git/HEAD", "repo/a.py", "sub/.git", "sub/a.py")
    assert listed(lint) == ["repo/a.py", "sub/a.py"]
    assert listed(lint, "repo") == ["repo/a.py"]


def test_an_ignored_folder_is_not_entered(lint: Lint) -> None:
    ignore(".gitignore", "out", "!out/keep.py")
    tree("out/keep.py", "a.py")
    assert listed(lint) == ["a.py"]


def test_lines_that_are_no_patterns(lint: Lint) -> None:
    Path(".gitignore").write_bytes(b"!\n[z-a]\n///\n\xff*\r\nb.py\r\n  \n/")
    tree("a.py", "b.py")
    assert listed(lint) == ["a.py"]


def test_links(lint: Lint) -> None:
    tree("a.py", "real/b.py")
    Path("real/loop").symlink_to("..")
    Path("link").symlink_to("real")
    Path("file.py").symlink_to("a.py")
    Path("dangling.py").symlink_to("nowhere")
    Path("self.py").symlink_to("self.py")
    Path("folder.py").symlink_to("real")
    assert listed(lint) == ["a.py", "file.py", "real/b.py"]
    assert listed(lint, "link") == ["link/b.py"]


def test_a_folder_called_like_a_module(lint: Lint) -> None:
    tree("x.py/a.py")
    assert listed(lint) == ["x.py/a.py"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in the file system")
def test_only_real_files(lint: Lint) -> None:
    os.mkfifo("pipe.py")
    assert listed(lint) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_what_must_not_be_read(lint: Lint) -> None:
    tree("a.py", "closed/a.py", "b.py")
    Path("a.py").chmod(0)
    Path("closed").chmod(0)
    result = lint()
    Path("closed").chmod(0o700)
    assert result.exit_code == 2
    assert result.stderr == "closed:1:1: error: Permission denied\na.py:1:1: error: Permission denied\n"


def test_a_file_that_cannot_be_read(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    tree("a.py", "b.py")
    Path("b.py").write_text("x  # AGL001\n")
    open_ = os.open

    def refuse(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path.endswith("a.py"):
            raise PermissionError(13, "Permission denied")
        return open_(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", refuse)
    result = lint()
    assert (result.exit_code, result.stderr) == (2, "a.py:1:1: error: Permission denied\n")
    assert result.stdout.startswith("b.py:1:1: AGL001")


def test_a_folder_that_cannot_be_read(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    tree("a.py", "closed/a.py", "b.py")
    scandir = os.scandir

    def refuse(path: str) -> object:
        if path.endswith("closed"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    result = lint("--show-files")
    assert (result.exit_code, result.stdout) == (2, "a.py\nb.py\n")
    assert result.stderr == "closed:1:1: error: Permission denied\n"


def test_a_file_from_a_pipe(lint: Lint) -> None:
    if not Path("/dev/fd").is_dir():
        pytest.skip("no /dev/fd")
    read, write = os.pipe()
    os.write(write, b"x  # AGL001\n")
    os.close(write)
    try:
        assert lint(f"/dev/fd/{read}").stdout.startswith(f"/dev/fd/{read}:1:1: AGL001")
    finally:
        os.close(read)
