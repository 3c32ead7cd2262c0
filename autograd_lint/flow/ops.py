"""What a call of torch returns: its operand, a view of it, a copy. Every row is measured by tests/flow/test_ops.py.

Of a call that is not here no rule says anything. Left out on purpose: `torch.asarray` and `copy.copy`, whose results keep
`requires_grad` by rules of their own, the sparse, quantized and recurrent functions, and what only C++ and the compiler call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, Literal

from autograd_lint.flow.values import Relation

IS, VIEW, MAY_COPY, DETACHED, COPY = Relation


class Kind(Enum):
    """What comes back."""

    TENSOR = auto()  # A tensor that is related to the operands.
    SEQUENCE = auto()  # A tuple or list of such tensors.
    FRESH = auto()  # A tensor whose flag owes nothing to an operand: `zeros_like`, `torch.tensor`. (`DETACHED`: its memory does.)
    PLAIN = auto()  # No tensor: `size`, `item`, `data_ptr`.
    EACH = auto()  # A tuple with such a tensor for each operand: `broadcast_tensors`.


TENSOR, SEQUENCE, FRESH, PLAIN, EACH = Kind


@dataclass(frozen=True, slots=True)
class Op:
    """What a call returns of the closest of its operands, at the farthest: `x.conj()` is `x` or a view, hence a `VIEW`.

    `when` completes "`x.flatten(0, 1)` is a copy …" for a `MAY_COPY`, and "`x.conj()` is a view …" for a `VIEW` that may be `x`.
    `otherwise`: the farthest that a `MAY_COPY` returns if it does not copy, the operand itself or a view.
    """

    relation: Relation
    kind: Kind = TENSOR
    when: str = ""
    otherwise: Relation = Relation.IS


class Dotted(str):
    """A dotted name as an argument: `torch.float32`, `x.dtype`."""

    __slots__ = ()


class _Unknown(Enum):
    UNKNOWN = auto()


UNKNOWN_ARGUMENT: Final = _Unknown.UNKNOWN


@dataclass(frozen=True, slots=True)
class Arguments:
    """The literal values of a call, `UNKNOWN_ARGUMENT` for the others. An unpacked `*args` or `**kwargs` is one of those."""

    positional: tuple[object, ...] = ()
    keywords: Mapping[str, object] = field(default_factory=dict)

    def get(self, position: int, name: str, default: object = None) -> object:
        if name in self.keywords:
            return self.keywords[name]
        return self.positional[position] if position < len(self.positional) else default

    @property
    def empty(self) -> bool:
        return not self.positional and not self.keywords

    @property
    def after_operand(self) -> Arguments:
        """`torch.f(x, …)` as `x.f(…)` would have it."""
        if self.positional:
            return Arguments(self.positional[1:], self.keywords)
        return Arguments((), {name: value for name, value in self.keywords.items() if name not in ("input", "tensors")})


Refine = Callable[[Arguments, Op], "Op | None"]


# What the arguments decide --------------------------------------------------------------------------------------------------

_DTYPE: Final = re.compile(r"torch\.(bool|short|int|long|half|float|double|cfloat|cdouble|chalf|bit|[a-z]+\d+\w*)|.*\.dtype")


def _is_dtype(argument: object) -> bool:
    return isinstance(argument, Dotted) and _DTYPE.fullmatch(argument) is not None


def _to(a: Arguments, op: Op) -> Op:
    """`x.to(dtype, non_blocking, copy)`, `x.to(device, dtype, non_blocking, copy)`."""
    if a.empty:
        return Op(IS)
    return Op(COPY) if a.get(2 if _is_dtype(a.get(0, "")) else 3, "copy") is True else op


def _type(a: Arguments, op: Op) -> Op:
    return Op(COPY, PLAIN) if a.empty else op


def _view(a: Arguments, op: Op) -> Op:
    """Another dtype cuts the link to autograd, another shape does not. An argument that is not known is taken for a shape."""
    return Op(DETACHED) if _is_dtype(a.get(0, "dtype")) else op


def _flatten(a: Arguments, op: Op) -> Op:
    """A single dimension is flat already. (A scalar gets one, in a view, but nobody writes `flatten(0, 0)` for that.)"""
    start, end = a.get(0, "start_dim", 0), a.get(1, "end_dim", -1)
    return Op(IS) if isinstance(start, int) and start == end else op


def _new(a: Arguments, op: Op) -> Op | None:
    """`x.new(2, 3)` is a new tensor, `x.new(y)` is a view of `y` if that is a tensor."""
    return op if not a.keywords and all(isinstance(size, int) for size in a.positional) else None


def _along_dim(a: Arguments, op: Op) -> Op:
    """`x.max(dim)` is values and indices, `x.max()` and `x.max(y)` are a tensor. An unknown argument is taken for `y`."""
    return Op(op.relation, SEQUENCE) if "dim" in a.keywords or isinstance(a.get(0, ""), int) else op


def _where(a: Arguments, op: Op) -> Op:
    """The condition alone gives the indices, one tensor for each dimension."""
    return Op(op.relation, SEQUENCE) if a.empty else op


def _many(a: Arguments, op: Op) -> Op:
    """Several operands, several results."""
    return Op(op.relation, EACH, op.when) if a.positional else op


def _product(a: Arguments, op: Op) -> Op:
    return Op(COPY) if a.positional else op


def _einsum(a: Arguments, op: Op) -> Op:
    """Two operands are multiplied. In `einsum(x, [0, 1], [1, 0])` lists stand between them."""
    return Op(COPY) if len(a.positional) > 1 and not any(isinstance(p, (list, tuple)) for p in a.positional) else op


def _tuple_if(**flags: int) -> Refine:
    """A tuple comes back if one of these is true. The number is the flag's place behind the operand, -1 if it has none."""

    def refine(a: Arguments, op: Op) -> Op:
        asked = any(a.get(place if place >= 0 else len(a.positional), flag) is True for flag, place in flags.items())
        return Op(op.relation, SEQUENCE) if asked else op

    return refine


