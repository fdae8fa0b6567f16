"""The calls of cases.jsonl: of methods of tensors ("x"), nn.functional ("F") and layers ("nn")."""

from __future__ import annotations

from typing import Any

CASES: list[dict[str, Any]] = []


def T(*shape: int, seed: int = 1, low: float = -2, high: float = 2, **more: Any) -> dict[str, Any]:  # noqa: N802
    """A tensor of hashed numbers."""
    return {"t": list(shape), "seed": seed, "range": [low, high], **more}


def I(*shape: int, high: int = 3, low: int = 0, seed: int = 5) -> dict[str, Any]:  # noqa: N802, E743
    """Whole numbers in [low, high)."""
    return {"t": list(shape), "seed": seed, "range": [low, high], "dtype": "i64"}


def V(values: Any, dtype: str = "f32", **more: Any) -> dict[str, Any]:  # noqa: N802
    """These numbers."""
    return {"values": values, "dtype": dtype, **more}


def case(call: str, *args: Any, grad: bool = True, **options: Any) -> None:
    CASES.append({"call": call, "args": list(args), **({"options": options} if options else {}), **({} if grad else {"grad": False})})


def layer(name: str, make: list[Any], *args: Any, training: bool = False, **options: Any) -> None:
    CASES.append({"call": f"nn.{name}", "make": make, "args": list(args), **({"options": options} if options else {}), **({"training": True} if training else {})})


X, Y, P = T(2, 3), T(2, 3, seed=2), T(2, 3, seed=3, low=0.2, high=3)
SPECIAL = V([0.0, -1.5, 2.5, "NaN", "Infinity", "-Infinity"])

# Elements
for name in ("abs", "exp", "expm1", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asinh", "erf", "erfc", "sigmoid", "square", "neg", "sign", "floor", "ceil", "round", "trunc",
             "frac", "deg2rad", "rad2deg", "exp2", "sinc", "i0", "relu", "positive", "sgn", "angle", "absolute", "arctan", "atan", "negative", "fix"):  # fmt: skip
    case(f"x.{name}", X)
for name in ("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal", "lgamma", "digamma"):
    case(f"x.{name}", P)
for name in ("asin", "acos", "atanh", "erfinv", "arcsin"):
    case(f"x.{name}", T(2, 3, low=-0.9, high=0.9))
case("x.acosh", T(2, 3, low=1.1, high=3))
case("x.lgamma", V([-1.5, -0.3, 1.0, 2.0, 10.5, 0.0]), grad=False)
case("x.digamma", V([-1.5, -0.3, 1.0, 2.0, 10.5]))
for order in range(4):
    case("x.polygamma", P, order)
case("x.polygamma", V([-2.5, -0.3, 1.0, 10.5, 40.0]), 2)
case("x.erfc", V([-3.0, 0.5, 1.0, 2.5, 5.0]))
case("x.erfinv", V([-0.999, 0.0, 0.5, 0.9999]))
case("x.i0", V([-7.0, 0.5, 3.75, 5.0]))
for name in ("isnan", "isinf", "isfinite", "isposinf", "isneginf", "isreal", "signbit"):
    case(f"x.{name}", SPECIAL)
case("x.nan_to_num", SPECIAL, grad=False)
case("x.nan_to_num", SPECIAL, nan=1.5, posinf=7.0, neginf=-9.0)
for name in ("add", "sub", "mul", "div", "atan2", "maximum", "minimum", "fmod", "remainder", "hypot", "logaddexp", "logaddexp2", "ldexp", "fmax", "fmin", "subtract", "multiply", "divide", "true_divide", "copysign"):
    case(f"x.{name}", X, Y)
for name in ("eq", "ne", "lt", "le", "gt", "ge", "greater", "less_equal", "not_equal"):
    case(f"x.{name}", I(2, 3), I(2, 3, seed=8))
