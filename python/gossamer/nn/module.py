"""Modules: parameters and other modules under names, and what is done with all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Self

from ..error import Error
from ..lazy.core import Core, no_grad
from ..lazy.execution import device_number
from ..lazy.recording import shape_text
from ..lazy.tensors import Tensor, as_tensor


class Parameter(Tensor):
    """A tensor that a module learns."""

    __slots__ = ()

    def __init__(self, data: Any, requires_grad: bool = True) -> None:
        super().__init__(data)
        self.requires_grad_(requires_grad)


class Buffer(Tensor):
    """Statistics of a module that it does not learn, but that belong to its state, unless they are not persistent."""

    __slots__ = ("persistent",)

    def __init__(self, data: Any, persistent: bool = True) -> None:
        super().__init__(data)
        self.persistent = persistent


class HookHandle:
    """Takes a hook off again."""

    def __init__(self, hooks: dict[int, Any], hook: Any) -> None:
        self._hooks, self._key = hooks, id(self)
        hooks[self._key] = hook

    def remove(self) -> None:
        """No longer called from here on."""
        self._hooks.pop(self._key, None)


class Module:
    """Something with parameters. Attributes that are parameters, buffers or modules are found by themselves, in the order in which
    they were set; names of state_dict() are PyTorch's."""

    training: bool

    def __init__(self) -> None:
        self.training = True

    def forward(self, *inputs: Any, **options: Any) -> Any:
        """What a subclass computes."""
        raise NotImplementedError(f"{type(self).__name__} has no forward()")

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        own = vars(self)
        for hook in list(own.get("_pre_hooks", {}).values()):
            other = hook(self, inputs)
            if other is not None:
                inputs = other if isinstance(other, tuple) else (other,)
        output = self.forward(*inputs, **options)
        for hook in list(own.get("_hooks", {}).values()):
            other = hook(self, inputs, output)
            output = output if other is None else other
        return output

    def register_forward_pre_hook(self, hook: Callable[[Module, tuple[Any, ...]], Any]) -> HookHandle:
        """Calls hook(module, inputs) before forward(); it may return other inputs."""
        return HookHandle(vars(self).setdefault("_pre_hooks", {}), hook)

    def register_forward_hook(self, hook: Callable[[Module, tuple[Any, ...], Any], Any]) -> HookHandle:
        """Calls hook(module, inputs, output) after forward(); it may return another output."""
        return HookHandle(vars(self).setdefault("_hooks", {}), hook)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Sets an attribute to what belongs to the state, unless it is not persistent, but is not learnt."""
        made = Buffer(tensor, persistent) if tensor is not None and not (isinstance(tensor, Buffer) and persistent) else tensor
        self._set(name, made)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Sets an attribute to a parameter."""
        self._set(name, param)

    def register_module(self, name: str, module: Module | None) -> None:
        """Sets an attribute to a module."""
        self._set(name, module)

    add_module = register_module

    def _set(self, name: str, value: Any) -> None:
        if not name or "." in name:
            raise Error(f"{name!r}: a name is not empty and has no dots", type(self).__name__)
        setattr(self, name, value)

    @staticmethod
    def _found(kind: str, path: str, every: dict[str, Any]) -> Any:
        if path not in every:
            raise Error(f"there is no {kind} {path!r}; there are {', '.join(every)}", "Module")
        return every[path]

    def get_parameter(self, target: str) -> Parameter:
        """By its name in state_dict()."""
        return self._found("parameter", target, dict(self._tensors(Parameter, False)))

    def get_buffer(self, target: str) -> Buffer:
        """By its name in state_dict()."""
        return self._found("buffer", target, dict(self._tensors(Buffer, False)))

    def get_submodule(self, target: str) -> Module:
        """By its name in named_modules()."""
        return self._found("module", target, dict(self._paths("")))

    def set_submodule(self, target: str, module: Module) -> None:
        """Puts another module at a name."""
        path, _, name = target.rpartition(".")
        (self.get_submodule(path) if path else self)._set(name, module)

    def _own(self) -> Iterable[tuple[str, Any]]:
        """What is looked through for parameters and buffers, with names."""
        return vars(self).items()

    def _own_parameters(self) -> list[Parameter]:
        return [value for _, value in self._own() if isinstance(value, Parameter)]

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Modules right below, with their names."""
        for name, value in vars(self).items():
            if isinstance(value, Module):
                yield name, value

    def children(self) -> Iterator[Module]:
        """Modules right below."""
        return (child for _, child in self.named_children())

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """This and all modules below, each once."""
        yield from self._named_modules(prefix, set())

    def _named_modules(self, prefix: str, seen: set[int]) -> Iterator[tuple[str, Module]]:
        if id(self) in seen:
            return
        seen.add(id(self))
        yield prefix, self
        for name, child in self.named_children():
            yield from child._named_modules(f"{prefix}.{name}" if prefix else name, seen)

    def modules(self) -> Iterator[Module]:
        """This and all modules below, each once."""
        return (module for _, module in self.named_modules())

    def _paths(self, prefix: str) -> Iterator[tuple[str, Module]]:
        """This and all modules below, under all names that they have."""
        yield prefix, self
        for name, child in self.named_children():
            yield from child._paths(f"{prefix}.{name}" if prefix else name)

    def _tensors(self, kind: type[Tensor], once: bool = True) -> Iterator[tuple[str, Any]]:
        seen = set()
        for path, module in self.named_modules() if once else self._paths(""):
            for name, value in module._own():
                if isinstance(value, kind) and not (once and id(value) in seen):
                    seen.add(id(value))
                    yield (f"{path}.{name}" if path else name), value

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """Each once, also where several modules share it."""
        return self._tensors(Parameter)

    def parameters(self) -> Iterator[Parameter]:
        """All parameters, each once."""
        return (parameter for _, parameter in self.named_parameters())

    def named_buffers(self) -> Iterator[tuple[str, Buffer]]:
        """All buffers, each once, with their names."""
        return self._tensors(Buffer)

    def buffers(self) -> Iterator[Buffer]:
        """All buffers, each once."""
        return (buffer for _, buffer in self.named_buffers())

    def train(self, mode: bool = True) -> Self:
        """Whether it learns: dropout drops, normalisation takes statistics of the batch."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Self:
        """train(False)"""
        return self.train(False)

    def requires_grad_(self, wanted: bool = True) -> Self:
        """Whether gradients are computed for its parameters."""
        for parameter in self.parameters():
            parameter.requires_grad_(wanted)
        return self

    def to(self, device: str) -> Self:
        """Moves its parameters and buffers to a device, as Tensor.to(); before an optimizer keeps anything of them. Raises Error for a
        name that is none."""
        number = device_number(device)
        with no_grad():
            for tensor in (*self.parameters(), *self.buffers()):
                tensor._assign(tensor.detach()._on(number)._value)
        return self

    def type(self, dst_type: Any) -> Self:
        """Its parameters and buffers of floats as another type of floats."""
        with no_grad():
            for tensor in (*self.parameters(), *self.buffers()):
                if tensor.is_floating_point():
                    made = tensor.detach().to(dst_type)
                    learns = tensor.requires_grad
                    tensor._value, tensor._origin = made._value, None
                    tensor.requires_grad_(learns)
        return self

    def float(self) -> Self:
        """type("float32")"""
        return self.type("f32")

    def double(self) -> Self:
        """type("float64")"""
        return self.type("f64")

    def half(self) -> Self:
        """type("float16")"""
        return self.type("f16")

    def bfloat16(self) -> Self:
        """type("bfloat16")"""
        return self.type("bf16")

    def cpu(self) -> Self:
        """to("cpu")"""
        return self.to("cpu")

    def zero_grad(self) -> None:
        """Forgets all gradients."""
        for parameter in self.parameters():
            parameter.grad = None

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Calls it with all modules below, and then this."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def _state(self) -> list[tuple[str, Tensor]]:
        """A tensor that modules share under each of its names."""
        return [*self._tensors(Parameter, False), *((name, each) for name, each in self._tensors(Buffer, False) if each.persistent)]

    def state_dict(self) -> dict[str, Tensor]:
        """The tensors of its state by PyTorch's names. They are this moment's: later steps don't change them."""
        return {name: tensor.detach() for name, tensor in self._state()}

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> None:
        """Takes its state from tensors, or arrays, by name. Raises Error, and keeps the old state, where a name or shape does not
        fit; without `strict` names may be missing or be strange. PyTorch's counts of batches are passed over."""
        own = dict(self._state())
        strange = [name for name in state if name not in own and not name.endswith("num_batches_tracked")]
        missing = [name for name in own if name not in state]
        if strict and (strange or missing):
            said = [f"{what} {', '.join(names)}" for what, names in (("it lacks", missing), ("there is no", strange)) if names]
            raise Error("; ".join(said), "load_state_dict", "strict=False passes over them")
        given = {name: as_tensor(value) for name, value in state.items() if name in own}
        for name, value in given.items():
            if value.shape != own[name].shape:
                raise Error(f"{name} has shape {shape_text(own[name].shape)}, the state's {shape_text(value.shape)}", "load_state_dict")
        for name, value in given.items():
            own[name].copy_(value)

    def extra_repr(self) -> str:
        """What its text says in brackets."""
        return ""

    def __repr__(self) -> str:
        below = [f"({name}): {child!r}".replace("\n", "\n  ") for name, child in self.named_children()]
        head = f"{type(self).__name__}({self.extra_repr()}"
        return head + "".join(f"\n  {each}" for each in below) + ("\n)" if below else ")")


