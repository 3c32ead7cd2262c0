from __future__ import annotations

import dataclasses
import json
import re
import unicodedata

import pytest

from autograd_lint.api import Severity
from autograd_lint.diagnostic import Diagnostic, Failure, FlowStep, Position, Range, Report, TextEdit, TextFix
from autograd_lint.output import Style, render

OP = """\
class MyOp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        x = x.contiguous()

        ctx.save_for_backward(x, weight)
        ctx.need = x.requires_grad
        return x @ weight
"""
MESSAGE = (
    "`x.requires_grad` is read from what `contiguous()` returned; where that is a copy, its flag is False in forward although"
    " the argument `x` requires grad"
)


def at(line: int, column: int, end_line: int, end_column: int) -> Range:
    return Range(Position(line, column), Position(end_line, end_column))


def of(text: str, part: str) -> Range:
    """Where `part` first stands in `text`."""
    before, line = text[: text.index(part)].count("\n"), text[: text.index(part)].rpartition("\n")[2]
    return at(before + 1, len(line) + 1, before + 1, len(line) + len(part) + 1)


def finding(span: Range, **changes: object) -> Diagnostic:
    url = "https://x.org/AGL001"
    diagnostic = Diagnostic(
        "AGL001", "derived-requires-grad", "error", "a message", "", "op.py", span, span, "", (), None, url, "f00d"
    )
    return dataclasses.replace(diagnostic, **changes)  # type: ignore[arg-type]


def show(text: str, *found: Diagnostic, width: int = 80, color: bool = False) -> str:
    reports = [Report("op.py", list(found))]
    return render("full", reports, {"op.py": text.encode()}, Style(color, width), summary=False)


def frame(text: str, span: Range, width: int = 80) -> list[str]:
    """The lines between the two blank ones."""
    return show(text, finding(span), width=width).split("\n\n")[1].split("\n")


def columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


FLOW = (
    FlowStep("op.py", at(3, 22, 3, 23), "`x` is an argument of `apply`"),
    FlowStep("op.py", of(OP, "x.contiguous()"), "a copy where `x` is not contiguous already"),
    FlowStep("op.py", of(OP, "x.requires_grad"), "its flag is read"),
)
WHOLE = finding(
    of(OP, "x.requires_grad"), message=MESSAGE, symbol="MyOp.forward", flow=FLOW, help="read `ctx.needs_input_grad[0]` instead"
)


def test_full() -> None:
    assert (
        show(OP, WHOLE)
        == """\
op.py:7:20: AGL001 derived-requires-grad: `x.requires_grad` is read from what
  `contiguous()` returned; where that is a copy, its flag is False in forward
  although the argument `x` requires grad

  6 |         ctx.save_for_backward(x, weight)
  7 |         ctx.need = x.requires_grad
    |                    ^^^^^^^^^^^^^^^
  8 |         return x @ weight

  in `MyOp.forward`:
  1. op.py:3:22: `x` is an argument of `apply`
     3 |     def forward(ctx, x, weight):
       |                      -
  2. op.py:4:13: a copy where `x` is not contiguous already
     4 |         x = x.contiguous()
       |             --------------
  3. op.py:7:20: its flag is read
  = help: read `ctx.needs_input_grad[0]` instead

"""
    )


def test_colour_changes_nothing_else() -> None:
    assert re.sub(r"\x1b\[[\d;]*m", "", show(OP, WHOLE, color=True)) == show(OP, WHOLE)
    assert "\x1b[1;31mAGL001\x1b[0m" in show(OP, WHOLE, color=True)
    assert "\x1b[33" not in show(OP, dataclasses.replace(WHOLE, severity="warning"), color=True)


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_nothing_is_wider_than_the_terminal(width: int) -> None:
    path = "a/rather/long/path/to/some/package/kernels/op.py"
    for line in show(OP, WHOLE, width=width).splitlines()[1:]:
        assert columns(line) <= width
    shown = show(OP, dataclasses.replace(WHOLE, path=path), width=width).splitlines()
    assert shown[0] == f"{path}:7:20: AGL001 derived-requires-grad:"
    assert all(columns(line) <= width for line in shown[1:])