def _inplace(place: int) -> Refine:
    """`inplace=True` returns the operand itself. `place`: where the flag stands behind the operand."""

    def refine(a: Arguments, op: Op) -> Op:
        match a.get(place, "inplace", False):
            case True:
                return Op(IS)
            case False:
                return op
            case _:
                return Op(MAY_COPY, TENSOR, "unless `inplace` is true")

    return refine


def _dropout(nothing: Op = Op(IS), *, training: bool = True, flag: str = "training") -> Refine:
    """`nothing`: what comes back if nothing is dropped. `training`: the default."""

    def refine(a: Arguments, op: Op) -> Op:
        p, train, inplace = a.get(0, "p", 0.5), a.get(1, flag, training), a.get(2, "inplace", False)
        if train is False or inplace is True or p == 0:
            return nothing
        return Op(COPY) if train is True and inplace is False and isinstance(p, (int, float)) else op

    return refine


def _pattern(a: Arguments) -> tuple[str, str] | None:
    pattern = a.get(0, "pattern")
    if not isinstance(pattern, str) or pattern.count("->") != 1:
        return None
    left, right = pattern.split("->")
    return left, right


def _rearrange(a: Arguments, op: Op) -> Op:
    """Only parentheses on the right merge dimensions. The others reorder and split them."""
    if (pattern := _pattern(a)) is None or "(" in pattern[1]:
        return op
    return Op(VIEW, TENSOR, "unless the order stays the same")


def _reduce(a: Arguments, op: Op) -> Op:
    """An axis that is named on the left alone is reduced."""
    if (pattern := _pattern(a)) is None:
        return op
    left, right = (set(side.replace("(", " ").replace(")", " ").split()) for side in pattern)
    return Op(COPY) if left - right - {"1"} else op


# The tables -----------------------------------------------------------------------------------------------------------------


def _names(block: str) -> frozenset[str]:
    return frozenset(block.split())


def _table(*groups: tuple[Op, str]) -> dict[str, Op]:
    table: dict[str, Op] = {}
    for op, names in groups:
        for name in names.split():
            assert name not in table, f"{name} stands in two groups"
            table[name] = op
    return table