case("x.pow", P, Y)
case("x.pow", X, 3)
case("x.float_power", P, 1.5)
case("x.xlogy", X, P)
case("x.xlogy", V([0.0, 1.0, 0.0]), V([0.0, 2.0, 3.0]), grad=False)
case("x.logit", T(2, 3, low=0.1, high=0.9))
case("x.logit", T(2, 3, low=0, high=1), 0.2)
case("x.heaviside", V([-1.0, 0.0, 2.0], grad=False), V([0.5, 0.5, 0.5], grad=False))
case("x.copysign", X, -1.0)
case("x.fmax", V([1.0, "NaN", 3.0]), V([2.0, 2.0, "NaN"]), grad=False)
case("x.mvlgamma", T(4, low=2, high=4), 3)
case("x.gcd", I(6, high=60, low=1), I(6, high=60, low=1, seed=9))
case("x.lcm", I(6, high=20, low=1), I(6, high=20, low=1, seed=9))
case("x.gcd", V([0, 12, -8], "i64"), V([5, 0, 12], "i64"))
case("x.lerp", X, Y, 0.3)
case("x.lerp", X, Y, P)
case("x.addcmul", X, Y, P)
case("x.addcmul", X, Y, P, value=0.5)
case("x.addcdiv", X, Y, P, value=-0.5)
case("x.clamp", X, -0.5, 0.7)
case("x.clamp_min", X, 0.3)
case("x.clamp_max", X, 0.3)
case("x.isclose", V([1.0, 2.0, "NaN", "Infinity"]), V([1.000001, 2.1, "NaN", "Infinity"]))
case("x.isclose", V([1.0, "NaN"]), V([1.0, "NaN"]), equal_nan=True)

# Along axes
B = T(2, 3, 4, seed=4)
for name in ("sum", "mean", "prod", "amax", "amin", "logsumexp", "cumsum", "cumprod", "logcumsumexp", "cummax", "cummin", "argmax", "argmin", "softmax", "log_softmax", "median", "nanmedian", "count_nonzero", "nansum", "nanmean"):
    case(f"x.{name}", B, 1)
for name in ("sum", "mean", "prod", "median", "nanmedian", "argmax", "count_nonzero", "nansum", "nanmean", "aminmax", "var", "std"):
    case(f"x.{name}", T(5, seed=4))
case("x.logcumsumexp", V([-50.0, 3.0, 40.0, -2.0]), 0)
case("x.median", V([1.0, "NaN", 3.0]), grad=False)
case("x.nanmedian", V([1.0, "NaN", 3.0, 2.0]), grad=False)
case("x.nanmedian", V([[1.0, "NaN", 3.0], ["NaN", 4.0, 2.0]]), 1, grad=False)
case("x.nansum", V([1.0, "NaN", 3.0]))
case("x.nanmean", V([1.0, "NaN", 3.0]))
case("x.kthvalue", B, 2)
case("x.kthvalue", B, 3, 1, True)
case("x.mode", I(3, 6), 1, grad=False)
case("x.mode", I(3, 6, seed=11), 0, grad=False)
case("x.quantile", B, 0.3)
case("x.quantile", B, 0.3, 1)
case("x.quantile", B, V([0.1, 0.5, 1.0], grad=False), 2)
case("x.quantile", B, V([0.1, 0.5], grad=False), 0, keepdim=True)
for how in ("lower", "higher", "midpoint", "nearest"):
    case("x.quantile", B, 0.4, 2, interpolation=how)
case("x.nanquantile", V([[1.0, "NaN", 3.0], [5.0, 4.0, 2.0]]), 0.5, 1, grad=False)
case("x.quantile", V([1.0, "NaN", 3.0]), 0.5, grad=False)
case("x.topk", B, 2)
case("x.sort", B, 1)
case("x.argsort", B, 1)
case("x.msort", B)
case("x.aminmax", B, dim=1)
case("x.dist", X, Y)
case("x.dist", X, Y, 3)
case("x.renorm", B, 2, 1, 1.5)
case("x.sum_to_size", B, 3, 1)
case("x.cov", T(3, 5))
case("x.corrcoef", T(3, 5))
case("x.histc", T(20, grad=False), 5, -2, 2)
case("x.nonzero_static", I(3, 4), size=5)
case("x.nonzero_static", I(2, 3, 2), size=20, fill_value=-7)
case("x.histogram", T(20, grad=False), 5)
case("x.histogram", T(20, grad=False), 4, range=[-1.0, 1.5])
case("x.histogram", T(20, grad=False), 4, range=[-2.0, 2.0], weight=T(20, seed=3, low=0, high=2, grad=False), density=True)
case("x.histogram", V([0.5, 1.0, 1.0, 2.0, 4.0, 5.0], grad=False), V([0.0, 1.0, 2.0, 4.0], grad=False))
case("x.norm", B)
case("x.trace", T(3, 3))
case("x.diagonal", B, 1, 1, 2)

