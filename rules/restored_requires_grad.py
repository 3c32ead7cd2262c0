"""AGL003: the flag of an argument is written onto a tensor derived from it."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_lint.api import Alias, Finding, FlagWrite, Function, Relation, Step, rule, story

DERIVED = (Relation.VIEW, Relation.MAY_COPY, Relation.COPY)


@rule("AGL003", severity="warning")
def check(fn: Function) -> Iterator[Finding]:
    for write in fn.of(FlagWrite, "forward", "setup_context"):
        derived = _derived(write)
        if derived and not write.place.grad_enabled and _carries_flag(write):
            alias = derived[-1]
            yield Finding(
                write.node,
                f"`{story.code(write.node)}` makes a hidden leaf of a tensor derived from `{alias.origin.name}`: views and casts of "
                "it lose the flag again, gradients may gather on it unseen, and under vmap it raises",
                (*story.way(alias), Step(write.node, "the flag is written here")),
                f"leave it out and {story.advice(fn, derived, write.place)}".removesuffix(" instead"),
            )


def _derived(write: FlagWrite) -> list[Alias]:
    """The arguments it derives from. A detached one is the leaf of a nested graph, which is right."""
    aliases = write.tensor.inputs(at_least=Relation.VIEW)
    return [a for a in aliases if a.relation in DERIVED and not a.own]


def _carries_flag(write: FlagWrite) -> bool:
    return any(a.kind == "needs" for a in write.flag.truth.atoms)
