"""Everything that is public says what it is."""

import inspect

import gossamer


def public(owner):
    for name, value in vars(owner).items():
        if name.startswith("_"):
            continue
        made = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        if (inspect.isfunction(made) or inspect.isclass(made)) and made.__module__.startswith("gossamer"):
            yield f"{getattr(owner, '__name__', owner)}.{name}", made


def test_docstrings():
    modules = [gossamer, gossamer.llm, gossamer.nn, gossamer.nn.functional, gossamer.optim, gossamer.safetensors]
    found = {label: each for module in modules for label, each in public(module)}
    classes = {each for each in found.values() if inspect.isclass(each)} | set(gossamer.Tensor.__mro__[:-1])
    # A layer's forward() is what the class says it is.
    found |= {label: each for one in classes for label, each in public(one) if not label.endswith((".forward", ".extra_repr"))}
    assert len(found) > 400
    assert [label for label, each in found.items() if not each.__doc__] == []
    assert gossamer.__doc__
