"""Generated files: Functions in any number and of any length, and code nested deeper than parsers like."""

from __future__ import annotations

HEADER = "import torch\nfrom torch.autograd import Function\n\n\n"

FUNCTION = """\
class {name}(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None, scale=1.0):
        shape = x.shape
        if x.dim() == 3:
            x = x.flatten(0, 1)
        x = x.contiguous()
        out = torch.matmul(x, weight.t())
        if bias is not None:
            out = out + bias
        chunks = []
        for chunk in out.split(128):
            chunks.append(chunk * scale)
        out = torch.cat(chunks).view(*shape[:-1], -1)
        ctx.save_for_backward(x, weight, bias)
        ctx.shape, ctx.scale = shape, scale
        ctx.need_x = ctx.needs_input_grad[0]
        return out

    @staticmethod
    def backward(ctx, grad):
        x, weight, bias = ctx.saved_tensors
        grad = grad.reshape(-1, grad.shape[-1]) * ctx.scale
        grad_x = grad_weight = grad_bias = None
        if ctx.need_x:
            grad_x = grad.matmul(weight).view(ctx.shape)
        if ctx.needs_input_grad[1]:
            grad_weight = grad.t().matmul(x)
        if bias is not None and ctx.needs_input_grad[2]:
            grad_bias = grad.sum(0)
        return grad_x, grad_weight, grad_bias, None
"""

LONG = """\
class Long(Function):
    @staticmethod
    def forward(ctx, x, weight, scale):
        total = torch.zeros_like(weight)
{body}\
        ctx.save_for_backward(x, weight)
        ctx.need_x = x.requires_grad
        return total

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return grad * weight if ctx.need_x else None, (grad * x).sum(0), None
"""

BLOCK = """\
        a{i} = x.transpose(0, 1).contiguous()
        b{i} = torch.matmul(a{i}, weight)
        c{i}, d{i} = b{i}.chunk(2, dim=-1)
        e{i} = (c{i} * torch.sigmoid(d{i})).to(weight.dtype)
        if e{i}.dim() == 3:
            e{i} = e{i}.flatten(0, 1)
        for row in e{i}.unbind(0):
            total = total + row * scale
        f{i} = e{i}[:, :8].reshape(-1, 16)
        x = torch.relu(f{i}).view_as(x)
"""

BUG = """\
class Scale(Function):
    @staticmethod
    def forward(ctx, x, weight):
        x = x.contiguous()
        ctx.save_for_backward(x, weight)
        ctx.need_x = x.requires_grad
        y = {expression}
        return y * weight

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return grad * weight if ctx.need_x else None, (grad * x).sum(0)
"""


def classes(count: int) -> str:
    """A file with so many Functions, all clean."""
    return HEADER + "\n\n".join(FUNCTION.format(name=f"Linear{i}") for i in range(count))


def long_function(lines: int) -> str:
    """A Function whose forward has so many lines, with a branch and a loop among every ten, and reads a flag at the end."""
    body = "".join(BLOCK.format(i=i) for i in range(lines // BLOCK.count("\n")))
    return HEADER + LONG.format(body=body)


def bug(expression: str = "x") -> str:
    """A Function that asks a copy for `requires_grad`, and evaluates `expression` on the way."""
    return HEADER + BUG.format(expression=expression)


def call_chain(length: int) -> str:
    return bug("x" + ".abs()" * length)


def deep() -> dict[str, str]:
    """Files that each hold a bug and something too deep for a recursive parser."""
    elifs = "".join(f"        elif n == {i}:\n            x = x + {i}\n" for i in range(1, 500))
    branches = f"        if n == 0:\n            x = x * 2\n{elifs}"
    return {
        "parentheses.py": bug("(" * 3000 + "x" + ")" * 3000),
        "sum.py": bug(" + ".join(["x"] * 10_000)),
        "chain.py": call_chain(5000),
        "elifs.py": bug("x").replace("        y = x\n", f"        n = x.dim()\n{branches}        y = x\n"),
    }