# Methods of a tensor and functions of torch in one: those of the same name do the same.
_TENSOR: Final = _table(
    (Op(IS), "positive"),
    (
        Op(VIEW),
        """adjoint as_strided as_subclass broadcast_to diagonal expand expand_as imag moveaxis movedim narrow permute select
        squeeze swapaxes swapdims t transpose unflatten unfold unsqueeze view view_as view_as_complex view_as_real""",
    ),
    (Op(VIEW, SEQUENCE), "chunk dsplit hsplit split split_with_sizes tensor_split unbind vsplit"),
    (Op(VIEW, TENSOR, "if it is complex"), "conj real"),
    (Op(VIEW, TENSOR, "if it has fewer dimensions"), "atleast_1d atleast_2d atleast_3d"),
    (Op(VIEW, EACH), "meshgrid"),
    (Op(VIEW, EACH, "unless it already has the common shape"), "broadcast_tensors"),
    (
        Op(MAY_COPY, TENSOR, "when the input is not contiguous", VIEW),
        "flatten reshape reshape_as",
    ),
    (Op(MAY_COPY, TENSOR, "when the input is not contiguous"), "contiguous"),
    (Op(MAY_COPY, TENSOR, "when the input is not contiguous", VIEW), "ravel"),
    (Op(MAY_COPY, TENSOR, "unless it already has that dtype and device"), "as_tensor to type_as"),
    (
        Op(MAY_COPY, TENSOR, "unless it already has that dtype"),
        "bfloat16 bool byte cdouble cfloat chalf char double float half int long short type",
    ),
    (Op(MAY_COPY, TENSOR, "unless it is already on the CPU"), "cpu"),
    (Op(MAY_COPY, TENSOR, "unless it is already on that device"), "cuda xpu"),
    (Op(MAY_COPY, TENSOR, "unless it is already pinned"), "pin_memory"),
    (Op(MAY_COPY, TENSOR, "unless it is already dense"), "to_dense"),
    (Op(MAY_COPY, TENSOR, "unless it already has that shape"), "sum_to_size"),
    (Op(MAY_COPY, TENSOR, "if it is complex"), "conj_physical"),
    (Op(MAY_COPY, TENSOR, "if its conjugate bit is set"), "resolve_conj"),
    (Op(MAY_COPY, TENSOR, "if its negative bit is set"), "resolve_neg"),
    (Op(MAY_COPY, TENSOR, "unless it drops nothing"), "alpha_dropout dropout feature_alpha_dropout feature_dropout"),
    (Op(MAY_COPY, TENSOR, "unless it only reorders one operand", VIEW), "einsum"),
    (Op(MAY_COPY, TENSOR, "unless it has one operand"), "cartesian_prod"),
    (Op(DETACHED), "detach from_dlpack"),
    (Op(DETACHED, SEQUENCE), "unsafe_chunk unsafe_split unsafe_split_with_sizes"),
    (
        Op(COPY),
        """abs absolute acos acosh adaptive_avg_pool1d add addbmm addcdiv addcmul addmm addmv addr affine_grid_generator
        alias_copy all amax amin angle any arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin argsort
        argwhere as_strided_copy as_strided_scatter asin asinh atan atan2 atanh avg_pool1d baddbmm batch_norm bernoulli
        bilinear binary_cross_entropy_with_logits bincount binomial bitwise_and bitwise_left_shift bitwise_not bitwise_or
        bitwise_right_shift bitwise_xor block_diag bmm bucketize cat cdist ceil celu chain_matmul channel_shuffle cholesky
        cholesky_inverse cholesky_solve clamp clamp_max clamp_min clip clone column_stack combinations complex concat
        concatenate constant_pad_nd conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d
        convolution copysign corrcoef cos cosh cosine_embedding_loss cosine_similarity count_nonzero cov cross ctc_loss
        cumprod cumsum cumulative_trapezoid deg2rad det detach_copy diag diag_embed diagflat diagonal_copy
        diagonal_scatter diff digamma dist div divide dot dstack embedding eq erf erfc erfinv exp exp2 expand_copy expm1
        fake_quantize_per_channel_affine fake_quantize_per_tensor_affine fill fix flip fliplr flipud float_power floor
        floor_divide fmax fmin fmod frac frobenius_norm gather gcd ge ger greater greater_equal grid_sampler
        grid_sampler_2d grid_sampler_3d group_norm gt hardshrink heaviside hinge_embedding_loss histc hstack hypot i0
        igamma igammac index_add index_copy index_fill index_put index_reduce index_select inner instance_norm inverse
        isclose isfinite isin isinf isnan isneginf isposinf isreal istft kl_div kron layer_norm lcm ldexp le lerp less
        less_equal lgamma log log10 log1p log2 log_softmax logaddexp logaddexp2 logcumsumexp logdet logical_and
        logical_not logical_or logical_xor logit logsumexp lt lu_solve margin_ranking_loss masked_fill masked_scatter
        masked_select matmul matrix_exp matrix_power max max_pool1d max_pool2d max_pool3d maximum mean median min minimum
        mm msort mul multinomial multiply mv mvlgamma nan_to_num nanmean nanmedian nanquantile nansum narrow_copy
        native_channel_shuffle ne neg negative nextafter nonzero nonzero_static norm norm_except_dim normal not_equal
        nuclear_norm orgqr ormqr outer pairwise_distance pdist permute_copy pinverse pixel_shuffle pixel_unshuffle poisson
        poisson_nll_loss polar polygamma pow prelu prod put quantile rad2deg reciprocal relu remainder renorm repeat
        repeat_interleave rms_norm roll rot90 round row_stack rrelu rsqrt rsub scatter scatter_add scatter_reduce
        searchsorted segment_reduce select_copy select_scatter selu sgn sigmoid sign signbit sin sinc sinh slice_copy
        slice_scatter softmax sqrt square squeeze_copy stack std stft sub subtract sum t_copy take take_along_dim tan tanh
        tensordot threshold tile trace transpose_copy trapezoid trapz tril triplet_margin_loss triu true_divide trunc
        unfold_copy unique unique_consecutive unsqueeze_copy vander var vdot view_as_complex_copy view_as_real_copy
        view_copy vstack where xlogy""",
    ),
    (
        Op(COPY, SEQUENCE),
        """adaptive_max_pool1d aminmax cummax cummin embedding_bag frexp geqrf gradient histogram histogramdd kthvalue lobpcg
        lu lu_unpack max_pool1d_with_indices mode native_batch_norm native_dropout native_group_norm native_layer_norm
        pca_lowrank qr slogdet sort split_copy split_with_sizes_copy std_mean svd svd_lowrank topk triangular_solve
        unbind_copy unravel_index var_mean""",
    ),
    (
        Op(COPY, FRESH),
        """arange bartlett_window blackman_window empty empty_like empty_permuted empty_strided eye full full_like
        get_rng_state hamming_window hann_window kaiser_window linspace logspace new new_empty new_empty_strided new_full
        new_ones new_tensor new_zeros ones ones_like rand rand_like randint randint_like randn randn_like randperm range
        scalar_tensor tensor tril_indices triu_indices zeros zeros_like""",
    ),
    (Op(DETACHED, FRESH), "from_numpy"),
    (
        Op(COPY, PLAIN),
        """Generator Size allclose backward broadcast_shapes can_cast data_ptr dense_dim device dim dim_order element_size
        equal finfo get_autocast_dtype get_autocast_gpu_dtype get_default_dtype get_device iinfo initial_seed
        is_autocast_enabled is_coalesced is_complex is_conj is_contiguous is_distributed is_floating_point is_grad_enabled
        is_inference is_inference_mode_enabled is_neg is_nonzero is_pinned is_same_size is_set_to is_shared is_signed
        is_storage is_tensor item ndimension nelement numel numpy promote_types record_stream register_hook result_type
        retain_grad size sparse_dim storage storage_offset storage_type stride to_dlpack tolist typename untyped_storage""",
    ),
)

