"""Every row of flow/ops.py against torch itself.

Each call below is run without grad mode, as in `forward`, on tensors that came about in seven ways, and what it returns is classified:
the operand, a view of it, its memory under another name, a copy. The row must allow all outcomes and claim nothing that was not seen.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from autograd_lint.flow import ops
from autograd_lint.flow.ops import UNKNOWN_ARGUMENT, Arguments, Dotted, Index, Kind, Op
from autograd_lint.flow.values import Relation

torch = pytest.importorskip("torch")
einops = pytest.importorskip("einops")
F = torch.nn.functional

# Not our concern: deprecated functions, complex to real casts, dropout of odd shapes.
pytestmark = pytest.mark.filterwarnings("ignore")

IS, VIEW, MAY_COPY, DETACHED, COPY = Relation
Tensor = Any

# How an argument of forward came about -----------------------------------------------------------------------------------------------


def strided(data: Tensor) -> Tensor:
    """The same values, not contiguous (a scalar always is)."""
    if data.ndim > 1:
        return data.transpose(0, -1).contiguous().transpose(0, -1)
    return torch.stack([data, data], -1)[..., 0]


class ReturnsView(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, x: Tensor, layout: Callable[[Tensor], Tensor]) -> Tensor:
        return layout(x * 1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return grad, None


def leaf(data: Tensor) -> Tensor:
    return data.clone().requires_grad_()


SITUATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "leaf": leaf,
    "output of an op": lambda data: leaf(data) * 1,
    "view of a tensor with grad, not contiguous": lambda data: strided(leaf(data)),
    "view of a tensor without grad": lambda data: data.clone().view_as(data).requires_grad_(),
    "view of a tensor without grad, not contiguous": lambda data: strided(data).requires_grad_(),
    "view returned by a Function": lambda data: ReturnsView.apply(leaf(data), lambda x: x.view_as(x)),
    "view returned by a Function, not contiguous": lambda data: ReturnsView.apply(leaf(data), strided),
}

# Operands by the name that the calls below give them ---------------------------------------------------------------------------------

torch.manual_seed(0)
WITH_GRAD: dict[str, Tensor] = {
    "x": torch.rand(2, 3, 4) * 0.8 + 0.1,
    "h": torch.rand(2, 3, 4).half(),
    "d": torch.rand(2, 3, 4).double(),
    "c": torch.rand(2, 3, 4, dtype=torch.complex64),
    "m": torch.eye(4) * 4 + torch.full((4, 4), 0.1),
    "v": torch.rand(4) * 0.8 + 0.1,
    "s": torch.rand(()),
    "seq": torch.rand(2, 4, 8),
    "img": torch.rand(2, 4, 8, 8),
    "vol": torch.rand(2, 4, 8, 8, 8),
}
WITHOUT_GRAD: dict[str, Any] = {
    "i": torch.randint(0, 2, (2, 3, 4)),
    "k": torch.tensor([0, 1, 1, 0]),
    "one": torch.tensor(1),
    "mask": torch.rand(2, 3, 4) > 0.5,
    # Values that the analysis does not know.
    "zero": 0.0,
    "half": 0.5,
    "yes": True,
    "no": False,
}

# The calls ----------------------------------------------------------------------------------------------------------------------------

# A form, and the names that go into it.
FORMS = [
    (
        "x.{}()",
        """abs absolute acos acosh all amax amin aminmax angle any arccos arccosh arcsin arcsinh arctan arctanh argmax argmin argsort
        argwhere asin asinh atan atanh bernoulli ceil clone conj conj_physical contiguous cos cosh count_nonzero deg2rad detach diff
        digamma erf erfc erfinv exp exp2 expm1 fix flatten fliplr flipud floor frac frexp hardshrink histc histogram i0 isfinite isinf
        isnan isneginf isposinf isreal lgamma log log10 log1p log2 logical_not logit max mean median min msort nan_to_num nanmean
        nanmedian nansum neg negative nonzero norm positive prod rad2deg ravel real reciprocal relu requires_grad_ resolve_conj
        resolve_neg round rsqrt sgn sigmoid sign signbit sin sinc sinh sqrt square squeeze std sum tan tanh to to_dense trunc unique
        unique_consecutive var""",
    ),
    (
        "x.{}()",
        """bfloat16 bool byte cdouble cfloat chalf char cpu double float half int long new short type
        data_ptr dim dim_order element_size get_device is_coalesced is_complex is_conj is_contiguous is_distributed
        is_floating_point is_inference is_neg is_pinned is_shared is_signed ndimension nelement numel retain_grad size storage
        storage_offset storage_type stride tolist untyped_storage""",
    ),
    ("x.{}", "H T mH mT data real device dtype grad_fn is_cpu is_cuda is_leaf is_meta is_mps is_nested is_quantized is_sparse"),
    ("x.{}", "is_sparse_csr is_xpu itemsize layout nbytes ndim output_nr requires_grad retains_grad shape"),
    (
        "x.{}(x)",
        """add arctan2 atan2 clamp clamp_max clamp_min clip copysign dist div divide eq float_power floor_divide fmax fmin fmod ge
        greater greater_equal gt heaviside hypot igamma igammac isclose ldexp le less less_equal logaddexp logaddexp2 logical_and
        logical_or logical_xor lt max maximum min minimum mul multiply ne nextafter not_equal pow remainder sub subtract true_divide
        xlogy allclose equal expand_as is_same_size is_set_to reshape_as type_as view_as""",
    ),
    (
        "x.{}(1)",
        """amax amin aminmax argsort chunk cummax cummin cumprod cumsum diff kthvalue log_softmax logcumsumexp logsumexp max median min
        mode nanmedian nanmean nansum new_ones new_zeros new_empty prod repeat_interleave rot90 softmax sort split std sum topk
        unbind unsafe_chunk unsafe_split unsqueeze var mvlgamma polygamma""",
    ),
    ("x.{}(1, 2)", "swapaxes swapdims transpose cross tile diff moveaxis movedim"),
    ("x.{}(0, 0)", "select argsort roll"),
    ("x.{}(1, 0, 2)", "narrow narrow_copy"),
    ("x.{}(1, 2, 0)", "permute"),
    ("x.{}((0, 1))", "flip"),
    ("x.{}(0.5)", "quantile nanquantile"),
    ("x.{}(2, 3, 4)", "view reshape expand broadcast_to sum_to_size repeat as_subclass"),
    ("i.{}()", "bincount bitwise_not"),
    ("i.{}(i)", "bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor gcd lcm"),
    ("m.{}()", "adjoint cholesky cholesky_inverse corrcoef cov det diag geqrf inverse logdet lu matrix_exp pinverse qr slogdet svd t"),
    ("m.{}()", "trace tril triu"),
    ("m.{}(m)", "matmul mm cholesky_solve triangular_solve kron inner"),
    ("v.{}()", "diag diag_embed diagflat vander"),
    ("v.{}(v)", "dot ger inner outer vdot"),
    ("torch.{}([x])", "cat column_stack concat concatenate dstack hstack row_stack stack vstack"),
    ("torch.{}(x)", "empty_like ones_like rand_like randn_like zeros_like poisson gradient is_tensor typename numel trapezoid trapz"),
    ("torch.{}(x)", "cumulative_trapezoid alias_copy detach_copy view_as_real_copy is_storage"),
    ("torch.{}(5)", "arange bartlett_window blackman_window empty eye hamming_window hann_window kaiser_window ones rand randn randperm"),
    ("torch.{}(5)", "range scalar_tensor tensor zeros"),
    ("torch.{}()", "get_default_dtype get_rng_state initial_seed is_autocast_enabled is_grad_enabled is_inference_mode_enabled"),
    (
        "F.{}(x)",
        """celu elu gelu glu hardshrink hardsigmoid hardswish hardtanh leaky_relu log_softmax logsigmoid mish normalize relu relu6 rrelu
        selu sigmoid silu softmax softmin softplus softshrink softsign tanh tanhshrink gumbel_softmax""",
    ),
    (
        "F.{}(x, x)",
        """binary_cross_entropy binary_cross_entropy_with_logits cosine_similarity hinge_embedding_loss huber_loss kl_div l1_loss
        mse_loss multilabel_soft_margin_loss pairwise_distance poisson_nll_loss smooth_l1_loss soft_margin_loss""",
    ),
    ("F.{}(x, x, x)", "gaussian_nll_loss margin_ranking_loss triplet_margin_loss triplet_margin_with_distance_loss"),
    ("F.{}(seq, 1)", "avg_pool1d max_pool1d max_pool1d_with_indices adaptive_avg_pool1d adaptive_max_pool1d"),
    ("F.{}(img, 1)", "avg_pool2d max_pool2d max_pool2d_with_indices adaptive_avg_pool2d adaptive_max_pool2d pixel_shuffle"),
    ("F.{}(img, 1)", "adaptive_max_pool2d_with_indices pixel_unshuffle channel_shuffle group_norm unfold"),
    ("F.{}(vol, 1)", "avg_pool3d max_pool3d max_pool3d_with_indices adaptive_avg_pool3d adaptive_max_pool3d"),
    ("F.{}(vol, 1)", "adaptive_max_pool3d_with_indices"),
    ("F.{}(vol, 8)", "adaptive_avg_pool3d adaptive_max_pool3d"),
    ("F.{}(img, scale_factor=1)", "interpolate upsample upsample_bilinear upsample_nearest"),
    ("torch.linalg.{}(m)", "cholesky cholesky_ex cond det eig eigh eigvals eigvalsh inv inv_ex ldl_factor ldl_factor_ex lu lu_factor"),
    ("torch.linalg.{}(m)", "lu_factor_ex matrix_exp matrix_norm matrix_rank norm pinv qr slogdet svd svdvals vander vector_norm"),
    ("torch.linalg.{}(m)", "diagonal"),
    ("torch.linalg.{}(m, m)", "lstsq matmul solve solve_ex tensorsolve vecdot"),
    ("torch.fft.{}(x)", "fft fft2 fftn fftshift hfft hfft2 hfftn ifft ifft2 ifftn ifftshift ihfft ihfft2 ihfftn irfft irfft2 irfftn"),
    ("torch.fft.{}(x)", "rfft rfft2 rfftn"),
    ("torch.fft.{}(c)", "fft ifft irfft hfft fftshift"),
    ("torch.fft.{}(4)", "fftfreq rfftfreq"),
    (
        "torch.special.{}(x)",
        """airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 digamma entr erf erfc erfcx erfinv exp2 expit expm1 gammaln i0 i0e i1 i1e log1p
        log_ndtr logit modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 ndtr ndtri psi round
        scaled_modified_bessel_k0 scaled_modified_bessel_k1 sinc spherical_bessel_j0""",
    ),
    (
        "torch.special.{}(x, 1)",
        """chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w hermite_polynomial_h
        hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p log_softmax logsumexp multigammaln
        shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w
        softmax""",
    ),
    ("torch.special.{}(x, x)", "gammainc gammaincc xlog1py xlogy zeta"),
    ("torch.special.{}(1, x)", "polygamma"),
]

# One call a line, where the arguments matter or are particular.
CALLS = """
x.view(torch.int32)
x.view(dtype=torch.float32)
x.view(x.dtype)
x.flatten(1, 1)
x.flatten(-1)
x.flatten(0, -1)
v.flatten()
x.reshape(-1)
s.reshape(-1)
v.ravel()
x.to(torch.float32)
x.to(torch.float64)
x.to(torch.float32, copy=True)
x.to(torch.float32, False, True)
x.to("cpu", torch.float32, False, True)
x.to("cpu", torch.float32, False, False)
x.to(h)
x.to(x)
x.to(x.dtype, copy=yes)
x.type(torch.float32)
x.type(torch.float64)
x.type_as(h)
h.float()
d.double()
h.half()
i.int()
i.long()
i.byte().byte()
mask.bool()
x.contiguous(memory_format=torch.contiguous_format)
img.contiguous(memory_format=torch.channels_last)
c.conj()
c.real
c.imag
c.conj_physical()
c.conj().resolve_conj()
c.conj().imag.resolve_neg()
x.max(dim=1)
x.min(dim=1, keepdim=True)
x.median(dim=1)
x.unique(return_inverse=True)
x.unique(True, True)
x.unique(return_counts=True)
x.unique_consecutive(return_inverse=True)
x.unique_consecutive(True)
x.nonzero(as_tuple=True)
x.nonzero_static(size=3)
x.where(mask, x)
torch.where(mask)
x.new(2, 3)
x.new_tensor(x)
x.new_empty_strided((2, 3), (3, 1))
x.new_full((2, 3), 1)
"""

# Rows of which the machine at hand may not be able to run one call.
NOT_RUN = {
    "cuda": "needs a GPU",
    "xpu": "needs a GPU",
    "pin_memory": "needs a GPU",
    "record_stream": "needs a GPU",
    "numpy": "needs NumPy",
    "from_numpy": "needs NumPy",
}

# Reading and running a call ------------------------------------------------------------------------------------------------------------

ROOTS = {"torch": "torch", "F": "torch.nn.functional", "einops": "einops"}


def dotted(node: ast.expr) -> str | None:
    """The full name of what a call calls, None if that is a method."""
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return f"{base}.{node.attr}" if base else None
    return ROOTS.get(node.id) if isinstance(node, ast.Name) else None


def argument(node: ast.expr) -> object:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return Dotted(ast.unparse(node)) if isinstance(node, ast.Attribute) else UNKNOWN_ARGUMENT


def index(node: ast.expr) -> Index:
    match node:
        case ast.Slice():
            return "slice"
        case ast.Constant(value=bool()):
            return "bool"
        case ast.Constant(value=int()):
            return "int"
        case ast.Constant(value=None):
            return "none"
        case ast.Constant():
            return "ellipsis"
        case ast.List() | ast.Tuple():
            return "list"
        case ast.Name(id="one" | "k" | "mask"):
            return "tensor"
    return "unknown"


def row_of(call: str) -> tuple[str, str]:
    """The table and the row in it that a call belongs to."""
    match ast.parse(call, mode="eval").body:
        case ast.Call(func=ast.Attribute(attr=name) as function):
            full = dotted(function)
            return ("torch", name) if full is None else (full.rpartition(".")[0], name)
        case ast.Attribute(attr=name):
            return "attribute", name
    return "subscript", "[]"


def look_up(call: str) -> Op | None:
    match ast.parse(call, mode="eval").body:
        case ast.Call(func=ast.Attribute(attr=name) as function, args=positional, keywords=keywords):
            arguments = Arguments(tuple(map(argument, positional)), {k.arg or "**": argument(k.value) for k in keywords})
            full = dotted(function)
            return ops.method(name, arguments) if full is None else ops.function(full, arguments)
        case ast.Attribute(attr=name):
            return ops.attribute(name)
        case ast.Subscript(slice=ast.Tuple(elts=parts)):
            return ops.subscript(*map(index, parts))
        case ast.Subscript(slice=part):
            return ops.subscript(index(part))
    raise AssertionError(call)


def tensors_in(value: object) -> Iterator[Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from tensors_in(item)


def relation(result: Tensor, operand: Tensor) -> Relation:
    if result is operand:
        return IS
    if result.untyped_storage().data_ptr() != operand.untyped_storage().data_ptr():
        return COPY
    base = operand._base if operand._is_view() else operand
    return VIEW if result._is_view() and result._base is base else DETACHED


def run(call: str, situation: Callable[[Tensor], Tensor]) -> tuple[object, set[Relation], set[bool]]:
    """What a call returns, how the tensors in that are related to the closest operand, and whether their flags are as that implies."""
    code = compile(call, call, "eval")
    operands = {name: situation(data) for name, data in WITH_GRAD.items() if name in code.co_names}
    operands |= {name: value.clone() if isinstance(value, torch.Tensor) else value for name, value in WITHOUT_GRAD.items()}
    flags = [(t, (t if t._base is None else t._base).requires_grad) for t in operands.values() if isinstance(t, torch.Tensor)]
    with torch.no_grad():
        result = eval(code, {"torch": torch, "F": F, "einops": einops, **operands})
    outcomes, as_implied = set(), set()
    for tensor in tensors_in(result):
        seen, flag = min(((relation(tensor, t), flag) for t, flag in flags), default=(COPY, False))
        outcomes.add(seen)
        as_implied.add(seen is IS or tensor.requires_grad == (seen is VIEW and flag))
    return result, outcomes, as_implied


def calls() -> Iterator[str]:
    for form, names in FORMS:
        yield from (form.format(name) for name in names.split())
    yield from CALLS.strip().splitlines()


BY_ROW: dict[tuple[str, str], list[str]] = {}
for _call in calls():
    BY_ROW.setdefault(row_of(_call), []).append(_call)


def siblings(call: str, name: str) -> Iterator[str]:
    """`x.f(y)` as `torch.f(x, y)` and the other way round."""
    match ast.parse(call, mode="eval").body:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=receiver))) if receiver in WITH_GRAD or receiver in WITHOUT_GRAD:
            if hasattr(torch, name):
                yield call.replace(f"{receiver}.{name}(", f"torch.{name}({receiver}, ", 1).replace(", )", ")")
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch")), args=[ast.Name(id=operand), *_]):
            if hasattr(torch.Tensor, name):
                yield call.replace(f"torch.{name}({operand}", f"{operand}.{name}(", 1).replace("(, ", "(")


def measure(call: str) -> tuple[Op, set[Relation]]:
    op = look_up(call)
    assert op is not None, call
    seen: set[Relation] = set()
    for name, situation in SITUATIONS.items():
        result, outcomes, as_implied = run(call, situation)
        match op.kind:
            case Kind.TENSOR | Kind.FRESH:
                assert isinstance(result, torch.Tensor), call
            case Kind.SEQUENCE:
                assert isinstance(result, (tuple, list)), call
                assert outcomes, call
            case Kind.PLAIN:
                assert not outcomes, call
        assert as_implied <= {True} or op.kind is Kind.FRESH, f"{call}: the flag is not as {outcomes} implies, {name}"
        seen |= outcomes
    return op, seen


ROWS = sorted({(module.replace("torch.Tensor", "torch"), name) for module, (table, _) in ops._NAMESPACES.items() for name in table})
ROWS += [("attribute", name) for name in ops._ATTRIBUTES]