@pytest.mark.parametrize("severity", ["warning", "note"])
def test_the_level_is_said_where_it_is_no_error(severity: Severity) -> None:
    shown = show(OP, dataclasses.replace(WHOLE, severity=severity))
    assert shown.startswith(f"op.py:7:20: AGL001 derived-requires-grad ({severity}): ")


def test_tabs() -> None:
    text = "\tif a:\tb = c\n"
    assert frame(text, of(text, "c")) == [
        "  1 |     if a:   b = c",
        "    |                 ^",
    ]


def test_wide_and_combining_characters() -> None:
    text = 's = "日本語", "e\u0301", c\n'
    line, marks = frame(text, of(text, "c"))
    assert line == '  1 | s = "日本語", "e\u0301", c'
    assert columns(marks) == columns(line.replace("\u0301", ""))
    assert frame(text, of(text, "本語"))[1] == "    |        ^^^^"


def test_characters_that_a_terminal_would_obey() -> None:
    text = 'a = "\x1b[2J\u202e\x07"; b\n'
    line, marks = frame(text, of(text, "b"))
    assert line == '  1 | a = "\N{REPLACEMENT CHARACTER}[2J\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}"; b'
    assert marks.index("^") == line.index("b")
    assert "\\x1b[2J" in show(text, finding(of(text, "b"), message="not \x1b[2J"))


@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize("lead", [0, 30, 60, 1000, 100_000])
@pytest.mark.parametrize("letter", ["a", "本"])
def test_long_lines_are_cropped_around_the_span(width: int, lead: int, letter: str) -> None:
    text = f"{letter * lead}(b.flag){letter * 1000}\n"
    line, marks = frame(text, of(text, "b.flag"), width)
    assert columns(line) <= width
    assert line.endswith("…")
    before = line[: line.index("b.flag")]
    assert marks == "    | " + " " * (columns(before) - 6) + "^^^^^^"


def test_a_span_that_is_longer_than_the_line_has_room_for() -> None:
    text = f"x = {'a' * 500}\n"
    line, marks = frame(text, at(1, 5, 1, 505))
    assert columns(line) <= 80
    assert columns(marks) <= 80
    assert "^" * 60 in marks


def test_spans_over_several_lines() -> None:
    text = "before\nx = foo(\n    1,\n\n)\nafter\n"
    assert frame(text, at(2, 5, 5, 2)) == [
        "  1 | before",
        "  2 | x = foo(",
        "    |     ^^^^",
        "  3 |     1,",
        "    |     ^^",
        "  4 | ",
        "  5 | )",
        "    | ^",
        "  6 | after",
    ]
    text = "x = foo(\n" + "    1,\n" * 100 + ")\nafter"
    assert frame(text, at(1, 5, 102, 2))[-4:] == [
        "    4 |     1,",
        "      |     ^^",
        "      | ...",
        "  103 | after",
    ]


def test_what_surrounds_a_span_is_shown_where_there_is_something() -> None:
    assert frame("\nx\n   \n", at(2, 1, 2, 2)) == ["  2 | x", "    | ^"]
    assert frame("x", at(1, 1, 1, 1)) == ["  1 | x", "    | ^"]


@pytest.mark.parametrize("text", ["", "x", "\udcff"])
def test_a_file_that_has_changed_meanwhile(text: str) -> None:
    reports = [Report("op.py", [WHOLE])]
    shown = render("full", reports, {"op.py": text.encode("utf-8", "surrogateescape")}, Style(), summary=False)
    assert "its flag is read" in shown
    assert " | " not in shown


def test_a_flow_through_another_file(tmp_path_factory: pytest.TempPathFactory) -> None:
    helper = tmp_path_factory.mktemp("other") / "helper.py"
    helper.write_text("# coding: latin-1\ndef é(x):\r\n    return x.contiguous()\r\n", encoding="latin-1", newline="")
    step = FlowStep(str(helper), at(3, 12, 3, 26), "copied here")
    gone = FlowStep("gone.py", at(1, 1, 1, 2), "no longer there")
    shown = show(OP, dataclasses.replace(WHOLE, flow=(step, gone)), width=100)
    assert "     3 |     return x.contiguous()\n       |            --------------\n" in shown
    assert "2. gone.py:1:1: no longer there\n" in shown


