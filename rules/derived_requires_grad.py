"""AGL001: `requires_grad` is read from a value that may be a copy of an argument."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_lint.api import Finding, Function, LostFlag, Relation, rule, story


@rule("AGL001", severity="error", mentions=("requires_grad",))
def check(fn: Function) -> Iterator[Finding]:
    for lost in story.lost_flags(fn):
        if lost.worst.relation > Relation.VIEW:
            yield Finding(
                lost.read.node,
                f"{_why(lost)} and {story.consequence(fn, lost)}",
                story.lost_flag_steps(fn, lost),
                story.advice(fn, lost.aliases, lost.read.place),
            )


def _why(lost: LostFlag) -> str:
    hop, flag = lost.losing_hop, story.code(lost.read.node)
    made = story.code(hop.node)
    if hop.kind == "decorator":
        return f"`{made}` passes on a copy of `{lost.worst.origin.name}` {hop.why}: then `{flag}` is False"
    if hop.relation is Relation.MAY_COPY:
        view = ", and a view of a base without grad when it comes from another Function that returned a view"
        return f"`{made}` is a copy {hop.why}{view if hop.otherwise is Relation.VIEW else ''}: then `{flag}` is False"
    if hop.relation is Relation.DETACHED:
        return f"`{made}` is detached: `{flag}` is always False"
    if len(lost.aliases) > 1 and any(a.relation is Relation.IS for a in lost.aliases):
        return f"`{made}` is a new tensor, made without grad mode: where it is used, `{flag}` is False"
    if lost.read.place.method == "backward":
        return f"`{made}` is a new tensor: unless backward is differentiated in turn, `{flag}` is False"
    return f"`{made}` is a new tensor, made without grad mode: `{flag}` is always False"
