"""AGL003: the flag of an argument is written onto a tensor derived from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from autograd_lint.api import Alias, Finding, FlagWrite, Function, Relation, Return, Step, rule, story

# A detached tensor is the leaf of a nested graph, which is right.
DERIVED = (Relation.VIEW, Relation.MAY_COPY, Relation.COPY)


@rule("AGL003", severity="warning", mentions=("requires_grad",))
def check(fn: Function) -> Iterator[Finding]:
    for write in fn.of(FlagWrite):
        derived = [a for a in write.tensor.inputs() if a.relation in DERIVED and not a.own]
        if not derived or write.place.grad_enabled or write.flag.const is False or _returned(fn, write):
            continue
        alias, written = derived[-1], story.code(write.node)
        steps = (*story.way(alias), Step(write.node, "the flag is written here"))
        if write.place.method == "backward":
            if _is_saved_object(alias):
                yield Finding(
                    write.node,
                    f"`{written}` makes a leaf of the very tensor that was saved: a second backward adds to the `.grad` that the "
                    "first one left on it",
                    steps,
                    "make the leaf with `detach().requires_grad_()`",
                )
        elif _carries_flag(write):
            yield Finding(
                write.node,
                f"`{written}` makes a hidden leaf of a tensor derived from `{alias.origin.name}`: views and casts of it lose the "
                "flag again, gradients may gather on it unseen, and under vmap it raises",
                steps,
                f"leave it out and {story.advice(fn, derived, write.place)}".removesuffix(" instead"),
            )


def _returned(fn: Function, write: FlagWrite) -> bool:
    """An output's flag is set by `apply` in any case."""
    out = {a for back in fn.of(Return, "forward") for v in (back.value, *(back.value.parts or ())) for a in v.aliases()}
    return write.place.method == "forward" and any(replace(a, own=True) in out or a in out for a in write.tensor.aliases())


def _is_saved_object(alias: Alias) -> bool:
    """Is it what forward saved, with nothing made of it since?"""
    hop = alias.trail
    while hop is not None and hop.relation is Relation.IS and hop.kind not in ("save", "store"):
        hop = hop.before
    return hop is not None and hop.kind in ("save", "store")


def _carries_flag(write: FlagWrite) -> bool:
    return any(a.kind in ("needs", "lost", "flag") for a in write.flag.truth.atoms)