# Layout
for name, *options in (
    ("unbind", 1), ("swapaxes", 0, 2), ("swapdims", 0, 1), ("movedim", 0, 2), ("moveaxis", 2, 0), ("movedim", [0, 1], [1, 2]), ("adjoint",), ("ravel",), ("unflatten", 2, [2, -1]),
    ("diff",), ("diff", 2, 1), ("tensor_split", 2, 2), ("tensor_split", [1, 3], 2), ("hsplit", 3), ("vsplit", 2), ("dsplit", [1]), ("split_with_sizes", [1, 3], 2), ("fliplr",), ("flipud",),
    ("rot90",), ("rot90", 2), ("rot90", -1, [1, 2]), ("repeat_interleave", 2), ("repeat_interleave", 2, 1), ("unfold", 2, 2, 1), ("unfold", 1, 3, 1), ("narrow_copy", 2, 1, 2),
    ("select", 1, 2), ("narrow", 2, 1, 2), ("transpose", 0, 1), ("flatten", 1, 2), ("squeeze",), ("unsqueeze", 1), ("expand", 5, 2, 3, 4), ("repeat", 1, 2, 1), ("tile", 2), ("roll", 1, 2),
    ("flip", [0, 2]), ("permute", 2, 0, 1), ("chunk", 2, 2), ("split", 2, 2), ("as_strided", [2, 3], [1, 4], 2), ("triu", 1), ("tril", -1), ("broadcast_to", [2, 2, 3, 4]),
):  # fmt: skip
    case(f"x.{name}", B, *options)
case("x.diag", T(3))
case("x.diag", T(3), 1)
case("x.diag", T(3, 4), -1)
case("x.diag_embed", T(2, 3))
case("x.diag_embed", T(2, 3), 1, 0, 2)
case("x.diag_embed", T(2, 3), -2)
case("x.diagflat", T(2, 2), 1)
case("x.diff", T(3, 4), prepend=T(3, 1, seed=7))
case("x.take_along_dim", B, I(2, 3, 2), 2)
case("x.take_along_dim", B, I(4, high=20))
case("x.gather", B, 2, I(2, 3, 2))
case("x.index_select", B, 1, V([2, 0, 2], "i64"))
case("x.index_add", B, 1, V([2, 0, 2], "i64"), T(2, 3, 4, seed=6))
case("x.index_add", B, 1, V([2, 0, 2], "i64"), T(2, 3, 4, seed=6), alpha=0.5)
case("x.index_copy", B, 1, V([2, 0], "i64"), T(2, 2, 4, seed=6))
case("x.index_fill", B, 1, V([2, 0], "i64"), 1.5)
case("x.scatter", B, 2, I(2, 3, 1), T(2, 3, 1, seed=6))
case("x.scatter_add", B, 2, I(2, 3, 2), T(2, 3, 2, seed=6))
for how in ("sum", "mean", "prod", "amax", "amin"):
    case("x.scatter_reduce", B, 2, I(2, 3, 3), T(2, 3, 3, seed=6), how, grad=how in ("sum", "mean"))
    case("x.scatter_reduce", B, 2, I(2, 3, 3), T(2, 3, 3, seed=6), how, include_self=False, grad=False)
