"""Every row of flow/ops.py against torch itself.

Each call below is run without grad mode, as in `forward`, on tensors that came about in seven ways. It returns its operand,
a view of it, its memory without a link to it, or a copy. A row has to allow each outcome, and to promise none that was not seen.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib.util
import math
import re
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from autograd_lint.flow import ops
from autograd_lint.flow.ops import UNKNOWN_ARGUMENT, Arguments, Dotted, Index, Kind, Op
from autograd_lint.flow.values import Relation

torch = pytest.importorskip("torch")
einops = importlib.import_module("einops") if importlib.util.find_spec("einops") else None
F = torch.nn.functional

# Not our concern: deprecated functions, casts from complex to real, dropout of odd shapes.
pytestmark = pytest.mark.filterwarnings("ignore")

IS, VIEW, MAY_COPY, DETACHED, COPY = Relation
Tensor = Any

# How an argument of forward came about --------------------------------------------------------------------------------------


def strided(data: Tensor) -> Tensor:
    """The same values, not contiguous (a scalar always is)."""
    if data.ndim > 1:
        return data.transpose(0, -1).contiguous().transpose(0, -1)
    return torch.stack([data, data], -1)[..., 0]


class ReturnsView(torch.autograd.Function):  # type: ignore[name-defined,misc]
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

# Operands by the name that the calls below give them ------------------------------------------------------------------------


def ramp(*shape: int) -> Tensor:
    return torch.linspace(0.1, 0.9, math.prod(shape)).view(shape)


CASTS = "bfloat16 bool byte cdouble cfloat chalf char double float half int long short"

WITH_GRAD: dict[str, Tensor] = {
    "x": ramp(2, 3, 4),
    "h": ramp(2, 3, 4).half(),
    "d": ramp(2, 3, 4).double(),
    "c": torch.complex(ramp(2, 3, 4), ramp(2, 3, 4)),
    "m": torch.eye(4) * 4 + torch.full((4, 4), 0.1),
    "batch": ramp(2, 4, 4),
    "v": ramp(4),
    "s": ramp(),
    "pairs": ramp(3, 2),
    "signal": ramp(2, 16),
    "seq": ramp(2, 4, 8),
    "img": ramp(2, 4, 8, 8),
    "vol": ramp(2, 4, 8, 8, 8),
}


@functools.cache
def without_grad() -> dict[str, Any]:
    return {
        "i": torch.arange(24).view(2, 3, 4) % 2,
        "k": torch.tensor([0, 1, 1, 0]),
        "one": torch.tensor(1),
        "mask": ramp(2, 3, 4) > 0.5,
        "sparse": torch.eye(4).to_sparse(),
        # Values that the analysis does not know.
        "zero": 0.0,
        "half": 0.5,
        "yes": True,
        "no": False,
        "pattern": "a b c -> b (a c)",
    } | {f"of_{cast}": getattr(torch.ones(2), cast)() for cast in CASTS.split()}


# The calls ------------------------------------------------------------------------------------------------------------------

# A form, and the names that go into it.
FORMS = [
    (
        "x.{}()",
        """abs absolute acos acosh all amax amin aminmax angle any arccos arccosh arcsin arcsinh arctan arctanh argmax argmin
        argsort argwhere asin asinh atan atanh bernoulli ceil clone conj conj_physical contiguous cos cosh count_nonzero
        deg2rad detach diff digamma erf erfc erfinv exp exp2 expm1 fix flatten fliplr flipud floor frac frexp hardshrink
        histc histogram i0 isfinite isinf isnan isneginf isposinf isreal lgamma log log10 log1p log2 logical_not logit max
        mean median min msort nan_to_num nanmean nanmedian nansum neg negative nonzero norm positive prod rad2deg ravel
        reciprocal relu resolve_conj resolve_neg round rsqrt sgn sigmoid sign signbit sin sinc sinh sqrt square squeeze
        std sum tan tanh to to_dense trunc unique unique_consecutive var""",
    ),
    (
        "x.{}()",
        """cpu new type data_ptr dim dim_order element_size get_device is_complex is_conj is_contiguous is_distributed
        is_floating_point is_inference is_neg is_pinned is_shared is_signed ndimension nelement numel retain_grad size
        storage storage_offset storage_type stride tolist untyped_storage""",
    ),
    ("m.{}", "H T mH mT"),
    ("x.{}", "mH mT data real device dtype grad_fn is_cpu is_cuda is_leaf is_meta is_mps is_nested is_quantized is_sparse"),
    ("x.{}", "is_sparse_csr is_xpu itemsize layout nbytes ndim output_nr requires_grad retains_grad shape"),
    ("c.{}", "imag real"),
    ("x.{}()", CASTS),
    ("of_{}.{}()", CASTS),
    (
        "x.{}(x)",
        """add arctan2 atan2 clamp clamp_max clamp_min clip copysign dist div divide eq float_power floor_divide fmax fmin
        fmod ge greater greater_equal gt heaviside hypot igamma igammac isclose ldexp le less less_equal logaddexp
        logaddexp2 logical_and logical_or logical_xor lt max maximum min minimum mul multiply ne nextafter not_equal pow
        remainder sub subtract true_divide xlogy allclose equal expand_as is_same_size is_set_to reshape_as type_as
        view_as""",
    ),
    (
        "x.{}(1)",
        """amax amin argsort chunk cummax cummin cumprod cumsum diff kthvalue log_softmax logcumsumexp logsumexp max median
        min mode nanmedian nanmean nansum new_ones new_zeros new_empty prod repeat_interleave rot90 softmax sort split std
        sum topk unbind unsafe_chunk unsafe_split unsqueeze var mvlgamma polygamma""",
    ),
    ("x.{}(1, 2)", "swapaxes swapdims transpose tile diff moveaxis movedim"),
    ("x.{}(0, 0)", "select roll"),
    ("x.{}(1, 0, 2)", "narrow narrow_copy"),
    ("x.{}(1, 2, 0)", "permute"),
    ("x.{}((0, 1))", "flip"),
    ("x.{}(0.5)", "quantile nanquantile"),
    ("x.{}(2, 3, 4)", "view reshape expand broadcast_to sum_to_size repeat"),
    ("i.{}()", "bitwise_not"),
    ("k.{}()", "bincount"),
    ("i.{}(i)", "bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor gcd lcm"),
    (
        "m.{}()",
        "adjoint cholesky cholesky_inverse corrcoef cov det diag geqrf inverse logdet lu matrix_exp pinverse qr slogdet svd t",
    ),
    ("m.{}()", "trace tril triu"),
    ("m.{}(m)", "matmul mm cholesky_solve triangular_solve kron inner"),
    ("v.{}()", "diag diag_embed diagflat"),
    ("v.{}(v)", "dot ger inner outer vdot"),
    ("torch.{}([x])", "cat column_stack concat concatenate dstack hstack row_stack stack vstack"),
    (
        "torch.{}(x)",
        "empty_like ones_like rand_like randn_like zeros_like poisson gradient is_tensor typename numel trapezoid trapz",
    ),
    ("torch.{}(x)", "cumulative_trapezoid alias_copy detach_copy is_storage"),
    (
        "torch.{}(5)",
        "arange bartlett_window blackman_window empty eye hamming_window hann_window kaiser_window ones rand randn randperm",
    ),
    ("torch.{}(5)", "scalar_tensor tensor zeros"),
    ("torch.{}()", "get_default_dtype get_rng_state initial_seed is_autocast_enabled is_grad_enabled is_inference_mode_enabled"),
    (
        "F.{}(x)",
        """celu elu gelu glu hardshrink hardsigmoid hardswish hardtanh leaky_relu log_softmax logsigmoid mish normalize relu
        relu6 rrelu selu sigmoid silu softmax softmin softplus softshrink softsign tanh tanhshrink gumbel_softmax""",
    ),
    (
        "F.{}(x, x)",
        """binary_cross_entropy binary_cross_entropy_with_logits cosine_similarity hinge_embedding_loss huber_loss kl_div
        l1_loss mse_loss multilabel_soft_margin_loss pairwise_distance poisson_nll_loss smooth_l1_loss soft_margin_loss""",
    ),
    ("F.{}(x, x, x)", "gaussian_nll_loss margin_ranking_loss triplet_margin_loss triplet_margin_with_distance_loss"),
    ("F.{}(seq, 1)", "avg_pool1d max_pool1d max_pool1d_with_indices adaptive_avg_pool1d adaptive_max_pool1d"),
    ("F.{}(img, 1)", "avg_pool2d max_pool2d max_pool2d_with_indices adaptive_avg_pool2d adaptive_max_pool2d pixel_shuffle"),
    ("F.{}(img, 1)", "adaptive_max_pool2d_with_indices pixel_unshuffle channel_shuffle group_norm unfold"),
    ("F.{}(vol, 1)", "avg_pool3d max_pool3d max_pool3d_with_indices adaptive_avg_pool3d adaptive_max_pool3d"),
    ("F.{}(vol, 1)", "adaptive_max_pool3d_with_indices"),
    ("F.{}(vol, 8)", "adaptive_avg_pool3d adaptive_max_pool3d"),
    ("F.{}(img, scale_factor=1)", "interpolate upsample upsample_bilinear upsample_nearest"),
    (
        "torch.linalg.{}(m)",
        "cholesky cholesky_ex cond det eig eigh eigvals eigvalsh inv inv_ex ldl_factor ldl_factor_ex lu lu_factor",
    ),
    ("torch.linalg.{}(m)", "lu_factor_ex matrix_exp matrix_norm matrix_rank norm pinv qr slogdet svd svdvals vander vector_norm"),
    ("torch.linalg.{}(m)", "diagonal"),
    ("torch.linalg.{}(m, m)", "lstsq matmul solve solve_ex vecdot"),
    (
        "torch.fft.{}(x)",
        "fft fft2 fftn fftshift hfft hfft2 hfftn ifft ifft2 ifftn ifftshift ihfft ihfft2 ihfftn irfft irfft2 irfftn",
    ),
    ("torch.fft.{}(x)", "rfft rfft2 rfftn"),
    ("torch.fft.{}(c)", "fft ifft irfft hfft fftshift"),
    ("torch.fft.{}(4)", "fftfreq rfftfreq"),
    (
        "torch.special.{}(x)",
        """airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 digamma entr erf erfc erfcx erfinv exp2 expit expm1 gammaln i0 i0e
        i1 i1e log1p log_ndtr logit modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 ndtr ndtri
        psi round scaled_modified_bessel_k0 scaled_modified_bessel_k1 sinc spherical_bessel_j0""",
    ),
    (
        "torch.special.{}(x, 1)",
        """chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w hermite_polynomial_h
        hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p log_softmax logsumexp multigammaln
        shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v
        shifted_chebyshev_polynomial_w softmax""",
    ),
    ("torch.special.{}(x, x)", "gammainc gammaincc xlog1py xlogy zeta"),
    ("torch.special.{}(1, x)", "polygamma"),
]

# Where the arguments matter or are particular: one call a line.
CALLS = """
# Methods
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
d.float_power(d)
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
x.addcdiv(x, x)
x.addcmul(x, x)
m.addmm(m, m)
m.addbmm(batch, batch)
batch.baddbmm(batch, batch)
batch.bmm(batch)
v.addmv(m, v)
m.addr(v, v)
m.mv(v)
m.matrix_power(1)
torch.lu_solve(m, *torch.linalg.lu_factor(m))
torch.lu_unpack(*torch.linalg.lu_factor(m))
m.orgqr(v)
m.ormqr(v, m)
m.renorm(2, 0, 100)
m.multinomial(2)
m.unfold(0, 2, 1)
m.index_select(0, k)
m.index_add(0, k, m * 1)
m.index_copy(0, k, m * 1)
m.index_fill(0, k, 1)
m.index_put((k,), m * 1)
m.index_reduce(0, k, m * 1, "amax")
v.gather(0, k)
v.take(k)
v.put(k, v * 1)
v.scatter(0, k, v * 1)
v.scatter_add(0, k, v * 1)
v.scatter_reduce(0, k, v * 1, "sum")
v.take_along_dim(k, 0)
torch.searchsorted(v, v)
torch.bucketize(v, v)
x.as_strided((2, 3), (1, 1))
x.as_strided_scatter(x[0], (3, 4), (4, 1))
x.diagonal()
x.diagonal(0, 1, 2)
x.diagonal_scatter(x.diagonal())
x.select_scatter(x[0], 0, 0)
x.slice_scatter(x)
x.dsplit(2)
x.hsplit(3)
x.vsplit(2)
x.tensor_split(2)
x.split_with_sizes([1, 1])
x.split([1, 1])
x.unsafe_split_with_sizes([1, 1])
x.unflatten(2, (2, 2))
x.unflatten(2, (4,))
torch.view_as_real(c)
x.lerp(x, 0.5)
x.masked_fill(mask, 0)
x.masked_scatter(mask, x)
x.masked_select(mask)
x.prelu(x[0, 0, :1])
x.where(mask, 0)
torch.isin(x, x)
torch.fill(x, 1)
torch.rsub(x, x)
torch.std_mean(x)
torch.var_mean(x, 1)
signal.stft(8, return_complex=True)
torch.istft(torch.stft(signal, 8, return_complex=True), 8)
s.item()
s.is_nonzero()
x.register_hook(print)
s.backward()
mask.sparse_dim()
sparse.sparse_dim()
sparse.dense_dim()
sparse.to_dense()
sparse.is_coalesced()
torch.real(x)
torch.real(c)
torch.imag(c)
x.cross(x, dim=1)
x.squeeze(0)
x.reshape_as(x.reshape(-1))
x.as_subclass(torch.Tensor)
x.expand(5, 2, 3, 4)
x.broadcast_to((5, 2, 3, 4))
x.sum_to_size(3, 4)
x.view(-1)
x.view(4, 3, 2)
# Functions of torch
torch.as_tensor(x)
torch.as_tensor(x, dtype=torch.float64)
torch.atleast_1d(x)
torch.atleast_1d(s)
torch.atleast_2d(x)
torch.atleast_2d(v)
torch.atleast_3d(x)
torch.atleast_3d(v)
torch.atleast_1d(x, s)
torch.atleast_2d(x, s)
torch.atleast_3d(x, s)
torch.broadcast_tensors(x, v)
torch.broadcast_tensors(x, x)
torch.cartesian_prod(v)
torch.cartesian_prod(v, v)
torch.cartesian_prod(*[v, v])
torch.meshgrid(v, v, indexing="ij")
torch.einsum("abc->acb", x)
torch.einsum("abc->ab", x)
torch.einsum("abc,abc->ab", x, x)
torch.einsum(x, [0, 1, 2], [2, 1, 0])
torch.einsum(x, [0, 1, 2], [0])
torch.einsum(x, [0, 1, 2], x, [0, 1, 2], [0])
torch.dropout(x, 0.5, True)
torch.dropout(x, 0.5, False)
torch.dropout(x, 0.0, train=True)
torch.dropout(x, zero, True)
torch.dropout(x, half, True)
torch.alpha_dropout(x, 0.5, True)
torch.alpha_dropout(x, half, yes)
torch.alpha_dropout(x, half, no)
torch.feature_dropout(x, half, yes)
torch.feature_dropout(x, half, no)
torch.feature_alpha_dropout(x, half, yes)
torch.feature_alpha_dropout(x, half, no)
torch.from_dlpack(x.detach())
torch.adaptive_avg_pool1d(seq, 8)
torch.adaptive_max_pool1d(seq, 8)
torch.affine_grid_generator(x[:, :2, :3], [2, 1, 4, 4], False)
torch.avg_pool1d(seq, 1)
torch.batch_norm(img, None, None, None, None, True, 0.1, 1e-5, False)
torch.batch_norm(img, None, None, v, v, False, 0.1, 1e-5, False)
torch.bilinear(m, m, m[None], None)
torch.binary_cross_entropy_with_logits(x, x)
torch.binomial(x, x)
torch.block_diag(m)
torch.celu(x)
torch.cdist(m, m)
torch.chain_matmul(m, m)
torch.chain_matmul(m)
torch.channel_shuffle(img, 1)
torch.native_channel_shuffle(img, 1)
torch.combinations(v, 1)
torch.complex(x, x)
torch.polar(x, x)
torch.vander(v)
torch.range(0, 5)
torch.linalg.tensorsolve(torch.eye(4), v)
torch.constant_pad_nd(x, (0, 0))
torch.conv1d(seq, m[:, :, None])
torch.conv2d(img, m[:, :, None, None])
torch.conv3d(vol, m[:, :, None, None, None])
torch.conv_transpose1d(seq, m[:, :, None])
torch.conv_transpose2d(img, m[:, :, None, None])
torch.conv_transpose3d(vol, m[:, :, None, None, None])
torch.convolution(seq, m[:, :, None], None, [1], [0], [1], False, [0], 1)
torch.conv_tbc(x, m[None], v)
torch.cosine_embedding_loss(m, m, v)
torch.cosine_similarity(x, x)
torch.ctc_loss(x.log_softmax(-1), i[0, :, :1] + 1, k[:3] * 0 + 2, k[:3] * 0 + 1)
torch.embedding(m, k)
torch.embedding_bag(m, k, k[:1])
torch.fake_quantize_per_tensor_affine(x, 1.0, 0, 0, 255)
torch.fake_quantize_per_channel_affine(x, x[:, 0, 0], i[:, 0, 0].int(), 0, 0, 255)
torch.frobenius_norm(x, 0)
torch.nuclear_norm(m)
torch.norm_except_dim(x)
torch.grid_sampler(img, img[:, :1, :, :2], 0, 0, False)
torch.grid_sampler_2d(img, img[:, :1, :, :2], 0, 0, False)
torch.grid_sampler_3d(vol, vol[:, :1, :, :, :3], 0, 0, False)
torch.group_norm(img, 1)
torch.hinge_embedding_loss(x, x)
torch.histogramdd(m, 2)
torch.instance_norm(img, None, None, None, None, True, 0.1, 1e-5, False)
torch.kl_div(x, x)
torch.layer_norm(x, (4,))
torch.rms_norm(x, (4,))
torch.lobpcg(m)
torch.margin_ranking_loss(x, x, x)
torch.triplet_margin_loss(x, x, x)
torch.max_pool1d(seq, 1)
torch.max_pool2d(img, 1)
torch.max_pool3d(vol, 1)
torch.max_pool1d_with_indices(seq, 1)
torch.native_batch_norm(img, None, None, None, None, True, 0.1, 1e-5)
torch.native_dropout(x, 0.5, True)
torch.native_dropout(x, 0.5, False)
torch.native_group_norm(img, None, None, 2, 4, 64, 1, 1e-5)
torch.native_layer_norm(x, (4,), None, None, 1e-5)
torch.normal(x, x)
torch.normal(0.0, x)
torch.pairwise_distance(x, x)
torch.pdist(m)
torch.pca_lowrank(m)
torch.svd_lowrank(m)
torch.pixel_shuffle(img, 1)
torch.pixel_unshuffle(img, 1)
torch.poisson_nll_loss(x, x, True, False, 1e-8, 1)
torch.rrelu(x)
torch.selu(x)
torch.threshold(x, 0.5, 0)
torch.segment_reduce(v, "sum", lengths=k + 1, unsafe=True)
torch.tensordot(x, x, 0)
torch.unravel_index(k, (2, 2))
torch.view_as_complex(pairs)
# Copies by name
torch.as_strided_copy(x, (2, 3), (1, 1))
torch.diagonal_copy(x)
torch.expand_copy(x, (2, 3, 4))
torch.permute_copy(x, (0, 1, 2))
torch.select_copy(x, 0, 0)
torch.slice_copy(x)
torch.split_copy(x, 1)
torch.split_with_sizes_copy(x, [1, 1])
torch.squeeze_copy(x)
torch.t_copy(m)
torch.transpose_copy(x, 0, 1)
torch.unbind_copy(x)
torch.unfold_copy(x, 0, 1, 1)
torch.unsqueeze_copy(x, 0)
torch.view_as_complex_copy(torch.view_as_real(c))
torch.view_as_real_copy(c)
torch.view_copy(x, (2, 3, 4))
# No operand
torch.Generator()
torch.Size((2, 3))
torch.device("cpu")
torch.finfo(torch.float32)
torch.iinfo(torch.int32)
torch.broadcast_shapes((2, 3), (3,))
torch.can_cast(torch.float32, torch.int32)
torch.get_autocast_dtype("cpu")
torch.get_autocast_gpu_dtype()
torch.promote_types(torch.float32, torch.int32)
torch.result_type(x, x)
torch.empty_permuted((2, 3), (0, 1))
torch.empty_strided((2, 3), (3, 1))
torch.full((2, 3), 1.0)
torch.full_like(x, 1)
torch.linspace(0, 1, 3)
torch.logspace(0, 1, 3)
torch.randint(0, 2, (2, 3))
torch.randint_like(x, 2)
torch.tril_indices(2, 2)
torch.triu_indices(2, 2)
torch.tensor(x)
# Other modules
torch.utils.dlpack.to_dlpack(x.detach())
torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x.detach()))
torch.to_dlpack(x.detach())
torch.nn.Parameter(x)
torch.nn.Parameter(x, requires_grad=False)
torch.linalg.cross(x[..., :3], x[..., :3])
torch.linalg.householder_product(m, v)
torch.linalg.ldl_solve(*torch.linalg.ldl_factor(m), m)
torch.linalg.lu_solve(*torch.linalg.lu_factor(m), m)
torch.linalg.matrix_power(m, 1)
torch.linalg.multi_dot([m, m])
torch.linalg.solve_triangular(m, m, upper=True)
torch.linalg.tensorinv(m, 1)
torch.fft.irfftn(c)
# Functional
F.affine_grid(x[:, :2, :3], [2, 1, 4, 4])
F.adaptive_max_pool1d(seq, 8, True)
F.adaptive_max_pool2d(img, 8, return_indices=True)
F.adaptive_max_pool3d(vol, 8, return_indices=True)
F.adaptive_max_pool1d_with_indices(seq, 8)
F.alpha_dropout(x)
F.alpha_dropout(x, 0.5, True)
F.alpha_dropout(x, training=yes)
F.alpha_dropout(x, training=no)
F.alpha_dropout(x, 0.5, True, True)
F.feature_alpha_dropout(x)
F.feature_alpha_dropout(x, 0.5, True)
F.feature_alpha_dropout(x, training=yes)
F.feature_alpha_dropout(x, training=no)
F.feature_alpha_dropout(x, 0.5, True, inplace=True)
F.dropout(x)
F.dropout(x, 0)
F.dropout(x, 0.0, True)
F.dropout(x, p=0.3)
F.dropout(x, half)
F.dropout(x, zero)
F.dropout(x, training=False)
F.dropout(x, 0.1, training=yes)
F.dropout(x, 0.1, training=no)
F.dropout(x, 0.1, True, True)
F.dropout(x, 0.1, inplace=yes)
F.dropout(x, 0.1, inplace=no)
F.dropout1d(seq, training=yes)
F.dropout1d(seq, training=no)
F.dropout1d(m, training=False)
F.dropout1d(seq, training=False)
F.dropout2d(img, training=yes)
F.dropout2d(img, training=no)
F.dropout2d(img, training=False)
F.dropout3d(vol, training=yes)
F.dropout3d(vol, training=no)
F.dropout3d(vol, training=False)
F.dropout3d(img, training=False)
F.dropout3d(vol)
F.celu(x, 1.0, True)
F.elu(x, 1.0, True)
F.hardsigmoid(x, True)
F.hardswish(x, True)
F.hardtanh(x, -1.0, 1.0, True)
F.leaky_relu(x, 0.01, True)
F.mish(x, True)
F.relu(x, True)
F.relu(x, inplace=True)
F.relu(x, inplace=yes)
F.relu(x, inplace=no)
F.relu6(x, True)
F.rrelu(x, 0.1, 0.3, False, True)
F.selu(x, True)
F.silu(x, True)
F.threshold(x, 0.1, 0.0)
F.threshold(x, 0.1, 0.0, True)
F.batch_norm(img, None, None, training=True)
F.batch_norm(img, v, v + 1)
F.bilinear(m, m, m[None])
F.conv1d(seq, m[:, :, None])
F.conv2d(img, m[:, :, None, None])
F.conv3d(vol, m[:, :, None, None, None])
F.conv_tbc(x, m[None], v)
F.conv_transpose1d(seq, m[:, :, None])
F.conv_transpose2d(img, m[:, :, None, None])
F.conv_transpose3d(vol, m[:, :, None, None, None])
F.cosine_embedding_loss(m, m, v)
F.cross_entropy(m, k)
F.cross_entropy(m, k, reduction="none")
F.ctc_loss(x.log_softmax(-1), i[0, :, :1] + 1, k[:3] * 0 + 2, k[:3] * 0 + 1)
F.embedding(k, m)
F.embedding_bag(k, m, k[:1])
F.fold(m[None], (2, 2), 1)
F.fractional_max_pool2d(img, 2, 3)
F.fractional_max_pool2d(img, 2, 3, None, True)
F.fractional_max_pool2d_with_indices(img, 2, 3)
F.fractional_max_pool3d(vol, 2, 3)
F.fractional_max_pool3d(vol, 2, 3, return_indices=True)
F.fractional_max_pool3d_with_indices(vol, 2, 3)
F.grid_sample(img, img[:, :1, :, :2])
F.instance_norm(img)
F.layer_norm(x, (4,))
F.linear(x, m)
F.local_response_norm(seq, 1)
F.lp_pool1d(seq, 1, 1)
F.lp_pool2d(img, 1, 1)
F.lp_pool3d(vol, 1, 1)
F.max_pool1d(seq, 1, return_indices=True)
F.max_pool2d(img, 1, None, 0, 1, False, True)
F.max_pool3d(vol, 1, return_indices=True)
F.max_unpool1d(*F.max_pool1d(seq, 2, return_indices=True), 2)
F.max_unpool2d(*F.max_pool2d(img, 2, return_indices=True), 2)
F.max_unpool3d(*F.max_pool3d(vol, 2, return_indices=True), 2)
F.multi_head_attention_forward(x, x, x, 4, 1, torch.cat([m] * 3), None, None, None, False, 0.0, m, None)
F.multi_margin_loss(m, k)
F.multilabel_margin_loss(v, k)
F.nll_loss(m, k)
F.one_hot(k)
F.pad(x, (0, 0))
F.pad(x, (1, 1), mode="reflect")
F.pad(x, (1, 1), mode="circular")
F.pdist(m)
F.prelu(x, x[0, 0, :1])
F.rms_norm(x, (4,))
F.scaled_dot_product_attention(x, x, x)
# einops
einops.rearrange(x, "a b c -> a b c")
einops.rearrange(x, "a b c -> c a b")
einops.rearrange(x, "a b (c d) -> a b c d", d=2)
einops.rearrange(x, "a b c -> (a b) c")
einops.rearrange(x, "... c -> (...) c")
einops.rearrange(x, pattern)
einops.repeat(x, "a b c -> a b c d", d=2)
einops.repeat(x, "a b c -> a b c")
einops.repeat(x, "a b c -> a b (c d)", d=2)
einops.repeat(x, "a b c -> a b (c d)", d=1)
einops.reduce(x, "a b c -> a b", "sum")
einops.reduce(x, "a b c -> a b c", "sum")
einops.reduce(x, "a b c -> (a b) c", "max")
einops.reduce(x, "a b c -> b", reduction="mean")
einops.einsum(x, "a b c -> b a c")
einops.einsum(x, "a b c -> b")
einops.einsum(x, x, "a b c, a b c -> b a")
# Subscripts
x[0]
x[-1]
x[1:]
x[..., 0]
x[None]
x[()]
x[True]
x[[0, 1]]
x[(0, 1), ]
x[:, [0, 1]]
x[one]
x[k]
x[mask]
x[0, one]
x[:, k % 2]
x[i[0, 0] % 2]
x[one * 1]
"""

TABLES: dict[str, Mapping[str, Op]] = {"attribute": ops._ATTRIBUTES}
for _module, (_table, _) in ops._NAMESPACES.items():
    if all(_table is not known for known in TABLES.values()):  # Some modules share one.
        TABLES[_module] = _table

# What another machine has to show.
ELSEWHERE = {"cpu": {COPY}}
NOT_RUN = {
    "cuda": "needs a GPU",
    "xpu": "needs a GPU",
    "pin_memory": "needs a GPU",
    "record_stream": "needs a GPU",
    "numpy": "needs NumPy",
    "from_numpy": "needs NumPy",
}

# Reading and running a call -------------------------------------------------------------------------------------------------

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
    return "subscript", ""


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
    if torch.strided != result.layout or torch.strided != operand.layout:
        return COPY
    if result.untyped_storage().data_ptr() != operand.untyped_storage().data_ptr():
        return COPY
    base = operand._base if operand._is_view() else operand
    return VIEW if result._is_view() and result._base is base else DETACHED


def run(call: str, situation: Callable[[Tensor], Tensor]) -> tuple[object, set[Relation], set[bool]]:
    """What a call returns, how the tensors in that are related to the closest operand, and if their flags follow from that."""
    code = compile(call, call, "eval")
    operands = {name: situation(data) for name, data in WITH_GRAD.items() if name in code.co_names}
    for name, value in without_grad().items():
        if name in code.co_names:
            operands[name] = value.clone() if isinstance(value, torch.Tensor) else value
    flags = [(t, (t if t._base is None else t._base).requires_grad) for t in operands.values() if isinstance(t, torch.Tensor)]
    with torch.no_grad():
        result = eval(code, {"torch": torch, "F": F, "einops": einops, **operands})
    outcomes, follow = set(), set()
    for tensor in tensors_in(result):
        seen, flag = min(((relation(tensor, t), flag) for t, flag in flags), default=(COPY, False))
        outcomes.add(seen)
        follow.add(seen is IS or tensor.requires_grad == (seen is VIEW and flag))
    return result, outcomes, follow


def calls() -> Iterator[str]:
    for form, names in FORMS:
        yield from (form.replace("{}", name) for name in names.split())
    yield from (line for line in CALLS.strip().splitlines() if not line.startswith("#"))


BY_ROW: dict[tuple[str, str], list[str]] = {}
for _call in calls():
    BY_ROW.setdefault(row_of(_call), []).append(_call)

ROWS = [(module, name) for module, table in TABLES.items() for name in table] + [("subscript", "")]


def siblings(call: str, name: str) -> Iterator[str]:
    """`x.f(y)` as `torch.f(x, y)` and the other way round. It may turn out not to be a valid call."""
    match ast.parse(call, mode="eval").body:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=x))) if x not in ROOTS and callable(getattr(torch, name, None)):
            yield call.replace(f"{x}.{name}(", f"torch.{name}({x}, ", 1).replace(", )", ")")
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch")), args=[ast.Name(id=x), *_]) if hasattr(torch.Tensor, name):
            yield call.replace(f"torch.{name}({x}", f"{x}.{name}(", 1).replace("(, ", "(")


def measure(call: str) -> tuple[Op, set[Relation]]:
    """What the tables say of a call, and what it does in all situations."""
    op = look_up(call)
    assert op is not None, call
    seen: set[Relation] = set()
    for name, situation in SITUATIONS.items():
        try:
            result, outcomes, follow = run(call, situation)
        except RuntimeError:
            if name.endswith("not contiguous"):  # Some ops refuse such tensors.
                continue
            raise
        match op.kind:
            case Kind.TENSOR | Kind.FRESH:
                assert isinstance(result, torch.Tensor), call
            case Kind.SEQUENCE:
                assert isinstance(result, (tuple, list)), call
                assert outcomes, call
            case Kind.PLAIN:
                assert not outcomes, call
        assert follow <= {True} or op.kind is Kind.FRESH, f"{call} on a {name}: the flag is not that of {outcomes}"
        seen |= outcomes
    return op, seen


def allowed(op: Op) -> set[Relation]:
    """All the outcomes that a row stands for."""
    if op.relation is MAY_COPY:
        return {IS, VIEW, COPY}
    return {IS, VIEW} if op.relation is VIEW and op.when else {op.relation}


@pytest.mark.parametrize(("module", "name"), ROWS, ids=[f"{module}.{name}" for module, name in ROWS])
def test_row(module: str, name: str) -> None:
    if (module, name) not in BY_ROW:
        pytest.skip(NOT_RUN[name])
    if module == "einops" and einops is None:
        pytest.skip("needs einops")
    measured: dict[Op, set[Relation]] = {}
    for call in BY_ROW[module, name]:
        op, seen = measure(call)
        measured.setdefault(op, set()).update(seen)
        for sibling in siblings(call, name):
            with contextlib.suppress(TypeError, RuntimeError):
                op, seen = measure(sibling)
                measured.setdefault(op, set()).update(seen)
    for op, seen in measured.items():
        if op.kind is Kind.PLAIN:
            continue
        seen |= ELSEWHERE.get(name, set())
        assert seen <= allowed(op), f"{op} does not tell all"
        assert seen == allowed(op) or (op.relation is MAY_COPY and COPY in seen and len(seen) > 1), f"{op} tells more than {seen}"


def test_no_row_goes_untested() -> None:
    assert set(ROWS) - set(BY_ROW) == {("torch", name) for name in NOT_RUN}
    assert set(BY_ROW) <= set(ROWS)


def test_only_a_choice_has_a_clause() -> None:
    for module, table in TABLES.items():
        for name, op in table.items():
            assert op.relation is VIEW or bool(op.when) == (op.relation is MAY_COPY), f"{module}.{name}"


# The arguments decide -------------------------------------------------------------------------------------------------------

DECIDED = """
IS        x.to()
COPY      x.to(torch.float16, copy=True)
COPY      x.to(torch.float16, False, True)
COPY      x.to("cpu", torch.float16, False, True)
MAY_COPY  x.to("cpu", torch.float16, True)
MAY_COPY  x.to(torch.float16, copy=yes)
MAY_COPY  x.to(**kwargs)
MAY_COPY  x.to(*args)
DETACHED  x.view(torch.uint8)
DETACHED  x.view(dtype=torch.bfloat16)
DETACHED  x.view(y.dtype)
VIEW      x.view(shape)
VIEW      x.view(y.shape)
MAY_COPY  x.flatten()
IS        x.flatten(1, 1)
IS        x.flatten(start_dim=-1)
MAY_COPY  x.flatten(n, n)
IS        torch.flatten(x, 2, 2)
IS        torch.flatten(input=x, start_dim=2, end_dim=2)
MAY_COPY  torch.flatten(x, 0, 1)
MAY_COPY  torch.Tensor.flatten(x, 0, 1)
COPY      torch.cartesian_prod(x, y)
MAY_COPY  torch.cartesian_prod(*xs)
COPY      torch.einsum("ij,jk->ik", x, y)
MAY_COPY  torch.einsum("ij->ji", x)
MAY_COPY  torch.einsum(x, [0, 1], [1, 0])
MAY_COPY  torch.einsum("ij,jk->ik", *xs)
COPY      einops.einsum(x, y, "a, a -> a")
IS        F.relu(x, True)
IS        F.relu(x, inplace=True)
MAY_COPY  F.relu(x, inplace=self.inplace)
COPY      F.relu(x, inplace=False)
COPY      F.dropout(x)
IS        F.dropout(x, 0.0)
IS        F.dropout(x, p, False)
MAY_COPY  F.dropout(x, p, True)
MAY_COPY  F.dropout(x, 0.1, self.training)
IS        F.alpha_dropout(x, p)
COPY      F.alpha_dropout(x, 0.1, True)
VIEW      F.dropout3d(x, training=False)
MAY_COPY  torch.dropout(x, p, train)
IS        torch.dropout(x, p, train=False)
VIEW      einops.rearrange(x, "a b -> b a")
VIEW      einops.rearrange(x, "a (b c) -> b a c", c=2)
MAY_COPY  einops.rearrange(x, "a b -> (a b)")
MAY_COPY  einops.rearrange(x, pattern)
VIEW      einops.repeat(x, "a -> a b", b=2)
MAY_COPY  einops.repeat(x, "a -> (a b)", b=2)
COPY      einops.reduce(x, "a b -> a", "sum")
MAY_COPY  einops.reduce(x, "a b -> (a b)", "sum")
IS        x.add_(y)
IS        torch.relu_(x)
IS        torch.nn.init.normal_(x)
TENSOR    x.max()
TENSOR    x.max(y)
SEQUENCE  x.max(1)
SEQUENCE  x.max(dim=d)
SEQUENCE  torch.min(x, -1)
TENSOR    torch.maximum(x, y)
SEQUENCE  torch.median(x, 0)
TENSOR    x.unique()
SEQUENCE  x.unique(return_counts=True)
SEQUENCE  torch.unique(x, True, True)
TENSOR    x.nonzero()
SEQUENCE  x.nonzero(as_tuple=True)
SEQUENCE  torch.where(x)
TENSOR    torch.where(x, y, z)
TENSOR    torch.atleast_2d(x)
EACH      torch.atleast_2d(x, y)
SEQUENCE  F.max_pool2d(x, 2, return_indices=True)
TENSOR    F.max_pool2d(x, 2)
SEQUENCE  x.split(2)
EACH      torch.meshgrid(x, y)
FRESH     x.new(2, 3)
FRESH     torch.zeros_like(x)
FRESH     torch.nn.Parameter(x)
PLAIN     x.type()
TENSOR    x.type(torch.float64)
PLAIN     x.size(0)
PLAIN     x.shape
"""


@pytest.mark.parametrize("line", DECIDED.strip().splitlines())
def test_the_arguments_decide(line: str) -> None:
    expected, call = line.split(maxsplit=1)
    op = look_up(call)
    assert op is not None
    assert expected in (op.relation.name, op.kind.name)


@pytest.mark.parametrize(
    "call",
    [
        "x.frobnicate()",
        "x.frobnicate",
        "x.grad",
        "torch.frobnicate(x)",
        "einops.frobnicate(x)",
        "torch.some.module.flatten(x)",
        "torch.add(x, y, out=z)",
        "x.new(y)",
        "x.new(*shape)",
        "torch.asarray(x)",
    ],
)
def test_the_unknown_stays_unknown(call: str) -> None:
    assert look_up(call) is None


def test_none_is_no_out() -> None:
    assert look_up("torch.add(x, y, out=None)") == Op(COPY)


def test_asarray_keeps_the_flag_of_a_copy() -> None:
    """Why it stands in no table."""
    _, outcomes, follow = run("torch.asarray(x, copy=True)", leaf)
    assert (outcomes, follow) == ({COPY}, {False})


def test_every_dtype_is_one() -> None:
    dtypes = {name for name in dir(torch) if isinstance(getattr(torch, name), torch.dtype)}
    assert {name for name in dir(torch) if ops._is_dtype(Dotted(f"torch.{name}"))} >= dtypes
    assert not ops._is_dtype("torch.float32")
    assert not ops._is_dtype(UNKNOWN_ARGUMENT)


# In place -------------------------------------------------------------------------------------------------------------------

IN_PLACE = """
i.apply_(abs)
x.bernoulli_()
x.cauchy_()
x.copy_(x)
x.detach_()
x.exponential_()
x.fill_(1)
m.fill_diagonal_(0)
x.geometric_(0.5)
x.log_normal_()
i.map_(i, max)
x.normal_()
x.random_()
x.requires_grad_(False)
i.resize_(2)
i.resize_as_(i)
i.set_(i)
x.share_memory_()
i.squeeze_()
x.uniform_()
x.zero_()
"""
BY_METHOD: dict[str, list[str]] = {}
for _call in IN_PLACE.strip().splitlines():
    BY_METHOD.setdefault(row_of(_call)[1], []).append(_call)
for (_module, _name), _calls in BY_ROW.items():
    if _module == "torch" and not _name.endswith("_"):
        BY_METHOD.setdefault(f"{_name}_", []).extend(c.replace(f".{_name}(", f".{_name}_(", 1) for c in _calls)

NOT_RUN_IN_PLACE = {"resize_as_sparse_", "sparse_resize_", "sparse_resize_and_clear_", "map2_"}


@pytest.mark.parametrize("name", sorted(n for n in dir(torch.Tensor) if ops.in_place(n) and n not in NOT_RUN_IN_PLACE))
def test_in_place(name: str) -> None:
    """Of the calls of `add`, those that `add_` takes as well."""
    seen: set[Relation] = set()
    for call in BY_METHOD[name]:
        with contextlib.suppress(TypeError, RuntimeError, AttributeError):
            seen |= run(call, leaf)[1]
    assert seen == {IS}
    assert ops.method(name, Arguments()) == Op(IS)


@pytest.mark.parametrize("name", ["add", "__init__", "__iadd__", "_", "_private_", "requires_grad"])
def test_not_in_place(name: str) -> None:
    assert not ops.in_place(name)


# Other sources of the same facts --------------------------------------------------------------------------------------------

ALWAYS_VIEWS = """adjoint as_strided as_subclass broadcast_to chunk diagonal dsplit expand expand_as hsplit meshgrid moveaxis
    movedim narrow permute select split split_with_sizes squeeze swapaxes swapdims t tensor_split transpose unbind unflatten
    unfold unsqueeze view view_as view_as_complex view_as_real vsplit"""


@pytest.mark.parametrize("name", ALWAYS_VIEWS.split())
def test_always_a_view(name: str) -> None:
    op = ops.method(name, Arguments((UNKNOWN_ARGUMENT,)))
    assert op is not None
    assert (op.relation, op.when) == (VIEW, "")


def test_no_copy_shares_memory_by_its_schema() -> None:
    """By the dispatcher's own words. They leave out what is written in Python and what decides late, such as `type_as`."""
    aliasing = set()
    for schema in map(str, torch._C._jit_get_all_schemas()):
        head, _, returns = schema.rpartition(" -> ")
        if head.startswith("aten::") and re.search(r"Tensor\(\w+(?: -> \*)?\)", returns):
            aliasing.add(head.partition("(")[0].removeprefix("aten::").partition(".")[0])
    assert len(aliasing) > 50
    copies = {name for name, op in TABLES["torch"].items() if op.relation is COPY}
    for family in ("linalg", "fft", "special"):
        copies |= {f"{family}_{name}" for name, op in TABLES[f"torch.{family}"].items() if op.relation is COPY}
    assert not copies & aliasing


@pytest.mark.parametrize(
    "other",
    [list, tuple, dict, set, str, bytes, int, float, range, slice, types.ModuleType, torch.Size, torch.nn.Module],
)
def test_tensor_attributes_belong_to_tensors_alone(other: type) -> None:
    assert not ops.TENSOR_ATTRIBUTES & set(dir(other))
