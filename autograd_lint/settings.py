"""What a run was asked to do, as far as the engine cares."""

from __future__ import annotations

from dataclasses import dataclass

FUNCTION_BASES = frozenset(
    {
        "torch.autograd.Function",
        "torch.autograd.function.Function",
        "torch.autograd.function.InplaceFunction",
    }
)

COPYING_DECORATORS = frozenset({"ensure_contiguous", "input_guard"})


@dataclass(frozen=True, slots=True)
class Settings:
    """`function_bases`: dotted names of classes to be taken for `torch.autograd.Function`.

    `copying_decorators`: last names of decorators that may copy the tensors they pass on. Names given by the user replace ours.
    """

    function_bases: frozenset[str] = FUNCTION_BASES
    copying_decorators: frozenset[str] = COPYING_DECORATORS

    @classmethod
    def extended(cls, function_bases: tuple[str, ...] = (), copying_decorators: tuple[str, ...] | None = None) -> Settings:
        copying = COPYING_DECORATORS if copying_decorators is None else frozenset(copying_decorators)
        return cls(FUNCTION_BASES | set(function_bases), copying)