case("x.index_reduce", B, 1, V([2, 0, 2], "i64"), T(2, 3, 4, seed=6), "amax", grad=False)
case("x.select_scatter", B, T(2, 4, seed=6), 1, 2)
case("x.slice_scatter", B, T(2, 3, 2, seed=6), 2, 0, 4, 2)
case("x.diagonal_scatter", T(3, 4), T(3, seed=6), 1)
case("x.masked_scatter", X, V([[True, False, True], [False, True, False]], "bool"), T(2, 3, seed=6))
case("x.masked_fill", X, V([[True, False, True], [False, True, False]], "bool"), 0.5)
case("x.put", X, V([1, 4], "i64"), V([9.0, 8.0]))
case("x.put", X, V([1, 1], "i64"), V([9.0, 8.0]), accumulate=True)
case("x.index_put", B, [V([0, 1], "i64"), V([2, -1], "i64")], T(2, 4, seed=6))
case("x.index_put", B, [V([0, 0], "i64"), V([2, 2], "i64")], T(2, 4, seed=6), accumulate=True)
case("x.kron", T(2, 2), T(2, 3, seed=2))
case("x.kron", T(3), T(2, 2, seed=2))
case("x.addr", T(2, 3), T(2, seed=2), T(3, seed=3), beta=0.5, alpha=2.0)
case("x.ger", T(2), T(3, seed=2))
case("x.outer", T(2), T(3, seed=2))
case("x.inner", T(2, 3), T(4, 3, seed=2))
case("x.vdot", T(3), T(3, seed=2))
case("x.addmv", T(2), T(2, 3, seed=2), T(3, seed=3), beta=0.5)
case("x.baddbmm", T(2, 2, 2), T(2, 2, 3, seed=2), T(2, 3, 2, seed=3), alpha=0.5)
case("x.addbmm", T(2, 2), T(2, 2, 3, seed=2), T(2, 3, 2, seed=3))
case("x.cross", T(2, 3), T(2, 3, seed=2), 1)
case("x.cdist", T(2, 3), T(4, 3, seed=2))
case("x.cdist", T(2, 3), T(4, 3, seed=2), 1.0)
case("x.matmul", T(2, 2, 3), T(3, 4, seed=2))

# Small matrices
A = T(3, 3, seed=21)
S = V([[4.0, 1.0, 0.5], [1.0, 3.0, -0.2], [0.5, -0.2, 2.0]])
case("x.det", A)
case("x.logdet", S)
case("x.slogdet", A)
case("x.inverse", A)
case("x.matrix_power", A, 3)
case("x.matrix_power", A, -2)
case("x.matrix_exp", V([[0.1, 0.4], [-0.3, 0.2]]))
case("linalg.cholesky", S, grad=False)
case("linalg.solve", A, T(3, 2, seed=23))
case("linalg.solve", T(2, 3, 3, seed=31), T(2, 3, 2, seed=25))
case("linalg.eigh", S, grad=False)
CASES[-1]["only"] = 1  # vectors have either sign
case("x.pinverse", T(4, 3, seed=22))
case("x.cholesky_inverse", V([[2.0, 0.0], [0.5, 1.5]]))
case("x.cholesky_solve", T(2, 3), V([[2.0, 0.0], [0.5, 1.5]]))

# nn.functional
for name in ("hardtanh", "hardshrink", "softshrink", "tanhshrink", "logsigmoid", "relu6", "selu", "silu", "mish", "softsign", "hardsigmoid", "hardswish", "gelu", "softplus", "elu", "celu", "leaky_relu", "rrelu"):
    case(f"F.{name}", T(2, 6, low=-4, high=4))
