"""What can go wrong."""

from __future__ import annotations


class Error(Exception):
    """What a model, an option or an input can cause, as the compiler and the run time say it.

    where: a file, a node or an input; may be "". message: what is wrong. hint: what to do; may be "".
    """

    def __init__(self, message: str, where: str = "", hint: str = "") -> None:
        self.message = message
        self.where = where
        self.hint = hint
        text = f"{where}: {message}" if where else message
        super().__init__(f"{text} ({hint})" if hint else text)

    def __reduce__(self) -> tuple[type[Error], tuple[str, str, str]]:
        return type(self), (self.message, self.where, self.hint)
