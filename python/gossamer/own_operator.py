"""A user's own operator: a composition of known ones (docs/specs/operator.md).

It becomes an ONNX function of the model, so every target takes it and fusion sees through it. Tensors are given to its body as they
are, so it has the gradient of its parts.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from .error import Error

from .lazy.core import Core
from .lazy.tensors import as_tensor
from .protobuf import Field, encode

_OPSET = 20
_KINDS = {"f": 1, "i": 2, "s": 3, "floats": 6, "ints": 7, "strings": 8}  # AttributeProto.type


class AttributeOf:
    """What a node says for an attribute of the operator; known when a model is compiled."""

    def __init__(self, name: str, kind: str) -> None:
        self.name = name
        self.kind = kind


def _kind_of(value: Any) -> str:
    if isinstance(value, bool | int):
        return "i"
    if isinstance(value, float):
        return "f"
    if isinstance(value, str):
        return "s"
    if isinstance(value, list | tuple):
        if value and all(isinstance(each, str) for each in value):
            return "strings"
        return "ints" if all(isinstance(each, int) for each in value) else "floats"
    raise TypeError(f"{value!r} is no attribute: numbers, texts and lists of them are")


def _attribute(name: str, value: Any) -> bytes:
    if isinstance(value, AttributeOf):
        return encode([(1, name), (20, _KINDS[value.kind]), (21, value.name)])
    kind = _kind_of(value)
    number = {"f": 2, "i": 3, "s": 4, "floats": 7, "ints": 8, "strings": 9}[kind]
    listed = value if isinstance(value, list | tuple) else [value]
    as_kind: Any = float if kind in ("f", "floats") else int if kind in ("i", "ints") else str
    return encode([(1, name), *((number, as_kind(each)) for each in listed), (20, _KINDS[kind])])


class _Body:
    """The nodes of a definition, while it is made."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.nodes: list[bytes] = []
        self.domains: set[str] = set()

    def node(self, op: str, inputs: Sequence[str], outputs: Sequence[str], attributes: dict[str, Any]) -> None:
        domain, _, kind = op.rpartition("::")
        if domain:
            self.domains.add(domain)
        fields: list[Field] = [*((1, each) for each in inputs), *((2, each) for each in outputs), (3, f"{self.label}/{outputs[0]}"), (4, kind)]
        self.nodes.append(encode([*fields, *((5, _attribute(name, value)) for name, value in attributes.items()), (7, domain)]))

    def fresh(self) -> str:
        return f"v{len(self.nodes)}"

    def number(self, value: Any, like: Part) -> str:
        """A number, or a numeric attribute, of the type of `like`."""
        whole = isinstance(value, AttributeOf) and value.kind == "i"
        if isinstance(value, AttributeOf) and value.kind not in ("f", "i"):
            raise TypeError(f"attribute {value.name} is not a number and cannot be an operand")
        raw = self.fresh()
        self.node("Constant", [], [raw], {"value_int" if whole else "value_float": value if isinstance(value, AttributeOf) else float(value)})
        made = self.fresh()
        self.node("CastLike", [raw, like.name], [made], {})
        return made


_METHODS = {
    "abs": "Abs", "acos": "Acos", "asin": "Asin", "atan": "Atan", "ceil": "Ceil", "cos": "Cos", "cosh": "Cosh", "erf": "Erf", "exp": "Exp", "floor": "Floor",
    "log": "Log", "neg": "Neg", "reciprocal": "Reciprocal", "relu": "Relu", "round": "Round", "sigmoid": "Sigmoid", "sign": "Sign", "sin": "Sin",
    "sinh": "Sinh", "sqrt": "Sqrt", "tan": "Tan", "tanh": "Tanh",
}  # fmt: skip


class Part:
    """A tensor within a definition: Python's operators, the methods of tensors that are one operator of an element, and gossamer.call."""

    def __init__(self, body: _Body, name: str) -> None:
        self.body = body
        self.name = name

    def __getattr__(self, name: str) -> Callable[[], Part]:
        op = _METHODS.get(name)
        if op is None:
            raise AttributeError(f"a definition's tensors have no {name}; gossamer.call takes every operator")
        return lambda: part(op, [self], {}, 1)


def part(op: str, inputs: Sequence[Any], attributes: dict[str, Any], outputs: int) -> Any:
    """gossamer.call within a definition."""
    first = next(each for each in inputs if isinstance(each, Part))
    body = first.body
    names = []
    for each in inputs:
        if isinstance(each, Core):
            raise TypeError(f"{body.label}: {op} mixes a definition's tensors with others; make those inputs")
        names.append("" if each is None else each.name if isinstance(each, Part) else body.number(each, first))
    made = body.fresh()
    results = [made if at == 0 else f"{made}_{at}" for at in range(outputs)]
    body.node(op, names, results, {name: value for name, value in attributes.items() if value is not None})
    parts = [Part(body, name) for name in results]
    return parts[0] if outputs == 1 else parts