_TENSOR_BY_ARGUMENTS: Final[Mapping[str, Refine]] = {
    "alpha_dropout": _dropout(flag="train"),
    "atleast_1d": _many,
    "atleast_2d": _many,
    "atleast_3d": _many,
    "cartesian_prod": _product,
    "celu": _inplace(1),
    "dropout": _dropout(flag="train"),
    "einsum": _einsum,
    "feature_alpha_dropout": _dropout(flag="train"),
    "feature_dropout": _dropout(flag="train"),
    "flatten": _flatten,
    "max": _along_dim,
    "median": _along_dim,
    "min": _along_dim,
    "nanmedian": _along_dim,
    "new": _new,
    "nonzero": _tuple_if(as_tuple=-1),
    "to": _to,
    "type": _type,
    "unique": _tuple_if(return_inverse=1, return_counts=2),
    "unique_consecutive": _tuple_if(return_inverse=0, return_counts=1),
    "view": _view,
    "where": _where,
}

_ATTRIBUTES: Final = _table(
    (Op(VIEW), "H T imag mH mT"),
    (Op(VIEW, TENSOR, "if it is complex"), "real"),
    (Op(DETACHED), "data"),
    (
        Op(COPY, PLAIN),
        """device dtype grad_fn is_cpu is_cuda is_leaf is_meta is_mps is_nested is_quantized is_sparse is_sparse_csr is_xpu
        itemsize layout nbytes ndim output_nr requires_grad retains_grad shape""",
    ),
)

