"""`Protocol` for type checkers. When the program runs, it is a plain class: typing takes 2 ms to load."""

from __future__ import annotations

TYPE_CHECKING = False  # of typing
if TYPE_CHECKING:
    from typing import Protocol
else:

    class Protocol:
        """Nobody asks whether a value has all that a protocol names."""


__all__ = ["Protocol"]