def _define_operators() -> None:
    def forwards(op: str) -> Callable[[Part, Any], Part]:
        return lambda self, other: part(op, [self, other], {}, 1)

    def backwards(op: str) -> Callable[[Part, Any], Part]:
        return lambda self, other: part(op, [other, self], {}, 1)

    both = {"add": "Add", "sub": "Sub", "mul": "Mul", "truediv": "Div", "pow": "Pow", "matmul": "MatMul", "mod": "Mod"}
    for name, op in both.items():
        setattr(Part, f"__{name}__", forwards(op))
        setattr(Part, f"__r{name}__", backwards(op))
    for name, op in {"lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual"}.items():
        setattr(Part, f"__{name}__", forwards(op))
    for name in ("neg", "abs"):
        setattr(Part, f"__{name}__", lambda self, op=_METHODS[name]: part(op, [self], {}, 1))


_define_operators()


class Operator:
    """What operator() makes: call it with tensors, or give it to compile()."""

    def __init__(self, domain: str, name: str, body: Callable[..., Any], function: bytes) -> None:
        self.domain = domain
        self.name = name
        self._body = body
        self._function = function
        self.__doc__ = body.__doc__
        self.__name__ = getattr(body, "__name__", name)

    @property
    def model_field(self) -> bytes:
        """The function as field `functions` of a ModelProto: a message's fields may stand in any order."""
        return encode([(25, self._function)])

    def __call__(self, *inputs: Any, **attributes: Any) -> Any:
        """Of tensors, with the gradient of its parts."""
        if any(isinstance(each, Part) for each in inputs):
            return self._body(*inputs, **attributes)
        return self._body(*map(as_tensor, inputs), **attributes)

    def __repr__(self) -> str:
        return f"<gossamer.Operator {self.domain}::{self.name}>"


def operator(name: str, *, opset: int = _OPSET) -> Callable[[Callable[..., Any]], Operator]:
    """Makes an operator of a function, whose body is its definition.

    >>> @gossamer.operator("com.example::SquaredSwish")
    ... def squared_swish(x, *, alpha=1.0):
    ...     return x * x * (x * alpha).sigmoid()
    >>> gossamer.compile(model, target="webgpu", operators=[squared_swish])
    >>> squared_swish(gossamer.tensor([1.0, 2.0]), alpha=0.5)

    name: "domain::Name", as the model's nodes have it. The function's positional parameters are the inputs, those behind * the
    attributes with their defaults (1 is an int, 1.0 a float); it returns a tensor, or several. Within it tensors have Python's operators
    and gossamer.call(op, ...) with operators of ONNX in the version `opset`, or of other domains. Numbers take the type of the
    call's first tensor. Raises Error for a function that cannot be one.
    """
    domain, _, kind = name.rpartition("::")
    if not domain or not kind:
        raise Error("it needs a domain and a name", f'operator "{name}"', 'as "com.example::Name"')

    def define(body: Callable[..., Any]) -> Operator:
        where = f"operator {name}"
        inputs, attributes = [], {}
        for parameter in inspect.signature(body).parameters.values():
            if parameter.kind is parameter.KEYWORD_ONLY and parameter.default is not parameter.empty:
                attributes[parameter.name] = parameter.default
            elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD) and parameter.default is parameter.empty:
                inputs.append(parameter.name)
            else:
                raise Error(f"parameter {parameter.name} is neither an input nor an attribute", where, "inputs have no defaults; attributes have one, and stand behind *")
        nodes = _Body(kind)
        try:
            made = body(*(Part(nodes, f"in_{each}") for each in inputs), **{each: AttributeOf(each, _kind_of(value)) for each, value in attributes.items()})
            results = [made] if isinstance(made, Part) else list(made)
            if not results or not all(isinstance(each, Part) for each in results):
                raise TypeError("it gives other things than tensors of its own")
            for at, each in enumerate(results):
                nodes.node("Identity", [each.name], [f"out_{at}"], {})
            given = [(11, _attribute(each, value)) for each, value in attributes.items()]
        except (TypeError, AttributeError) as problem:
            raise Error(str(problem), where) from problem
        versions = [("", opset), *((each, 1) for each in sorted(nodes.domains))]
        function = encode(
            [
                (1, kind), *((4, f"in_{each}") for each in inputs), *((5, f"out_{at}") for at in range(len(results))), *given,
                *((7, node) for node in nodes.nodes), *((9, encode([(1, each), (2, version)])) for each, version in versions), (10, domain),
            ]
        )  # fmt: skip
        return Operator(domain, kind, body, function)

    return define