case("F.softplus", T(2, 6, low=-4, high=4), 2.0, 3.0)
case("F.threshold", X, 0.1, -7.0)
case("F.glu", T(2, 4))
case("F.glu", T(4, 3), dim=0)
case("F.softmin", X, dim=1)
case("F.rms_norm", T(2, 3, 4), [4])
case("F.rms_norm", T(2, 3, 4), [3, 4], T(3, 4, seed=2), 1e-3)
case("F.local_response_norm", T(2, 5, 3), 3)
case("F.local_response_norm", T(2, 5, 3, 2), 2, alpha=0.1, beta=0.5, k=2.0)
case("F.bilinear", T(4, 2), T(4, 3, seed=2), T(5, 2, 3, seed=3), T(5, seed=4))
case("F.pixel_shuffle", T(1, 8, 2, 3), 2)
case("F.pixel_unshuffle", T(1, 2, 4, 6), 2)
case("F.pdist", T(4, 3))
case("F.conv_tbc", T(5, 2, 3), T(3, 3, 4, seed=2), T(4, seed=3), 1)
case("F.affine_grid", T(1, 2, 3), [1, 1, 3, 4])
case("F.affine_grid", T(1, 2, 3), [1, 1, 3, 4], align_corners=True)
for mode in ("bilinear", "nearest", "bicubic"):
    for padding in ("zeros", "border", "reflection"):
        case("F.grid_sample", T(1, 2, 4, 5), T(1, 3, 2, 2, seed=2, low=-1.3, high=1.3), mode=mode, padding_mode=padding, align_corners=padding == "border", grad=mode != "nearest")
case("F.unfold", T(2, 3, 5, 6), 2)
case("F.unfold", T(2, 3, 5, 6), [2, 3], dilation=2, padding=1, stride=[2, 1])
case("F.fold", T(2, 12, 20), [5, 6], [2, 2])
case("F.adaptive_max_pool1d_with_indices", T(2, 2, 7), 3)
case("F.adaptive_max_pool2d_with_indices", T(2, 5, 6), [2, 4])
case("F.adaptive_max_pool3d_with_indices", T(1, 2, 3, 4, 5), [2, 2, 3])
case("F.max_pool2d_with_indices", T(2, 2, 4, 5), 2)
case("F.max_pool1d_with_indices", T(2, 2, 6), 3, 2)
case("F.max_unpool2d", T(1, 1, 2, 2), V([[[[5, 7], [8, 15]]]], "i64"), 2)
case("F.lp_pool1d", T(1, 2, 6, low=0.1), 2, 3)
case("F.lp_pool2d", T(1, 2, 4, 6, low=0.1, high=2), 3, 2)
case("F.embedding_bag", I(2, 3, high=5), T(5, 4))
for mode in ("sum", "max"):
    case("F.embedding_bag", I(2, 3, high=5), T(5, 4), mode=mode)
case("F.max_pool3d", T(1, 2, 4, 4, 4), 2)
case("F.avg_pool3d", T(1, 2, 4, 4, 4), 2)
case("F.max_pool1d", T(2, 6), 3, 1, 1)
case("F.avg_pool1d", T(1, 2, 6), 3, 2, 1)
case("F.adaptive_avg_pool1d", T(1, 2, 7), 3)
case("F.adaptive_max_pool1d", T(2, 7), 4)
case("F.adaptive_avg_pool3d", T(1, 1, 4, 3, 5), [2, 2, 3])
case("F.adaptive_max_pool3d", T(1, 1, 4, 3, 5), [2, 2, 3])
case("F.conv_transpose1d", T(2, 3, 5), T(3, 2, 3, seed=2), T(2, seed=3), stride=2, padding=1, output_padding=1)
case("F.conv_transpose2d", T(3, 4, 4), T(3, 2, 3, 3, seed=2), None, stride=2)
case("F.conv_transpose3d", T(1, 2, 3, 3, 3), T(2, 2, 2, 2, 2, seed=2), T(2, seed=3), stride=2)
case("F.conv3d", T(1, 2, 4, 4, 4), T(3, 2, 2, 2, 2, seed=2), T(3, seed=3))
case("F.conv2d", T(1, 2, 5, 5), T(3, 2, 3, 2, seed=2), None, padding="same")
case("F.conv2d", T(1, 2, 6, 6), T(3, 2, 3, 3, seed=2), None, padding="same", dilation=2)
case("F.conv1d", T(1, 2, 6), T(3, 2, 3, seed=2), None, padding="valid")
for mode in ("bilinear", "bicubic"):
    case("F.interpolate", T(1, 2, 6, 7), size=[3, 4], mode=mode, antialias=True)
    case("F.interpolate", T(1, 2, 6, 7), scale_factor=0.6, mode=mode, antialias=True)
    case("F.interpolate", T(1, 2, 6, 7), size=[4, 10], mode=mode, align_corners=True, antialias=True)
    case("F.interpolate", T(1, 2, 4, 5), size=[7, 3], mode=mode)
