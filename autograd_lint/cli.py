"""The command line."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING, Any, TypeVar

import click

from autograd_lint import __version__, files, runner
from autograd_lint.config import FORMATS, ConfigError, Options, Resolver
from autograd_lint.output import Style, failure_line, plural, render
from autograd_lint.registry import UnknownRuleError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from autograd_lint.diagnostic import Failure
    from autograd_lint.runner import Run

# Exit codes.
CLEAN, FINDINGS, TROUBLE, INTERRUPTED = 0, 1, 2, 130

F = TypeVar("F", bound="Callable[..., Any]")


class Trouble(click.ClickException):
    """Ends the run with a message and exit code 2."""

    exit_code = TROUBLE


class DefaultGroup(click.Group):
    """Takes everything that names no command for the arguments of `check`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or args[0] not in (*self.commands, "-h", "--help", "--version"):
            args = ["check", *args]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (ConfigError, UnknownRuleError) as error:
            raise Trouble(str(error)) from error
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)


@click.group(cls=DefaultGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
def cli() -> None:
    """Find torch.autograd.Function classes that lose a gradient without a word.

    `autograd-lint PATH...` is short for `autograd-lint check PATH...`. A path that is called like a command is written `./rule`.
    """


def main() -> None:
    """What the console script and `python -m autograd_lint` run."""
    try:
        cli(prog_name="autograd-lint")
    finally:
        gc.freeze()  # the process ends: spare it a last search for garbage, which libcst's modules make long


def _listed(_ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...] | None:
    """Options that take a list can be repeated, and take commas. None where the option is not given."""
    return tuple(item.strip() for value in values for item in value.split(",") if item.strip()) if values else None


def _list_option(name: str, metavar: str, text: str) -> Callable[[F], F]:
    return click.option(name, multiple=True, metavar=metavar, callback=_listed, help=text)


def _switch(name: str, text: str) -> Callable[[F], F]:
    """On, off, or None where the configuration decides."""
    return click.option(f"--{name}/--no-{name}", default=None, help=text)


@cli.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@_list_option("--select", "RULES", "The rules to run: codes, prefixes such as AGL0, names, or ALL.")
@_list_option("--ignore", "RULES", "Rules not to run.")
@_list_option("--extend-select", "RULES", "Rules to run besides the others.")
@_switch("preview", "Also run rules that are not stable yet.")
@click.option("--output-format", type=click.Choice(FORMATS), help="auto is full on a terminal and concise elsewhere.")
@click.option("-o", "--output-file", metavar="FILE", help="Write the findings there instead of to stdout.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 in spite of findings.")
@click.option("-q", "--quiet", is_flag=True, help="Findings and errors only.")
@click.option("-v", "--verbose", is_flag=True, help="Say what was read and how long it took.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
@click.option("--config", "config_file", metavar="FILE", help="Use this configuration file for every path.")
@click.option("--isolated", is_flag=True, help="Use no configuration file.")
@click.option("--stdin-filename", metavar="FILE", help="What the text on stdin is called.")
@_list_option("--exclude", "PATTERNS", "Paths not to lint, as in a .gitignore, instead of the usual ones.")
@_list_option("--extend-exclude", "PATTERNS", "More paths not to lint.")
@_switch("force-exclude", "Exclude even paths that are named.")
@_switch("respect-gitignore", "Skip what git ignores; on by default.")
@click.option("--show-files", is_flag=True, help="List the files that would be linted, and stop.")
@click.option("-j", "--jobs", type=click.IntRange(min=0), default=0, help="How many processes at most; 0 is automatic.")
def check(
    paths: tuple[str, ...],
    output_file: str | None,
    exit_zero: bool,
    quiet: bool,
    verbose: bool,
    color: str,
    config_file: str | None,
    isolated: bool,
    stdin_filename: str | None,
    show_files: bool,
    jobs: int,
    **said: Any,
) -> None:
    """Lint Python files, and those below folders; `-` is stdin.

    Exits with 0 if all is well, 1 if there are errors or warnings, 2 if something could not be linted.
    """
    import time

    began = time.perf_counter()
    if config_file and isolated:
        raise click.UsageError("--config and --isolated exclude each other")
    stdin = "-" in paths or (stdin_filename is not None and not paths)
    if stdin and len(paths) > 1:
        raise click.UsageError("`-` stands alone: stdin cannot be linted along with files")
    if stdin_filename is not None and not stdin:
        raise click.UsageError("--stdin-filename goes with `-`")
    if show_files and stdin:
        raise click.UsageError("--show-files is for paths")

    line = Options(**{name: value for name, value in said.items() if value is not None})
    resolver = Resolver(line, file=config_file, isolated=isolated)
    here = resolver.at(os.getcwd())
    if line.selection:
        from autograd_lint import registry

        registry.validate([line.selection])

    if show_files:
        found, unreadable = files.collect(paths or (".",), resolver)
        _write("".join(f"{file.path}\n" for file in found), output_file)
        sys.exit(_complain(unreadable))

    run = _run_stdin(stdin_filename, resolver) if stdin else runner.run(paths or (".",), resolver, jobs=jobs)
    if not (run.files or run.reports or quiet):
        _say("warning: no Python files to lint")
    _report(run, here.output_format, output_file, color, summary=bool(run.files) and not quiet)
    status = _complain([failure for report in run.reports for failure in report.failures])
    if verbose:
        functions = sum(report.functions for report in run.reports)
        _say(
            f"{plural(run.files, 'file')}, {run.candidates} of them parsed, {plural(functions, 'autograd Function')},"
            f" {time.perf_counter() - began:.2f} s"
        )
    sys.exit(status or (CLEAN if exit_zero else _verdict(run)))


@cli.command("rule")
@click.argument("selector", metavar="CODE", required=False)
@click.option("--all", "every", is_flag=True, help="Every rule.")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
def explain(selector: str | None, every: bool, output_format: str) -> None:
    """Print the page of a rule, found by its code or its name."""
    from autograd_lint import registry
    from autograd_lint.pages import readable

    if (selector is None) != every:
        raise click.UsageError("give a rule's code or name, or --all")
    rules = [registry.find(selector)] if selector is not None else list(registry.load().values())
    if output_format == "text":
        _write("\n".join(readable(rule.page) for rule in rules))
        return
    import json

    pages = [
        {
            "code": rule.code,
            "name": rule.name,
            "severity": rule.severity,
            "preview": rule.preview,
            "fix": rule.fix,
            "explanation": readable(rule.page),
        }
        for rule in rules
    ]
    _write(json.dumps(pages if every else pages[0], indent=2) + "\n")


@cli.command("inspect")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
def inspect_(paths: tuple[str, ...], output_format: str) -> None:
    """Print what was found out about each autograd Function."""
    from autograd_lint import inspection
    from autograd_lint.diagnostic import Failure

    found, failures = files.collect(paths, Resolver(Options()))
    tables: list[inspection.FunctionTable] = []
    with runner.undisturbed():
        for path, source, config in runner.candidates_of(found, failures):
            for one in inspection.inspect(source, path, config.settings):
                if isinstance(one, Failure):
                    failures.append(one)
                else:
                    tables.append(one)
    if output_format == "text":
        _write(inspection.render_text(tables))
    else:
        import json

        _write(json.dumps(inspection.to_json(tables), indent=2) + "\n")
    sys.exit(_complain(failures))


def _run_stdin(name: str | None, resolver: Resolver) -> Run:
    """The name alone decides which configuration holds."""
    source = sys.stdin.buffer.read()
    path = os.path.abspath(name or "-")
    config = resolver.at(os.path.dirname(path))
    if name is not None and config.force_exclude and files.excluded(path, config):
        return runner.Run(files=1)
    return runner.run_text(source, "-" if name is None else files.shown(name), config)


def _report(run: Run, output_format: str, output_file: str | None, color: str, *, summary: bool) -> None:
    terminal = output_file is None and sys.stdout.isatty()
    if output_format == "auto":
        output_format = "full" if terminal else "concise"
    style = Style(_colored(color, terminal), min(_columns(), 100) if terminal else 80)
    _write(render(output_format, run.reports, run.sources, style, summary=summary), output_file)


def _colored(choice: str, terminal: bool) -> bool:
    """The option, then NO_COLOR, then FORCE_COLOR, then whether somebody is looking."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return terminal and os.environ.get("TERM") != "dumb"


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80
    except OSError:
        return 80


def _verdict(run: Run) -> int:
    found = (diagnostic for report in run.reports for diagnostic in report.diagnostics)
    return FINDINGS if any(diagnostic.severity != "note" for diagnostic in found) else CLEAN


def _complain(failures: Iterable[Failure]) -> int:
    lines = [failure_line(failure) for failure in failures]
    _say(*lines)
    return TROUBLE if lines else CLEAN


def _say(*lines: str) -> None:
    for line in lines:
        click.echo(line, err=True)


def _write(text: str, output_file: str | None = None) -> None:
    """Data: to a file, or to stdout, whose reader may have gone."""
    if output_file is not None:
        try:
            with open(output_file, "wb") as file:
                file.write(_encode(text, "utf-8"))
        except OSError as error:
            raise Trouble(f"{output_file}: {error.strerror}") from error
        return
    try:
        sys.stdout.buffer.write(_encode(text, sys.stdout.encoding))
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        # What is still in the buffer would be tried again, and fail again, when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _encode(text: str, encoding: str) -> bytes:
    """File names go out as the bytes that they came in as; what the encoding lacks, as an escape."""
    try:
        return text.encode(encoding, "surrogateescape")
    except UnicodeEncodeError:
        return text.encode(encoding, "backslashreplace")
