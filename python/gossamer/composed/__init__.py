"""Functions that are compositions of operators, written once for Python and TypeScript: tools/composed/write.py writes
web/tensor/src/composed from these files. Here they become methods of tensors."""

from __future__ import annotations

from typing import Any

from ..error import Error
from ..lazy import core as _core
from ..lazy.core import mode
from ..lazy.tensors import Tensor
from . import arrange, elementwise, layout, linalg, reductions, special, statistics

IN_PLACE = (
    "abs", "absolute", "acos", "acosh", "add", "addbmm", "addcdiv", "addcmul", "addmm", "addmv", "addr", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2",
    "arctanh", "asin", "asinh", "atan", "atan2", "atanh", "baddbmm", "bernoulli", "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor",
    "ceil", "clamp", "clamp_max", "clamp_min", "clip", "conj_physical", "copysign", "cos", "cosh", "cumprod", "cumsum", "deg2rad", "digamma", "div", "divide", "eq", "erf", "erfc",
    "erfinv", "exp", "exp2", "expm1", "fill_diagonal", "fix", "float_power", "floor", "floor_divide", "fmod", "frac", "gcd", "ge", "greater", "greater_equal", "gt",
    "heaviside", "hypot", "i0", "index_add", "index_copy", "index_fill", "index_put", "index_reduce", "lcm", "ldexp", "le", "lerp", "less", "less_equal", "lgamma", "log",
    "log10", "log1p", "log2", "logical_and", "logical_not", "logical_or", "logical_xor", "logit", "lt", "masked_fill", "masked_scatter", "mul", "multiply", "mvlgamma",
    "nan_to_num", "ne", "neg", "negative", "not_equal", "pow", "put", "rad2deg", "reciprocal", "relu", "remainder", "renorm", "round", "rsqrt", "scatter", "scatter_add",
    "scatter_reduce", "sgn", "sigmoid", "sign", "sin", "sinc", "sinh", "sqrt", "square", "squeeze", "sub", "subtract", "swapaxes", "swapdims", "t", "tan", "tanh", "transpose", "tril",
    "triu", "true_divide", "trunc", "unsqueeze", "xlogy",
)  # fmt: skip
"""Methods that have a form in place."""


def _in_place(name: str) -> Any:
    def method(x: Tensor, *given: Any, **named: Any) -> Tensor:
        return become(x, getattr(x, name)(*given, **named), name)

    method.__name__ = f"{name}_"
    method.__doc__ = f"{name}() in place: this tensor gets the elements, others keep theirs."
    return method


def become(x: Tensor, made: Tensor, name: str) -> Tensor:
    """x with the elements, and the past, of what was computed from it."""
    if mode.gradients and x.requires_grad and x.is_leaf:
        raise Error("this is a leaf that requires a gradient", f"{name}_", "do it within no_grad()")
    if made._dtype != x._dtype:
        if _core.dtypes.category(made._dtype) > _core.dtypes.category(x._dtype):
            raise Error(f"{x.dtype.name} cannot become {made.dtype.name}", f"{name}_", "convert it first")
        made = made.to(x._dtype)
    moves = name in ("squeeze", "unsqueeze", "t", "transpose", "swapaxes", "swapdims")
    if made.shape != x.shape and not moves:
        raise Error(f"shape {list(x.shape)} cannot become {list(made.shape)}", f"{name}_")
    if moves or (made._origin is not None and mode.gradients):
        x._value, x._origin = made._value, made._origin
    else:
        x._assign(made._value)
    return x


for _module in (elementwise, reductions, layout, special, statistics, arrange, linalg):
    for _name, _function in vars(_module).items():
        if getattr(_function, "__module__", "") == _module.__name__ and not _name.startswith("_"):
            setattr(Tensor, _name, _function)
    for _name, _of in getattr(_module, "ALIASES", {}).items():
        setattr(Tensor, _name, getattr(Tensor, _of))
for _name in IN_PLACE:
    if hasattr(Tensor, _name) and not hasattr(Tensor, f"{_name}_"):
        setattr(Tensor, f"{_name}_", _in_place(_name))