_FUNCTIONAL: Final = _table(
    (
        Op(MAY_COPY, TENSOR, "unless it drops nothing"),
        "alpha_dropout dropout dropout1d dropout2d dropout3d feature_alpha_dropout",
    ),
    (
        Op(COPY),
        """adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d
        adaptive_max_pool3d affine_grid avg_pool1d avg_pool2d avg_pool3d batch_norm bilinear binary_cross_entropy
        binary_cross_entropy_with_logits celu channel_shuffle conv1d conv2d conv3d conv_tbc conv_transpose1d
        conv_transpose2d conv_transpose3d cosine_embedding_loss cosine_similarity cross_entropy ctc_loss elu embedding
        embedding_bag fold fractional_max_pool2d fractional_max_pool3d gaussian_nll_loss gelu glu grid_sample group_norm
        gumbel_softmax hardshrink hardsigmoid hardswish hardtanh hinge_embedding_loss huber_loss instance_norm interpolate
        kl_div l1_loss layer_norm leaky_relu linear local_response_norm log_softmax logsigmoid lp_pool1d lp_pool2d
        lp_pool3d margin_ranking_loss max_pool1d max_pool2d max_pool3d max_unpool1d max_unpool2d max_unpool3d mish
        mse_loss multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss nll_loss normalize one_hot pad
        pairwise_distance pdist pixel_shuffle pixel_unshuffle poisson_nll_loss prelu relu relu6 rms_norm rrelu
        scaled_dot_product_attention selu sigmoid silu smooth_l1_loss soft_margin_loss softmax softmin softplus softshrink
        softsign tanh tanhshrink threshold triplet_margin_loss triplet_margin_with_distance_loss unfold upsample
        upsample_bilinear upsample_nearest""",
    ),
    (
        Op(COPY, SEQUENCE),
        """adaptive_max_pool1d_with_indices adaptive_max_pool2d_with_indices adaptive_max_pool3d_with_indices
        fractional_max_pool2d_with_indices fractional_max_pool3d_with_indices max_pool1d_with_indices
        max_pool2d_with_indices max_pool3d_with_indices multi_head_attention_forward""",
    ),
)

_UNBATCHED: Final = Op(VIEW, TENSOR, "if it has no batch dimension")

