"""Functions that are compositions of operators, written once for Python and TypeScript: tools/composed/write.py writes
web/tensor/src/composed from these files. Here they become methods of tensors."""

from __future__ import annotations

from typing import Any

from ..lazy.tensors import Tensor
from . import arrange, elementwise, layout, linalg, reductions, special, statistics
from .prelude import become

IN_PLACE = (
    "abs", "absolute", "acos", "acosh", "add", "addbmm", "addcdiv", "addcmul", "addmm", "addmv", "addr", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2",
    "arctanh", "asin", "asinh", "atan", "atan2", "atanh", "baddbmm", "bernoulli", "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor",
    "ceil", "clamp", "clamp_max", "clamp_min", "clip", "conj_physical", "copysign", "cos", "cosh", "cumprod", "cumsum", "deg2rad", "digamma", "div", "divide", "eq", "erf", "erfc",
    "erfinv", "exp", "exp2", "expm1", "fill_diagonal", "fix", "float_power", "floor", "floor_divide", "fmod", "frac", "gcd", "ge", "greater", "greater_equal", "gt",
    "heaviside", "hypot", "i0", "index_add", "index_copy", "index_fill", "index_put", "index_reduce", "lcm", "ldexp", "le", "lerp", "less", "less_equal", "lgamma", "log",
    "log10", "log1p", "log2", "logical_and", "logical_not", "logical_or", "logical_xor", "logit", "lt", "masked_fill", "masked_scatter", "mul", "multiply", "mvlgamma",
    "nan_to_num", "ne", "neg", "negative", "not_equal", "polygamma", "pow", "put", "rad2deg", "reciprocal", "relu", "remainder", "renorm", "round", "rsqrt", "scatter", "scatter_add",
    "scatter_reduce", "sgn", "sigmoid", "sign", "sin", "sinc", "sinh", "sqrt", "square", "squeeze", "sub", "subtract", "swapaxes", "swapdims", "t", "tan", "tanh", "transpose", "tril",
    "triu", "true_divide", "trunc", "unsqueeze", "xlogy",
)  # fmt: skip
"""Methods that have a form in place."""


def _in_place(name: str) -> Any:
    def method(x: Tensor, *given: Any, **named: Any) -> Tensor:
        return become(x, getattr(x, name)(*given, **named), f"{name}_")

    method.__name__ = f"{name}_"
    method.__doc__ = f"{name}() in place: this tensor gets the elements, others keep theirs."
    return method


for _module in (elementwise, reductions, layout, special, statistics, arrange, linalg):
    for _name, _function in vars(_module).items():
        if getattr(_function, "__module__", "") == _module.__name__ and not _name.startswith("_"):
            setattr(Tensor, _name, _function)
    for _name, _of in getattr(_module, "ALIASES", {}).items():
        setattr(Tensor, _name, getattr(Tensor, _of))
for _name in IN_PLACE:
    if hasattr(Tensor, _name) and not hasattr(Tensor, f"{_name}_"):
        setattr(Tensor, f"{_name}_", _in_place(_name))

FALSE_PROPERTIES = (
    "is_cuda", "is_ipu", "is_maia", "is_meta", "is_mkldnn", "is_mps", "is_mtia", "is_nested", "is_quantized", "is_sparse", "is_sparse_csr", "is_vulkan", "is_xla", "is_xpu",
)  # fmt: skip
"""What no tensor is, as a property."""
FALSE_METHODS = ("is_complex", "is_conj", "is_distributed", "is_inference", "is_neg", "is_pinned", "is_shared")
"""What no tensor is, as a method."""


def _never(self: Tensor) -> bool:
    """False."""
    return False


def _on_cpu(self: Tensor) -> bool:
    """Whether it is computed on the CPU."""
    return self.device == "cpu"


for _name in FALSE_PROPERTIES:
    setattr(Tensor, _name, property(_never))
for _name in FALSE_METHODS:
    setattr(Tensor, _name, _never)
Tensor.is_cpu = property(_on_cpu)  # type: ignore[attr-defined]