case("F.interpolate", T(1, 1, 2, 3, 4), scale_factor=2, mode="trilinear")
for mode in ("reflect", "replicate", "circular"):
    case("F.pad", T(1, 2, 3, 4), [1, 2, 2, 1], mode=mode)
case("F.pad", T(2, 3), [1, -1, 2, 0], value=1.5)
case("F.instance_norm", T(2, 3, 4, 2))
case("F.batch_norm", T(4, 3), None, None, T(3, seed=2), T(3, seed=3), training=True)
case("F.normalize", T(2, 3), dim=1)
case("F.cosine_similarity", T(2, 3), T(2, 3, seed=2))
case("F.one_hot", I(4), 3)

# Losses
LOGITS, LABELS = T(4, 3), I(4)
WEIGHT = V([0.5, 1.0, 2.0], grad=False)
IGNORED = V([0, -100, 2, 1], "i64")
for reduction in ("mean", "sum", "none"):
    case("F.cross_entropy", LOGITS, LABELS, reduction=reduction)
    case("F.cross_entropy", LOGITS, IGNORED, reduction=reduction)
    case("F.cross_entropy", LOGITS, IGNORED, weight=WEIGHT, label_smoothing=0.2, reduction=reduction)
    case("F.cross_entropy", LOGITS, LABELS, weight=WEIGHT, ignore_index=1, label_smoothing=0.1, reduction=reduction)
    case("F.cross_entropy", T(2, 3, 4), I(2, 4), weight=WEIGHT, ignore_index=0, reduction=reduction)
    case("F.cross_entropy", LOGITS, T(4, 3, seed=2, low=0, high=1, grad=False), weight=WEIGHT, label_smoothing=0.1, reduction=reduction)
    case("F.poisson_nll_loss", X, P, reduction=reduction)
    case("F.gaussian_nll_loss", X, Y, P, reduction=reduction)
    case("F.triplet_margin_loss", T(3, 4), T(3, 4, seed=2), T(3, 4, seed=3), swap=True, reduction=reduction)
    case("F.margin_ranking_loss", T(4), T(4, seed=2), V([1.0, -1.0, 1.0, -1.0], grad=False), margin=0.3, reduction=reduction)
    case("F.hinge_embedding_loss", T(4), V([1.0, -1.0, 1.0, -1.0], grad=False), reduction=reduction)
    case("F.cosine_embedding_loss", T(4, 3), T(4, 3, seed=2), V([1.0, -1.0, 1.0, -1.0], grad=False), margin=0.1, reduction=reduction)
    case("F.soft_margin_loss", T(4), V([1.0, -1.0, 1.0, -1.0], grad=False), reduction=reduction)
    case("F.multi_margin_loss", LOGITS, LABELS, reduction=reduction)
    case("F.multilabel_soft_margin_loss", LOGITS, V([[1.0, 0.0, 1.0]] * 4, grad=False), reduction=reduction)
    case("F.multilabel_margin_loss", T(2, 4), V([[3, 0, -1, 1], [1, -1, 0, 2]], "i64"), reduction=reduction)
    case("F.ctc_loss", T(6, 2, 4, grad=False), V([[1, 2, 2], [3, 1, 0]], "i64"), V([6, 5], "i64"), V([3, 2], "i64"), reduction=reduction)
case("F.ctc_loss", T(3, 1, 4, grad=False), V([[1, 1, 2]], "i64"), V([3], "i64"), V([3], "i64"), zero_infinity=True)
case("F.nll_loss", T(4, 3, low=-3, high=-0.1), IGNORED, weight=WEIGHT)
case("F.cross_entropy", T(3), V(2, "i64"))
case("F.poisson_nll_loss", P, P, log_input=False, full=True)
case("F.gaussian_nll_loss", X, Y, P, full=True)
case("F.gaussian_nll_loss", X, Y, 0.5)
case("F.pairwise_distance", X, Y)
case("F.multi_margin_loss", LOGITS, LABELS, p=2, margin=0.5, weight=WEIGHT)