_FUNCTIONAL_BY_ARGUMENTS: Final[Mapping[str, Refine]] = {
    "adaptive_max_pool1d": _tuple_if(return_indices=1),
    "adaptive_max_pool2d": _tuple_if(return_indices=1),
    "adaptive_max_pool3d": _tuple_if(return_indices=1),
    "alpha_dropout": _dropout(training=False),
    "celu": _inplace(1),
    "dropout": _dropout(),
    "dropout1d": _dropout(_UNBATCHED),
    "dropout2d": _dropout(),
    "dropout3d": _dropout(_UNBATCHED),
    "elu": _inplace(1),
    "feature_alpha_dropout": _dropout(training=False),
    "fractional_max_pool2d": _tuple_if(return_indices=3),
    "fractional_max_pool3d": _tuple_if(return_indices=3),
    "hardsigmoid": _inplace(0),
    "hardswish": _inplace(0),
    "hardtanh": _inplace(2),
    "leaky_relu": _inplace(1),
    "max_pool1d": _tuple_if(return_indices=5),
    "max_pool2d": _tuple_if(return_indices=5),
    "max_pool3d": _tuple_if(return_indices=5),
    "mish": _inplace(0),
    "relu": _inplace(0),
    "relu6": _inplace(0),
    "rrelu": _inplace(3),
    "selu": _inplace(0),
    "silu": _inplace(0),
    "threshold": _inplace(2),
}

_LINALG: Final = _table(
    (Op(VIEW), "diagonal"),
    (
        Op(COPY),
        """cholesky cond cross det eigvals eigvalsh householder_product inv ldl_solve lu_solve matmul matrix_exp matrix_norm
        matrix_power matrix_rank multi_dot norm pinv solve solve_triangular svdvals tensorinv tensorsolve vander vecdot
        vector_norm""",
    ),
    (
        Op(COPY, SEQUENCE),
        "cholesky_ex eig eigh inv_ex ldl_factor ldl_factor_ex lstsq lu lu_factor lu_factor_ex qr slogdet solve_ex svd",
    ),
)

_FFT: Final = _table(
    (
        Op(COPY),
        """fft fft2 fftn fftshift hfft hfft2 hfftn ifft ifft2 ifftn ifftshift ihfft ihfft2 ihfftn irfft irfft2 irfftn rfft
        rfft2 rfftn""",
    ),
    (Op(COPY, FRESH), "fftfreq rfftfreq"),
)

_SPECIAL: Final = _table(
    (
        Op(COPY),
        """airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 chebyshev_polynomial_t chebyshev_polynomial_u
        chebyshev_polynomial_v chebyshev_polynomial_w digamma entr erf erfc erfcx erfinv exp2 expit expm1 gammainc
        gammaincc gammaln hermite_polynomial_h hermite_polynomial_he i0 i0e i1 i1e laguerre_polynomial_l
        legendre_polynomial_p log1p log_ndtr log_softmax logit logsumexp modified_bessel_i0 modified_bessel_i1
        modified_bessel_k0 modified_bessel_k1 multigammaln ndtr ndtri polygamma psi round scaled_modified_bessel_k0
        scaled_modified_bessel_k1 shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u
        shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w sinc softmax spherical_bessel_j0 xlog1py xlogy zeta""",
    ),
)

_EINOPS: Final = _table(
    (Op(MAY_COPY, TENSOR, "when the input is not contiguous", VIEW), "rearrange"),
    (Op(MAY_COPY, TENSOR, "when it repeats inside a dimension", VIEW), "repeat"),
    (Op(MAY_COPY, TENSOR, "unless it reduces nothing", VIEW), "reduce"),
    (Op(MAY_COPY, TENSOR, "unless it only reorders one operand", VIEW), "einsum"),
)

_EINOPS_BY_ARGUMENTS: Final[Mapping[str, Refine]] = {
    "einsum": _einsum,
    "rearrange": _rearrange,
    "reduce": _reduce,
    "repeat": _rearrange,
}

_PARAMETER: Final = _table((Op(DETACHED, FRESH), "Parameter"))

