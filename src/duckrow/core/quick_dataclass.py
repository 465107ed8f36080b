"""`dataclass` for classes that every command loads: written when it is first used, and without the module dataclasses.

That module loads inspect, ast, dis and tokenize, which takes as long as Python's own start; and each class takes up to
1 ms. A class made here is a dataclass all the same: who asks for its fields (`replace`, `asdict`, a web schema) makes
<<<<<<< HEAD
dataclasses describe it then. It has no options, and no default that must be made for each value.
=======
dataclasses describe it then. It takes no options, and no default_factory.
>>>>>>> refs/heads/start
"""

from __future__ import annotations

TYPE_CHECKING = False  # of typing, which takes longer to load than all of this
if TYPE_CHECKING:
    from dataclasses import dataclass, field
    from typing import Any
else:
    _LATER = object()

    def field(*, init: bool) -> Any:
        """For `field(init=False)`: the class itself sets it, in `__post_init__`."""
        assert not init
        return _LATER

    def dataclass(cls: type) -> type:
        later = [name for name in cls.__annotations__ if vars(cls).get(name) is _LATER]
        for name in later:
            delattr(cls, name)

        def first(self: Any, *values: Any, **named: Any) -> None:
            cls.__init__ = _initializer(cls, later)
            cls.__init__(self, *values, **named)

        cls.__init__, cls.__eq__, cls.__hash__, cls.__repr__ = first, _equal, None, _shown
        cls.__dataclass_fields__ = _Description(cls, later)
        return cls

    def _initializer(cls: type, later: list[str]) -> Any:
        given = [name for name in cls.__annotations__ if name not in later]
        defaults = {name: vars(cls)[name] for name in given if name in vars(cls)}
        words = ", ".join(f"{name}=_of_{name}" if name in defaults else name for name in given)
        lines = [f"self.{name} = {name}" for name in given]
        lines += ["self.__post_init__()"] if hasattr(cls, "__post_init__") else []
        scope = {f"_of_{name}": default for name, default in defaults.items()}
        exec(f"def __init__(self, {words}):\n  " + "\n  ".join(lines), scope)
        return scope["__init__"]

    def _equal(self: Any, other: Any) -> Any:
        return vars(self) == vars(other) if type(self) is type(other) else NotImplemented

    def _shown(self: Any) -> str:
        values = ((name, getattr(self, name)) for name in type(self).__dataclass_fields__)
        return f"{type(self).__qualname__}({', '.join(f'{name}={value!r}' for name, value in values)})"

    class _Description:
        """Puts what dataclasses knows of a class in its place."""

        def __init__(self, cls: type, later: list[str]) -> None:
            self._cls = cls
            self._later = later

        def __get__(self, _value: object, _cls: type) -> Any:
            import dataclasses

            for name in self._later:
                setattr(self._cls, name, dataclasses.field(init=False))
            return dataclasses.dataclass(init=False, repr=False, eq=False)(self._cls).__dataclass_fields__


__all__ = ["dataclass", "field"]