# Layers, whose parameters are filled by a rule
layer("Conv3d", [2, 3, 2], T(1, 2, 3, 3, 3))
layer("Conv2d", [2, 3, 3], T(1, 2, 5, 5), padding=1, padding_mode="reflect")
layer("Conv2d", [2, 3, [3, 2]], T(1, 2, 5, 5), padding=[1, 0], padding_mode="circular")
layer("Conv1d", [2, 3, 3], T(2, 5), padding="same", padding_mode="replicate")
layer("ConvTranspose1d", [2, 3, 3], T(1, 2, 5), stride=2)
layer("ConvTranspose3d", [2, 3, 2], T(1, 2, 3, 3, 3))
layer("BatchNorm3d", [2], T(2, 2, 2, 2, 2))
layer("BatchNorm3d", [2], T(2, 2, 2, 2, 2), training=True)
layer("BatchNorm1d", [3], T(4, 3), training=True, track_running_stats=False)
layer("InstanceNorm1d", [3], T(2, 3, 4), affine=True)
layer("InstanceNorm2d", [3], T(3, 4, 2))
layer("InstanceNorm2d", [3], T(2, 3, 4, 2), affine=True, track_running_stats=True)
layer("InstanceNorm3d", [2], T(2, 2, 2, 2, 2))
layer("RMSNorm", [4], T(2, 3, 4))
layer("GroupNorm", [2, 4], T(2, 4, 3))
layer("LayerNorm", [4], T(2, 3, 4))
layer("Bilinear", [2, 3, 4], T(5, 2), T(5, 3, seed=2))
layer("EmbeddingBag", [5, 3], I(2, 4, high=5), mode="sum")
layer("LSTMCell", [3, 4], T(2, 3))
layer("LSTMCell", [3, 4], T(2, 3), [T(2, 4, seed=2), T(2, 4, seed=3)])
layer("GRUCell", [3, 4], T(2, 3), T(2, 4, seed=2))
layer("RNNCell", [3, 4], T(2, 3), T(2, 4, seed=2), nonlinearity="relu")
layer("LSTM", [3, 4], T(5, 2, 3), num_layers=2)
layer("GRU", [3, 4], T(5, 2, 3), bidirectional=True)
layer("TransformerEncoderLayer", [8, 2, 16], T(3, 2, 8), dropout=0.0)
layer("TransformerEncoderLayer", [8, 2, 16], T(2, 3, 8), dropout=0.0, batch_first=True, norm_first=True, activation="gelu")
layer("TransformerDecoderLayer", [8, 2, 16], T(3, 2, 8), T(4, 2, 8, seed=2), dropout=0.0)
layer("Transformer", [8, 2, 1, 2, 16], T(3, 2, 8), T(4, 2, 8, seed=2), dropout=0.0)
layer("ReflectionPad2d", [1], T(1, 2, 3, 4))
layer("ZeroPad1d", [[1, 2]], T(1, 2, 3))
layer("ConstantPad3d", [1, 0.5], T(1, 2, 2, 2, 2))
layer("PixelShuffle", [2], T(1, 4, 2, 3))
layer("GLU", [], T(2, 4))
layer("Softmax2d", [], T(1, 3, 2, 2))
layer("LPPool2d", [2, 2], T(1, 2, 4, 4, low=0.1))
layer("CosineSimilarity", [], T(2, 3), T(2, 3, seed=2))
layer("CrossEntropyLoss", [], LOGITS, LABELS)
layer("TripletMarginLoss", [], T(3, 4), T(3, 4, seed=2), T(3, 4, seed=3))
layer("HuberLoss", [], X, Y)
layer("UpsamplingBilinear2d", [], T(1, 2, 2, 3), scale_factor=2)