_NAMESPACES: Final[Mapping[str, tuple[Mapping[str, Op], Mapping[str, Refine]]]] = {
    "torch": (_TENSOR, _TENSOR_BY_ARGUMENTS),
    "torch.Tensor": (_TENSOR, _TENSOR_BY_ARGUMENTS),
    "torch.functional": (_TENSOR, _TENSOR_BY_ARGUMENTS),
    "torch.nn": (_PARAMETER, {}),
    "torch.nn.parameter": (_PARAMETER, {}),
    "torch.nn.functional": (_FUNCTIONAL, _FUNCTIONAL_BY_ARGUMENTS),
    "torch.nn.init": ({}, {}),
    "torch.linalg": (_LINALG, {}),
    "torch.fft": (_FFT, {}),
    "torch.special": (_SPECIAL, {}),
    "torch.utils.dlpack": (_table((Op(DETACHED), "from_dlpack"), (Op(COPY, PLAIN), "to_dlpack")), {}),
    "einops": (_EINOPS, _EINOPS_BY_ARGUMENTS),
}

# Names that tell a tensor from a container: its own methods, but for those of containers, strings, numbers, modules (`to`) and
# process groups (`size`).
_SHARED: Final = frozenset(
    name for kind in (list, tuple, dict, set, str, bytes, int, float, complex) for name in dir(kind)
) | _names("bfloat16 cpu cuda double float half numel requires_grad_ size to type xpu")
TENSOR_ATTRIBUTES: Final = frozenset(_TENSOR.keys() - _SHARED) | _names(
    """add_ contiguous data_ptr detach detach_ device dim div_ dtype element_size expand expand_as fill_ grad_fn index_select
    is_contiguous is_cuda is_leaf masked_fill masked_fill_ matmul mul_ narrow ndim ndimension new_empty new_full new_ones
    new_tensor new_zeros permute requires_grad scatter_ scatter_add scatter_add_ storage_offset stride sub_ transpose_ type_as
    unsqueeze unsqueeze_ untyped_storage view_as zero_"""
)

# The questions --------------------------------------------------------------------------------------------------------------


def in_place(name: str) -> bool:
    """`add_` and its like return the tensor they are called on."""
    return name.endswith("_") and not name.startswith("_") and not name.endswith("__")


def method(name: str, arguments: Arguments) -> Op | None:
    """`x.name(…)`, None if nothing is known."""
    return _look_up(_TENSOR, _TENSOR_BY_ARGUMENTS, name, arguments)


def attribute(name: str) -> Op | None:
    """`x.name`, None if nothing is known."""
    return _ATTRIBUTES.get(name)


def function(dotted: str, arguments: Arguments) -> Op | None:
    """A call by full name, such as `torch.nn.functional.relu`, its tensors among the arguments. None if nothing is known."""
    module, _, name = dotted.rpartition(".")
    if module not in _NAMESPACES:
        return None
    return _look_up(*_NAMESPACES[module], name, arguments.after_operand)


def _look_up(table: Mapping[str, Op], by_arguments: Mapping[str, Refine], name: str, arguments: Arguments) -> Op | None:
    if arguments.keywords.get("out") is not None:  # It returns that tensor.
        return None
    if in_place(name):
        return Op(IS)
    op = table.get(name)
    refine = by_arguments.get(name)
    return op if op is None or refine is None else refine(arguments, op)


Index = Literal["int", "slice", "ellipsis", "none", "bool", "list", "tensor", "unknown"]

_SUBSCRIPT: Final[Mapping[Index, Op]] = {
    "int": Op(VIEW),
    "slice": Op(VIEW),
    "ellipsis": Op(VIEW),
    "none": Op(VIEW),
    "bool": Op(COPY),
    "list": Op(COPY),
    "tensor": Op(MAY_COPY, TENSOR, "unless the index is a single integer", VIEW),
    "unknown": Op(MAY_COPY, TENSOR, "when the index is a list, a mask or a tensor of indices", VIEW),
}


def subscript(*parts: Index) -> Op:
    """`x[…]`, by the parts of the tuple between the brackets. A list or tuple among them is a "list"."""
    return max((_SUBSCRIPT[part] for part in parts), key=lambda op: op.relation, default=Op(VIEW))
