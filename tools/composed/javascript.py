"""Functions of python/gossamer/composed in TypeScript. They are written in a part of Python: assignments, if, for, while, return and
raise; arithmetic, which is of numbers, lists or tensors as the values are; list comprehensions and f-strings."""

from __future__ import annotations

import ast
import re

RESERVED = {"var", "new", "function", "default", "in", "this", "with", "delete", "switch", "case", "class", "const", "let", "export", "import", "void"}
BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow", ast.FloorDiv: "floorDiv", ast.Mod: "mod", ast.BitAnd: "and", ast.BitOr: "or", ast.RShift: "shift"}
COMPARE = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
BUILTINS = {"len": "len", "range": "range", "enumerate": "enumerate", "zip": "zip", "sum": "sum", "min": "Math.min", "max": "Math.max", "abs": "Math.abs", "int": "Math.trunc", "str": "String", "float": "Number"}
HELPERS = {*BINARY.values(), *COMPARE.values(), "len", "range", "enumerate", "zip", "sum", "item", "has", "neg", "product", "not"}
TYPES = {"Tensor": "Tensor", "int": "number", "float": "number", "Number": "number", "bool": "boolean", "str": "string", "None": "null", "PerAxis": "PerAxis", "Axes": "Axes", "Distance": "Distance", "Ordered": "Ordered<Tensor>", "Extremes": "Extremes<Tensor>"}


def camel(name: str) -> str:
    """nan_to_num as nanToNum, and _private as private_."""
    private = name.startswith("_")
    made = re.sub(r"_([a-z0-9])", lambda found: found[1].upper(), name.lstrip("_"))
    return made + ("_" if private or made in RESERVED else "")


def option(name: str) -> str:
    """The name of an option, which may be a reserved word."""
    return camel(name).rstrip("_") if camel(name).rstrip("_") in RESERVED else camel(name)


def type_of(node: ast.expr | None) -> str:
    """TypeScript's type."""
    match node:
        case ast.BinOp():
            return f"{type_of(node.left)} | {type_of(node.right)}"
        case ast.Constant(value=None):
            return "null"
        case ast.Subscript(value=ast.Name(id="Sequence"), slice=inner):
            return f"readonly {type_of(inner)}[]"
        case ast.Subscript(value=ast.Name(id="list"), slice=inner):
            return f"{type_of(inner)}[]"
        case ast.Name(id=name):
            return TYPES[name]
    raise SyntaxError(f"a type {ast.unparse(node) if node else 'that is missing'}")


