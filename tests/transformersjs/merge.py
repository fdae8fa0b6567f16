"""Merges a decoder's first step and its later steps into one model with an If, as Optimum does for `decoder_model_merged`."""

from __future__ import annotations

import hashlib

import onnx
from onnx import TensorProto, helper


def _renamed(graph: onnx.GraphProto, prefix: str, shared: dict[bytes, onnx.TensorProto], inputs: set[str]) -> list[onnx.NodeProto]:
    """The nodes with names of their own. Initializers move into `shared`, each content once."""
    names: dict[str, str] = {name: name for name in inputs}
    for tensor in graph.initializer:
        copy = onnx.TensorProto()
        copy.CopyFrom(tensor)
        copy.ClearField("name")
        key = hashlib.sha256(copy.SerializeToString(deterministic=True)).digest()
        if key not in shared:
            copy.name = f"{prefix}{tensor.name}"
            shared[key] = copy
        names[tensor.name] = shared[key].name
    nodes = []
    for node in graph.node:
        made = onnx.NodeProto()
        made.CopyFrom(node)
        made.name = f"{prefix}{node.name}"
        for field in (made.input, made.output):
            for at, name in enumerate(field):
                if name:
                    field[at] = names.setdefault(name, f"{prefix}{name}")
        nodes.append(made)
    return nodes


def _branch(graph: onnx.GraphProto, prefix: str, outputs: list[onnx.ValueInfoProto], shared: dict[bytes, onnx.TensorProto], inputs: set[str]) -> onnx.GraphProto:
    """A branch with all `outputs`; those that the graph lacks are empty tensors."""
    nodes = _renamed(graph, prefix, shared, inputs)
    own = {each.name for each in graph.output}
    for value in outputs:
        if value.name not in own:
            extents = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
            empty = helper.make_tensor("", TensorProto.FLOAT, [0, extents[1], 1, extents[3]], [])
            nodes.append(helper.make_node("Constant", [], [f"{prefix}{value.name}"], value=empty))
    values = [helper.make_tensor_value_info(f"{prefix}{value.name}", TensorProto.FLOAT, None) for value in outputs]
    return helper.make_graph(nodes, f"{prefix}branch", [], values)


def merge(first: onnx.ModelProto, later: onnx.ModelProto) -> onnx.ModelProto:
    """first: without a past. later: with one; its outputs are some of the first's."""
    shared: dict[bytes, onnx.TensorProto] = {}
    ports = {value.name: value for model in (later, first) for value in model.graph.input}
    flag = helper.make_tensor_value_info("use_cache_branch", TensorProto.BOOL, [1])
    outputs = list(first.graph.output)
    branches = {
        "then_branch": _branch(later.graph, "later/", outputs, shared, set(ports)),
        "else_branch": _branch(first.graph, "first/", outputs, shared, set(ports)),
    }
    node = helper.make_node("If", ["use_cache_branch"], [value.name for value in outputs], name="optimum::if", **branches)
    graph = helper.make_graph([node], "merged", [*ports.values(), flag], outputs, initializer=list(shared.values()))
    return helper.make_model(graph, opset_imports=first.opset_import, ir_version=first.ir_version)