class Sequential(Module):
    """Modules one after the other."""

    def __init__(self, *modules: Module | Mapping[str, Module]) -> None:
        super().__init__()
        named = modules[0] if len(modules) == 1 and isinstance(modules[0], Mapping) else {str(at): module for at, module in enumerate(modules)}
        for name, module in named.items():
            self._set(name, module)

    def append(self, module: Module) -> Self:
        """One more."""
        self._set(str(len(self)), module)
        return self

    def forward(self, x: Any) -> Any:
        for module in self.children():
            x = module(x)
        return x

    def __len__(self) -> int:
        return sum(1 for _ in self.children())

    def __getitem__(self, at: int) -> Module:
        return list(self.children())[at]

    def __iter__(self) -> Iterator[Module]:
        return self.children()


class ModuleList(Sequential):
    """Modules under numbers."""

    def __init__(self, modules: Any = ()) -> None:
        super().__init__(*modules)

    def extend(self, modules: Any) -> Self:
        """More of them."""
        for module in modules:
            self.append(module)
        return self

    def forward(self, *inputs: Any, **options: Any) -> Any:
        raise NotImplementedError("ModuleList has no forward()")


class ModuleDict(Module):
    """Modules under names."""

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        for name, module in (modules or {}).items():
            self[name] = module

    def __getitem__(self, name: str) -> Module:
        return dict(self.named_children())[name]

    def __setitem__(self, name: str, module: Module) -> None:
        self._set(name, module)

    def __len__(self) -> int:
        return sum(1 for _ in self.children())

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.named_children())

    def __contains__(self, name: str) -> bool:
        return name in dict(self.named_children())

    def keys(self) -> list[str]:
        """The names."""
        return list(self)

    def values(self) -> list[Module]:
        """The modules."""
        return list(self.children())

    def items(self) -> list[tuple[str, Module]]:
        """Names and modules."""
        return list(self.named_children())


