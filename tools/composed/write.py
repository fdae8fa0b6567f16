"""Writes web/tensor/src/composed/*.ts from python/gossamer/composed/*.py: functions that are compositions of operators are written
once, in Python.

    python3 tools/composed/write.py [--check]      --check: only says whether the files are as they would be written
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

from javascript import Function, camel, option, type_of

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "python/gossamer/composed"
TARGET = ROOT / "web/tensor/src/composed"
METHODS = ("elementwise", "reductions", "layout")
"""Their functions are methods of tensors."""
RARE = ("special", "statistics", "arrange", "linalg")
"""Likewise, where @gossamer/tensor/torch is imported."""
FUNCTIONS = ("losses", "functional", "more_losses", "more_functional")
"""Their functions are nn.functional's."""
HEAD = "// Written by tools/composed/write.py from python/gossamer/composed/{}.py: change that.\n/* eslint-disable */\n"


def functions_of(tree: ast.Module) -> list[ast.FunctionDef]:
    return [each for each in tree.body if isinstance(each, ast.FunctionDef)]


def values_of(tree: ast.Module, name: str) -> object:
    """A literal of the module."""
    return next((ast.literal_eval(each.value) for each in tree.body if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name) and each.targets[0].id == name), {})


def split(node: ast.FunctionDef) -> tuple[list[ast.arg], list[tuple[ast.arg, ast.expr]]]:
    """Parameters that are needed, and options with their defaults."""
    defaults = node.args.defaults
    needed = node.args.args[: len(node.args.args) - len(defaults)]
    return needed, list(zip(node.args.args[len(needed) :], defaults, strict=True))


def literal(node: ast.expr) -> str:
    value = ast.literal_eval(node)
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    return {None: "undefined", True: "true", False: "false"}[value] if value is None or isinstance(value, bool) else repr(value)


def signature(node: ast.FunctionDef, own: str) -> str:
    """The parameters, after the first one where that is this."""
    needed, options = split(node)
    first = 1 if own == "this" else 0
    parts = [f"{camel(each.arg)}: {type_of(each.annotation)}" for each in needed[first:]]
    if node.args.vararg:
        parts.append(f"...{node.args.vararg.arg}: {type_of(node.args.vararg.annotation)}[]")
    if options:
        kinds = [(option(each.arg), type_of(each.annotation)) for each, _ in options]
        named = "; ".join(f"readonly {name}?: {kind} | undefined" for name, kind in kinds)
        placed = ", ".join(f"{name}?: {kind}" for name, kind in kinds)
        given = f"...given: Given<{{{named}}}, [{placed}]>"
        # There is no `this` in types of objects.
        return ", ".join([*(each.replace("Tensor", own) for each in parts), given.replace("Tensor", "Composed" if own == "this" else own)])
    return ", ".join(parts).replace("Tensor", own)


def rows(names: list[str]) -> str:
    """Names in short texts, as lines of the bundle are short."""
    made = [camel(each) for each in names]
    return f"[{', '.join(repr(' '.join(made[at : at + 20])) for at in range(0, len(made), 20))}]"


def doc(node: ast.FunctionDef) -> str:
    return " ".join((ast.get_docstring(node) or "").split())


