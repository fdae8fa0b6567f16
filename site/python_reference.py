"""Prints a page of Markdown: signatures and texts of what the Python package exports, read from its sources without importing them."""

import ast
import sys
from pathlib import Path

MODULES = ["compiler", "model", "state", "generate", "own_operator", "onnx_model", "export", "rpc", "error", "fleet", "safetensors", "llm/language_model", "optim/__init__", "nn/__init__"]


def signature(node: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> str:
    answer = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{name}({ast.unparse(node.args)}){answer}"


def is_public(name: str) -> bool:
    return not name.startswith("_")


def text_of(node: ast.AST) -> str:
    return ast.get_docstring(node) or ""


def escaped(text: str) -> str:
    """As Markdown that VitePress does not take for HTML or Vue."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("{{", "&#123;&#123;")


def entry(level: int, title: str, form: str, text: str) -> None:
    print(f"{'#' * level} {title}\n\n```python\n{form}\n```\n")
    if text:
        # Examples are code.
        parts = text.split("\n\n")
        for part in parts:
            print(f"```pycon\n{part}\n```\n" if part.lstrip().startswith(">>>") else f"{escaped(part)}\n")


def members(node: ast.ClassDef) -> None:
    for member in node.body:
        if not isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if member.name == "__init__" and member.args.args[1:]:
            entry(4, f"{node.name}()", signature(member, node.name), text_of(member))
        elif is_public(member.name) and text_of(member):
            entry(4, f"{node.name}.{member.name}", signature(member, member.name), text_of(member))


def main(folder: Path) -> None:
    print("---\noutline: [2, 3]\n---\n\n# API of Python\n")
    print("Signatures and texts of the package's sources. [The package's page](/packages/python) has examples; tensors follow")
    print("[PyTorch's functions](/reference/pytorch).\n")
    for module in MODULES:
        tree = ast.parse((folder / f"{module}.py").read_text())
        name = "gossamer." + module.replace("/__init__", "").replace("/", ".")
        public = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and is_public(node.name)]
        if not public:
            continue
        print(f"## {name}\n")
        if text_of(tree):
            print(f"{escaped(text_of(tree).split(chr(10) * 2)[0])}\n")
        for node in public:
            if isinstance(node, ast.ClassDef):
                bases = f"({', '.join(ast.unparse(base) for base in node.bases)})" if node.bases else ""
                entry(3, node.name, f"class {node.name}{bases}", text_of(node))
                members(node)
            else:
                entry(3, node.name, signature(node, node.name), text_of(node))


main(Path(sys.argv[1]))
