"""Does a Function give autograd the right gradients, whoever made its arguments?

Tests mostly pass leaves fresh from `torch.randn`. In training an argument is a transposed activation, or a view that another
Function returned, and some inputs are frozen. There `requires_grad` of a copy or a view can be False although a gradient is due.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor
from torch.autograd import Function

Kind = Literal["lost", "wrong", "raises", "leaks"]


@dataclass(frozen=True, slots=True)
class Harm:
    """A gradient is `lost` (None or zero) or `wrong`, a pass `raises`, or an output `leaks`: it requires grad when it must not.

    `mask` says which of the float tensors among the arguments required a gradient; `argument` is a position in `apply`.
    """

    kind: Kind
    mask: tuple[bool, ...]
    producer: str
    argument: int | None
    detail: str


@dataclass(frozen=True, slots=True)
class Producer:
    """A way to come by an argument: `leaf` is made from a value, and `argument` from the leaf once its flag is set."""

    leaf: Callable[[Tensor], Tensor]
    argument: Callable[[Tensor], Tensor]


class _Copy(Function):
    """Stands for any Function that ends in `y.view(shape)`: its output is a view of a tensor without grad."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clone().view(x.shape)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        return grads[0]


def _transposed(x: Tensor) -> Tensor:
    return x.permute(tuple(reversed(range(x.ndim))))


PRODUCERS = {
    "leaf": Producer(torch.clone, lambda x: x),
    "op": Producer(torch.clone, lambda x: x * 1),
    # No two dimensions can be merged without a copy, and none is dense.
    "strided": Producer(lambda x: torch.stack([_transposed(x)] * 2, dim=-1), lambda x: _transposed(x[..., 0])),
    # A parameter that lives in a flat buffer shared by many.
    "based": Producer(lambda x: x.clone().view(x.shape), lambda x: x),
    "returned": Producer(torch.clone, lambda x: _apply(_Copy, [x])[0]),
}


def check_gradients(function: type[Function], args: Sequence[object]) -> list[Harm]:
    """Run forward and backward for each producer and each choice of the float64 arguments that require a gradient."""
    values = {i: a for i, a in enumerate(args) if isinstance(a, Tensor) and a.is_floating_point()}
    trained = [values[i].clone().requires_grad_() if i in values else a for i, a in enumerate(args)]
    true = {i: _numeric_gradient(function, trained, i) for i in values}
    harms = []
    for name, producer in PRODUCERS.items():
        for mask in itertools.product((False, True), repeat=len(values)):
            leaves = {i: producer.leaf(v).requires_grad_(need) for need, (i, v) in zip(mask, values.items(), strict=True)}
            arguments = [producer.argument(leaves[i]) if i in leaves else a for i, a in enumerate(args)]
            needed = {i: leaf for i, leaf in leaves.items() if leaf.requires_grad}
            try:
                for kind, i, detail in _harms(function, arguments, needed, true):
                    harms.append(Harm(kind, mask, name, i, detail))
            except Exception as error:
                harms.append(Harm("raises", mask, name, None, f"{type(error).__name__}: {error}"))
    return harms


def _harms(
    function: type[Function], arguments: Sequence[Any], leaves: dict[int, Tensor], true: dict[int, Tensor]
) -> Iterator[tuple[Kind, int | None, str]]:
    with torch.no_grad():
        outputs = _apply(function, arguments)
    if any(o.requires_grad for o in outputs if not _shares_memory(o, arguments)):
        yield "leaks", None, "an output requires grad though forward ran under no_grad"
    outputs = _apply(function, arguments)
    if not leaves:
        if any(o.requires_grad for o in outputs):
            yield "leaks", None, "an output requires grad though no argument does"
        return
    # Producers are known to be right, so autograd itself may carry the expected gradient on to the leaf.
    expected = {i: torch.autograd.grad(arguments[i], leaf, true[i], retain_graph=True)[0] for i, leaf in leaves.items()}
    for when in "first", "second":  # With the graph retained, backward has to give the same again.
        gradients: Sequence[Tensor | None] = [None] * len(leaves)
        if (loss := _loss(outputs)).requires_grad:
            gradients = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True, retain_graph=True)
        judged: dict[int, Kind | None] = {i: _judge(gradient, expected[i]) for i, gradient in zip(leaves, gradients, strict=True)}
        for i, kind in judged.items():
            if kind is not None:
                yield kind, i, f"the {when} backward is off, expected {expected[i]}"
        if any(judged.values()):
            return


def _judge(gradient: Tensor | None, expected: Tensor) -> Kind | None:
    if gradient is None or not gradient.any():
        return "lost" if expected.abs().max() > 1e-6 else None
    return None if torch.allclose(gradient, expected, rtol=1e-5, atol=1e-6) else "wrong"


def _apply(function: type[Function], arguments: Sequence[object]) -> list[Tensor]:
    """The outputs that can have a gradient."""
    result = function.apply(*arguments)  # type: ignore[no-untyped-call]
    outputs = result if isinstance(result, (tuple, list)) else [result]
    return [o for o in outputs if isinstance(o, Tensor) and o.is_floating_point()]


def _loss(outputs: list[Tensor]) -> Tensor:
    """A sum with a weight for each element, so that none can stand in for another."""
    generator = torch.Generator().manual_seed(0)
    return torch.stack([(o * torch.randn(o.shape, generator=generator, dtype=o.dtype)).sum() for o in outputs]).sum()


def _shares_memory(output: Tensor, arguments: Sequence[object]) -> bool:
    """A view of an argument requires grad under no_grad in plain torch as well."""
    storage = output.untyped_storage().data_ptr()
    return any(isinstance(a, Tensor) and a.untyped_storage().data_ptr() == storage for a in arguments)


@torch.no_grad()
def _numeric_gradient(function: type[Function], args: list[Any], i: int, step: float = 1e-5) -> Tensor:
    gradient = torch.empty_like(args[i])
    for k in range(gradient.numel()):
        ends = []
        for sign in 1, -1:
            moved = args[i].clone()
            moved.view(-1)[k] += sign * step
            ends.append(_loss(_apply(function, [*args[:i], moved.requires_grad_(), *args[i + 1 :]])))
        gradient.view(-1)[k] = (ends[0] - ends[1]) / (2 * step)
    return gradient