class Function:
    """One function's text. `used`: names of helpers and of the prelude that it needs."""

    def __init__(self, node: ast.FunctionDef, used: set[str]) -> None:
        self.node = node
        self.used = used
        self.parameters = [each.arg for each in node.args.args]
        self.locals = {target.id for each in ast.walk(node) if isinstance(each, ast.Assign) for target in self._names(each.targets[0])} - set(self.parameters)
        if node.args.vararg:
            self.parameters.append(node.args.vararg.arg)
        self.bound = {*self.parameters, *self.locals} | {name.id for each in ast.walk(node) if isinstance(each, ast.For | ast.comprehension) for name in self._names(each.target)}

    @staticmethod
    def _names(target: ast.expr) -> list[ast.Name]:
        return [each for each in ast.walk(target) if isinstance(each, ast.Name)]

    def help(self, name: str) -> str:
        self.used.add(name)
        return f"$.{name}"

    def body(self) -> str:
        """The statements, between braces."""
        statements = self.node.body[1:] if ast.get_docstring(self.node) else self.node.body
        declared = f"let {', '.join(f'{camel(name)}: any' for name in sorted(self.locals))}; " if self.locals else ""
        return "{" + declared + " ".join(self.statement(each) for each in statements) + "}"

    def block(self, statements: list[ast.stmt]) -> str:
        return "{" + " ".join(self.statement(each) for each in statements) + "}"

    def statement(self, node: ast.stmt) -> str:
        match node:
            case ast.Return():
                return f"return {self.text(node.value)};" if node.value else "return undefined;"
            case ast.Assign(targets=[target]):
                return f"{self.text(target)} = {self.text(node.value)};"
            case ast.Expr():
                return f"{self.text(node.value)};"
            case ast.If():
                otherwise = f" else {self.block(node.orelse)}" if node.orelse else ""
                return f"if ({self.text(node.test)}) {self.block(node.body)}{otherwise}"
            case ast.While():
                return f"while ({self.text(node.test)}) {self.block(node.body)}"
            case ast.For():
                return f"for (const {self.text(node.target)} of {self.text(node.iter)}) {self.block(node.body)}"
            case ast.Raise(exc=ast.Call(args=[message, where])):
                return f"throw {self.help('wrong')}({self.text(where)}, {self.text(message)});"
        raise SyntaxError(f"line {node.lineno}: {ast.unparse(node)}")

    def text(self, node: ast.expr) -> str:  # noqa: PLR0911, PLR0912
        """An expression."""
        match node:
            case ast.Name(id=name):
                return camel(name) if name in self.bound else self.name(name)
            case ast.Constant(value="i64"):
                return "'i32'"  # the type of places in TypeScript
            case ast.Constant(value=value):
                return {None: "undefined", True: "true", False: "false"}[value] if value is None or isinstance(value, bool) else repr(value)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return f"[{', '.join(map(self.text, parts))}]"
            case ast.Starred(value=value):
                return f"...{self.text(value)}"
            case ast.Dict(keys=keys, values=values):
                return "{" + ", ".join(f"{key.value}: {self.attribute_of(value)}" for key, value in zip(keys, values, strict=True)) + "}"  # type: ignore[union-attr]
            case ast.BinOp(left=left, op=op, right=right):
                return f"{self.help(BINARY[type(op)])}({self.text(left)}, {self.text(right)})"
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)):
                return f"-{value}"
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return "-Infinity" if ast.unparse(operand) == "math.inf" else f"{self.help('neg')}({self.text(operand)})"
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return f"!({self.text(operand)})"
            case ast.BoolOp(op=op, values=values):
                return "(" + (" && " if isinstance(op, ast.And) else " || ").join(map(self.text, values)) + ")"
            case ast.Compare():
                return self.compare(node)
            case ast.IfExp(test=test, body=body, orelse=other):
                return f"({self.text(test)} ? {self.text(body)} : {self.text(other)})"
            case ast.JoinedStr(values=values):
                return "`" + "".join(str(each.value) if isinstance(each, ast.Constant) else f"${{{self.text(each.value)}}}" for each in values) + "`"  # type: ignore[attr-defined]
            case ast.Subscript(value=value, slice=ast.Slice(lower=lower, upper=upper)):
                ends = ", ".join(self.text(each) if each else "undefined" for each in (lower, upper))
                return f"{self.text(value)}.slice({ends})"
            case ast.Subscript(value=value, slice=index):
                return f"{self.help('item')}({self.text(value)}, {self.text(index)})"
            case ast.ListComp(elt=element, generators=generators):
                return self.comprehension(element, generators)
            case ast.Attribute():
                return self.attribute(node)
            case ast.Call():
                return self.call(node)
        raise SyntaxError(f"line {node.lineno}: {ast.unparse(node)}")

    def name(self, name: str) -> str:
        if name in ("Ordered", "Extremes"):
            return name
        self.used.add(name)
        return f"@{name}@"

    def attribute_of(self, node: ast.expr) -> str:
        """A value of an operator's attribute: whether 1 is a float must be said."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "float":
            return f"new {self.help('Floats')}({self.text(node.args[0])})"
        return self.text(node)

    def compare(self, node: ast.Compare) -> str:
        parts = []
        left = node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, ast.Is | ast.IsNot):
                parts.append(f"{self.text(left)} {'==' if isinstance(op, ast.Is) else '!='} null")
            elif isinstance(op, ast.In | ast.NotIn):
                parts.append(f"{'' if isinstance(op, ast.In) else '!'}{self.help('has')}({self.text(right)}, {self.text(left)})")
            else:
                parts.append(f"{self.help(COMPARE[type(op)])}({self.text(left)}, {self.text(right)})")
            left = right
        return parts[0] if len(parts) == 1 else f"({' && '.join(parts)})"

    def comprehension(self, element: ast.expr, generators: list[ast.comprehension]) -> str:
        (first, *rest) = generators
        target = self.text(first.target)
        made = self.text(first.iter)
        for test in first.ifs:
            made += f".filter(({target}: any) => {self.text(test)})"
        inner = self.comprehension(element, rest) if rest else self.text(element)
        if not rest and inner == target:
            return made
        return f"{made}.{'flatMap' if rest else 'map'}(({target}: any) => {f'({inner})' if inner.startswith('{') else inner})"

    def attribute(self, node: ast.Attribute) -> str:
        if isinstance(node.value, ast.Name) and node.value.id == "math" and "math" not in self.bound:
            known = {"inf": "Infinity", "nan": "NaN", "pi": "Math.PI"}
            return known.get(node.attr) or (self.help("product") if node.attr == "prod" else f"Math.{node.attr}")
        return f"{self.text(node.value)}.{'dtype' if node.attr == '_dtype' else camel(node.attr)}"

    def call(self, node: ast.Call) -> str:
        given = [self.text(each) for each in node.args]
        if node.keywords:
            given.append("{" + ", ".join(f"{option(each.arg or '')}: {self.text(each.value)}" for each in node.keywords) + "}")
        match node.func:
            case ast.Attribute(value=ast.Constant(value=between), attr="join"):
                return f"{given[0]}.join({between!r})"
            case ast.Attribute(value=value, attr="index"):
                return f"{self.text(value)}.indexOf({given[0]})"
            case ast.Name(id="list") if "list" not in self.bound:
                return f"[...{given[0]}]"
            case ast.Name(id="Ordered"):
                return f"{{values: {given[0]}, indices: {given[1]}}}"
            case ast.Name(id="Extremes"):
                return f"{{min: {given[0]}, max: {given[1]}}}"
            case ast.Name(id=name) if name in BUILTINS and name not in self.bound:
                function = BUILTINS[name]
                return f"{self.help(function) if function in HELPERS else function}({', '.join(given)})"
        return f"{self.text(node.func)}({', '.join(given)})"
