"""Checks whether a function can be called as asked, before anything is queued."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from duckrow.core.errors import WrongCall
from duckrow.core.nearest_word import nearest_word

_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def shown_name(function: Callable[..., Any]) -> str:
    """The function's name for messages."""
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__name__", type(function).__name__)


def check_kind(function: Callable[..., Any]) -> None:
    """A job makes one call and stores the result. Async functions and generators return nothing that can be stored."""
    name = shown_name(function)
    if _is(inspect.iscoroutinefunction, function):
        raise WrongCall(
            f"{name} is an async function, but a job makes a plain call. Submit a function that runs it: "
            f"def run(*args, **kwargs): return asyncio.run({name}(*args, **kwargs))"
        )
    if _is(inspect.isasyncgenfunction, function):
        raise WrongCall(
            f"{name} is an async generator, which has no result that could be stored. Submit a function that "
            "collects its values with asyncio.run() and returns a list."
        )
    if _is(inspect.isgeneratorfunction, function):
        raise WrongCall(
            f"{name} is a generator, which has no result that could be stored. Submit a function that returns a "
            f"list: def collect(*args): return list({name}(*args))"
        )


def check_call(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], options: Collection[str] = ()
) -> None:
    """Refuse a call that Python would refuse. `options`: other names that the caller may have meant."""
    check_kind(function)
    signature = _signature_of(function)
    if signature is None:
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise WrongCall(f"{_what_is_wrong(function, signature, kwargs, options) or _told(function, error)}") from None


def names_of(function: Callable[..., Any], args: Sequence[Any] = ()) -> set[str]:
    """The parameters that may be given by name, beside these positional arguments."""
    signature = _signature_of(function, follow_wrapped=True)
    if signature is None:
        return set()
    named = {name for name, parameter in signature.parameters.items() if parameter.kind in _BY_NAME}
    try:
        return named - set(signature.bind_partial(*args).arguments)
    except TypeError:  # too many, which is reported elsewhere
        return named


def _is(test: Callable[[Any], bool], function: Callable[..., Any]) -> bool:
    return test(function) or test(type(function).__call__)


def _signature_of(function: Callable[..., Any], follow_wrapped: bool = False) -> inspect.Signature | None:
    """None: unknown, as with some C functions.

    A decorator may add arguments itself, so the wrapped function does not tell how the decorated one is called.
    """
    try:
        return inspect.signature(function, follow_wrapped=follow_wrapped)
    except (TypeError, ValueError):
        return None


def _what_is_wrong(
    function: Callable[..., Any], signature: inspect.Signature, kwargs: Mapping[str, Any], options: Collection[str]
) -> str | None:
    """Finds an argument name that the function does not have: the most common mistake."""
    parameters = signature.parameters
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()):
        return None
    known = [name for name, parameter in parameters.items() if parameter.kind in _BY_NAME]
    for name in kwargs:
        if name not in known:
            near = nearest_word(name, [*known, *options])
            has = f"Its parameters: {', '.join(parameters)}." if parameters else "It takes no arguments."
            hint = f"Did you mean {near}?" if near else has
            nor = ", and there is no such option" if options else ""
            return f"{shown_name(function)}() has no parameter '{name}'{nor}. {hint} Nothing was queued."
    return None


def _told(function: Callable[..., Any], error: TypeError) -> str:
    return f"{shown_name(function)}() cannot be called like this: {error}. Nothing was queued."
