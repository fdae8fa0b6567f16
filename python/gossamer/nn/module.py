"""Modules: parameters and other modules under names, and what is done with all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
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
    """Statistics of a module that it does not learn, but that belong to its state."""

    __slots__ = ()


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
        return self.forward(*inputs, **options)

    def register_buffer(self, name: str, value: Tensor) -> None:
        """Sets an attribute to what belongs to the state, but is not learnt."""
        setattr(self, name, value if isinstance(value, Buffer) else Buffer(value))

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

    def _tensors(self, kind: type[Tensor]) -> Iterator[tuple[str, Any]]:
        seen = set()
        for path, module in self.named_modules():
            for name, value in vars(module).items():
                if isinstance(value, kind) and id(value) not in seen:
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
            for _, tensor in self._state():
                tensor._assign(tensor.detach()._on(number)._value)
        return self

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
        return [*self.named_parameters(), *self.named_buffers()]

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

    def __init__(self, *modules: Module) -> None:
        super().__init__()
        for at, module in enumerate(modules):
            setattr(self, str(at), module)

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

    def append(self, module: Module) -> Self:
        """One more."""
        setattr(self, str(len(self)), module)
        return self

    def forward(self, *inputs: Any, **options: Any) -> Any:
        raise NotImplementedError("ModuleList has no forward()")


def tensors_of(made: Any) -> list[Tensor]:
    """What a module gives, as a list. Raises Error for other things than tensors."""
    listed = [made] if isinstance(made, Core) else list(made.values()) if isinstance(made, Mapping) else list(made)
    if not all(isinstance(each, Core) for each in listed):
        raise Error("it gives other things than tensors", "export")
    return listed  # type: ignore[return-value]
