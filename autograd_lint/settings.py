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

COPYING_DECORATORS = frozenset({"ensure_contiguous", "input_guard", "contiguous"})


@dataclass(frozen=True, slots=True)
class Settings:
    """`function_bases`: dotted names of classes to be taken for `torch.autograd.Function`.

    `copying_decorators`: last names of decorators that may copy the tensors they pass on. The user's names come on top of ours.
    """

    function_bases: frozenset[str] = FUNCTION_BASES
    copying_decorators: frozenset[str] = COPYING_DECORATORS

    @classmethod
    def extended(cls, function_bases: tuple[str, ...] = (), copying_decorators: tuple[str, ...] = ()) -> Settings:
        return cls(FUNCTION_BASES | set(function_bases), COPYING_DECORATORS | set(copying_decorators))