def test_concise() -> None:
    reports = [Report("op.py", [WHOLE, dataclasses.replace(WHOLE, severity="warning", code="AGL002", message="a\nb")])]
    assert render("concise", reports, {}, Style()) == (
        f"op.py:7:20: AGL001 {MESSAGE}\nop.py:7:20: AGL002 a\\nb\nFound 1 error, 1 warning.\n"
    )


@pytest.mark.parametrize(
    ("severities", "failures", "says"),
    [
        ("", 0, "All checks passed!"),
        ("", 1, "Found nothing; 1 file not linted in full."),
        ("", 2, "Found nothing; 2 files not linted in full."),
        ("error", 0, "Found 1 error."),
        ("warning error error error", 0, "Found 3 errors, 1 warning."),
        ("note note warning", 1, "Found 1 warning, 2 notes; 1 file not linted in full."),
    ],
)
def test_the_last_line(severities: str, failures: int, says: str) -> None:
    found = [finding(WHOLE.range, severity=severity) for severity in severities.split()]
    reports = [Report("op.py", found)]
    reports += [Report("bad.py", failures=[Failure("bad.py", 1, 1, "one"), Failure("bad.py", 2, 1, "two")])] * failures
    for output_format in ("full", "concise"):
        assert render(output_format, reports, {}, Style()).splitlines()[-1] == says


def test_json() -> None:
    span = of(OP, "x.requires_grad")
    fix = TextFix("Ask ctx", "unsafe", (TextEdit(span, "ctx.needs_input_grad[0]"),))
    statement = of(OP, "ctx.need = x.requires_grad")
    found = dataclasses.replace(WHOLE, fix=fix, flow=FLOW[:1], statement=statement)
    failure = Failure("bad.py", 3, 4, "invalid syntax")
    ends = {"location": {"row": 7, "column": 20}, "end_location": {"row": 7, "column": 35}}
    assert json.loads(render("json", [Report("op.py", [found]), Report("bad.py", failures=[failure])], {}, Style())) == [
        {
            "code": "AGL001",
            "name": "derived-requires-grad",
            "severity": "error",
            "message": MESSAGE,
            "help": "read `ctx.needs_input_grad[0]` instead",
            "filename": "op.py",
            **ends,
            "statement": {"location": {"row": 7, "column": 9}, "end_location": {"row": 7, "column": 35}},
            "symbol": "MyOp.forward",
            "flow": [
                {
                    "filename": "op.py",
                    "location": {"row": 3, "column": 22},
                    "end_location": {"row": 3, "column": 23},
                    "message": "`x` is an argument of `apply`",
                }
            ],
            "fix": {
                "applicability": "unsafe",
                "message": "Ask ctx",
                "edits": [{"content": "ctx.needs_input_grad[0]", **ends}],
            },
            "url": "https://x.org/AGL001",
            "fingerprint": "f00d",
        },
        {
            "code": None,
            "name": None,
            "severity": "error",
            "message": "invalid syntax",
            "help": "",
            "filename": "bad.py",
            "location": {"row": 3, "column": 4},
            "end_location": {"row": 3, "column": 4},
            "statement": {"location": {"row": 3, "column": 4}, "end_location": {"row": 3, "column": 4}},
            "symbol": None,
            "flow": [],
            "fix": None,
            "url": None,
            "fingerprint": None,
        },
    ]


def test_json_leaves_no_field_out() -> None:
    renamed = {"path": "filename", "range": "location"}
    (item,) = json.loads(render("json", [Report("op.py", [WHOLE])], {}, Style()))
    assert {renamed.get(field.name, field.name) for field in dataclasses.fields(Diagnostic)} <= set(item)


def test_json_is_ascii() -> None:
    text = render("json", [Report("op.py", [dataclasses.replace(WHOLE, path="caf\udce9.py", message="本")])], {}, Style())
    assert text.isascii()
    assert json.loads(text)[0]["filename"] == "caf\udce9.py"