class ParameterDict(Module):
    """Parameters under names."""

    def __init__(self, parameters: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        for name, parameter in (parameters or {}).items():
            self[name] = parameter

    def __getitem__(self, name: str) -> Parameter:
        return dict(self._tensors(Parameter))[name]

    def __setitem__(self, name: str, parameter: Any) -> None:
        self._set(name, parameter if isinstance(parameter, Parameter) else Parameter(parameter))

    def __len__(self) -> int:
        return len(self._own_parameters())

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._tensors(Parameter))

    def keys(self) -> list[str]:
        """The names."""
        return list(self)


class ParameterList(Module):
    """Parameters under numbers."""

    def __init__(self, parameters: Any = ()) -> None:
        super().__init__()
        for parameter in parameters:
            self.append(parameter)

    def append(self, parameter: Any) -> Self:
        """One more."""
        self._set(str(len(self)), parameter if isinstance(parameter, Parameter) else Parameter(parameter))
        return self

    def __getitem__(self, at: int) -> Parameter:
        return self._own_parameters()[at]

    def __len__(self) -> int:
        return len(self._own_parameters())

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self._own_parameters())


def tensors_of(made: Any) -> list[Tensor]:
    """What a module gives, as a list, also of lists in lists. Raises Error for other things than tensors."""
    if isinstance(made, Core):
        return [made]  # type: ignore[list-item]
    listed = made.values() if isinstance(made, Mapping) else made
    if not isinstance(listed, Iterable) or isinstance(listed, str):
        raise Error("it gives other things than tensors", "export")
    return [tensor for each in listed for tensor in tensors_of(each)]