class Module:
    """One file."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.tree = ast.parse((SOURCE / f"{name}.py").read_text())
        self.functions = functions_of(self.tree)
        self.constants = [each for each in self.tree.body if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name) and each.targets[0].id not in ("ALIASES", "__all__")]
        self.imports = {name.name: f"./{each.module}.ts" for each in self.tree.body if isinstance(each, ast.ImportFrom) and each.level for name in each.names if name.name != "*"}

    def text(self, methods: bool) -> str:
        used: set[str] = set()
        own = {each.name for each in self.functions} | {each.targets[0].id for each in self.constants}  # type: ignore[attr-defined]
        lines = [f"const {each.targets[0].id} = {literal(each.value)};" for each in self.constants]  # type: ignore[attr-defined]
        for node in self.functions:
            made = Function(node, used)
            body = made.body()
            arguments = ", ".join(f"{'...' if node.args.vararg and each == node.args.vararg.arg else ''}{camel(each)}: any" for each in made.parameters)
            name = camel(node.name)
            if node.name.startswith("_") or self.name == "shared":
                needed, options = split(node)
                arguments = ", ".join([*(f"{camel(each.arg)}: any" for each in needed), *(f"{camel(each.arg)}: any = {literal(value)}" for each, value in options)])
                lines.append(f"{'export ' if self.name == 'shared' else ''}const {name} = ({arguments}): any => {body};")
                continue
            needed, options = split(node)
            known = ", ".join(f"{option(each.arg)}: {literal(value)}" for each, value in options)
            kind = "" if methods else f": (({signature(node, 'Tensor')}) => {type_of(node.returns)}) & Known"
            if not methods:
                lines.append(f"/** {doc(node)} */")
            count = "-1" if node.args.vararg else len(needed)
            lines.append(f"export const {name}{kind} = $.composed('{name}', {count}, {{{known}}}, ({arguments}): any => {body});")
        text = "\n".join(lines)
        found = set(re.findall(r"@(\w+)@", text))
        outside = {name: path for name, path in self.imports.items() if name in found}
        text = re.sub(r"@(\w+)@", lambda each: camel(each[1]) if each[1] in own or each[1] in outside else f"$.{camel(each[1])}", text)
        files: dict[str, list[str]] = {}
        for name, path in outside.items():
            files.setdefault(path, []).append(camel(name))
        # Bodies take what they are given; callers see the declarations.
        head = [HEAD.format(self.name) + "// @ts-nocheck\nimport * as $ from './prelude.ts';", *(f"import {{{', '.join(names)}}} from '{path}';" for path, names in files.items())]
        if not methods:
            kinds = [each for each in ("Axes", "PerAxis", "Distance", "Known") if re.search(rf"\b{each}\b", text)]
            head += ["import type {Given} from '../options.ts';", f"import type {{{', '.join(kinds)}}} from './prelude.ts';", "import type {Tensor} from '../tensor.ts';"]
        return "\n".join([*head, "", text, ""])


def class_text(modules: list[Module]) -> str:
    """The class that has the functions of modules as methods."""
    lines = [
        HEAD.format("*") + "import {Products} from '../products.ts';", "import type {Given} from '../options.ts';", "import type {Axes, Ordered} from '../reductions.ts';",
        "import type {Extremes} from './prelude.ts';", "import {aliases} from './prelude.ts';", *(f"import * as {each.name} from './{each.name}.ts';" for each in modules),
        "", "/** Methods that are compositions of others. */", "export class Composed extends Products {",
    ]  # fmt: skip
    aliases: dict[str, str] = {}
    for module in modules:
        aliases |= values_of(module.tree, "ALIASES")  # type: ignore[arg-type]
        for node in module.functions:
            if node.name.startswith("_"):
                continue
            needed, options = split(node)
            names = [camel(each.arg) for each in needed[1:]]
            if node.args.vararg:
                names.append(f"...{node.args.vararg.arg}")
            if options:
                names.append("...given")
            returns = type_of(node.returns).replace("Tensor", "this")
            given = ", ".join(["this", *names])
            lines += [f"  /** {doc(node)} */", f"  {camel(node.name)}({signature(node, 'this')}): {returns} {{ return {module.name}.{camel(node.name)}({given}) as any; }}"]
    lines += [f"  declare {camel(alias)}: this['{camel(of)}'];" for alias, of in aliases.items()]
    lines += ["}", f"aliases(Composed, {{{', '.join(f'{camel(alias)}: {camel(of)!r}' for alias, of in aliases.items())}}});", ""]
    return "\n".join(lines)


def rare_text(modules: list[Module], in_place: list[str]) -> str:
    """What gives tensors more methods when it is imported."""
    lines = [
        HEAD.format("*").replace("/* eslint-disable */\n", "") + "import type {Given} from '../options.ts';", "import type {Axes, Ordered} from '../reductions.ts';", "import {Tensor} from '../tensor.ts';",
        *(f"import * as {each.name} from './{each.name}.ts';" for each in modules), "import {inPlace, methods} from './prelude.ts';", "", "declare module '../tensor.ts' {", "  interface Tensor {",
    ]  # fmt: skip
    for module in modules:
        for node in module.functions:
            if not node.name.startswith("_"):
                lines += [f"    /** {doc(node)} */", f"    {camel(node.name)}({signature(node, 'this')}): {type_of(node.returns).replace('Tensor', 'this')};".replace("Composed", "Tensor")]
    lines += [f"    {camel(each)}_: this['{camel(each)}'];" for each in in_place]
    lines += ["  }", "}", "", f"for (const each of [{', '.join(module.name for module in modules)}]) methods(Tensor, each);", f"inPlace(Tensor, {rows(in_place)});", ""]
    return "\n".join(lines)


def in_place_text(names: list[str]) -> str:
    """The class of methods that change a tensor."""
    lines = [HEAD.format("__init__").replace("/* eslint-disable */\n", "") + "import {Composed} from './methods.ts';", "import {inPlace} from './prelude.ts';", "", "/** Methods in place: the tensor gets other elements, other tensors keep theirs. */"]
    lines += ["export class InPlace extends Composed {", *(f"  declare {camel(each)}_: this['{camel(each)}'];" for each in names), "}"]
    lines += [f"inPlace(InPlace, {rows(names)});", ""]
    return "\n".join(lines)


def main() -> int:
    modules = {name: Module(name) for name in ("shared", *METHODS, *RARE, *FUNCTIONS)}
    files = {name: module.text(name not in FUNCTIONS) for name, module in modules.items()}
    in_place: list[str] = list(values_of(ast.parse((SOURCE / "__init__.py").read_text()), "IN_PLACE"))  # type: ignore[call-overload]
    rare = {node.name for name in RARE for node in modules[name].functions}
    files["methods"] = class_text([modules[name] for name in METHODS])
    files["in_place"] = in_place_text([name for name in in_place if name not in rare])
    files["rare_methods"] = rare_text([modules[name] for name in RARE], [name for name in in_place if name in rare])
    stale = [name for name, text in files.items() if not (TARGET / f"{name}.ts").exists() or (TARGET / f"{name}.ts").read_text() != text]
    if "--check" in sys.argv:
        for name in stale:
            print(f"web/tensor/src/composed/{name}.ts is not what tools/composed/write.py writes: run it")
        return 1 if stale else 0
    for name in stale:
        (TARGET / f"{name}.ts").write_text(files[name])
    return 0


if __name__ == "__main__":
    sys.exit(main())
