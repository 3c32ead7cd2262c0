"""AGL002: `requires_grad` is read from a view of an argument."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_lint.api import Finding, Function, Relation, rule, story


@rule("AGL002", severity="warning", mentions=("requires_grad",))
def check(fn: Function) -> Iterator[Finding]:
    for lost in story.lost_flags(fn):
        if lost.worst.relation is Relation.VIEW:
            made, flag, name = story.code(lost.losing_hop.node), story.code(lost.read.node), lost.worst.origin.name
            yield Finding(
                lost.read.node,
                f"`{made}` is a view: when `{name}` is itself a view of a tensor without grad, such as the output of another "
                f"Function that returned a view, `{flag}` is False and {story.consequence(fn, lost)}",
                story.lost_flag_steps(fn, lost),
                story.advice(fn, lost.aliases, lost.read.place),
            )
